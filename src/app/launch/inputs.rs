//! Waits for the repository of a run to be indexed at its commit. A job does not wait itself: it asks for an index run and ends, and the
//! end of that run asks for another job.

use std::path::PathBuf;

use contract::clock::iso_from_millis;
use contract::{ErrorCode, Fault, escaped_line};
use engine::jobs::{self, Enqueued, Job, JobState};
use launch::event::{EventBody, Failure, InputsPending};
use launch::snapshot::Snapshot;
use store::{RepositoryRow, RepositoryState, Store};
use tenancy::AllowedRoots;

use super::answer::Stop;
use super::journal::Batch;
use super::repository::can_be_indexed;
use super::run_job::RunJob;
use crate::app::{blocking, index_job};

/// Shown in the status of a job that another process has to do.
const NOT_FOUND_HERE: &str = "The process that took the job cannot find the repository's directory. The job waits for a process that can.";

/// Whether a run can go on.
pub(super) enum Inputs {
    /// The repository is indexed at its commit.
    Ready,
    /// It will be.
    Pending,
    /// It will not be; the run fails.
    Failed(Failure),
}

/// Whether a repository is indexed at the commit of a run.
pub(super) fn is_indexed_at(repository: &RepositoryRow, repo_sha: &str) -> bool {
    repository.state == RepositoryState::Ready && repository.commit.as_deref() == Some(repo_sha)
}

impl RunJob<'_> {
    /// Whether the repository of the run is indexed at its commit.
    pub(super) fn is_ready(&self, repository: &RepositoryRow) -> bool {
        is_indexed_at(repository, &self.snapshot().created.repo_sha)
    }

    /// Asks for an index run, unless one is on its way, did not help or cannot help: only what is checked out can be indexed, and starting
    /// runs has nothing else indexed.
    pub(super) async fn await_inputs(&mut self) -> Result<Inputs, Stop> {
        let Some(repository) = self.repository().await? else {
            let message = "The project does not have the repository of the run any more.";
            return Ok(Inputs::Failed(Failure::new("REPO_NOT_FOUND", message)));
        };
        if self.is_ready(&repository) {
            return Ok(Inputs::Ready);
        }
        if let Some(pending) = self.snapshot().pending.clone() {
            match awaited_job(self.store, &pending).await? {
                Some(job) if !job.state.is_final() => return Ok(Inputs::Pending),
                Some(job)
                    if job.state == JobState::Succeeded
                        && !pending.attached
                        && repository.state != RepositoryState::Indexing =>
                {
                    return Ok(Inputs::Failed(self.moved(&repository)));
                }
                Some(job) if job.state != JobState::Succeeded => return Ok(Inputs::Failed(failed(&job))),
                // It may have read the repository before the commit was there, another one follows it already, or nobody remembers it.
                _ => {}
            }
        }
        let settings = &self.app.config.indexing;
        let wanted = &self.snapshot().created.repo_sha;
        if !can_be_indexed(&repository, settings, self.project.id(), wanted).await? {
            return Ok(Inputs::Failed(self.moved(&repository)));
        }
        let Enqueued { job, attached } = self.request_index_run(&repository).await?;
        let reason = pending_reason(&repository, self.snapshot());
        let pending = InputsPending { reason, job_id: job.id, attached };
        self.journal
            .append(|_| {
                let mut batch = Batch::default();
                batch.event(EventBody::InputsPending(pending));
                Ok(batch)
            })
            .await?;
        Ok(Inputs::Pending)
    }

    async fn request_index_run(&self, repository: &RepositoryRow) -> Result<Enqueued, Stop> {
        let allowed = AllowedRoots::for_project(&self.app.config.indexing, self.project.id());
        let path = PathBuf::from(&repository.root);
        let root = blocking(move || allowed.check(&path)).await.map_err(|fault| match fault.code {
            ErrorCode::NotFound | ErrorCode::Forbidden => jobs::not_runnable_here(fault, NOT_FOUND_HERE),
            _ => fault,
        })?;
        Ok(index_job::enqueue(self.app, self.project, &root, &engine::indexing::Options::default()).await?)
    }
}

/// The failure of a run whose index job failed, or was cancelled.
fn failed(job: &Job) -> Failure {
    let message = match job.state {
        JobState::Cancelled => "The index run of the repository was cancelled.".to_owned(),
        _ => {
            let error = job.error.as_ref().and_then(|error| error["message"].as_str());
            format!("The index run of the repository failed: {}", error.unwrap_or("no reason is known."))
        }
    };
    Failure::new("INPUTS_FAILED", message)
}

fn pending_reason(repository: &RepositoryRow, snapshot: &Snapshot) -> String {
    let indexed = match (&repository.commit, repository.indexed_ms) {
        (Some(commit), Some(at)) => format!("it was indexed at {commit} on {}", iso_from_millis(at)),
        _ => "it is not indexed yet".to_owned(),
    };
    format!(
        "The repository {} has to be indexed at {}; {indexed}.",
        escaped_line(&repository.name),
        snapshot.created.repo_sha
    )
}

/// The index job that a run waits for, if it is still known.
pub(super) async fn awaited_job(store: &Store, pending: &InputsPending) -> Result<Option<Job>, Fault> {
    let mut control = store.control_read().await?;
    let job = store::jobs::get(&mut control, &pending.job_id).await?;
    control.commit().await?;
    Ok(job)
}
