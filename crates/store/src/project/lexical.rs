//! `lexical` and `terms`: true BM25 on stock Postgres.
//!
//! A chunk's row holds the term-frequency part of BM25 as a sparse vector over term hashes; the question's
//! vector holds the idf. Their inner product *is* the score.

use pgvector::SparseVector;

use super::condition::Condition;
use super::filter::Within;
use super::index_state::{self, Fence};
use super::sizes::{self, Measured};
use crate::door::{ProjectTx, Store};
use crate::postgres::sql;
use crate::workspace::Project;
use contract::Fault;

/// Dimensions of the sparse vectors: term ids lie below.
const TERM_SPACE: i32 = 1_000_000_000;
/// pgvector's limit of non-zero entries.
const TERMS_MAX: usize = 16_000;

/// A question to the lexical index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LexicalQuery {
    /// Term ids, sorted and unique.
    pub terms: Vec<i32>,
    /// Their idf, times whatever the question's own weighting is; parallel to `terms`.
    pub weights: Vec<f32>,
    /// A chunk must hold one of these to be looked at; usually the rarer terms.
    pub keep: Vec<i32>,
    /// The words themselves, for FTS5, which knows no hashes.
    pub words: Vec<String>,
}

/// A chunk and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LexicalHit {
    /// The chunk.
    pub chunk_id: i64,
    /// Its file.
    pub file_id: i64,
    /// BM25; higher is better.
    pub score: f64,
}

/// A sparse vector of parallel, sorted lists. Beyond pgvector's limit the tail is cut: a chunk is far
/// smaller, and a generated monster must not fail a run.
pub(super) fn sparse(terms: &[i32], weights: &[f32]) -> SparseVector {
    SparseVector::from_map(terms.iter().zip(weights).take(TERMS_MAX), TERM_SPACE)
}

/// Whose words are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// All that a chunk says.
    Chunks,
    /// What its comments say.
    Comments,
}

impl Words {
    pub(super) fn table(self) -> &'static str {
        match self {
            Self::Chunks => "lexical",
            Self::Comments => "comments",
        }
    }
}

/// The best chunks among those that hold a term of `query.keep`, best first, ties by chunk.
///
/// # Errors
/// Storage faults.
pub async fn candidates(
    tx: &mut ProjectTx,
    words: Words,
    within: &Within,
    query: &LexicalQuery,
    limit: i64,
) -> Result<Vec<LexicalHit>, Fault> {
    let lexical = tx.table(words.table());
    let vector = sparse(&query.terms, &query.weights);
    let select = format!("SELECT l.chunk_id, l.file_id, l.weights <#> $1 AS distance FROM {lexical} l");
    let order = "ORDER BY distance, l.chunk_id LIMIT $3";
    let rows = match within {
        Within::Everything => {
            let text = format!("{select} WHERE l.terms && $2 {order}");
            tx.tx.all(sql(text).bind(vector).bind(&query.keep).bind(limit)).await?
        }
        Within::These(ids) => {
            let text = format!("{select} WHERE l.terms && $2 AND l.chunk_id = ANY($4) {order}");
            tx.tx.all(sql(text).bind(vector).bind(&query.keep).bind(limit).bind(ids)).await?
        }
        Within::Where(filter) => match filter.files() {
            Some((files, _)) => {
                let text = format!("{select} WHERE l.terms && $2 AND l.file_id = ANY($4) {order}");
                tx.tx.all(sql(text).bind(vector).bind(&query.keep).bind(limit).bind(files)).await?
            }
            None => {
                let condition = Condition::of(filter, tx, 4);
                // Best first, each tested until enough have passed: most filters of this kind let most chunks through. OFFSET 0
                // keeps the order and the test what they are; as a join the planner would test all of them before it sorts.
                let text = format!(
                    "SELECT b.chunk_id, b.file_id, b.distance FROM ({select} WHERE l.terms && $2 ORDER BY distance, l.chunk_id OFFSET 0) b \
                     WHERE EXISTS (SELECT 1 FROM {files} f {facts} WHERE f.id = b.file_id AND {condition} OFFSET 0) \
                     ORDER BY b.distance, b.chunk_id LIMIT $3",
                    facts = condition.joined_facts(tx, "b.chunk_id"),
                    files = tx.table("files"),
                    condition = condition.text,
                );
                tx.tx.all(condition.bind(sql(text).bind(vector).bind(&query.keep).bind(limit))).await?
            }
        },
    };
    rows.iter().map(hit).collect()
}

