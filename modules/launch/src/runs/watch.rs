//! Watches pages: after an index run, the pages of watched sites are compared with what they cite, in a job for each site.
//!
//! The end of an index run requests the job, and the sweep does if that request was lost. The result is one row for the newest pages of
//! each product, with the generation of the compared index. Pages without a row of the current generation are due.

mod check;
mod compared;
mod pages;
mod stored;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use contract::config::{Launch, LaunchSite};
use contract::{ErrorCode, Fault, ProjectId};
use engine::jobs::{self, Job, RunningJob};
use futures::future::BoxFuture;
use launch::config::RunConfig;
use serde_json::{Value, json};
use store::launch::{RunRow, runs, watches};
use store::postgres::LAUNCH;
use store::{Access, Project, ProjectTx, RepositoryRow, RepositoryState, Store};
use tokio::sync::OnceCell;

pub use stored::{RunFreshness, run_freshness, stale_counts};

use super::repository::row_of_run;
use super::{rows, sweep};
use gate::app::App;
use gate::app::job_kind::{JobKind, as_own_task};

/// The kind of jobs that compare pages. It has a loop of its own, so that no run waits for it.
pub static KIND: JobKind = JobKind {
    name: "launch_watch",
    lane: |subject| format!("launch:{subject}"),
    parallel: |config| {
        usize::from(config.launch.enabled && config.launch.sites.iter().any(|site| site.watch))
    },
    execute: Some(execute),
};

/// The prefix of a job's subject; the name of the site follows.
const SUBJECT: &str = "watch:";
/// Shown in the status of a job that another process has to do.
const NOT_WATCHED_HERE: &str =
    "The process that took the job does not watch the site. The job waits for a process that does.";
/// Maximum number of products of a project whose pages are watched.
const PRODUCTS_MAX: i64 = 1000;

/// The origin of a request for checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requester {
    /// An index run that ended: whatever failed before may succeed now.
    IndexRun,
    /// The sweep, which leaves more and more time between attempts that fail.
    Sweep,
}

/// A run whose pages have not been compared with the index as it is now.
struct DueRun {
    run: RunRow,
    repository: RepositoryRow,
    /// The commit of the index.
    commit: String,
}

/// The watched sites of a project.
fn watched<'c>(config: &'c Launch, project: &ProjectId) -> impl Iterator<Item = &'c LaunchSite> {
    let name = project.public().map(str::to_owned);
    config.sites.iter().filter(move |site| site.watch && site.belongs_to(name.as_deref()))
}

/// Requests a check of each watched site with pages that are due. Nothing is read of a project without such a site.
pub(super) async fn request_checks(
    app: &Arc<App>,
    store: &Store,
    project: &Project,
    requester: Requester,
) -> Result<(), Fault> {
    let profiles: Vec<String> =
        watched(&app.config.launch, project.id()).map(|site| site.name.clone()).collect();
    if profiles.is_empty() || !store::has_module(store, project, &LAUNCH).await? {
        return Ok(());
    }
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let (due, _) = due_runs(&mut tx, &profiles).await?;
    tx.commit().await?;
    let due: BTreeSet<String> = due.into_iter().map(|due| due.run.site_profile).collect();
    for profile in due {
        let subject = format!("{SUBJECT}{profile}");
        if requester == Requester::IndexRun || may_try(app, store, project, &subject).await? {
            project.require_writable()?;
            jobs::enqueue(store, &KIND.job(project.id().clone(), subject, json!({}))).await?;
        }
    }
    Ok(())
}

/// Returns `true` if it is time for another job, after those that failed.
async fn may_try(app: &App, store: &Store, project: &Project, subject: &str) -> Result<bool, Fault> {
    let mut control = store.control_read().await?;
    let jobs = store::jobs::list(&mut control, project.id(), Some(subject), sweep::TRIES_READ).await?;
    control.commit().await?;
    let jobs: Vec<Job> = jobs.into_iter().filter(|job| job.kind == KIND.name).collect();
    Ok(sweep::may_try(&jobs, app.clock.now().as_millisecond()))
}

/// The newest pages of each product on these sites that are due, and the runs that wrote the newest pages, due or not.
async fn due_runs(tx: &mut ProjectTx, profiles: &[String]) -> Result<(Vec<DueRun>, Vec<String>), Fault> {
    let newest = runs::newest_with_pages(tx, profiles, PRODUCTS_MAX).await?;
    let ids: Vec<String> = newest.iter().map(|run| run.run_id.clone()).collect();
    let checked: BTreeMap<String, i64> = watches::generations(tx, &ids).await?.into_iter().collect();
    let mut known: HashMap<(i64, String), Option<RepositoryRow>> = HashMap::new();
    let mut due = Vec::new();
    for run in newest {
        let config = RunConfig::parse(&run.config).map_err(|error| rows::malformed("config", error))?;
        let repository = match known.entry((run.repository_id, config.github_repo_url)) {
            Entry::Occupied(place) => place.into_mut(),
            Entry::Vacant(place) => {
                let (id, address) = place.key();
                let row = row_of_run(tx, *id, address).await?;
                place.insert(row)
            }
        };
        let ready = repository.as_ref().filter(|row| row.state == RepositoryState::Ready);
        let Some((repository, commit)) = ready.and_then(|row| Some((row, row.commit.clone()?))) else {
            continue;
        };
        if checked.get(&run.run_id) != Some(&repository.generation) {
            due.push(DueRun { run, repository: repository.clone(), commit });
        }
    }
    Ok((due, ids))
}

/// Runs a claimed job.
fn execute(app: Arc<App>, running: RunningJob) -> BoxFuture<'static, Result<Value, Fault>> {
    as_own_task(run_job(app, running))
}

async fn run_job(app: Arc<App>, running: RunningJob) -> Result<Value, Fault> {
    let id = ProjectId::parse(&running.job.project_id)?;
    let progress = running.progress.clone();
    let store = &app.store().await?.with_on_activity(move || progress.touch());
    let project = tenancy::require(store, &id).await?;
    let name = running.job.subject.strip_prefix(SUBJECT).unwrap_or_default();
    let site = watched(&app.config.launch, &id).find(|site| site.name == name).ok_or_else(|| {
        let fault = Fault::new(ErrorCode::IllegalState, "The site is not watched any more.");
        jobs::not_runnable_here(fault, NOT_WATCHED_HERE)
    })?;
    if !store::has_module(store, &project, &LAUNCH).await? {
        return Ok(json!({ "checked": 0 }));
    }
    let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
    let (due, newest) = due_runs(&mut tx, std::slice::from_ref(&site.name)).await?;
    tx.commit().await?;
    let check = check::Check {
        app: &app,
        store,
        project: &project,
        site,
        head: OnceCell::new(),
        cancel: &running.cancel,
    };
    let (mut checked, mut failed) = (0, None);
    for due in &due {
        if running.cancel.is_cancelled() {
            return Err(Fault::new(ErrorCode::Cancelled, "The check of the pages was stopped."));
        }
        match check.run(due).await {
            Ok(()) => checked += 1,
            Err(fault) => {
                // A fault with the pages of one product does not keep the others from being compared.
                tracing::info!(
                    run_id = due.run.run_id,
                    "the pages of a launch run could not be compared: {fault}"
                );
                failed.get_or_insert(fault);
            }
        }
    }
    let mut tx = ProjectTx::begin(store, &project, Access::Write).await?;
    watches::keep_only(&mut tx, &site.name, &newest).await?;
    tx.commit().await?;
    match failed {
        Some(fault) => Err(fault),
        None => Ok(json!({ "checked": checked })),
    }
}
