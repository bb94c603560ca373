//! The files that git tracks, from the index of a work tree (`.git/index`): rules of `.gitignore` do not apply to them.
//!
//! Only names are read, by our own reader: the file belongs to an untrusted repository, and every number in it is checked. An index that
//! cannot be read counts as empty, so that ignore rules apply as without git.

use std::path::Path;

use super::GitDirectory;

/// Name of the index below the git directory.
const INDEX_FILE: &str = "index";
/// Largest index that is read: about half a million files.
const INDEX_BYTES_MAX: u64 = 64 << 20;
/// Maximum size of all names together, in bytes. Names of version 4 share prefixes, so a small file may contain many long names.
const NAMES_BYTES_MAX: usize = 128 << 20;
/// Bytes of an entry before its object id, and the offset of the mode in them.
const STAT_BYTES: usize = 40;
const MODE_AT: usize = 24;
/// The types of a file and of a submodule, in the mode. A folder of a sparse index is neither.
const TYPE_MASK: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const SUBMODULE: u32 = 0o160_000;
/// Flag of entries with two more bytes of flags.
const EXTENDED: u16 = 0x4000;
/// Lengths of object ids: SHA-1 and SHA-256.
const ID_LENGTHS: [usize; 2] = [20, 32];

/// The paths of the tracked files below a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrackedFiles {
    /// Relative to the directory, sorted.
    paths: Vec<String>,
    /// The folders of submodules, likewise.
    submodules: Vec<String>,
}

impl TrackedFiles {
    /// Reads the tracked files below `root`, a canonical path. Directories for which `may_read` returns false are not opened.
    #[must_use]
    pub fn read(root: &Path, may_read: &dyn Fn(&Path) -> bool) -> Self {
        let read = || {
            let git_directory = GitDirectory::find(root, may_read).ok()?;
            let index = git_directory.read_own_file(INDEX_FILE, INDEX_BYTES_MAX).ok()?;
            let below = root.strip_prefix(&git_directory.work_tree).ok()?.to_str()?.to_owned();
            let prefix = if below.is_empty() { below } else { format!("{below}/") };
            ID_LENGTHS.iter().find_map(|id_length| names(&index, *id_length, &prefix))
        };
        read().unwrap_or_default()
    }

    /// Checks whether the folder at a path is that of a submodule.
    #[must_use]
    pub fn is_submodule(&self, folder: &str) -> bool {
        self.submodules.binary_search_by(|submodule| submodule.as_str().cmp(folder)).is_ok()
    }

    /// Checks whether the file at a path, relative to the directory, is tracked.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.paths.binary_search_by(|tracked| tracked.as_str().cmp(path)).is_ok()
    }

    /// Checks whether a tracked file is below the folder at a path.
    #[must_use]
    pub fn has_below(&self, folder: &str) -> bool {
        let prefix = format!("{folder}/");
        let first = self.paths.partition_point(|tracked| tracked.as_str() < prefix.as_str());
        self.paths.get(first).is_some_and(|tracked| tracked.starts_with(&prefix))
    }
}

/// Returns the names in an index that begin with `prefix`, without it; `None` if it is malformed, or its ids have another length.
fn names(index: &[u8], id_length: usize, prefix: &str) -> Option<TrackedFiles> {
    let version = number(index.strip_prefix(b"DIRC")?)?;
    let count = number(index.get(8..)?)?;
    let mut rest = index.get(12..)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let (mut name, mut found, mut bytes) = (Vec::new(), TrackedFiles::default(), 0_usize);
    for _ in 0..count {
        let mode = number(rest.get(MODE_AT..)?)?;
        let flags = rest.get(STAT_BYTES + id_length..)?.first_chunk::<2>()?;
        let is_extended = version > 2 && u16::from_be_bytes(*flags) & EXTENDED != 0;
        let head = STAT_BYTES + id_length + if is_extended { 4 } else { 2 };
        let before = std::mem::take(&mut name);
        let end;
        (name, end) = match version {
            4 => shared_name(rest, head, &before)?,
            _ => own_name(rest, head)?,
        };
        rest = rest.get(end..)?;
        // Git sorts the entries; a split index has entries without a name.
        if name.is_empty() || name < before {
            return None;
        }
        bytes = bytes.checked_add(name.len()).filter(|bytes| *bytes <= NAMES_BYTES_MAX)?;
        let path = std::str::from_utf8(&name).ok().and_then(|path| path.strip_prefix(prefix));
        match (mode & TYPE_MASK, path) {
            (REGULAR, Some(path)) => found.paths.push(path.to_owned()),
            (SUBMODULE, Some(path)) => found.submodules.push(path.to_owned()),
            _ => {}
        }
    }
    // In a merge, a file has several entries.
    found.paths.dedup();
    // With the wrong length, one entry may be read by chance, but not what follows.
    let is_extension = rest.get(..4).is_some_and(|name| name.iter().all(u8::is_ascii_alphabetic));
    (rest.len() == id_length || is_extension).then_some(found)
}

