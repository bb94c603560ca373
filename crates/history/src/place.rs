//! Where git keeps what it knows of a work tree, and whether that may be read.
//!
//! A repository comes from strangers, and so does its git directory. Nothing of it is believed: every file is opened
//! beneath it and within bounds, its configuration is not read at all, and what points to another place (a link, `.git` as
//! a file, alternates) counts only where that place points back. What the library for objects opens by path was looked at
//! before: directories and regular files, no links.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::ByteSlice;

use platform::beneath::{Folder, Kind, Refused};

const GIT: &str = ".git";
/// Largest file of one line: HEAD, a reference, a path.
const LINE_BYTES_MAX: u64 = 4096;
/// Largest list of packed references; a million of them.
const PACKED_BYTES_MAX: u64 = 64 << 20;
/// Largest list of commits at which a shallow clone ends.
const SHALLOW_BYTES_MAX: u64 = 4 << 20;
/// References that refer to one another.
const REFERENCES_MAX: usize = 5;
/// Files of objects that are looked at. A repository with more loose ones wants `git gc`.
const OBJECT_FILES_MAX: usize = 1_000_000;

/// Why there is no history to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoHistory {
    /// There is no repository.
    Absent,
    /// There is one that is not read, and why: the rest of a sentence that begins with "Its git history is not read:".
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
    /// Finds the git directory of the work tree that holds `root`, a canonical path.
    ///
    /// # Errors
    /// Why there is none.
    pub fn find(root: &Path) -> Result<Self, NoHistory> {
        for work_tree in root.ancestors() {
            let Ok(folder) = Folder::open(work_tree) else { continue };
            match folder.kind(GIT) {
                None => {}
                Some(Kind::Folder) => {
                    let own = work_tree.join(GIT);
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
                Some(Kind::File) => return Self::elsewhere(work_tree, &folder),
                Some(Kind::Link) => return refused("`.git` is a symbolic link"),
                Some(Kind::Other) => return refused("`.git` is neither a directory nor a file"),
            }
        }
        Err(NoHistory::Absent)
    }

    /// `.git` is a file that names the git directory, as in a linked work tree and in a submodule.
    fn elsewhere(work_tree: &Path, folder: &Folder) -> Result<Self, NoHistory> {
        let line = folder.read(GIT, LINE_BYTES_MAX).map_err(|why| not_read(".git", why))?;
        let Some(named) = line.strip_prefix(b"gitdir:").map(path_of) else {
            return refused("`.git` is a file that names no directory");
        };
        let missing = |_| NoHistory::Refused("`.git` names a directory that does not exist".to_owned());
        let own = work_tree.join(named).canonicalize().map_err(missing)?;
        let own_folder = Folder::open(&own).map_err(missing)?;
        let common = match own_folder.read("commondir", LINE_BYTES_MAX) {
            Ok(line) => own.join(path_of(&line)).canonicalize().map_err(missing)?,
            Err(Refused::Gone) => own.clone(),
            Err(why) => return Err(not_read("commondir", why)),
        };
        let is_linked = || {
            let back = own_folder.read("gitdir", LINE_BYTES_MAX).ok()?;
            let back = own.join(path_of(&back)).canonicalize().ok()?;
            Some(back == work_tree.join(GIT) && own.starts_with(common.join("worktrees")))
        };
        // The repositories that this one is a part of keep what git knows of it.
        let is_submodule = || {
            own == common
                && work_tree.ancestors().skip(1).any(|above| own.starts_with(above.join(GIT).join("modules")))
        };
        if !(is_linked() == Some(true) || is_submodule()) {
            return refused("`.git` names a directory that is another repository's");
        }
        let common_folder = Folder::open(&common).map_err(missing)?;
        Ok(Self { work_tree: work_tree.to_owned(), own, common, own_folder, common_folder })
    }

    /// A file that all work trees of the repository share, of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// Why it is not read.
    pub fn read_common(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, Refused> {
        self.common_folder.read(path, bytes_max)
    }

    /// The short name of the branch that HEAD is on, unless it is detached, and the commit; none on a branch without
    /// commits.
    pub(super) fn head(&self) -> Result<Option<(Option<String>, ObjectId)>, NoHistory> {
        let mut line = self.own_folder.read("HEAD", LINE_BYTES_MAX).map_err(|why| not_read("HEAD", why))?;
        let mut branch = None;
        for _ in 0..REFERENCES_MAX {
            let Some(reference) = line.strip_prefix(b"ref:") else {
                let id = ObjectId::from_hex(line.trim_ascii());
                return match id {
                    Ok(id) if id.kind() == gix::hash::Kind::Sha1 => Ok(Some((branch, id))),
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

    /// What `packed-refs` says of a reference.
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
    pub(super) fn objects(&self) -> Result<PathBuf, NoHistory> {
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
        Ok(self.common.join("objects"))
    }
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
