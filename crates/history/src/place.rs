//! Finds the git directory of a work tree, and decides whether it may be read.
//!
//! Repositories are not trusted, and neither are their git directories. Every file is opened beneath the git directory and within
//! bounds; its configuration is read only for the work tree of a submodule. A reference to another place (a link, `.git` as a
//! file, alternates) is followed only if that place may be read and refers back. A place that may not be read is never opened, and
//! is reported like one that does not exist. The object library opens files by path, so they are checked before to be directories
//! and regular files. They could be replaced between check and use, so the library runs in a process that can read nothing else.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use gix::ObjectId;
use gix::bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use super::Head;
use platform::beneath::{Folder, Kind, Refused};

const GIT: &str = ".git";
/// Largest file of one line: HEAD, a reference, a path.
const LINE_BYTES_MAX: u64 = 4096;
/// Largest list of packed references; a million of them.
const PACKED_BYTES_MAX: u64 = 64 << 20;
/// Largest list of commits at which a shallow clone ends.
const SHALLOW_BYTES_MAX: u64 = 4 << 20;
/// Largest configuration of a submodule.
const CONFIG_BYTES_MAX: u64 = 256 << 10;
/// References that refer to one another.
const REFERENCES_MAX: usize = 5;
/// Most object files that are checked. A repository with more loose objects needs `git gc`.
const OBJECT_FILES_MAX: usize = 1_000_000;

/// What is said of every place that is not this repository's or may not be read, be there something or not.
const ELSEWHERE: &str = "`.git` names a directory that is not there, is another repository's, or lies outside the directories that may be indexed";
/// What is said of a repository above the root that may not be read.
const OUTSIDE: &str = "it lies outside the directories that may be indexed";

/// Why the history is not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoHistory {
    /// There is no repository.
    Absent,
    /// It is not read; carries the reason, which completes "Its git history is not read:".
    Refused(String),
}

/// A git directory that may be read.
#[derive(Debug)]
pub struct Place {
    /// The top of the work tree.
    pub work_tree: PathBuf,
    /// Where HEAD is kept.
    pub own: PathBuf,
    /// Where objects and references are kept; the same but for a linked work tree.
    pub common: PathBuf,
    own_folder: Folder,
    common_folder: Folder,
}

impl Place {
    /// Finds the git directory of the work tree that holds `root`, a canonical path. `may_read` says of an absolute path
    /// whether a git directory there may be read; one that may not is not looked at.
    ///
    /// # Errors
    /// Why there is none.
    pub fn find(root: &Path, may_read: &dyn Fn(&Path) -> bool) -> Result<Self, NoHistory> {
        for work_tree in root.ancestors() {
            let Ok(folder) = Folder::open(work_tree) else { continue };
            let Some(kind) = folder.kind(GIT) else { continue };
            let own = work_tree.join(GIT);
            if !may_read(&own) {
                return refused(OUTSIDE);
            }
            match kind {
                Kind::Folder => {
                    let opened = folder.folder(GIT).ok().zip(folder.folder(GIT).ok());
                    let Some((own_folder, common_folder)) = opened else {
                        return refused("`.git` may not be read");
                    };
                    // An empty folder of that name is no repository.
                    if own_folder.kind("HEAD").is_some() {
                        let (work_tree, common) = (work_tree.to_owned(), own.clone());
                        return Ok(Self { work_tree, own, common, own_folder, common_folder });
                    }
                }
                Kind::File => return Self::elsewhere(work_tree, &folder, may_read),
                Kind::Link => return refused("`.git` is a symbolic link"),
                Kind::Other => return refused("`.git` is neither a directory nor a file"),
            }
        }
        Err(NoHistory::Absent)
    }

    /// `.git` is a file that names the git directory, as in a linked work tree and in a submodule.
    fn elsewhere(
        work_tree: &Path,
        folder: &Folder,
        may_read: &dyn Fn(&Path) -> bool,
    ) -> Result<Self, NoHistory> {
        let line = folder.read(GIT, LINE_BYTES_MAX).map_err(|why| not_read(".git", why))?;
        let Some(named) = line.strip_prefix(b"gitdir:").map(path_of) else {
            return refused("`.git` is a file that names no directory");
        };
        Self::named(work_tree, &named, may_read).ok_or_else(|| NoHistory::Refused(ELSEWHERE.to_owned()))
    }

