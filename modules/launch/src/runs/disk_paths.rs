//! Checks for files in a folder on disk. Nothing is read, and no link is followed.

use std::path::Path;

use launch::evidence::UnindexedPaths;
use platform::safe_open::{EntryKind, Folder};

/// The folder of a repository, which has more than its index: links, submodules, vendored and ignored files.
#[derive(Debug)]
pub(super) struct DiskPaths(Folder);

impl DiskPaths {
    /// The files below a canonical path; `None` if it cannot be opened. Blocks.
    pub(super) fn open(root: &Path) -> Option<Self> {
        Folder::open(root).ok().map(Self)
    }
}

impl UnindexedPaths for DiskPaths {
    fn exists(&self, path: &str) -> bool {
        exists_below(&self.0, path)
    }
}

/// Checks whether a folder has a file or folder at a path, separated by `/`. A path behind a link, or in a folder that cannot be opened,
/// counts as existing, because its absence cannot be shown. Blocks.
pub(super) fn exists_below(root: &Folder, path: &str) -> bool {
    let mut opened: Option<Folder> = None;
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let folder = opened.as_ref().unwrap_or(root);
        match folder.entry_kind(part) {
            None => return false,
            Some(EntryKind::Link) => return true,
            Some(_) if parts.peek().is_none() => return true,
            Some(EntryKind::Folder) => match folder.open_folder(part) {
                Ok(below) => opened = Some(below),
                Err(_) => return true,
            },
            Some(EntryKind::File | EntryKind::Other) => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_exist_below_the_folder_and_behind_links_only() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c.md"), "").unwrap();
        symlink("a", root.join("link")).unwrap();
        symlink("nowhere", root.join("a/dangling")).unwrap();
        let paths = DiskPaths::open(&root).unwrap();
        for path in ["a", "a/b", "a/b/c.md", "link", "link/any", "a/dangling"] {
            assert!(paths.exists(path), "{path}");
        }
        let up = format!("../{}/secret", outside.path().file_name().unwrap().to_str().unwrap());
        for path in ["", "b", "a/c.md", "a/b/c.md/d", "a//b", "./a", "..", up.as_str(), "/etc"] {
            assert!(!paths.exists(path), "{path}");
        }
        assert!(
            DiskPaths::open(&root.join("none")).is_none() && DiskPaths::open(&root.join("link")).is_none()
        );
    }
}
