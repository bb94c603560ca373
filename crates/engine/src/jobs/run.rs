//! Runs a job for a call: in this process if the job is free, otherwise by waiting for the process that runs it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::attempt::{ClaimResult, run_claimed, run_claimed_once};
use super::lease::{ClaimedJob, LeaseSettings, with_timeout};
use super::progress::{Phase, Progress, ProgressSender};
use super::queued::waits_for;
use contract::{ErrorCode, Fault};
use store::{self, Claim, Enqueued, Fence, Job, JobState, NewJob, NextJob, Store, is_transient};

/// Time between reads of a job that another process runs, and between reports of the progress of one that runs here.
pub(super) const POLL: Duration = Duration::from_millis(250);
/// Maximum number of claims that a caller may lose or give up before it fails.
const LOST_CLAIMS_MAX: usize = 10;

/// The effect of [`RunControl::cancel`] on a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnCancel {
    /// The job is cancelled, because the caller no longer wants it.
    Cancel,
    /// The job is returned to the queue, so that another process resumes it.
    ReturnToQueue,
}

/// A job that succeeded.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedJob {
    /// Id of the job.
    pub job_id: String,
    /// `true` if the job was already queued or running when this call requested it.
    pub attached: bool,
    /// The request of the job; an earlier caller may have written it.
    pub request: Value,
    /// The result of the job.
    pub result: Value,
}

/// The context in which the work of a job runs.
#[derive(Debug, Clone)]
pub struct RunningJob {
    /// The job as it was claimed.
    pub job: Job,
    /// The fence token of the claim, which every write transaction checks.
    pub fence: Fence,
    /// Receives the progress of the job.
    pub progress: ProgressSender,
    /// Fires when the work must stop.
    pub cancel: CancellationToken,
    /// Notes on earlier attempts, for the report of the run.
    pub notes: Vec<String>,
}

/// The means by which a caller controls a job that it runs or waits for.
#[derive(Clone, Copy)]
pub struct RunControl<'a> {
    /// Stops the job or the waiting.
    pub cancel: &'a CancellationToken,
    /// The effect of `cancel` on a job that runs here.
    pub on_cancel: OnCancel,
    /// Fires when this process ends: the job is then returned to the queue, regardless of `on_cancel`.
    pub shutdown: Option<&'a CancellationToken>,
    /// Called whenever the caller only waits: another process or call runs the job, or the job is queued behind another
    /// one.
    pub on_wait: Option<&'a (dyn Fn() + Send + Sync)>,
}

impl RunControl<'_> {
    /// Returns the effect on the job if `cancel` or `shutdown` has fired; `None` to continue.
    pub(super) fn stop_request(&self) -> Option<OnCancel> {
        if self.cancel.is_cancelled() {
            return Some(self.on_cancel);
        }
        self.shutdown.filter(|shutdown| shutdown.is_cancelled()).map(|_| OnCancel::ReturnToQueue)
    }

    /// Completes when `cancel` or `shutdown` fires.
    pub(super) async fn wait_for_stop_request(&self) {
        match self.shutdown {
            Some(shutdown) => tokio::select! {
                () = self.cancel.cancelled() => {}
                () = shutdown.cancelled() => {}
            },
            None => self.cancel.cancelled().await,
        }
    }
}

/// Tolerates outages of the database, each up to `max`.
struct OutageTolerance {
    /// Start of the current outage.
    since: Option<Instant>,
    max: Duration,
}

impl OutageTolerance {
    /// Returns `None` for a transient fault while the outage is shorter than `max`, otherwise the result itself.
    fn tolerate<T>(&mut self, result: Result<T, Fault>) -> Result<Option<T>, Fault> {
        match result {
            Err(fault)
                if is_transient(&fault)
                    && self.since.get_or_insert_with(Instant::now).elapsed() < self.max =>
            {
                Ok(None)
            }
            Err(fault) => Err(fault),
            Ok(value) => {
                self.since = None;
                Ok(Some(value))
            }
        }
    }
}

