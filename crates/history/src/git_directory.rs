//! Finds the git directory of a work tree, and decides whether it may be read.
//!
//! Repositories are not trusted, and neither are their git directories. Every file is opened beneath the git directory
//! and with a size limit; the configuration is read only to find the work tree of a submodule. If `.git` is a file, the
//! directory that it names is used only if it may be read and refers back; links and alternates are refused. A
//! directory that may not be read is never opened, and is reported like one that does not exist. The object library
//! opens files by path, so each is first checked to be a directory or a regular file. It could be replaced before use,
//! so the library runs in a process that can read nothing else.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use gix::ObjectId;
use gix::bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use super::Head;
use platform::safe_open::{EntryKind, Folder, ReadError};

const GIT: &str = ".git";
/// Largest file with one line: HEAD, a reference, a path.
const LINE_FILE_BYTES_MAX: u64 = 4096;
/// Largest `packed-refs`: about a million references.
const PACKED_REFS_BYTES_MAX: u64 = 64 << 20;
/// Largest `shallow`, the list of commits at which a shallow clone ends.
const SHALLOW_BYTES_MAX: u64 = 4 << 20;
/// Largest configuration of a submodule.
const CONFIG_BYTES_MAX: u64 = 256 << 10;
/// Longest chain of symbolic references.
const SYMBOLIC_REFERENCES_MAX: usize = 5;
/// Maximum number of object files that are checked. A repository with more loose objects needs `git gc`.
const OBJECT_FILES_MAX: usize = 1_000_000;

/// The reason for any directory named by `.git` that is missing, foreign or not allowed, so that the three look alike.
const UNUSABLE_GIT_FILE: &str = "`.git` names a directory that is missing, is another repository's, or lies outside the directories that may be indexed";
/// The reason for a repository above the root that may not be read.
const OUTSIDE: &str = "it lies outside the directories that may be indexed";

/// The reason why there is no history to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoHistory {
    /// The root is in no repository.
    Absent,
    /// The history is not read, for this reason, which completes the sentence "Its git history was not read:".
    Refused(String),
}

/// A git directory that may be read.
#[derive(Debug)]
pub struct GitDirectory {
    /// The top of the work tree.
    pub work_tree: PathBuf,
    /// The directory that contains HEAD.
    pub git_dir: PathBuf,
    /// The directory that contains objects and references; differs from `git_dir` only for a linked work tree.
    pub common_dir: PathBuf,
    git_dir_folder: Folder,
    common_dir_folder: Folder,
}

impl GitDirectory {
    /// Finds the git directory of the work tree that contains `root`, a canonical path. Directories for which
    /// `may_read` returns false are not opened.
    ///
    /// # Errors
    /// The reason why there is no such directory.
    pub fn find(root: &Path, may_read: &dyn Fn(&Path) -> bool) -> Result<Self, NoHistory> {
        for work_tree in root.ancestors() {
            let Ok(folder) = Folder::open(work_tree) else { continue };
            let Some(kind) = folder.entry_kind(GIT) else { continue };
            let git_dir = work_tree.join(GIT);
            if !may_read(&git_dir) {
                return refused(OUTSIDE);
            }
            match kind {
                EntryKind::Folder => {
                    let opened = folder.open_folder(GIT).ok().zip(folder.open_folder(GIT).ok());
                    let Some((git_dir_folder, common_dir_folder)) = opened else {
                        return refused("`.git` may not be read");
                    };
                    // An empty directory named `.git` is not a repository.
                    if git_dir_folder.entry_kind("HEAD").is_some() {
                        let (work_tree, common_dir) = (work_tree.to_owned(), git_dir.clone());
                        return Ok(Self {
                            work_tree,
                            git_dir,
                            common_dir,
                            git_dir_folder,
                            common_dir_folder,
                        });
                    }
                }
                EntryKind::File => return Self::from_git_file(work_tree, &folder, may_read),
                EntryKind::Link => return refused("`.git` is a symbolic link"),
                EntryKind::Other => return refused("`.git` is neither a directory nor a file"),
            }
        }
        Err(NoHistory::Absent)
    }

