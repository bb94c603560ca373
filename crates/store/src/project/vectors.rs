//! `vectors`: unit vectors by content hash, shared by all chunks of the project with the same text.

use crate::postgres::Row;
use pgvector::HalfVector;

use super::condition::Condition;
use super::filter::{ChunkSelection, Filter, chunks_with_facts};
use super::index_state::{self, Fence};
use super::sizes::{self, RowUsage};
use crate::postgres::sql;
use crate::transaction::{ProjectTx, Store};
use crate::workspace::Project;
use contract::Fault;

/// pgvector's range for `hnsw.ef_search`. Clamped here, because the server does not check it before the library is loaded.
const EF_SEARCH: std::ops::RangeInclusive<u32> = 1..=1000;

/// `m` of the HNSW index: links per vector. Larger values make the index larger and improve recall less than `EF_CONSTRUCTION`.
const LINKS: u32 = 16;
/// `ef_construction` of the HNSW index: candidates for the links of a vector. Code has many near duplicates, which link only to
/// one another if too few candidates are considered: with 64, recall@10 on 17,000 real chunks was 0.92, and 0 for some queries;
/// with 200 it is 0.965, and 0.996 on 100,000 chunks (docs/benchmarks.md).
const EF_CONSTRUCTION: u32 = 200;

/// A text without a vector, with the fields of its embedding header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingText {
    /// blake3 of `content`.
    pub hash: Vec<u8>,
    /// First path, in path order, of a file that contains it.
    pub path: String,
    /// Qualified name of its main definition in that file.
    pub name: Option<String>,
    /// Signature of its main definition in that file.
    pub signature: Option<String>,
    /// The text itself.
    pub content: String,
}

/// A chunk and its similarity to the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VectorHit {
    /// Id of the chunk.
    pub chunk_id: i64,
    /// Id of its file.
    pub file_id: i64,
    /// Inner product of unit vectors, which is their cosine similarity; higher is better.
    pub similarity: f64,
}

/// A page of texts without a vector, sorted by hash, after the hash `after`.
pub async fn pending(
    tx: &mut ProjectTx,
    after: Option<&[u8]>,
    limit: i64,
) -> Result<Vec<PendingText>, Fault> {
    let (embedded_to, _) = index_state::embedded_to(tx).await?;
    // `v.hash > $1` is redundant, but keeps a page from reading all vectors before it.
    let text = format!(
        "SELECT DISTINCT ON (c.content_hash) c.content_hash, f.path, c.name, c.signature, c.content \
         FROM {chunks} c JOIN {files} f ON f.id = c.file_id \
         WHERE c.content_hash > $1 AND c.id > $3 AND NOT EXISTS (SELECT 1 FROM {vectors} v \
           WHERE v.hash = c.content_hash AND v.hash > $1) \
         ORDER BY c.content_hash, f.path, c.repository_id, c.ordinal \
         LIMIT $2",
        chunks = tx.table("chunks"),
        files = tx.table("files"),
        vectors = tx.table("vectors"),
    );
    // The empty string sorts before every hash.
    let query = sql(text).bind(after.unwrap_or_default()).bind(limit).bind(embedded_to);
    let rows = tx.tx.all(query).await?;
    rows.iter()
        .map(|row| {
            Ok(PendingText {
                hash: row.try_get("content_hash")?,
                path: row.try_get("path")?,
                name: row.try_get("name")?,
                signature: row.try_get("signature")?,
                content: row.try_get("content")?,
            })
        })
        .collect()
}

/// The hashes of texts without a vector, sorted, after the hash `after`; at most `limit`. Cheaper than [`pending`].
pub async fn pending_hashes(tx: &mut ProjectTx, after: &[u8], limit: i64) -> Result<Vec<Vec<u8>>, Fault> {
    let (embedded_to, _) = index_state::embedded_to(tx).await?;
    let text = format!(
        "SELECT DISTINCT c.content_hash \
         FROM {chunks} c \
         WHERE c.content_hash > $1 AND c.id > $3 AND NOT EXISTS (SELECT 1 FROM {vectors} v \
           WHERE v.hash = c.content_hash AND v.hash > $1) \
         ORDER BY c.content_hash \
         LIMIT $2",
        chunks = tx.table("chunks"),
        vectors = tx.table("vectors"),
    );
    tx.tx.scalars(sql(text).bind(after).bind(limit).bind(embedded_to)).await
}

