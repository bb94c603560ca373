//! Runs a claimed job in this process: resumes it after database outages, stops it when it is cancelled, and returns it
//! to the queue when it makes no progress.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use super::lease::{ClaimedJob, ReturnReason, lease_lost};
use super::not_runnable_here;
use super::progress::{Progress, ProgressSender};
use super::run::{
    OnCancel, POLL, RunControl, RunningJob, cancellation_fault, cancelled_fault, fault_to_json,
};
use contract::{ErrorCode, Fault};
use platform::disk_space::is_disk_space_fault;
use store::{Heartbeat, Outcome, is_full, is_transient};

/// First and longest pause between attempts to reach a database that is unavailable; each pause is twice the previous one.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// A job during which the database fails more often than this is returned to the queue, because the job may be the cause.
const OUTAGES_MAX: usize = 20;
/// Time that work may take to stop after its caller cancelled it. Shorter than the time that the gate leaves a cancelled tool for cleanup,
/// so that the end of the job is still written.
const STOP_TIMEOUT_CALL: Duration = Duration::from_millis(1200);
/// Time that work may take to stop if another process requested it or this process ends.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Result of running a claimed job.
pub(super) enum ClaimResult {
    /// The job ended, or the caller should not wait for it any longer.
    Ended(Result<Value, Fault>),
    /// The lease was lost or the job was given up, so another process may run it. The fault has the reason.
    GivenUp(Fault),
}

/// Result of one attempt.
enum AttemptEnd {
    /// The work returned.
    Returned(Result<Value, Fault>),
    /// The work was asked to stop, did not stop in time, and was dropped, which rolls back its open transaction.
    Dropped,
    /// The work made no progress for too long and was dropped.
    Stalled,
}

/// Result of waiting for the database.
enum DatabaseWait {
    /// The database answers, and this process still holds the lease.
    LeaseHeld,
    /// Another process took the job over.
    LeaseLost,
    /// The job was asked to stop.
    Stopped,
    /// The database was unavailable for too long.
    TimedOut(Fault),
}

/// Runs a claimed job to its end. After a database outage, starts the work again, which resumes from the committed
/// state.
pub(super) async fn run_claimed<F, R>(
    claimed: ClaimedJob,
    control: RunControl<'_>,
    on_progress: &(impl Fn(&Progress) + Send + Sync),
    execute: &F,
) -> ClaimResult
where
    F: Fn(RunningJob) -> R + Send + Sync,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let mut notes: Vec<String> = claimed.job.note.clone().into_iter().collect();
    let (mut outages, mut outage_time) = (0, Duration::ZERO);
    loop {
        let work = Box::pin(execute(running_job(&claimed, notes.clone()))).instrument(span_of(&claimed));
        let fault = match attempt(&claimed, control, on_progress, work).await {
            _ if claimed.is_lost() => return ClaimResult::GivenUp(lease_lost()),
            AttemptEnd::Stalled => {
                let (max, phase) =
                    (claimed.settings.progress_max.unwrap_or_default(), claimed.progress.snapshot().phase);
                let note = format!(
                    "Given up in the phase `{}` after {} s without progress; the next process resumes from what was committed.",
                    phase.as_str(),
                    max.as_secs_f64()
                );
                return give_up_stalled(claimed, control, note).await;
            }
            AttemptEnd::Returned(Err(fault)) if is_transient(&fault) && !claimed.cancel.is_cancelled() => {
                fault
            }
            AttemptEnd::Returned(Err(fault))
                if control.stop_request().is_none() && !claimed.cancel.is_cancelled() =>
            {
                if let Some(note) = not_runnable_here::note_of(&fault) {
                    return return_for_other_process(claimed, control, note, fault).await;
                }
                match full_disk_fault(&claimed, fault).await {
                    Ok(full) => return wait_for_room(claimed, control, full).await,
                    Err(other) => {
                        return write_outcome(claimed, control, AttemptEnd::Returned(Err(other))).await;
                    }
                }
            }
            ended => return write_outcome(claimed, control, ended).await,
        };
        tracing::warn!(job = claimed.job.id, "a job waits for the database: {fault}");
        let since = Instant::now();
        match wait_for_database(&claimed, control, fault).await {
            DatabaseWait::LeaseHeld => {}
            DatabaseWait::LeaseLost => return ClaimResult::GivenUp(lease_lost()),
            DatabaseWait::Stopped => return write_outcome(claimed, control, AttemptEnd::Dropped).await,
            DatabaseWait::TimedOut(fault) => return ClaimResult::Ended(Err(fault)),
        }
        (outages, outage_time) = (outages + 1, outage_time + since.elapsed());
        tracing::info!(job = claimed.job.id, "the database is back, the job resumes");
        if outages > OUTAGES_MAX {
            let note = format!("Given up after it lost the database {outages} times.");
            claimed.cancel.cancel();
            return give_up_stalled(claimed, control, note).await;
        }
        notes = claimed.job.note.clone().into_iter().collect();
        notes.push(format!(
            "The run waited for the database ({} s in total) and resumed from what was committed; the counts cover only the part after that.",
            outage_time.as_secs_f64().ceil()
        ));
        claimed.progress.touch();
    }
}