    /// Opens a bare repository, which has no work tree.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn bare(git_dir: &Path) -> Result<Self, NoHistory> {
        let open = || Folder::open(git_dir);
        let (Ok(git_dir_folder), Ok(common_dir_folder)) = (open(), open()) else {
            return refused("the directory may not be read");
        };
        let git_dir = git_dir.to_owned();
        Ok(Self {
            work_tree: git_dir.clone(),
            common_dir: git_dir.clone(),
            git_dir,
            git_dir_folder,
            common_dir_folder,
        })
    }

    /// Finds the git directory that the file `.git` names, as in a linked work tree and in a submodule.
    fn from_git_file(
        work_tree: &Path,
        folder: &Folder,
        may_read: &dyn Fn(&Path) -> bool,
    ) -> Result<Self, NoHistory> {
        let line = folder.read(GIT, LINE_FILE_BYTES_MAX).map_err(|why| cannot_read(".git", why))?;
        let Some(named) = line.strip_prefix(b"gitdir:").map(to_path) else {
            return refused("`.git` is a file that does not name a directory");
        };
        Self::open_named(work_tree, &named, may_read)
            .ok_or_else(|| NoHistory::Refused(UNUSABLE_GIT_FILE.to_owned()))
    }

    /// Opens the git directory at `named`, if it belongs to this work tree.
    fn open_named(work_tree: &Path, named: &Path, may_read: &dyn Fn(&Path) -> bool) -> Option<Self> {
        let open =
            |path: &Path| Some(path).filter(|path| may_read(path)).and_then(|path| Folder::open(path).ok());
        let git_dir = normalised(&work_tree.join(named));
        let git_dir_folder = open(&git_dir)?;
        let common_dir = match git_dir_folder.read("commondir", LINE_FILE_BYTES_MAX) {
            Ok(line) => normalised(&git_dir.join(to_path(&line))),
            Err(ReadError::NotFound) => git_dir.clone(),
            Err(_) => return None,
        };
        let common_dir_folder = open(&common_dir)?;
        let belongs_to_work_tree = if git_dir == common_dir {
            is_submodule(work_tree, &git_dir, &git_dir_folder)
        } else {
            // A linked work tree.
            let git_file = git_dir_folder.read("gitdir", LINE_FILE_BYTES_MAX).ok()?;
            normalised(&git_dir.join(to_path(&git_file))) == work_tree.join(GIT)
                && git_dir.starts_with(common_dir.join("worktrees"))
        };
        let work_tree = work_tree.to_owned();
        belongs_to_work_tree.then_some(Self {
            work_tree,
            git_dir,
            common_dir,
            git_dir_folder,
            common_dir_folder,
        })
    }

    /// Reads a file that all work trees of the repository share, of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn read_common_file(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, ReadError> {
        self.common_dir_folder.read(path, bytes_max)
    }

    /// Reads a file that belongs to this work tree alone, of at most `bytes_max` bytes.
    pub(super) fn read_own_file(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, ReadError> {
        self.git_dir_folder.read(path, bytes_max)
    }

    /// Reads the commit and branch of HEAD; `None` on a branch without commits.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn head(&self) -> Result<Option<Head>, NoHistory> {
        let read = self.git_dir_folder.read("HEAD", LINE_FILE_BYTES_MAX);
        let mut line = read.map_err(|why| cannot_read("HEAD", why))?;
        let mut branch = None;
        for _ in 0..SYMBOLIC_REFERENCES_MAX {
            let Some(reference) = line.strip_prefix(b"ref:") else {
                let id = ObjectId::from_hex(line.trim_ascii());
                return match id {
                    Ok(id) if id.kind() == gix::hash::Kind::Sha1 => {
                        Ok(Some(Head { branch, commit: id.to_hex().to_string() }))
                    }
                    _ => refused("it does not use SHA-1, or its HEAD is malformed"),
                };
            };
            let Ok(reference) = reference.trim_ascii().to_str() else {
                return refused("HEAD does not name a branch");
            };
            // Only references are read; `Folder` itself refuses `..`.
            if !reference.starts_with("refs/") {
                return refused("HEAD does not name a branch");
            }
            branch
                .get_or_insert_with(|| reference.strip_prefix("refs/heads/").unwrap_or(reference).to_owned());
            line = match self.common_dir_folder.read(reference, LINE_FILE_BYTES_MAX) {
                Ok(line) => line,
                // If `feature` is packed, git may leave the empty directory of a former `feature/x`.
                Err(ReadError::NotFound | ReadError::IsFolder) => match self.packed_reference(reference)? {
                    Some(id) => id,
                    None => return Ok(None),
                },
                Err(why) => return Err(cannot_read(reference, why)),
            };
        }
        refused("HEAD has too many symbolic references")
    }

    /// Reads the commit of a reference, such as `refs/heads/main`; `None` if there is no such reference. For an annotated tag that is not
    /// packed, it is the id of the tag.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn reference(&self, reference: &str) -> Result<Option<String>, NoHistory> {
        let line = match self.common_dir_folder.read(reference, LINE_FILE_BYTES_MAX) {
            Ok(line) => Some(line),
            Err(ReadError::NotFound | ReadError::IsFolder) => self.packed_reference(reference)?,
            Err(why) => return Err(cannot_read(reference, why)),
        };
        let Some(line) = line else { return Ok(None) };
        match ObjectId::from_hex(line.trim_ascii()) {
            Ok(id) if id.kind() == gix::hash::Kind::Sha1 => Ok(Some(id.to_hex().to_string())),
            _ => refused("it does not use SHA-1, or a reference is malformed"),
        }
    }

    /// Reads the value of a reference in `packed-refs`.
    fn packed_reference(&self, reference: &str) -> Result<Option<Vec<u8>>, NoHistory> {
        let text = match self.common_dir_folder.read("packed-refs", PACKED_REFS_BYTES_MAX) {
            Ok(text) => text,
            Err(ReadError::NotFound) => return Ok(None),
            Err(why) => return Err(cannot_read("packed-refs", why)),
        };
        let mut lines = text.lines().filter_map(|line| line.split_once_str(" "));
        Ok(lines.find(|(_, name)| *name == reference.as_bytes()).map(|(id, _)| id.to_vec()))
    }

    /// Reads the commits at which a shallow clone ends.
    pub(super) fn shallow_commits(&self) -> Result<Vec<ObjectId>, NoHistory> {
        match self.common_dir_folder.read("shallow", SHALLOW_BYTES_MAX) {
            Ok(text) => {
                Ok(text.lines().filter_map(|line| ObjectId::from_hex(line.trim_ascii()).ok()).collect())
            }
            Err(ReadError::NotFound) => Ok(Vec::new()),
            Err(why) => Err(cannot_read("shallow", why)),
        }
    }

    /// Opens the directory of objects, after checking that it contains only directories and regular files where the
    /// object library reads.
    pub(super) fn open_objects(&self) -> Result<Folder, NoHistory> {
        let Ok(objects) = self.common_dir_folder.open_folder("objects") else {
            return refused("`objects` is not a directory");
        };
        // Objects of another repository would reveal its authors.
        if objects.open_folder("info").is_ok_and(|info| info.entry_kind("alternates").is_some()) {
            return refused(
                "it takes objects from another repository (`objects/info/alternates`); `git repack -a -d` copies them, \
                 then remove that file",
            );
        }
        let mut entries_left = OBJECT_FILES_MAX;
        for (name, kind) in list_entries(&objects, &mut entries_left)? {
            let Some(name) = name.filter(|name| is_object_directory(name)) else { continue };
            if kind != EntryKind::Folder {
                return refused(format!("`objects/{name}` is not a directory"));
            }
            let Ok(folder) = objects.open_folder(&name) else {
                return refused(format!("`objects/{name}` may not be read"));
            };
            check_files(&folder, &format!("objects/{name}"), &mut entries_left)?;
        }
        Ok(objects)
    }
}

