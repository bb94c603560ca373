//! What goes, and what went: one list for the dry run and for the run, in the same words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::folder::{self, Entry};
use contract::{ErrorCode, Fault};
use store::{Access, Measured, Project, ProjectTx, Store, sizes};

/// What kind of thing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// Vectors of texts that no chunk has.
    Vectors,
    /// Values that no fact has.
    Names,
    /// Counts of terms that no chunk has.
    Statistics,
    /// Finished runs.
    Jobs,
    /// What was read from a repository.
    Repository,
    /// A file below the project's folder.
    File,
}

/// Why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
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
    pub what: What,
    /// The repository's name, or the file's path below the project's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Rows or files.
    pub count: u64,
    /// What they take.
    pub bytes: u64,
    /// Why.
    pub reason: Reason,
}

impl Removal {
    pub(super) fn rows(what: What, reason: Reason, Measured { rows, bytes }: Measured) -> Self {
        Self { what, name: None, count: rows, bytes, reason }
    }

    pub(super) fn file(entry: &Entry, reason: Reason) -> Self {
        Self { what: What::File, name: Some(entry.path.clone()), count: 1, bytes: entry.bytes, reason }
    }
}

/// One thing that should have gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The file's path below the project's folder.
    pub name: String,
    /// The contract's error code.
    pub code: String,
    /// What happened.
    pub message: String,
}

/// What went, or would go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// In the order in which it goes.
    pub removals: Vec<Removal>,
    /// What could not be removed.
    pub failed: Vec<Failure>,
    /// How much less the project's tables, indexes and files take on disk.
    pub returned_bytes: u64,
}

impl Removed {
    /// Bytes of what went.
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

/// Removes files of the project's folder, one by one.
///
/// # Errors
/// `CANCELLED`; a file that cannot be removed is a failure in the answer instead.
pub(super) async fn remove_files(
    place: &Place<'_>,
    files: Vec<(Entry, Reason)>,
    removed: &mut Removed,
) -> Result<(), Fault> {
    for (entry, reason) in files {
        place.require_running()?;
        let (folder, file) = (place.folder.to_owned(), entry.clone());
        match folder::off(move || folder::remove(&folder, &file)).await {
            Ok(true) => {
                removed.returned_bytes += entry.bytes;
                removed.add(Removal::file(&entry, reason));
            }
            Ok(false) => {}
            Err(fault) => removed.failed.push(Failure {
                name: entry.path,
                code: fault.code.as_str().to_owned(),
                message: fault.message,
            }),
        }
    }
    Ok(())
}

/// Where upkeep works: one project, its rows and its folder.
pub struct Place<'a> {
    /// The database.
    pub store: &'a Store,
    /// The project.
    pub project: &'a Project,
    /// Its folder; it may not exist.
    pub folder: &'a std::path::Path,
    /// Settings.
    pub settings: &'a contract::config::Upkeep,
    /// Fires when the work must stop.
    pub cancel: &'a tokio_util::sync::CancellationToken,
}

impl Place<'_> {
    /// Rows of one transaction.
    pub(super) fn batch(&self) -> i64 {
        i64::from(self.settings.batch_rows.max(1))
    }

    pub(super) fn require_running(&self) -> Result<(), Fault> {
        if self.cancel.is_cancelled() {
            return Err(Fault::new(
                ErrorCode::Cancelled,
                "The work was stopped; what was removed stays removed.",
            )
            .with_hint("Call again to go on."));
        }
        Ok(())
    }

    pub(super) async fn list(&self) -> Result<Vec<Entry>, Fault> {
        let (folder, files_max) = (self.folder.to_owned(), self.settings.files_max);
        folder::off(move || folder::list(&folder, files_max)).await
    }

    pub(super) async fn begin(&self) -> Result<ProjectTx, Fault> {
        self.require_running()?;
        ProjectTx::begin(self.store, self.project, Access::Write).await
    }

    /// What the project's tables and indexes take on disk.
    pub(super) async fn disk_bytes(&self) -> Result<u64, Fault> {
        let mut tx = ProjectTx::begin(self.store, self.project, Access::Search).await?;
        let bytes = sizes::total(&mut tx).await?;
        tx.commit().await?;
        Ok(bytes)
    }

    /// Gives the room of removed rows back; returns what the disk got of it since `before`.
    pub(super) async fn give_back(&self, before: u64, tables: &[&'static str]) -> Result<u64, Fault> {
        // Below 0.8.4 a vacuum can damage HNSW indexes: then only the server's own comes to vectors.
        let sound = self.store.database().facts().warnings.is_empty();
        let tables: Vec<&'static str> =
            tables.iter().copied().filter(|table| sound || *table != "vectors").collect();
        if let Err(fault) = sizes::vacuum(self.store, self.project, &tables).await {
            // The server's own vacuum comes later.
            tracing::debug!("room was not given back at once: {fault}");
        }
        Ok(before.saturating_sub(self.disk_bytes().await?))
    }
}
