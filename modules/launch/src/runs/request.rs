//! Calls about a run: they ask a job to advance it and wait, cancel it, and record that they did.

use std::sync::Arc;

use contract::{ErrorCode, Fault};
use engine::jobs::{self, Enqueued, FinishedJob, JobState, LeaseSettings, OnCancel, RunControl};
use launch::event::EventBody;
use launch::ids::Trace;
use launch::legality::{Legality, RunTool};
use launch::snapshot::RunSnapshot;
use launch::state::Step;
use store::{Project, Store};
use tokio_util::sync::CancellationToken;

use super::action::{Action, AdvanceUntil, JobRequest};
use super::answer::JobAnswer;
use super::journal::{Batch, EVENTS_MAX, Journal, JournalContext, Writer, run_cancelled, run_not_found};
use super::run_job::{self, KIND};
use gate::app::App;

/// Maximum number of jobs of other calls that are run before that of a call.
const OTHERS_MAX: usize = 3;

/// A call about a run.
pub struct RunRequest<'a> {
    /// The application.
    pub app: &'a Arc<App>,
    /// The project of the run.
    pub project: &'a Project,
    /// The run.
    pub run_id: &'a str,
    /// Identifies the call.
    pub trace: &'a Trace,
    /// The calling principal; `None` if the run goes on by itself.
    pub principal: Option<&'a str>,
}

impl RunRequest<'_> {
    async fn store(&self) -> Result<&Store, Fault> {
        self.app.store().await
    }

    /// The run, to which the call may add that it happened.
    async fn journal(&self) -> Result<Journal<'_>, Fault> {
        let context = JournalContext {
            store: self.store().await?,
            project: self.project,
            clock: &*self.app.clock,
            writer: Writer::Call,
            trace: self.trace.clone(),
        };
        Journal::open(context, self.run_id).await?.ok_or_else(run_not_found)
    }

    fn job(&self, request: &JobRequest) -> Result<jobs::NewJob, Fault> {
        self.project.require_writable()?;
        let request = serde_json::to_value(request)
            .map_err(|error| Fault::internal("The job could not be written.", error))?;
        Ok(KIND.job(self.project.id().clone(), self.run_id, request))
    }

    fn request(&self, action: Action, until: AdvanceUntil) -> JobRequest {
        let Trace { trace_id, parent_span_id } = self.trace.below_call();
        let principal = self.principal.map(str::to_owned);
        JobRequest { action, until, trace_id, parent_span_id, principal }
    }
}

/// Returns `true` if a job about the run is queued or running, or if the run waits for an index.
async fn is_advancing(store: &Store, project: &Project, snapshot: &RunSnapshot) -> Result<bool, Fault> {
    let mut control = store.control_read().await?;
    let jobs = store::jobs::list(&mut control, project.id(), Some(&snapshot.run_id), 1).await?;
    control.commit().await?;
    Ok(snapshot.pending.is_some() || jobs.first().is_some_and(|job| !job.state.is_final()))
}

/// Requests a job for an action on a run, and waits for it: runs it here if it is free, else waits for the process that runs it. Abandoning
/// the call does not end the job.
///
/// # Errors
/// `ILLEGAL_STATE` if the state of the run does not allow it, retryable while a job advances the run; the fault of the job; storage
/// faults.
pub async fn run_action(
    request: &RunRequest<'_>,
    action: Action,
    cancel: &CancellationToken,
) -> Result<JobAnswer, Fault> {
    let store = request.store().await?;
    let journal = request.journal().await?;
    let snapshot = journal.snapshot();
    match action.tool().in_state(snapshot.state, snapshot.report_ok) {
        Legality::Runs | Legality::Repeats => {}
        Legality::Cancelled => return Err(run_cancelled()),
        Legality::Refused(required) => {
            let is_advancing = is_advancing(store, request.project, snapshot).await?
                // The job may have ended after the state was read.
                || request.journal().await?.snapshot().state != snapshot.state;
            return Err(run_job::illegal(snapshot, required, is_advancing));
        }
    }
    store.require_disk_space().await?;
    requeue_lost(store).await?;
    let wanted = request.request(action, AdvanceUntil::Boundary);
    for _ in 0..OTHERS_MAX {
        let enqueued = jobs::enqueue(store, &request.job(&wanted)?).await?;
        if enqueued.attached && enqueued.job.state == JobState::Running {
            break;
        }
        let known: Option<JobRequest> = serde_json::from_value(enqueued.job.request.clone()).ok();
        // Each fix call repairs one issue, and does not count the fix of another call as its own.
        let is_shared = action != Action::Fix && known.is_some_and(|known| known.action == action);
        let is_own = !enqueued.attached || is_shared;
        let finished = run_here(request, enqueued, cancel).await;
        if is_own {
            let answer: JobAnswer = serde_json::from_value(finished?.result)
                .map_err(|error| Fault::internal("The answer of the job could not be read.", error))?;
            return answer.into_result();
        }
        // The job that another call asked for came first; its result goes to that call, if it still waits.
        if cancel.is_cancelled() {
            finished?;
        }
    }
    Err(run_job::illegal(snapshot, "a run that no job advances", true))
}

