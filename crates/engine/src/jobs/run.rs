//! One call that wants a job done: do it here, or wait for whoever does it.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::attempt::{Left, carry_out, carry_out_once};
use super::lease::{ClaimedJob, LeaseSettings, in_time};
use super::progress::{Phase, Progress, ProgressSender};
use super::queued::waits_for;
use contract::{ErrorCode, Fault};
use store::{self, Claim, Enqueued, Fence, Job, JobState, NewJob, Store, is_passing};

/// Between looks at a job that another process runs.
pub(super) const POLL: Duration = Duration::from_millis(250);
/// How often a caller takes up a job again that it lost or gave up, or waits for who has it then.
const LOSSES_MAX: usize = 10;

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
    /// What happened to the job before: for the run's report.
    pub notes: Vec<String>,
}

/// Asks for a job and sees it through. The job runs here if it is free, also when the process that had it
/// died; else this waits for the other process and answers with its result. `on_progress` gets snapshots a few
/// times a second either way and must not block. `cancel` stops a run here (committed work stays), and
/// only the waiting when it runs elsewhere.
///
/// # Errors
/// The run's own fault, wherever it ran; `CANCELLED`; `STORAGE_UNAVAILABLE` when the database was away for longer than
/// `settings` allow, the job then waits in the queue; storage faults.
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
    F: Fn(RunningJob) -> R + Send + Sync,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let asked = enqueue(store, request).await?;
    let until = Until { cancel, when_stopped: WhenStopped::Cancel, shutdown: None, elsewhere: None };
    see_through(store, asked, worker, settings, until, on_progress, execute).await
}

/// When to stop, and what then becomes of a run here.
#[derive(Clone, Copy)]
pub struct Until<'a> {
    /// Fires when it is to stop.
    pub cancel: &'a CancellationToken,
    /// What becomes of the run.
    pub when_stopped: WhenStopped,
    /// Fires when this process ends: then the run goes back to the queue, whatever becomes of it otherwise.
    pub shutdown: Option<&'a CancellationToken>,
    /// Told whenever the job is not done here but waited for: another process or call does it, or it waits for another job.
    pub elsewhere: Option<&'a (dyn Fn() + Send + Sync)>,
}

impl Until<'_> {
    /// Whether it is to stop, and how.
    pub(super) fn stop(&self) -> Option<WhenStopped> {
        if self.cancel.is_cancelled() {
            return Some(self.when_stopped);
        }
        self.shutdown.filter(|shutdown| shutdown.is_cancelled()).map(|_| WhenStopped::GiveBack)
    }

    /// Ends when it is to stop.
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

/// Tolerates a database that is away, for so long at a time.
struct Tolerance {
    since: Option<Instant>,
    max: Duration,
}

