//! Writes, updates and compacts portable index files.

mod replacement;

mod build;

mod artifact;
mod compact;

pub use artifact::{Artifact, ArtifactRequest, require_within, write_artifact};
pub use build::{BuildReport, BuildRequest, IndexPart, build_portable, portable_file_name};
pub use compact::{CompactReport, CompactRequest, compact_portable};
