//! Lock files: how they are opened, and locking with a deadline.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use contract::Fault;

use super::failure;

/// Interval between attempts: `flock` has no timeout, and these waits are short.
const POLL: Duration = Duration::from_millis(5);

/// Opens `path` for appending; creates it if it does not exist.
pub(super) fn open(path: &Path) -> Result<File, Fault> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .read(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| failure::io("open a file of its own", path, error))?;
    keep_owner(path, &file).map_err(|error| failure::io("open a file of its own", path, error))?;
    Ok(file)
}

/// Gives a file that root created in another user's cluster to that user, who would be locked out otherwise.
fn keep_owner(path: &Path, file: &File) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let Some(parent) = path.parent() else { return Ok(()) };
    let directory = fs::metadata(parent)?;
    if directory.uid() == file.metadata()?.uid() {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(directory.uid()), Some(directory.gid()))
}

/// Shared or exclusive, as with `flock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockKind {
    Shared,
    Exclusive,
}

/// Acquires the lock if it is free now; `false` if it is not.
pub(super) fn try_acquire(file: &File, kind: LockKind) -> io::Result<bool> {
    let result = match kind {
        LockKind::Shared => file.try_lock_shared(),
        LockKind::Exclusive => file.try_lock(),
    };
    match result {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Waits for the lock until `deadline`; `false` if another process still holds it then.
pub(super) fn acquire(file: &File, kind: LockKind, deadline: Instant) -> io::Result<bool> {
    loop {
        if try_acquire(file, kind)? {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exclusive_lock_waits_for_the_shared_ones() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let (first, second, third) = (open(&path).unwrap(), open(&path).unwrap(), open(&path).unwrap());
        assert!(try_acquire(&first, LockKind::Shared).unwrap());
        assert!(try_acquire(&second, LockKind::Shared).unwrap());
        assert!(!acquire(&third, LockKind::Exclusive, Instant::now()).unwrap());
        drop((first, second));
        // A process that another test is just starting shares their open files for a moment.
        let deadline = Instant::now() + Duration::from_secs(10);
        assert!(acquire(&third, LockKind::Exclusive, deadline).unwrap());
    }
}
