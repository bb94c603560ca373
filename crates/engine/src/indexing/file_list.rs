//! Lists the files of a directory, for commands that look for files of their own in a repository.

use std::path::Path;

use super::file::SkipReason;
use super::file_tree::FileTree;
use super::walk::walk;
use contract::Fault;
use contract::config;
use tenancy::AllowedRoots;

/// The files that an index run would examine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileList {
    /// Paths of the regular files below the root, with `/`, sorted. Ignored, vendored and generated files are omitted.
    pub files: Vec<String>,
    /// Paths that were skipped, such as links, and why; a directory ends in `/`. The first 10,000.
    pub skipped: Vec<(String, SkipReason)>,
    /// Reasons why files may be missing, one sentence each; empty if there are none.
    pub incomplete: Vec<String>,
}

/// Lists the files below `root`, within the limits that `settings` has for walks. Links are not followed. Blocks.
///
/// # Errors
/// `NOT_FOUND` if the root is missing or not a directory, `FORBIDDEN` if it may not be read.
pub fn list_files(root: &Path, settings: &config::Indexing) -> Result<FileList, Fault> {
    let walked = walk(root, &FileTree::Directory, &AllowedRoots::any(), &settings.into(), &|| false)?;
    Ok(FileList {
        files: walked.entries.into_iter().map(|file| file.path).collect(),
        skipped: walked.skipped.into_iter().map(|skipped| (skipped.path, skipped.reason)).collect(),
        incomplete: walked.incomplete,
    })
}
