//! `launch_items`: the attempts at the work items of each run.

use crate::postgres::{Row, sql};
use crate::project::columns::column;
use crate::transaction::ProjectTx;
use contract::Fault;

/// One attempt at an item. Times are milliseconds since the epoch, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemRow {
    /// The worker.
    pub worker: String,
    /// The scope that it works on.
    pub scope_key: String,
    /// Counts from 1.
    pub attempt: i16,
    /// Its state.
    pub state: String,
    /// Hash of everything that the result depends on; empty until a worker begins.
    pub inputs_hash: Vec<u8>,
    /// The artifacts that it wrote, as JSON.
    pub outputs: String,
    /// The reason why it failed, as JSON.
    pub error: Option<String>,
    /// Time when a worker began.
    pub started_ms: Option<i64>,
    /// Time of its end.
    pub finished_ms: Option<i64>,
}

/// All attempts of a run, by worker, scope and number.
pub async fn list(tx: &mut ProjectTx, run_id: &str) -> Result<Vec<ItemRow>, Fault> {
    let text = format!(
        "SELECT worker, scope_key, attempt, state, inputs_hash, outputs, error, started_ms, finished_ms \
         FROM {} WHERE run_id = $1 ORDER BY worker, scope_key, attempt",
        tx.table("launch_items")
    );
    let rows = tx.tx.all(sql(text).bind(run_id)).await?;
    rows.iter().map(decode).collect()
}

/// Stores new attempts, and the changes of known ones.
pub(super) async fn put(tx: &mut ProjectTx, run_id: &str, items: &[ItemRow]) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} (run_id, worker, scope_key, attempt, state, inputs_hash, outputs, error, started_ms, finished_ms) \
         SELECT $1, w.worker, w.scope_key, w.attempt, w.state, w.inputs_hash, w.outputs, w.error, w.started_ms, w.finished_ms \
         FROM unnest($2::text[], $3::text[], $4::int2[], $5::text[], $6::bytea[], $7::text[], $8::text[], $9::int8[], \
           $10::int8[]) \
           AS w (worker, scope_key, attempt, state, inputs_hash, outputs, error, started_ms, finished_ms) \
         ON CONFLICT (run_id, worker, scope_key, attempt) DO UPDATE SET state = excluded.state, \
           inputs_hash = excluded.inputs_hash, outputs = excluded.outputs, error = excluded.error, \
           started_ms = excluded.started_ms, finished_ms = excluded.finished_ms",
        tx.table("launch_items")
    );
    let query = sql(text)
        .bind(run_id)
        .bind(column(items, |i| i.worker.as_str()))
        .bind(column(items, |i| i.scope_key.as_str()))
        .bind(column(items, |i| i.attempt))
        .bind(column(items, |i| i.state.as_str()))
        .bind(column(items, |i| i.inputs_hash.as_slice()))
        .bind(column(items, |i| i.outputs.as_str()))
        .bind(column(items, |i| i.error.as_deref()))
        .bind(column(items, |i| i.started_ms))
        .bind(column(items, |i| i.finished_ms));
    tx.execute(query).await.map(drop)
}

fn decode(row: &Row) -> Result<ItemRow, Fault> {
    Ok(ItemRow {
        worker: row.try_get("worker")?,
        scope_key: row.try_get("scope_key")?,
        attempt: row.try_get("attempt")?,
        state: row.try_get("state")?,
        inputs_hash: row.try_get("inputs_hash")?,
        outputs: row.try_get("outputs")?,
        error: row.try_get("error")?,
        started_ms: row.try_get("started_ms")?,
        finished_ms: row.try_get("finished_ms")?,
    })
}
