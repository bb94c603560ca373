//! Runs a job for a call: in this process if the job is free, otherwise by waiting for the process that runs it.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::attempt::{ClaimResult, run_claimed, run_claimed_once};
use super::lease::{ClaimedJob, LeaseSettings, with_timeout};
use super::progress::{Phase, Progress, ProgressSender};
use super::queued::waits_for;
use contract::{ErrorCode, Fault};
use store::{self, Claim, Enqueued, Fence, Job, JobState, NewJob, Store, is_transient};

/// Time between reads of a job that another process runs.
pub(super) const POLL: Duration = Duration::from_millis(250);
/// How often a caller tries again after it lost or gave up its claim.
const LOST_CLAIMS_MAX: usize = 10;

/// What happens to a job when [`RunControl::cancel`] fires.
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
    /// True if the job was already queued or running when this call requested it.
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
    /// What happened in earlier attempts; for the report of the run.
    pub notes: Vec<String>,
}

/// Queues a job, or attaches to an equal one, and waits for its end. If the job is free, it runs in this process, also after the
/// process that ran it died; otherwise this waits for the other process and returns its result. `on_progress` receives snapshots a
/// few times a second in both cases and must not block. `cancel` stops the job if it runs here (committed work stays), and only the
/// waiting if it runs elsewhere.
///
/// # Errors
/// The fault of the job, wherever it ran; `CANCELLED`; `STORAGE_UNAVAILABLE` if the database was unavailable for longer than
/// `settings` allow (the job then waits in the queue); storage faults.
pub async fn run_or_attach<F, R>(
    store: &Store,
    request: &NewJob,
    worker: &str,
    settings: LeaseSettings,
    cancel: &CancellationToken,
    on_progress: impl Fn(&Progress) + Send + Sync,
    execute: F,
) -> Result<FinishedJob, Fault>
where
    F: Fn(RunningJob) -> R + Send + Sync,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let enqueued = enqueue(store, request).await?;
    let control = RunControl { cancel, on_cancel: OnCancel::Cancel, shutdown: None, on_wait: None };
    run_to_completion(store, enqueued, worker, settings, control, on_progress, execute).await
}

/// How a caller controls a job that it runs or waits for.
#[derive(Clone, Copy)]
pub struct RunControl<'a> {
    /// Stops the job or the waiting.
    pub cancel: &'a CancellationToken,
    /// What `cancel` does to a job that runs here.
    pub on_cancel: OnCancel,
    /// Fires when this process ends: the job is then returned to the queue, whatever `on_cancel` says.
    pub shutdown: Option<&'a CancellationToken>,
    /// Called whenever the caller only waits: another process or call runs the job, or it is queued behind another job.
    pub on_wait: Option<&'a (dyn Fn() + Send + Sync)>,
}

impl RunControl<'_> {
    /// Whether to stop, and what happens to the job then.
    pub(super) fn stop(&self) -> Option<OnCancel> {
        if self.cancel.is_cancelled() {
            return Some(self.on_cancel);
        }
        self.shutdown.filter(|shutdown| shutdown.is_cancelled()).map(|_| OnCancel::ReturnToQueue)
    }

    /// Completes when `cancel` or `shutdown` fires.
    pub(super) async fn stopped(&self) {
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
    since: Option<Instant>,
    max: Duration,
}

impl OutageTolerance {
    /// Passes a result on; `None` for a transient fault while the outage is shorter than `max`.
    fn tolerate<T>(&mut self, enqueued: Result<T, Fault>) -> Result<Option<T>, Fault> {
        match enqueued {
            Err(fault)
                if is_transient(&fault)
                    && self.since.get_or_insert_with(Instant::now).elapsed() < self.max =>
            {
                Ok(None)
            }
            Err(fault) => Err(fault),
            Ok(answer) => {
                self.since = None;
                Ok(Some(answer))
            }
        }
    }
}

