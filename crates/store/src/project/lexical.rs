//! `lexical`: BM25 on Postgres with pgvector.
//!
//! The row of a chunk has the term-frequency part of BM25 as a sparse vector over term hashes; the query's
//! vector has the idf, which [`statistics`](super::statistics) counts. Their inner product is the BM25 score.

use pgvector::SparseVector;

use super::condition::Condition;
use super::filter::ChunkSelection;
use super::index_state::{self, Fence};
use super::sizes;
use crate::postgres::sql;
use crate::transaction::{ProjectTx, Store};
use crate::workspace::Project;
use contract::Fault;

/// Dimensions of the sparse vectors; term ids are smaller.
const TERM_SPACE: i32 = 1_000_000_000;
/// pgvector's limit on non-zero elements.
const TERMS_MAX: usize = 16_000;

/// A query of the lexical index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LexicalQuery {
    /// Term ids, sorted and unique.
    pub terms: Vec<i32>,
    /// The idf of each term times its weight in the query; parallel to `terms`.
    pub weights: Vec<f32>,
    /// A candidate must contain at least one of these terms, usually the rarer ones.
    pub keep: Vec<i32>,
    /// The words themselves, for FTS5, which does not use hashes.
    pub words: Vec<String>,
}

/// A chunk and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LexicalHit {
    /// Id of the chunk.
    pub chunk_id: i64,
    /// Id of its file.
    pub file_id: i64,
    /// BM25; higher is better.
    pub score: f64,
}

/// A sparse vector from parallel lists, sorted by term. Terms beyond pgvector's limit are dropped: chunks have far
/// fewer, and a huge generated one must not fail the run.
pub(super) fn sparse(terms: &[i32], weights: &[f32]) -> SparseVector {
    SparseVector::from_map(terms.iter().zip(weights).take(TERMS_MAX), TERM_SPACE)
}

/// The text of a chunk that lexical search uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LexicalSource {
    /// The whole text.
    Chunks,
    /// Only its comments.
    Comments,
}

/// Maximum number of chunks of given files whose words are all compared with the query's. Comparing takes a microsecond, so the index on
/// terms, which cannot filter by file, is faster only for more chunks.
const COMPARED_MAX: u64 = 20_000;

/// A query's terms that select, as a sparse vector: its inner product with that of a chunk is 0 if the chunk has none of them.
/// Unlike `&&`, which compares each term with each, this reads both lists once.
pub(super) fn selecting(query: &LexicalQuery) -> SparseVector {
    sparse(&query.keep, &vec![1.0; query.keep.len()])
}

impl LexicalSource {
    pub(super) fn table(self) -> &'static str {
        match self {
            Self::Chunks => "lexical",
            Self::Comments => "comments",
        }
    }
}

/// The chunks with the best scores among those that contain a term of `query.keep`, best first; ties are ordered by id.
pub async fn candidates(
    tx: &mut ProjectTx,
    source: LexicalSource,
    selection: &ChunkSelection,
    query: &LexicalQuery,
    limit: i64,
) -> Result<Vec<LexicalHit>, Fault> {
    let lexical = tx.table(source.table());
    let vector = sparse(&query.terms, &query.weights);
    let select = format!("SELECT l.chunk_id, l.file_id, l.weights <#> $1 AS distance FROM {lexical} l");
    let order = "ORDER BY distance, l.chunk_id LIMIT $3";
    let rows = match selection {
        ChunkSelection::All => {
            let text = format!("{select} WHERE l.terms && $2 {order}");
            tx.tx.all(sql(text).bind(vector).bind(&query.keep).bind(limit)).await?
        }
        ChunkSelection::Listed(ids) => {
            let text = format!("{select} WHERE l.weights <#> $2 < 0 AND l.chunk_id = ANY($4) {order}");
            tx.tx.all(sql(text).bind(vector).bind(selecting(query)).bind(limit).bind(ids)).await?
        }
        ChunkSelection::Matching(filter) => match filter.files() {
            Some((files, chunks)) if chunks <= COMPARED_MAX => {
                let text = format!("{select} WHERE l.weights <#> $2 < 0 AND l.file_id = ANY($4) {order}");
                tx.tx.all(sql(text).bind(vector).bind(selecting(query)).bind(limit).bind(files)).await?
            }
            Some((files, _)) => {
                let text = format!("{select} WHERE l.terms && $2 AND l.file_id = ANY($4) {order}");
                tx.tx.all(sql(text).bind(vector).bind(&query.keep).bind(limit).bind(files)).await?
            }
            None => {
                let condition = Condition::new(filter, tx, 4);
                // Tests the candidates in order of their scores until enough pass, because most filters without a list match
                // most chunks. OFFSET 0 prevents the planner from turning this into a join, which tests all before it sorts.
                let text = format!(
                    "SELECT b.chunk_id, b.file_id, b.distance \
                     FROM ({select} WHERE l.terms && $2 ORDER BY distance, l.chunk_id OFFSET 0) b \
                     WHERE EXISTS (SELECT 1 FROM {files} f {facts} WHERE f.id = b.file_id \
                       AND {condition} OFFSET 0) \
                     ORDER BY b.distance, b.chunk_id LIMIT $3",
                    facts = condition.facts_join(tx, "b.chunk_id"),
                    files = tx.table("files"),
                    condition = condition.text,
                );
                tx.tx.all(condition.bind(sql(text).bind(vector).bind(&query.keep).bind(limit))).await?
            }
        },
    };
    rows.iter().map(hit).collect()
}

