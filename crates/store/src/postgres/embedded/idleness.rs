//! When the last user left, and for how long nobody has come.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::locks::{self, Kind};

/// Watches `users.lock`: whoever could hold it alone knows that there are no users.
#[derive(Debug)]
pub(super) struct Idleness {
    path: PathBuf,
    file: File,
    linger: Duration,
    since: Option<Instant>,
}

/// What the lock says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Users {
    /// Somebody uses the cluster, or did a moment ago.
    Present,
    /// Nobody has for the whole linger time. The lock is now held alone: newcomers wait until the supervisor is gone.
    Gone,
    /// The cluster's directory was deleted or replaced.
    Unfounded,
}

impl Idleness {
    pub(super) fn new(path: &Path, file: File, linger: Duration) -> Self {
        Self { path: path.to_path_buf(), file, linger, since: None }
    }

    /// Leaves the mark of a user who may be gone again before the supervisor looks.
    pub(super) fn mark(mut users: &File) {
        // Without a mark (on a full disk) the cluster only stops earlier.
        let _ = io::Write::write_all(&mut users, b".");
    }

    /// Looks once.
    pub(super) fn look(&mut self) -> Users {
        if !self.founded() {
            return Users::Unfounded;
        }
        if !locks::try_take(&self.file, Kind::Exclusive).unwrap_or(false) {
            self.since = None;
            return Users::Present;
        }
        let marked = self.file.metadata().is_ok_and(|metadata| metadata.len() > 0);
        if marked {
            let _ = self.file.set_len(0);
            self.since = None;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.linger {
            return Users::Gone;
        }
        let _ = self.file.unlock();
        Users::Present
    }

    fn founded(&self) -> bool {
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
    fn lingers_after_a_visit_between_two_looks() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users.lock");
        let mut idleness = watch(&path, Duration::from_secs(3600));
        assert_eq!(idleness.look(), Users::Present);
        let first = idleness.since.unwrap();

        let visitor = locks::open(&path).unwrap();
        assert!(locks::try_take(&visitor, Kind::Shared).unwrap());
        Idleness::mark(&visitor);
        drop(visitor);

        assert_eq!(idleness.look(), Users::Present);
        assert!(idleness.since.unwrap() > first, "the visit starts the linger time anew");
    }

    #[test]
    fn keeps_newcomers_out_once_nobody_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users.lock");
        let mut idleness = watch(&path, Duration::ZERO);
        let newcomer = locks::open(&path).unwrap();
        assert!(locks::try_take(&newcomer, Kind::Shared).unwrap());
        assert_eq!(idleness.look(), Users::Present);
        newcomer.unlock().unwrap();
        assert_eq!(idleness.look(), Users::Gone);
        assert!(!locks::try_take(&newcomer, Kind::Shared).unwrap());
    }

    #[test]
    fn notices_that_the_cluster_was_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users.lock");
        let mut idleness = watch(&path, Duration::from_secs(3600));
        fs::remove_file(&path).unwrap();
        assert_eq!(idleness.look(), Users::Unfounded);
        locks::open(&path).unwrap();
        assert_eq!(idleness.look(), Users::Unfounded);
    }
}