/// Runs a claimed job whose work cannot be repeated: it fails if the database becomes unavailable.
pub(super) async fn run_claimed_once<F, R>(
    claimed: ClaimedJob,
    control: RunControl<'_>,
    execute: F,
) -> Result<Value, Fault>
where
    F: FnOnce(RunningJob) -> R + Send,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let work = Box::pin(execute(running_job(&claimed, Vec::new()))).instrument(span_of(&claimed));
    let ended = attempt(&claimed, control, &|_: &Progress| (), work).await;
    if claimed.is_lost() {
        return Err(lease_lost());
    }
    match write_outcome(claimed, control, ended).await {
        ClaimResult::Ended(result) => result,
        ClaimResult::GivenUp(fault) => Err(fault),
    }
}

/// Returns the span of a job: within that of the call that runs it, otherwise by itself. The span that queued it has its id as `queued`.
fn span_of(claimed: &ClaimedJob) -> Span {
    let job = &claimed.job;
    let queued = tracing::field::Empty;
    // Of level error, so that warnings name their job whatever `log.filter` selects.
    tracing::error_span!("job", job = job.id, kind = job.kind, project = job.project_id, queued)
}

fn running_job(claimed: &ClaimedJob, notes: Vec<String>) -> RunningJob {
    RunningJob {
        job: claimed.job.clone(),
        fence: claimed.fence,
        progress: claimed.progress.clone(),
        cancel: claimed.cancel.clone(),
        notes,
    }
}

/// Polls the work until it ends. Work that was asked to stop is dropped after a timeout, because a long statement would delay the end of
/// the process, or let the lease expire without a note.
async fn attempt(
    claimed: &ClaimedJob,
    control: RunControl<'_>,
    on_progress: &(impl Fn(&Progress) + Send + Sync),
    work: impl Future<Output = Result<Value, Fault>> + Send,
) -> AttemptEnd {
    let mut work = std::pin::pin!(work);
    let mut last_reported = Progress::default();
    let mut drop_at: Option<Instant> = None;
    let ended = loop {
        tokio::select! {
            result = &mut work => break AttemptEnd::Returned(result),
            () = claimed.stalled.cancelled() => break AttemptEnd::Stalled,
            () = claimed.cancel.cancelled(), if drop_at.is_none() => {
                drop_at = Some(Instant::now() + STOP_TIMEOUT);
            }
            () = control.wait_for_stop_request(), if drop_at.is_none() => {
                let timeout = match control.stop_request() {
                    Some(OnCancel::Cancel) => STOP_TIMEOUT_CALL,
                    _ => STOP_TIMEOUT,
                };
                drop_at = Some(Instant::now() + timeout);
                claimed.cancel.cancel();
            }
            () = tokio::time::sleep(POLL) => {}
        }
        if drop_at.is_some_and(|end| Instant::now() >= end) {
            break AttemptEnd::Dropped;
        }
        report_progress(&claimed.progress, &mut last_reported, on_progress);
    };
    report_progress(&claimed.progress, &mut last_reported, on_progress);
    ended
}