/// Waits for the end of a queued job. Runs it in this process if it can be claimed, otherwise waits for the process or call that runs it
/// and returns its result. `on_progress` receives snapshots a few times per second and must not block. `control.cancel` stops the job if it
/// runs here (committed work is kept), and only the wait if it runs elsewhere.
///
/// # Errors
/// The fault of the job; `CANCELLED`; `STORAGE_UNAVAILABLE` if the database was unavailable for longer than `settings` allow (the job then
/// waits in the queue); storage faults.
pub async fn run_to_completion<F, R>(
    store: &Store,
    enqueued: Enqueued,
    worker: &str,
    settings: LeaseSettings,
    control: RunControl<'_>,
    on_progress: impl Fn(&Progress) + Send + Sync,
    execute: F,
) -> Result<FinishedJob, Fault>
where
    F: Fn(RunningJob) -> R + Send + Sync,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let (id, attached, request) = (enqueued.job.id, enqueued.attached, enqueued.job.request);
    let mut last_reported: Option<Progress> = None;
    let mut tolerance = OutageTolerance { since: None, max: settings.outage_max };
    let mut lost_claims = 0;
    loop {
        if let Some(on_cancel) = control.stop_request() {
            let job = with_timeout(settings.lease, load_job(store, &id)).await?;
            return Err(stop_waiting(store, &job, attached, on_cancel).await?);
        }
        let claim = ClaimedJob::try_claim(store, Claim::Id(&id), worker, settings);
        // If the claim succeeded but the connection broke before the answer, the lease expires.
        let claimed = with_timeout(settings.lease, claim).await;
        if let Some(claimed) = tolerance.tolerate(claimed)?.flatten() {
            match run_claimed(claimed, control, &on_progress, &execute).await {
                ClaimResult::Ended(result) => {
                    return result.map(|result| FinishedJob { job_id: id, attached, request, result });
                }
                ClaimResult::GivenUp(fault) if lost_claims == LOST_CLAIMS_MAX => return Err(fault),
                ClaimResult::GivenUp(_) => lost_claims += 1,
            }
        }
        let Some(job) = tolerance.tolerate(with_timeout(settings.lease, load_job(store, &id)).await)? else {
            tokio::time::sleep(POLL).await;
            continue;
        };
        if job.state.is_final() {
            return result_of_ended_job(job, attached);
        }
        if let Some(on_wait) = control.on_wait {
            on_wait();
        }
        let mut progress = job.progress.as_ref().map(Progress::from_value).unwrap_or_default();
        if job.state == JobState::Queued {
            progress.phase = Phase::Queued;
            let ahead = tolerance.tolerate(with_timeout(settings.lease, waits_for(store, &job)).await)?;
            progress.waits_for = ahead.flatten();
        }
        if last_reported.as_ref() != Some(&progress) {
            on_progress(&progress);
            last_reported = Some(progress);
        }
        tokio::select! {
            () = control.wait_for_stop_request() => {
                let on_cancel = control.stop_request().unwrap_or(control.on_cancel);
                return Err(stop_waiting(store, &job, attached, on_cancel).await?);
            }
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

/// Stops waiting for a job that runs elsewhere or is queued. Cancels a queued job that only this call requested.
async fn stop_waiting(store: &Store, job: &Job, attached: bool, on_cancel: OnCancel) -> Result<Fault, Fault> {
    if job.state == JobState::Queued && !attached && on_cancel == OnCancel::Cancel {
        let mut tx = store.control().await?;
        store::jobs::request_cancel(&mut tx, &job.id).await?;
        tx.commit().await?;
    }
    cancellation_fault(store, &job.id).await
}

/// Returns the fault for a caller that stopped waiting. Its message depends on the current state of the job.
pub(super) async fn cancellation_fault(store: &Store, id: &str) -> Result<Fault, Fault> {
    let mut tx = store.control_read().await?;
    let job = store::jobs::get(&mut tx, id).await?;
    tx.commit().await?;
    let Some(job) = job else { return Ok(cancelled_fault()) };
    let cancelled =
        |message: String, hint: &str| Ok(Fault::new(ErrorCode::Cancelled, message).with_hint(hint));
    let kept = "committed work stays searchable";
    match job.state {
        JobState::Cancelled if job.started_ms.is_none() => cancelled(
            "The run was cancelled before it started; it changed nothing.".to_owned(),
            "Start the run again.",
        ),
        JobState::Cancelled => Ok(cancelled_fault()),
        JobState::Running if job.cancel_requested => cancelled(
            format!("The run is being cancelled in the process that runs it; {kept}."),
            "`index_status` shows when it has stopped.",
        ),
        JobState::Running => cancelled(
            "The wait was cancelled; the run continues.".to_owned(),
            "`index_status` shows its progress; start the run again to wait for it.",
        ),
        JobState::Queued => {
            let reason = waits_for(store, &job).await?.map(|ahead| format!(", {}", ahead.reason()));
            cancelled(
                format!(
                    "The wait was cancelled; the run stays in the queue{}, and {kept}.",
                    reason.unwrap_or_default()
                ),
                "A server runs it by itself, and so does the next call for the same run.",
            )
        }
        JobState::Succeeded | JobState::Failed => cancelled(
            format!("The wait was cancelled; the run ended meanwhile: {}.", job.state.as_str()),
            "`index_status` shows what it did.",
        ),
    }
}

/// Maximum number of projects whose order is kept.
const SERVED_MAX: usize = 256;

/// The projects whose jobs a process has claimed, so that those of one project do not keep the others waiting.
#[derive(Debug, Default)]
pub struct ServedProjects(Mutex<VecDeque<String>>);

impl ServedProjects {
    /// Returns the projects, the least recently served first.
    fn in_order(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn note(&self, project: &str) {
        let mut served = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        served.retain(|other| other != project);
        if served.len() >= SERVED_MAX {
            served.pop_front();
        }
        served.push_back(project.to_owned());
    }
}

/// The jobs that [`run_next`] chooses from.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// Kind of the jobs.
    pub kind: &'a str,
    /// The projects that have had their turn.
    pub served: &'a ServedProjects,
    /// Maximum number of jobs of one project that this process runs at a time.
    pub share: usize,
    /// Jobs that another part of this process takes up.
    pub except: &'a [String],
}

/// Claims a free job and runs it to its end, the oldest of the project that was served longest ago; returns `false` if there is no free
/// job. With this function a server runs jobs whose process died and jobs that no call waits for. When `cancel` fires, the job is returned
/// to the queue.
///
/// # Errors
/// Storage faults; the fault of the job itself is stored in its row.
pub async fn run_next<F, R>(
    store: &Store,
    choice: Choice<'_>,
    worker: &str,
    settings: LeaseSettings,
    cancel: &CancellationToken,
    execute: F,
) -> Result<bool, Fault>
where
    F: Fn(RunningJob) -> R + Send + Sync,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let mut tx = store.control().await?;
    store::jobs::requeue_expired(&mut tx).await?;
    tx.commit().await?;
    let (served, share) = (choice.served.in_order(), i64::try_from(choice.share).unwrap_or(i64::MAX));
    let next = NextJob { kind: choice.kind, served: &served, share, except: choice.except };
    let Some(claimed) = ClaimedJob::try_claim(store, Claim::Next(next), worker, settings).await? else {
        return Ok(false);
    };
    choice.served.note(&claimed.job.project_id);
    let id = claimed.job.id.clone();
    let control = RunControl { cancel, on_cancel: OnCancel::ReturnToQueue, shutdown: None, on_wait: None };
    match run_claimed(claimed, control, &|_: &Progress| (), &execute).await {
        ClaimResult::Ended(Ok(_)) => {}
        ClaimResult::Ended(Err(fault)) | ClaimResult::GivenUp(fault) => {
            tracing::info!(job = id, code = %fault.code, "this process stopped running a job: {}", fault.message);
        }
    }
    Ok(true)
}

/// Runs a job in this process immediately, in one attempt: it fails if the database becomes unavailable, and need not
/// report progress. Returns `None` without doing anything if another job of its project and lane runs.
///
/// # Errors
/// The fault of the job; storage faults.
pub async fn run_now<F, R>(
    store: &Store,
    request: &NewJob,
    worker: &str,
    settings: LeaseSettings,
    cancel: &CancellationToken,
    execute: F,
) -> Result<Option<Value>, Fault>
where
    F: FnOnce(RunningJob) -> R + Send,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let settings = LeaseSettings { progress_max: None, ..settings };
    let Some(claimed) = ClaimedJob::claim_new(store, request, worker, settings).await? else {
        return Ok(None);
    };
    let control = RunControl { cancel, on_cancel: OnCancel::Cancel, shutdown: None, on_wait: None };
    run_claimed_once(claimed, control, execute).await.map(Some)
}

