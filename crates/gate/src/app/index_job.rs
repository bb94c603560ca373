//! The index job: requested by tools, run by any process that is free, resumed by any other.

mod portable_export;
mod request;
mod target;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::request::{Request, WHOLE_PROJECT};
use self::target::{JobTarget, JobTree};
use super::freshness::turns::TurnedRun;
use super::job_kind::{JobKind, as_own_task};
use super::{App, CallSlot};
use contract::{ErrorCode, Fault, ProjectId};
use engine::indexing::{self, Options, RecordSource, RunContext};
use engine::jobs::{
    self, Enqueued, FinishedJob, LeaseSettings, NewJob, OnCancel, Progress, RunControl, RunningJob,
    WRITER_LANE,
};
use store::{self, Project};
use tenancy::{self, RepositoryRoot};

pub use portable_export::export;

/// The job kind that writes a project's index.
pub static KIND: JobKind =
    JobKind { name: "index", lane: |_| WRITER_LANE.to_owned(), parallel: |_| 1, execute: Some(execute) };

/// Maximum number of runs that a call attaches to in a row if they do less than it requested; it then returns the report of the last one.
const ATTACHED_RUNS_MAX: usize = 3;

/// The job that indexes `root` into `project`.
///
/// # Errors
/// `INTERNAL` if the request cannot be written.
fn new_job(project: &ProjectId, root: &str, options: &Options) -> Result<NewJob, Fault> {
    let request = Request { root: root.to_owned(), options: options.clone() };
    let request =
        serde_json::to_value(request).map_err(|e| Fault::internal("The job could not be written.", e))?;
    Ok(KIND.job(project.clone(), root, request))
}

/// Like [`new_job`], but refuses a project that this program may not write to: its workers would never take up the job.
///
/// # Errors
/// `ILLEGAL_STATE` for a project that a newer program wrote; as [`new_job`].
pub(super) fn writable_job(project: &Project, root: &str, options: &Options) -> Result<NewJob, Fault> {
    project.require_writable()?;
    new_job(project.id(), root, options)
}

/// The call that requests a job.
#[derive(Clone, Copy)]
pub struct RequestingCall<'a> {
    /// The application.
    pub app: &'a Arc<App>,
    /// Fires when the caller gives up.
    pub cancel: &'a CancellationToken,
    /// The slot of the call: free for others while the job runs elsewhere or waits for another job.
    pub slot: &'a CallSlot,
}

impl<'a> RequestingCall<'a> {
    /// A call that needs no slot, such as a command.
    #[must_use]
    pub fn without_slot(app: &'a Arc<App>, cancel: &'a CancellationToken) -> Self {
        static NONE: LazyLock<CallSlot> = LazyLock::new(CallSlot::default);
        Self { app, cancel, slot: &NONE }
    }
}

/// Indexes a repository and waits: runs the job here if it is free, else waits for the process that runs it. If that run does
/// less than requested, another one follows.
///
/// # Errors
/// The run's own fault, wherever it ran; `CANCELLED`; storage faults.
pub async fn run(
    call: &RequestingCall<'_>,
    project: &Project,
    root: &RepositoryRoot,
    options: Options,
    on_progress: impl Fn(&Progress) + Send + Sync,
) -> Result<FinishedJob, Fault> {
    let job = writable_job(project, root.as_str(), &options)?;
    run_until_covered(call, &job, &options, &on_progress).await
}

/// Indexes the records of a source and waits. Everything stored before the call is searchable afterwards.
///
/// # Errors
/// As [`run`].
pub async fn run_records(
    call: &RequestingCall<'_>,
    project: &Project,
    source: &RecordSource,
    options: Options,
    on_progress: impl Fn(&Progress) + Send + Sync,
) -> Result<FinishedJob, Fault> {
    let job = writable_job(project, source.root, &options)?;
    let finished = run_until_covered(call, &job, &options, &on_progress).await?;
    if !finished.attached {
        return Ok(finished);
    }
    // The run had begun before this call, so it may have missed records that were stored meanwhile.
    run_until_covered(call, &job, &options, &on_progress).await
}

/// Embeds the texts of a project that have no vector, and waits.
///
/// # Errors
/// As [`run`].
pub async fn embed(
    call: &RequestingCall<'_>,
    project: &Project,
    on_progress: impl Fn(&Progress) + Send + Sync,
) -> Result<FinishedJob, Fault> {
    let options = Options { vectors_only: true, ..Options::default() };
    let job = writable_job(project, WHOLE_PROJECT, &options)?;
    run_until_covered(call, &job, &options, &on_progress).await
}