/// The number of different texts without a vector.
pub async fn pending_count(tx: &mut ProjectTx) -> Result<i64, Fault> {
    let (embedded_to, _) = index_state::embedded_to(tx).await?;
    let text = format!(
        "SELECT count(DISTINCT c.content_hash) \
         FROM {chunks} c \
         WHERE c.id > $1 AND NOT EXISTS (SELECT 1 FROM {vectors} v WHERE v.hash = c.content_hash)",
        chunks = tx.table("chunks"),
        vectors = tx.table("vectors"),
    );
    tx.tx.scalar(sql(text).bind(embedded_to)).await
}

/// The number of different texts of some repositories without a vector.
pub async fn pending_within(tx: &mut ProjectTx, repositories: &[i64]) -> Result<i64, Fault> {
    let (embedded_to, _) = index_state::embedded_to(tx).await?;
    let text = format!(
        "SELECT count(DISTINCT c.content_hash) \
         FROM {chunks} c \
         WHERE c.id > $1 AND c.repository_id = ANY($2) AND NOT EXISTS (SELECT 1 FROM {vectors} v \
           WHERE v.hash = c.content_hash)",
        chunks = tx.table("chunks"),
        vectors = tx.table("vectors"),
    );
    tx.tx.scalar(sql(text).bind(embedded_to).bind(repositories)).await
}

/// The numbers of different texts of a repository with a vector and without one. Texts that other repositories also contain are
/// counted.
pub async fn of_repository(tx: &mut ProjectTx, repository_id: i64) -> Result<(i64, i64), Fault> {
    let text = format!(
        "SELECT count(v.hash) AS embedded, count(*) - count(v.hash) AS pending \
         FROM (SELECT DISTINCT c.content_hash FROM {files} f JOIN {chunks} c ON c.file_id = f.id \
           WHERE f.repository_id = $1) t \
         LEFT JOIN {vectors} v ON v.hash = t.content_hash",
        files = tx.table("files"),
        chunks = tx.table("chunks"),
        vectors = tx.table("vectors"),
    );
    let row = tx.tx.one(sql(text).bind(repository_id)).await?;
    Ok((row.try_get("embedded")?, row.try_get("pending")?))
}

/// Records that every text has a vector, so that the next run only checks the texts that it writes. The caller must be the only
/// writer, and must have checked it.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn note_complete(tx: &mut ProjectTx, fence: Fence) -> Result<(), Fault> {
    let (embedded_to, last) = index_state::embedded_to(tx).await?;
    if embedded_to < last { index_state::set_embedded_to(tx, fence, last).await } else { Ok(()) }
}

/// The vectors of a repository's chunks, each with the path of its file, in the order of paths; at most `limit`.
pub async fn of_root(tx: &mut ProjectTx, root: &str, limit: i64) -> Result<Vec<(String, Vec<f32>)>, Fault> {
    let text = format!(
        "SELECT f.path, v.embedding FROM {repositories} r JOIN {files} f ON f.repository_id = r.id \
           JOIN {chunks} c ON c.file_id = f.id JOIN {vectors} v ON v.hash = c.content_hash \
         WHERE r.root = $1 ORDER BY f.path, c.ordinal LIMIT $2",
        repositories = tx.table("repositories"),
        files = tx.table("files"),
        chunks = tx.table("chunks"),
        vectors = tx.table("vectors"),
    );
    let rows = tx.tx.all(sql(text).bind(root).bind(limit)).await?;
    rows.iter()
        .map(|row| {
            let vector: HalfVector = row.try_get("embedding")?;
            Ok((row.try_get("path")?, vector.to_vec().into_iter().map(half::f16::to_f32).collect()))
        })
        .collect()
}

/// Counts the distinct texts; each needs a vector.
pub async fn texts_count(tx: &mut ProjectTx) -> Result<i64, Fault> {
    let text = format!("SELECT count(DISTINCT content_hash) FROM {}", tx.table("chunks"));
    tx.tx.scalar(sql(text)).await
}

