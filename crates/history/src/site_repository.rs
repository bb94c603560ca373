//! A bare repository that this program writes with git's objects: files of a commit, trees with changed files, commits and branches.
//!
//! The operator names the repository, so it is trusted like other programs of the operator; its objects are not: sizes and counts are
//! limited. No program is executed, no hook runs, and nothing that exists is changed: only objects and one branch are added.

mod changed_files;
mod past;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use gix::ObjectId;
use gix::objs::{CommitRef, Kind as ObjectKind, Write as _};
use platform::safe_open::ReadError;

use super::NoHistory;
use super::git_directory::GitDirectory;
use super::objects::ObjectReader;
use super::tree_edit::{DEPTH_MAX, Entry, FolderChange, Kind, read_tree, write_changed};

pub use changed_files::{ChangedFile, RootEntry};

/// Maximum number of entries of a site: files, folders, links and submodules. Folders count each time they are visited, because a few trees
/// that contain one another can represent any number of folders.
const ENTRIES_MAX: usize = 200_000;
/// Largest `packed-refs` that is read.
const PACKED_REFS_BYTES_MAX: u64 = 64 << 20;
/// Maximum number of folders of loose branches that are searched for a branch below a name.
const BRANCH_FOLDERS_MAX: usize = 1000;
/// Largest file that is read.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The reason why a site repository cannot be used.
#[derive(Debug)]
pub enum SiteError {
    /// The directory is not a bare repository that can be read, for this reason.
    NotRepository(String),
    /// An object is missing or malformed.
    Damaged(String),
    /// A link, a submodule, or a file in place of a folder, is at this path or on the way to it.
    Blocked(String),
    /// The site has too many files and folders, or is too deep.
    TooLarge,
    /// The file system fails.
    Io(io::Error),
}

impl fmt::Display for SiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRepository(why) => write!(f, "it is no bare git repository: {why}"),
            Self::Damaged(what) => write!(f, "an object is missing or malformed: {what}"),
            Self::Blocked(path) => write!(f, "a link, a submodule or a file is at, or on the way to, {path}"),
            Self::TooLarge => f.write_str("it has too many files"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for SiteError {}

impl From<io::Error> for SiteError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::Other | io::ErrorKind::InvalidData => Self::Damaged(error.to_string()),
            _ => Self::Io(error),
        }
    }
}

/// A commit to write.
#[derive(Debug, Clone, Copy)]
pub struct NewCommit<'a> {
    /// Its tree.
    pub tree: &'a str,
    /// The commit before.
    pub parent: &'a str,
    /// The name of its author.
    pub name: &'a str,
    /// The email address of its author.
    pub email: &'a str,
    /// The time of the commit, seconds since the epoch.
    pub time_s: i64,
    /// Its message.
    pub message: &'a str,
}

/// The answer to [`SiteRepository::create_branch`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchCreated {
    /// The branch is new.
    New,
    /// There is a branch of this name, at this commit.
    Exists(String),
    /// There is a branch whose name is a parent or a child of the new one: a repository cannot have both.
    Blocked(String),
}

/// A bare repository. Used by one thread at a time. All calls block.
pub struct SiteRepository {
    git_dir: PathBuf,
    directory: GitDirectory,
    reader: ObjectReader,
}

/// The files of a tree.
pub struct SiteTree {
    reader: ObjectReader,
    files: BTreeMap<String, ObjectId>,
}

impl SiteRepository {
    /// Opens the bare repository in a directory.
    ///
    /// # Errors
    /// [`SiteError::NotRepository`] if the directory is not one.
    pub fn open(git_dir: &Path) -> Result<Self, SiteError> {
        let refused = |why: &str| SiteError::NotRepository(why.to_owned());
        let directory = GitDirectory::bare(git_dir).map_err(|why| SiteError::NotRepository(reason(why)))?;
        for (name, is_present) in
            [("HEAD", git_dir.join("HEAD").is_file()), ("refs", git_dir.join("refs").is_dir())]
        {
            if !is_present {
                return Err(refused(&format!("`{name}` is missing")));
            }
        }
        let reader =
            ObjectReader::open(git_dir.join("objects")).map_err(|error| refused(&error.to_string()))?;
        Ok(Self { git_dir: git_dir.to_owned(), directory, reader })
    }

