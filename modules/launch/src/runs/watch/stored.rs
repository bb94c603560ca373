//! The report of a check, as it is stored and as tools show it.

use std::collections::BTreeMap;

use contract::Fault;
use launch::freshness::StaleSentence;
use serde::{Deserialize, Serialize};
use store::Project;
use store::launch::{RunRow, WatchRow, watches};

use super::watched;
use crate::runs::journal::begin;
use crate::runs::rows;
use gate::app::App;

/// The column `report`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct StoredReport {
    /// The stale sentences; not all of many.
    pub(super) stale: Vec<StaleSentence>,
    /// For each file that supports all its citations, a hash of the file and the citations: while it is the same, so is the answer.
    pub(super) fresh_files: BTreeMap<String, String>,
}

impl StoredReport {
    /// The report of a row.
    ///
    /// # Errors
    /// `INTERNAL` if this program does not write such reports.
    pub(super) fn of(row: &WatchRow) -> Result<Self, Fault> {
        serde_json::from_str(&row.report).map_err(|error| rows::malformed("report", error))
    }
}

/// The result of comparing a repository with the pages of a run.
pub struct RunFreshness {
    /// The commit that the pages were compared with.
    pub checked_sha: String,
    /// The time of the comparison, in milliseconds since the epoch, UTC.
    pub checked_ms: i64,
    /// Number of claims that the pages make.
    pub claims: u32,
    /// Number of sentences that are stale.
    pub stale_count: u32,
    /// The stale sentences; not all of many.
    pub stale: Vec<StaleSentence>,
}

/// Returns what is known of the pages of a run; `None` if its site is not watched, if newer pages are, or if nothing was compared yet.
///
/// # Errors
/// Storage faults.
pub async fn run_freshness(
    app: &App,
    project: &Project,
    run_id: &str,
    site_profile: &str,
) -> Result<Option<RunFreshness>, Fault> {
    if !watched(&app.config.launch, project.id()).any(|site| site.name == site_profile) {
        return Ok(None);
    }
    let Some(mut tx) = begin(app.store().await?, project).await? else { return Ok(None) };
    let row = watches::get(&mut tx, run_id).await?;
    tx.commit().await?;
    let Some(row) = row else { return Ok(None) };
    let StoredReport { stale, .. } = StoredReport::of(&row)?;
    Ok(Some(RunFreshness {
        checked_sha: row.checked_sha,
        checked_ms: row.checked_ms,
        claims: u32::try_from(row.claims).unwrap_or(0),
        stale_count: u32::try_from(row.stale).unwrap_or(0),
        stale,
    }))
}

/// The numbers of stale sentences of those of these runs whose pages are watched, by run.
///
/// # Errors
/// Storage faults.
pub async fn stale_counts(
    app: &App,
    project: &Project,
    runs: &[RunRow],
) -> Result<BTreeMap<String, u32>, Fault> {
    let is_watched =
        |run: &&RunRow| watched(&app.config.launch, project.id()).any(|site| site.name == run.site_profile);
    let ids: Vec<String> = runs.iter().filter(is_watched).map(|run| run.run_id.clone()).collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let Some(mut tx) = begin(app.store().await?, project).await? else { return Ok(BTreeMap::new()) };
    let counts = watches::stale_counts(&mut tx, &ids).await?;
    tx.commit().await?;
    Ok(counts.into_iter().map(|(run_id, stale)| (run_id, u32::try_from(stale).unwrap_or(0))).collect())
}
