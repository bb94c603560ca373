//! `pairofcleats.sources`: when the entries of the setting `[[sources]]` were synced, and which process does it now. Everything
//! goes by the database's clock, so that several servers share the work.

use super::job::{NOTE_BYTES_MAX, millis};
use crate::postgres::{Row, sql, storable};
use crate::transaction::ControlTx;
use contract::Fault;

/// Longest interval, a century: longer ones leave the range of a time.
const INTERVAL_MS_MAX: u64 = 36_500 * 86_400_000;

/// A source that was synced once. Times are milliseconds since the epoch, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRow {
    /// Its name in the settings.
    pub name: String,
    /// End of its last successful sync.
    pub synced_ms: Option<i64>,
    /// `true` if a process syncs it now.
    pub syncing: bool,
    /// Note of the last sync.
    pub note: Option<String>,
}

/// The end of a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncEnd<'a> {
    /// `true` if it succeeded.
    pub succeeded: bool,
    /// In how many milliseconds the source is due again; `None`: at its usual time.
    pub due_in_ms: Option<u64>,
    /// A remark for the operator.
    pub note: Option<&'a str>,
}

/// Claims a source for `lease_ms`, unless another process has it. With `every_ms` only if it is due: never synced, or this long
/// ago, or at the time that its last sync named. Of several processes that call this at once, one succeeds.
///
/// # Errors
/// Storage faults.
pub async fn claim(
    control: &mut ControlTx,
    name: &str,
    worker: &str,
    lease_ms: u64,
    every_ms: Option<u64>,
) -> Result<bool, Fault> {
    let query = sql("INSERT INTO pairofcleats.sources (name, claimed_by, claimed_until) \
         VALUES ($1, $2, clock_timestamp() + $3::float8 * interval '1 millisecond') \
         ON CONFLICT (name) DO UPDATE \
         SET claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until \
         WHERE (sources.claimed_until IS NULL OR sources.claimed_until < clock_timestamp()) \
         AND ($4::float8 IS NULL OR sources.tried_at IS NULL OR coalesce(sources.retry_at, \
           sources.tried_at + $4::float8 * interval '1 millisecond') <= clock_timestamp())");
    let every_ms = every_ms.map(|every_ms| millis(every_ms.min(INTERVAL_MS_MAX)));
    let query = query.bind(name).bind(worker).bind(millis(lease_ms)).bind(every_ms);
    Ok(control.tx.execute(query).await? == 1)
}

/// Extends the claim; false if another process has the source by now.
///
/// # Errors
/// Storage faults.
pub async fn renew(control: &mut ControlTx, name: &str, worker: &str, lease_ms: u64) -> Result<bool, Fault> {
    let query = sql("UPDATE pairofcleats.sources \
         SET claimed_until = clock_timestamp() + $3::float8 * interval '1 millisecond' \
         WHERE name = $1 AND claimed_by = $2");
    Ok(control.tx.execute(query.bind(name).bind(worker).bind(millis(lease_ms))).await? == 1)
}

/// Ends the claim and stores how the sync ended. Changes nothing if another process has the source by now.
///
/// # Errors
/// Storage faults.
pub async fn release(
    control: &mut ControlTx,
    name: &str,
    worker: &str,
    end: SyncEnd<'_>,
) -> Result<(), Fault> {
    let query = sql("UPDATE pairofcleats.sources \
         SET claimed_by = NULL, claimed_until = NULL, tried_at = clock_timestamp(), \
           synced_at = CASE WHEN $3 THEN clock_timestamp() ELSE synced_at END, \
           retry_at = clock_timestamp() + $4::float8 * interval '1 millisecond', note = $5 \
         WHERE name = $1 AND claimed_by = $2");
    let due_in_ms = end.due_in_ms.map(|due_in_ms| millis(due_in_ms.min(INTERVAL_MS_MAX)));
    let query = query
        .bind(name)
        .bind(worker)
        .bind(end.succeeded)
        .bind(due_in_ms)
        .bind(end.note.map(|note| storable(note, NOTE_BYTES_MAX)));
    control.tx.execute(query).await?;
    Ok(())
}

/// All sources that were synced once, also those that the settings no longer have, by name.
///
/// # Errors
/// Storage faults.
pub async fn list(control: &mut ControlTx) -> Result<Vec<SourceRow>, Fault> {
    let query = sql("SELECT name, (extract(epoch FROM synced_at) * 1000)::int8 AS synced_ms, \
           coalesce(claimed_until >= clock_timestamp(), false) AS syncing, note \
         FROM pairofcleats.sources ORDER BY name");
    control.tx.all(query).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<SourceRow, Fault> {
    Ok(SourceRow {
        name: row.try_get("name")?,
        synced_ms: row.try_get("synced_ms")?,
        syncing: row.try_get("syncing")?,
        note: row.try_get("note")?,
    })
}
