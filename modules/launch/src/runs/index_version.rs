//! The state of an index at one time, and what of it differs from the commit of a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use platform::sha256;
use store::{FileRow, RepositoryRow, RepositoryState};

/// The state of an index at one time. Equal states have equal contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexVersion {
    pub(super) commit: Option<String>,
    pub(super) is_ready: bool,
    /// Hash over the paths and the contents of all files.
    pub(super) content: [u8; 32],
}

impl IndexVersion {
    /// The state of an index with this row and these files.
    pub(super) fn of(row: Option<&RepositoryRow>, files: &[FileRow]) -> Self {
        let content = files.iter().fold([0_u8; 32], |before, file| {
            let separator = [0_u8];
            let parts =
                [before.as_slice(), file.path.as_bytes(), separator.as_slice(), file.content_hash.as_slice()];
            sha256::digest(&parts.concat())
        });
        Self {
            commit: row.and_then(|row| row.commit.clone()),
            is_ready: row.is_some_and(|row| row.state == RepositoryState::Ready),
            content,
        }
    }
}

/// The files of an index that differ from those of a commit.
#[derive(Clone)]
pub(super) struct Differing {
    pub(super) version: IndexVersion,
    pub(super) paths: Arc<BTreeSet<String>>,
}
