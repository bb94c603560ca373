//! `index_state`: a single row with the state of the project's index and the fence token of its writer.

use super::listed_repositories::is_listed;
use crate::postgres::Row;

use crate::postgres::{SchemaName, sql};
use crate::transaction::{ControlTx, ProjectTx};
use contract::{ErrorCode, Fault};

/// The fence token of a claimed job, which permits writes. A later claim has a larger token, and as soon as it is acquired,
/// every transaction with an earlier one fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence(pub i64);

/// State of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexState {
    /// Number of times that a run published its changes: see [`publish`].
    pub generation: i64,
    /// Searchable chunks, as last published.
    pub chunks: i64,
    /// Searchable files, as last published.
    pub files: i64,
    /// Number of chunks that the document frequencies of [`WHOLE_PROJECT`](super::statistics::WHOLE_PROJECT) count.
    pub statistics_chunks: i64,
    /// `true` if the GIN index on terms exists.
    pub terms_indexed: bool,
    /// `true` if the HNSW index on vectors exists.
    pub vectors_indexed: bool,
    /// `true` if every text is known to have a vector; `false` after a run that was stopped or had no model.
    pub vectors_complete: bool,
    /// `true` if chunks were added or removed since the last publication, including by a run that died.
    pub statistics_due: bool,
    /// Time of the last publication, milliseconds since the epoch, UTC.
    pub updated_ms: i64,
}

/// Reads the state.
pub async fn read(tx: &mut ProjectTx) -> Result<IndexState, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} s WHERE s.id = 1", tx.table("index_state"));
    decode(&tx.tx.one(sql(text)).await?)
}

/// The columns of the row `s`. Four have aliases, because a statement may also read repositories, which have columns with the
/// same names.
pub(super) const COLUMNS: &str = "s.generation AS index_generation, s.chunks AS index_chunks, \
      s.files AS index_files, s.statistics_chunks AS project_statistics_chunks, s.terms_indexed, s.vectors_indexed, s.embedded_to >= s.next_id - 1 AS vectors_complete, s.statistics_due, \
      (extract(epoch FROM s.updated_at) * 1000)::int8 AS updated_ms";

/// Decodes a row of [`COLUMNS`].
pub(super) fn decode(row: &Row) -> Result<IndexState, Fault> {
    Ok(IndexState {
        generation: row.try_get("index_generation")?,
        chunks: row.try_get("index_chunks")?,
        files: row.try_get("index_files")?,
        statistics_chunks: row.try_get("project_statistics_chunks")?,
        terms_indexed: row.try_get("terms_indexed")?,
        vectors_indexed: row.try_get("vectors_indexed")?,
        updated_ms: row.try_get("updated_ms")?,
        vectors_complete: row.try_get("vectors_complete")?,
        statistics_due: row.try_get("statistics_due")?,
    })
}

/// Makes `fence` the valid token; from the commit on, writes with earlier tokens fail.
///
/// # Errors
/// `ILLEGAL_STATE` if a later token is valid already.
pub async fn acquire_fence(tx: &mut ProjectTx, fence: Fence) -> Result<(), Fault> {
    let text = format!("UPDATE {} SET fence = $1 WHERE id = 1 AND fence <= $1", tx.table("index_state"));
    let rows = tx.execute(sql(text).bind(fence.0)).await?;
    require_one_row(rows)
}

/// Checks that `fence` is still the valid token, and locks it until this transaction ends.
///
/// # Errors
/// `ILLEGAL_STATE` when a later claim took over.
pub(crate) async fn check_fence(tx: &mut ProjectTx, fence: Fence) -> Result<(), Fault> {
    let text = format!("UPDATE {} SET fence = $1 WHERE id = 1 AND fence = $1", tx.table("index_state"));
    let rows = tx.execute(sql(text).bind(fence.0)).await?;
    require_one_row(rows)
}

