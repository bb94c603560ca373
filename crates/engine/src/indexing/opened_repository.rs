//! Opens the row of the repository that a run indexes.

use std::path::Path;

use super::context::RunContext;
use contract::{Fault, RepositoryAddress};
use store::{Access, ProjectTx, RepositoryState, Versions, index_state, repositories};

/// The state of the repository's row when the run opened it.
pub(super) struct OpenedRepository {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) is_new: bool,
    /// The state to restore if the run is cancelled.
    pub(super) state_before: RepositoryState,
    /// `true` if the stored rows were written with other versions, so that all files must be read again.
    pub(super) outdated: bool,
    /// The versions of this run.
    pub(super) versions: Versions,
    /// The versions of the stored rows.
    pub(super) versions_before: Versions,
    /// HEAD at the end of the last run.
    pub(super) commit: Option<String>,
}

/// Acquires the fence and opens or creates the repository's row.
pub(super) async fn open_repository(
    run: &RunContext<'_>,
    versions: Versions,
) -> Result<OpenedRepository, Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    index_state::acquire_fence(&mut tx, run.fence).await?;
    let root = run.root.to_string_lossy();
    let known = repositories::get(&mut tx, &root).await?;
    let outdated = known.as_ref().is_some_and(|known| known.versions != versions);
    let is_new = known.as_ref().is_none_or(|known| known.indexed_ms.is_none());
    let versions_before = known.as_ref().map_or(versions, |known| known.versions);
    let commit = known.as_ref().and_then(|known| known.commit.clone());
    let state_before = match known.as_ref().map_or(RepositoryState::New, |known| known.state) {
        // If the process of a first run died, the repository is still new; after a later run its state is unknown.
        RepositoryState::Indexing if is_new => RepositoryState::New,
        RepositoryState::Indexing => RepositoryState::Failed,
        state => state,
    };
    let (id, name) = match known {
        Some(known) => (known.id, known.name),
        None => {
            let name = free_name(&mut tx, run.root).await?;
            (repositories::ensure(&mut tx, run.fence, &root, &name, versions).await?, name)
        }
    };
    repositories::set_state(&mut tx, run.fence, id, RepositoryState::Indexing).await?;
    if let Some(patterns) = &run.options.revisions {
        store::revisions::set_patterns(&mut tx, run.fence, id, patterns).await?;
    }
    tx.commit().await?;
    Ok(OpenedRepository { id, name, is_new, state_before, outdated, versions, versions_before, commit })
}

/// Returns the name of the folder or of the repository, with a number if another repository of the project already has that name.
async fn free_name(tx: &mut ProjectTx, root: &Path) -> Result<String, Fault> {
    let named = root.file_name().map(|name| name.to_string_lossy().into_owned());
    let address = root.to_str().and_then(RepositoryAddress::parse).and_then(Result::ok);
    let folder = address.map(|address| address.name().to_owned()).or(named);
    let folder = folder.unwrap_or_else(|| "repository".to_owned());
    let taken: Vec<String> = repositories::list(tx).await?.into_iter().map(|row| row.name).collect();
    let numbered = (2..).map(|number| format!("{folder}-{number}"));
    let mut names = std::iter::once(folder.clone()).chain(numbered);
    Ok(names.find(|name| !taken.contains(name)).unwrap_or(folder))
}
