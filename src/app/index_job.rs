//! The index job: asked for by tools, run by whichever process is free, resumed by any.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::worker::JobKind;
use super::{App, Seat};
use contract::{ErrorCode, Fault, ProjectId};
use engine::indexing::{self, Options, RecordSource, RunContext, SqliteFile};
use engine::jobs::{
    self, Enqueued, FinishedJob, LeaseSettings, NewJob, OnCancel, Progress, RunControl, RunningJob,
    WRITER_LANE,
};
use store::{self, DecidedBy, Project, Store};
use tenancy::{self, AllowedRoots, RepositoryRoot};
use upkeep::portable::{BuildRequest, IndexPart, build_portable, portable_file_name};

/// What writes a project's index.
pub static KIND: JobKind = JobKind {
    name: "index",
    lane: |_| WRITER_LANE.to_owned(),
    execute: Some(|app, running| Box::pin(execute(app, running))),
};

/// In the status of a job that waits for another process.
const FOLDER_UNSEEN: &str = "The process that took it cannot see the repository's folder. It waits for one that can; servers that share \
    a database must have repositories under the same paths.";

/// What a worker is told.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    root: String,
    options: Options,
}

/// What a job is about.
enum About {
    /// A folder on this machine.
    Repository(RepositoryRoot),
    /// Records of the project.
    Records(&'static RecordSource),
    /// Vectors that the project lacks.
    Vectors,
}

impl About {
    fn of(request: &Request, project: &ProjectId, app: &App) -> Result<Self, Fault> {
        if request.options.vectors_only {
            return Ok(Self::Vectors);
        }
        if let Some(source) = app.record_source(&request.root) {
            return Ok(Self::Records(source));
        }
        let checked = AllowedRoots::of_project(&app.config.indexing, project).check(Path::new(&request.root));
        checked.map(Self::Repository).map_err(|fault| match fault.code {
            ErrorCode::NotFound | ErrorCode::Forbidden => jobs::not_runnable_here(fault, FOLDER_UNSEEN),
            _ => fault,
        })
    }

    fn root(&self) -> &Path {
        match self {
            Self::Repository(root) => root.path(),
            Self::Records(source) => Path::new(source.root),
            Self::Vectors => Path::new(WHOLE_PROJECT),
        }
    }
}

/// The subject of a job that makes the vectors of a whole project; a root is an absolute path.
const WHOLE_PROJECT: &str = "";
/// How often a call that joined a run which does less than it asks for tries to have its own.
const OWN_RUN_ATTEMPTS_MAX: usize = 3;

/// The job that indexes `root` into `project`.
///
/// # Errors
/// `INTERNAL` if the request cannot be written.
fn job(project: &ProjectId, root: &str, options: &Options) -> Result<NewJob, Fault> {
    let request = Request { root: root.to_owned(), options: options.clone() };
    let request =
        serde_json::to_value(request).map_err(|e| Fault::internal("The job could not be written.", e))?;
    Ok(KIND.job(project.clone(), root, request))
}

/// The same, for a project that this program may write to: a worker of this program would never take it up.
///
/// # Errors
/// `ILLEGAL_STATE` for a project that a newer program wrote; as [`job`].
fn writable_job(project: &Project, root: &str, options: &Options) -> Result<NewJob, Fault> {
    project.require_writable()?;
    job(project.id(), root, options)
}

/// For whom a job is done.
#[derive(Clone, Copy)]
pub struct By<'a> {
    /// The application.
    pub app: &'a Arc<App>,
    /// Fires when whoever asked gives up.
    pub cancel: &'a CancellationToken,
    /// The place of the call that asked: free for others while the job runs elsewhere or waits for another one.
    pub seat: &'a Seat,
}

impl<'a> By<'a> {
    /// For somebody who needs no place.
    #[must_use]
    pub fn alone(app: &'a Arc<App>, cancel: &'a CancellationToken) -> Self {
        static NONE: LazyLock<Seat> = LazyLock::new(Seat::default);
        Self { app, cancel, seat: &NONE }
    }
}

