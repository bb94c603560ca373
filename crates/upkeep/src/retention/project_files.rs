//! The files below a project's folder. All are derived from the project's rows, so each may be removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::disk::disk_fault;
use contract::{ErrorCode, Fault};

/// Prefixes of a repository's name in the names of portable files; archives have none.
const FILE_PREFIXES: [&str; 6] =
    ["", "index-", "index-code-", "index-prose-", "index-extracted-prose-", "index-records-"];
/// Deepest folder level that is listed.
const DEPTH_MAX: usize = 16;

/// A file below a folder. A symbolic link counts as a file and is not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// Path relative to the folder, separated by `/`.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the last write, milliseconds since the epoch.
    pub modified_ms: i64,
}

impl ProjectFile {
    /// Checks whether the file is named after a repository: `NAME.zip`, `index-NAME.sqlite`, `index-code-NAME.sqlite`, `NAME/…`.
    pub(super) fn belongs_to(&self, repository: &str) -> bool {
        let mut parts = self.path.rsplit('/');
        let file = parts.next().unwrap_or_default();
        let file = file.strip_prefix('.').filter(|_| self.is_unfinished()).unwrap_or(file);
        let named = FILE_PREFIXES.iter().any(|kind| {
            let rest = file.strip_prefix(kind).and_then(|rest| rest.strip_prefix(repository));
            rest.is_some_and(|rest| rest.starts_with('.'))
        });
        named || parts.any(|part| part == repository)
    }

    /// Checks whether the file is unfinished: being written, or left by a killed process.
    pub(super) fn is_unfinished(&self) -> bool {
        self.path.ends_with(".part") || self.path.ends_with(".smaller")
    }

    /// Checks whether the file is a lock file. Removing one would let two writers lock different files of the same name.
    pub(super) fn is_lock(&self) -> bool {
        self.path.ends_with(".lock")
    }

    /// Returns the kind of the file, which is the first folder of its path; `other` for a file without a folder.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.path.split_once('/').map_or("other", |(kind, _)| kind)
    }
}

/// Lists all files below `folder`, sorted by path; empty if it does not exist. Blocks.
///
/// # Errors
/// `PERMISSION_DENIED` and `INTERNAL` for file system errors; `ILLEGAL_STATE` for more than `files_max` files.
pub fn list_project_files(folder: &Path, files_max: usize) -> Result<Vec<ProjectFile>, Fault> {
    let mut found = Vec::new();
    let mut pending = vec![(PathBuf::new(), 0)];
    while let Some((inside, depth)) = pending.pop() {
        let entries = match fs::read_dir(folder.join(&inside)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(disk_fault("read a folder", error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| disk_fault("read a folder", error))?;
            let path = inside.join(entry.file_name());
            let facts = match entry.metadata() {
                Ok(facts) => facts,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(disk_fault("read the metadata of a file", error)),
            };
            if facts.is_dir() {
                if depth < DEPTH_MAX {
                    pending.push((path, depth + 1));
                }
                continue;
            }
            if found.len() >= files_max {
                let message = format!("The project's folder holds more than {files_max} files.");
                return Err(Fault::new(ErrorCode::IllegalState, message)
                    .with_hint("Raise upkeep.files_max, or remove files by hand."));
            }
            found.push(ProjectFile {
                path: path.to_string_lossy().into_owned(),
                bytes: facts.len(),
                modified_ms: modified_ms(&facts),
            });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Removes a file if size and time are unchanged since it was listed; returns false if it was written or removed meanwhile. Also removes
/// folders that become empty. Blocks.
///
/// # Errors
/// `PERMISSION_DENIED` and `INTERNAL` for file system errors.
pub fn remove_if_unchanged(folder: &Path, entry: &ProjectFile) -> Result<bool, Fault> {
    let path = folder.join(&entry.path);
    let facts = match fs::symlink_metadata(&path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(disk_fault("read the metadata of a file", error)),
    };
    if facts.len() != entry.bytes || modified_ms(&facts) != entry.modified_ms {
        return Ok(false);
    }
    match fs::remove_file(&path) {
        Ok(()) => {
            // `remove_dir` fails for a folder that is not empty.
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
        Err(error) => Err(disk_fault("remove a file", error)),
    }
}

/// Removes the folder with its contents; does nothing if it does not exist. Blocks.
///
/// # Errors
/// `PERMISSION_DENIED` and `INTERNAL` for file system errors.
pub(super) fn remove_folder(folder: &Path) -> Result<(), Fault> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(disk_fault("remove a folder", error)),
        _ => Ok(()),
    }
}

/// Returns the total size of all files below a folder, which may be a symbolic link; 0 if it does not exist. Blocks.
#[must_use]
pub fn folder_bytes(folder: &Path) -> u64 {
    let Ok(folder) = folder.canonicalize() else { return 0 };
    let (mut sum, mut pending) = (0, vec![folder]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(facts) = entry.metadata() else { continue };
            if facts.is_dir() {
                pending.push(entry.path());
            } else {
                sum += facts.len();
            }
        }
    }
    sum
}

fn modified_ms(facts: &fs::Metadata) -> i64 {
    let since_epoch = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since_epoch.map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_listed_and_removed_but_not_followed() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(inside.path().join("packs/deep")).unwrap();
        fs::write(inside.path().join("packs/deep/a.json"), "12345").unwrap();
        fs::write(outside.path().join("secret"), "stays").unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("link")).unwrap();
        let found = list_project_files(inside.path(), 10).unwrap();
        assert_eq!(
            found.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(),
            ["link", "packs/deep/a.json"]
        );
        assert_eq!((found[1].bytes, found[1].kind()), (5, "packs"));
        for entry in &found {
            assert!(remove_if_unchanged(inside.path(), entry).unwrap());
            assert!(!remove_if_unchanged(inside.path(), entry).unwrap(), "it is gone");
        }
        assert!(outside.path().join("secret").exists());
        assert!(!inside.path().join("packs").exists() && inside.path().exists());
        assert!(list_project_files(inside.path(), 10).unwrap().is_empty());
    }

    #[test]
    fn files_that_changed_since_the_listing_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "old").unwrap();
        let found = list_project_files(folder.path(), 10).unwrap();
        fs::write(folder.path().join("a"), "newer").unwrap();
        assert!(!remove_if_unchanged(folder.path(), &found[0]).unwrap());
        assert!(folder.path().join("a").exists());
        assert_eq!(list_project_files(folder.path(), 0).unwrap_err().code, ErrorCode::IllegalState);
    }

    #[test]
    fn files_belong_to_repositories_by_name() {
        let entry = |path: &str| ProjectFile { path: path.into(), bytes: 0, modified_ms: 0 };
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
