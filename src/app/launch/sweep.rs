//! Looks after runs that no job advances: those whose index is ready by now, and those whose job died too often.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use contract::{ErrorCode, Fault, ProjectId};
use engine::jobs::{Job, JobState};
use launch::event::{EventBody, Failure};
use launch::ids::Trace;
use launch::state::Step;
use store::jobs::ATTEMPTS_MAX;
use store::launch::runs;
use store::postgres::LAUNCH;
use store::{Access, Project, ProjectTx, Store, repositories};

use super::inputs::{awaited_job, is_indexed_at};
use super::journal::{Batch, Journal, JournalContext, Writer};
use super::request::{RunRequest, request_advance};
use super::run_job::KIND;
use crate::app::App;

/// Interval between two looks at all projects.
const INTERVAL: Duration = Duration::from_secs(5);
/// Runs of one project that are looked at each time.
const RUNS_MAX: i64 = 100;
/// Jobs of one project that are looked at each time, the newest first.
const JOBS_MAX: i64 = 50;

/// Looks at all projects with runs every 5 s, until the process shuts down.
pub async fn sweep_runs(app: Arc<App>) {
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

async fn sweep(app: &Arc<App>, store: &Store) -> Result<(), Fault> {
    let mut control = store.control_read().await?;
    let projects = store::modules::projects_with(&mut control, LAUNCH.name).await?;
    control.commit().await?;
    for id in projects {
        if let Some(project) =
            tenancy::open(store, &ProjectId::parse(&id)?, store::DecidedBy::Argument).await?
        {
            look_after(app, store, &project).await?;
        }
    }
    Ok(())
}

/// Has the runs of a project go on whose index job ended. A fault is only logged: the next look finds them again.
pub async fn index_ended(app: &Arc<App>, project_id: &str) {
    if !app.config.launch.enabled {
        return;
    }
    let looked = async {
        let store = app.store().await?;
        let id = ProjectId::parse(project_id)?;
        match tenancy::open(store, &id, store::DecidedBy::Argument).await? {
            Some(project) => continue_waiting(app, store, &project).await,
            None => Ok(()),
        }
    };
    if let Err(fault) = looked.await {
        tracing::debug!("launch runs could not go on after an index run: {fault}");
    }
}

async fn look_after(app: &Arc<App>, store: &Store, project: &Project) -> Result<(), Fault> {
    continue_waiting(app, store, project).await?;
    fail_dead(app, store, project).await
}

/// Has waiting runs go on whose repository is indexed, or whose index job will not change any more.
async fn continue_waiting(app: &Arc<App>, store: &Store, project: &Project) -> Result<(), Fault> {
    if !store::has_module(store, project, &LAUNCH).await? {
        return Ok(());
    }
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let waiting = runs::waiting(&mut tx, RUNS_MAX).await?;
    tx.commit().await?;
    for run_id in waiting {
        if may_go_on(app, store, project, &run_id).await? {
            let trace = Trace::of_call(Some(&run_id), app.clock.now().as_nanosecond());
            request_advance(&RunRequest { app, project, run_id: &run_id, trace: &trace }).await?;
        }
    }
    Ok(())
}

async fn may_go_on(app: &App, store: &Store, project: &Project, run_id: &str) -> Result<bool, Fault> {
    let Some(journal) = journal(app, store, project, run_id).await? else { return Ok(false) };
    let snapshot = journal.snapshot();
    let Some(pending) = &snapshot.pending else { return Ok(false) };
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let repository = repositories::with_id(&mut tx, snapshot.created.repository_id).await?;
    tx.commit().await?;
    if repository.is_none_or(|repository| is_indexed_at(&repository, &snapshot.created.repo_sha)) {
        return Ok(true);
    }
    Ok(awaited_job(store, pending).await?.is_none_or(|job| job.state.is_final()))
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

/// Fails runs whose last job was tried as often as jobs are.
async fn fail_dead(app: &App, store: &Store, project: &Project) -> Result<(), Fault> {
    let mut control = store.control_read().await?;
    let jobs = store::jobs::list(&mut control, project.id(), None, JOBS_MAX).await?;
    control.commit().await?;
    let mut seen = BTreeSet::new();
    for job in jobs.iter().filter(|job| job.kind == KIND.name) {
        // Only the newest job of a run counts: an older one was followed by another attempt.
        if seen.insert(job.subject.as_str()) && job.state == JobState::Failed && job.attempt >= ATTEMPTS_MAX {
            fail_run_of(app, store, project, job).await?;
        }
    }
    Ok(())
}

async fn fail_run_of(app: &App, store: &Store, project: &Project, job: &Job) -> Result<(), Fault> {
    let Some(mut journal) = journal(app, store, project, &job.subject).await? else { return Ok(()) };
    if journal.snapshot().state.is_terminal() {
        return Ok(());
    }
    let error = job.error.as_ref().and_then(|error| error["message"].as_str());
    let failure = Failure::new("INTERNAL", error.unwrap_or("The job that advanced the run failed."));
    tracing::warn!(run_id = job.subject, "a launch run failed: {}", failure.message);
    let failed = journal
        .append(|snapshot| {
            let mut batch = Batch::default();
            batch.step(snapshot.state, Step::Fail)?.event(EventBody::RunFailed { failure });
            Ok(batch)
        })
        .await;
    match failed {
        // It ended meanwhile.
        Err(fault) if matches!(fault.code, ErrorCode::Cancelled | ErrorCode::IllegalState) => Ok(()),
        other => other,
    }
}
