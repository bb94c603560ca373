//! The repository that a refresh concerns.

use std::path::PathBuf;

use crate::app::App;
use contract::{Fault, ProjectId, RepositoryAddress};
use tenancy::{AllowedRoots, RepositoryRoot};

/// A repository and its project.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RepositoryKey {
    pub(super) project: ProjectId,
    pub(super) root: PathBuf,
}

impl RepositoryKey {
    /// Returns `true` if the repository is given by its address.
    pub(super) fn is_remote(&self) -> bool {
        self.root.to_str().and_then(RepositoryAddress::parse).is_some()
    }

    /// The root, if it exists and may be indexed.
    pub(super) fn checked_root(&self, app: &App) -> Result<RepositoryRoot, Fault> {
        AllowedRoots::for_project(&app.config.indexing, &self.project).check(&self.root)
    }
}
