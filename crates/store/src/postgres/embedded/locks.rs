//! Lock files: opened the same way everywhere, waited for with a deadline.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use contract::Fault;

use super::failure;

/// `flock` has no wait with a deadline, and these waits are short.
const POLL: Duration = Duration::from_millis(5);

/// Opens `path` for appending, making it if need be.
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

/// What root makes in another user's cluster belongs to that user, or the user would be locked out.
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

/// Which kind of lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Shared,
    Exclusive,
}

/// Takes the lock if it is free now.
pub(super) fn try_take(file: &File, kind: Kind) -> io::Result<bool> {
    let taken = match kind {
        Kind::Shared => file.try_lock_shared(),
        Kind::Exclusive => file.try_lock(),
    };
    match taken {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Waits for the lock until `deadline`; `false` when somebody else still has it then.
pub(super) fn take(file: &File, kind: Kind, deadline: Instant) -> io::Result<bool> {
    loop {
        if try_take(file, kind)? {
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
        assert!(try_take(&first, Kind::Shared).unwrap());
        assert!(try_take(&second, Kind::Shared).unwrap());
        assert!(!take(&third, Kind::Exclusive, Instant::now()).unwrap());
        drop((first, second));
        assert!(try_take(&third, Kind::Exclusive).unwrap());
    }
}
