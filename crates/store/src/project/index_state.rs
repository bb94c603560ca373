//! `index_state`: the one row that says how far a project's index is, and who may write.

use crate::postgres::Row;

use crate::door::{ControlTx, ProjectTx};
use crate::postgres::{SchemaName, sql};
use contract::{ErrorCode, Fault};

/// The right to write: the token of a claimed job. A later claim has a larger one, and the moment it is
/// taken up every transaction of an earlier one fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence(pub i64);

/// How far the index is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexState {
    /// Counts publications.
    pub generation: i64,
    /// Searchable chunks, as last published.
    pub chunks: i64,
    /// Searchable files, as last published.
    pub files: i64,
    /// Number of chunks when document frequencies were counted: BM25's N.
    pub statistics_chunks: i64,
    /// Chunks written or removed since.
    pub changed_since_statistics: i64,
    /// Whether the GIN index on terms exists.
    pub terms_indexed: bool,
    /// Whether the HNSW index on vectors exists.
    pub vectors_indexed: bool,
    /// Whether it is certain that every text has a vector; a stopped run, or one without a model, leaves it open.
    pub vectors_complete: bool,
    /// Whether chunks came or went since the last publication, also by a run that died before it.
    pub statistics_due: bool,
    /// Last publication, milliseconds since the epoch, UTC.
    pub updated_ms: i64,
}

/// Reads the state.
///
/// # Errors
/// Storage faults.
pub async fn read(tx: &mut ProjectTx) -> Result<IndexState, Fault> {
    let text = format!("SELECT {COLUMNS} FROM {} s WHERE s.id = 1", tx.table("index_state"));
    decode(&tx.tx.one(sql(text)).await?)
}

/// How many columns those are.
pub(super) const WIDTH: usize = 10;
/// The state, of the row `s`.
pub(super) const COLUMNS: &str = "s.generation, s.chunks, s.files, s.statistics_chunks, s.changed_since_statistics, \
    s.terms_indexed, s.vectors_indexed, (extract(epoch FROM s.updated_at) * 1000)::int8, s.embedded_to >= s.next_id - 1, s.statistics_due";

/// Of a row that begins with [`COLUMNS`].
pub(super) fn decode(row: &Row) -> Result<IndexState, Fault> {
    Ok(IndexState {
        generation: row.try_get(0)?,
        chunks: row.try_get(1)?,
        files: row.try_get(2)?,
        statistics_chunks: row.try_get(3)?,
        changed_since_statistics: row.try_get(4)?,
        terms_indexed: row.try_get(5)?,
        vectors_indexed: row.try_get(6)?,
        updated_ms: row.try_get(7)?,
        vectors_complete: row.try_get(8)?,
        statistics_due: row.try_get(9)?,
    })
}

/// Takes up the right to write; from the commit on, holders of earlier tokens fail.
///
/// # Errors
/// `ILLEGAL_STATE` when a later token was taken up already.
pub async fn acquire_fence(tx: &mut ProjectTx, fence: Fence) -> Result<(), Fault> {
    let text = format!("UPDATE {} SET fence = $1 WHERE id = 1 AND fence <= $1", tx.table("index_state"));
    let rows = tx.execute(sql(text).bind(fence.0)).await?;
    held(rows)
}

/// Proves the right to write and keeps others from taking it until this transaction ends.
///
/// # Errors
/// `ILLEGAL_STATE` when a later claim took over.
pub async fn check_fence(tx: &mut ProjectTx, fence: Fence) -> Result<(), Fault> {
    let text = format!("UPDATE {} SET fence = $1 WHERE id = 1 AND fence = $1", tx.table("index_state"));
    let rows = tx.execute(sql(text).bind(fence.0)).await?;
    held(rows)
}

/// Takes `count` ids; returns the first. Proves the right to write, too.
///
/// # Errors
/// As [`check_fence`].
pub async fn reserve_ids(tx: &mut ProjectTx, fence: Fence, count: i64) -> Result<i64, Fault> {
    let text = format!(
        "UPDATE {} SET next_id = next_id + $2 WHERE id = 1 AND fence = $1 RETURNING next_id - $2",
        tx.table("index_state")
    );
    match tx.tx.first(sql(text).bind(fence.0).bind(count)).await? {
        Some(row) => Ok(row.try_get(0)?),
        None => Err(lost()),
    }
}

/// The last chunk up to which every text has a vector, and the last one that there is or was.
///
/// # Errors
/// Storage faults.
pub(super) async fn embedded_to(tx: &mut ProjectTx) -> Result<(i64, i64), Fault> {
    let text = format!("SELECT embedded_to, next_id - 1 FROM {} WHERE id = 1", tx.table("index_state"));
    let row = tx.tx.one(sql(text)).await?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// Notes that every text up to the chunk `last` has a vector.
///
/// # Errors
/// As [`check_fence`].
pub(super) async fn set_embedded_to(tx: &mut ProjectTx, fence: Fence, last: i64) -> Result<(), Fault> {
    let text = format!("UPDATE {} SET embedded_to = $2 WHERE id = 1 AND fence = $1", tx.table("index_state"));
    held(tx.execute(sql(text).bind(fence.0).bind(last)).await?)
}

/// Notes that `chunks` came or went, which a publication has to follow.
pub(super) async fn mark_statistics_due(tx: &mut ProjectTx, chunks: i64) -> Result<(), Fault> {
    let text = format!(
        "UPDATE {} SET statistics_due = true, changed_since_statistics = changed_since_statistics + $1 WHERE id = 1",
        tx.table("index_state")
    );
    tx.execute(sql(text).bind(chunks)).await?;
    Ok(())
}

/// Publishes what changed: counts what is there, starts a new generation.
///
/// # Errors
/// As [`check_fence`].
pub async fn publish(tx: &mut ProjectTx, fence: Fence) -> Result<IndexState, Fault> {
    let text = format!(
        "UPDATE {state} SET generation = generation + 1, statistics_due = false, updated_at = now(), \
         files = (SELECT count(*) FROM {files} WHERE skipped IS NULL), \
         chunks = (SELECT coalesce(sum(chunks), 0)::int8 FROM {files}) WHERE id = 1 AND fence = $1",
        state = tx.table("index_state"),
        files = tx.table("files"),
    );
    held(tx.execute(sql(text).bind(fence.0)).await?)?;
    read(tx).await
}

/// Every fence token taken up so far is worth nothing.
pub(crate) async fn end_writers(door: &mut ControlTx, schema: &SchemaName) -> Result<(), Fault> {
    let text = format!(
        "UPDATE {} SET fence = nextval('pairofcleats.fences') WHERE id = 1",
        schema.table("index_state")
    );
    door.tx.execute(sql(text)).await?;
    Ok(())
}

/// No vectors any more, and no index on them.
pub(crate) async fn forget_vectors(door: &mut ControlTx, schema: &SchemaName) -> Result<(), Fault> {
    let text = format!(
        "UPDATE {} SET vectors_indexed = false, embedded_to = 0 WHERE id = 1",
        schema.table("index_state")
    );
    door.tx.execute(sql(text)).await?;
    Ok(())
}

fn held(rows: u64) -> Result<(), Fault> {
    if rows == 1 { Ok(()) } else { Err(lost()) }
}

fn lost() -> Fault {
    Fault::new(ErrorCode::IllegalState, "Another run took over this project's index.")
        .with_hint("The other run goes on with the work; ask `index_status` how far it is.")
}