/// Runs the job, and runs it again if the call attached to a run that did less than `options`.
async fn run_until_covered(
    call: &RequestingCall<'_>,
    job: &NewJob,
    options: &Options,
    on_progress: &(impl Fn(&Progress) + Send + Sync),
) -> Result<FinishedJob, Fault> {
    let RequestingCall { app, cancel, slot } = *call;
    let store = app.store().await?;
    store.require_disk_space().await?;
    let settings = LeaseSettings::from(&app.config.indexing);
    let mut attempt = 1;
    let park = || slot.park();
    let control = RunControl {
        cancel,
        on_cancel: OnCancel::Cancel,
        shutdown: Some(&app.shutdown),
        on_wait: Some(&park),
    };
    loop {
        let execute = |running| execute_in_slot(Arc::clone(app), slot.clone(), running);
        let enqueued = jobs::enqueue(store, job).await?;
        let finished =
            jobs::run_to_completion(store, enqueued, &app.worker, settings, control, on_progress, execute)
                .await?;
        let is_covered = || {
            let ran = Request::deserialize(&finished.request);
            ran.is_ok_and(|ran| ran.options.covers(options))
        };
        if !finished.attached || attempt >= ATTACHED_RUNS_MAX || is_covered() {
            return Ok(finished);
        }
        attempt += 1;
    }
}

/// A call that waits for lexical search also waits for the vectors if at most this many texts have to be embedded.
const FEW_TEXTS: u64 = 32;
/// The longest such wait for vectors.
const FEW_TEXTS_WAIT: Duration = Duration::from_secs(3);

/// The state of a run whose chunks can be searched by terms.
#[derive(Debug)]
pub enum LexicalReady {
    /// It continues in this process, or in the one that runs it.
    Continues {
        /// The job's id.
        job_id: String,
        /// True if the job had been requested before.
        attached: bool,
        /// Its progress so far.
        progress: Progress,
    },
    /// It has finished, because there was little to embed.
    Finished(FinishedJob),
}

/// Requests a run and waits until its chunks can be searched by terms. The run then continues in this process, and if that
/// shuts down, in the next one that polls the queue. Until then `cancel` stops the run, unless another call requested it.
///
/// # Errors
/// As [`run`].
pub async fn start_and_wait_for_lexical(
    call: &RequestingCall<'_>,
    project: &Project,
    root: &RepositoryRoot,
    options: Options,
    on_progress: impl Fn(&Progress) + Send + Sync,
) -> Result<LexicalReady, Fault> {
    let RequestingCall { app, cancel, slot } = *call;
    let store = app.store().await?;
    store.require_disk_space().await?;
    let enqueued = jobs::enqueue(store, &writable_job(project, root.as_str(), &options)?).await?;
    let (sender, mut progress) = watch::channel(Progress::default());
    let stop = CancellationToken::new();
    // If this future is dropped before the run may go on by itself.
    let stop_if_dropped = stop.clone().drop_guard();
    let (task_app, job, stop_job) = (Arc::clone(app), enqueued.clone(), stop.clone());
    let run_slot = slot.clone();
    let mut task = app.background.spawn(async move {
        let settings = LeaseSettings::from(&task_app.config.indexing);
        let execute = |running| execute_in_slot(Arc::clone(&task_app), run_slot.clone(), running);
        let park = || run_slot.park();
        // Cancelling this call does not cancel a job that another call requested.
        let on_cancel = if job.attached { OnCancel::ReturnToQueue } else { OnCancel::Cancel };
        let control = RunControl {
            cancel: &stop_job,
            on_cancel,
            shutdown: Some(&task_app.shutdown),
            on_wait: Some(&park),
        };
        let send_progress = |now: &Progress| {
            sender.send_replace(now.clone());
        };
        jobs::run_to_completion(
            task_app.store().await?,
            job,
            &task_app.worker,
            settings,
            control,
            send_progress,
            execute,
        )
        .await
    });
    let task_failed = |error| Fault::internal("The index run stopped unexpectedly.", error);
    let mut deadline = None;
    loop {
        tokio::select! {
            ended = &mut task => return ended.map_err(task_failed)?.map(LexicalReady::Finished),
            Ok(()) = progress.changed() => {
                let now = progress.borrow_and_update().clone();
                on_progress(&now);
                let few = now.vectors_total.is_some_and(|texts| texts <= FEW_TEXTS);
                if now.words_ready && !few {
                    slot.outlive_call();
                    stop_if_dropped.disarm();
                    return Ok(continues(&enqueued, now));
                }
                if now.words_ready && deadline.is_none() {
                    deadline = Some(Instant::now() + FEW_TEXTS_WAIT);
                }
            }
            () = wait_until(deadline) => {
                slot.outlive_call();
                stop_if_dropped.disarm();
                return Ok(continues(&enqueued, progress.borrow().clone()));
            }
            () = cancel.cancelled() => {
                if !enqueued.attached {
                    let mut control = store.control().await?;
                    store::jobs::request_cancel(&mut control, &enqueued.job.id).await?;
                    control.commit().await?;
                }
                stop.cancel();
                return task.await.map_err(task_failed)?.map(LexicalReady::Finished);
            }
        }
    }
}

