//! Clean artifacts: removes repositories from a project, with the rows and files that no other repository needs.

use super::collect_garbage::remove_orphan_vectors;
use super::plan::{ProjectUpkeep, Removal, RemovalReason, RemovalReport, RemovedKind, remove_files};
use super::project_files::ProjectFile;
use contract::Fault;
use platform::failpoints;
use store::{
    self, Access, Fence, ProjectTx, RepositoryRow, RepositoryState, RowUsage, files, index_state, names,
    repositories, revisions, vectors,
};

/// The repositories to remove from a project.
pub struct CleanRequest<'a> {
    /// The project.
    pub project: ProjectUpkeep<'a>,
    /// The repositories to remove.
    pub repositories: &'a [RepositoryRow],
    /// Also remove files of the project's folder that belong to no repository.
    pub all: bool,
}

impl CleanRequest<'_> {
    /// Lists what [`CleanRequest::execute`] would remove; changes nothing.
    ///
    /// # Errors
    /// Storage faults; `PERMISSION_DENIED` if the project's folder cannot be read.
    pub async fn plan(&self) -> Result<RemovalReport, Fault> {
        let (store, mut planned) = (self.project.store, RemovalReport::default());
        let ids: Vec<i64> = self.repositories.iter().map(|repository| repository.id).collect();
        let mut tx = ProjectTx::begin(store, self.project.project, Access::Search).await?;
        for repository in self.repositories {
            planned
                .removals
                .push(repository_removal(repository, files::measure(&mut tx, repository.id).await?));
        }
        let vectors = vectors::orphans(&mut tx, &ids).await?;
        let names = names::orphans(&mut tx, &ids).await?;
        tx.commit().await?;
        planned.add(Removal::rows(RemovedKind::Vectors, RemovalReason::Orphan, vectors));
        planned.add(Removal::rows(RemovedKind::Names, RemovalReason::Orphan, names));
        let mut control = store.control_read().await?;
        let mut runs = RowUsage::default();
        for repository in self.repositories {
            runs += store::jobs::finished(&mut control, self.project.project.id(), Some(&repository.root), 0)
                .await?;
        }
        control.commit().await?;
        planned.add(Removal::rows(RemovedKind::Jobs, RemovalReason::Asked, runs));
        for (entry, reason) in self.files().await? {
            planned.add(Removal::file(&entry, reason));
        }
        Ok(planned)
    }

    /// Removes the repositories in bounded transactions, so that searches continue meanwhile. After an interruption,
    /// the next call continues.
    ///
    /// # Errors
    /// `CANCELLED`; `ILLEGAL_STATE` if the lease was lost; storage faults.
    pub async fn execute(&self, fence: Fence) -> Result<RemovalReport, Fault> {
        let mut removed = RemovalReport::default();
        let mut tx = self.project.begin().await?;
        index_state::acquire_fence(&mut tx, fence).await?;
        tx.commit().await?;
        let before = self.project.disk_bytes().await?;
        for repository in self.repositories {
            removed
                .removals
                .push(repository_removal(repository, self.remove_rows(fence, repository.id).await?));
        }
        failpoints::reach("clean.rows_removed");
        let vectors = remove_orphan_vectors(&self.project, fence).await?;
        failpoints::reach("clean.vectors_removed");
        let mut tx = self.project.begin().await?;
        let names = names::remove_orphans(&mut tx, fence).await?;
        index_state::publish(&mut tx, fence).await?;
        tx.commit().await?;
        removed.add(Removal::rows(RemovedKind::Vectors, RemovalReason::Orphan, vectors));
        removed.add(Removal::rows(RemovedKind::Names, RemovalReason::Orphan, names));
        let mut control = self.project.store.control().await?;
        let mut runs = RowUsage::default();
        for repository in self.repositories {
            let id = self.project.project.id();
            runs += store::jobs::remove_finished(&mut control, id, Some(&repository.root), 0).await?;
        }
        control.commit().await?;
        removed.add(Removal::rows(RemovedKind::Jobs, RemovalReason::Asked, runs));
        remove_files(&self.project, self.files().await?, &mut removed).await?;
        // The rows of `repositories` are deleted last, so that a call after an interruption finds them.
        let mut tx = self.project.begin().await?;
        for repository in self.repositories {
            repositories::delete(&mut tx, fence, repository.id).await?;
        }
        tx.commit().await?;
        removed.returned_bytes += self.project.vacuum(before, SHRINKING_TABLES).await?;
        Ok(removed)
    }

    /// Removes the rows of one repository's files, one batch per transaction.
    async fn remove_rows(&self, fence: Fence, id: i64) -> Result<RowUsage, Fault> {
        let mut tx = self.project.begin().await?;
        repositories::set_state(&mut tx, fence, id, RepositoryState::Failed).await?;
        // First, so that the next run reads them anew if this one is interrupted.
        revisions::forget(&mut tx, fence, id).await?;
        tx.commit().await?;
        let mut all = RowUsage::default();
        loop {
            let mut tx = self.project.begin().await?;
            let (some, files) = files::remove_some(&mut tx, fence, id, self.project.batch()).await?;
            tx.commit().await?;
            all += some;
            if files == 0 {
                return Ok(all);
            }
        }
    }

    async fn files(&self) -> Result<Vec<(ProjectFile, RemovalReason)>, Fault> {
        let mut files = self.project.list().await?;
        files.retain(|entry| !entry.is_lock() && entry.kind() != RECORDS_FOLDER && self.is_selected(entry));
        Ok(files.into_iter().map(|entry| (entry, RemovalReason::Asked)).collect())
    }

    fn is_selected(&self, entry: &ProjectFile) -> bool {
        self.all || self.repositories.iter().any(|repository| entry.belongs_to(&repository.name))
    }
}

/// Folder of the security records, which are kept.
const RECORDS_FOLDER: &str = "triage";
/// The tables to vacuum.
const SHRINKING_TABLES: &[&str] = &[
    "files", "chunks", "lexical", "grams", "facts", "definitions", "comments", "authors", "line_history",
    "flows", "uses", "symbols", "scip_documents", "vectors", "names", "terms",
];

fn repository_removal(repository: &RepositoryRow, RowUsage { rows, bytes }: RowUsage) -> Removal {
    let name = Some(repository.name.clone());
    Removal { what: RemovedKind::Repository, name, count: rows, bytes, reason: RemovalReason::Asked }
}