fn report_progress(
    progress: &ProgressSender,
    last_reported: &mut Progress,
    on_progress: &impl Fn(&Progress),
) {
    let now = progress.snapshot();
    if now != *last_reported {
        on_progress(&now);
        *last_reported = now;
    }
}

/// Waits until the database is back, and renews the lease.
async fn wait_for_database(claimed: &ClaimedJob, control: RunControl<'_>, mut fault: Fault) -> DatabaseWait {
    let since = Instant::now();
    let (mut pause, longest) = BACKOFF;
    loop {
        // `outage_max` limits this wait, not the limit on time without progress.
        claimed.progress.touch();
        if since.elapsed() >= claimed.settings.outage_max {
            return DatabaseWait::TimedOut(outage_fault(claimed, fault));
        }
        tokio::select! {
            () = claimed.cancel.cancelled() => {}
            () = control.wait_for_stop_request() => {}
            () = tokio::time::sleep(pause) => {}
        }
        pause = longest.min(pause * 2);
        if claimed.is_lost() {
            return DatabaseWait::LeaseLost;
        }
        if control.stop_request().is_some() || claimed.cancel.is_cancelled() {
            return DatabaseWait::Stopped;
        }
        match claimed.renew().await {
            Ok(Heartbeat::Held) => return DatabaseWait::LeaseHeld,
            Ok(Heartbeat::CancelRequested) => {
                claimed.cancel.cancel();
                return DatabaseWait::Stopped;
            }
            Ok(Heartbeat::LeaseLost) => {
                claimed.mark_lost();
                return DatabaseWait::LeaseLost;
            }
            Err(again) => fault = again,
        }
    }
}

/// Returns `Ok` with a fault if the job failed because a disk of this machine is full, else `Err` with the job's fault.
/// The disk of an external database cannot be measured, so nothing would resume the job when that disk has space again.
async fn full_disk_fault(claimed: &ClaimedJob, fault: Fault) -> Result<Fault, Fault> {
    if is_disk_space_fault(&fault) {
        return Ok(fault);
    }
    if is_full(&fault)
        && let Err(short) = claimed.store().require_disk_space().await
    {
        return Ok(short);
    }
    Err(fault)
}

/// Returns the job to the queue. When the disk has space again, a server or the next call for the same job resumes it.
async fn wait_for_room(mut claimed: ClaimedJob, control: RunControl<'_>, mut fault: Fault) -> ClaimResult {
    let note =
        format!("Stopped because the disk is full; it resumes from what was committed. {}", fault.message);
    tracing::warn!(job = claimed.job.id, "{note}");
    return_to_queue(&mut claimed, control, ReturnReason::Waiting(&note)).await;
    fault.message.push_str(" The run waits in the queue and resumes from what was committed.");
    ClaimResult::Ended(Err(fault))
}

/// Returns the job to the queue for a process that can run it.
async fn return_for_other_process(
    mut claimed: ClaimedJob,
    control: RunControl<'_>,
    note: &str,
    mut fault: Fault,
) -> ClaimResult {
    tracing::info!(job = claimed.job.id, code = %fault.code, "a job is left to another process: {}", fault.message);
    return_to_queue(&mut claimed, control, ReturnReason::NotRunnableHere(note, &fault_to_json(&fault))).await;
    fault.message.push_str(" The run waits in the queue for a process that can run it.");
    ClaimResult::Ended(Err(fault))
}

fn outage_fault(claimed: &ClaimedJob, fault: Fault) -> Fault {
    let message = format!(
        "The database was unavailable for more than {} s; the run waits in the queue and resumes from what was committed.",
        claimed.settings.outage_max.as_secs_f64()
    );
    Fault::new(ErrorCode::StorageUnavailable, message)
        .with_hint("Start it again when the database is back; a running server resumes it by itself.")
        .with_source(fault)
}

