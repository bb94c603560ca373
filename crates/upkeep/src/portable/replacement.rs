//! Atomic replacement of a file: the new one is written beside the old one and renamed. One run at a time replaces a file; a
//! killed run leaves the old file complete, and the next run removes what the killed one left.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use contract::{ErrorCode, Fault};
use platform::failpoints;
use platform::sha256;
use store::portable::is_portable;

/// A replacement under way; dropping it ends the lock and removes unfinished files.
pub(super) struct Replacement {
    target: PathBuf,
    parts: [PathBuf; 2],
    _lock: File,
}

impl Replacement {
    /// Locks the target for this run; creates its folder if missing.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` when another run replaces it, or when `target` is not a portable file; `STORAGE_UNAVAILABLE` when the
    /// folder cannot be written.
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
        let beside = |ending: &str| folder.join(format!(".{}.{ending}", name.to_string_lossy()));
        let lock = File::create(beside("lock")).map_err(write_fault)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Fault::new(ErrorCode::IllegalState, "Another run is writing this file.")
                    .with_hint("Wait until it is done and run again."));
            }
            Err(TryLockError::Error(error)) => return Err(write_fault(error)),
        }
        let replacement =
            Self { target: target.to_owned(), parts: [beside("part"), beside("smaller")], _lock: lock };
        replacement.clean();
        Ok(replacement)
    }

    /// Path of the new file until it is complete.
    pub(super) fn part(&self) -> &Path {
        &self.parts[0]
    }

    /// Path of the compacted copy of the new file.
    pub(super) fn smaller(&self) -> &Path {
        &self.parts[1]
    }

    /// Replaces the target with a complete file, and syncs file and folder.
    pub(super) fn commit(&self, made: &Path) -> Result<(), Fault> {
        File::open(made).and_then(|file| file.sync_all()).map_err(write_fault)?;
        failpoints::reach("sqlite.written");
        fs::rename(made, &self.target).map_err(write_fault)?;
        let folder = self.target.parent().unwrap_or(Path::new("/"));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(write_fault)
    }

    /// Keeps the file that will be replaced beside it, as `<name>.bak`.
    pub(super) fn keep_backup(&self) -> Result<PathBuf, Fault> {
        let mut name = self.target.clone().into_os_string();
        name.push(".bak");
        let backup = PathBuf::from(name);
        if fs::symlink_metadata(&backup).is_ok() {
            fs::remove_file(&backup).map_err(write_fault)?;
        }
        // Not every file system has hard links.
        fs::hard_link(&self.target, &backup)
            .or_else(|_| fs::copy(&self.target, &backup).map(drop))
            .map_err(write_fault)?;
        Ok(backup)
    }

    fn clean(&self) {
        for part in &self.parts {
            // Usually there is none; if one cannot be removed, writing it fails later with a proper error.
            let _ = fs::remove_file(part);
        }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        self.clean();
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

/// Size in bytes and SHA-256 of a file, which is read whole. Blocks.
pub(super) fn measure(path: &Path) -> Result<(u64, String), Fault> {
    let file = File::open(path).map_err(write_fault)?;
    let (sha256, bytes) = sha256::hash_reader(file, |_| ()).map_err(write_fault)?;
    Ok((bytes, sha256))
}
