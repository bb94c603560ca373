//! Location of a repository's files: in a directory, or in a commit of a mirror. All callers read both alike.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use history::{CommitFolder, CommitTree, Head, distrust_mirror};
use platform::safe_open::{DirectoryEntry, EntryKind, FileMetadata, Folder, ReadError};

use super::file::root_fault;
use contract::{ErrorCode, Fault, escaped_line};

/// Source of a repository's files for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileTree {
    /// In the directory that is the root.
    Directory,
    /// In a commit of a bare repository of this program.
    Commit {
        /// The bare repository.
        git_dir: PathBuf,
        /// The commit, and the branch of it.
        head: Head,
        /// The path of the folder in it that is the root; empty for all of it.
        folder: String,
    },
}

impl FileTree {
    /// Opens the folder that contains all files.
    ///
    /// # Errors
    /// Those of [`root_fault`] for a directory; `ILLEGAL_STATE` if the mirror has no such commit, `NOT_FOUND` if that has no such
    /// folder.
    pub(super) fn open(&self, root: &Path) -> Result<TreeFolder, Fault> {
        let mut opened = self.open_from_top(root)?;
        opened.pop().ok_or_else(|| root_fault(io::ErrorKind::NotFound.into()))
    }

    /// Opens the folders of the commit above the root, from the top; none of a directory.
    pub(super) fn open_above(&self, root: &Path) -> Result<Vec<TreeFolder>, Fault> {
        let mut opened = self.open_from_top(root)?;
        opened.pop();
        Ok(opened)
    }

    fn open_from_top(&self, root: &Path) -> Result<Vec<TreeFolder>, Fault> {
        let Self::Commit { git_dir, head, folder } = self else {
            return Ok(vec![Folder::open(root).map(TreeFolder::Disk).map_err(root_fault)?]);
        };
        let top = CommitTree::open(git_dir, &head.commit).and_then(|tree| tree.root());
        let mut opened = vec![TreeFolder::Commit(top.map_err(unreadable_commit)?)];
        for name in folder.split('/').filter(|name| !name.is_empty()) {
            let Some(parent) = opened.last() else { break };
            let child = parent.open_folder(name).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                    let message = format!("The repository has no folder `{}`.", escaped_line(folder));
                    Fault::new(ErrorCode::NotFound, message)
                        .with_hint("Check the part of the address after `//`.")
                }
                _ => unreadable_commit(error),
            })?;
            opened.push(child);
        }
        Ok(opened)
    }

    /// Makes the next run fetch the mirror anew, because it cannot be read completely.
    pub(super) fn distrust(&self) {
        if let Self::Commit { git_dir, .. } = self {
            distrust_mirror(git_dir);
        }
    }
}

fn unreadable_commit(error: io::Error) -> Fault {
    Fault::new(ErrorCode::IllegalState, "The commit cannot be read from the mirror of the repository.")
        .with_hint("Index the repository again, which fetches it.")
        .with_source(error)
}

/// Time within which two changes of a file may have the same modification time: the coarsest file systems count in two seconds, and all of
/// them in ticks of some milliseconds.
const TIME_STEP_NS: i64 = 2_000_000_000;

/// Returns whether a file that was read at `now_ns` may have changed since without a new modification time.
fn is_unsettled(modified_ns: i64, now_ns: i64) -> bool {
    now_ns.saturating_sub(modified_ns).saturating_abs() < TIME_STEP_NS
}

/// Returns the size and time to store with a file. A time that is too recent to prove anything is stored one nanosecond early, so that the
/// next run reads the file again.
fn stamp_to_store(metadata: FileMetadata, now_ns: i64) -> FileMetadata {
    let early = i64::from(is_unsettled(metadata.modified_ns, now_ns));
    FileMetadata { modified_ns: metadata.modified_ns.saturating_sub(early), ..metadata }
}

/// Returns the nanoseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "it is compared with times of the file system, which no test replaces"
)]
fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A folder of a repository.
#[derive(Debug)]
pub(super) enum TreeFolder {
    /// On disk.
    Disk(Folder),
    /// In a commit.
    Commit(CommitFolder),
}