/// Indexes and waits: here if the job is free, else until the process that has it is done. A run that was joined and
/// does less than is asked for here is followed by one of our own.
///
/// # Errors
/// The run's own fault, wherever it ran; `CANCELLED`; storage faults.
pub async fn run(
    by: &By<'_>,
    project: &Project,
    root: &RepositoryRoot,
    options: Options,
    on_progress: impl Fn(&Progress) + Send + Sync,
) -> Result<FinishedJob, Fault> {
    let job = writable_job(project, root.as_str(), &options)?;
    run_covering(by, &job, &options, &on_progress).await
}

/// Brings the texts that a source has of a project up to date and waits. What was stored before the call is in them afterwards.
///
/// # Errors
/// As [`run`].
pub async fn run_records(
    by: &By<'_>,
    project: &Project,
    source: &RecordSource,
    options: Options,
    on_progress: impl Fn(&Progress) + Send + Sync,
) -> Result<FinishedJob, Fault> {
    let job = writable_job(project, source.root, &options)?;
    let done = run_covering(by, &job, &options, &on_progress).await?;
    if !done.attached {
        return Ok(done);
    }
    // A run that was under way may have passed the place of a record that was stored meanwhile.
    run_covering(by, &job, &options, &on_progress).await
}

/// Makes the vectors that a project lacks, and waits.
///
/// # Errors
/// As [`run`].
pub async fn embed(
    by: &By<'_>,
    project: &Project,
    on_progress: impl Fn(&Progress) + Send + Sync,
) -> Result<FinishedJob, Fault> {
    let options = Options { vectors_only: true, ..Options::default() };
    let job = writable_job(project, WHOLE_PROJECT, &options)?;
    run_covering(by, &job, &options, &on_progress).await
}

