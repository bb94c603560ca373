//! The lock of a mirror, which runs and processes take in turn.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use contract::{ErrorCode, Fault};

/// Time between two attempts.
const POLL: Duration = Duration::from_millis(50);

/// Holds the lock until it is dropped, or the process ends.
pub(super) struct MirrorLock {
    _file: File,
}

impl MirrorLock {
    /// Waits for the lock, as long as another run fetches the same repository.
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
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            // Whoever removed the mirror meanwhile removed the file as well: then it locks nothing.
            Ok(()) if is_at(&file, path) => Ok(Some(Self { _file: file })),
            Ok(()) => Ok(None),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(unusable(error.into())),
        }
    }
}

/// Whether the open file is the one at the path.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let open = file.metadata().map(identity).ok();
    open.is_some() && open == path.metadata().map(identity).ok()
}