/// Stores vectors; texts that have a vector keep it. The two lists are parallel. Returns the number of new vectors.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn insert(
    tx: &mut ProjectTx,
    fence: Fence,
    hashes: &[Vec<u8>],
    embeddings: &[Vec<f32>],
) -> Result<u64, Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "INSERT INTO {} (hash, embedding) \
         SELECT t.hash, t.embedding \
         FROM unnest($1::bytea[], $2::halfvec[]) AS t (hash, embedding) \
         ON CONFLICT (hash) DO NOTHING",
        tx.table("vectors")
    );
    let embeddings: Vec<HalfVector> = embeddings.iter().map(|e| HalfVector::from_f32_slice(e)).collect();
    tx.execute(sql(text).bind(hashes).bind(embeddings)).await
}

/// The number of vectors.
pub async fn count(tx: &mut ProjectTx) -> Result<i64, Fault> {
    let text = format!("SELECT count(*) FROM {}", tx.table("vectors"));
    tx.tx.scalar(sql(text)).await
}

/// Returns `true` if there are more than `most` vectors. Counts them only if the table is large enough for that many.
pub async fn are_more_than(tx: &mut ProjectTx, most: i64) -> Result<bool, Fault> {
    let bytes_each = i64::try_from(tx.project().model().dimensions * size_of::<half::f16>()).unwrap_or(1);
    let text = format!("SELECT pg_relation_size('{}') / $1", tx.table("vectors"));
    let at_most: i64 = tx.tx.scalar(sql(text).bind(bytes_each.max(1))).await?;
    Ok(at_most > most && count(tx).await? > most)
}

/// Removes vectors of texts that no chunk has any more; returns their number.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn remove_orphans(tx: &mut ProjectTx, fence: Fence) -> Result<u64, Fault> {
    index_state::check_fence(tx, fence).await?;
    tx.lift_timeout().await?;
    let text = format!(
        "DELETE FROM {} v WHERE NOT EXISTS (SELECT 1 FROM {} c WHERE c.content_hash = v.hash)",
        tx.table("vectors"),
        tx.table("chunks")
    );
    tx.execute(sql(text)).await
}

/// The rows of vectors that no chunk would use any more if the repositories `without` were removed.
pub async fn orphans(tx: &mut ProjectTx, without: &[i64]) -> Result<RowUsage, Fault> {
    let text = format!(
        "SELECT count(*) AS rows, coalesce(sum(pg_column_size(ROW(v.*))), 0)::int8 AS bytes \
         FROM {} v \
         WHERE NOT EXISTS (SELECT 1 FROM {} c WHERE c.content_hash = v.hash AND c.repository_id NOT IN \
           (SELECT id FROM {} WHERE id = ANY($1) OR revisions_of = ANY($1)))",
        tx.table("vectors"),
        tx.table("chunks"),
        tx.table("repositories")
    );
    tx.lift_timeout().await?;
    RowUsage::read(&tx.tx.one(sql(text).bind(without)).await?)
}

/// Removes a batch of at most `limit` orphaned vectors, in the order of their hashes, after the hash `after`. Returns the
/// removed rows and the last hash, from which the next batch continues.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn remove_some_orphans(
    tx: &mut ProjectTx,
    fence: Fence,
    after: &[u8],
    limit: i64,
) -> Result<(RowUsage, Option<Vec<u8>>), Fault> {
    index_state::check_fence(tx, fence).await?;
    tx.lift_timeout().await?;
    let text = format!(
        "WITH gone AS (DELETE FROM {vectors} v WHERE v.hash IN (SELECT o.hash FROM {vectors} o \
           WHERE o.hash > $1 AND NOT EXISTS (SELECT 1 FROM {chunks} c WHERE c.content_hash = o.hash) \
           ORDER BY o.hash LIMIT $2) RETURNING v.hash, pg_column_size(ROW(v.*)) AS bytes) \
         SELECT count(*) AS rows, coalesce(sum(bytes), 0)::int8 AS bytes, \
           (array_agg(hash ORDER BY hash DESC))[1] AS last_hash \
         FROM gone",
        vectors = tx.table("vectors"),
        chunks = tx.table("chunks")
    );
    let row = tx.tx.one(sql(text).bind(after).bind(limit)).await?;
    Ok((RowUsage::read(&row)?, row.try_get("last_hash")?))
}