/// Runs the job, and again where the run that was joined did less.
async fn run_covering(
    by: &By<'_>,
    job: &NewJob,
    options: &Options,
    on_progress: &(impl Fn(&Progress) + Send + Sync),
) -> Result<FinishedJob, Fault> {
    let By { app, cancel, seat } = *by;
    let store = app.store().await?;
    store.require_room().await?;
    let settings = LeaseSettings::from(&app.config.indexing);
    let mut attempt = 1;
    let elsewhere = || seat.give_up();
    let control = RunControl {
        cancel,
        on_cancel: OnCancel::Cancel,
        shutdown: Some(&app.shutdown),
        on_wait: Some(&elsewhere),
    };
    loop {
        let execute = |running| execute_seated(Arc::clone(app), seat.clone(), running);
        let asked = jobs::enqueue(store, job).await?;
        let done =
            jobs::run_to_completion(store, asked, &app.worker, settings, control, on_progress, execute)
                .await?;
        let covered = || {
            let ran = Request::deserialize(&done.request);
            ran.is_ok_and(|ran| ran.options.covers(options))
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
    let store = app.store().await?;
    store.require_room().await?;
    let asked = jobs::enqueue(store, &writable_job(project, root.as_str(), &options)?).await?;
    let (running, own) = (Arc::clone(app), asked.clone());
    app.background.spawn(async move {
        // This one, and not whichever job waits longest: nobody else may be there to do it.
        if let Err(fault) = run_to_completion(&running, own).await {
            tracing::info!("an index job that nobody waits for ended: {fault}");
        }
    });
    Ok(asked)
}

/// With no more texts to embed than this, who waits for words waits for the vectors as well …
const FEW_TEXTS: u64 = 32;
/// … but no longer than this.
const FEW_TEXTS_WAIT: Duration = Duration::from_secs(3);

/// How far a run is that was waited for until words are searchable.
#[derive(Debug)]
pub enum WordsReady {
    /// It goes on in this process, or in the one that has it.
    GoesOn {
        /// The job's id.
        job_id: String,
        /// True when it had been asked for already.
        attached: bool,
        /// How far it is.
        progress: Progress,
    },
    /// It is over: there was little to embed.
    Over(FinishedJob),
}

/// Asks for a run and waits until what it read is found by words; then it goes on in this process until that shuts down,
/// and from there in the next process that looks for work. `cancel` counts until words are searchable, and stops a run
/// that was asked for here; a run that was joined goes on.
///
/// # Errors
/// As [`run`].
pub async fn begin_with_words(
    by: &By<'_>,
    project: &Project,
    root: &RepositoryRoot,
    options: Options,
    on_progress: impl Fn(&Progress) + Send + Sync,
) -> Result<WordsReady, Fault> {
    let By { app, cancel, seat } = *by;
    let store = app.store().await?;
    store.require_room().await?;
    let asked = jobs::enqueue(store, &writable_job(project, root.as_str(), &options)?).await?;
    let (sender, mut progress) = watch::channel(Progress::default());
    let stop = CancellationToken::new();
    let (running, own, control) = (Arc::clone(app), asked.clone(), stop.clone());
    let seat = seat.clone();
    let mut task = app.background.spawn(async move {
        let settings = LeaseSettings::from(&running.config.indexing);
        let execute = |job| execute_seated(Arc::clone(&running), seat.clone(), job);
        let elsewhere = || seat.give_up();
        // What another call asked for is not given up with this one.
        let on_cancel = if own.attached { OnCancel::ReturnToQueue } else { OnCancel::Cancel };
        let control = RunControl {
            cancel: &control,
            on_cancel,
            shutdown: Some(&running.shutdown),
            on_wait: Some(&elsewhere),
        };
        let told = |now: &Progress| {
            sender.send_replace(now.clone());
        };
        jobs::run_to_completion(
            running.store().await?,
            own,
            &running.worker,
            settings,
            control,
            told,
            execute,
        )
        .await
    });
    let broken = |error| Fault::internal("The index run broke off.", error);
    let mut deadline = None;
    loop {
        tokio::select! {
            ended = &mut task => return ended.map_err(broken)?.map(WordsReady::Over),
            Ok(()) = progress.changed() => {
                let now = progress.borrow_and_update().clone();
                on_progress(&now);
                let few = now.vectors_total.is_some_and(|texts| texts <= FEW_TEXTS);
                if now.words_ready && !few {
                    return Ok(goes_on(&asked, now));
                }
                if now.words_ready && deadline.is_none() {
                    deadline = Some(Instant::now() + FEW_TEXTS_WAIT);
                }
            }
            () = over(deadline) => {
                return Ok(goes_on(&asked, progress.borrow().clone()));
            }
            () = cancel.cancelled() => {
                if !asked.attached {
                    let mut control = store.control().await?;
                    store::jobs::request_cancel(&mut control, &asked.job.id).await?;
                    control.commit().await?;
                }
                stop.cancel();
                return task.await.map_err(broken)?.map(WordsReady::Over);
            }
        }
    }
}

fn goes_on(asked: &Enqueued, progress: Progress) -> WordsReady {
    WordsReady::GoesOn { job_id: asked.job.id.clone(), attached: asked.attached, progress }
}

/// Ends when `deadline` is over; never without one.
async fn over(deadline: Option<Instant>) {
    match deadline {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// Asks for an incremental run, to be seen through by [`run_to_completion`].
///
/// # Errors
/// Storage faults.
pub async fn ask(app: &App, project: &Project, root: &RepositoryRoot) -> Result<Enqueued, Fault> {
    jobs::enqueue(app.store().await?, &writable_job(project, root.as_str(), &Options::default())?).await
}

/// The same, unless a run is under way or the last one ended less than `after_ms` ago.
///
/// # Errors
/// Storage faults.
pub async fn ask_if_due(
    app: &App,
    project: &ProjectId,
    root: &RepositoryRoot,
    after_ms: u64,
) -> Result<Option<Enqueued>, Fault> {
    jobs::enqueue_if_due(app.store().await?, &job(project, root.as_str(), &Options::default())?, after_ms)
        .await
}

/// Sees a run through that nobody waits for: here if it is free, else by waiting for who has it. When this process
/// shuts down, the run goes back to the queue.
///
/// # Errors
/// The run's own fault; storage faults.
pub async fn run_to_completion(app: &Arc<App>, asked: Enqueued) -> Result<FinishedJob, Fault> {
    let settings = LeaseSettings::from(&app.config.indexing);
    let execute = |running| execute(Arc::clone(app), running);
    let control = RunControl {
        cancel: &app.shutdown,
        on_cancel: OnCancel::ReturnToQueue,
        shutdown: None,
        on_wait: None,
    };
    jobs::run_to_completion(app.store().await?, asked, &app.worker, settings, control, |_| (), execute).await
}

/// Between signs of life of a run that was claimed and waits for a place.
const WAITS: Duration = Duration::from_secs(1);

/// Runs a claimed job once the call that asked for it has a place again.
async fn execute_seated(app: Arc<App>, seat: Seat, running: RunningJob) -> Result<Value, Fault> {
    let mut seated = Box::pin(seat.take());
    loop {
        // To wait is no standstill.
        running.progress.touch();
        tokio::select! {
            () = &mut seated => break,
            () = running.cancel.cancelled() => break,
            () = tokio::time::sleep(WAITS) => {}
        }
    }
    drop(seated);
    execute(app, running).await
}

/// Runs a claimed job.
async fn execute(app: Arc<App>, running: RunningJob) -> Result<Value, Fault> {
    let request: Request = serde_json::from_value(running.job.request.clone())
        .map_err(|e| Fault::internal("The job's request could not be read.", e))?;
    let id = ProjectId::parse(&running.job.project_id)?;
    let about = About::of(&request, &id, &app)?;
    let progress = running.progress.clone();
    let store = &app.store().await?.on_activity(move || progress.touch());
    let project = tenancy::open(store, &id, DecidedBy::Argument).await?.ok_or_else(tenancy::no_index)?;
    let embedder = match app.embedder_for(project.model()).await {
        Ok(embedder) => Some(embedder),
        Err(fault) if fault.code == ErrorCode::CapabilityMissing => {
            tracing::warn!("indexing words only: {fault}");
            None
        }
        Err(fault) => return Err(fault),
    };
    let sqlite = request.options.sqlite;
    let run = RunContext {
        store,
        project: &project,
        fence: running.fence,
        root: about.root(),
        options: request.options,
        embedder,
        parsing: &app.parsing,
        dictionary: app.dictionaries.current().await,
        config: &app.config,
        clock: &*app.clock,
        cancel: &running.cancel,
        progress: &running.progress,
    };
    let mut report = match about {
        // A run lies deep below the call that waits for it: on the heap it takes no stack of the thread that polls it.
        About::Vectors => Box::pin(indexing::embed_project(&run)).await?,
        About::Repository(_) => Box::pin(indexing::index_repository(&run)).await?,
        About::Records(source) => {
            (source.prepare)(store, &project).await?;
            let documents = (source.documents)(store, &project, app.clock.now().as_millisecond());
            Box::pin(indexing::run_documents(&run, &*documents)).await?
        }
    };
    if sqlite {
        report.sqlite = Some(export(&app, store, &project, &running.cancel).await?);
    }
    report.notes.extend(running.notes);
    serde_json::to_value(report).map_err(|e| Fault::internal("The report could not be written.", e))
}

/// Brings the project's portable file up to date.
///
/// # Errors
/// As [`build_portable`].
pub async fn export(
    app: &App,
    store: &Store,
    project: &Project,
    cancel: &CancellationToken,
) -> Result<SqliteFile, Fault> {
    let name = portable_file_name(IndexPart::All, None);
    let built = build_portable(&BuildRequest {
        store,
        project,
        root: None,
        part: IndexPart::All,
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
