//! Deletes a project: hides it, stops its jobs, removes its files and rows, and verifies that nothing is left.

use std::time::Duration;

use serde::Serialize;

use super::project_files::{list_project_files, remove_folder};
use contract::config::{Layout, Upkeep};
use contract::{ErrorCode, Fault, ProjectId};
use platform::failpoints;
use platform::task::blocking;
use store::{Store, deletion};

/// Time between two checks whether cancelled jobs have stopped.
const POLL: Duration = Duration::from_millis(100);
/// Attempts to drop the tables while searches still read them; a search takes seconds at most.
const DROP_ATTEMPTS_MAX: usize = 10;

/// The result of deleting a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedProject {
    /// The project.
    #[serde(rename = "project_id")]
    pub project_id: String,
    /// The dropped schema.
    #[serde(rename = "schema_name")]
    pub schema_name: String,
    /// The dropped database role, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Deleted job rows.
    pub jobs: u64,
    /// Jobs that were cancelled.
    pub jobs_cancelled: u64,
    /// Deleted files.
    pub files: u64,
    /// Bytes of the deleted files.
    pub file_bytes: u64,
    /// Keys that still list the project. They grant access again if a project with this id is created.
    pub keys: Vec<String>,
    /// Always true: a check after the deletion found no schema, role, rows or files.
    pub verified: bool,
}

/// Deletes a project. After an interruption the project stays hidden, and the next call continues. `force` cancels
/// unfinished jobs.
///
/// # Errors
/// `NO_INDEX` if the project does not exist; `ILLEGAL_STATE` if it has unfinished jobs, or a cancelled one does not stop in
/// time; `PERMISSION_DENIED` if its files cannot be removed; storage faults.
pub async fn delete_project(
    store: &Store,
    layout: &Layout,
    settings: &Upkeep,
    id: &ProjectId,
    force: bool,
) -> Result<DeletedProject, Fault> {
    let jobs_cancelled = deletion::mark_deleting(store, id, force).await?;
    failpoints::reach("delete.hidden");
    wait_for_runs(store, id, Duration::from_millis(settings.delete_wait_ms)).await?;
    let (files, file_bytes) = remove_files(layout, settings, id).await?;
    failpoints::reach("delete.files_removed");
    let dropped = remove_rows(store, id).await?;
    failpoints::reach("delete.rows_removed");
    let leftovers = deletion::leftovers(store, id, dropped.role.as_deref()).await?;
    let folder = layout.project(id.as_str());
    if !leftovers.is_empty() || folder.exists() {
        return Err(Fault::new(ErrorCode::IllegalState, "The project was not deleted completely.")
            .with_details(serde_json::json!({
                "schema": leftovers.schema, "role": leftovers.role, "rows": leftovers.rows, "files": folder.exists(),
            }))
            .with_hint("It was created again meanwhile; call again."));
    }
    Ok(DeletedProject {
        project_id: id.as_str().to_owned(),
        schema_name: id.schema_name(),
        role: dropped.role,
        jobs: dropped.jobs,
        jobs_cancelled,
        files,
        file_bytes,
        keys: deletion::keys_listing_project(store, id).await?,
        verified: true,
    })
}

async fn wait_for_runs(store: &Store, id: &ProjectId, wait_max: Duration) -> Result<(), Fault> {
    let stopped = async {
        while deletion::running_jobs(store, id).await? > 0 {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    };
    match tokio::time::timeout(wait_max, stopped).await {
        Ok(outcome) => outcome,
        Err(late) => Err(Fault::new(ErrorCode::IllegalState, "A job of the project does not stop.")
            .with_hint("If its process has ended, its lease expires; call again in a minute.")
            .with_source(late)),
    }
}

async fn remove_files(layout: &Layout, settings: &Upkeep, id: &ProjectId) -> Result<(u64, u64), Fault> {
    let (folder, files_max) = (layout.project(id.as_str()), settings.files_max);
    blocking(move || {
        let files = list_project_files(&folder, files_max)?;
        remove_folder(&folder)?;
        Ok((files.len() as u64, files.iter().map(|file| file.bytes).sum()))
    })
    .await
}

/// Drops schema, role and rows. Retries, because searches that are still running lock the tables for a moment.
async fn remove_rows(store: &Store, id: &ProjectId) -> Result<deletion::Removed, Fault> {
    let mut attempt = 1;
    loop {
        match deletion::remove(store, id).await {
            Err(fault) if fault.code == ErrorCode::StorageUnavailable && attempt < DROP_ATTEMPTS_MAX => {
                attempt += 1
            }
            ended => return ended,
        }
    }
}