fn hit(row: &crate::postgres::Row) -> Result<LexicalHit, Fault> {
    let distance: f64 = row.try_get(2)?;
    Ok(LexicalHit { chunk_id: row.try_get(0)?, file_id: row.try_get(1)?, score: -distance })
}

/// In how many chunks each of `terms` stands; a term that stands nowhere is left out.
///
/// # Errors
/// Storage faults.
pub async fn document_frequencies(tx: &mut ProjectTx, terms: &[i32]) -> Result<Vec<(i32, i32)>, Fault> {
    let text = format!("SELECT term, chunks FROM {} WHERE term = ANY($1)", tx.table("terms"));
    let rows = tx.tx.all(sql(text).bind(terms)).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Counts document frequencies again and notes the number of chunks they stand for. Rewrites only what
/// changed; searches see the old counts until the commit.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn rebuild_statistics(tx: &mut ProjectTx, fence: Fence) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    tx.lift_timeout().await?;
    let (terms, lexical) = (tx.table("terms"), tx.table("lexical"));
    let text = format!(
        "WITH fresh AS MATERIALIZED (SELECT u.term, count(*)::int4 AS chunks FROM {lexical} l, unnest(l.terms) AS u (term) GROUP BY u.term), \
         gone AS (DELETE FROM {terms} t WHERE NOT EXISTS (SELECT 1 FROM fresh WHERE fresh.term = t.term)) \
         INSERT INTO {terms} AS t (term, chunks) SELECT fresh.term, fresh.chunks FROM fresh \
         ON CONFLICT (term) DO UPDATE SET chunks = excluded.chunks WHERE t.chunks IS DISTINCT FROM excluded.chunks"
    );
    tx.execute(sql(text)).await?;
    let text = format!(
        "UPDATE {} SET statistics_chunks = (SELECT count(*) FROM {lexical}), changed_since_statistics = 0 \
         WHERE id = 1 AND fence = $1",
        tx.table("index_state")
    );
    tx.execute(sql(text).bind(fence.0)).await?;
    Ok(())
}

/// What the counts of terms take that stand in no chunk.
///
/// # Errors
/// Storage faults.
pub async fn stale_terms(tx: &mut ProjectTx) -> Result<Measured, Fault> {
    tx.lift_timeout().await?;
    let text = format!(
        "WITH used AS MATERIALIZED (SELECT DISTINCT unnest(terms) AS term FROM {lexical}) \
         SELECT count(*), coalesce(sum(pg_column_size(ROW(t.*))), 0)::int8 FROM {terms} t \
         WHERE NOT EXISTS (SELECT 1 FROM used WHERE used.term = t.term)",
        lexical = tx.table("lexical"),
        terms = tx.table("terms"),
    );
    Measured::of(&tx.tx.one(sql(text)).await?)
}

/// Makes the GIN indexes on terms, facts and defined names, once there is something in them; true when it did.
/// Searches go on meanwhile; the caller is the only writer.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over; `STORAGE_UNAVAILABLE` without room for the indexes.
pub async fn ensure_terms_index(
    store: &Store,
    project: &Project,
    fence: Fence,
    maintenance_work_mem_mb: u32,
) -> Result<bool, Fault> {
    let _permit = store.database().build_permit().await?;
    let mut tx = ProjectTx::begin_owner(store, project).await?;
    if index_state::read(&mut tx).await?.terms_indexed {
        tx.commit().await?;
        return Ok(false);
    }
    store.room().require(sizes::of(&mut tx, &["lexical", "facts", "comments", "names"]).await?).await?;
    tx.lift_timeout().await?;
    tx.execute(sql(format!("SET LOCAL maintenance_work_mem = '{maintenance_work_mem_mb}MB'"))).await?;
    for text in [
        format!("CREATE INDEX IF NOT EXISTS lexical_terms ON {} USING gin (terms)", tx.table("lexical")),
        format!("CREATE INDEX IF NOT EXISTS chunks_defines ON {} USING gin (defines)", tx.table("chunks")),
        format!("CREATE INDEX IF NOT EXISTS facts_ids ON {} USING gin (ids)", tx.table("facts")),
        format!("CREATE INDEX IF NOT EXISTS comments_terms ON {} USING gin (terms)", tx.table("comments")),
        // A filter reads all values of a field: the index alone must do.
        format!(
            "CREATE INDEX IF NOT EXISTS names_field ON {} (field) INCLUDE (folded, id)",
            tx.table("names")
        ),
        format!("ANALYZE {}", tx.table("lexical")),
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