/// Creates the HNSW index as soon as there are `rows_min` vectors; returns whether it did. Does not block searches. The
/// caller must be the only writer.
///
/// # Errors
/// `ILLEGAL_STATE` if another run took over; `STORAGE_UNAVAILABLE` without disk space for the index.
pub async fn ensure_hnsw(
    store: &Store,
    project: &Project,
    fence: Fence,
    rows_min: u64,
    maintenance_work_mem_mb: u32,
) -> Result<bool, Fault> {
    let _permit = store.database().build_permit().await?;
    let mut tx = ProjectTx::begin_owner(store, project).await?;
    let indexed = index_state::read(&mut tx).await?.vectors_indexed;
    if indexed || u64::try_from(count(&mut tx).await?).unwrap_or(0) < rows_min {
        tx.commit().await?;
        return Ok(false);
    }
    // The index contains a copy of every vector, and its links.
    store
        .disk_space()
        .require(sizes::table_bytes(&mut tx, &["vectors"]).await?.saturating_mul(3) / 2)
        .await?;
    tx.lift_timeout().await?;
    tx.execute(sql(format!("SET LOCAL maintenance_work_mem = '{maintenance_work_mem_mb}MB'"))).await?;
    let vectors = tx.table("vectors");
    tx.execute(sql(format!(
        "CREATE INDEX IF NOT EXISTS vectors_hnsw ON {vectors} USING hnsw (embedding halfvec_ip_ops) WITH \
           (m = {LINKS}, ef_construction = {EF_CONSTRUCTION})"
    )))
    .await?;
    tx.execute(sql(format!("ANALYZE {vectors}"))).await?;
    index_state::check_fence(&mut tx, fence).await?;
    let text = format!("UPDATE {} SET vectors_indexed = true WHERE id = 1", tx.table("index_state"));
    tx.execute(sql(text)).await?;
    tx.commit().await?;
    Ok(true)
}

/// The chunks nearest to `query_vector` by an exact scan, best first. Ties are ordered by chunk, so that a smaller `limit`
/// returns a prefix of the result for a larger one, and a selection of all chunks the same as no selection.
pub async fn candidates_exact(
    tx: &mut ProjectTx,
    selection: &ChunkSelection,
    query_vector: &[f32],
    limit: i64,
) -> Result<Vec<VectorHit>, Fault> {
    let (chunks, vectors) = (tx.table("chunks"), tx.table("vectors"));
    let query_vector = HalfVector::from_f32_slice(query_vector);
    // `+ 0` keeps the planner from using the HNSW index.
    let compared = "(v.embedding <#> $1) + 0 AS distance";
    let rows = match selection {
        ChunkSelection::All => {
            // Not the nearest vectors first: those that no chunk has any more would take up places in the result.
            let text = format!(
                "SELECT c.id AS chunk_id, c.file_id, {compared} \
                 FROM {chunks} c JOIN {vectors} v ON v.hash = c.content_hash \
                 ORDER BY distance, c.id LIMIT $2"
            );
            tx.tx.all(sql(text).bind(query_vector).bind(limit)).await?
        }
        ChunkSelection::Listed(ids) => {
            let text = format!(
                "SELECT k.chunk_id, k.file_id, {compared} \
                 FROM {facts} k JOIN {vectors} v ON v.hash = k.content_hash \
                 WHERE k.chunk_id = ANY($3) ORDER BY distance, k.chunk_id \
                 LIMIT $2",
                facts = tx.table("facts"),
            );
            tx.tx.all(sql(text).bind(query_vector).bind(limit).bind(ids)).await?
        }
        ChunkSelection::Matching(filter) => {
            let condition = Condition::new(filter, tx, 3);
            let (from, condition_text) = match filter.files() {
                Some(_) => (format!("{} k", tx.table("facts")), "k.file_id = ANY($3)"),
                None => (chunks_with_facts(tx), condition.text.as_str()),
            };
            let text = format!(
                "SELECT k.chunk_id, k.file_id, {compared} \
                 FROM {from} JOIN {vectors} v ON v.hash = k.content_hash \
                 WHERE {condition_text} ORDER BY distance, k.chunk_id LIMIT $2"
            );
            tx.tx.all(condition.bind(sql(text).bind(query_vector).bind(limit))).await?
        }
    };
    rows.iter().map(hit).collect()
}

