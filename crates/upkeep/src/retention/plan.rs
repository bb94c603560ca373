//! The report of a removal, which a dry run and an execution share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::project_files::{ProjectFile, list_project_files, remove_if_unchanged};
use contract::{ErrorCode, Fault};
use platform::task::blocking;
use store::{Access, Project, ProjectTx, RowUsage, Store, sizes};

/// What kind of thing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RemovedKind {
    /// Vectors of texts that no chunk has.
    Vectors,
    /// Values that no fact has.
    Names,
    /// Counts of terms that no chunk has.
    Statistics,
    /// Finished runs.
    Jobs,
    /// Launch runs that ended, with what they wrote.
    #[serde(rename = "launch_runs")]
    LaunchRuns,
    /// What was read from a repository.
    Repository,
    /// A file below the project's folder.
    File,
    /// The mirror of a repository that was given by its address; only for the operator.
    Mirror,
}

/// Why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RemovalReason {
    /// Nothing refers to it.
    Orphan,
    /// It is older than asked for.
    Age,
    /// It is the oldest of more than asked for.
    Quota,
    /// Whoever wrote it never finished.
    Unfinished,
    /// It was asked for.
    Asked,
}

/// One thing that goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removal {
    /// What kind of thing.
    pub what: RemovedKind,
    /// The repository's name, the file's path below the project's folder, or the mirror's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Rows or files.
    pub count: u64,
    /// What they take.
    pub bytes: u64,
    /// Why.
    pub reason: RemovalReason,
}

impl Removal {
    pub(super) fn rows(what: RemovedKind, reason: RemovalReason, RowUsage { rows, bytes }: RowUsage) -> Self {
        Self { what, name: None, count: rows, bytes, reason }
    }

    pub(super) fn file(entry: &ProjectFile, reason: RemovalReason) -> Self {
        Self { what: RemovedKind::File, name: Some(entry.path.clone()), count: 1, bytes: entry.bytes, reason }
    }
}

/// One thing that should have gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovalFailure {
    /// The file's path below the project's folder.
    pub name: String,
    /// The contract's error code.
    pub code: String,
    /// What happened.
    pub message: String,
}

/// The removed data, or in a dry run, the data that would be removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovalReport {
    /// In the order of removal.
    pub removals: Vec<Removal>,
    /// Files that could not be removed.
    pub failed: Vec<RemovalFailure>,
    /// Bytes by which the project's tables, indexes and files shrank on disk.
    pub returned_bytes: u64,
}

impl RemovalReport {
    /// Returns the size of all removed rows and files in bytes.
    #[must_use]
    pub fn freed_bytes(&self) -> u64 {
        self.removals.iter().map(|removal| removal.bytes).sum()
    }

    pub(super) fn add(&mut self, removal: Removal) {
        if removal.count > 0 {
            self.removals.push(removal);
        }
    }
}

/// Removes files of the project's folder one by one. A file that cannot be removed becomes a [`RemovalFailure`] of the report.
///
/// # Errors
/// `CANCELLED`.
pub(super) async fn remove_files(
    upkeep: &ProjectUpkeep<'_>,
    files: Vec<(ProjectFile, RemovalReason)>,
    removed: &mut RemovalReport,
) -> Result<(), Fault> {
    for (entry, reason) in files {
        upkeep.check_cancelled()?;
        let (folder, file) = (upkeep.folder.to_owned(), entry.clone());
        match blocking(move || remove_if_unchanged(&folder, &file)).await {
            Ok(true) => {
                removed.returned_bytes += entry.bytes;
                removed.add(Removal::file(&entry, reason));
            }
            Ok(false) => {}
            Err(fault) => removed.failed.push(RemovalFailure {
                name: entry.path,
                code: fault.code.as_str().to_owned(),
                message: fault.message,
            }),
        }
    }
    Ok(())
}

/// The context of a removal: the project with its folder, the settings and the cancellation of the call.
pub struct ProjectUpkeep<'a> {
    /// The database.
    pub store: &'a Store,
    /// The project.
    pub project: &'a Project,
    /// The project's folder, which may not exist.
    pub folder: &'a std::path::Path,
    /// The settings `upkeep.*`.
    pub settings: &'a contract::config::Upkeep,
    /// Fires when the call is cancelled.
    pub cancel: &'a tokio_util::sync::CancellationToken,
}

impl ProjectUpkeep<'_> {
    /// Returns the maximum number of rows that one transaction removes.
    pub(super) fn batch(&self) -> i64 {
        i64::from(self.settings.batch_rows.max(1))
    }

    pub(super) fn check_cancelled(&self) -> Result<(), Fault> {
        if self.cancel.is_cancelled() {
            return Err(Fault::new(
                ErrorCode::Cancelled,
                "The work was stopped; what was removed stays removed.",
            )
            .with_hint("Call again to continue."));
        }
        Ok(())
    }

    pub(super) async fn list(&self) -> Result<Vec<ProjectFile>, Fault> {
        let (folder, files_max) = (self.folder.to_owned(), self.settings.files_max);
        blocking(move || list_project_files(&folder, files_max)).await
    }

    pub(super) async fn begin(&self) -> Result<ProjectTx, Fault> {
        self.check_cancelled()?;
        ProjectTx::begin(self.store, self.project, Access::Write).await
    }

    /// Returns the size of the project's tables and indexes on disk in bytes.
    pub(super) async fn disk_bytes(&self) -> Result<u64, Fault> {
        let mut tx = ProjectTx::begin(self.store, self.project, Access::Search).await?;
        let bytes = sizes::total(&mut tx).await?;
        tx.commit().await?;
        Ok(bytes)
    }

    /// Vacuums `tables`; returns by how many bytes the project shrank from `bytes_before`.
    pub(super) async fn vacuum(&self, bytes_before: u64, tables: &[&'static str]) -> Result<u64, Fault> {
        // With pgvector before 0.8.4 a vacuum can damage HNSW indexes; vectors are then left to autovacuum.
        let may_vacuum_vectors = self.store.database().facts().warnings.is_empty();
        let tables: Vec<&'static str> =
            tables.iter().copied().filter(|table| may_vacuum_vectors || *table != "vectors").collect();
        if let Err(fault) = sizes::vacuum(self.store, self.project, &tables).await {
            // Autovacuum reclaims the space later.
            tracing::debug!("the tables were not vacuumed: {fault}");
        }
        Ok(bytes_before.saturating_sub(self.disk_bytes().await?))
    }
}
