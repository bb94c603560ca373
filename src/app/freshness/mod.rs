//! Keeps indexes fresh without being asked: after file events, and when the last run is long ago.
//!
//! Both only ask for the index job that everybody else asks for; it finds out what changed.

mod follow;
mod schedule;
mod watched;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Mutex;

use super::{App, blocking, index_job};
use contract::{ErrorCode, Fault, ProjectId};
use engine::indexing;
use engine::jobs::Enqueued;
use store::{
    Access, DecidedBy, ModelFacts, Project, ProjectTx, RepositoryRow, Store, projects, repositories,
};
use tenancy::{self, AllowedRoots, RepositoryRoot};

pub use follow::{Ended, News, follow};

/// What a process does for freshness now.
#[derive(Default)]
pub struct Freshness {
    /// One run at a time: freshness is never in a hurry.
    running: Mutex<()>,
    watched: AtomicUsize,
    polled: AtomicUsize,
}

impl Freshness {
    /// Repositories whose changes are noticed, and those among them that are only looked at now and then.
    #[must_use]
    pub fn load(&self) -> [usize; 2] {
        [&self.watched, &self.polled].map(|count| count.load(Ordering::Relaxed))
    }
}

/// Counts for as long as it is kept.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Does what `[freshness]` asks for until the process shuts down.
pub(super) async fn keep(app: Arc<App>) {
    tokio::join!(watched::watch(&app), schedule::schedule(&app));
}

/// A repository of a project.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kept {
    project: ProjectId,
    root: PathBuf,
}

impl Kept {
    /// The root, if it is there and may be indexed.
    fn root(&self, app: &App) -> Result<RepositoryRoot, Fault> {
        AllowedRoots::of_project(&app.config.indexing, &self.project).check(&self.root)
    }
}

/// Every repository that was indexed completely once, of all projects.
async fn indexed(app: &App) -> Result<Vec<Kept>, Fault> {
    let store = app.store().await?;
    let mut door = store.control_read().await?;
    let all = projects::list(&mut door).await?;
    door.commit().await?;
    let mut found = Vec::new();
    for summary in all {
        if app.shutdown.is_cancelled() {
            break;
        }
        // A project that a newer program wrote is that program's to keep.
        let Ok(Some(project)) = tenancy::open(store, &summary.id, DecidedBy::Argument).await else {
            continue;
        };
        // Nor does one that cannot be read now, as while it is deleted, keep the others from being found.
        let rows = match of_project(store, &project).await {
            Ok(rows) => rows,
            Err(fault) => {
                let project = summary.id.as_str();
                tracing::warn!(project, "its repositories are not known now: {}", fault.message);
                continue;
            }
        };
        let complete = rows.into_iter().filter(|row| row.indexed_ms.is_some() && row.is_folder());
        found.extend(complete.map(|row| Kept { project: summary.id.clone(), root: row.root.into() }));
    }
    Ok(found)
}

/// Indexed repositories that lie where their project may not read: searched as they were, and no longer refreshed.
///
/// # Errors
/// Storage faults.
pub async fn outside(app: &App) -> Result<Vec<(ProjectId, PathBuf)>, Fault> {
    let found = indexed(app).await?.into_iter();
    let found = found.filter(|kept| kept.root(app).is_err_and(|fault| fault.code == ErrorCode::Forbidden));
    Ok(found.map(|kept| (kept.project, kept.root)).collect())
}

async fn of_project(store: &Store, project: &Project) -> Result<Vec<RepositoryRow>, Fault> {
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    Ok(rows)
}

/// The project to write to. It is made, once there is something to write.
async fn project(app: &App, id: &ProjectId, root: &RepositoryRoot) -> Result<Project, Fault> {
    let store = app.store().await?;
    if let Some(project) = tenancy::open(store, id, DecidedBy::Argument).await? {
        return Ok(project);
    }
    let (root, settings) = (root.clone(), app.config.indexing.clone());
    blocking(move || indexing::require_files(root.path(), &settings)).await?;
    let model = ModelFacts::of(app.embedder().await?.model());
    tenancy::provision(store, id, DecidedBy::Argument, &model).await
}

/// Sees a run through that this process wants for itself; when it shuts down, the run goes back to the queue.
/// True when it had been asked for already, so that it may have begun before what it was wanted for.
async fn run(
    app: &Arc<App>,
    kept: &Kept,
    asked: Option<Enqueued>,
    trigger: &'static str,
) -> Result<bool, Fault> {
    let started = app.clock.instant();
    let ran = async {
        let asked = match asked {
            Some(asked) => asked,
            None => {
                let root = kept.root(app)?;
                let project = project(app, &kept.project, &root).await?;
                index_job::ask(app, &project, &root).await?
            }
        };
        // Waiting for another's run holds nobody up.
        let one = if asked.attached { None } else { Some(app.freshness.running.lock().await) };
        let finished = index_job::see_through(app, asked).await;
        drop(one);
        finished
    };
    let ran = ran.await;
    let outcome = ran.as_ref().map_or_else(|fault| fault.code.as_str(), |_| "ok");
    app.metrics.kept_fresh(trigger, outcome);
    app.metrics.ran(true, outcome, app.clock.instant().duration_since(started));
    ran.map(|finished| finished.attached)
}