    /// Returns the commit of a branch; `None` if there is no such branch.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn branch(&self, name: &str) -> Result<Option<String>, SiteError> {
        let reference = format!("refs/heads/{name}");
        self.directory.reference(&reference).map_err(|why| SiteError::NotRepository(reason(why)))
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// [`SiteError::Damaged`] if there is no such commit.
    pub fn tree_of(&self, commit: &str) -> Result<String, SiteError> {
        let id = object_id(commit)?;
        let data = self.reader.object(id, ObjectKind::Commit).map_err(io::Error::other)?;
        let commit = CommitRef::from_bytes(&data, gix::hash::Kind::Sha1).map_err(io::Error::other)?;
        Ok(commit.tree().to_hex().to_string())
    }

    /// Returns the time of a commit, seconds since the epoch.
    ///
    /// # Errors
    /// [`SiteError::Damaged`] if there is no such commit.
    pub fn committed_s(&self, commit: &str) -> Result<i64, SiteError> {
        let id = object_id(commit)?;
        let data = self.reader.object(id, ObjectKind::Commit).map_err(io::Error::other)?;
        let commit = CommitRef::from_bytes(&data, gix::hash::Kind::Sha1).map_err(io::Error::other)?;
        Ok(commit.committer().map_err(io::Error::other)?.seconds())
    }

    /// Returns the files of a tree. Links and submodules are omitted.
    ///
    /// # Errors
    /// [`SiteError::Damaged`] if a tree is missing; [`SiteError::TooLarge`].
    pub fn files(&self, tree: &str) -> Result<SiteTree, SiteError> {
        let (mut files, mut entries_left) = (BTreeMap::new(), ENTRIES_MAX);
        self.collect(object_id(tree)?, "", 0, &mut entries_left, &mut files)?;
        Ok(SiteTree { reader: self.reader.clone(), files })
    }

    fn collect(
        &self,
        tree: ObjectId,
        path: &str,
        depth: usize,
        entries_left: &mut usize,
        files: &mut BTreeMap<String, ObjectId>,
    ) -> Result<(), SiteError> {
        if depth > DEPTH_MAX {
            return Err(SiteError::TooLarge);
        }
        for entry in read_tree(&self.reader, tree)? {
            count_entry(entries_left)?;
            let Some(path) = joined(path, &entry) else { continue };
            match entry.kind() {
                Kind::Folder => self.collect(entry.id, &path, depth + 1, entries_left, files)?,
                Kind::File => {
                    files.insert(path, entry.id);
                }
                Kind::Link | Kind::Submodule => {}
            }
        }
        Ok(())
    }

    /// Writes the tree that `base` becomes by these files, each with its path and whole content. Equal inputs give the same tree.
    ///
    /// # Errors
    /// [`SiteError::Blocked`] if a path leads through something other than a folder, or to something other than a file.
    pub fn write_tree(&self, base: &str, files: &[(&str, &[u8])]) -> Result<String, SiteError> {
        let objects = gix::odb::loose::Store::at(self.git_dir.join("objects"), gix::hash::Kind::Sha1);
        let write = |kind: ObjectKind, bytes: &[u8]| objects.write_buf(kind, bytes).map_err(not_written);
        let mut change = FolderChange::default();
        for (path, content) in files {
            let id = write(ObjectKind::Blob, content)?;
            if !change.insert(path, id) {
                return Err(SiteError::Blocked((*path).to_owned()));
            }
        }
        let write_folder = |bytes: &[u8]| write(ObjectKind::Tree, bytes);
        let tree = write_changed(&self.reader, &write_folder, Some(object_id(base)?), &change, "")?;
        Ok(tree.to_hex().to_string())
    }

    /// Like [`SiteRepository::files`], if all objects of the tree exist.
    ///
    /// # Errors
    /// As [`SiteRepository::files`]; [`SiteError::Damaged`] with an object that is missing.
    pub fn complete_files(&self, tree: &str) -> Result<SiteTree, SiteError> {
        let tree = self.files(tree)?;
        for id in tree.files.values() {
            self.reader.size(*id).map_err(io::Error::other)?;
        }
        Ok(tree)
    }

    /// Returns the paths of the files in which two trees differ, sorted. A link or a submodule that differs counts as a file.
    ///
    /// # Errors
    /// [`SiteError::Damaged`] if a tree is missing; [`SiteError::TooLarge`] if they differ in more than `paths_max` paths, or in too many
    /// folders.
    pub fn changed_paths(&self, one: &str, other: &str, paths_max: usize) -> Result<Vec<String>, SiteError> {
        let (mut changed, mut entries_left) = (Vec::new(), 2 * ENTRIES_MAX);
        let trees = (Some(object_id(one)?), Some(object_id(other)?));
        self.compare(trees, "", 0, &mut entries_left, &mut |path| {
            changed.push(path);
            changed.len() <= paths_max
        })?;
        changed.sort();
        Ok(changed)
    }