/// Checks whether a git directory is that of the submodule `work_tree`. It lies in `.git/modules` of a repository above, and its
/// configuration names the work tree; without such a setting, it has the same relative path as the work tree.
fn is_submodule(work_tree: &Path, git_dir: &Path, git_dir_folder: &Folder) -> bool {
    let modules: Vec<PathBuf> =
        work_tree.ancestors().skip(1).map(|above| above.join(GIT).join("modules")).collect();
    if !modules.iter().any(|modules| git_dir != modules && git_dir.starts_with(modules)) {
        return false;
    }
    // Git moves the setting to the second file once `extensions.worktreeConfig` is on.
    for file in ["config", "config.worktree"] {
        match git_dir_folder.read(file, CONFIG_BYTES_MAX) {
            Ok(text) => {
                if let Some(configured) = configured_work_tree(&text) {
                    return normalised(&git_dir.join(configured)) == work_tree;
                }
            }
            Err(ReadError::NotFound) => {}
            Err(_) => return false,
        }
    }
    work_tree
        .ancestors()
        .skip(1)
        .zip(modules)
        .any(|(above, modules)| work_tree.strip_prefix(above).is_ok_and(|path| git_dir == modules.join(path)))
}

/// Returns the value of `core.worktree` in a git configuration.
fn configured_work_tree(text: &[u8]) -> Option<PathBuf> {
    let (mut in_core, mut work_tree) = (false, None);
    for line in text.lines().map(<[u8]>::trim_ascii) {
        if line.starts_with(b"[") {
            in_core = line.eq_ignore_ascii_case(b"[core]");
        } else if in_core
            && let Some((name, value)) = line.split_once_str("=")
            && name.trim_ascii().eq_ignore_ascii_case(b"worktree")
        {
            let value = value.trim_ascii();
            let unquoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
            work_tree =
                Some(to_path(&unquoted.unwrap_or(value).replace(r"\\", r"\").replace(r#"\""#, r#"""#)));
        }
    }
    work_tree
}

/// Returns the absolute path with `.` and `..` resolved, without access to the file system.
fn normalised(path: &Path) -> PathBuf {
    let mut normalised = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normalised.pop();
            }
            Component::CurDir => {}
            part => normalised.push(part),
        }
    }
    normalised
}

