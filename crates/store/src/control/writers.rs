//! `pairofcleats.writers`: failures of the background writers of all processes, for `doctor`.

use super::job::NOTE_BYTES_MAX;
use crate::postgres::{sql, storable};
use crate::transaction::ControlTx;
use contract::Fault;

/// Days that a note is kept.
const KEEP_DAYS: i32 = 7;
/// A process that is unable to write notes it at least this often, in seconds; one that does not has ended.
const SILENCE_SECONDS: f64 = 60.0;

/// A writer's failures in one process since its last note.
#[derive(Debug, Clone, Copy)]
pub struct WriterNote<'a> {
    /// The writer: `audit`, `usage`.
    pub writer: &'a str,
    /// The process.
    pub process: &'a str,
    /// Entries that were lost since the last note.
    pub lost: i64,
    /// Milliseconds for which nothing could be written; `None` if writing works.
    pub failing_ms: Option<i64>,
    /// The reason.
    pub problem: &'a str,
}

/// A writer's failures over all processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterRow {
    /// The writer.
    pub writer: String,
    /// Entries that were lost in the last days.
    pub lost: i64,
    /// Time when the last of them was lost, milliseconds since the epoch, UTC.
    pub lost_ms: Option<i64>,
    /// Since when a process has been unable to write, milliseconds since the epoch, UTC.
    pub failing_since_ms: Option<i64>,
    /// The last reason.
    pub problem: String,
}

/// Adds a note, and deletes old ones.
pub async fn note(control: &mut ControlTx, note: WriterNote<'_>) -> Result<(), Fault> {
    let old = sql("DELETE FROM pairofcleats.writers WHERE noted_at < now() - make_interval(days => $1)");
    control.tx.execute(old.bind(KEEP_DAYS)).await?;
    let query = sql("INSERT INTO pairofcleats.writers AS w \
           (writer, process, lost, lost_at, failing_since, problem, noted_at) \
         VALUES ($1, $2, $3::int8, CASE WHEN $3::int8 > 0 THEN now() END, \
           now() - $4::int8 * interval '1 millisecond', $5, now()) \
         ON CONFLICT (writer, process) DO UPDATE SET \
           lost = w.lost + excluded.lost, lost_at = coalesce(excluded.lost_at, w.lost_at), \
           failing_since = excluded.failing_since, problem = excluded.problem, noted_at = now()");
    let query = query.bind(note.writer).bind(note.process).bind(note.lost).bind(note.failing_ms);
    control.tx.execute(query.bind(storable(note.problem, NOTE_BYTES_MAX))).await?;
    Ok(())
}

/// Returns the failures of the writers of all processes in the last days, by writer.
pub async fn list(control: &mut ControlTx) -> Result<Vec<WriterRow>, Fault> {
    let query = sql("SELECT writer, sum(lost)::int8 AS lost, \
           (extract(epoch FROM max(lost_at)) * 1000)::int8 AS lost_ms, \
           (extract(epoch FROM min(failing_since) \
             FILTER (WHERE noted_at > now() - make_interval(secs => $2))) * 1000)::int8 AS failing_since_ms, \
           (array_agg(problem ORDER BY noted_at DESC))[1] AS problem \
         FROM pairofcleats.writers WHERE noted_at >= now() - make_interval(days => $1) \
         GROUP BY writer ORDER BY writer");
    let rows = control.tx.all(query.bind(KEEP_DAYS).bind(SILENCE_SECONDS)).await?;
    rows.iter()
        .map(|row| {
            Ok(WriterRow {
                writer: row.try_get("writer")?,
                lost: row.try_get("lost")?,
                lost_ms: row.try_get("lost_ms")?,
                failing_since_ms: row.try_get("failing_since_ms")?,
                problem: row.try_get("problem")?,
            })
        })
        .collect()
}