impl Tolerance {
    /// None when the database is away and may be away for longer.
    fn judge<T>(&mut self, asked: Result<T, Fault>) -> Result<Option<T>, Fault> {
        match asked {
            Err(fault)
                if is_passing(&fault) && self.since.get_or_insert_with(Instant::now).elapsed() < self.max =>
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
    F: Fn(RunningJob) -> R + Send + Sync,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let (id, attached, wanted) = (asked.job.id, asked.attached, asked.job.request);
    let mut seen: Option<Progress> = None;
    let mut tolerance = Tolerance { since: None, max: settings.away_max };
    let mut losses = 0;
    loop {
        if let Some(when_stopped) = until.stop() {
            let job = in_time(settings.lease, look(store, &id)).await?;
            return Err(left(store, &job, attached, when_stopped).await?);
        }
        let claim = ClaimedJob::try_claim(store, Claim::Id(&id), worker, settings);
        // A claim that was made and got no answer runs out like any other.
        let claimed = in_time(settings.lease, claim).await;
        if let Some(claimed) = tolerance.judge(claimed)?.flatten() {
            match carry_out(claimed, until, &on_progress, &execute).await {
                Left::Over(result) => {
                    return result.map(|result| Finished { job_id: id, attached, request: wanted, result });
                }
                Left::Elsewhere(fault) if losses == LOSSES_MAX => return Err(fault),
                Left::Elsewhere(_) => losses += 1,
            }
        }
        let Some(job) = tolerance.judge(in_time(settings.lease, look(store, &id)).await)? else {
            tokio::time::sleep(POLL).await;
            continue;
        };
        if job.state.is_final() {
            return ended_elsewhere(job, attached);
        }
        if let Some(waits) = until.elsewhere {
            waits();
        }
        let mut progress = job.progress.as_ref().map(Progress::from_value).unwrap_or_default();
        if job.state == JobState::Queued {
            progress.phase = Phase::Queued;
            let ahead = tolerance.judge(in_time(settings.lease, waits_for(store, &job)).await)?;
            progress.waits_for = ahead.flatten();
        }
        if seen.as_ref() != Some(&progress) {
            on_progress(&progress);
            seen = Some(progress);
        }
        tokio::select! {
            () = until.stopped() => {
                let when_stopped = until.stop().unwrap_or(until.when_stopped);
                return Err(left(store, &job, attached, when_stopped).await?);
            }
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
    }
    fate(store, &job.id).await
}

/// What became of a job that is no longer waited for, as its entry in the queue says and not as it was meant.
pub(super) async fn fate(store: &Store, id: &str) -> Result<Fault, Fault> {
    let mut door = store.control_read().await?;
    let job = store::jobs::get(&mut door, id).await?;
    door.commit().await?;
    let Some(job) = job else { return Ok(cancelled()) };
    let told = |message: String, hint: &str| Ok(Fault::new(ErrorCode::Cancelled, message).with_hint(hint));
    let stays = "committed work stays searchable";
    match job.state {
        JobState::Cancelled if job.started_ms.is_none() => told(
            "The run was cancelled before it began: nothing of it was done.".to_owned(),
            "Ask for the run again.",
        ),
        JobState::Cancelled => Ok(cancelled()),
        JobState::Running if job.cancel_requested => told(
            format!("The run is being cancelled where it is under way; {stays}."),
            "`index_status` shows when it has stopped.",
        ),
        JobState::Running => told(
            "The wait was cancelled; the run itself goes on in the process that has it.".to_owned(),
            "`index_status` shows how far it is; ask for the run again to wait for it.",
        ),
        JobState::Queued => {
            let reason = waits_for(store, &job).await?.map(|ahead| format!(", {}", ahead.sentence()));
            told(
                format!(
                    "The wait was cancelled; the run stays in the queue{}, and {stays}.",
                    reason.unwrap_or_default()
                ),
                "A server takes it up by itself, and so does the next call that asks for the same run.",
            )
        }
        JobState::Succeeded | JobState::Failed => told(
            format!("The wait was cancelled; the run ended meanwhile: {}.", job.state.as_str()),
            "`index_status` shows what it did.",
        ),
    }
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
    F: Fn(RunningJob) -> R + Send + Sync,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let mut door = store.control().await?;
    store::jobs::requeue_expired(&mut door).await?;
    door.commit().await?;
    let Some(claimed) = ClaimedJob::try_claim(store, Claim::Kind(kind), worker, settings).await? else {
        return Ok(false);
    };
    let id = claimed.job.id.clone();
    let until = Until { cancel, when_stopped: WhenStopped::GiveBack, shutdown: None, elsewhere: None };
    match carry_out(claimed, until, &|_: &Progress| (), &execute).await {
        Left::Over(Ok(_)) => {}
        Left::Over(Err(fault)) | Left::Elsewhere(fault) => {
            tracing::info!(job = id, code = %fault.code, "a job ended without success: {}", fault.message);
        }
    }
    Ok(true)
}

/// Does a job here and now, once: what a database that goes away breaks off fails, and no progress is asked of it. None, and nothing was done, when another job of the project runs.
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
    let settings = LeaseSettings { progress_max: None, ..settings };
    let Some(claimed) = ClaimedJob::claim_new(store, request, worker, settings).await? else {
        return Ok(None);
    };
    let until = Until { cancel, when_stopped: WhenStopped::Cancel, shutdown: None, elsewhere: None };
    carry_out_once(claimed, until, execute).await.map(Some)
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

pub(super) fn cancelled() -> Fault {
    Fault::new(ErrorCode::Cancelled, "The run was cancelled; what it committed stays searchable.")
        .with_hint("Start it again to go on where it stopped.")
}

/// A fault as it is stored with a job: what a client would see, nothing of the cause.
pub(super) fn public(fault: &Fault) -> Value {
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
