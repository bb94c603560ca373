//! A claimed job in this process: tried until it is over, with a pause wherever the database is away, put down when it is to
//! stop, given up when it stands still.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::lease::{ClaimedJob, Unfinished, lease_lost};
use super::progress::{Progress, ProgressSender};
use super::run::{POLL, RunningJob, Until, WhenStopped, cancelled, fate, public};
use contract::{ErrorCode, Fault};
use platform::room::is_short;
use store::{Heartbeat, Outcome, is_full, is_passing};

/// Between attempts to reach a database that is away: from the first, doubled up to the second.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// A job that loses its database more often within one claim goes back to the queue, as one that may be the cause.
const PAUSES_MAX: usize = 20;
/// How long work may take to put itself down when its caller gave it up; a call is not waited for much longer.
const PUT_DOWN: Duration = Duration::from_millis(1200);
/// The same when the wish came from elsewhere, or this process ends.
const PUT_DOWN_ELSEWHERE: Duration = Duration::from_secs(3);

/// What became of a claimed job.
pub(super) enum Left {
    /// It ended here, or is nothing to wait for here.
    Over(Result<Value, Fault>),
    /// It was lost or given up and may be anybody's: the fault says why.
    Elsewhere(Fault),
}

/// How one attempt ended.
enum Ended {
    /// By itself.
    With(Result<Value, Fault>),
    /// It was asked to stop, did not, and was dropped: what it had open is rolled back.
    Dropped,
    /// It made no progress for too long and was dropped.
    Still,
}

/// The database after it was away.
enum Back {
    /// It answers, and the job is still ours.
    Held,
    /// The job is another's.
    Lost,
    /// It is to stop.
    Stopped,
    /// It stayed away for too long.
    Away(Fault),
}

/// Sees a claimed job through, again from what is committed wherever the database was away for a while.
pub(super) async fn carry_out<F, R>(
    claimed: ClaimedJob,
    until: Until<'_>,
    on_progress: &(impl Fn(&Progress) + Send + Sync),
    execute: &F,
) -> Left
where
    F: Fn(RunningJob) -> R + Send + Sync,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let mut notes: Vec<String> = claimed.job.note.clone().into_iter().collect();
    let (mut pauses, mut away) = (0, Duration::ZERO);
    loop {
        let work = execute(running(&claimed, notes.clone()));
        let fault = match attempt(&claimed, until, on_progress, work).await {
            _ if claimed.is_lost() => return Left::Elsewhere(lease_lost()),
            Ended::Still => {
                let (max, phase) =
                    (claimed.settings.progress_max.unwrap_or_default(), claimed.progress.snapshot().phase);
                let note = format!(
                    "Given up in the phase `{}` after {} s without progress; whoever takes it up goes on from what was committed.",
                    phase.as_str(),
                    max.as_secs_f64()
                );
                return give_up(claimed, until, note).await;
            }
            Ended::With(Err(fault)) if is_passing(&fault) && !claimed.cancel.is_cancelled() => fault,
            Ended::With(Err(fault)) if until.stop().is_none() && !claimed.cancel.is_cancelled() => {
                match short_of_room(&claimed, fault).await {
                    Ok(short) => return wait_for_room(claimed, until, short).await,
                    Err(other) => return conclude(claimed, until, Ended::With(Err(other))).await,
                }
            }
            ended => return conclude(claimed, until, ended).await,
        };
        tracing::warn!(job = claimed.job.id, "a run waits for the database: {fault}");
        let since = Instant::now();
        match wait(&claimed, until, fault).await {
            Back::Held => {}
            Back::Lost => return Left::Elsewhere(lease_lost()),
            Back::Stopped => return conclude(claimed, until, Ended::Dropped).await,
            Back::Away(fault) => return Left::Over(Err(fault)),
        }
        (pauses, away) = (pauses + 1, away + since.elapsed());
        tracing::info!(job = claimed.job.id, "the database is back, the run goes on");
        if pauses > PAUSES_MAX {
            let note = format!("Given up after it lost its database {pauses} times.");
            claimed.cancel.cancel();
            return give_up(claimed, until, note).await;
        }
        notes = claimed.job.note.clone().into_iter().collect();
        notes.push(format!(
            "The run waited for the database ({} s in all) and went on from what was committed; counts are of what came after.",
            away.as_secs_f64().ceil()
        ));
        claimed.progress.touch();
    }
}

