//! Looks after runs that no job advances: those whose index is ready by now, those whose job was lost or ended too early, and those whose
//! job failed too often. A fault of one run or project does not affect the others.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use contract::{ErrorCode, Fault, ProjectId};
use engine::jobs::{Job, JobState};
use launch::config::RunConfig;
use launch::engine::rests;
use launch::event::{Failure, NOT_INDEXED};
use launch::ids::Trace;
use launch::state::RunState;
use store::jobs::ATTEMPTS_MAX;
use store::launch::{RunRow, runs};
use store::postgres::LAUNCH;
use store::{Access, Project, ProjectTx, Store};

use super::answer::JobAnswer;
use super::inputs::{awaited_job, is_indexed_at};
use super::journal::{Batch, Journal, JournalContext, Writer};
use super::repository::row_of_run;
use super::request::{RunRequest, request_advance};
use super::rows;
use super::run_job::{KIND, add_failure};
use super::run_metrics;
use super::site_copy::{copies_folder, remove_old};
use super::watch::{Requester, request_checks};
use gate::app::{App, blocking};

/// Interval between two looks at all projects.
const INTERVAL: Duration = Duration::from_secs(5);
/// Runs of one project that are read at a time.
const RUNS_PAGE: i64 = 100;
/// Number of successive jobs that do not advance a run before nothing more is tried.
const TRIES_MAX: usize = 5;
/// Jobs about one subject that are read to decide that.
pub(super) const TRIES_READ: i64 = 5;
/// Time after the first of them until the next is tried, in milliseconds; it doubles with each.
const RETRY_MS: i64 = 5_000;
/// Jobs of one project that are looked at each time, the newest first.
const JOBS_MAX: i64 = 50;

