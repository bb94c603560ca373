//! Records that a run failed or was cancelled, or that its repository could not be fetched.

use std::path::Path;

use super::context::RunContext;
use super::opened_repository::OpenedRepository;
use contract::{ErrorCode, Fault};
use platform::disk_space::is_disk_space_fault;
use store::{
    Access, Fence, Project, ProjectTx, RepositoryState, Store, files, index_state, is_full, is_transient,
    repositories,
};

/// Records that a run failed or was cancelled. After a first run without any rows the repository is deleted; otherwise
/// committed rows stay searchable. Cancellation restores the previous state. After a database outage or with a full
/// disk nothing is recorded, because the job is retried.
pub(super) async fn record_failure(run: &RunContext<'_>, repository: &OpenedRepository, fault: &Fault) {
    if is_transient(fault) || is_disk_space_fault(fault) || is_full(fault) {
        return;
    }
    let closing = async {
        let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
        let is_empty = files::totals(&mut tx, Some(repository.id)).await?.chunks == 0;
        if repository.is_new && is_empty {
            repositories::delete(&mut tx, run.fence, repository.id).await?;
        } else if fault.code == ErrorCode::Cancelled {
            repositories::set_stopped(&mut tx, run.fence, repository.id, repository.state_before).await?;
        } else {
            repositories::set_state(&mut tx, run.fence, repository.id, RepositoryState::Failed).await?;
        }
        tx.commit().await
    };
    if let Err(fault) = closing.await {
        // The caller gets the fault of the run. For example after the fence is lost, both the run and this write fail.
        tracing::debug!(%fault, "the failure of a run could not be recorded");
    }
}

/// Records that a repository could not be fetched, if it has been indexed before: its rows stay searchable, and answers report that they
/// are not refreshed. A cancelled run and a full disk say nothing about the repository.
pub async fn record_unfetched(store: &Store, project: &Project, fence: Fence, root: &Path, fault: &Fault) {
    if fault.code == ErrorCode::Cancelled || is_disk_space_fault(fault) || is_transient(fault) {
        return;
    }
    let recording = async {
        let mut tx = ProjectTx::begin(store, project, Access::Write).await?;
        index_state::acquire_fence(&mut tx, fence).await?;
        if let Some(row) = repositories::get(&mut tx, &root.to_string_lossy()).await? {
            repositories::set_state(&mut tx, fence, row.id, RepositoryState::Failed).await?;
        }
        tx.commit().await
    };
    if let Err(fault) = recording.await {
        tracing::debug!(%fault, "a failed fetch could not be recorded");
    }
}