/// Decodes a row of the columns `chunk_id`, `file_id` and `distance`.
pub(super) fn hit(row: &crate::postgres::Row) -> Result<LexicalHit, Fault> {
    let distance: f64 = row.try_get("distance")?;
    Ok(LexicalHit { chunk_id: row.try_get("chunk_id")?, file_id: row.try_get("file_id")?, score: -distance })
}

/// Creates the GIN indexes on terms, trigrams, facts and defined names, after the first run has filled the tables; returns whether it
/// did. Does not block searches. The caller must be the only writer.
///
/// # Errors
/// `ILLEGAL_STATE` if another run took over; `STORAGE_UNAVAILABLE` without disk space for the indexes.
pub async fn ensure_terms_index(
    store: &Store,
    project: &Project,
    fence: Fence,
    maintenance_work_mem_mb: u32,
) -> Result<bool, Fault> {
    let _permit = store.database().build_permit().await?;
    let mut tx = ProjectTx::begin_owner(store, project).await?;
    let had_terms = index_state::read(&mut tx).await?.terms_indexed;
    if had_terms && has_grams_index(&mut tx).await? {
        tx.commit().await?;
        return Ok(false);
    }
    store
        .disk_space()
        .require(sizes::table_bytes(&mut tx, &["lexical", "grams", "facts", "comments", "names"]).await?)
        .await?;
    tx.lift_timeout().await?;
    tx.execute(sql(format!("SET LOCAL maintenance_work_mem = '{maintenance_work_mem_mb}MB'"))).await?;
    for text in [
        format!("CREATE INDEX IF NOT EXISTS lexical_terms ON {} USING gin (terms)", tx.table("lexical")),
        format!("CREATE INDEX IF NOT EXISTS grams_grams ON {} USING gin (grams)", tx.table("grams")),
        format!("CREATE INDEX IF NOT EXISTS chunks_defines ON {} USING gin (defines)", tx.table("chunks")),
        format!("CREATE INDEX IF NOT EXISTS facts_ids ON {} USING gin (ids)", tx.table("facts")),
        format!("CREATE INDEX IF NOT EXISTS comments_terms ON {} USING gin (terms)", tx.table("comments")),
        // A filter scans all values of a field, so this index is made for index-only scans.
        format!(
            "CREATE INDEX IF NOT EXISTS names_field ON {} (field) INCLUDE (folded, id)",
            tx.table("names")
        ),
        format!("ANALYZE {}", tx.table("lexical")),
        format!("ANALYZE {}", tx.table("grams")),
        format!("ANALYZE {}", tx.table("facts")),
        format!("ANALYZE {}", tx.table("names")),
        format!("ANALYZE {}", tx.table("comments")),
        format!("ANALYZE {}", tx.table("chunks")),
        format!("ANALYZE {}", tx.table("files")),
    ] {
        tx.execute(sql(text)).await?;
    }
    index_state::check_fence(&mut tx, fence).await?;
    let text = format!("UPDATE {} SET terms_indexed = true WHERE id = 1", tx.table("index_state"));
    tx.execute(sql(text)).await?;
    tx.commit().await?;
    Ok(true)
}

/// Returns `true` if the index on trigrams exists; a project of an earlier version has only the others.
async fn has_grams_index(tx: &mut ProjectTx) -> Result<bool, Fault> {
    let text = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
         WHERE i.indrelid = $1::regclass AND c.relname = 'grams_grams')";
    let table = tx.table("grams");
    tx.tx.scalar(sql(text).bind(table)).await
}