/// Sees a claimed job through that can be tried only once.
pub(super) async fn carry_out_once<F, R>(
    claimed: ClaimedJob,
    until: Until<'_>,
    execute: F,
) -> Result<Value, Fault>
where
    F: FnOnce(RunningJob) -> R + Send,
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let work = execute(running(&claimed, Vec::new()));
    let ended = attempt(&claimed, until, &|_: &Progress| (), work).await;
    if claimed.is_lost() {
        return Err(lease_lost());
    }
    match conclude(claimed, until, ended).await {
        Left::Over(result) => result,
        Left::Elsewhere(fault) => Err(fault),
    }
}

fn running(claimed: &ClaimedJob, notes: Vec<String>) -> RunningJob {
    RunningJob {
        job: claimed.job.clone(),
        fence: claimed.fence,
        progress: claimed.progress.clone(),
        cancel: claimed.cancel.clone(),
        notes,
    }
}

/// One attempt. Work that is to stop has a moment to put itself down and is dropped then: a statement that may take long
/// would keep the process, or leave the job to nobody.
async fn attempt(
    claimed: &ClaimedJob,
    until: Until<'_>,
    on_progress: &(impl Fn(&Progress) + Send + Sync),
    work: impl Future<Output = Result<Value, Fault>> + Send,
) -> Ended {
    let mut work = std::pin::pin!(work);
    let mut seen = Progress::default();
    let mut drop_at: Option<Instant> = None;
    let ended = loop {
        tokio::select! {
            result = &mut work => break Ended::With(result),
            () = claimed.still.cancelled() => break Ended::Still,
            () = claimed.cancel.cancelled(), if drop_at.is_none() => {
                drop_at = Some(Instant::now() + PUT_DOWN_ELSEWHERE);
            }
            () = until.stopped(), if drop_at.is_none() => {
                let patience = match until.stop() {
                    Some(WhenStopped::Cancel) => PUT_DOWN,
                    _ => PUT_DOWN_ELSEWHERE,
                };
                drop_at = Some(Instant::now() + patience);
                claimed.cancel.cancel();
            }
            () = tokio::time::sleep(POLL) => {}
        }
        if drop_at.is_some_and(|end| Instant::now() >= end) {
            break Ended::Dropped;
        }
        report(&claimed.progress, &mut seen, on_progress);
    };
    report(&claimed.progress, &mut seen, on_progress);
    ended
}

fn report(progress: &ProgressSender, seen: &mut Progress, on_progress: &impl Fn(&Progress)) {
    let now = progress.snapshot();
    if now != *seen {
        on_progress(&now);
        *seen = now;
    }
}

/// Waits until the database answers for the job again.
async fn wait(claimed: &ClaimedJob, until: Until<'_>, mut fault: Fault) -> Back {
    let since = Instant::now();
    let (mut pause, longest) = BACKOFF;
    loop {
        // To wait is no standstill; its bound is another one.
        claimed.progress.touch();
        if since.elapsed() >= claimed.settings.away_max {
            return Back::Away(stayed_away(claimed, fault));
        }
        tokio::select! {
            () = claimed.cancel.cancelled() => {}
            () = until.stopped() => {}
            () = tokio::time::sleep(pause) => {}
        }
        pause = longest.min(pause * 2);
        if claimed.is_lost() {
            return Back::Lost;
        }
        if until.stop().is_some() || claimed.cancel.is_cancelled() {
            return Back::Stopped;
        }
        match claimed.renew().await {
            Ok(Heartbeat::Held) => return Back::Held,
            Ok(Heartbeat::CancelRequested) => {
                claimed.cancel.cancel();
                return Back::Stopped;
            }
            Ok(Heartbeat::LeaseLost) => {
                claimed.lose();
                return Back::Lost;
            }
            Err(again) => fault = again,
        }
    }
}

/// The fault of a run that stopped for want of room on this machine; else the fault as it was. A full disk of somebody
/// else's database cannot be looked at from here, so that nobody would know when to go on.
async fn short_of_room(claimed: &ClaimedJob, fault: Fault) -> Result<Fault, Fault> {
    if is_short(&fault) {
        return Ok(fault);
    }
    if is_full(&fault)
        && let Err(short) = claimed.store().require_room().await
    {
        return Ok(short);
    }
    Err(fault)
}