/// Checks whether the object library reads this directory in `objects`: `pack`, `info`, and loose objects by their first two digits.
fn is_object_directory(name: &str) -> bool {
    matches!(name, "pack" | "info") || (name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Refuses links and special files in a directory of objects, and in its directory `commit-graphs`.
fn check_files(folder: &Folder, path: &str, entries_left: &mut usize) -> Result<(), NoHistory> {
    for (name, kind) in list_entries(folder, entries_left)? {
        let name = name.unwrap_or_default();
        match kind {
            EntryKind::File => {}
            EntryKind::Folder if name == "commit-graphs" && path == "objects/info" => {
                let Ok(folder) = folder.open_folder(&name) else { continue };
                let chain = folder.metadata("commit-graph-chain".as_ref());
                if chain.is_ok_and(|chain| chain.bytes > PACKED_REFS_BYTES_MAX) {
                    return refused("its `commit-graph-chain` is too large");
                }
                check_files(&folder, "objects/info/commit-graphs", entries_left)?;
            }
            EntryKind::Folder if !path.starts_with("objects/info/") => {}
            _ => return refused(format!("`{path}/{name}` is not a regular file")),
        }
    }
    Ok(())
}

/// Lists names and kinds, and subtracts their number from `entries_left`. A name is `None` if it is not UTF-8.
fn list_entries(
    folder: &Folder,
    entries_left: &mut usize,
) -> Result<Vec<(Option<String>, EntryKind)>, NoHistory> {
    let (entries, is_complete) = folder
        .entries(*entries_left)
        .map_err(|error| NoHistory::Refused(format!("its objects cannot be read ({})", error.kind())))?;
    if !is_complete {
        return refused(format!("it has more than {OBJECT_FILES_MAX} object files; `git gc` packs them"));
    }
    *entries_left -= entries.len();
    Ok(entries.into_iter().map(|entry| (entry.name.into_string().ok(), entry.kind)).collect())
}

fn to_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes.trim_ascii()))
}

fn cannot_read(file: &str, why: ReadError) -> NoHistory {
    let why = match why {
        ReadError::NotFound => "is missing",
        ReadError::Link => "is reached through a symbolic link",
        ReadError::IsFolder | ReadError::NotRegular => "is not a regular file",
        ReadError::TooLarge => "is too large",
        ReadError::Unreadable => "may not be read",
    };
    NoHistory::Refused(format!("`{file}` {why}"))
}

fn refused<T>(why: impl Into<String>) -> Result<T, NoHistory> {
    Err(NoHistory::Refused(why.into()))
}
