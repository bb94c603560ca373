//! Index runs that no call waits for: they wait for a slot of the principal that requested them.

use std::sync::Arc;

use super::index_job::{execute_in_slot, writable_job};
use super::{App, CallSlot};
use contract::{ErrorCode, Fault};
use engine::indexing::Options;
use engine::jobs::{self, Enqueued, FinishedJob, LeaseSettings, NewJob, OnCancel, Progress, RunControl};
use store::Project;
use tenancy::RepositoryRoot;

/// Requests a run and returns at once; the run continues in this process until that shuts down. It starts when its principal
/// gets a slot; `slot` is that of [`Queues::admit_background_run`](super::Queues::admit_background_run).
///
/// # Errors
/// Storage faults.
pub async fn start(
    app: &Arc<App>,
    slot: CallSlot,
    project: &Project,
    root: &RepositoryRoot,
    options: Options,
) -> Result<Enqueued, Fault> {
    start_job(app, slot, &writable_job(project, root.as_str(), &options)?).await
}

/// As [`start`], for the records with this root.
///
/// # Errors
/// Storage faults.
pub async fn start_records(
    app: &Arc<App>,
    slot: CallSlot,
    project: &Project,
    root: &str,
) -> Result<Enqueued, Fault> {
    start_job(app, slot, &writable_job(project, root, &Options::default())?).await
}

async fn start_job(app: &Arc<App>, slot: CallSlot, job: &NewJob) -> Result<Enqueued, Fault> {
    let store = app.store().await?;
    store.require_disk_space().await?;
    let enqueued = jobs::enqueue(store, job).await?;
    let (task_app, job) = (Arc::clone(app), enqueued.clone());
    app.background.spawn(async move {
        // Runs this job, not the oldest in the queue: there may be no other process that would run it.
        if let Err(fault) = run_in_slot(&task_app, job, slot).await {
            tracing::info!("a background index job failed: {fault}");
        }
    });
    Ok(enqueued)
}

/// Completes the run. It waits for its slot before it claims the job, because other writers of the project wait for a claimed
/// one, and keeps the slot until its chunks can be searched by terms.
async fn run_in_slot(app: &Arc<App>, enqueued: Enqueued, slot: CallSlot) -> Result<FinishedJob, Fault> {
    tokio::select! {
        () = slot.resume() => {}
        () = app.shutdown.cancelled() => {
            return Err(Fault::new(ErrorCode::Cancelled, "The server shuts down; the run stays in the queue."));
        }
    }
    let settings = LeaseSettings::from(&app.config.indexing);
    let park = || slot.park();
    let control = RunControl {
        cancel: &app.shutdown,
        on_cancel: OnCancel::ReturnToQueue,
        shutdown: None,
        on_wait: Some(&park),
    };
    let execute = |running| execute_in_slot(Arc::clone(app), slot.clone(), running);
    let on_progress = |now: &Progress| {
        if now.words_ready {
            slot.park();
        }
    };
    jobs::run_to_completion(
        app.store().await?,
        enqueued,
        &app.worker,
        settings,
        control,
        on_progress,
        execute,
    )
    .await
}
