//! `vectors`: content hash to unit vector, shared by every chunk of the project with the same text.

use crate::postgres::Row;
use pgvector::HalfVector;

use super::condition::Condition;
use super::filter::{Filter, Within, chunks_with_facts};
use super::index_state::{self, Fence};
use super::sizes::{self, Measured};
use crate::door::{ProjectTx, Store};
use crate::postgres::sql;
use crate::workspace::Project;
use contract::Fault;

/// pgvector's bounds of `hnsw.ef_search`; set before the library is loaded it is not checked by the server.
const EF_SEARCH: std::ops::RangeInclusive<u32> = 1..=1000;

/// Links of a vector in the HNSW index. More make the index larger and no better than `EF_CONSTRUCTION` does.
const LINKS: u32 = 16;
/// Candidates for the links of a vector. Texts of code have many near duplicates, which link to one another alone unless
/// enough others are looked at: with 64, recall@10 of questions to 17,000 real chunks was 0.92, and some found nothing that
/// was right; with 200 it is 0.965 there, and 0.996 at 100,000 chunks (docs/benchmarks.md).
const EF_CONSTRUCTION: u32 = 200;

/// A text that lacks a vector, with what its embedding header is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingText {
    /// blake3 of `content`.
    pub hash: Vec<u8>,
    /// First path, in path order, that holds it.
    pub path: String,
    /// Qualified name of its main definition there.
    pub name: Option<String>,
    /// Its signature there.
    pub signature: Option<String>,
    /// The text.
    pub content: String,
}

/// A chunk and its likeness to the question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VectorHit {
    /// The chunk.
    pub chunk_id: i64,
    /// Its file.
    pub file_id: i64,
    /// Inner product of unit vectors, that is the cosine; higher is better.
    pub similarity: f64,
}

/// Texts that lack a vector, by hash, from after `after` on.
///
/// # Errors
/// Storage faults.
pub async fn pending(
    tx: &mut ProjectTx,
    after: Option<&[u8]>,
    limit: i64,
) -> Result<Vec<PendingText>, Fault> {
    let (embedded_to, _) = index_state::embedded_to(tx).await?;
    // `v.hash > $1` says nothing new; it keeps a page from reading all vectors before it.
    let text = format!(
        "SELECT DISTINCT ON (c.content_hash) c.content_hash, f.path, c.name, c.signature, c.content \
         FROM {chunks} c JOIN {files} f ON f.id = c.file_id WHERE c.content_hash > $1 AND c.id > $3 \
         AND NOT EXISTS (SELECT 1 FROM {vectors} v WHERE v.hash = c.content_hash AND v.hash > $1) \
         ORDER BY c.content_hash, f.path, c.repository_id, c.ordinal LIMIT $2",
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
                hash: row.try_get(0)?,
                path: row.try_get(1)?,
                name: row.try_get(2)?,
                signature: row.try_get(3)?,
                content: row.try_get(4)?,
            })
        })
        .collect()
}

/// How many different texts lack a vector.
///
/// # Errors
/// Storage faults.
pub async fn pending_count(tx: &mut ProjectTx) -> Result<i64, Fault> {
    let (embedded_to, _) = index_state::embedded_to(tx).await?;
    let text = format!(
        "SELECT count(DISTINCT c.content_hash) FROM {chunks} c \
         WHERE c.id > $1 AND NOT EXISTS (SELECT 1 FROM {vectors} v WHERE v.hash = c.content_hash)",
        chunks = tx.table("chunks"),
        vectors = tx.table("vectors"),
    );
    tx.tx.one(sql(text).bind(embedded_to)).await?.try_get(0)
}

/// How many different texts of some repositories lack a vector.
///
/// # Errors
/// Storage faults.
pub async fn pending_within(tx: &mut ProjectTx, repositories: &[i64]) -> Result<i64, Fault> {
    let (embedded_to, _) = index_state::embedded_to(tx).await?;
    let text = format!(
        "SELECT count(DISTINCT c.content_hash) FROM {chunks} c WHERE c.id > $1 AND c.repository_id = ANY($2) \
         AND NOT EXISTS (SELECT 1 FROM {vectors} v WHERE v.hash = c.content_hash)",
        chunks = tx.table("chunks"),
        vectors = tx.table("vectors"),
    );
    tx.tx.one(sql(text).bind(embedded_to).bind(repositories)).await?.try_get(0)
}

