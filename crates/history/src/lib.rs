//! What a git repository knows of files and lines: who changed them last, how much they change.
//!
//! Everything is read from git's objects as of HEAD; nothing is executed, and the work tree is not touched.
//! All calls block: they belong on blocking threads.

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
