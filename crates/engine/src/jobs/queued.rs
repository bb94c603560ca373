//! What a queued job waits for.

use super::progress::{Phase, Progress, WaitsFor};
use contract::{Fault, ProjectId};
use store::{Access, DecidedBy, Job, JobState, ProjectTx, Store, repositories};

/// The run that a queued job waits for: the one of its project that a worker has, else the oldest one that was asked for
/// before it. None where it is not queued, or next in turn.
///
/// # Errors
/// Storage faults.
pub async fn waits_for(store: &Store, job: &Job) -> Result<Option<WaitsFor>, Fault> {
    if job.state != JobState::Queued {
        return Ok(None);
    }
    let mut door = store.control_read().await?;
    let ahead = store::jobs::ahead(&mut door, job).await?;
    door.commit().await?;
    let Some(ahead) = ahead else { return Ok(None) };
    let repository = repository_name(store, &ahead).await?;
    Ok(Some(waiting(&ahead, repository)))
}

/// The same of a job whose repository's name is known.
#[must_use]
pub fn waiting(ahead: &Job, repository: Option<String>) -> WaitsFor {
    let progress = ahead.progress.as_ref().map(Progress::from_value).unwrap_or_default();
    let runs = ahead.state == JobState::Running;
    // A run that has not said yet how far it is looks for its files.
    let phase = match progress.phase {
        _ if !runs => Phase::Queued,
        Phase::Queued => Phase::Walk,
        phase => phase,
    };
    WaitsFor { job_id: ahead.id.clone(), repository, phase, percent: progress.percent().filter(|_| runs) }
}

/// What answers call the repository that a job is about; None where it is about no repository.
///
/// # Errors
/// Storage faults.
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

/// What a repository will be called that has no entry yet: the name of its folder.
#[must_use]
pub fn folder_name(root: &str) -> String {
    root.rsplit('/').next().unwrap_or(root).to_owned()
}