/// As [`run_or_attach`], for a job that is already queued.
///
/// # Errors
/// As [`run_or_attach`].
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
    let (id, attached, wanted) = (enqueued.job.id, enqueued.attached, enqueued.job.request);
    let mut seen: Option<Progress> = None;
    let mut tolerance = OutageTolerance { since: None, max: settings.away_max };
    let mut lost_claims = 0;
    loop {
        if let Some(on_cancel) = control.stop() {
            let job = with_timeout(settings.lease, load_job(store, &id)).await?;
            return Err(stop_waiting(store, &job, attached, on_cancel).await?);
        }
        let claim = ClaimedJob::try_claim(store, Claim::Id(&id), worker, settings);
        // If the claim succeeded but its answer was lost, the lease expires like any other.
        let claimed = with_timeout(settings.lease, claim).await;
        if let Some(claimed) = tolerance.tolerate(claimed)?.flatten() {
            match run_claimed(claimed, control, &on_progress, &execute).await {
                ClaimResult::Ended(result) => {
                    return result.map(|result| FinishedJob {
                        job_id: id,
                        attached,
                        request: wanted,
                        result,
                    });
                }
                ClaimResult::LeftToOthers(fault) if lost_claims == LOST_CLAIMS_MAX => return Err(fault),
                ClaimResult::LeftToOthers(_) => lost_claims += 1,
            }
        }
        let Some(job) = tolerance.tolerate(with_timeout(settings.lease, load_job(store, &id)).await)? else {
            tokio::time::sleep(POLL).await;
            continue;
        };
        if job.state.is_final() {
            return result_of_other_process(job, attached);
        }
        if let Some(waits) = control.on_wait {
            waits();
        }
        let mut progress = job.progress.as_ref().map(Progress::from_value).unwrap_or_default();
        if job.state == JobState::Queued {
            progress.phase = Phase::Queued;
            let ahead = tolerance.tolerate(with_timeout(settings.lease, waits_for(store, &job)).await)?;
            progress.waits_for = ahead.flatten();
        }
        if seen.as_ref() != Some(&progress) {
            on_progress(&progress);
            seen = Some(progress);
        }
        tokio::select! {
            () = control.stopped() => {
                let on_cancel = control.stop().unwrap_or(control.on_cancel);
                return Err(stop_waiting(store, &job, attached, on_cancel).await?);
            }
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

/// Stops waiting for a job that another process runs or that is queued. Cancels a queued job that only this call requested.
async fn stop_waiting(store: &Store, job: &Job, attached: bool, on_cancel: OnCancel) -> Result<Fault, Fault> {
    if job.state == JobState::Queued && !attached && on_cancel == OnCancel::Cancel {
        let mut tx = store.control().await?;
        store::jobs::request_cancel(&mut tx, &job.id).await?;
        tx.commit().await?;
    }
    cancellation_fault(store, &job.id).await
}

/// The fault for a caller that stopped waiting: says what really happens to the job, as its row in the queue shows.
pub(super) async fn cancellation_fault(store: &Store, id: &str) -> Result<Fault, Fault> {
    let mut tx = store.control_read().await?;
    let job = store::jobs::get(&mut tx, id).await?;
    tx.commit().await?;
    let Some(job) = job else { return Ok(cancelled_fault()) };
    let cancelled =
        |message: String, hint: &str| Ok(Fault::new(ErrorCode::Cancelled, message).with_hint(hint));
    let stays = "committed work stays searchable";
    match job.state {
        JobState::Cancelled if job.started_ms.is_none() => cancelled(
            "The run was cancelled before it started; it changed nothing.".to_owned(),
            "Start the run again.",
        ),
        JobState::Cancelled => Ok(cancelled_fault()),
        JobState::Running if job.cancel_requested => cancelled(
            format!("The run is being cancelled in the process that runs it; {stays}."),
            "`index_status` shows when it has stopped.",
        ),
        JobState::Running => cancelled(
            "The wait was cancelled; the run continues in another process.".to_owned(),
            "`index_status` shows its progress; start the run again to wait for it.",
        ),
        JobState::Queued => {
            let reason = waits_for(store, &job).await?.map(|ahead| format!(", {}", ahead.reason()));
            cancelled(
                format!(
                    "The wait was cancelled; the run stays in the queue{}, and {stays}.",
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

/// Claims the oldest free job of `kind` and runs it to its end; false if there is none. This is how a server runs the jobs that
/// dead processes left behind and those that nobody waits for. When `cancel` fires, the job is returned to the queue.
///
/// # Errors
/// Storage faults; the fault of the job itself is stored in its row.
pub async fn run_next<F, R>(
    store: &Store,
    kind: &str,
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
    let Some(claimed) = ClaimedJob::try_claim(store, Claim::Kind(kind), worker, settings).await? else {
        return Ok(false);
    };
    let id = claimed.job.id.clone();
    let control = RunControl { cancel, on_cancel: OnCancel::ReturnToQueue, shutdown: None, on_wait: None };
    match run_claimed(claimed, control, &|_: &Progress| (), &execute).await {
        ClaimResult::Ended(Ok(_)) => {}
        ClaimResult::Ended(Err(fault)) | ClaimResult::LeftToOthers(fault) => {
            tracing::info!(job = id, code = %fault.code, "a job ended without success: {}", fault.message);
        }
    }
    Ok(true)
}

/// Runs a job in this process at once and only once: it fails if the database becomes unavailable, and need not report progress.
/// `None` if another job of its project and lane runs; nothing was done then.
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
    Ok(enqueued)
}

/// Queues a job without waiting for it, unless one with the same subject is live or ended less than `after_ms` ago.
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

fn result_of_other_process(job: Job, attached: bool) -> Result<FinishedJob, Fault> {
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

/// The form in which a fault is stored with a job: the fields that clients see, without the source error.
pub(super) fn fault_to_json(fault: &Fault) -> Value {
    serde_json::json!({
        "code": fault.code.as_str(),
        "message": fault.message,
        "hint": fault.hint,
        "details": fault.details,
        "retryable": fault.retryable,
    })
}

fn fault_from_json(error: &Value) -> Fault {
    let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
    let code = text("code").and_then(|code| ErrorCode::ALL.iter().copied().find(|c| c.as_str() == code));
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
    fn faults_survive_the_job_table() {
        let fault =
            Fault::new(ErrorCode::NotFound, "m").with_hint("h").with_details(serde_json::json!({ "a": 1 }));
        let back = fault_from_json(&fault_to_json(&fault));
        assert_eq!(
            (back.code, back.message, back.hint, back.details),
            (fault.code, fault.message, fault.hint, fault.details)
        );
        assert_eq!(fault_from_json(&Value::Null).code, ErrorCode::Internal);
    }
}
