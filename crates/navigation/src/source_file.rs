//! A file of a repository, as it is given to this package.

use std::sync::Arc;

use super::known_interface::KnownInterface;

/// A file of a repository.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Path relative to the root, with `/`.
    pub path: String,
    /// Id of its language.
    pub language: String,
    /// The part of it that others can see.
    pub interface: Arc<KnownInterface>,
}
