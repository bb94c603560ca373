//! The files of a repository, as far as they see each other.

use languages::symbols::{Body, Interface};

use super::reference::Reference;

/// A file of a repository.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Path relative to the root, with `/`.
    pub path: String,
    /// Id of its language.
    pub language: String,
    /// What others can see of it.
    pub interface: Interface,
}

/// The files of a repository.
pub struct Repository {
    files: Vec<SourceFile>,
}

impl Repository {
    /// A repository with these files; targets number them in this order.
    #[must_use]
    pub fn new(files: Vec<SourceFile>) -> Self {
        Self { files }
    }

    /// Its files.
    #[must_use]
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Resolves the uses of a file, whose other half is `body`. Uses of local names, and of names that are known to be defined
    /// outside of the repository, are left out.
    #[must_use]
    pub fn resolve(&self, _file: u32, _body: &Body) -> Vec<Reference> {
        Vec::new()
    }
}
