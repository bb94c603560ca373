//! The lock of a mirror, which runs and processes take in turn.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use contract::{ErrorCode, Fault};
use platform::file_lock::FileLock;

/// Time between two attempts.
const POLL: Duration = Duration::from_millis(50);

/// Holds the lock until it is dropped, or the process ends.
pub(super) struct MirrorLock {
    _file: FileLock,
}

impl MirrorLock {
    /// Waits for the lock while another run fetches the same repository.
    ///
    /// # Errors
    /// `CANCELLED`; `INTERNAL` if the file cannot be locked.
    pub(super) fn wait(path: &Path, must_stop: &dyn Fn() -> bool) -> Result<Self, Fault> {
        loop {
            if let Some(lock) = Self::try_now(path)? {
                return Ok(lock);
            }
            if must_stop() {
                return Err(Fault::new(
                    ErrorCode::Cancelled,
                    "Waiting for another run's fetch was cancelled.",
                ));
            }
            thread::sleep(POLL);
        }
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// `INTERNAL` if the file cannot be locked.
    pub(super) fn try_now(path: &Path) -> Result<Option<Self>, Fault> {
        let unusable =
            |error: std::io::Error| Fault::internal("The lock of a mirror could not be taken.", error);
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(unusable)?;
        let lock = FileLock::try_new(file).map_err(unusable)?;
        // If the mirror was removed meanwhile, so was this file: then it locks nothing.
        Ok(lock.filter(|file| is_at(file, path)).map(|file| Self { _file: file }))
    }
}

/// Returns `true` if the open file is the one at the path.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let open = file.metadata().map(identity).ok();
    open.is_some() && open == path.metadata().map(identity).ok()
}