/// Returns jobs whose process died to the queue: without a server, no other process does so.
async fn requeue_lost(store: &Store) -> Result<(), Fault> {
    let mut control = store.control().await?;
    store::jobs::requeue_expired(&mut control).await?;
    control.commit().await
}

/// Runs a job here, or waits for the process that runs it.
async fn run_here(
    request: &RunRequest<'_>,
    enqueued: Enqueued,
    cancel: &CancellationToken,
) -> Result<FinishedJob, Fault> {
    let (app, store) = (request.app, request.store().await?);
    let settings = LeaseSettings::from(&app.config.indexing);
    let control = RunControl {
        cancel,
        on_cancel: OnCancel::ReturnToQueue,
        shutdown: Some(&app.shutdown),
        on_wait: None,
    };
    let execute = |running| run_job::execute(Arc::clone(app), running);
    jobs::run_to_completion(store, enqueued, &app.worker, settings, control, |_| (), execute).await
}

/// Requests that a run goes on, without waiting for it. A job that is on its way already is enough.
pub(super) async fn request_advance(request: &RunRequest<'_>) -> Result<(), Fault> {
    let until = match request.app.config.launch.auto_advance {
        true => AdvanceUntil::End,
        false => AdvanceUntil::Boundary,
    };
    let wanted = request.request(Action::Advance, until);
    jobs::enqueue(request.store().await?, &request.job(&wanted)?).await.map(drop)
}

/// Cancels a run, and the job that advances it. Cancelling a cancelled run changes nothing.
///
/// # Errors
/// `ILLEGAL_STATE` if it has ended otherwise, and, to be tried again, while a job publishes it, because a branch would be left. Storage
/// faults.
pub async fn cancel(request: &RunRequest<'_>, principal: &str) -> Result<(), Fault> {
    let mut journal = request.journal().await?;
    let snapshot = journal.snapshot();
    match RunTool::Cancel.in_state(snapshot.state, snapshot.report_ok) {
        Legality::Runs => {}
        Legality::Refused(required) => return Err(run_job::illegal(snapshot, required, false)),
        Legality::Repeats | Legality::Cancelled => return Ok(()),
    }
    let (seen, by) = (snapshot.seq, principal.to_owned());
    let is_held = is_advancing(request.store().await?, request.project, snapshot).await?;
    let cancelled = journal
        .append(|snapshot| {
            // A job records an event before it publishes, so one that began after the jobs were read has written an event since.
            if snapshot.publication.is_some() && (is_held || snapshot.seq != seen) {
                return Err(publishing(snapshot));
            }
            let mut batch = Batch::default();
            batch.event(EventBody::ToolCalled {
                tool: RunTool::Cancel.as_str().to_owned(),
                principal: by.clone(),
                outcome: "ok".to_owned(),
            });
            batch.step(snapshot.state, Step::Cancel)?.event(EventBody::RunCancelled { principal: by });
            Ok(batch)
        })
        .await;
    match cancelled {
        // Another call cancelled it meanwhile.
        Err(fault) if fault.code == ErrorCode::Cancelled => return Ok(()),
        other => other?,
    }
    let mut control = request.store().await?.control().await?;
    let jobs = store::jobs::list(&mut control, request.project.id(), Some(request.run_id), 1).await?;
    if let Some(job) = jobs.first().filter(|job| !job.state.is_final()) {
        store::jobs::request_cancel(&mut control, &job.id).await?;
    }
    control.commit().await
}

/// The fault of cancelling a run that is being published.
fn publishing(snapshot: &RunSnapshot) -> Fault {
    let fault = run_job::illegal(snapshot, "a run that is not being published", true);
    fault.with_hint("Call again in a moment. `launch_open_pr` ends a publication that was interrupted.")
}

/// Records in the log of a run that a tool was called. The log of a run that has ended is complete, and stays so.
pub async fn record_call(request: &RunRequest<'_>, tool: &str, principal: &str, outcome: &str) {
    if let Err(fault) = try_record_call(request, tool, principal, outcome).await {
        tracing::warn!(
            run_id = request.run_id,
            "a call could not be recorded in the log of its run: {fault}"
        );
    }
}

async fn try_record_call(
    request: &RunRequest<'_>,
    tool: &str,
    principal: &str,
    outcome: &str,
) -> Result<(), Fault> {
    let mut journal = request.journal().await?;
    if journal.snapshot().state.is_terminal() || journal.snapshot().seq >= EVENTS_MAX {
        return Ok(());
    }
    let called = EventBody::ToolCalled {
        tool: tool.to_owned(),
        principal: principal.to_owned(),
        outcome: outcome.to_owned(),
    };
    let recorded = journal
        .append(|_| {
            let mut batch = Batch::default();
            batch.event(called);
            Ok(batch)
        })
        .await;
    match recorded {
        // It ended meanwhile.
        Err(fault) if matches!(fault.code, ErrorCode::Cancelled | ErrorCode::IllegalState) => Ok(()),
        other => other,
    }
}
