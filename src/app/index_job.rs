//! The index job: asked for by tools, run by whichever process is free, resumed by any.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::App;
use crate::contract::{ErrorCode, Fault, ProjectId};
use crate::indexing::{self, Options, Run, SqliteFile};
use crate::jobs::{self, Enqueued, Finished, LeaseSettings, NewJob, Progress, RunningJob};
use crate::store::{DecidedBy, Project, Store};
use crate::tenancy::{self, RepositoryRoot};
use crate::triage::{self, Shelf};
use crate::upkeep::portable::{self, Build, Part};

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

/// Indexes and waits: here if the job is free, else until the process that has it is done.
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
    run_root(app, project, root.as_str(), options, cancel, on_progress).await
}

/// Brings the texts of a project's records up to date and waits. What was stored before the call is in them afterwards.
///
/// # Errors
/// As [`run`].
pub async fn run_records(
    app: &Arc<App>,
    project: &Project,
    options: Options,
    cancel: &CancellationToken,
    on_progress: impl Fn(&Progress) + Send + Sync,
) -> Result<Finished, Fault> {
    let done = run_root(app, project, triage::ROOT, options.clone(), cancel, &on_progress).await?;
    if !done.attached {
        return Ok(done);
    }
    // A run that was under way may have passed the place of a record that was stored meanwhile.
    run_root(app, project, triage::ROOT, options, cancel, &on_progress).await
}

async fn run_root(
    app: &Arc<App>,
    project: &Project,
    root: &str,
    options: Options,
    cancel: &CancellationToken,
    on_progress: impl Fn(&Progress) + Send + Sync,
) -> Result<Finished, Fault> {
    let (store, job) = (app.store().await?, job(project, root, options)?);
    let settings = LeaseSettings::from(&app.config.indexing);
    let execute = |running| execute(Arc::clone(app), running);
    jobs::run_or_attach(store, &job, &app.worker, settings, cancel, on_progress, execute).await
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
    let of_records = request.root == triage::ROOT;
    let root: PathBuf = if of_records {
        PathBuf::from(&request.root)
    } else {
        tenancy::repository_root(Path::new(&request.root), &app.config.indexing.roots)?.path().to_owned()
    };
    let id = ProjectId::parse(&running.job.project_id)?;
    let store = app.store().await?;
    let project = tenancy::open(store, &id, DecidedBy::Argument).await?.ok_or_else(tenancy::no_index)?;
    let embedder = match app.embedder().await {
        Ok(embedder) => Some(Arc::clone(embedder)),
        Err(fault) if fault.code == ErrorCode::CapabilityMissing => {
            tracing::warn!("indexing words only: {fault}");
            None
        }
        Err(fault) => return Err(fault),
    };
    let (sqlite, fence) = (request.options.sqlite, running.fence);
    let run = Run {
        store,
        project: &project,
        fence,
        root: &root,
        options: request.options,
        embedder,
        dictionary: app.dictionaries.current().await,
        config: &app.config,
        clock: &*app.clock,
        cancel: &running.cancel,
        progress: &running.progress,
    };
    let mut report = if of_records {
        let now_ms = app.clock.now().as_millisecond();
        triage::prepare(store, &project).await?;
        indexing::run_documents(&run, &Shelf { store, project: &project, now_ms }).await?
    } else {
        indexing::run(&run).await?
    };
    if sqlite {
        report.sqlite = Some(export(&app, store, &project, &running.cancel).await?);
    }
    serde_json::to_value(report).map_err(|e| Fault::internal("The report could not be written.", e))
}

/// Brings the project's portable file up to date.
///
/// # Errors
/// As [`portable::build`].
pub async fn export(
    app: &App,
    store: &Store,
    project: &Project,
    cancel: &CancellationToken,
) -> Result<SqliteFile, Fault> {
    let name = portable::file_name(Part::All, None);
    let built = portable::build(&Build {
        store,
        project,
        root: None,
        part: Part::All,
        out: &app.layout.project(project.id().as_str()).join(&name),
        incremental: true,
        compact: false,
        settings: &app.config.portable,
        clock: &*app.clock,
        cancel,
        progress: &|_, _| {},
    })
    .await?;
    Ok(SqliteFile { name, bytes: built.bytes, sha256: built.sha256, incremental: built.fallback.is_none() })
}