/// Queues a job, or attaches to an equal one, without waiting for it.
pub async fn enqueue(store: &Store, request: &NewJob) -> Result<Enqueued, Fault> {
    let mut tx = store.control().await?;
    store::jobs::requeue_expired(&mut tx).await?;
    let enqueued = store::jobs::enqueue_or_attach(&mut tx, request).await?;
    tx.commit().await?;
    // A process that takes up the job later joins its own span to this one by the id.
    tracing::Span::current().record("queued", &enqueued.job.id);
    tracing::debug!(
        queued = enqueued.job.id,
        kind = request.kind,
        attached = enqueued.attached,
        "a job was requested"
    );
    Ok(enqueued)
}

/// Queues a job without waiting for it, unless one with the same subject is queued, runs or ended less than `after_ms` ago.
pub async fn enqueue_if_due(
    store: &Store,
    request: &NewJob,
    after_ms: u64,
) -> Result<Option<Enqueued>, Fault> {
    let mut tx = store.control().await?;
    store::jobs::requeue_expired(&mut tx).await?;
    let enqueued = store::jobs::enqueue_if_due(&mut tx, request, after_ms).await?;
    tx.commit().await?;
    Ok(enqueued)
}

async fn load_job(store: &Store, id: &str) -> Result<Job, Fault> {
    let mut tx = store.control().await?;
    store::jobs::requeue_expired(&mut tx).await?;
    let job = store::jobs::get(&mut tx, id).await?;
    tx.commit().await?;
    job.ok_or_else(|| {
        Fault::new(ErrorCode::NotFound, "The job no longer exists.").with_hint("Start it again.")
    })
}