/// How many different texts of one repository have a vector, and how many lack one. A text that another repository holds,
/// too, counts here as well.
///
/// # Errors
/// Storage faults.
pub async fn of_repository(tx: &mut ProjectTx, repository_id: i64) -> Result<(i64, i64), Fault> {
    let text = format!(
        "SELECT count(v.hash), count(*) - count(v.hash) FROM (SELECT DISTINCT c.content_hash FROM {files} f \
         JOIN {chunks} c ON c.file_id = f.id WHERE f.repository_id = $1) t \
         LEFT JOIN {vectors} v ON v.hash = t.content_hash",
        files = tx.table("files"),
        chunks = tx.table("chunks"),
        vectors = tx.table("vectors"),
    );
    let row = tx.tx.one(sql(text).bind(repository_id)).await?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// Notes that no text lacks a vector, so that the next run looks at what it wrote alone. For the one writer, who has just
/// seen it.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn note_complete(tx: &mut ProjectTx, fence: Fence) -> Result<(), Fault> {
    let (embedded_to, last) = index_state::embedded_to(tx).await?;
    if embedded_to < last { index_state::set_embedded_to(tx, fence, last).await } else { Ok(()) }
}

/// How many different texts there are, each of which wants a vector.
///
/// # Errors
/// Storage faults.
pub async fn texts_count(tx: &mut ProjectTx) -> Result<i64, Fault> {
    let text = format!("SELECT count(DISTINCT content_hash) FROM {}", tx.table("chunks"));
    tx.tx.one(sql(text)).await?.try_get(0)
}

/// Stores vectors; a text that has one keeps it. The two lists are parallel. Returns how many are new.
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
        "INSERT INTO {} (hash, embedding) SELECT t.hash, t.embedding FROM unnest($1::bytea[], $2::halfvec[]) \
         AS t (hash, embedding) ON CONFLICT (hash) DO NOTHING",
        tx.table("vectors")
    );
    let embeddings: Vec<HalfVector> = embeddings.iter().map(|e| HalfVector::from_f32_slice(e)).collect();
    tx.execute(sql(text).bind(hashes).bind(embeddings)).await
}

/// How many vectors there are.
///
/// # Errors
/// Storage faults.
pub async fn count(tx: &mut ProjectTx) -> Result<i64, Fault> {
    let text = format!("SELECT count(*) FROM {}", tx.table("vectors"));
    tx.tx.one(sql(text)).await?.try_get(0)
}

/// Whether there are more than `most`; they are counted only where they take enough room for that.
///
/// # Errors
/// Storage faults.
pub async fn are_more_than(tx: &mut ProjectTx, most: i64) -> Result<bool, Fault> {
    let bytes_each = i64::try_from(tx.project().model().dimensions * size_of::<half::f16>()).unwrap_or(1);
    let text = format!("SELECT pg_relation_size('{}') / $1", tx.table("vectors"));
    let at_most: i64 = tx.tx.one(sql(text).bind(bytes_each.max(1))).await?.try_get(0)?;
    Ok(at_most > most && count(tx).await? > most)
}

/// Removes vectors of texts that no chunk has any more; returns how many.
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

/// What the vectors of texts take that no chunk has, once the repositories `without` are gone.
///
/// # Errors
/// Storage faults.
pub async fn orphans(tx: &mut ProjectTx, without: &[i64]) -> Result<Measured, Fault> {
    let text = format!(
        "SELECT count(*), coalesce(sum(pg_column_size(ROW(v.*))), 0)::int8 FROM {} v WHERE NOT EXISTS \
         (SELECT 1 FROM {} c WHERE c.content_hash = v.hash AND c.repository_id <> ALL ($1))",
        tx.table("vectors"),
        tx.table("chunks")
    );
    tx.lift_timeout().await?;
    Measured::of(&tx.tx.one(sql(text).bind(without)).await?)
}

