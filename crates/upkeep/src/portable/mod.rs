//! Portable index files: written from a project's rows, updated, compacted.

mod replacement;

mod build;
mod compact;

pub use build::{BuildReport, BuildRequest, IndexPart, build_portable, portable_file_name};
pub use compact::{CompactReport, CompactRequest, compact_portable};
