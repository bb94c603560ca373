//! Detects that no process uses the cluster any more, and measures for how long.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::locks::{self, LockKind};

/// Watches `users.lock`. Every user of the cluster holds it shared, so a successful exclusive lock means that there are none.
#[derive(Debug)]
pub(super) struct Idleness {
    path: PathBuf,
    file: File,
    /// The time that the cluster must be unused before it is stopped.
    linger: Duration,
    unused_since: Option<Instant>,
}

/// Result of a check.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Users {
    /// A process uses the cluster, or did within the linger time.
    Present,
    /// No process has used it for the whole linger time. The lock is now held exclusively, so that new users wait until the
    /// supervisor has exited.
    Gone,
    /// The cluster's directory was deleted or replaced.
    DirectoryGone,
}

impl Idleness {
    pub(super) fn new(path: &Path, file: File, linger: Duration) -> Self {
        Self { path: path.to_path_buf(), file, linger, unused_since: None }
    }

    /// Records a use of the cluster in the lock file, because the user may have left before the supervisor checks again.
    pub(super) fn record_use(mut users: &File) {
        // Without the mark (on a full disk) the cluster merely stops earlier.
        let _ = io::Write::write_all(&mut users, b".");
    }

    /// Checks the lock once.
    pub(super) fn check(&mut self) -> Users {
        if !self.directory_is_there() {
            return Users::DirectoryGone;
        }
        if !locks::try_acquire(&self.file, LockKind::Exclusive).unwrap_or(false) {
            self.unused_since = None;
            return Users::Present;
        }
        let marked = self.file.metadata().is_ok_and(|metadata| metadata.len() > 0);
        if marked {
            let _ = self.file.set_len(0);
            self.unused_since = None;
        }
        let unused_since = *self.unused_since.get_or_insert_with(Instant::now);
        if unused_since.elapsed() >= self.linger {
            return Users::Gone;
        }
        let _ = self.file.unlock();
        Users::Present
    }

    fn directory_is_there(&self) -> bool {
        let (Ok(there), Ok(held)) = (fs::metadata(&self.path), self.file.metadata()) else { return false };
        (there.dev(), there.ino()) == (held.dev(), held.ino())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(path: &Path, linger: Duration) -> Idleness {
        Idleness::new(path, locks::open(path).unwrap(), linger)
    }

    #[test]
    fn lingers_after_a_visit_between_two_checks() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users.lock");
        let mut idleness = watch(&path, Duration::from_secs(3600));
        assert_eq!(idleness.check(), Users::Present);
        let first = idleness.unused_since.unwrap();

        let visitor = locks::open(&path).unwrap();
        assert!(locks::try_acquire(&visitor, LockKind::Shared).unwrap());
        Idleness::record_use(&visitor);
        drop(visitor);

        assert_eq!(idleness.check(), Users::Present);
        assert!(idleness.unused_since.unwrap() > first, "the visit restarts the linger time");
    }

    #[test]
    fn keeps_new_users_out_once_the_linger_time_is_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users.lock");
        let mut idleness = watch(&path, Duration::ZERO);
        let newcomer = locks::open(&path).unwrap();
        assert!(locks::try_acquire(&newcomer, LockKind::Shared).unwrap());
        assert_eq!(idleness.check(), Users::Present);
        newcomer.unlock().unwrap();
        assert_eq!(idleness.check(), Users::Gone);
        assert!(!locks::try_acquire(&newcomer, LockKind::Shared).unwrap());
    }

    #[test]
    fn notices_that_the_cluster_was_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users.lock");
        let mut idleness = watch(&path, Duration::from_secs(3600));
        fs::remove_file(&path).unwrap();
        assert_eq!(idleness.check(), Users::DirectoryGone);
        locks::open(&path).unwrap();
        assert_eq!(idleness.check(), Users::DirectoryGone);
    }
}