impl TreeFolder {
    /// Opens the subdirectory `name`.
    ///
    /// # Errors
    /// The system's error; a link is `NotADirectory`.
    pub(super) fn open_folder(&self, name: &str) -> io::Result<Self> {
        match self {
            Self::Disk(folder) => folder.open_folder(name).map(Self::Disk),
            Self::Commit(folder) => folder.open_folder(OsStr::new(name)).map(Self::Commit),
        }
    }

    /// Returns the entries, unsorted, up to `entries_max`, and whether these are all.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn entries(&self, entries_max: usize) -> io::Result<(Vec<DirectoryEntry>, bool)> {
        match self {
            Self::Disk(folder) => folder.entries(entries_max),
            Self::Commit(folder) => Ok(folder.entries(entries_max)),
        }
    }

    /// Returns the type of the entry `name`, or `None` if it does not exist.
    pub(super) fn entry_kind(&self, name: &str) -> Option<EntryKind> {
        match self {
            Self::Disk(folder) => folder.entry_kind(name),
            Self::Commit(folder) => folder.entry_kind(name),
        }
    }

    /// Returns the size of the file `name`, and a number that changes with it: on disk its modification time.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn metadata(&self, name: &OsStr) -> io::Result<FileMetadata> {
        match self {
            Self::Disk(folder) => folder.metadata(name),
            Self::Commit(folder) => folder.metadata(name),
        }
    }

    /// Reads the regular file at `path`, if it has at most `bytes_max` bytes.
    ///
    /// # Errors
    /// [`ReadError`].
    pub(super) fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, ReadError> {
        self.read_with_metadata(path, bytes_max).1
    }

    /// As [`read`](Self::read), with the result of [`metadata`](Self::metadata); `None` if no file was opened.
    pub(super) fn read_with_metadata(
        &self,
        path: &str,
        bytes_max: u64,
    ) -> (Option<FileMetadata>, Result<Vec<u8>, ReadError>) {
        match self {
            Self::Disk(folder) => {
                let (metadata, read) = folder.read_with_metadata(path, bytes_max);
                let now_ns = now_ns();
                (metadata.map(|metadata| stamp_to_store(metadata, now_ns)), read)
            }
            Self::Commit(folder) => folder.read_with_metadata(path, bytes_max),
        }
    }

    /// Returns whether the file `name` begins with these bytes.
    pub(super) fn begins_with(&self, name: &str, bytes: &[u8]) -> bool {
        match self {
            Self::Disk(folder) => {
                let mut start = vec![0; bytes.len()];
                folder.open_file(name).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
                    && start == bytes
            }
            Self::Commit(folder) => {
                /// Largest file that is read for its beginning.
                const READ_BYTES_MAX: u64 = 64 << 10;
                let read = folder.read_with_metadata(name, READ_BYTES_MAX).1;
                read.is_ok_and(|content| content.starts_with(bytes))
            }
        }
    }

    /// Returns whether this directory is in procfs or sysfs.
    pub(super) fn is_kernel_file_system(&self) -> bool {
        match self {
            Self::Disk(folder) => folder.is_kernel_file_system(),
            Self::Commit(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two changes within one tick of the file system's clock have the same time, and may have the same size.
    #[test]
    fn a_file_that_was_just_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.rs"), "fn a() {}").unwrap();
        let root = FileTree::Directory.open(folder.path()).unwrap();
        let stored = root.read_with_metadata("a.rs", 100).0.unwrap();
        let walked = root.metadata(OsStr::new("a.rs")).unwrap();
        assert_eq!(stored.modified_ns, walked.modified_ns - 1, "another run compares the content");
        let later = walked.modified_ns + TIME_STEP_NS;
        assert_eq!(stamp_to_store(walked, later), walked, "now the time proves something");
        let future = FileMetadata { modified_ns: later + TIME_STEP_NS, ..walked };
        assert_eq!(
            stamp_to_store(future, later),
            future,
            "a wrong clock does not make every run read the file"
        );
    }
}