/// Leaves the job to whoever looks for work once there is room: a server goes on by itself, and so does the next call that
/// asks for the same run.
async fn wait_for_room(mut claimed: ClaimedJob, until: Until<'_>, mut fault: Fault) -> Left {
    let note =
        format!("Stopped for want of room on disk; it goes on from what was committed. {}", fault.message);
    tracing::warn!(job = claimed.job.id, "{note}");
    give_back(&mut claimed, until, Unfinished::Waits(&note)).await;
    fault.message.push_str(" The run waits in the queue and goes on from what was committed.");
    Left::Over(Err(fault))
}

fn stayed_away(claimed: &ClaimedJob, fault: Fault) -> Fault {
    let message = format!(
        "The database was away for more than {} s; the run waits in the queue and goes on from what was committed.",
        claimed.settings.away_max.as_secs_f64()
    );
    Fault::new(ErrorCode::StorageUnavailable, message)
        .with_hint("Start it again when the database is back; a server that runs then takes it up by itself.")
        .with_source(fault)
}

/// Writes the end down. Work that succeeded although it was asked to stop did succeed.
async fn conclude(mut claimed: ClaimedJob, until: Until<'_>, ended: Ended) -> Left {
    let stops = until.stop() == Some(WhenStopped::GiveBack);
    let result = match ended {
        Ended::With(Ok(value)) => Ok(value),
        Ended::With(Err(fault)) if claimed.cancel.is_cancelled() && is_passing(&fault) => Err(cancelled()),
        Ended::With(Err(fault)) => Err(fault),
        Ended::Dropped | Ended::Still => Err(cancelled()),
    };
    match result {
        Err(fault) if stops => {
            // Once, and no longer: nobody waits.
            match claimed.give_back(Unfinished::Stopped).await {
                Err(unwritten) => {
                    not_given_back(&unwritten);
                    Left::Over(Err(fault))
                }
                Ok(()) if fault.code == ErrorCode::Cancelled => {
                    Left::Over(Err(fate(claimed.store(), &claimed.job.id).await.unwrap_or(fault)))
                }
                Ok(()) => Left::Over(Err(fault)),
            }
        }
        Ok(value) => match end(claimed, until, &Outcome::Succeeded(value.clone())).await {
            Ok(()) => Left::Over(Ok(value)),
            Err(lost) if lost.code == ErrorCode::IllegalState => Left::Elsewhere(lost),
            Err(fault) => Left::Over(Err(fault)),
        },
        Err(fault) => {
            let stopped = fault.code == ErrorCode::Cancelled;
            let outcome = if stopped { Outcome::Cancelled } else { Outcome::Failed(public(&fault)) };
            if let Err(unwritten) = end(claimed, until, &outcome).await {
                tracing::warn!("the end of a job could not be written: {unwritten}");
            }
            Left::Over(Err(fault))
        }
    }
}

/// Says the end, again where the database is away.
async fn end(mut claimed: ClaimedJob, until: Until<'_>, outcome: &Outcome) -> Result<(), Fault> {
    loop {
        let fault = match claimed.end(outcome).await {
            Err(fault) if is_passing(&fault) && !claimed.is_lost() => fault,
            said => return said,
        };
        match wait(&claimed, until, fault).await {
            Back::Held => {}
            // Its end may have been written before the answer got lost; who looks finds it.
            Back::Lost => return Err(lease_lost()),
            // Once more, and no longer: nobody waits.
            Back::Stopped => return claimed.end(outcome).await,
            Back::Away(fault) => return Err(fault),
        }
    }
}

async fn give_up(mut claimed: ClaimedJob, until: Until<'_>, note: String) -> Left {
    tracing::warn!(job = claimed.job.id, "{note}");
    let fault = Fault::new(ErrorCode::ToolTimeout, note.clone())
        .with_hint("`index_status` shows who goes on; look at the server's log for what held it up.");
    give_back(&mut claimed, until, Unfinished::StandsStill(&note)).await;
    Left::Elsewhere(fault)
}

/// Gives the job back to the queue, again where the database is away.
async fn give_back(claimed: &mut ClaimedJob, until: Until<'_>, why: Unfinished<'_>) {
    let given = match claimed.give_back(why).await {
        Err(away) if is_passing(&away) => match wait(claimed, until, away).await {
            Back::Held | Back::Stopped => claimed.give_back(why).await,
            Back::Lost => Ok(()),
            Back::Away(fault) => Err(fault),
        },
        given => given,
    };
    if let Err(unwritten) = given {
        not_given_back(&unwritten);
    }
}

fn not_given_back(unwritten: &Fault) {
    tracing::warn!("a job could not be given back, its lease runs out: {unwritten}");
}