fn continues(enqueued: &Enqueued, progress: Progress) -> LexicalReady {
    LexicalReady::Continues { job_id: enqueued.job.id.clone(), attached: enqueued.attached, progress }
}

/// Returns at `deadline`; never without one.
async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// Enqueues a run; [`run_to_completion`] runs it.
///
/// # Errors
/// Storage faults.
pub async fn enqueue(
    app: &App,
    project: &Project,
    root: &RepositoryRoot,
    options: &Options,
) -> Result<Enqueued, Fault> {
    jobs::enqueue(app.store().await?, &writable_job(project, root.as_str(), options)?).await
}

/// Enqueues an incremental run, unless one is in progress or the last one ended less than `after_ms` ago.
///
/// # Errors
/// Storage faults.
pub async fn enqueue_if_due(
    app: &App,
    project: &ProjectId,
    root: &RepositoryRoot,
    after_ms: u64,
) -> Result<Option<Enqueued>, Fault> {
    jobs::enqueue_if_due(app.store().await?, &new_job(project, root.as_str(), &Options::default())?, after_ms)
        .await
}

/// Completes an enqueued run that no call waits for: runs it here if it is free, else waits for the process that runs it. When this process
/// shuts down, the run goes back to the queue. It executes in its turn, and gives the turn to others while it waits.
///
/// # Errors
/// The run's own fault; storage faults.
pub(super) async fn run_to_completion(
    app: &Arc<App>,
    enqueued: Enqueued,
    turned: &TurnedRun,
) -> Result<FinishedJob, Fault> {
    let settings = LeaseSettings::from(&app.config.indexing);
    let execute = |running| execute_as(Arc::clone(app), Admitted::Turn(turned.clone()), running);
    let park = || turned.park();
    let control = RunControl {
        cancel: &app.shutdown,
        on_cancel: OnCancel::ReturnToQueue,
        shutdown: None,
        on_wait: Some(&park),
    };
    jobs::run_to_completion(app.store().await?, enqueued, &app.worker, settings, control, |_| (), execute)
        .await
}

/// Interval of renewing the activity of a claimed job that waits for a slot or a turn.
const TOUCH_INTERVAL: Duration = Duration::from_secs(1);

/// Runs a claimed job as soon as the call that requested it has a slot again.
pub(super) fn execute_in_slot(
    app: Arc<App>,
    slot: CallSlot,
    running: RunningJob,
) -> BoxFuture<'static, Result<Value, Fault>> {
    execute_as(app, Admitted::Slot(slot), running)
}

/// Runs a claimed job that nothing admits.
fn execute(app: Arc<App>, running: RunningJob) -> BoxFuture<'static, Result<Value, Fault>> {
    execute_as(app, Admitted::Freely, running)
}

fn execute_as(
    app: Arc<App>,
    admitted: Admitted,
    running: RunningJob,
) -> BoxFuture<'static, Result<Value, Fault>> {
    Box::pin(async move {
        admitted.resume(&running).await;
        as_own_task(index(app, admitted, running)).await
    })
}

/// The permission with which a job executes; it limits how many do.
enum Admitted {
    /// The slot of the call that requested it.
    Slot(CallSlot),
    /// A turn among automatic runs.
    Turn(TurnedRun),
    /// Nothing: a loop of this process takes up one job at a time.
    Freely,
}

