//! The files below a project's folder: derived from its rows, so that each of them may go.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use contract::{ErrorCode, Fault};

/// What stands before a repository's name in the names of its files.
const PORTABLE: [&str; 6] =
    ["", "index-", "index-code-", "index-prose-", "index-extracted-prose-", "index-records-"];
/// How deep folders are looked into.
const DEPTH_MAX: usize = 16;

/// A file below a folder. Links are listed as themselves and never followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the folder, `/` between parts.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// When it was written last, milliseconds since the epoch.
    pub modified_ms: i64,
}

impl Entry {
    /// Whether it is named after a repository: `NAME.zip`, `index-NAME.sqlite`, `index-code-NAME.sqlite`, `NAME/…`.
    #[must_use]
    pub fn belongs_to(&self, repository: &str) -> bool {
        let mut parts = self.path.rsplit('/');
        let file = parts.next().unwrap_or_default();
        let file = file.strip_prefix('.').filter(|_| self.is_unfinished()).unwrap_or(file);
        let named = PORTABLE.iter().any(|kind| {
            let rest = file.strip_prefix(kind).and_then(|rest| rest.strip_prefix(repository));
            rest.is_some_and(|rest| rest.starts_with('.'))
        });
        named || parts.any(|part| part == repository)
    }

    /// Whether somebody was still writing it when they stopped.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        self.path.ends_with(".part") || self.path.ends_with(".smaller")
    }

    /// Whether it only keeps two from writing one file; whoever holds it relies on its staying.
    #[must_use]
    pub fn is_lock(&self) -> bool {
        self.path.ends_with(".lock")
    }

    /// The first part of its path, where that is a folder: what kind of file it is.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.path.split_once('/').map_or("other", |(kind, _)| kind)
    }
}

/// All files below `folder`, by path, at most `files_max`; none when it does not exist. Blocks.
///
/// # Errors
/// `PERMISSION_DENIED` and `INTERNAL` as the disk says; `ILLEGAL_STATE` when there are more.
pub fn list(folder: &Path, files_max: usize) -> Result<Vec<Entry>, Fault> {
    let mut found = Vec::new();
    let mut open = vec![(PathBuf::new(), 0)];
    while let Some((inside, depth)) = open.pop() {
        let entries = match fs::read_dir(folder.join(&inside)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(refused("read a folder", error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| refused("read a folder", error))?;
            let path = inside.join(entry.file_name());
            let facts = match entry.metadata() {
                Ok(facts) => facts,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(refused("look at a file", error)),
            };
            if facts.is_dir() {
                if depth < DEPTH_MAX {
                    open.push((path, depth + 1));
                }
                continue;
            }
            if found.len() >= files_max {
                let message = format!("The project's folder holds more than {files_max} files.");
                return Err(Fault::new(ErrorCode::IllegalState, message)
                    .with_hint("Raise upkeep.files_max, or remove files by hand."));
            }
            found.push(Entry {
                path: path.to_string_lossy().into_owned(),
                bytes: facts.len(),
                modified_ms: modified_ms(&facts),
            });
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// Removes a file as it was listed; false when it is gone or was written since. Blocks.
///
/// # Errors
/// `PERMISSION_DENIED` and `INTERNAL` as the disk says.
pub fn remove(folder: &Path, entry: &Entry) -> Result<bool, Fault> {
    let path = folder.join(&entry.path);
    let facts = match fs::symlink_metadata(&path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(refused("look at a file", error)),
    };
    if facts.len() != entry.bytes || modified_ms(&facts) != entry.modified_ms {
        return Ok(false);
    }
    match fs::remove_file(&path) {
        Ok(()) => {
            // A folder that still holds something stays, which is what `remove_dir` does.
            let mut parent = path.parent();
            while let Some(empty) = parent.filter(|parent| *parent != folder && parent.starts_with(folder)) {
                if fs::remove_dir(empty).is_err() {
                    break;
                }
                parent = empty.parent();
            }
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(refused("remove a file", error)),
    }
}

/// Removes the folder with all that is in it; what does not exist is removed already. Blocks.
///
/// # Errors
/// `PERMISSION_DENIED` and `INTERNAL` as the disk says.
pub fn remove_all(folder: &Path) -> Result<(), Fault> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(refused("remove a folder", error)),
        _ => Ok(()),
    }
}

/// What a folder takes on disk, itself reached through a link or not; 0 when it does not exist. Blocks.
#[must_use]
pub fn bytes(folder: &Path) -> u64 {
    let Ok(folder) = folder.canonicalize() else { return 0 };
    let (mut sum, mut open) = (0, vec![folder]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(facts) = entry.metadata() else { continue };
            if facts.is_dir() {
                open.push(entry.path());
            } else {
                sum += facts.len();
            }
        }
    }
    sum
}

/// Runs blocking work off the async threads.
///
/// # Errors
/// The work's own fault; `INTERNAL` if it panicked.
pub(super) async fn off<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Fault::internal("A background step failed unexpectedly.", error)),
    }
}

