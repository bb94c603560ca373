//! What a git repository knows of files and lines: who changed them last, how much they change.
//!
//! Everything is read from git's objects as of HEAD; nothing is executed, and the work tree is not touched.
//! All calls block: they belong on blocking threads.

mod repository;

mod line_diff;

mod files;
mod lines;

#[cfg(test)]
mod tests;

use std::time::Duration;

pub use files::{FileHistories, FileHistory};
pub use repository::{Head, History};

/// Where one call gives up.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Commits one call looks at.
    pub commits_max: usize,
    /// The window of the churn: how many of a file's last commits count.
    pub churn_commits: u32,
    /// Bytes of a file's version whose lines are compared. Larger ones count as binary.
    pub blob_bytes_max: usize,
    /// Time of one call.
    pub time: Duration,
}
