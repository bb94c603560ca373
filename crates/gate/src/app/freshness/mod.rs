//! Keeps indexes fresh automatically: after file events, after pushes, on a schedule, and as the repositories of organisations come
//! and go.
//!
//! All only enqueue the ordinary index job, which determines what changed.

mod follow;
mod pushes;
mod repository_key;
mod schedule;
mod sources;
pub(super) mod turns;
mod watched;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::repository_key::RepositoryKey;
use self::turns::TurnedRun;
use super::project_repositories::project_repositories;
use super::{App, blocking, index_job};
use contract::{ErrorCode, Fault, ProjectId};
use engine::indexing::{self, Options};
use engine::jobs::Enqueued;
use platform::telemetry::RunKind;
use store::{DecidedBy, ModelFacts, Project, projects};
use tenancy::{self, RepositoryRoot, RootKind};

pub use follow::{RunOutcome, WatchEvent, follow};
pub use pushes::refresh_pushed;
pub use sources::{SyncReport, SyncTime, check_revisions, sync_source};

/// The state of automatic refreshes in this process.
#[derive(Default)]
pub struct Freshness {
    turns: turns::Turns,
    pushes: pushes::Pushes,
    sources: sources::SourceMemory,
    watched: AtomicUsize,
    polled: AtomicUsize,
}

impl Freshness {
    /// Number of watched repositories, and how many of them are only polled.
    #[must_use]
    pub fn load(&self) -> [usize; 2] {
        [&self.watched, &self.polled].map(|count| count.load(Ordering::Relaxed))
    }

    /// A run of the repository with this root, which takes a turn like automatic ones.
    pub(super) fn turn_of(&self, project: &ProjectId, root: &Path, job_id: &str) -> TurnedRun {
        self.turns.run(&RepositoryKey { project: project.clone(), root: root.to_owned() }, job_id)
    }

    /// Ids of the queued jobs that this process takes up when they have a turn.
    pub(super) fn waiting_jobs(&self) -> Vec<String> {
        self.turns.waiting_jobs()
    }
}

/// Increments a gauge and decrements it when dropped.
struct GaugeGuard<'a>(&'a AtomicUsize);

impl<'a> GaugeGuard<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs the refreshes that `[freshness]` and `[[sources]]` configure until the process shuts down.
pub(super) async fn run_refreshes(app: Arc<App>) {
    tokio::join!(
        watched::watch_repositories(&app),
        schedule::run_schedule(&app),
        sources::run_sources(&app),
        super::unused_mirrors::collect_regularly(&app)
    );
}

/// The repositories of all projects that were completely indexed at least once.
async fn indexed_repositories(app: &App) -> Result<Vec<RepositoryKey>, Fault> {
    let store = app.store().await?;
    let mut tx = store.control_read().await?;
    let all = projects::list(&mut tx).await?;
    tx.commit().await?;
    let mut found = Vec::new();
    for summary in all {
        if app.shutdown.is_cancelled() {
            break;
        }
        // Skip projects that a newer version of the program wrote.
        let Ok(Some(project)) = tenancy::open(store, &summary.id, DecidedBy::Argument).await else {
            continue;
        };
        // A project that cannot be read, for example while it is deleted, must not hide the others.
        let rows = match project_repositories(store, &project).await {
            Ok(rows) => rows,
            Err(fault) => {
                let project = summary.id.as_str();
                tracing::warn!(project, "its repositories could not be listed: {}", fault.message);
                continue;
            }
        };
        let complete = rows.into_iter().filter(|row| row.indexed_ms.is_some() && row.is_readable());
        found
            .extend(complete.map(|row| RepositoryKey { project: summary.id.clone(), root: row.root.into() }));
    }
    Ok(found)
}

/// Indexed repositories outside of their project's directories: they stay searchable but are not refreshed.
///
/// # Errors
/// Storage faults.
pub async fn repositories_outside(app: &App) -> Result<Vec<(ProjectId, PathBuf)>, Fault> {
    let found = indexed_repositories(app).await?.into_iter();
    let found = found.filter(|repository_key| {
        repository_key.checked_root(app).is_err_and(|fault| fault.code == ErrorCode::Forbidden)
    });
    Ok(found.map(|repository_key| (repository_key.project, repository_key.root)).collect())
}

/// Opens the project; provisions it if there are files to index.
async fn open_or_provision(app: &App, id: &ProjectId, root: &RepositoryRoot) -> Result<Project, Fault> {
    if let Some(project) = tenancy::open(app.store().await?, id, DecidedBy::Argument).await? {
        return Ok(project);
    }
    let (root, settings, archives) = (root.clone(), app.config.indexing.clone(), app.archives());
    let shutdown = app.shutdown.clone();
    blocking(move || match root.kind() {
        RootKind::Directory => indexing::require_files(&root, &settings, &|| shutdown.is_cancelled()),
        RootKind::Archive => archives.probe(root.path(), &|| shutdown.is_cancelled()),
        RootKind::Address(_) => Ok(()),
    })
    .await?;
    provision(app, id).await
}

/// Opens the project, or creates it, with the configured model.
///
/// # Errors
/// As [`App::embedder`]; storage faults.
pub async fn provision(app: &App, id: &ProjectId) -> Result<Project, Fault> {
    let model = ModelFacts::from(app.embedder().await?.model());
    tenancy::provision(app.store().await?, id, DecidedBy::Argument, &model).await
}

/// Runs that one request may join in a row: each may have begun before it.
const JOINED_RUNS_MAX: usize = 3;

/// Runs an index job that begins after this call. False if it only joined runs, which may have begun before.
async fn run_anew(
    app: &Arc<App>,
    repository_key: &RepositoryKey,
    options: &Options,
    trigger: &'static str,
) -> Result<bool, Fault> {
    for _ in 0..JOINED_RUNS_MAX {
        if !Box::pin(run_job(app, repository_key, None, options, trigger)).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Runs an automatic index job to completion, the queued one or a new one with `options`; at shutdown the job goes back to the
/// queue. Returns true if it joined an existing job, which may have begun before the change.
async fn run_job(
    app: &Arc<App>,
    repository_key: &RepositoryKey,
    enqueued: Option<Enqueued>,
    options: &Options,
    trigger: &'static str,
) -> Result<bool, Fault> {
    let started = app.clock.instant();
    let ran = async {
        let enqueued = match enqueued {
            Some(enqueued) => enqueued,
            None => {
                let root = repository_key.checked_root(app)?;
                let project = open_or_provision(app, &repository_key.project, &root).await?;
                index_job::enqueue(app, &project, &root, options).await?
            }
        };
        let turned = app.freshness.turns.run(repository_key, &enqueued.job.id);
        // A job that another call requested is waited for without a turn: a run elsewhere must not delay other refreshes.
        if !enqueued.attached {
            tokio::select! {
                () = turned.resume() => {}
                () = app.shutdown.cancelled() => {}
            }
        }
        Box::pin(index_job::run_to_completion(app, enqueued, &turned)).await
    };
    let ran = ran.await;
    let outcome = ran.as_ref().map_or_else(|fault| fault.code.as_str(), |_| "ok");
    app.metrics.record_automatic_run(trigger, outcome);
    app.metrics.record_run(RunKind::Index, outcome, app.clock.instant().duration_since(started));
    ran.map(|finished| finished.attached)
}
