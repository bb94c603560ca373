//! Determines the job that a queued one waits for.

use super::progress::{Phase, Progress, WaitsFor};
use contract::{Fault, ProjectId};
use store::{Access, DecidedBy, Job, JobState, ProjectTx, Store, repositories};

/// Returns the job that a queued one waits for: the running job of its project and lane, otherwise the oldest one that was queued earlier.
/// `None` if `job` is not queued, or is next in the queue.
pub async fn waits_for(store: &Store, job: &Job) -> Result<Option<WaitsFor>, Fault> {
    if job.state != JobState::Queued {
        return Ok(None);
    }
    let mut tx = store.control_read().await?;
    let ahead = store::jobs::ahead(&mut tx, job).await?;
    tx.commit().await?;
    let Some(ahead) = ahead else { return Ok(None) };
    let repository = repository_name(store, &ahead).await?;
    Ok(Some(describe_wait(&ahead, repository)))
}

/// Describes the job ahead in the queue. `repository` is the name of its repository, if it has one.
#[must_use]
pub fn describe_wait(ahead: &Job, repository: Option<String>) -> WaitsFor {
    let progress = ahead.progress.as_ref().map(Progress::from_value).unwrap_or_default();
    let is_running = ahead.state == JobState::Running;
    // A running job that has not reported progress yet has just begun to list files.
    let phase = match progress.phase {
        _ if !is_running => Phase::Queued,
        Phase::Queued => Phase::Walk,
        phase => phase,
    };
    let percent = progress.percent().filter(|_| is_running);
    WaitsFor { job_id: ahead.id.clone(), repository, phase, percent }
}

/// Returns the name of a job's repository; `None` if the job has no repository.
async fn repository_name(store: &Store, job: &Job) -> Result<Option<String>, Fault> {
    if job.subject.is_empty() {
        return Ok(None);
    }
    let id = ProjectId::parse(&job.project_id)?;
    let row = match tenancy::open(store, &id, DecidedBy::Argument).await? {
        Some(project) => {
            let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
            let row = repositories::get(&mut tx, &job.subject).await?;
            tx.commit().await?;
            row
        }
        None => None,
    };
    Ok(Some(row.map_or_else(|| folder_name(&job.subject), |row| row.name)))
}

/// Returns the name of a repository without a row: the name of its folder.
#[must_use]
pub fn folder_name(root: &str) -> String {
    root.rsplit('/').next().unwrap_or(root).to_owned()
}
