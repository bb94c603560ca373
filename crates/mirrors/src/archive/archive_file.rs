//! The identity of a mirror: the file in it names the archive that it was made from. Its modification time is that of the last use.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::address_file;
use history::MIRROR_FILE;

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArchiveFile {
    /// The path of the archive.
    pub(super) path: String,
    /// Size, times and inode of the archive when it was last read; `None` if it had just been written, and may change again
    /// unnoticed.
    pub(super) identity: Option<String>,
    /// Hash of its content, after the version of the reader, so that a new version imports the archive again.
    pub(super) hash: String,
    /// A note about omitted files.
    pub(super) note: Option<String>,
}

impl ArchiveFile {
    /// Reads the file of a mirror; `None` if the file is missing or malformed.
    pub(super) fn read(git_dir: &Path) -> Option<Self> {
        let text = fs::read_to_string(git_dir.join(MIRROR_FILE)).ok()?;
        let value: Value = serde_json::from_str(&text).ok()?;
        let text = |field: &str| value[field].as_str().map(str::to_owned);
        Some(Self {
            path: text("path")?,
            identity: text("identity"),
            hash: text("hash")?,
            note: text("note"),
        })
    }

    /// Writes the file of a mirror.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn write(&self, git_dir: &Path) -> io::Result<()> {
        let Self { path, identity, hash, note } = self;
        let text = json!({ "path": path, "identity": identity, "hash": hash, "note": note }).to_string();
        address_file::replace(git_dir, &text)
    }
}