    /// The git directory that the file `.git` names, if it belongs to this work tree.
    fn named(work_tree: &Path, named: &Path, may_read: &dyn Fn(&Path) -> bool) -> Option<Self> {
        let opened =
            |path: &Path| Some(path).filter(|path| may_read(path)).and_then(|path| Folder::open(path).ok());
        let own = plain(&work_tree.join(named));
        let own_folder = opened(&own)?;
        let common = match own_folder.read("commondir", LINE_BYTES_MAX) {
            Ok(line) => plain(&own.join(path_of(&line))),
            Err(Refused::Gone) => own.clone(),
            Err(_) => return None,
        };
        let common_folder = opened(&common)?;
        let is_own = if own == common {
            is_submodule(work_tree, &own, &own_folder)
        } else {
            // A linked work tree.
            let back = own_folder.read("gitdir", LINE_BYTES_MAX).ok()?;
            plain(&own.join(path_of(&back))) == work_tree.join(GIT)
                && own.starts_with(common.join("worktrees"))
        };
        is_own.then(|| Self { work_tree: work_tree.to_owned(), own, common, own_folder, common_folder })
    }

    /// A file that all work trees of the repository share, of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// Why it is not read.
    pub fn read_common(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, Refused> {
        self.common_folder.read(path, bytes_max)
    }

    /// The commit and branch of HEAD; `None` on a branch without commits.
    ///
    /// # Errors
    /// Why that is not known.
    pub fn head(&self) -> Result<Option<Head>, NoHistory> {
        let mut line = self.own_folder.read("HEAD", LINE_BYTES_MAX).map_err(|why| not_read("HEAD", why))?;
        let mut branch = None;
        for _ in 0..REFERENCES_MAX {
            let Some(reference) = line.strip_prefix(b"ref:") else {
                let id = ObjectId::from_hex(line.trim_ascii());
                return match id {
                    Ok(id) if id.kind() == gix::hash::Kind::Sha1 => {
                        Ok(Some(Head { branch, commit: id.to_hex().to_string() }))
                    }
                    _ => refused("its objects are not named by SHA-1"),
                };
            };
            let Ok(reference) = reference.trim_ascii().to_str() else {
                return refused("HEAD names no branch");
            };
            // Below the common directory nothing else is read: `folder` knows no `..`.
            if !reference.starts_with("refs/") {
                return refused("HEAD names no branch");
            }
            branch
                .get_or_insert_with(|| reference.strip_prefix("refs/heads/").unwrap_or(reference).to_owned());
            line = match self.common_folder.read(reference, LINE_BYTES_MAX) {
                Ok(line) => line,
                // Git leaves the empty folder of `feature/x` behind where `feature` is packed.
                Err(Refused::Gone | Refused::Folder) => match self.packed(reference)? {
                    Some(id) => id,
                    None => return Ok(None),
                },
                Err(why) => return Err(not_read(reference, why)),
            };
        }
        refused("HEAD leads in a circle")
    }

    /// The value of a reference in `packed-refs`.
    fn packed(&self, reference: &str) -> Result<Option<Vec<u8>>, NoHistory> {
        let text = match self.common_folder.read("packed-refs", PACKED_BYTES_MAX) {
            Ok(text) => text,
            Err(Refused::Gone) => return Ok(None),
            Err(why) => return Err(not_read("packed-refs", why)),
        };
        let mut lines = text.lines().filter_map(|line| line.split_once_str(" "));
        Ok(lines.find(|(_, name)| *name == reference.as_bytes()).map(|(id, _)| id.to_vec()))
    }

    /// The commits at which a shallow clone ends.
    pub(super) fn shallow(&self) -> Result<Vec<ObjectId>, NoHistory> {
        match self.common_folder.read("shallow", SHALLOW_BYTES_MAX) {
            Ok(text) => {
                Ok(text.lines().filter_map(|line| ObjectId::from_hex(line.trim_ascii()).ok()).collect())
            }
            Err(Refused::Gone) => Ok(Vec::new()),
            Err(why) => Err(not_read("shallow", why)),
        }
    }

    /// The directory of objects, once all that is read there by path was seen to be a directory or a regular file.
    pub(super) fn objects(&self) -> Result<Folder, NoHistory> {
        let Ok(objects) = self.common_folder.folder("objects") else {
            return refused("`objects` is no directory");
        };
        // Other repositories' objects would bring their authors along.
        if objects.folder("info").is_ok_and(|info| info.kind("alternates").is_some()) {
            return refused(
                "it takes objects from another repository (`objects/info/alternates`); `git repack -a -d` copies them, \
                 then remove that file",
            );
        }
        let mut left = OBJECT_FILES_MAX;
        for entry in listed(&objects, &mut left)? {
            let Some(name) = entry.0.filter(|name| is_read(name)) else { continue };
            if entry.1 != Kind::Folder {
                return refused(format!("`objects/{name}` is no directory"));
            }
            let Ok(folder) = objects.folder(&name) else {
                return refused(format!("`objects/{name}` may not be read"));
            };
            check_files(&folder, &format!("objects/{name}"), &mut left)?;
        }
        Ok(objects)
    }
}

/// Whether a git directory is that of the submodule `work_tree`. The repositories above keep those of their submodules; each
/// names its work tree, and lies where that does if it names none.
fn is_submodule(work_tree: &Path, own: &Path, own_folder: &Folder) -> bool {
    let modules: Vec<PathBuf> =
        work_tree.ancestors().skip(1).map(|above| above.join(GIT).join("modules")).collect();
    if !modules.iter().any(|modules| own != modules && own.starts_with(modules)) {
        return false;
    }
    // Git moves it to the second file once the clone has settings for each work tree.
    for file in ["config", "config.worktree"] {
        match own_folder.read(file, CONFIG_BYTES_MAX) {
            Ok(text) => {
                if let Some(back) = configured_work_tree(&text) {
                    return plain(&own.join(back)) == work_tree;
                }
            }
            Err(Refused::Gone) => {}
            Err(_) => return false,
        }
    }
    work_tree
        .ancestors()
        .skip(1)
        .zip(modules)
        .any(|(above, modules)| work_tree.strip_prefix(above).is_ok_and(|path| own == modules.join(path)))
}

/// The value of `core.worktree` in a git configuration.
fn configured_work_tree(text: &[u8]) -> Option<PathBuf> {
    let (mut in_core, mut found) = (false, None);
    for line in text.lines().map(<[u8]>::trim_ascii) {
        if line.starts_with(b"[") {
            in_core = line.eq_ignore_ascii_case(b"[core]");
        } else if in_core
            && let Some((name, value)) = line.split_once_str("=")
            && name.trim_ascii().eq_ignore_ascii_case(b"worktree")
        {
            let value = value.trim_ascii();
            let quoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
            found = Some(path_of(&quoted.unwrap_or(value).replace(r"\\", r"\").replace(r#"\""#, r#"""#)));
        }
    }
    found
}

/// The absolute path without `.` and `..`, by its form alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Whether a directory of objects is one that is read: loose objects by the first two digits, packs, what is known of both.
fn is_read(name: &str) -> bool {
    matches!(name, "pack" | "info") || (name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Refuses whatever is not a regular file; the only directory there is that of commit-graphs.
fn check_files(folder: &Folder, path: &str, left: &mut usize) -> Result<(), NoHistory> {
    for (name, kind) in listed(folder, left)? {
        let name = name.unwrap_or_default();
        match kind {
            Kind::File => {}
            Kind::Folder if name == "commit-graphs" && path == "objects/info" => {
                let Ok(folder) = folder.folder(&name) else { continue };
                let chain = folder.facts("commit-graph-chain".as_ref());
                if chain.is_ok_and(|chain| chain.bytes > PACKED_BYTES_MAX) {
                    return refused("its commit-graph-chain is too large");
                }
                check_files(&folder, "objects/info/commit-graphs", left)?;
            }
            Kind::Folder if !path.starts_with("objects/info/") => {}
            _ => return refused(format!("`{path}/{name}` is not a regular file")),
        }
    }
    Ok(())
}

fn listed(folder: &Folder, left: &mut usize) -> Result<Vec<(Option<String>, Kind)>, NoHistory> {
    let (entries, all) = folder
        .entries(*left)
        .map_err(|error| NoHistory::Refused(format!("its objects cannot be read ({})", error.kind())))?;
    if !all {
        return refused(format!("it has more than {OBJECT_FILES_MAX} files of objects; `git gc` packs them"));
    }
    *left -= entries.len();
    Ok(entries.into_iter().map(|entry| (entry.name.into_string().ok(), entry.kind)).collect())
}

fn path_of(line: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(line.trim_ascii()))
}

fn not_read(file: &str, why: Refused) -> NoHistory {
    let why = match why {
        Refused::Gone => "is missing",
        Refused::Link => "is reached through a symbolic link",
        Refused::Folder | Refused::NotRegular => "is not a regular file",
        Refused::TooLarge => "is too large",
        Refused::Unreadable => "may not be read",
    };
    NoHistory::Refused(format!("`{file}` {why}"))
}

fn refused<T>(why: impl Into<String>) -> Result<T, NoHistory> {
    Err(NoHistory::Refused(why.into()))
}
