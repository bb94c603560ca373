//! The index job: asked for by tools, run by whichever process is free, resumed by any.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::App;
use crate::contract::{ErrorCode, Fault, ProjectId};
use crate::indexing::{self, Options, Run};
use crate::jobs::{self, Enqueued, Finished, LeaseSettings, NewJob, Progress, RunningJob};
use crate::store::{DecidedBy, Project};
use crate::tenancy::{self, RepositoryRoot};

/// The kind under which index jobs are queued.
pub const KIND: &str = "index";

/// Between looks of a server for work that nobody does.
const SWEEP: Duration = Duration::from_secs(5);

/// What a worker is told.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    root: String,
    options: Options,
}

/// The subject of a job that makes the vectors of a whole project; a root is an absolute path.
const WHOLE_PROJECT: &str = "";
/// How often a call that joined a run which does less than it asks for tries to have its own.
const OWN_RUN_ATTEMPTS_MAX: usize = 3;

/// The job that indexes `root` into `project`.
///
/// # Errors
/// `INTERNAL` if the request cannot be written.
fn job(project: &Project, root: &str, options: Options) -> Result<NewJob, Fault> {
    let request = Request { root: root.to_owned(), options };
    Ok(NewJob {
        project_id: project.id().clone(),
        kind: KIND,
        subject: root.to_owned(),
        request: serde_json::to_value(request)
            .map_err(|e| Fault::internal("The job could not be written.", e))?,
    })
}

/// Indexes and waits: here if the job is free, else until the process that has it is done. A run that was joined and
/// does less than is asked for here is followed by one of our own.
///
/// # Errors
/// The run's own fault, wherever it ran; `CANCELLED`; storage faults.
pub async fn run(
    app: &Arc<App>,
    project: &Project,
    root: &RepositoryRoot,
    options: Options,
    cancel: &CancellationToken,
    on_progress: impl Fn(&Progress) + Send + Sync,
) -> Result<Finished, Fault> {
    see_through(app, &job(project, root.as_str(), options)?, &options, cancel, &on_progress).await
}

/// Makes the vectors that a project lacks, and waits.
///
/// # Errors
/// As [`run`].
pub async fn embed(
    app: &Arc<App>,
    project: &Project,
    cancel: &CancellationToken,
    on_progress: impl Fn(&Progress) + Send + Sync,
) -> Result<Finished, Fault> {
    let options = Options { vectors_only: true, ..Options::default() };
    see_through(app, &job(project, WHOLE_PROJECT, options)?, &options, cancel, &on_progress).await
}

async fn see_through(
    app: &Arc<App>,
    job: &NewJob,
    options: &Options,
    cancel: &CancellationToken,
    on_progress: &(impl Fn(&Progress) + Send + Sync),
) -> Result<Finished, Fault> {
    let store = app.store().await?;
    let settings = LeaseSettings::from(&app.config.indexing);
    let mut attempt = 1;
    loop {
        let execute = |running| execute(Arc::clone(app), running);
        let done =
            jobs::run_or_attach(store, job, &app.worker, settings, cancel, on_progress, execute).await?;
        let covered = || {
            let ran = Request::deserialize(&done.request);
            ran.is_ok_and(|ran| ran.options.cover(options))
        };
        if !done.attached || attempt >= OWN_RUN_ATTEMPTS_MAX || covered() {
            return Ok(done);
        }
        attempt += 1;
    }
}

/// Asks for a run and answers at once; the run goes on in this process until it shuts down.
///
/// # Errors
/// Storage faults.
pub async fn begin(
    app: &Arc<App>,
    project: &Project,
    root: &RepositoryRoot,
    options: Options,
) -> Result<Enqueued, Fault> {
    let asked = jobs::enqueue(app.store().await?, &job(project, root.as_str(), options)?).await?;
    let app = Arc::clone(app);
    tokio::spawn(async move {
        if let Err(fault) = work_once(&app).await {
            tracing::warn!("an index job could not be started: {fault}");
        }
    });
    Ok(asked)
}

/// Looks for index jobs that nobody does, until the process shuts down: those asked for without
/// waiting, and those whose process died.
pub async fn work(app: Arc<App>) {
    while !app.shutdown.is_cancelled() {
        // A server that has not needed the database yet does not start it for this.
        let worked = match app.opened_store() {
            Some(_) => work_once(&app).await,
            None => Ok(false),
        };
        match worked {
            Ok(true) => continue,
            Ok(false) => {}
            Err(fault) => tracing::debug!("no look at the job queue: {fault}"),
        }
        tokio::select! {
            () = app.shutdown.cancelled() => {}
            () = tokio::time::sleep(SWEEP) => {}
        }
    }
}

async fn work_once(app: &Arc<App>) -> Result<bool, Fault> {
    let settings = LeaseSettings::from(&app.config.indexing);
    let execute = |running| execute(Arc::clone(app), running);
    jobs::work_once(app.store().await?, KIND, &app.worker, settings, &app.shutdown, execute).await
}

/// Runs a claimed job.
async fn execute(app: Arc<App>, running: RunningJob) -> Result<Value, Fault> {
    let request: Request = serde_json::from_value(running.job.request.clone())
        .map_err(|e| Fault::internal("The job's request could not be read.", e))?;
    let root = match request.options.vectors_only {
        true => None,
        false => Some(tenancy::repository_root(Path::new(&request.root), &app.config.indexing.roots)?),
    };
    let id = ProjectId::parse(&running.job.project_id)?;
    let store = app.store().await?;
    let project = tenancy::open(store, &id, DecidedBy::Argument).await?.ok_or_else(tenancy::no_index)?;
    let embedder = match app.embedder_for(project.model()).await {
        Ok(embedder) => Some(embedder),
        Err(fault) if fault.code == ErrorCode::CapabilityMissing => {
            tracing::warn!("indexing words only: {fault}");
            None
        }
        Err(fault) => return Err(fault),
    };
    let run = Run {
        store,
        project: &project,
        fence: running.fence,
        root: root.as_ref().map_or(Path::new(WHOLE_PROJECT), RepositoryRoot::path),
        options: request.options,
        embedder,
        config: &app.config,
        clock: &*app.clock,
        cancel: &running.cancel,
        progress: &running.progress,
    };
    let report = if root.is_some() { indexing::run(&run).await? } else { indexing::embed(&run).await? };
    serde_json::to_value(report).map_err(|e| Fault::internal("The report could not be written.", e))
}
