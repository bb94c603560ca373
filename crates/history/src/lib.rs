//! Git history of files and lines: their last authors, and how much they change.
//!
//! Everything is read from git's objects as of HEAD; no program is executed, and the work tree is not read. All calls
//! block. [`CommitTree`] reads the files of a commit in the same way. [`SiteRepository`] also writes: trees, commits and branches of a
//! bare repository.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod git_directory;
mod objects;
mod pack_writer;
mod repository;
mod tree_changes;

mod ancestry;
mod checkout;
mod commit_tree;
mod commit_writer;
mod committed_files;
mod line_diff;
mod revision;
mod site_repository;
mod tracked_files;
mod tree_edit;

mod files;
mod line_history;
mod lines;

#[cfg(test)]
mod tests;

pub use checkout::checkout;
pub use commit_tree::{CommitFolder, CommitTree, MIRROR_FILE, distrust_mirror};
pub use commit_writer::CommitWriter;
pub use committed_files::CommittedFiles;
pub use files::{FileHistories, FileHistory};
pub use git_directory::{GitDirectory, NoHistory};
pub use line_history::{LineCommit, LineHistory, LineRun};
pub use lines::AuthorsUnknown;
pub use repository::{FoundRepository, Head, History, Limits};
pub use revision::{FoundCommit, REVISIONS_MAX, Revision, RevisionKind, RevisionPatterns};
pub use site_repository::{
    BranchCreated, ChangedFile, NewCommit, RootEntry, SiteError, SiteRepository, SiteTree,
};
pub use tracked_files::TrackedFiles;
