//! The end of a project: hidden, its runs stopped, its files, its rows, and a look that nothing is left.

use std::time::Duration;

use serde::Serialize;

use super::folder;
use contract::config::{Layout, Upkeep};
use contract::{ErrorCode, Fault, ProjectId};
use platform::failpoints;
use store::{Store, deletion};

/// Between looks whether cancelled runs have stopped.
const POLL: Duration = Duration::from_millis(100);
/// Attempts at the tables while somebody still reads them; a search takes seconds at most.
const ATTEMPTS_MAX: usize = 10;

/// What went with a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deleted {
    /// The project.
    #[serde(rename = "project_id")]
    pub project_id: String,
    /// The schema that is gone.
    #[serde(rename = "schema_name")]
    pub schema_name: String,
    /// The database role that is gone, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Rows of runs that are gone.
    pub jobs: u64,
    /// Runs that were told to stop.
    pub jobs_cancelled: u64,
    /// Files that are gone.
    pub files: u64,
    /// Their size.
    pub file_bytes: u64,
    /// Keys that still name the project; they open nothing any more, and would open a new project of that name.
    pub keys: Vec<String>,
    /// True: schema, role, rows and files were looked for afterwards, and none was found.
    pub verified: bool,
}

/// Deletes a project. A call that is cut short leaves it hidden; the next one goes on.
///
/// # Errors
/// `NO_INDEX` when there is none; `ILLEGAL_STATE` while runs are under way, or when a cancelled one does not stop in time;
/// `PERMISSION_DENIED` when its files cannot be removed; storage faults.
pub async fn delete(
    store: &Store,
    layout: &Layout,
    settings: &Upkeep,
    id: &ProjectId,
    force: bool,
) -> Result<Deleted, Fault> {
    let jobs_cancelled = deletion::condemn(store, id, force).await?;
    failpoints::reach("delete.hidden");
    wait_for_runs(store, id, Duration::from_millis(settings.delete_wait_ms)).await?;
    let (files, file_bytes) = remove_files(layout, settings, id).await?;
    failpoints::reach("delete.files_removed");
    let dropped = remove_rows(store, id).await?;
    failpoints::reach("delete.rows_removed");
    let remains = deletion::remains(store, id, dropped.role.as_deref()).await?;
    let folder = layout.project(id.as_str());
    if !remains.is_nothing() || folder.exists() {
        return Err(Fault::new(ErrorCode::IllegalState, "Something of the project is left.")
            .with_details(serde_json::json!({
                "schema": remains.schema, "role": remains.role, "rows": remains.rows, "files": folder.exists(),
            }))
            .with_hint("Somebody made it again meanwhile; call again."));
    }
    Ok(Deleted {
        project_id: id.as_str().to_owned(),
        schema_name: id.schema_name(),
        role: dropped.role,
        jobs: dropped.jobs,
        jobs_cancelled,
        files,
        file_bytes,
        keys: deletion::keys_naming(store, id).await?,
        verified: true,
    })
}

async fn wait_for_runs(store: &Store, id: &ProjectId, most: Duration) -> Result<(), Fault> {
    let stopped = async {
        while deletion::running(store, id).await? > 0 {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    };
    match tokio::time::timeout(most, stopped).await {
        Ok(outcome) => outcome,
        Err(late) => Err(Fault::new(ErrorCode::IllegalState, "A run of the project does not stop.")
            .with_hint("It loses its lease when its process is gone; call again in a minute.")
            .with_source(late)),
    }
}

async fn remove_files(layout: &Layout, settings: &Upkeep, id: &ProjectId) -> Result<(u64, u64), Fault> {
    let (folder, files_max) = (layout.project(id.as_str()), settings.files_max);
    folder::off(move || {
        let files = folder::list(&folder, files_max)?;
        folder::remove_all(&folder)?;
        Ok((files.len() as u64, files.iter().map(|file| file.bytes).sum()))
    })
    .await
}

/// Searches that began before may hold the tables for a moment.
async fn remove_rows(store: &Store, id: &ProjectId) -> Result<deletion::Dropped, Fault> {
    let mut attempt = 1;
    loop {
        match deletion::remove(store, id).await {
            Err(fault) if fault.code == ErrorCode::StorageUnavailable && attempt < ATTEMPTS_MAX => {
                attempt += 1
            }
            ended => return ended,
        }
    }
}
