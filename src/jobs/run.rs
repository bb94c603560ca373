//! One call that wants a job done: do it here, or wait for whoever does it.

use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::lease::{ClaimedJob, LeaseSettings, lease_lost};
use super::progress::{Progress, ProgressSender};
use crate::contract::{ErrorCode, Fault};
use crate::store::{self, Claim, Enqueued, Fence, Job, JobState, NewJob, Outcome, Store};

/// Between looks at a job that another process runs.
const POLL: Duration = Duration::from_millis(250);

/// What becomes of a run that was told to stop from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenStopped {
    /// Whoever asked for it gave it up.
    Cancel,
    /// This process ends; another one goes on.
    GiveBack,
}

/// A job that succeeded.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The job.
    pub job_id: String,
    /// True when it had been asked for already: by another call, or by a process that died.
    pub attached: bool,
    /// What the run had been asked for.
    pub request: Value,
    /// What the run answered.
    pub result: Value,
}

/// What a run is given.
#[derive(Debug, Clone)]
pub struct RunningJob {
    /// The job as it was claimed.
    pub job: Job,
    /// Every write of the run carries it.
    pub fence: Fence,
    /// Where the run says how far it is.
    pub progress: ProgressSender,
    /// Fires when the run must stop.
    pub cancel: CancellationToken,
}

/// Asks for a job and sees it through. The job runs here if it is free, also when the process that had it
/// died; else this waits for the other process and answers with its result. `on_progress` gets snapshots a few
/// times a second either way and must not block. `cancel` stops a run here (committed work stays), and
/// only the waiting when it runs elsewhere.
///
/// # Errors
/// The run's own fault, wherever it ran; `CANCELLED`; storage faults.
pub async fn run_or_attach<F, R>(
    store: &Store,
    request: &NewJob,
    worker: &str,
    settings: LeaseSettings,
    cancel: &CancellationToken,
    on_progress: impl Fn(&Progress) + Send + Sync,
    execute: F,
) -> Result<Finished, Fault>
where
    F: FnOnce(RunningJob) -> R + Send,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let asked = enqueue(store, request).await?;
    let until = Until { cancel, when_stopped: WhenStopped::Cancel };
    see_through(store, asked, worker, settings, until, on_progress, execute).await
}

/// When to stop, and what then becomes of a run here.
#[derive(Debug, Clone, Copy)]
pub struct Until<'a> {
    /// Fires when it is to stop.
    pub cancel: &'a CancellationToken,
    /// What becomes of the run.
    pub when_stopped: WhenStopped,
}

/// Sees a job through that was asked for: as [`run_or_attach`].
///
/// # Errors
/// As [`run_or_attach`].
pub async fn see_through<F, R>(
    store: &Store,
    asked: Enqueued,
    worker: &str,
    settings: LeaseSettings,
    until: Until<'_>,
    on_progress: impl Fn(&Progress) + Send + Sync,
    execute: F,
) -> Result<Finished, Fault>
where
    F: FnOnce(RunningJob) -> R + Send,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let Until { cancel, when_stopped } = until;
    let (id, attached, wanted) = (asked.job.id, asked.attached, asked.job.request);
    let mut seen = Progress::default();
    loop {
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        if let Some(claimed) = ClaimedJob::try_claim(store, Claim::Id(&id), worker, settings).await? {
            let result = run_here(claimed, cancel, when_stopped, &on_progress, execute).await?;
            return Ok(Finished { job_id: id, attached, request: wanted, result });
        }
        let job = look(store, &id).await?;
        if job.state.is_final() {
            return ended_elsewhere(job, attached);
        }
        let progress = job.progress.as_ref().map(Progress::from_value).unwrap_or_default();
        if progress != seen {
            on_progress(&progress);
            seen = progress;
        }
        tokio::select! {
            () = cancel.cancelled() => return Err(left(store, &job, attached, when_stopped).await?),
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

/// Leaves a job that runs elsewhere, or waits for another one. What nobody else asked for and has not begun is taken back.
async fn left(store: &Store, job: &Job, attached: bool, when_stopped: WhenStopped) -> Result<Fault, Fault> {
    if job.state == JobState::Queued && !attached && when_stopped == WhenStopped::Cancel {
        let mut door = store.control().await?;
        store::jobs::request_cancel(&mut door, &job.id).await?;
        door.commit().await?;
        return Ok(Fault::new(ErrorCode::Cancelled, "The run was cancelled before it began."));
    }
    Ok(Fault::new(
        ErrorCode::Cancelled,
        "The wait was cancelled; the run itself goes on where it was started.",
    )
    .with_hint("`index_status` shows how far it is; ask for the run again to wait for it."))
}

/// Takes the oldest free job of `kind`, if there is one, and sees it through; true when there was one. This
/// is how a server picks up what a process that died left behind, and what was asked for without waiting.
/// When `cancel` fires the job goes back to the queue.
///
/// # Errors
/// Storage faults; the job's own fault is written down with the job.
pub async fn work_once<F, R>(
    store: &Store,
    kind: &str,
    worker: &str,
    settings: LeaseSettings,
    cancel: &CancellationToken,
    execute: F,
) -> Result<bool, Fault>
where
    F: FnOnce(RunningJob) -> R + Send,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let mut door = store.control().await?;
    store::jobs::requeue_expired(&mut door).await?;
    door.commit().await?;
    let Some(claimed) = ClaimedJob::try_claim(store, Claim::Kind(kind), worker, settings).await? else {
        return Ok(false);
    };
    let id = claimed.job.id.clone();
    if let Err(fault) = run_here(claimed, cancel, WhenStopped::GiveBack, &|_: &Progress| (), execute).await {
        tracing::info!(job = id, code = %fault.code, "a job ended without success: {}", fault.message);
    }
    Ok(true)
}

/// Does a job here and now. None, and nothing was done, when another job of the project runs.
///
/// # Errors
/// The run's own fault; storage faults.
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
    let Some(claimed) = ClaimedJob::claim_new(store, request, worker, settings).await? else {
        return Ok(None);
    };
    run_here(claimed, cancel, WhenStopped::Cancel, &|_: &Progress| (), execute).await.map(Some)
}

