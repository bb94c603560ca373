//! `launch_events`: the log of each run.

use super::hash;
use crate::postgres::{Row, sql};
use crate::project::columns::column;
use crate::transaction::ProjectTx;
use contract::Fault;

/// An event as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// The run.
    pub run_id: String,
    /// Counts from 1.
    pub seq: i32,
    /// Unique.
    pub event_id: String,
    /// Time of the event, milliseconds since the epoch.
    pub ts_ms: i64,
    /// The type.
    pub kind: String,
    /// The event, as JSON.
    pub payload: String,
    /// The trace that it belongs to.
    pub trace_id: String,
    /// The span that it belongs to.
    pub span_id: String,
    /// The span above.
    pub parent_span_id: Option<String>,
    /// Hash of the event before.
    pub prev_hash: [u8; 32],
    /// Hash of this event.
    pub hash: [u8; 32],
}

const COLUMNS: &str =
    "run_id, seq, event_id, ts_ms, type, payload, trace_id, span_id, parent_span_id, prev_hash, hash";

/// At most `limit` events of a run after the one with the number `after`, in order.
pub async fn page(tx: &mut ProjectTx, run_id: &str, after: i32, limit: i64) -> Result<Vec<EventRow>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM {} WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
        tx.table("launch_events")
    );
    let rows = tx.tx.all(sql(text).bind(run_id).bind(after).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// The last `limit` events of a run, the newest first.
pub async fn newest(tx: &mut ProjectTx, run_id: &str, limit: i64) -> Result<Vec<EventRow>, Fault> {
    let text = format!(
        "SELECT {COLUMNS} FROM {} WHERE run_id = $1 ORDER BY seq DESC LIMIT $2",
        tx.table("launch_events")
    );
    let rows = tx.tx.all(sql(text).bind(run_id).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// Appends events of one run.
pub(super) async fn append(tx: &mut ProjectTx, run_id: &str, events: &[EventRow]) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} ({COLUMNS}) \
         SELECT $1, w.seq, w.event_id, w.ts_ms, w.type, w.payload, w.trace_id, w.span_id, w.parent_span_id, w.prev_hash, w.hash \
         FROM unnest($2::int4[], $3::text[], $4::int8[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], \
           $10::bytea[], $11::bytea[]) \
           AS w (seq, event_id, ts_ms, type, payload, trace_id, span_id, parent_span_id, prev_hash, hash) \
         ORDER BY w.seq",
        tx.table("launch_events")
    );
    let query = sql(text)
        .bind(run_id)
        .bind(column(events, |e| e.seq))
        .bind(column(events, |e| e.event_id.as_str()))
        .bind(column(events, |e| e.ts_ms))
        .bind(column(events, |e| e.kind.as_str()))
        .bind(column(events, |e| e.payload.as_str()))
        .bind(column(events, |e| e.trace_id.as_str()))
        .bind(column(events, |e| e.span_id.as_str()))
        .bind(column(events, |e| e.parent_span_id.as_deref()))
        .bind(column(events, |e| e.prev_hash.as_slice()))
        .bind(column(events, |e| e.hash.as_slice()));
    tx.execute(query).await.map(drop)
}

fn decode(row: &Row) -> Result<EventRow, Fault> {
    Ok(EventRow {
        run_id: row.try_get("run_id")?,
        seq: row.try_get("seq")?,
        event_id: row.try_get("event_id")?,
        ts_ms: row.try_get("ts_ms")?,
        kind: row.try_get("type")?,
        payload: row.try_get("payload")?,
        trace_id: row.try_get("trace_id")?,
        span_id: row.try_get("span_id")?,
        parent_span_id: row.try_get("parent_span_id")?,
        prev_hash: hash(row, "prev_hash")?,
        hash: hash(row, "hash")?,
    })
}