    fn compare(
        &self,
        (one, other): (Option<ObjectId>, Option<ObjectId>),
        path: &str,
        depth: usize,
        entries_left: &mut usize,
        add: &mut dyn FnMut(String) -> bool,
    ) -> Result<(), SiteError> {
        if one == other {
            return Ok(());
        }
        if depth > DEPTH_MAX {
            return Err(SiteError::TooLarge);
        }
        let read = |tree: Option<ObjectId>| tree.map_or(Ok(Vec::new()), |tree| read_tree(&self.reader, tree));
        let mut pairs: BTreeMap<Vec<u8>, (Option<Entry>, Option<Entry>)> = BTreeMap::new();
        for entry in read(one)? {
            count_entry(entries_left)?;
            let name = entry.name.clone();
            pairs.entry(name).or_default().0 = Some(entry);
        }
        for entry in read(other)? {
            count_entry(entries_left)?;
            let name = entry.name.clone();
            pairs.entry(name).or_default().1 = Some(entry);
        }
        for (before, after) in pairs.into_values().filter(|(before, after)| before != after) {
            let is_folder =
                |entry: &Option<Entry>| entry.as_ref().is_some_and(|entry| entry.kind() == Kind::Folder);
            let Some(known) = before.as_ref().or(after.as_ref()) else { continue };
            let joined = joined(path, known)
                .unwrap_or_else(|| format!("{path}/{}", String::from_utf8_lossy(&known.name)));
            let folder = |entry: &Option<Entry>| {
                entry.as_ref().filter(|entry| entry.kind() == Kind::Folder).map(|entry| entry.id)
            };
            let is_other = |entry: &Option<Entry>| entry.is_some() && !is_folder(entry);
            if (is_other(&before) || is_other(&after)) && !add(joined.clone()) {
                return Err(SiteError::TooLarge);
            }
            if is_folder(&before) || is_folder(&after) {
                self.compare((folder(&before), folder(&after)), &joined, depth + 1, entries_left, add)?;
            }
        }
        Ok(())
    }