/// Asks for a job without waiting for it.
///
/// # Errors
/// Storage faults.
pub async fn enqueue(store: &Store, request: &NewJob) -> Result<Enqueued, Fault> {
    let mut door = store.control().await?;
    store::jobs::requeue_expired(&mut door).await?;
    let asked = store::jobs::enqueue_or_attach(&mut door, request).await?;
    door.commit().await?;
    Ok(asked)
}

/// Asks for a job without waiting for it, unless one about the same is live or ended less than `after_ms` ago.
///
/// # Errors
/// Storage faults.
pub async fn enqueue_if_due(
    store: &Store,
    request: &NewJob,
    after_ms: u64,
) -> Result<Option<Enqueued>, Fault> {
    let mut door = store.control().await?;
    store::jobs::requeue_expired(&mut door).await?;
    let asked = store::jobs::enqueue_if_due(&mut door, request, after_ms).await?;
    door.commit().await?;
    Ok(asked)
}

async fn run_here<F, R>(
    claimed: ClaimedJob,
    cancel: &CancellationToken,
    when_stopped: WhenStopped,
    on_progress: &(impl Fn(&Progress) + Send + Sync),
    execute: F,
) -> Result<Value, Fault>
where
    F: FnOnce(RunningJob) -> R + Send,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let running = RunningJob {
        job: claimed.job.clone(),
        fence: claimed.fence,
        progress: claimed.progress.clone(),
        cancel: claimed.cancel.clone(),
    };
    let mut work = std::pin::pin!(execute(running));
    let mut seen = Progress::default();
    let mut asked_to_stop = false;
    let result = loop {
        tokio::select! {
            result = &mut work => break result,
            () = cancel.cancelled(), if !asked_to_stop => {
                asked_to_stop = true;
                claimed.cancel.cancel();
            }
            () = tokio::time::sleep(POLL) => {}
        }
        report(&claimed.progress, &mut seen, on_progress);
    };
    report(&claimed.progress, &mut seen, on_progress);
    if asked_to_stop && when_stopped == WhenStopped::GiveBack && result.is_err() {
        claimed.release().await?;
        return result;
    }
    conclude(claimed, result).await
}

fn report(progress: &ProgressSender, seen: &mut Progress, on_progress: &impl Fn(&Progress)) {
    let now = progress.snapshot();
    if now != *seen {
        on_progress(&now);
        *seen = now;
    }
}

/// Writes the end down. Work that succeeded although it was asked to stop did succeed.
async fn conclude(claimed: ClaimedJob, result: Result<Value, Fault>) -> Result<Value, Fault> {
    if claimed.is_lost() {
        return Err(lease_lost());
    }
    match result {
        Ok(value) => {
            claimed.finish(&Outcome::Succeeded(value.clone())).await?;
            Ok(value)
        }
        Err(fault) => {
            let stopped = fault.code == ErrorCode::Cancelled;
            let outcome = if stopped { Outcome::Cancelled } else { Outcome::Failed(public(&fault)) };
            if let Err(unwritten) = claimed.finish(&outcome).await {
                tracing::warn!("the end of a job could not be written: {unwritten}");
            }
            Err(fault)
        }
    }
}

async fn look(store: &Store, id: &str) -> Result<Job, Fault> {
    let mut door = store.control().await?;
    store::jobs::requeue_expired(&mut door).await?;
    let job = store::jobs::get(&mut door, id).await?;
    door.commit().await?;
    job.ok_or_else(|| Fault::new(ErrorCode::NotFound, "The job is gone.").with_hint("Start it again."))
}

fn ended_elsewhere(job: Job, attached: bool) -> Result<Finished, Fault> {
    match job.state {
        JobState::Succeeded => {
            let result = job.result.unwrap_or_default();
            Ok(Finished { job_id: job.id, attached, request: job.request, result })
        }
        JobState::Cancelled => Err(cancelled()),
        _ => Err(job.error.as_ref().map_or_else(
            || Fault::new(ErrorCode::Internal, "The run failed without saying why."),
            from_public,
        )),
    }
}

fn cancelled() -> Fault {
    Fault::new(ErrorCode::Cancelled, "The run was cancelled; what it committed stays searchable.")
        .with_hint("Start it again to go on where it stopped.")
}

/// A fault as it is stored with a job: what a client would see, nothing of the cause.
fn public(fault: &Fault) -> Value {
    serde_json::json!({
        "code": fault.code.as_str(),
        "message": fault.message,
        "hint": fault.hint,
        "details": fault.details,
        "retryable": fault.retryable,
    })
}

fn from_public(error: &Value) -> Fault {
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
        let back = from_public(&public(&fault));
        assert_eq!(
            (back.code, back.message, back.hint, back.details),
            (fault.code, fault.message, fault.hint, fault.details)
        );
        assert_eq!(from_public(&Value::Null).code, ErrorCode::Internal);
    }
}
