//! Exclusive locks on open files.

use std::fs::{File, TryLockError};
use std::io;
use std::ops::Deref;

/// An open file and the exclusive lock on it, which is released when the value is dropped, even if copies of the open file remain.
///
/// Closing the file would not be enough: a child process that another thread is just starting shares the open file until it runs its
/// program, and with it the lock.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Locks the file if no lock on it is held; returns `None` otherwise.
    ///
    /// # Errors
    /// If the file system cannot lock.
    pub fn try_new(file: File) -> io::Result<Option<Self>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Deref for FileLock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_lock_is_free_although_a_copy_of_the_open_file_lives() {
        let folder = tempfile::tempdir().unwrap();
        let open = || File::create(folder.path().join("lock")).unwrap();
        let held = FileLock::try_new(open()).unwrap().unwrap();
        // As a child process has one before it runs its program.
        let _copy = held.try_clone().unwrap();
        assert!(FileLock::try_new(open()).unwrap().is_none());
        drop(held);
        assert!(FileLock::try_new(open()).unwrap().is_some());
    }
}
