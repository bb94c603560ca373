//! The kinds of jobs, and the loops that execute queued ones that no call waits for: those requested without waiting, and those
//! of a process that died.

use std::sync::Arc;
use std::time::Duration;

use super::App;
use contract::Fault;
use engine::jobs::{self, Choice, LeaseSettings, ServedProjects};

pub use super::job_kind::{Execute, JobKind, as_own_task};

/// Interval of polling the queue.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Executes jobs of these kinds until the process shuts down. Each kind has loops of its own, so that a long job does not delay
/// other kinds.
pub async fn run_worker_loops(app: Arc<App>, kinds: &[&'static JobKind]) {
    let works: Vec<Work> = kinds.iter().filter_map(|kind| Work::of(kind, &app)).collect();
    let loops = works.iter().flat_map(|work| {
        let loops = std::iter::repeat_n((), work.share + 1);
        loops.map(|()| poll_kind(&app, work)).collect::<Vec<_>>()
    });
    futures::future::join_all(loops).await;
}

/// State shared by the loops of one kind.
struct Work {
    kind: &'static str,
    execute: Execute,
    /// Maximum number of jobs of one project at a time.
    share: usize,
    served: ServedProjects,
}

impl Work {
    /// `None` if no process takes up jobs of the kind on its own.
    fn of(kind: &JobKind, app: &App) -> Option<Self> {
        let share = (kind.parallel)(&app.config);
        let execute = kind.execute.filter(|_| share > 0)?;
        Some(Self { kind: kind.name, execute, share, served: ServedProjects::default() })
    }
}

async fn poll_kind(app: &Arc<App>, work: &Work) {
    while !app.shutdown.is_cancelled() {
        // The loop does not start a database that no call has needed yet.
        let worked = match app.opened_store() {
            Some(_) => execute_next(app, work).await,
            None => Ok(false),
        };
        match worked {
            Ok(true) => continue,
            Ok(false) => {}
            Err(fault) => tracing::debug!(kind = work.kind, "the job queue could not be polled: {fault}"),
        }
        tokio::select! {
            () = app.shutdown.cancelled() => {}
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }
}

async fn execute_next(app: &Arc<App>, work: &Work) -> Result<bool, Fault> {
    let store = app.store().await?;
    // Without disk space a job would only be claimed and given back.
    store.require_disk_space().await?;
    let settings = LeaseSettings::from(&app.config.indexing);
    let except = app.freshness.waiting_jobs();
    let choice = Choice { kind: work.kind, served: &work.served, share: work.share, except: &except };
    let execute = |running| (work.execute)(Arc::clone(app), running);
    jobs::run_next(store, choice, &app.worker, settings, &app.shutdown, execute).await
}

#[cfg(test)]
mod tests {
    use crate::modules;
    use contract::ProjectId;
    use engine::jobs::WRITER_LANE;
    use serde_json::Value;

    #[test]
    fn kinds_that_write_an_index_share_a_lane() {
        let kinds = modules::for_tests().job_kinds();
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
        assert_eq!(names, ["index", "upkeep"]);
        for kind in kinds {
            let job = kind.job(ProjectId::parse("p").unwrap(), "/a", Value::Null);
            assert_eq!((job.kind, job.lane.as_str(), job.subject.as_str()), (kind.name, WRITER_LANE, "/a"));
        }
    }
}