/// Removes at most `limit` vectors of texts that no chunk has, in the order of their hashes, from after `after` on;
/// returns what they took and where to go on.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn remove_some_orphans(
    tx: &mut ProjectTx,
    fence: Fence,
    after: &[u8],
    limit: i64,
) -> Result<(Measured, Option<Vec<u8>>), Fault> {
    index_state::check_fence(tx, fence).await?;
    tx.lift_timeout().await?;
    let text = format!(
        "WITH gone AS (DELETE FROM {vectors} v WHERE v.hash IN (SELECT o.hash FROM {vectors} o WHERE o.hash > $1 \
         AND NOT EXISTS (SELECT 1 FROM {chunks} c WHERE c.content_hash = o.hash) ORDER BY o.hash LIMIT $2) \
         RETURNING v.hash, pg_column_size(ROW(v.*)) AS bytes) \
         SELECT count(*), coalesce(sum(bytes), 0)::int8, (array_agg(hash ORDER BY hash DESC))[1] FROM gone",
        vectors = tx.table("vectors"),
        chunks = tx.table("chunks")
    );
    let row = tx.tx.one(sql(text).bind(after).bind(limit)).await?;
    Ok((Measured::of(&row)?, row.try_get(2)?))
}

/// Makes the HNSW index once there are `rows_min` vectors; true when it did. Searches go on meanwhile; the
/// caller is the only writer.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over; `STORAGE_UNAVAILABLE` without room for the index.
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
    // The index holds every vector once more, with its neighbours.
    store.room().require(sizes::of(&mut tx, &["vectors"]).await?.saturating_mul(3) / 2).await?;
    tx.lift_timeout().await?;
    tx.execute(sql(format!("SET LOCAL maintenance_work_mem = '{maintenance_work_mem_mb}MB'"))).await?;
    let vectors = tx.table("vectors");
    tx.execute(sql(format!(
        "CREATE INDEX IF NOT EXISTS vectors_hnsw ON {vectors} USING hnsw (embedding halfvec_ip_ops) \
         WITH (m = {LINKS}, ef_construction = {EF_CONSTRUCTION})"
    )))
    .await?;
    tx.execute(sql(format!("ANALYZE {vectors}"))).await?;
    index_state::check_fence(&mut tx, fence).await?;
    let text = format!("UPDATE {} SET vectors_indexed = true WHERE id = 1", tx.table("index_state"));
    tx.execute(sql(text)).await?;
    tx.commit().await?;
    Ok(true)
}

/// The chunks nearest to `question`, every vector within compared; best first, ties by text and chunk
/// (by chunk within a filter), so that fewer are the first of more.
///
/// # Errors
/// Storage faults.
pub async fn candidates_exact(
    tx: &mut ProjectTx,
    within: &Within,
    question: &[f32],
    limit: i64,
) -> Result<Vec<VectorHit>, Fault> {
    let (chunks, vectors) = (tx.table("chunks"), tx.table("vectors"));
    let question = HalfVector::from_f32_slice(question);
    let compared = "(v.embedding <#> $1) + 0 AS distance";
    // `+ 0` keeps the planner from the HNSW index.
    let rows = match within {
        Within::Everything => {
            let text = format!(
                "WITH nearest AS MATERIALIZED (SELECT v.hash, {compared} FROM {vectors} v \
                 ORDER BY distance, v.hash LIMIT $2) \
                 SELECT c.id, c.file_id, n.distance FROM nearest n JOIN {chunks} c ON c.content_hash = n.hash \
                 ORDER BY n.distance, n.hash, c.id LIMIT $2"
            );
            tx.tx.all(sql(text).bind(question).bind(limit)).await?
        }
        Within::These(ids) => {
            let text = format!(
                "SELECT k.chunk_id, k.file_id, {compared} FROM {facts} k JOIN {vectors} v ON v.hash = k.content_hash \
                 WHERE k.chunk_id = ANY($3) ORDER BY distance, k.chunk_id LIMIT $2",
                facts = tx.table("facts"),
            );
            tx.tx.all(sql(text).bind(question).bind(limit).bind(ids)).await?
        }
        Within::Where(filter) => {
            let condition = Condition::of(filter, tx, 3);
            let (from, held) = match filter.files() {
                Some(_) => (format!("{} k", tx.table("facts")), "k.file_id = ANY($3)"),
                None => (chunks_with_facts(tx), condition.text.as_str()),
            };
            let text = format!(
                "SELECT k.chunk_id, k.file_id, {compared} FROM {from} JOIN {vectors} v ON v.hash = k.content_hash \
                 WHERE {held} ORDER BY distance, k.chunk_id LIMIT $2"
            );
            tx.tx.all(condition.bind(sql(text).bind(question).bind(limit))).await?
        }
    };
    rows.iter().map(hit).collect()
}