/// Returns the name of an entry whose head has `head` bytes, and the offset of the next entry: NULs pad each to a multiple of eight.
fn own_name(entry: &[u8], head: usize) -> Option<(Vec<u8>, usize)> {
    let name = entry.get(head..)?;
    let length = name.iter().position(|byte| *byte == 0)?;
    Some((name.get(..length)?.to_owned(), (head + length + 8) & !7))
}

/// Returns the name of an entry of version 4, and the offset of the next one. The entry says how many bytes to remove from the end of the
/// previous name, and what to append.
fn shared_name(entry: &[u8], head: usize, before: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut taken, mut at) = (0_usize, head);
    loop {
        let byte = *entry.get(at)?;
        taken = taken.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        at += 1;
        if byte & 0x80 == 0 {
            break;
        }
        taken = taken.checked_add(1)?;
    }
    let added = entry.get(at..)?;
    let length = added.iter().position(|byte| *byte == 0)?;
    let kept = before.get(..before.len().checked_sub(taken)?)?;
    Some(([kept, added.get(..length)?].concat(), at + length + 1))
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(folder: &Path, arguments: &[&str]) {
        let ran = Command::new("git").current_dir(folder).args(arguments).output().unwrap();
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    fn repository(object_format: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet", "--object-format", object_format]);
        for path in ["a.txt", "lib/deep/one.rs", "lib/deep/two.rs", "lib/deeper.rs", "untracked.rs"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        git(folder.path(), &["add", "a.txt", "lib"]);
        folder
    }

    fn tracked(root: &Path) -> TrackedFiles {
        TrackedFiles::read(&root.canonicalize().unwrap(), &|_| true)
    }

    #[test]
    fn every_version_of_the_index_is_read() {
        for (object_format, version) in
            [("sha1", "2"), ("sha1", "3"), ("sha1", "4"), ("sha256", "2"), ("sha256", "4")]
        {
            let folder = repository(object_format);
            if version == "3" {
                git(folder.path(), &["add", "--intent-to-add", "untracked.rs"]);
                git(folder.path(), &["rm", "--quiet", "--cached", "a.txt"]);
            } else {
                git(folder.path(), &["update-index", "--index-version", version]);
            }
            let files = tracked(folder.path());
            let case = format!("{object_format} {version}: {files:?}");
            assert_eq!(files.paths.len(), 4, "{case}");
            assert!(files.contains("lib/deep/two.rs") && files.contains("lib/deeper.rs"), "{case}");
            assert_eq!(files.contains("untracked.rs"), version == "3", "{case}");
            assert!(files.has_below("lib") && files.has_below("lib/deep"), "{case}");
            assert!(
                !files.has_below("li") && !files.has_below("a.txt") && !files.has_below("lib/dee"),
                "{case}"
            );
            let below = tracked(&folder.path().join("lib"));
            assert_eq!(below.paths, ["deep/one.rs", "deep/two.rs", "deeper.rs"], "{case}");
        }
    }

    #[test]
    fn forbidden_missing_and_irregular_indexes_are_empty() {
        let folder = repository("sha1");
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(TrackedFiles::read(&root, &|_| false), TrackedFiles::default());
        std::fs::remove_file(folder.path().join(".git/index")).unwrap();
        assert_eq!(tracked(folder.path()), TrackedFiles::default());
        std::os::unix::fs::symlink("/dev/zero", folder.path().join(".git/index")).unwrap();
        assert_eq!(tracked(folder.path()), TrackedFiles::default());
    }

    #[test]
    fn a_damaged_index_is_none() {
        let folder = repository("sha1");
        let index = std::fs::read(folder.path().join(".git/index")).unwrap();
        assert_eq!(names(&index, 20, "").unwrap().paths.len(), 4);
        for length in 0..index.len() {
            // The entries are followed by extensions, which are not read.
            let cut = names(&index[..length], 20, "");
            assert!(cut.is_none_or(|cut| cut.paths.len() == 4), "{length}");
        }
        for at in 0..index.len() {
            for value in [0, 0x7f, 0x80, 0xff] {
                let mut changed = index.clone();
                changed[at] = value;
                for id_length in ID_LENGTHS {
                    drop(names(&changed, id_length, ""));
                }
            }
        }
        let mut many = index;
        many[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(names(&many, 20, ""), None);
    }
}
