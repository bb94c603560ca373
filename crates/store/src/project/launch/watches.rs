//! `launch_watches`: the last comparison of pages with their repository, one row for the newest pages of a product on a watched site.

use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchRow {
    /// The run that wrote the pages.
    pub run_id: String,
    /// The commit of the repository that they were compared with.
    pub checked_sha: String,
    /// The generation of the repository then.
    pub generation: i64,
    /// Time of the check, milliseconds since the epoch, UTC.
    pub checked_ms: i64,
    /// Number of claims that the pages make.
    pub claims: i32,
    /// Number of sentences that are stale.
    pub stale: i32,
    /// The stale sentences, as JSON.
    pub report: String,
}

/// Returns the last check of the pages of a run.
pub async fn get(tx: &mut ProjectTx, run_id: &str) -> Result<Option<WatchRow>, Fault> {
    let text = format!(
        "SELECT run_id, checked_sha, generation, checked_ms, claims, stale, report FROM {} WHERE run_id = $1",
        tx.table("launch_watches")
    );
    let row = tx.tx.first(sql(text).bind(run_id)).await?;
    row.as_ref().map(decode).transpose()
}

/// The generations of the repositories of these runs when their pages were compared, without those that never were.
pub async fn generations(tx: &mut ProjectTx, run_ids: &[String]) -> Result<Vec<(String, i64)>, Fault> {
    let text = format!(
        "SELECT run_id, generation FROM {} WHERE run_id = ANY($1) ORDER BY run_id",
        tx.table("launch_watches")
    );
    let rows = tx.tx.all(sql(text).bind(run_ids)).await?;
    rows.iter().map(|row| Ok((row.try_get("run_id")?, row.try_get("generation")?))).collect()
}

/// The numbers of stale sentences of these runs, without those whose pages were never compared.
pub async fn stale_counts(tx: &mut ProjectTx, run_ids: &[String]) -> Result<Vec<(String, i32)>, Fault> {
    let text = format!(
        "SELECT run_id, stale FROM {} WHERE run_id = ANY($1) ORDER BY run_id",
        tx.table("launch_watches")
    );
    let rows = tx.tx.all(sql(text).bind(run_ids)).await?;
    rows.iter().map(|row| Ok((row.try_get("run_id")?, row.try_get("stale")?))).collect()
}

/// Stores the result of a check, unless the run was removed meanwhile. The last check counts, whatever generation it is about: a repository
/// that is removed and indexed anew begins with the first one again.
pub async fn put(tx: &mut ProjectTx, watch: &WatchRow) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} (run_id, checked_sha, generation, checked_ms, claims, stale, report) \
         SELECT $1::text, $2::text, $3::int8, $4::int8, $5::int4, $6::int4, $7::text \
           WHERE EXISTS (SELECT 1 FROM {} r WHERE r.run_id = $1) \
         ON CONFLICT (run_id) DO UPDATE SET checked_sha = excluded.checked_sha, generation = excluded.generation, \
           checked_ms = excluded.checked_ms, claims = excluded.claims, stale = excluded.stale, report = excluded.report",
        tx.table("launch_watches"),
        tx.table("launch_runs")
    );
    let query = sql(text).bind(&watch.run_id).bind(&watch.checked_sha).bind(watch.generation);
    let query = query.bind(watch.checked_ms).bind(watch.claims).bind(watch.stale).bind(&watch.report);
    tx.execute(query).await.map(drop)
}

/// Removes the checks of runs with this site profile, except those to keep.
pub async fn keep_only(tx: &mut ProjectTx, site_profile: &str, run_ids: &[String]) -> Result<(), Fault> {
    let text = format!(
        "DELETE FROM {} WHERE run_id <> ALL($2) AND run_id IN (SELECT r.run_id FROM {} r WHERE r.site_profile = $1)",
        tx.table("launch_watches"),
        tx.table("launch_runs")
    );
    tx.execute(sql(text).bind(site_profile).bind(run_ids)).await.map(drop)
}

fn decode(row: &Row) -> Result<WatchRow, Fault> {
    Ok(WatchRow {
        run_id: row.try_get("run_id")?,
        checked_sha: row.try_get("checked_sha")?,
        generation: row.try_get("generation")?,
        checked_ms: row.try_get("checked_ms")?,
        claims: row.try_get("claims")?,
        stale: row.try_get("stale")?,
        report: row.try_get("report")?,
    })
}
