//! A file that is written beside its target and renamed when it is complete.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The unfinished file beside the target; removed when dropped, unless it was renamed.
pub(crate) struct PartialFile(PathBuf);

impl PartialFile {
    pub(crate) fn beside(file: &Path) -> Self {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        Self(file.with_file_name(name))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Renames it to its target.
    pub(crate) fn rename_to(&self, target: &Path) -> io::Result<()> {
        fs::rename(&self.0, target)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // The file no longer exists if it was renamed to the target.
        if let Err(error) = fs::remove_file(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "an unfinished file was left behind");
        }
    }
}