/// The approximately nearest chunks by the HNSW index, best first; ties are ordered by chunk. For filters that match many
/// chunks: for few matches [`candidates_exact`] is faster and exact. Falls back to it if the index yields fewer than `limit`.
pub async fn candidates_hnsw(
    tx: &mut ProjectTx,
    selection: &ChunkSelection,
    query_vector: &[f32],
    limit: i64,
    ef_search: u32,
) -> Result<Vec<VectorHit>, Fault> {
    let filter = match selection {
        ChunkSelection::All => &Filter::EVERYTHING,
        ChunkSelection::Matching(filter) => filter,
        ChunkSelection::Listed(_) => return candidates_exact(tx, selection, query_vector, limit).await,
    };
    let ef_search = ef_search.clamp(*EF_SEARCH.start(), *EF_SEARCH.end());
    let settings =
        format!("SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = {ef_search}");
    tx.tx.batch(&settings).await?;
    let (chunks, vectors) = (tx.table("chunks"), tx.table("vectors"));
    let nearest = HalfVector::from_f32_slice(query_vector);
    if filter.is_empty() {
        let text = format!(
            "WITH nearest AS MATERIALIZED (SELECT v.hash, v.embedding <#> $1 AS distance FROM {vectors} v \
               ORDER BY v.embedding <#> $1 LIMIT $2) \
             SELECT c.id AS chunk_id, c.file_id, n.distance \
             FROM nearest n JOIN {chunks} c ON c.content_hash = n.hash \
             ORDER BY n.distance, c.id LIMIT $2"
        );
        let rows = tx.tx.all(sql(text).bind(nearest).bind(limit)).await?;
        return rows.iter().map(hit).collect();
    }
    let condition = Condition::new(filter, tx, 3);
    let (from, condition_text) = match filter.files() {
        // The list of files is hashed once, so that neither files nor facts have to be joined.
        Some(_) => (format!("{chunks} c"), "c.file_id = ANY($3)".to_owned()),
        None => (
            format!(
                "{chunks} c {facts} JOIN {files} f ON f.id = c.file_id",
                facts = condition.facts_join(tx, "c.id"),
                files = tx.table("files"),
            ),
            condition.text.clone(),
        ),
    };
    // OFFSET 0 prevents the planner from turning EXISTS into a join, which could not use the index.
    let text = format!(
        "WITH nearest AS MATERIALIZED (SELECT v.hash, v.embedding <#> $1 AS distance FROM {vectors} v WHERE \
           EXISTS (SELECT 1 FROM {from} WHERE c.content_hash = v.hash AND {condition_text} OFFSET 0) \
           ORDER BY v.embedding <#> $1 LIMIT $2) \
         SELECT c.id AS chunk_id, c.file_id, n.distance \
         FROM nearest n JOIN {from} ON c.content_hash = n.hash \
         WHERE {condition_text} ORDER BY n.distance, c.id LIMIT $2"
    );
    let rows = tx.tx.all(condition.bind(sql(text).bind(&nearest).bind(limit))).await?;
    if rows.len() < usize::try_from(limit).unwrap_or(0) {
        // The scan stopped at `hnsw.max_scan_tuples`, because the matches are far from the query.
        return candidates_exact(tx, selection, query_vector, limit).await;
    }
    rows.iter().map(hit).collect()
}

/// Returns whether the chunk exists, and its vector.
pub async fn of_chunk(tx: &mut ProjectTx, chunk_id: i64) -> Result<(bool, Option<Vec<f32>>), Fault> {
    let text = format!(
        "SELECT v.embedding FROM {} k LEFT JOIN {} v ON v.hash = k.content_hash WHERE k.chunk_id = $1",
        tx.table("facts"),
        tx.table("vectors")
    );
    let Some(row) = tx.tx.first(sql(text).bind(chunk_id)).await? else { return Ok((false, None)) };
    let vector: Option<HalfVector> = row.try_get("embedding")?;
    Ok((true, vector.map(|vector| vector.to_vec().into_iter().map(half::f16::to_f32).collect())))
}

/// Decodes a row of the columns `chunk_id`, `file_id` and `distance`.
pub(super) fn hit(row: &Row) -> Result<VectorHit, Fault> {
    let distance: f64 = row.try_get("distance")?;
    Ok(VectorHit {
        chunk_id: row.try_get("chunk_id")?,
        file_id: row.try_get("file_id")?,
        similarity: -distance,
    })
}