/// The chunks nearest to `question` by the HNSW index, approximately; best first, ties by chunk. For filters
/// that let many rows through: for few, [`candidates_exact`] is faster and complete, and steps in where the index
/// finds fewer than `limit`.
///
/// # Errors
/// Storage faults.
pub async fn candidates_hnsw(
    tx: &mut ProjectTx,
    within: &Within,
    question: &[f32],
    limit: i64,
    ef_search: u32,
) -> Result<Vec<VectorHit>, Fault> {
    let filter = match within {
        Within::Everything => &Filter::EVERYTHING,
        Within::Where(filter) => filter,
        Within::These(_) => return candidates_exact(tx, within, question, limit).await,
    };
    let ef_search = ef_search.clamp(*EF_SEARCH.start(), *EF_SEARCH.end());
    let settings =
        format!("SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = {ef_search}");
    tx.tx.batch(&settings).await?;
    let (chunks, vectors) = (tx.table("chunks"), tx.table("vectors"));
    let nearest = HalfVector::from_f32_slice(question);
    if filter.is_empty() {
        let text = format!(
            "WITH nearest AS MATERIALIZED (SELECT v.hash, v.embedding <#> $1 AS distance FROM {vectors} v \
             ORDER BY v.embedding <#> $1 LIMIT $2) \
             SELECT c.id, c.file_id, n.distance FROM nearest n JOIN {chunks} c ON c.content_hash = n.hash \
             ORDER BY n.distance, c.id LIMIT $2"
        );
        let rows = tx.tx.all(sql(text).bind(nearest).bind(limit)).await?;
        return rows.iter().map(hit).collect();
    }
    let condition = Condition::of(filter, tx, 3);
    let (fulfilled, condition_text) = match filter.files() {
        // A list is hashed once, and neither files nor facts are looked at.
        Some(_) => (format!("{chunks} c"), "c.file_id = ANY($3)".to_owned()),
        None => (
            format!(
                "{chunks} c {facts} JOIN {files} f ON f.id = c.file_id",
                facts = condition.joined_facts(tx, "c.id"),
                files = tx.table("files"),
            ),
            condition.text.clone(),
        ),
    };
    // OFFSET 0 keeps EXISTS a check on each row the index yields; as a join it would lose the index.
    let text = format!(
        "WITH nearest AS MATERIALIZED (SELECT v.hash, v.embedding <#> $1 AS distance FROM {vectors} v \
         WHERE EXISTS (SELECT 1 FROM {fulfilled} WHERE c.content_hash = v.hash AND {condition_text} OFFSET 0) \
         ORDER BY v.embedding <#> $1 LIMIT $2) \
         SELECT c.id, c.file_id, n.distance FROM nearest n JOIN {fulfilled} ON c.content_hash = n.hash \
         WHERE {condition_text} ORDER BY n.distance, c.id LIMIT $2"
    );
    let rows = tx.tx.all(condition.bind(sql(text).bind(&nearest).bind(limit))).await?;
    if rows.len() < usize::try_from(limit).unwrap_or(0) {
        // The scan gave up (`hnsw.max_scan_tuples`): what passes lies far from the question.
        return candidates_exact(tx, within, question, limit).await;
    }
    rows.iter().map(hit).collect()
}

/// The vector of a chunk, and whether there is such a chunk at all.
///
/// # Errors
/// Storage faults.
pub async fn of_chunk(tx: &mut ProjectTx, chunk_id: i64) -> Result<(bool, Option<Vec<f32>>), Fault> {
    let text = format!(
        "SELECT v.embedding FROM {} k LEFT JOIN {} v ON v.hash = k.content_hash WHERE k.chunk_id = $1",
        tx.table("facts"),
        tx.table("vectors")
    );
    let Some(row) = tx.tx.first(sql(text).bind(chunk_id)).await? else { return Ok((false, None)) };
    let vector: Option<HalfVector> = row.try_get(0)?;
    Ok((true, vector.map(|vector| vector.to_vec().into_iter().map(half::f16::to_f32).collect())))
}

fn hit(row: &Row) -> Result<VectorHit, Fault> {
    let distance: f64 = row.try_get(2)?;
    Ok(VectorHit { chunk_id: row.try_get(0)?, file_id: row.try_get(1)?, similarity: -distance })
}
