//! Atomic replacement of a portable file: the new file is written in the same folder and renamed. A lock file excludes
//! concurrent runs. A killed run leaves the old file intact; the next run removes its unfinished files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use contract::{ErrorCode, Fault};
use platform::failpoints;
use platform::file_lock::FileLock;
use platform::sha256;
use store::portable::{checksum_path, is_portable};

/// A replacement in progress; dropping it releases the lock and removes unfinished files.
pub(super) struct Replacement {
    target: PathBuf,
    new_file: PathBuf,
    compacted_file: PathBuf,
    new_checksum: PathBuf,
    _lock: FileLock,
}

impl Replacement {
    /// Locks the target; creates its folder if missing.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if another run has locked it, or if `target` is not a portable file; `STORAGE_UNAVAILABLE` if
    /// the folder is not writable.
    pub(super) fn begin(target: &Path) -> Result<Self, Fault> {
        let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(Fault::new(ErrorCode::InvalidRequest, "The path does not name a file."));
        };
        fs::create_dir_all(folder).map_err(write_fault)?;
        if fs::symlink_metadata(target).is_ok() && !is_portable(target) {
            return Err(Fault::new(
                ErrorCode::IllegalState,
                "The file exists and is not a portable index file; it was not changed.",
            )
            .with_hint("Name another file, or remove that one."));
        }
        let hidden_file = |suffix: &str| folder.join(format!(".{}.{suffix}", name.to_string_lossy()));
        let lock = open_lock(&hidden_file("lock")).map_err(write_fault)?;
        let Some(lock) = FileLock::try_new(lock).map_err(write_fault)? else {
            return Err(Fault::new(ErrorCode::IllegalState, "Another run is writing this file.")
                .with_hint("Wait until it is done and run again."));
        };
        let replacement = Self {
            target: target.to_owned(),
            new_file: hidden_file("part"),
            compacted_file: hidden_file("smaller"),
            new_checksum: hidden_file("sha256"),
            _lock: lock,
        };
        replacement.remove_unfinished();
        Ok(replacement)
    }

    /// Returns the path of the new file until it is complete.
    pub(super) fn new_file(&self) -> &Path {
        &self.new_file
    }

    /// Returns the path of the compacted copy of the new file.
    pub(super) fn compacted_file(&self) -> &Path {
        &self.compacted_file
    }

    /// Replaces the target with `complete`, and syncs file and folder.
    pub(super) fn commit(&self, complete: &Path) -> Result<(), Fault> {
        sync(complete)?;
        failpoints::reach("sqlite.written");
        fs::rename(complete, &self.target).map_err(write_fault)?;
        self.sync_folder()
    }

    /// Like [`commit`](Self::commit), with the checksum of the file beside it, in the form of `sha256sum`. Returns size in bytes and
    /// SHA-256. Blocks.
    pub(super) fn commit_with_checksum(&self, complete: &Path) -> Result<(u64, String), Fault> {
        sync(complete)?;
        let (bytes, sha256) = measure(complete)?;
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        write_new(&self.new_checksum, format!("{sha256}  {name}\n").as_bytes()).map_err(write_fault)?;
        let checksum = checksum_path(&self.target);
        // If the process dies in between, the new file must not be beside the checksum of the old one.
        remove_if_present(&checksum).map_err(write_fault)?;
        failpoints::reach("sqlite.written");
        fs::rename(complete, &self.target).map_err(write_fault)?;
        fs::rename(&self.new_checksum, &checksum).map_err(write_fault)?;
        self.sync_folder()?;
        Ok((bytes, sha256))
    }

    fn sync_folder(&self) -> Result<(), Fault> {
        sync(self.target.parent().unwrap_or(Path::new("/")))
    }

    /// Keeps the target as `<name>.bak`.
    pub(super) fn keep_backup(&self) -> Result<PathBuf, Fault> {
        let mut name = self.target.clone().into_os_string();
        name.push(".bak");
        let backup = PathBuf::from(name);
        remove_if_present(&backup).map_err(write_fault)?;
        // Not every file system supports hard links.
        fs::hard_link(&self.target, &backup)
            .or_else(|_| fs::copy(&self.target, &backup).map(drop))
            .map_err(write_fault)?;
        Ok(backup)
    }

    fn remove_unfinished(&self) {
        for file in [&self.new_file, &self.compacted_file, &self.new_checksum] {
            // Usually it does not exist. If it cannot be removed, writing it fails later with an error.
            let _ = fs::remove_file(file);
        }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        self.remove_unfinished();
    }
}

