//! Run status for calls.

use std::collections::BTreeMap;

use contract::Fault;
use launch::config::{RunConfig, Section};
use launch::event::Event;
use launch::ids::RunId;
use launch::legality::legal_tools;
use launch::sections::{SectionState, planned_or_kept_pages, section_states};
use launch::snapshot::RunSnapshot;
use launch::state::RunState;
use launch::worker::PAGE_PLAN;
use store::launch::{ArtifactContent, RunFilter, RunRow, artifacts, events, issues, runs};
use store::{Access, Job, Project, ProjectTx, Store};

use super::journal::{begin, load_rows, run_not_found};
use super::rows;

/// Jobs of a run that are read.
const JOBS: i64 = 5;
/// Events that are read at a time.
const PAGE: i64 = 1000;

/// A run as it is now.
pub struct OpenedRun {
    /// The run.
    pub snapshot: RunSnapshot,
    /// Its configuration.
    pub config: RunConfig,
    /// Progress of each section.
    pub sections: BTreeMap<Section, SectionState>,
    /// Its last jobs, the newest first.
    pub jobs: Vec<Job>,
}

impl OpenedRun {
    /// The tools that change something now.
    #[must_use]
    pub fn legal_tools(&self) -> Vec<&'static str> {
        let is_running = self.jobs.first().is_some_and(|job| job.state == store::JobState::Running);
        legal_tools(self.snapshot.state, self.snapshot.report_ok, is_running)
    }
}

/// A part of an artifact.
pub type ArtifactPart = ArtifactContent;

/// Reads a run.
///
/// # Errors
/// `RUN_NOT_FOUND`; storage faults.
pub async fn open_run(store: &Store, project: &Project, run_id: &RunId) -> Result<OpenedRun, Fault> {
    let mut tx = begin(store, project).await?.ok_or_else(run_not_found)?;
    let Some(row) = runs::get(&mut tx, run_id.as_str()).await? else {
        tx.commit().await?;
        return Err(run_not_found());
    };
    let config = RunConfig::parse(&row.config).map_err(|error| rows::malformed("config", error))?;
    let snapshot = rows::snapshot(&load_rows(&mut tx, row).await?)?;
    let plan = artifacts::part(&mut tx, run_id.as_str(), PAGE_PLAN, None, (0, i32::MAX - 1)).await?;
    tx.commit().await?;
    let pages = plan.map(|plan| planned_or_kept_pages(&plan.content)).unwrap_or_default();
    let sections = section_states(&snapshot, &config.required_sections, &pages);
    let mut control = store.control_read().await?;
    let jobs = store::jobs::list(&mut control, project.id(), Some(run_id.as_str()), JOBS).await?;
    control.commit().await?;
    Ok(OpenedRun { snapshot, config, sections, jobs })
}

/// At most `limit` runs of a project, the newest first.
///
/// # Errors
/// Storage faults.
pub async fn list(
    store: &Store,
    project: &Project,
    filter: RunFilter<'_>,
    after: Option<(i64, &str)>,
    limit: i64,
) -> Result<Vec<RunRow>, Fault> {
    let Some(mut tx) = begin(store, project).await? else { return Ok(Vec::new()) };
    let rows = runs::page(&mut tx, filter, after, limit).await?;
    tx.commit().await?;
    Ok(rows)
}

/// At most `bytes_max` bytes of the latest version of an artifact, from the offset `from`; without one, the names that there are.
///
/// # Errors
/// `RUN_NOT_FOUND`; storage faults.
pub async fn artifact_part(
    store: &Store,
    project: &Project,
    run_id: &RunId,
    name: &str,
    (from, bytes_max): (i32, i32),
) -> Result<Result<ArtifactPart, Vec<String>>, Fault> {
    let mut tx = begin(store, project).await?.ok_or_else(run_not_found)?;
    let part = artifacts::part(&mut tx, run_id.as_str(), name, None, (from, bytes_max)).await?;
    let answer = match part {
        Some(part) => Ok(part),
        None if runs::get(&mut tx, run_id.as_str()).await?.is_none() => {
            tx.commit().await?;
            return Err(run_not_found());
        }
        None => {
            let known = artifacts::latest(&mut tx, run_id.as_str()).await?;
            Err(known.into_iter().map(|artifact| artifact.name).collect())
        }
    };
    tx.commit().await?;
    Ok(answer)
}

/// At most `limit` events of a run after the one with the number `after`.
///
/// # Errors
/// `RUN_NOT_FOUND`; storage faults.
pub async fn events_after(
    store: &Store,
    project: &Project,
    run_id: &RunId,
    after: i32,
    limit: i64,
) -> Result<Vec<Event>, Fault> {
    let mut tx = begin(store, project).await?.ok_or_else(run_not_found)?;
    let page = events::page(&mut tx, run_id.as_str(), after, limit).await?;
    let is_known = !page.is_empty() || runs::get(&mut tx, run_id.as_str()).await?.is_some();
    tx.commit().await?;
    if is_known { Ok(page.into_iter().map(rows::event).collect()) } else { Err(run_not_found()) }
}

/// The last `limit` events of a run, the newest first.
///
/// # Errors
/// `RUN_NOT_FOUND`; storage faults.
pub async fn newest_events(
    store: &Store,
    project: &Project,
    run_id: &RunId,
    limit: i64,
) -> Result<Vec<Event>, Fault> {
    let mut tx = begin(store, project).await?.ok_or_else(run_not_found)?;
    let page = events::newest(&mut tx, run_id.as_str(), limit).await?;
    tx.commit().await?;
    // A run has at least the event with which it began.
    if page.is_empty() { Err(run_not_found()) } else { Ok(page.into_iter().map(rows::event).collect()) }
}

/// Returns `true` if a run has ended, so that nothing is added to its log any more.
///
/// # Errors
/// `RUN_NOT_FOUND`; storage faults.
pub async fn has_ended(store: &Store, project: &Project, run_id: &RunId) -> Result<bool, Fault> {
    let mut tx = begin(store, project).await?.ok_or_else(run_not_found)?;
    let row = runs::get(&mut tx, run_id.as_str()).await?;
    tx.commit().await?;
    let row = row.ok_or_else(run_not_found)?;
    Ok(RunState::parse(&row.state).is_some_and(RunState::is_terminal))
}

/// The number of open issues of each of these runs of a project that has any.
///
/// # Errors
/// Storage faults.
pub async fn open_issue_counts(
    store: &Store,
    project: &Project,
    run_ids: &[String],
) -> Result<BTreeMap<String, i64>, Fault> {
    let Some(mut tx) = begin(store, project).await? else { return Ok(BTreeMap::new()) };
    let counts = issues::count_open(&mut tx, run_ids).await?;
    tx.commit().await?;
    Ok(counts.into_iter().collect())
}

/// All events of a run.
pub(super) async fn all_events(store: &Store, project: &Project, run_id: &str) -> Result<Vec<Event>, Fault> {
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let mut all: Vec<Event> = Vec::new();
    loop {
        let after = all.last().map_or(0, |event| event.seq);
        let page = events::page(&mut tx, run_id, after, PAGE).await?;
        if page.is_empty() {
            tx.commit().await?;
            return Ok(all);
        }
        all.extend(page.into_iter().map(rows::event));
    }
}
