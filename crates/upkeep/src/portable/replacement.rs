//! Atomic replacement of a portable file: the new file is written in the same folder and renamed. A lock file excludes
//! concurrent runs. A killed run leaves the old file intact; the next run removes its unfinished files.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use contract::{ErrorCode, Fault};
use platform::failpoints;
use platform::sha256;
use store::portable::is_portable;

/// A replacement in progress; dropping it releases the lock and removes unfinished files.
pub(super) struct Replacement {
    target: PathBuf,
    new_file: PathBuf,
    compacted_file: PathBuf,
    _lock: File,
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
        let lock = File::create(hidden_file("lock")).map_err(write_fault)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Fault::new(ErrorCode::IllegalState, "Another run is writing this file.")
                    .with_hint("Wait until it is done and run again."));
            }
            Err(TryLockError::Error(error)) => return Err(write_fault(error)),
        }
        let replacement = Self {
            target: target.to_owned(),
            new_file: hidden_file("part"),
            compacted_file: hidden_file("smaller"),
            _lock: lock,
        };
        replacement.remove_unfinished();
        Ok(replacement)
    }

    /// Path of the new file until it is complete.
    pub(super) fn new_file(&self) -> &Path {
        &self.new_file
    }

    /// Path of the compacted copy of the new file.
    pub(super) fn compacted_file(&self) -> &Path {
        &self.compacted_file
    }

    /// Replaces the target with `complete`, and syncs file and folder.
    pub(super) fn commit(&self, complete: &Path) -> Result<(), Fault> {
        File::open(complete).and_then(|file| file.sync_all()).map_err(write_fault)?;
        failpoints::reach("sqlite.written");
        fs::rename(complete, &self.target).map_err(write_fault)?;
        let folder = self.target.parent().unwrap_or(Path::new("/"));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(write_fault)
    }

    /// Keeps the target as `<name>.bak`.
    pub(super) fn keep_backup(&self) -> Result<PathBuf, Fault> {
        let mut name = self.target.clone().into_os_string();
        name.push(".bak");
        let backup = PathBuf::from(name);
        if fs::symlink_metadata(&backup).is_ok() {
            fs::remove_file(&backup).map_err(write_fault)?;
        }
        // Not every file system supports hard links.
        fs::hard_link(&self.target, &backup)
            .or_else(|_| fs::copy(&self.target, &backup).map(drop))
            .map_err(write_fault)?;
        Ok(backup)
    }

    fn remove_unfinished(&self) {
        for file in [&self.new_file, &self.compacted_file] {
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

/// The fault for a failed read or write of a portable file.
pub(super) fn write_fault(error: std::io::Error) -> Fault {
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