/// Opens the lock file; creates it if it is missing. Another user may have put something else there: links are not followed, nothing is
/// truncated, and pipes do not block.
fn open_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file: File = rustix::fs::open(path, flags, Mode::from_raw_mode(0o666))?.into();
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "the lock is not a regular file"))
    }
}

/// Syncs a file or a folder.
fn sync(path: &Path) -> Result<(), Fault> {
    File::open(path).and_then(|opened| opened.sync_all()).map_err(write_fault)
}

fn remove_if_present(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Writes and syncs a file that does not exist.
fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Returns the fault for a failed read or write of a portable file.
pub(super) fn write_fault(error: io::Error) -> Fault {
    Fault::new(
        ErrorCode::StorageUnavailable,
        format!("The portable file cannot be written: {}.", error.kind()),
    )
    .with_hint("Check its folder, its permissions and the disk.")
    .with_source(error)
}

/// Returns size in bytes and SHA-256 of a file. Reads the whole file; blocks.
pub(super) fn measure(path: &Path) -> Result<(u64, String), Fault> {
    let file = File::open(path).map_err(write_fault)?;
    let (sha256, bytes) = sha256::hash_reader(file, |_| ()).map_err(write_fault)?;
    Ok((bytes, sha256))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_lock_is_a_regular_file_that_is_not_changed() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (target, lock) = (folder.path().join("a.sqlite"), folder.path().join(".a.sqlite.lock"));
        let begin = || Replacement::begin(&target).map(drop).map_err(|fault| fault.code);
        let precious = outside.path().join("precious");
        fs::write(&precious, "content").unwrap();
        symlink(&precious, &lock).unwrap();
        assert_eq!(begin(), Err(ErrorCode::StorageUnavailable));
        assert_eq!(fs::read_to_string(&precious).unwrap(), "content");
        fs::remove_file(&lock).unwrap();
        symlink(outside.path().join("new"), &lock).unwrap();
        assert_eq!(begin(), Err(ErrorCode::StorageUnavailable));
        assert!(!outside.path().join("new").exists(), "nothing is made where a link leads");
        fs::remove_file(&lock).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &lock, Mode::RWXU).unwrap();
        assert_eq!(begin(), Err(ErrorCode::StorageUnavailable), "and it did not wait");
        // The lock is refused even if a reader has the pipe open.
        let reader = rustix::fs::open(&lock, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
        assert_eq!(begin(), Err(ErrorCode::StorageUnavailable));
        drop(reader);
        fs::remove_file(&lock).unwrap();
        fs::hard_link(&precious, &lock).unwrap();
        assert_eq!(begin(), Ok(()));
        assert_eq!(fs::read_to_string(&precious).unwrap(), "content");
    }

    #[test]
    fn file_and_checksum_are_replaced_together() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.sqlite");
        let checksum = checksum_path(&target);
        assert!(checksum.ends_with("a.sqlite.sha256"));
        for round in 0..2 {
            // The header of a portable file.
            let mut content = [round; 100];
            content[68..72].copy_from_slice(b"POCI");
            let before = fs::read(&checksum).ok();
            // A failed build.
            let replacement = Replacement::begin(&target).unwrap();
            assert!(Replacement::begin(&target).is_err(), "it is locked");
            fs::write(replacement.new_file(), "unfinished").unwrap();
            drop(replacement);
            assert_eq!(fs::read(&checksum).ok(), before, "{round}");

            let replacement = Replacement::begin(&target).unwrap();
            fs::write(replacement.new_file(), content).unwrap();
            let (bytes, sha256) = replacement.commit_with_checksum(replacement.new_file()).unwrap();
            drop(replacement);
            assert_eq!(measure(&target).unwrap(), (bytes, sha256.clone()));
            let line = format!("{sha256}  a.sqlite\n");
            assert_eq!(fs::read_to_string(&checksum).unwrap(), line, "as sha256sum writes it");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "file, checksum and lock");
        }
        // If a file cannot be replaced, it stays with its checksum.
        let before = measure(&target).unwrap();
        fs::remove_file(&checksum).unwrap();
        fs::create_dir(&checksum).unwrap();
        let replacement = Replacement::begin(&target).unwrap();
        fs::write(replacement.new_file(), "new").unwrap();
        assert!(replacement.commit_with_checksum(replacement.new_file()).is_err());
        assert_eq!(measure(&target).unwrap(), before);
    }
}
