//! Takes repositories out of a project, with all that was read from them and nothing that others need.

use super::folder::Entry;
use super::gc::orphan_vectors;
use super::removal::{Place, Reason, Removal, Removed, What, remove_files};
use contract::Fault;
use platform::failpoints;
use store::{
    self, Access, Fence, Measured, ProjectTx, RepositoryRow, RepositoryState, files, index_state, lexical,
    names, repositories, vectors,
};

/// What is asked for.
pub struct Request<'a> {
    /// Where.
    pub place: Place<'a>,
    /// Which repositories go.
    pub repositories: &'a [RepositoryRow],
    /// Every file of the project's folder goes, too, not only theirs.
    pub all: bool,
}

impl Request<'_> {
    /// What would go; changes nothing.
    ///
    /// # Errors
    /// Storage faults; `PERMISSION_DENIED` when the project's folder cannot be read.
    pub async fn plan(&self) -> Result<Removed, Fault> {
        let (store, mut planned) = (self.place.store, Removed::default());
        let ids: Vec<i64> = self.repositories.iter().map(|repository| repository.id).collect();
        let mut tx = ProjectTx::begin(store, self.place.project, Access::Search).await?;
        for repository in self.repositories {
            planned.removals.push(of(repository, files::measure(&mut tx, repository.id).await?));
        }
        let vectors = vectors::orphans(&mut tx, &ids).await?;
        let names = names::orphans(&mut tx, &ids).await?;
        tx.commit().await?;
        planned.add(Removal::rows(What::Vectors, Reason::Orphan, vectors));
        planned.add(Removal::rows(What::Names, Reason::Orphan, names));
        let mut door = store.control_read().await?;
        let mut runs = Measured::default();
        for repository in self.repositories {
            runs +=
                store::jobs::finished(&mut door, self.place.project.id(), Some(&repository.root), 0).await?;
        }
        door.commit().await?;
        planned.add(Removal::rows(What::Jobs, Reason::Asked, runs));
        for (entry, reason) in self.files().await? {
            planned.add(Removal::file(&entry, reason));
        }
        Ok(planned)
    }

    /// Removes it. Each transaction is bounded, searches go on meanwhile, and a call that is cut short is completed by
    /// the next one.
    ///
    /// # Errors
    /// `CANCELLED`; `ILLEGAL_STATE` when another run took over; storage faults.
    pub async fn run(&self, fence: Fence) -> Result<Removed, Fault> {
        let mut removed = Removed::default();
        let mut tx = self.place.begin().await?;
        index_state::acquire_fence(&mut tx, fence).await?;
        tx.commit().await?;
        let before = self.place.disk_bytes().await?;
        for repository in self.repositories {
            removed.removals.push(of(repository, self.rows_of(fence, repository.id).await?));
        }
        failpoints::reach("clean.rows_removed");
        let vectors = orphan_vectors(&self.place, fence).await?;
        failpoints::reach("clean.vectors_removed");
        let mut tx = self.place.begin().await?;
        let names = names::remove_orphans(&mut tx, fence).await?;
        index_state::publish(&mut tx, fence).await?;
        lexical::rebuild_statistics(&mut tx, fence).await?;
        tx.commit().await?;
        removed.add(Removal::rows(What::Vectors, Reason::Orphan, vectors));
        removed.add(Removal::rows(What::Names, Reason::Orphan, names));
        let mut door = self.place.store.control().await?;
        let mut runs = Measured::default();
        for repository in self.repositories {
            let id = self.place.project.id();
            runs += store::jobs::remove_finished(&mut door, id, Some(&repository.root), 0).await?;
        }
        door.commit().await?;
        removed.add(Removal::rows(What::Jobs, Reason::Asked, runs));
        remove_files(&self.place, self.files().await?, &mut removed).await?;
        // Their own rows go last, so that a call that was cut short finds them again.
        let mut tx = self.place.begin().await?;
        for repository in self.repositories {
            repositories::delete(&mut tx, fence, repository.id).await?;
        }
        tx.commit().await?;
        removed.returned_bytes += self.place.give_back(before, TABLES).await?;
        Ok(removed)
    }

    /// Removes what was read from one repository, a batch a transaction.
    async fn rows_of(&self, fence: Fence, id: i64) -> Result<Measured, Fault> {
        let mut tx = self.place.begin().await?;
        repositories::set_state(&mut tx, fence, id, RepositoryState::Failed).await?;
        tx.commit().await?;
        let mut all = Measured::default();
        loop {
            let mut tx = self.place.begin().await?;
            let (some, files) = files::remove_some(&mut tx, fence, id, self.place.batch()).await?;
            tx.commit().await?;
            all += some;
            if files == 0 {
                return Ok(all);
            }
        }
    }

    async fn files(&self) -> Result<Vec<(Entry, Reason)>, Fault> {
        let mut files = self.place.list().await?;
        files.retain(|entry| !entry.is_lock() && entry.kind() != RECORDS && self.named(entry));
        Ok(files.into_iter().map(|entry| (entry, Reason::Asked)).collect())
    }

    fn named(&self, entry: &Entry) -> bool {
        self.all || self.repositories.iter().any(|repository| entry.belongs_to(&repository.name))
    }
}

/// What lies here belongs to security records, which stay.
const RECORDS: &str = "triage";
/// The tables that get smaller.
const TABLES: &[&str] = &[
    "files",
    "chunks",
    "lexical",
    "facts",
    "definitions",
    "comments",
    "authors",
    "flows",
    "vectors",
    "names",
    "terms",
];

fn of(repository: &RepositoryRow, Measured { rows, bytes }: Measured) -> Removal {
    let name = Some(repository.name.clone());
    Removal { what: What::Repository, name, count: rows, bytes, reason: Reason::Asked }
}