/// What the disk says no to.
pub(super) fn refused(what: &str, error: io::Error) -> Fault {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return Fault::new(ErrorCode::PermissionDenied, format!("The server may not {what} of the project."))
            .with_hint(
                "Give the server's user the project's folder below its data directory, then call again.",
            )
            .with_source(error);
    }
    if error.kind() == io::ErrorKind::StorageFull {
        return Fault::new(
            ErrorCode::StorageUnavailable,
            format!("The server could not {what}: the disk is full."),
        )
        .with_hint("Free disk space and call again; of what was not finished nothing is left.")
        .with_source(error);
    }
    if error.kind() == io::ErrorKind::ReadOnlyFilesystem {
        return Fault::new(
            ErrorCode::PermissionDenied,
            format!("The server could not {what}: the file system is read-only."),
        )
        .with_hint("Mount it for writing, or name another place.")
        .with_source(error);
    }
    Fault::internal(format!("The server could not {what}."), error)
}

fn modified_ms(facts: &fs::Metadata) -> i64 {
    let since = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_without_following_and_removes_what_it_listed() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(inside.path().join("packs/deep")).unwrap();
        fs::write(inside.path().join("packs/deep/a.json"), "12345").unwrap();
        fs::write(outside.path().join("secret"), "stays").unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("link")).unwrap();
        let found = list(inside.path(), 10).unwrap();
        assert_eq!(
            found.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(),
            ["link", "packs/deep/a.json"]
        );
        assert_eq!((found[1].bytes, found[1].kind()), (5, "packs"));
        for entry in &found {
            assert!(remove(inside.path(), entry).unwrap());
            assert!(!remove(inside.path(), entry).unwrap(), "it is gone");
        }
        assert!(outside.path().join("secret").exists());
        assert!(!inside.path().join("packs").exists() && inside.path().exists());
        assert!(list(inside.path(), 10).unwrap().is_empty());
    }

    #[test]
    fn what_was_written_since_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "old").unwrap();
        let found = list(folder.path(), 10).unwrap();
        fs::write(folder.path().join("a"), "newer").unwrap();
        assert!(!remove(folder.path(), &found[0]).unwrap());
        assert!(folder.path().join("a").exists());
        assert_eq!(list(folder.path(), 0).unwrap_err().code, ErrorCode::IllegalState);
    }

    #[test]
    fn files_belong_to_repositories_by_name() {
        let entry = |path: &str| Entry { path: path.into(), bytes: 0, modified_ms: 0 };
        for path in
            ["shop.zip", "a/.index-shop.sqlite.part", "index-code-shop.sqlite", "shop/x.json", "a/shop/b"]
        {
            assert!(entry(path).belongs_to("shop"), "{path}");
        }
        for path in ["shop-2.sqlite", "shopping/x", "x/shop", "ashop.x", "index-pet-shop.sqlite"] {
            assert!(!entry(path).belongs_to("shop"), "{path}");
        }
    }
}
