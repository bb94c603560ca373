//! The data that every search reads first, in one statement: state of the index, repositories, and document frequencies.

use super::index_state::{self, IndexState};
use super::repositories::{self, RepositoryRow};
use super::statistics::{TermCount, WHOLE_PROJECT};
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// State of an index, with the document frequencies of some terms.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexOverview {
    /// State of the index.
    pub state: IndexState,
    /// All repositories, sorted by root, without their reports, and without the hidden ones of revisions.
    pub repositories: Vec<RepositoryRow>,
    /// `true` if there are hidden repositories, which a search has to leave out.
    pub any_hidden: bool,
    /// `true` if there are files whose mode is `records`.
    pub any_records: bool,
    /// Document frequencies in the largest of the searched repositories, at most [`COUNTED_MAX`], and in the whole project if an
    /// earlier version counted them; without terms that no chunk contains.
    pub frequencies: Vec<TermCount>,
}

/// Maximum number of repositories whose document frequencies are read, so that the size of a project does not matter.
pub const COUNTED_MAX: usize = 32;

/// Reads the overview with the document frequencies of `terms` in the repositories with these `roots`; empty: in all.
pub async fn read(tx: &mut ProjectTx, terms: &[i32], roots: &[String]) -> Result<IndexOverview, Fault> {
    let text = format!(
        "SELECT {state}, EXISTS (SELECT 1 FROM {files} WHERE mode = 'records') AS any_records, \
           EXISTS (SELECT 1 FROM {repositories} WHERE revisions_of IS NOT NULL) AS any_hidden, \
           t.counted, t.terms, t.frequencies, r.id IS NOT NULL AS has_repository, {columns} \
         FROM {index_state} s \
         CROSS JOIN (SELECT array_agg(repository_id) AS counted, array_agg(term) AS terms, \
           array_agg(chunks) AS frequencies FROM {terms} WHERE term = ANY($1) AND repository_id = ANY(ARRAY( \
             SELECT $3::int8 UNION ALL (SELECT c.id FROM {repositories} c \
               WHERE c.revisions_of IS NULL AND (c.root = ANY($2) OR cardinality($2::text[]) = 0) \
               ORDER BY c.statistics_chunks DESC, c.id LIMIT {COUNTED_MAX})))) t \
         LEFT JOIN {repositories} r ON r.revisions_of IS NULL \
         WHERE s.id = 1 ORDER BY r.root",
        state = index_state::COLUMNS,
        columns = repositories::WITHOUT_REPORT,
        files = tx.table("files"),
        index_state = tx.table("index_state"),
        terms = tx.table("terms"),
        repositories = tx.table("repositories"),
    );
    let rows = tx.tx.all(sql(text).bind(terms).bind(roots).bind(WHOLE_PROJECT)).await?;
    let first = rows.first().ok_or_else(|| Fault::internal("A project has no state.", "no row"))?;
    let counted: Vec<i64> = first.try_get::<Option<_>>("counted")?.unwrap_or_default();
    let stored: Vec<i32> = first.try_get::<Option<_>>("terms")?.unwrap_or_default();
    let chunks: Vec<i32> = first.try_get::<Option<_>>("frequencies")?.unwrap_or_default();
    let counts = counted.into_iter().zip(stored).zip(chunks);
    let count = |((repository_id, term), chunks)| TermCount { repository_id, term, chunks };
    // A project without repositories has one row, whose columns of the repository are NULL.
    let with_repository = rows.iter().filter(|row| row.try_get("has_repository").unwrap_or(false));
    Ok(IndexOverview {
        state: index_state::decode(first)?,
        repositories: with_repository.map(repositories::decode).collect::<Result<_, _>>()?,
        any_hidden: first.try_get("any_hidden")?,
        any_records: first.try_get("any_records")?,
        frequencies: counts.map(count).collect(),
    })
}
