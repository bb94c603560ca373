//! The project that has indexed the repository of a call, where the project of the call does not exist.

use std::path::{Path, PathBuf};

use super::AnsweredCall;
use crate::app::blocking;
use crate::tools::Call;
use crate::tools::repository::list_repositories;
use crate::tools::unindexed_directory::is_indexed;
use contract::{Next, RepositoryAddress};
use store::{DecidedBy, RepositoryRow};
use tenancy::AllowedRoots;

/// Maximum number of projects that are searched for a repository.
const PROJECTS_MAX: usize = 32;

/// The repository that a call is about.
enum Sought {
    /// The one around this directory, whose symbolic links are resolved.
    Around(PathBuf),
    /// The one with this root.
    Root(String),
    /// The one of this name.
    Named(String),
}

impl Sought {
    fn is(&self, row: &RepositoryRow) -> bool {
        match self {
            Self::Around(directory) => row.has_path() && directory.starts_with(&row.root),
            Self::Root(root) => row.root == *root,
            Self::Named(name) => row.name == *name,
        }
    }

    /// The roots that the repository may have, as far as they are known.
    fn roots(&self) -> Vec<String> {
        match self {
            Self::Around(directory) => {
                directory.ancestors().map(|above| above.to_string_lossy().into_owned()).collect()
            }
            Self::Root(root) => vec![root.clone()],
            Self::Named(_) => Vec::new(),
        }
    }
}

impl AnsweredCall {
    /// The same call in a project that the caller may use and that has indexed the repository: the one that the call names or, for a
    /// caller on this machine, the one around its directory.
    pub(super) async fn where_indexed(&self, call: &Call) -> Option<Next> {
        let sought = self.sought().await?;
        let store = call.app.store().await.ok()?;
        let mut tx = store.control_read().await.ok()?;
        let known = store::projects::list_for_subjects(&mut tx, &sought.roots()).await.ok()?;
        tx.commit().await.ok()?;
        let usable = known.into_iter().filter(|known| self.caller.principal.may_use(&known.id));
        for known in usable.take(PROJECTS_MAX) {
            let found = store::projects::find_without_transaction(store, &known.id, DecidedBy::Argument);
            // The statements of this program may not fit tables that were not migrated yet.
            let current = found.await.ok()?.filter(|(_, version)| !store::is_outdated(*version));
            let Some((project, _)) = current else { continue };
            let allowed = AllowedRoots::for_project(&call.app.config.indexing, project.id());
            let rows = list_repositories(call, &project).await.ok()?;
            if rows.iter().any(|row| sought.is(row) && is_indexed(row) && may_be_read(row, &allowed)) {
                return self.with_argument("project_id", project.id().as_str());
            }
        }
        None
    }

    async fn sought(&self) -> Option<Sought> {
        let is_local = self.caller.principal.is_local;
        match self.repository.as_deref().map(|named| (named, RepositoryAddress::parse(named))) {
            Some((_, Some(address))) => Some(Sought::Root(address.ok()?.as_str().to_owned())),
            // Paths of this machine are not looked up for callers on others.
            Some((path, None)) if path.starts_with('/') && !is_local => {
                Some(Sought::Root(path.trim_end_matches('/').to_owned()))
            }
            Some((path, None)) if path.starts_with('/') => {
                let root = resolved(PathBuf::from(path)).await?;
                Some(Sought::Root(root.to_str()?.to_owned()))
            }
            Some((name, None)) => Some(Sought::Named(name.to_owned())),
            None => {
                let directory = self.caller.directory.clone().filter(|_| is_local)?;
                Some(Sought::Around(resolved(directory).await?))
            }
        }
    }
}

/// A path with symbolic links resolved; `None` if it does not exist.
async fn resolved(path: PathBuf) -> Option<PathBuf> {
    blocking(move || Ok(path.canonicalize().ok())).await.ok()?
}

/// Returns `true` if the project may still read the repository; `false` for records of modules.
fn may_be_read(row: &RepositoryRow, allowed: &AllowedRoots) -> bool {
    match RepositoryAddress::parse(&row.root) {
        _ if !row.is_readable() => false,
        Some(address) => address.is_ok_and(|address| allowed.contains_address(&address)),
        None => allowed.contains(Path::new(&row.root)),
    }
}