    /// Writes a commit. Equal commits have the same id.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_commit(&self, commit: &NewCommit<'_>) -> Result<String, SiteError> {
        let NewCommit { tree, parent, name, email, time_s, message } = commit;
        let who = format!("{} <{}> {time_s} +0000", plain(name), plain(email));
        let text = format!(
            "tree {}\nparent {}\nauthor {who}\ncommitter {who}\n\n{}\n",
            object_id(tree)?,
            object_id(parent)?,
            message.replace('\0', "").trim_end()
        );
        let objects = gix::odb::loose::Store::at(self.git_dir.join("objects"), gix::hash::Kind::Sha1);
        let id = objects.write_buf(ObjectKind::Commit, text.as_bytes()).map_err(not_written)?;
        Ok(id.to_hex().to_string())
    }

    /// Returns the branch that prevents one of this name: `launch` conflicts with `launch/x`, and vice versa.
    ///
    /// # Errors
    /// If the branches cannot be read.
    pub fn conflicting_branch(&self, name: &str) -> Result<Option<String>, SiteError> {
        // Shortest first: nothing can be looked up below a file.
        for (end, _) in name.match_indices('/') {
            let above = name.get(..end).unwrap_or_default();
            if self.branch(above)?.is_some() {
                return Ok(Some(above.to_owned()));
            }
        }
        match self.loose_branch_below(name)? {
            Some(below) => Ok(Some(below)),
            None => self.packed_branch_below(name),
        }
    }

    /// Finds a loose branch whose name begins with `name/`. Empty folders, which git leaves behind, are not branches.
    fn loose_branch_below(&self, name: &str) -> Result<Option<String>, SiteError> {
        let branches = self.git_dir.join("refs/heads");
        let (mut open, mut looked_at) = (vec![branches.join(name)], 0);
        while let Some(folder) = open.pop() {
            looked_at += 1;
            if looked_at > BRANCH_FOLDERS_MAX {
                return Err(SiteError::TooLarge);
            }
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if is_no_folder(&error) => continue,
                Err(error) => return Err(error.into()),
            };
            for entry in entries {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    open.push(entry.path());
                    continue;
                }
                let path = entry.path();
                let below = path.strip_prefix(&branches).unwrap_or(&path).to_string_lossy().into_owned();
                if !entry.file_name().to_string_lossy().starts_with('.') {
                    return Ok(Some(below));
                }
            }
        }
        Ok(None)
    }

    /// Finds a packed branch whose name begins with `name/`.
    fn packed_branch_below(&self, name: &str) -> Result<Option<String>, SiteError> {
        let text = match self.directory.read_common_file("packed-refs", PACKED_REFS_BYTES_MAX) {
            Ok(text) => text,
            Err(ReadError::NotFound) => return Ok(None),
            Err(_) => return Err(SiteError::NotRepository("`packed-refs` cannot be read".to_owned())),
        };
        let text = String::from_utf8_lossy(&text);
        let mut branches =
            text.lines().filter_map(|line| line.split_once(" refs/heads/").map(|(_, name)| name));
        let is_below = |other: &str| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
        Ok(branches.find(|other| is_below(other)).map(str::to_owned))
    }

    /// Creates a branch, unless there is one of this name: of several processes that try, one succeeds. The name must be well-formed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create_branch(&self, name: &str, commit: &str) -> Result<BranchCreated, SiteError> {
        if let Some(other) = self.conflicting_branch(name)? {
            return Ok(BranchCreated::Blocked(other));
        }
        if let Some(existing) = self.branch(name)? {
            return Ok(BranchCreated::Exists(existing));
        }
        let path = self.git_dir.join("refs/heads").join(name);
        let folder = path.parent().unwrap_or(&self.git_dir).to_owned();
        fs::create_dir_all(&folder)?;
        // Git ignores names that begin with a dot. A link to a complete file appears at once, and only if the name is still free.
        static ATTEMPTS: AtomicU64 = AtomicU64::new(0);
        let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!(".{}-{attempt}-{commit}", std::process::id()));
        let mut file = fs::File::create(&temporary)?;
        file.write_all(format!("{}\n", object_id(commit)?).as_bytes())?;
        file.sync_all()?;
        let linked = fs::hard_link(&temporary, &path);
        // A leftover file is not a branch; whether the branch was created is decided already.
        let _ = fs::remove_file(&temporary);
        match linked {
            Ok(()) => Ok(BranchCreated::New),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let existing = self.branch(name)?;
                existing.map(BranchCreated::Exists).ok_or(SiteError::Io(error))
            }
            Err(error) => Err(SiteError::Io(error)),
        }
    }
}

impl SiteTree {
    /// Returns the paths of all files, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns the content of a file; `None` if there is no such file, or if it is larger than 16 MiB or cannot be read.
    #[must_use]
    pub fn read(&self, path: &str) -> Option<Vec<u8>> {
        let id = *self.files.get(path)?;
        let size = self.reader.size(id).ok()?;
        if size > FILE_BYTES_MAX {
            return None;
        }
        self.reader.object(id, ObjectKind::Blob).ok()
    }
}

/// Returns the path of an entry below a folder; `None` if its name leads elsewhere or is not UTF-8.
fn joined(folder: &str, entry: &Entry) -> Option<String> {
    let name = std::str::from_utf8(&entry.name).ok()?;
    let is_plain =
        !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']) && !name.eq_ignore_ascii_case(".git");
    let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    is_plain.then_some(path)
}

/// Counts an entry of a tree.
fn count_entry(entries_left: &mut usize) -> Result<(), SiteError> {
    *entries_left = entries_left.checked_sub(1).ok_or(SiteError::TooLarge)?;
    Ok(())
}

/// Returns the error for an object that could not be written: nothing is lost, and a later attempt may succeed.
fn not_written(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> SiteError {
    SiteError::Io(io::Error::other(error))
}

/// Checks whether there is no folder at a path.
fn is_no_folder(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn object_id(hex: &str) -> Result<ObjectId, SiteError> {
    let id = ObjectId::from_hex(hex.as_bytes()).map_err(|_| SiteError::Damaged(format!("{hex} is no id")))?;
    if id.kind() == gix::hash::Kind::Sha1 {
        Ok(id)
    } else {
        Err(SiteError::Damaged(format!("{hex} is no id")))
    }
}

/// Returns a name or address for a commit, without the characters that would end it.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() && !matches!(letter, '<' | '>')).collect()
}

fn reason(why: NoHistory) -> String {
    match why {
        NoHistory::Absent => "there is no repository".to_owned(),
        NoHistory::Refused(why) => why,
    }
}

#[cfg(test)]
mod tests;
