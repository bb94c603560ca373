//! What every question asks first, in one statement: how far the index is, of what, and how common the words are.

use super::index_state::{self, IndexState, WIDTH};
use super::repositories::{self, RepositoryRow};
use crate::door::ProjectTx;
use crate::postgres::sql;
use contract::Fault;

/// What every question asks first.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    /// How far the index is.
    pub state: IndexState,
    /// All repositories, by root, without their reports.
    pub repositories: Vec<RepositoryRow>,
    /// Whether there are files whose mode is `records`.
    pub any_records: bool,
    /// In how many chunks terms stand; a term that stands nowhere is left out.
    pub frequencies: Vec<(i32, i32)>,
}

/// Reads it, with the frequencies of `terms`.
///
/// # Errors
/// Storage faults.
pub async fn read(tx: &mut ProjectTx, terms: &[i32]) -> Result<Opening, Fault> {
    let text = format!(
        "SELECT {state}, EXISTS (SELECT 1 FROM {files} WHERE mode = 'records'), t.terms, t.chunks, r.id IS NOT NULL, {columns} \
         FROM {index_state} s \
         CROSS JOIN (SELECT array_agg(term) AS terms, array_agg(chunks) AS chunks FROM {terms} WHERE term = ANY($1)) t \
         LEFT JOIN {repositories} r ON true WHERE s.id = 1 ORDER BY r.root",
        state = index_state::COLUMNS,
        columns = repositories::WITHOUT_REPORT,
        files = tx.table("files"),
        index_state = tx.table("index_state"),
        terms = tx.table("terms"),
        repositories = tx.table("repositories"),
    );
    let rows = tx.tx.all(sql(text).bind(terms)).await?;
    let first = rows.first().ok_or_else(|| Fault::internal("A project has no state.", "no row"))?;
    let said: Option<Vec<i32>> = first.try_get(WIDTH + 1)?;
    let chunks: Option<Vec<i32>> = first.try_get(WIDTH + 2)?;
    let there = rows.iter().filter(|row| row.try_get(WIDTH + 3).unwrap_or(false));
    Ok(Opening {
        state: index_state::decode(first)?,
        repositories: there.map(|row| repositories::decode(row, WIDTH + 4)).collect::<Result<_, _>>()?,
        any_records: first.try_get(WIDTH)?,
        frequencies: said.unwrap_or_default().into_iter().zip(chunks.unwrap_or_default()).collect(),
    })
}
