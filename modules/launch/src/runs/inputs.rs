//! Waits for the repository of a run to be indexed at its commit. A job does not wait itself: it asks for an index run and ends, and the
//! end of that run asks for another job.

use std::path::PathBuf;

use contract::clock::iso_from_millis;
use contract::{ErrorCode, Fault, RepositoryAddress, escaped_line};
use engine::jobs::{self, Enqueued, Job, JobState};
use launch::event::{EventBody, Failure, InputsPending, NOT_INDEXED};
use launch::snapshot::RunSnapshot;
use store::{RepositoryRow, RepositoryState, Store};
use tenancy::AllowedRoots;

use super::answer::Stop;
use super::input_readiness::Inputs;
use super::journal::Batch;
use super::repository::{awaits_first_run, can_be_indexed};
use super::run_job::RunJob;
use gate::app::{blocking, index_job};

/// Shown in the status of a job that another process has to do.
const NOT_FOUND_HERE: &str = "The process that took the job cannot find the repository's directory. The job waits for a process that can.";

/// Returns `true` if a repository is indexed at the commit of a run.
pub(super) fn is_indexed_at(repository: &RepositoryRow, repo_sha: &str) -> bool {
    repository.state == RepositoryState::Ready && repository.commit.as_deref() == Some(repo_sha)
}

impl RunJob<'_> {
    /// Returns `true` if the repository of the run is indexed at its commit.
    pub(super) fn is_ready(&self, repository: &RepositoryRow) -> bool {
        is_indexed_at(repository, &self.snapshot().created.repo_sha)
    }

    /// Asks for an index run, unless one is on its way, did not help or cannot help: only commits that are checked out, or that a host has,
    /// can be indexed, and only those are requested when runs start.
    pub(super) async fn await_inputs(&mut self) -> Result<Inputs, Stop> {
        let repository = self.repository().await?;
        let root = match &repository {
            Some(repository) if self.is_ready(repository) => return Ok(Inputs::Ready),
            Some(repository) => repository.root.clone(),
            None if self.snapshot().created.repository_id == NOT_INDEXED => {
                self.journal.config().github_repo_url.clone()
            }
            None => return Ok(Inputs::Failed(self.moved_or_gone(None))),
        };
        if let Some(pending) = self.snapshot().pending.clone() {
            match awaited_job(self.store, &pending).await? {
                Some(job) if !job.state.is_final() => return Ok(Inputs::Pending),
                Some(job)
                    if job.state == JobState::Succeeded
                        && !pending.attached
                        && repository.as_ref().is_none_or(|row| row.state != RepositoryState::Indexing) =>
                {
                    return Ok(Inputs::Failed(self.moved_or_gone(repository.as_ref())));
                }
                Some(job) if job.state != JobState::Succeeded => return Ok(Inputs::Failed(failed(&job))),
                // It may have read the repository before the commit was there, another one follows it already, or its record is gone.
                _ => {}
            }
        }
        if let Some(repository) = &repository
            && !awaits_first_run(repository)
            && !self.can_be_indexed(repository).await?
        {
            return Ok(Inputs::Failed(self.moved(repository)));
        }
        let Enqueued { job, attached } = self.request_index_run(&root).await?;
        let reason = pending_reason(&root, repository.as_ref(), self.snapshot());
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

    async fn can_be_indexed(&self, repository: &RepositoryRow) -> Result<bool, Fault> {
        let (settings, wanted) = (&self.app.config.indexing, &self.snapshot().created.repo_sha);
        can_be_indexed(repository, settings, self.project.id(), wanted).await
    }

    /// The failure of a run whose index run ended, and whose repository is not indexed at its commit.
    fn moved_or_gone(&self, repository: Option<&RepositoryRow>) -> Failure {
        let message = "The project does not have the repository of the run any more.";
        repository
            .map_or_else(|| Failure::new("REPO_NOT_FOUND", message), |repository| self.moved(repository))
    }

    async fn request_index_run(&self, root: &str) -> Result<Enqueued, Stop> {
        let allowed = AllowedRoots::for_project(&self.app.config.indexing, self.project.id());
        let path = PathBuf::from(root);
        let is_address = RepositoryAddress::parse(root).is_some();
        let root = blocking(move || allowed.check(&path)).await.map_err(|fault| match fault.code {
            // Every process of the installation has the same lists, and can fetch what they allow.
            _ if is_address => fault,
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

fn pending_reason(root: &str, repository: Option<&RepositoryRow>, snapshot: &RunSnapshot) -> String {
    let indexed = repository.and_then(|row| row.commit.as_ref().zip(row.indexed_ms));
    let indexed = match indexed {
        Some((commit, at)) => format!("it was indexed at {commit} on {}", iso_from_millis(at)),
        None => "it is not indexed yet".to_owned(),
    };
    format!(
        "The repository {} has to be indexed at {}; {indexed}.",
        escaped_line(repository.map_or(root, |row| row.name.as_str())),
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
