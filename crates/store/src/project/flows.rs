//! `flows`: flows of untrusted input from one file to another, stored for the chunks at both ends.

use super::columns::FlatLists;
use super::index_state::{self, Fence};
use super::names::{self, KnownNames, NamedFact, NewNames};
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// The flows of one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowWrite {
    /// Id of the chunk.
    pub chunk_id: i64,
    /// Id of its file.
    pub file_id: i64,
    /// Facts that filters find them by.
    pub facts: Vec<NamedFact>,
    /// Their description for display, as a JSON array.
    pub detail: String,
}

/// The open ends of flows in a repository's files (untrusted input that leaves a file, and dangerous parameters), as (file,
/// JSON), sorted by path.
pub async fn risk_ends(tx: &mut ProjectTx, repository_id: i64) -> Result<Vec<(i64, String)>, Fault> {
    let text = format!(
        "SELECT id, risk_ends FROM {} WHERE repository_id = $1 AND risk_ends IS NOT NULL ORDER BY path",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_id)).await?;
    rows.iter().map(|row| Ok((row.try_get("id")?, row.try_get("risk_ends")?))).collect()
}

/// Replaces the flows of a repository.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn replace(
    tx: &mut ProjectTx,
    fence: Fence,
    repository_id: i64,
    flows: &[FlowWrite],
    known: &mut KnownNames,
) -> Result<(), Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "DELETE FROM {} w USING {} f WHERE f.id = w.file_id AND f.repository_id = $1",
        tx.table("flows"),
        tx.table("files")
    );
    tx.execute(sql(text).bind(repository_id)).await?;
    if flows.is_empty() {
        return Ok(());
    }
    let mut fresh = NewNames::default();
    let ids = FlatLists::from_lists(
        flows
            .iter()
            .map(|flow| known.ids(flow.facts.iter().map(|(f, value)| (*f, value.as_str())), &mut fresh)),
    );
    let text = format!(
        "INSERT INTO {} (chunk_id, file_id, ids, detail) \
         SELECT t.chunk_id, t.file_id, ($1::int8[])[t.first:t.last], t.detail \
         FROM unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[], $6::text[]) \
           AS t (chunk_id, file_id, first, last, detail)",
        tx.table("flows")
    );
    let query = sql(text)
        .bind(ids.all)
        .bind(flows.iter().map(|flow| flow.chunk_id).collect::<Vec<_>>())
        .bind(flows.iter().map(|flow| flow.file_id).collect::<Vec<_>>())
        .bind(ids.first)
        .bind(ids.last)
        .bind(flows.iter().map(|flow| flow.detail.as_str()).collect::<Vec<_>>());
    tx.execute(query).await?;
    names::insert(tx, &fresh).await
}