impl Admitted {
    /// Waits until the job may execute.
    async fn resume(&self, running: &RunningJob) {
        match self {
            Self::Slot(slot) => wait_alive(running, slot.resume()).await,
            Self::Turn(turned) => wait_alive(running, turned.resume()).await,
            Self::Freely => {}
        }
    }

    /// Fetches within the turns of runs that fetch; each host has a share of them. A call gives its slot to others meanwhile: a host
    /// may be slow.
    async fn fetching<T>(
        &self,
        app: &App,
        (running, target): (&RunningJob, &JobTarget),
        fetch: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        if !target.is_remote() || matches!(self, Self::Turn(_)) {
            return fetch.await;
        }
        if let Self::Slot(slot) = self {
            slot.park();
        }
        let project = ProjectId::parse(&running.job.project_id)?;
        let turned = app.freshness.turn_of(&project, target.root(), &running.job.id);
        wait_alive(running, turned.resume()).await;
        let fetched = fetch.await;
        turned.park();
        self.resume(running).await;
        fetched
    }
}

/// Waits for `ready`, or until the job must stop. It does not count as stalled meanwhile.
async fn wait_alive(running: &RunningJob, ready: impl Future<Output = ()>) {
    let mut ready = std::pin::pin!(ready);
    loop {
        running.progress.touch();
        tokio::select! {
            () = &mut ready => return,
            () = running.cancel.cancelled() => return,
            () = tokio::time::sleep(TOUCH_INTERVAL) => {}
        }
    }
}

/// Indexes. Other modules may have waited for it.
async fn index(app: Arc<App>, admitted: Admitted, running: RunningJob) -> Result<Value, Fault> {
    let (waiting, project) = (Arc::clone(&app), running.job.project_id.clone());
    let result = run_job(app, &admitted, running).await;
    for ended in waiting.modules.iter().filter_map(|module| module.index_ended) {
        ended(&waiting, &project).await;
    }
    result
}

async fn run_job(app: Arc<App>, admitted: &Admitted, running: RunningJob) -> Result<Value, Fault> {
    let request: Request = serde_json::from_value(running.job.request.clone())
        .map_err(|e| Fault::internal("The job's request could not be read.", e))?;
    let id = ProjectId::parse(&running.job.project_id)?;
    let target = JobTarget::from_request(&request, &id, &app)?;
    let progress = running.progress.clone();
    let store = &app.store().await?.with_on_activity(move || progress.touch());
    let project = tenancy::require(store, &id).await?;
    let embedder = match app.embedder_for(project.model()).await {
        Ok(embedder) => Some(embedder),
        Err(fault) if fault.code == ErrorCode::CapabilityMissing => {
            tracing::warn!("indexing without vectors: {fault}");
            None
        }
        Err(fault) => return Err(fault),
    };
    let sqlite = request.options.sqlite;
    let fetch = target.fetch_tree(&app, &running, &project, &request.options);
    let fetched = match admitted.fetching(&app, (&running, &target), fetch).await {
        Ok(fetched) => fetched,
        Err(fault) => {
            indexing::record_unfetched(store, &project, running.fence, target.root(), &fault).await;
            return Err(fault);
        }
    };
    let JobTree { tree, revisions, notes } = fetched;
    let config = target.config(&app.config);
    let run = RunContext {
        store,
        project: &project,
        fence: running.fence,
        root: target.root(),
        tree: &tree,
        revisions: &revisions,
        options: request.options,
        embedder,
        parsing: &app.parsing,
        interfaces: &app.interfaces,
        dictionary: app.dictionaries.current().await,
        config: &config,
        clock: &*app.clock,
        cancel: &running.cancel,
        progress: &running.progress,
    };
    let mut report = match target {
        // The futures of a run are large: on the heap they take no stack of the thread that polls the call.
        JobTarget::MissingVectors => Box::pin(indexing::embed_project(&run)).await?,
        JobTarget::Repository(_) => Box::pin(indexing::index_repository(&run)).await?,
        JobTarget::Records(source) => {
            (source.prepare)(store, &project).await?;
            let documents = (source.documents)(store, &project, app.clock.now().as_millisecond());
            Box::pin(indexing::run_documents(&run, &*documents)).await?
        }
    };
    if sqlite {
        report.sqlite = Some(export(&app, store, &project, &running.cancel).await?);
    }
    report.notes.extend(notes.into_iter().chain(running.notes));
    serde_json::to_value(report).map_err(|e| Fault::internal("The report could not be written.", e))
}
