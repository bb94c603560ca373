//! A file is made beside the one it replaces, by one run at a time: a kill leaves the old one whole, and the next run takes
//! away what the killed one left.

use std::fs::{self, File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use contract::{ErrorCode, Fault};
use platform::failpoints;
use store::portable::is_portable;

/// The right to replace a file, held until it is dropped.
pub(super) struct Aside {
    target: PathBuf,
    parts: [PathBuf; 2],
    _lock: File,
}

impl Aside {
    /// Takes the right; makes the folder.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` when another run has it, or when something else stands at `target`; `STORAGE_UNAVAILABLE` when the
    /// folder cannot be written.
    pub(super) fn take(target: &Path) -> Result<Self, Fault> {
        let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(Fault::new(ErrorCode::InvalidRequest, "The path names no file."));
        };
        fs::create_dir_all(folder).map_err(unwritable)?;
        if fs::symlink_metadata(target).is_ok() && !is_portable(target) {
            return Err(Fault::new(
                ErrorCode::IllegalState,
                "Another kind of file has this name; it was left alone.",
            )
            .with_hint("Name another file, or remove that one."));
        }
        let beside = |ending: &str| folder.join(format!(".{}.{ending}", name.to_string_lossy()));
        let lock = File::create(beside("lock")).map_err(unwritable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Fault::new(ErrorCode::IllegalState, "Another run is writing this file.")
                    .with_hint("Wait until it is done and run again."));
            }
            Err(TryLockError::Error(error)) => return Err(unwritable(error)),
        }
        let aside =
            Self { target: target.to_owned(), parts: [beside("part"), beside("smaller")], _lock: lock };
        aside.clean();
        Ok(aside)
    }

    /// Where the new file is made.
    pub(super) fn part(&self) -> &Path {
        &self.parts[0]
    }

    /// Where a smaller copy of it is made.
    pub(super) fn smaller(&self) -> &Path {
        &self.parts[1]
    }

    /// Puts a complete file in the place of the old one.
    pub(super) fn swap(&self, made: &Path) -> Result<(), Fault> {
        File::open(made).and_then(|file| file.sync_all()).map_err(unwritable)?;
        failpoints::reach("sqlite.written");
        fs::rename(made, &self.target).map_err(unwritable)?;
        let folder = self.target.parent().unwrap_or(Path::new("/"));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(unwritable)
    }

    /// Keeps the file that will be replaced beside it, as `<name>.bak`.
    pub(super) fn keep_backup(&self) -> Result<PathBuf, Fault> {
        let mut name = self.target.clone().into_os_string();
        name.push(".bak");
        let backup = PathBuf::from(name);
        if fs::symlink_metadata(&backup).is_ok() {
            fs::remove_file(&backup).map_err(unwritable)?;
        }
        // Where the disk knows no links, a copy does.
        fs::hard_link(&self.target, &backup)
            .or_else(|_| fs::copy(&self.target, &backup).map(drop))
            .map_err(unwritable)?;
        Ok(backup)
    }

    fn clean(&self) {
        for part in &self.parts {
            // Mostly there is nothing to remove; what cannot be removed fails the write that follows.
            let _ = fs::remove_file(part);
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.clean();
    }
}

/// A fault of the disk.
pub(super) fn unwritable(error: std::io::Error) -> Fault {
    Fault::new(
        ErrorCode::StorageUnavailable,
        format!("The portable file cannot be written: {}.", error.kind()),
    )
    .with_hint("Check its folder, its permissions and the disk.")
    .with_source(error)
}

/// Size and SHA-256 of a file.
pub(super) fn measured(path: &Path) -> Result<(u64, String), Fault> {
    let mut file = File::open(path).map_err(unwritable)?;
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 20]);
    loop {
        let read = file.read(&mut buffer).map_err(unwritable)?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        bytes += read as u64;
    }
    Ok((bytes, hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// Runs work on files where it may block.
pub(super) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Fault::internal("Work on a portable file failed unexpectedly.", error)),
    }
}