/// Looks at all projects with runs every 5 s, until the process shuts down.
pub async fn sweep_runs(app: Arc<App>) {
    if app.config.launch.enabled {
        remove_old_copies(&app).await;
    }
    while app.config.launch.enabled && !app.shutdown.is_cancelled() {
        // The loop does not start a database that no call has needed yet.
        if let Some(store) = app.opened_store()
            && let Err(fault) = sweep(&app, store).await
        {
            tracing::debug!("launch runs could not be looked after: {fault}");
        }
        tokio::select! {
            () = app.shutdown.cancelled() => {}
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

/// Removes copies of sites that processes left behind when they died.
async fn remove_old_copies(app: &App) {
    let folder = copies_folder(&app.layout);
    let removed = blocking(move || {
        remove_old(&folder);
        Ok(())
    });
    if let Err(fault) = removed.await {
        tracing::debug!("old copies of sites could not be removed: {fault}");
    }
}

async fn sweep(app: &Arc<App>, store: &Store) -> Result<(), Fault> {
    let mut control = store.control_read().await?;
    let projects = store::modules::projects_with(&mut control, LAUNCH.name).await?;
    control.commit().await?;
    for id in &projects {
        if let Err(fault) = look_after_project(app, store, id).await {
            tracing::debug!(project = id, "the launch runs of a project could not be looked after: {fault}");
        }
    }
    run_metrics::count_runs(&app.metrics, store, &projects).await;
    Ok(())
}

/// Continues the runs of a project whose index job ended. A fault is only logged: the next sweep finds them again.
pub async fn index_ended(app: &Arc<App>, project_id: &str) {
    if !app.config.launch.enabled {
        return;
    }
    let looked = async {
        let store = app.store().await?;
        let id = ProjectId::parse(project_id)?;
        match tenancy::open(store, &id, store::DecidedBy::Argument).await? {
            Some(project) => {
                look_after_runs(app, store, &project, false).await?;
                request_checks(app, store, &project, Requester::IndexRun).await
            }
            None => Ok(()),
        }
    };
    if let Err(fault) = looked.await {
        tracing::debug!("launch runs could not go on after an index run: {fault}");
    }
}

async fn look_after_project(app: &Arc<App>, store: &Store, id: &str) -> Result<(), Fault> {
    let id = ProjectId::parse(id)?;
    let Some(project) = tenancy::open(store, &id, store::DecidedBy::Argument).await? else { return Ok(()) };
    look_after_runs(app, store, &project, app.config.launch.auto_advance).await?;
    fail_dead(app, store, &project).await?;
    request_checks(app, store, &project, Requester::Sweep).await
}

/// Continues the runs of a project that wait for an index that is ready, and, if `all`, also those that no job advances although no
/// decision is pending.
async fn look_after_runs(app: &Arc<App>, store: &Store, project: &Project, all: bool) -> Result<(), Fault> {
    if !store::has_module(store, project, &LAUNCH).await? {
        return Ok(());
    }
    let mut after: Option<(i64, String)> = None;
    loop {
        let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
        let last = after.as_ref().map(|(time, id)| (*time, id.as_str()));
        let page = runs::unfinished_page(&mut tx, last, RUNS_PAGE).await?;
        tx.commit().await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some((last.created_ms, last.run_id.clone()));
        for run in &page {
            let looked = match run.pending {
                Some(_) => continue_waiting(app, store, project, run).await,
                None if all => continue_abandoned(app, store, project, run).await,
                None => Ok(()),
            };
            if let Err(fault) = looked {
                tracing::debug!(run_id = run.run_id, "a launch run could not be looked after: {fault}");
            }
        }
    }
}

/// Continues a waiting run if its repository is indexed, or its index job will not change any more.
async fn continue_waiting(
    app: &Arc<App>,
    store: &Store,
    project: &Project,
    run: &RunRow,
) -> Result<(), Fault> {
    if may_go_on(app, store, project, run).await? { go_on(app, project, run).await } else { Ok(()) }
}

async fn may_go_on(app: &App, store: &Store, project: &Project, run: &RunRow) -> Result<bool, Fault> {
    let Some(journal) = journal(app, store, project, &run.run_id).await? else { return Ok(false) };
    let Some(pending) = &journal.snapshot().pending else { return Ok(false) };
    if has_inputs(store, project, run).await?.unwrap_or(true) {
        return Ok(true);
    }
    Ok(awaited_job(store, pending).await?.is_none_or(|job| job.state.is_final()))
}

/// Returns `true` if the repository of a run is indexed at its commit; `None` if there is no such repository any more.
async fn has_inputs(store: &Store, project: &Project, run: &RunRow) -> Result<Option<bool>, Fault> {
    let config = RunConfig::parse(&run.config).map_err(|error| rows::malformed("config", error))?;
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let repository = row_of_run(&mut tx, run.repository_id, &config.github_repo_url).await?;
    tx.commit().await?;
    let has_inputs = repository.map(|repository| is_indexed_at(&repository, &run.repo_sha));
    // The first index run adds the repository.
    Ok(has_inputs.or((run.repository_id == NOT_INDEXED).then_some(false)))
}

async fn go_on(app: &Arc<App>, project: &Project, run: &RunRow) -> Result<(), Fault> {
    let trace = Trace::of_call(Some(&run.run_id), app.clock.now().as_nanosecond());
    request_advance(&RunRequest { app, project, run_id: &run.run_id, trace: &trace, principal: None }).await
}

/// The next step for a run that no job advances.
#[derive(Debug, PartialEq, Eq)]
enum Continuation {
    /// People decide, it is not time yet, or a job is on its way.
    Leave,
    /// Another job is requested.
    Advance,
    /// The run fails, because its jobs do.
    Fail(String),
}

/// Continues a run whose job was lost, or ended before the run rested.
async fn continue_abandoned(
    app: &Arc<App>,
    store: &Store,
    project: &Project,
    run: &RunRow,
) -> Result<(), Fault> {
    let auto_fix = app.config.launch.auto_fix;
    let Some(state) = RunState::parse(&run.state).filter(|state| !rests(*state, run.report_ok, auto_fix))
    else {
        return Ok(());
    };
    // Without the index of its commit, nothing is fixed.
    let is_to_fix = state == RunState::Validating && run.report_ok == Some(false);
    if is_to_fix && has_inputs(store, project, run).await? != Some(true) {
        return Ok(());
    }
    let mut control = store.control_read().await?;
    let jobs = store::jobs::list(&mut control, project.id(), Some(&run.run_id), TRIES_READ).await?;
    control.commit().await?;
    match continuation(&jobs, app.clock.now().as_millisecond()) {
        Continuation::Leave => Ok(()),
        Continuation::Advance => go_on(app, project, run).await,
        Continuation::Fail(why) => fail_run(app, store, project, &run.run_id, why).await,
    }
}

/// Returns `true` if another job may be tried after these last ones about a subject, the newest first.
pub(super) fn may_try(jobs: &[Job], now_ms: i64) -> bool {
    continuation(jobs, now_ms) == Continuation::Advance
}

/// Decides the next step for a run with these last jobs, the newest first.
fn continuation(jobs: &[Job], now_ms: i64) -> Continuation {
    let Some(last) = jobs.first() else { return Continuation::Advance };
    let failed = last.state == JobState::Failed;
    let may_repeat = match last.state {
        JobState::Queued | JobState::Running | JobState::Cancelled => false,
        JobState::Failed => true,
        JobState::Succeeded => match refusal_is_retryable(last) {
            // It did what a call asked for, and the rest is left.
            None => return Continuation::Advance,
            Some(is_retryable) => is_retryable,
        },
    };
    if !may_repeat {
        return Continuation::Leave;
    }
    let in_vain = |job: &&Job| job.state == JobState::Failed || refusal_is_retryable(job) == Some(true);
    let tries = jobs.iter().take_while(in_vain).count();
    if failed && (tries >= TRIES_MAX || last.attempt >= ATTEMPTS_MAX) {
        return Continuation::Fail(message_of(last));
    }
    let doublings = u32::try_from(tries.saturating_sub(1)).unwrap_or(u32::MAX);
    let wait_ms = RETRY_MS.saturating_mul(2_i64.saturating_pow(doublings));
    let ended_ms = last.finished_ms.unwrap_or(last.created_ms);
    if tries >= TRIES_MAX || now_ms.saturating_sub(ended_ms) < wait_ms {
        Continuation::Leave
    } else {
        Continuation::Advance
    }
}

/// Returns `true` if the refused request may succeed later; `None` if the job refused nothing.
fn refusal_is_retryable(job: &Job) -> Option<bool> {
    let answer = job.result.clone().filter(|_| job.state == JobState::Succeeded)?;
    serde_json::from_value::<JobAnswer>(answer).ok()?.refusal_is_retryable()
}

fn message_of(job: &Job) -> String {
    let error = job.error.as_ref().and_then(|error| error["message"].as_str());
    error.unwrap_or("The job that advanced the run failed.").to_owned()
}

async fn journal<'a>(
    app: &'a App,
    store: &'a Store,
    project: &'a Project,
    run_id: &str,
) -> Result<Option<Journal<'a>>, Fault> {
    let trace = Trace::of_call(Some(run_id), app.clock.now().as_nanosecond());
    let context = JournalContext { store, project, clock: &*app.clock, writer: Writer::Call, trace };
    Journal::open(context, run_id).await
}

/// Fails runs whose last job used up its attempts, no matter who requested it.
async fn fail_dead(app: &App, store: &Store, project: &Project) -> Result<(), Fault> {
    let mut control = store.control_read().await?;
    let jobs = store::jobs::list(&mut control, project.id(), None, JOBS_MAX).await?;
    control.commit().await?;
    let mut seen = BTreeSet::new();
    for job in jobs.iter().filter(|job| job.kind == KIND.name) {
        // Only the newest job of a run counts: an older one was followed by another attempt.
        if seen.insert(job.subject.as_str())
            && job.state == JobState::Failed
            && job.attempt >= ATTEMPTS_MAX
            && let Err(fault) = fail_run(app, store, project, &job.subject, message_of(job)).await
        {
            tracing::debug!(run_id = job.subject, "a launch run could not be made to fail: {fault}");
        }
    }
    Ok(())
}

async fn fail_run(
    app: &App,
    store: &Store,
    project: &Project,
    run_id: &str,
    why: String,
) -> Result<(), Fault> {
    let Some(mut journal) = journal(app, store, project, run_id).await? else { return Ok(()) };
    if journal.snapshot().state.is_terminal() {
        return Ok(());
    }
    let failure = Failure::new("INTERNAL", why);
    tracing::warn!(run_id, "a launch run failed: {}", failure.message);
    let failed = journal
        .append(|snapshot| {
            let mut batch = Batch::default();
            add_failure(&mut batch, snapshot, failure)?;
            Ok(batch)
        })
        .await;
    match failed {
        // It ended meanwhile.
        Err(fault) if matches!(fault.code, ErrorCode::Cancelled | ErrorCode::IllegalState) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn job(state: JobState, finished_ms: i64) -> Job {
        Job {
            id: "j".to_owned(),
            project_id: "p".to_owned(),
            kind: KIND.name.to_owned(),
            lane: "launch:r".to_owned(),
            subject: "r".to_owned(),
            state,
            request: json!({}),
            progress: None,
            result: None,
            error: None,
            attempt: 1,
            fence: None,
            worker: None,
            cancel_requested: false,
            created_ms: 0,
            started_ms: None,
            finished_ms: Some(finished_ms),
            note: None,
        }
    }

    fn refused(code: ErrorCode, finished_ms: i64) -> Job {
        let answer = JobAnswer::refused(RunState::DraftReady, &Fault::new(code, "m"));
        let result = Some(serde_json::to_value(answer).unwrap());
        Job { result, ..job(JobState::Succeeded, finished_ms) }
    }

    #[test]
    fn a_run_without_a_live_job_goes_on() {
        assert_eq!(continuation(&[], 0), Continuation::Advance);
        let done = Job {
            result: Some(serde_json::to_value(JobAnswer::new(RunState::PlanReady)).unwrap()),
            ..job(JobState::Succeeded, 0)
        };
        assert_eq!(continuation(&[done], 1), Continuation::Advance);
        for state in [JobState::Queued, JobState::Running, JobState::Cancelled] {
            assert_eq!(continuation(&[job(state, 0)], i64::MAX), Continuation::Leave, "{state:?}");
        }
    }

    #[test]
    fn failures_are_retried_with_growing_delays_and_not_for_ever() {
        let failed = || Job { error: Some(json!({ "message": "it broke" })), ..job(JobState::Failed, 100) };
        assert_eq!(continuation(&[failed()], 100 + RETRY_MS - 1), Continuation::Leave);
        assert_eq!(continuation(&[failed()], 100 + RETRY_MS), Continuation::Advance);
        let thrice = [failed(), refused(ErrorCode::CommitServiceError, 50), failed()];
        assert_eq!(continuation(&thrice, 100 + 4 * RETRY_MS - 1), Continuation::Leave);
        assert_eq!(continuation(&thrice, 100 + 4 * RETRY_MS), Continuation::Advance);
        let ended = Continuation::Fail("it broke".to_owned());
        assert_eq!(continuation(&[failed(), failed(), failed(), failed(), failed()], 100), ended);
        assert_eq!(continuation(&[Job { attempt: ATTEMPTS_MAX, ..failed() }], 100), ended);
    }

    #[test]
    fn permanent_refusals_wait_for_people() {
        assert_eq!(continuation(&[refused(ErrorCode::IllegalState, 0)], i64::MAX), Continuation::Leave);
        let unreachable = || refused(ErrorCode::CommitServiceError, 0);
        assert_eq!(continuation(&[unreachable()], RETRY_MS), Continuation::Advance);
        let often: Vec<Job> = std::iter::repeat_with(unreachable).take(TRIES_MAX).collect();
        assert_eq!(continuation(&often, i64::MAX), Continuation::Leave, "the run stays, and can be resumed");
    }
}