/// Reserves `count` consecutive ids and returns the first. Also checks the fence.
///
/// # Errors
/// As [`check_fence`].
pub async fn reserve_ids(tx: &mut ProjectTx, fence: Fence, count: i64) -> Result<i64, Fault> {
    let text = format!(
        "UPDATE {} SET next_id = next_id + $2 \
         WHERE id = 1 AND fence = $1 RETURNING next_id - $2 AS first_id",
        tx.table("index_state")
    );
    match tx.tx.first(sql(text).bind(fence.0).bind(count)).await? {
        Some(row) => row.try_get("first_id"),
        None => Err(fence_lost()),
    }
}

/// The id of the chunk up to which every text has a vector, and the last id that was reserved.
pub(super) async fn embedded_to(tx: &mut ProjectTx) -> Result<(i64, i64), Fault> {
    let text =
        format!("SELECT embedded_to, next_id - 1 AS last_id FROM {} WHERE id = 1", tx.table("index_state"));
    let row = tx.tx.one(sql(text)).await?;
    Ok((row.try_get("embedded_to")?, row.try_get("last_id")?))
}

/// Records that every text up to the chunk `last` has a vector.
///
/// # Errors
/// As [`check_fence`].
pub(super) async fn set_embedded_to(tx: &mut ProjectTx, fence: Fence, last: i64) -> Result<(), Fault> {
    let text = format!("UPDATE {} SET embedded_to = $2 WHERE id = 1 AND fence = $1", tx.table("index_state"));
    require_one_row(tx.execute(sql(text).bind(fence.0).bind(last)).await?)
}

/// Records that chunks were added or removed, so that the index has to be published again.
pub(super) async fn mark_statistics_due(tx: &mut ProjectTx) -> Result<(), Fault> {
    let text = format!(
        "UPDATE {} SET statistics_due = true WHERE id = 1 AND NOT statistics_due",
        tx.table("index_state")
    );
    tx.execute(sql(text)).await?;
    Ok(())
}

/// Publishes the changes: counts files and chunks, and starts a new generation.
///
/// # Errors
/// As [`check_fence`].
pub async fn publish(tx: &mut ProjectTx, fence: Fence) -> Result<IndexState, Fault> {
    let text = format!(
        "UPDATE {state} \
         SET generation = generation + 1, statistics_due = false, updated_at = now(), files = \
           (SELECT count(*) FROM {files} f WHERE skipped IS NULL AND {listed}), chunks = \
           (SELECT coalesce(sum(chunks), 0)::int8 FROM {files} f WHERE {listed}) \
         WHERE id = 1 AND fence = $1",
        listed = is_listed(tx),
        state = tx.table("index_state"),
        files = tx.table("files"),
    );
    require_one_row(tx.execute(sql(text).bind(fence.0)).await?)?;
    read(tx).await
}

/// Invalidates every fence token issued so far.
pub(crate) async fn invalidate_fence_tokens(
    control: &mut ControlTx,
    schema: &SchemaName,
) -> Result<(), Fault> {
    let text = format!(
        "UPDATE {} SET fence = nextval('pairofcleats.fences') WHERE id = 1",
        schema.table("index_state")
    );
    control.tx.execute(sql(text)).await?;
    Ok(())
}

/// Records that there are no vectors and no index on them.
pub(crate) async fn record_no_vectors(control: &mut ControlTx, schema: &SchemaName) -> Result<(), Fault> {
    let text = format!(
        "UPDATE {} SET vectors_indexed = false, embedded_to = 0 WHERE id = 1",
        schema.table("index_state")
    );
    control.tx.execute(sql(text)).await?;
    Ok(())
}

fn require_one_row(updated: u64) -> Result<(), Fault> {
    if updated == 1 { Ok(()) } else { Err(fence_lost()) }
}

fn fence_lost() -> Fault {
    Fault::new(
        ErrorCode::IllegalState,
        "This run may no longer write: another job or a change of the project took over.",
    )
    .with_hint("`index_status` shows what runs now; index again if nothing does.")
}
