//! The files of HEAD, to compare them with others.

use std::collections::BTreeMap;

use gix::ObjectId;

use super::History;
use super::tree_changes::Change;

/// The regular files of HEAD below the root, whose paths are UTF-8.
pub struct CommittedFiles<'a> {
    history: &'a History,
    blobs: BTreeMap<String, ObjectId>,
}

impl History {
    /// Lists the regular files of HEAD below the root. `None` if there is no commit, or if its folders cannot be read.
    #[must_use]
    pub fn committed_files(&self) -> Option<CommittedFiles<'_>> {
        let tree = self.commit(self.head_id()?).and_then(|commit| self.folder_tree(commit.tree));
        let files = tree.and_then(|tree| self.changes(None, tree, &|| false));
        let files =
            files.inspect_err(|error| tracing::debug!(%error, "the files of HEAD could not be listed"));
        let blob = |Change { path, new, .. }| Some((String::from_utf8(Vec::from(path)).ok()?, new?));
        Some(CommittedFiles { history: self, blobs: files.ok()?.into_iter().filter_map(blob).collect() })
    }
}

impl CommittedFiles<'_> {
    /// Checks whether there is a file at `path`.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.blobs.contains_key(path)
    }

    /// Returns the bytes of the file at `path`; `None` if there is no such file, if it has more than `bytes_max` bytes, or cannot be read.
    #[must_use]
    pub fn read(&self, path: &str, bytes_max: usize) -> Option<Vec<u8>> {
        self.history.blob(*self.blobs.get(path)?, bytes_max).ok()?
    }

    /// Returns the paths of all files, sorted.
    pub fn into_paths(self) -> impl Iterator<Item = String> {
        self.blobs.into_keys()
    }
}
