//! The data that every search reads first, in one statement: state of the index, repositories, and document frequencies.

use super::index_state::{self, IndexState};
use super::repositories::{self, RepositoryRow};
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// State of an index, with the document frequencies of some terms.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexOverview {
    /// State of the index.
    pub state: IndexState,
    /// All repositories, sorted by root, without their reports.
    pub repositories: Vec<RepositoryRow>,
    /// Whether there are files whose mode is `records`.
    pub any_records: bool,
    /// Document frequencies as (term, number of chunks); without terms that no chunk contains.
    pub frequencies: Vec<(i32, i32)>,
}

/// Reads the overview with the document frequencies of `terms`.
pub async fn read(tx: &mut ProjectTx, terms: &[i32]) -> Result<IndexOverview, Fault> {
    let text = format!(
        "SELECT {state}, EXISTS (SELECT 1 FROM {files} WHERE mode = 'records') AS any_records, t.terms, \
           t.frequencies, r.id IS NOT NULL AS has_repository, {columns} \
         FROM {index_state} s \
         CROSS JOIN (SELECT array_agg(term) AS terms, array_agg(chunks) AS frequencies FROM {terms} \
           WHERE term = ANY($1)) t \
         LEFT JOIN {repositories} r ON true \
         WHERE s.id = 1 ORDER BY r.root",
        state = index_state::COLUMNS,
        columns = repositories::WITHOUT_REPORT,
        files = tx.table("files"),
        index_state = tx.table("index_state"),
        terms = tx.table("terms"),
        repositories = tx.table("repositories"),
    );
    let rows = tx.tx.all(sql(text).bind(terms)).await?;
    let first = rows.first().ok_or_else(|| Fault::internal("A project has no state.", "no row"))?;
    let stored: Option<Vec<i32>> = first.try_get("terms")?;
    let frequencies: Option<Vec<i32>> = first.try_get("frequencies")?;
    // A project without repositories has one row, whose columns of the repository are NULL.
    let with_repository = rows.iter().filter(|row| row.try_get("has_repository").unwrap_or(false));
    Ok(IndexOverview {
        state: index_state::decode(first)?,
        repositories: with_repository.map(repositories::decode).collect::<Result<_, _>>()?,
        any_records: first.try_get("any_records")?,
        frequencies: stored.unwrap_or_default().into_iter().zip(frequencies.unwrap_or_default()).collect(),
    })
}