/// Writes the end of the job. Work that returned a success after it was asked to stop counts as succeeded.
async fn write_outcome(mut claimed: ClaimedJob, control: RunControl<'_>, ended: AttemptEnd) -> ClaimResult {
    let return_to_queue = control.stop_request() == Some(OnCancel::ReturnToQueue);
    let result = match ended {
        AttemptEnd::Returned(Ok(value)) => Ok(value),
        AttemptEnd::Returned(Err(fault)) if claimed.cancel.is_cancelled() && is_transient(&fault) => {
            Err(cancelled_fault())
        }
        AttemptEnd::Returned(Err(fault)) => Err(fault),
        AttemptEnd::Dropped | AttemptEnd::Stalled => Err(cancelled_fault()),
    };
    match result {
        Err(fault) if return_to_queue => {
            // Only one attempt, because this process is ending.
            match claimed.return_to_queue(ReturnReason::WorkerStops).await {
                Err(error) => {
                    log_return_failure(&error);
                    ClaimResult::Ended(Err(fault))
                }
                Ok(()) if fault.code == ErrorCode::Cancelled => {
                    ClaimResult::Ended(Err(cancellation_fault(claimed.store(), &claimed.job.id)
                        .await
                        .unwrap_or(fault)))
                }
                Ok(()) => ClaimResult::Ended(Err(fault)),
            }
        }
        Ok(value) => match write_end(claimed, control, &Outcome::Succeeded(value.clone())).await {
            Ok(()) => ClaimResult::Ended(Ok(value)),
            Err(lost) if lost.code == ErrorCode::IllegalState => ClaimResult::GivenUp(lost),
            Err(fault) => ClaimResult::Ended(Err(fault)),
        },
        Err(fault) => {
            let stopped = fault.code == ErrorCode::Cancelled;
            let outcome = if stopped { Outcome::Cancelled } else { Outcome::Failed(fault_to_json(&fault)) };
            if let Err(error) = write_end(claimed, control, &outcome).await {
                tracing::warn!("the end of a job could not be written: {error}");
            }
            ClaimResult::Ended(Err(fault))
        }
    }
}

/// Writes the end of the job, and tries again after an outage of the database.
async fn write_end(mut claimed: ClaimedJob, control: RunControl<'_>, outcome: &Outcome) -> Result<(), Fault> {
    loop {
        let fault = match claimed.try_finish(outcome).await {
            Err(fault) if is_transient(&fault) && !claimed.is_lost() => fault,
            result => return result,
        };
        match wait_for_database(&claimed, control, fault).await {
            DatabaseWait::LeaseHeld => {}
            // The end may have been written before the connection broke; the caller reads the job to find out.
            DatabaseWait::LeaseLost => return Err(lease_lost()),
            // Only one more attempt, because the caller no longer waits for the job.
            DatabaseWait::Stopped => return claimed.try_finish(outcome).await,
            DatabaseWait::TimedOut(fault) => return Err(fault),
        }
    }
}

async fn give_up_stalled(mut claimed: ClaimedJob, control: RunControl<'_>, note: String) -> ClaimResult {
    tracing::warn!(job = claimed.job.id, "{note}");
    let fault = Fault::new(ErrorCode::ToolTimeout, note.clone()).with_hint(
        "`index_status` shows whether another process resumes it; the server's log may show why it stalled.",
    );
    return_to_queue(&mut claimed, control, ReturnReason::Stalled(&note)).await;
    ClaimResult::GivenUp(fault)
}

/// Returns the job to the queue, and tries again after an outage of the database.
async fn return_to_queue(claimed: &mut ClaimedJob, control: RunControl<'_>, reason: ReturnReason<'_>) {
    let returned = match claimed.return_to_queue(reason).await {
        Err(fault) if is_transient(&fault) => match wait_for_database(claimed, control, fault).await {
            DatabaseWait::LeaseHeld | DatabaseWait::Stopped => claimed.return_to_queue(reason).await,
            DatabaseWait::LeaseLost => Ok(()),
            DatabaseWait::TimedOut(fault) => Err(fault),
        },
        returned => returned,
    };
    if let Err(error) = returned {
        log_return_failure(&error);
    }
}

fn log_return_failure(error: &Fault) {
    tracing::warn!("a job could not be returned to the queue; its lease will expire: {error}");
}
