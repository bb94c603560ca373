//! Git history of files and lines: who changed them last, and how much they change.
//!
//! Everything is read from git's objects as of HEAD; no program is executed, and the work tree is not read. All calls block.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod place;
mod repository;
mod tree_changes;

mod checkout;
mod line_diff;

mod files;
mod lines;

#[cfg(test)]
mod tests;

pub use checkout::checkout;
pub use files::{FileHistories, FileHistory};
pub use lines::{LineAuthors, Unknown};
pub use place::{NoHistory, Place};
pub use repository::{Found, Head, History, Limits};