fn result_of_ended_job(job: Job, attached: bool) -> Result<FinishedJob, Fault> {
    match job.state {
        JobState::Succeeded => {
            let result = job.result.unwrap_or_default();
            Ok(FinishedJob { job_id: job.id, attached, request: job.request, result })
        }
        JobState::Cancelled => Err(cancelled_fault()),
        _ => Err(job.error.as_ref().map_or_else(
            || Fault::new(ErrorCode::Internal, "The run failed without saying why."),
            fault_from_json,
        )),
    }
}

pub(super) fn cancelled_fault() -> Fault {
    Fault::new(ErrorCode::Cancelled, "The run was cancelled; what it committed stays searchable.")
        .with_hint("Start it again to resume where it stopped.")
}

/// Returns the form in which a fault is stored with a job: the fields that clients see, without the source error.
#[must_use]
pub fn fault_to_json(fault: &Fault) -> Value {
    serde_json::json!({
        "code": fault.code.as_str(),
        "message": fault.message,
        "hint": fault.hint,
        "details": fault.details,
        "retryable": fault.retryable,
    })
}

/// Returns the fault that is stored in the form of [`fault_to_json`].
#[must_use]
pub fn fault_from_json(error: &Value) -> Fault {
    let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
    let code = text("code").and_then(|code| ErrorCode::parse(&code));
    let mut fault = Fault::new(code.unwrap_or(ErrorCode::Internal), text("message").unwrap_or_default());
    fault.hint = text("hint");
    fault.details = error.get("details").filter(|details| !details.is_null()).cloned();
    fault.retryable = error.get("retryable").and_then(Value::as_bool).unwrap_or(fault.retryable);
    fault
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_faults_round_trip() {
        let fault =
            Fault::new(ErrorCode::NotFound, "m").with_hint("h").with_details(serde_json::json!({ "a": 1 }));
        let fault = Fault { retryable: !fault.retryable, ..fault };
        let back = fault_from_json(&fault_to_json(&fault));
        assert_eq!(
            (back.code, back.message, back.hint, back.details, back.retryable),
            (fault.code, fault.message, fault.hint, fault.details, fault.retryable)
        );
        assert_eq!(fault_from_json(&Value::Null).code, ErrorCode::Internal);
    }
}
