//! A repository opened for reading, pinned to the commit of HEAD: reads its commits, trees and blobs.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::{CommitRef, FindHeader, TagRefIter, TreeRefIter};
use serde::{Deserialize, Serialize};

use platform::safe_open::Folder;

use super::git_directory::{GitDirectory, NoHistory};
use super::objects::{OBJECT_BYTES_MAX, ObjectReader, object_error};
use super::tree_changes::{Change, TreeChanges};

/// Maximum number of cached folder entries, for each handle; about 64 bytes each.
const CACHED_FOLDERS_MAX: usize = 500_000;

/// Largest `.mailmap` that is read.
const MAILMAP_BYTES_MAX: usize = 1 << 20;
/// Longest chain of tags, and largest tag, that are followed.
const TAGS_MAX: usize = 8;
const TAG_BYTES_MAX: u64 = 1 << 20;
/// Maximum number of parents of a commit that is read. Each parent costs a comparison of two trees.
const PARENTS_MAX: usize = 1000;
/// Maximum length of an author name in bytes; the rest is truncated.
pub(super) const NAME_BYTES_MAX: usize = 256;

/// The history of the files below one folder, as of the commit of HEAD when the repository was opened.
///
/// A handle is used by one thread at a time. Clones are cheap and have caches of their own.
#[derive(Clone)]
pub struct History {
    objects: ObjectReader,
    /// The folder's path in the work tree, without slashes at the ends; empty for the work tree itself.
    pub(super) folder: BString,
    head: Option<ObjectId>,
    graph: Option<Arc<gix::commitgraph::Graph>>,
    /// The commits at which a shallow clone ends; their parents are missing.
    shallow: Arc<HashSet<ObjectId>>,
    mailmap: Arc<gix::mailmap::Snapshot>,
    commits: RefCell<HashMap<ObjectId, Arc<Commit>>>,
    authors: RefCell<HashMap<ObjectId, Author>>,
    /// Author names, so that equal names share memory.
    names: RefCell<HashSet<Arc<str>>>,
    folders: RefCell<FolderCache>,
}

/// The tree entries of folders, by path and parent tree. Shared by the files of a folder, and by commits with the same
/// tree.
#[derive(Clone, Default)]
struct FolderCache {
    by_path: HashMap<BString, HashMap<ObjectId, Option<Entry>>>,
    count: usize,
}

/// The branch and commit of HEAD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The short name of the branch; `None` when HEAD is detached.
    pub branch: Option<String>,
    /// The commit, in hex.
    pub commit: String,
}

/// Limits of one call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Limits {
    /// Maximum number of commits that one call reads.
    pub commits_max: usize,
    /// The number of last commits of a file that count for its churn.
    pub churn_commits: u32,
    /// Largest version of a file whose lines are compared, in bytes. Larger ones count as binary.
    pub blob_bytes_max: usize,
    /// Time limit of one call.
    pub time: Duration,
}

/// The fields of a commit that walks need.
pub(super) struct Commit {
    pub(super) tree: ObjectId,
    pub(super) parents: Vec<ObjectId>,
    /// Committer date, seconds since the epoch; walks are ordered by it.
    pub(super) committed_s: i64,
}

/// The author of a commit, with the name that the mailmap assigns, without NUL.
#[derive(Clone)]
pub(super) struct Author {
    pub(super) name: Arc<str>,
    /// Author date, seconds since the epoch.
    pub(super) authored_s: i64,
}

/// A repository whose git directory may be read, before its objects are opened. Opening maps files into memory, and
/// truncating such a file kills the process that reads it.
pub struct FoundRepository {
    git_directory: GitDirectory,
    folder: BString,
    head: Option<Head>,
    shallow: HashSet<ObjectId>,
    objects: Folder,
}

impl FoundRepository {
    /// Finds the repository whose work tree contains `root`; `may_read` as for [`GitDirectory::find`].
    ///
    /// Repositories of other users are accepted, although git refuses them to protect from programs in their
    /// configuration (hooks, filters, drivers). No such program can run here: only objects, references and `.mailmap`
    /// are read, and from the configuration only `core.worktree` of a submodule.
    ///
    /// # Errors
    /// The reason why there is no history to read.
    pub fn find(root: &Path, may_read: &dyn Fn(&Path) -> bool) -> Result<Self, NoHistory> {
        let root = root.canonicalize().map_err(|_| NoHistory::Absent)?;
        let git_directory = GitDirectory::find(&root, may_read)?;
        let folder = root.strip_prefix(&git_directory.work_tree).map_err(|_| NoHistory::Absent)?;
        let folder = BString::from(folder.as_os_str().as_bytes());
        let (head, shallow) = (git_directory.head()?, git_directory.shallow_commits()?.into_iter().collect());
        let objects = git_directory.open_objects()?;
        Ok(Self { git_directory, folder, head, shallow, objects })
    }

    /// Opens the bare repository at `git_dir`, a mirror of this program, at a commit. Paths are relative to `folder`, which is empty for
    /// the whole repository.
    ///
    /// # Errors
    /// The reason why there is no history to read.
    pub fn in_mirror(git_dir: &Path, head: Head, folder: &str) -> Result<Self, NoHistory> {
        let git_directory = GitDirectory::bare(git_dir)?;
        let (shallow, objects) =
            (git_directory.shallow_commits()?.into_iter().collect(), git_directory.open_objects()?);
        Ok(Self { git_directory, folder: folder.into(), head: Some(head), shallow, objects })
    }

    /// Returns the path of the root in the repository, without slashes at the ends.
    #[must_use]
    pub fn folder(&self) -> String {
        self.folder.to_string()
    }

    /// Returns HEAD when the repository was found; `None` on a branch without commits.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Returns the git directory.
    #[must_use]
    pub fn git_directory(&self) -> &GitDirectory {
        &self.git_directory
    }

    /// Returns the directory of objects, the only one that [`FoundRepository::open`] reads.
    #[must_use]
    pub fn objects(&self) -> &Folder {
        &self.objects
    }

    /// Replaces HEAD by this commit.
    #[must_use]
    pub fn at_commit(mut self, commit: &str) -> Self {
        self.head = Some(Head { branch: None, commit: commit.to_owned() });
        self
    }

    /// Opens the objects.
    ///
    /// # Errors
    /// The reason why they cannot be read.
    pub fn open(self) -> Result<History, NoHistory> {
        let directory = self.git_directory.common_dir.join("objects");
        let unreadable =
            |error: std::io::Error| NoHistory::Refused(format!("its objects cannot be read: {error}"));
        // An optimisation: if the commit graph is missing or broken, commits are decoded.
        let graph = |path: &str| {
            gix::commitgraph::Graph::at(&directory.join(path), gix::hash::Kind::Sha1, Some(OBJECT_BYTES_MAX))
        };
        let graph = graph("info").or_else(|_| graph("info/commit-graphs")).ok().map(Arc::new);
        let mut history = History {
            folder: self.folder,
            head: self.head.and_then(|head| ObjectId::from_hex(head.commit.as_bytes()).ok()),
            graph,
            shallow: Arc::new(self.shallow),
            mailmap: Arc::default(),
            commits: RefCell::default(),
            authors: RefCell::default(),
            names: RefCell::default(),
            folders: RefCell::default(),
            objects: ObjectReader::open(directory).map_err(unreadable)?,
        };
        history.mailmap = Arc::new(history.read_mailmap().unwrap_or_default());
        Ok(history)
    }
}

impl History {
    /// Finds and opens the repository whose work tree contains `root`. All paths are relative to `root`, with `/`;
    /// files outside of it are ignored.
    ///
    /// For trusted repositories only: packs are mapped into memory, so truncating them crashes this process. Other
    /// repositories are opened in a process of their own.
    ///
    /// # Errors
    /// The reason why there is no history to read.
    pub fn open(root: &Path) -> Result<Self, NoHistory> {
        FoundRepository::find(root, &|_| true)?.open()
    }

    /// Checks whether HEAD contains a file at `path`, relative to the root.
    #[must_use]
    pub fn has_file(&self, path: &str) -> bool {
        let Some(head) = self.head_id() else { return false };
        let mut path_in_tree = self.folder.clone();
        if !path_in_tree.is_empty() {
            path_in_tree.push(b'/');
        }
        path_in_tree.extend_from_slice(path.as_bytes());
        let entry = self.commit(head).and_then(|commit| self.entry(commit.tree, path_in_tree.as_ref()));
        entry.is_ok_and(|entry| entry.is_some())
    }

    /// Resolves an object in hex, a commit or a tag, to its commit; `None` if it does not lead to a commit, or cannot be read.
    #[must_use]
    pub fn peeled(&self, id: &str) -> Option<String> {
        let mut id = ObjectId::from_hex(id.as_bytes()).ok()?;
        // Tags may point to tags.
        for _ in 0..TAGS_MAX {
            let header = self.objects.handle.try_header(&id).ok()??;
            match header.kind {
                gix::objs::Kind::Commit => return Some(id.to_hex().to_string()),
                gix::objs::Kind::Tag if header.size <= TAG_BYTES_MAX => {}
                _ => return None,
            }
            let tag = self.objects.object(id, gix::objs::Kind::Tag).ok()?;
            id = TagRefIter::from_bytes(&tag, gix::hash::Kind::Sha1).target_id().ok()?;
        }
        None
    }

    pub(super) fn head_id(&self) -> Option<ObjectId> {
        self.head
    }

    /// Reads the mailmap from HEAD, as git does in a bare repository.
    fn read_mailmap(&self) -> gix::Result<gix::mailmap::Snapshot> {
        let mut mailmap = gix::mailmap::Snapshot::default();
        if let Some(head) = self.head_id()
            && let Some(entry) = self.entry(self.commit(head)?.tree, b".mailmap".as_bstr())?
            && entry.mode.is_blob()
            && let Some(text) = self.blob(entry.id, MAILMAP_BYTES_MAX)?
        {
            mailmap = gix::mailmap::Snapshot::from_bytes(&text);
        }
        Ok(mailmap)
    }

    /// Reads a commit, from the commit graph if that contains it.
    pub(super) fn commit(&self, id: ObjectId) -> gix::Result<Arc<Commit>> {
        if let Some(cached) = self.commits.borrow().get(&id) {
            return Ok(Arc::clone(cached));
        }
        let mut commit = match self.commit_from_graph(id)? {
            Some(commit) => commit,
            None => {
                let data = self.objects.object(id, gix::objs::Kind::Commit)?;
                let decoded = CommitRef::from_bytes(&data, gix::hash::Kind::Sha1)?;
                Commit {
                    tree: decoded.tree(),
                    parents: decoded.parents().take(PARENTS_MAX + 1).collect(),
                    committed_s: decoded.committer()?.seconds(),
                }
            }
        };
        if commit.parents.len() > PARENTS_MAX {
            return Err(object_error(format!("has more than {PARENTS_MAX} parents"), id));
        }
        if self.shallow.contains(&id) {
            commit.parents.clear();
        }
        let commit = Arc::new(commit);
        self.commits.borrow_mut().insert(id, Arc::clone(&commit));
        Ok(commit)
    }

    fn commit_from_graph(&self, id: ObjectId) -> gix::Result<Option<Commit>> {
        let Some(graph) = &self.graph else { return Ok(None) };
        let Some(commit) = graph.commit_by_id(id) else { return Ok(None) };
        let mut parents = Vec::new();
        for parent in commit.iter_parents().take(PARENTS_MAX + 1) {
            parents.push(graph.id_at(parent?).to_owned());
        }
        let committed_s = i64::try_from(commit.committer_timestamp()).unwrap_or(i64::MAX);
        Ok(Some(Commit { tree: commit.root_tree_id().to_owned(), parents, committed_s }))
    }

    /// Returns the author of a commit.
    pub(super) fn author(&self, id: ObjectId) -> gix::Result<Author> {
        if let Some(cached) = self.authors.borrow().get(&id) {
            return Ok(cached.clone());
        }
        let data = self.objects.object(id, gix::objs::Kind::Commit)?;
        let commit = CommitRef::from_bytes(&data, gix::hash::Kind::Sha1)?;
        let signature = commit.author()?;
        let mapped = self.mailmap.resolve_cow(signature.trim());
        let (name, email) = (mapped.name.to_str_lossy(), mapped.email.to_str_lossy());
        let name = if name.is_empty() { email } else { name };
        let name = &name[..name.floor_char_boundary(NAME_BYTES_MAX)];
        let name = self.shared_name(&name.replace('\0', ""));
        let author = Author { name, authored_s: signature.seconds() };
        self.authors.borrow_mut().insert(id, author.clone());
        Ok(author)
    }

    /// Returns the name as a reference-counted text that equal names share.
    fn shared_name(&self, name: &str) -> Arc<str> {
        let mut names = self.names.borrow_mut();
        if let Some(shared) = names.get(name) {
            return Arc::clone(shared);
        }
        let name: Arc<str> = name.into();
        names.insert(Arc::clone(&name));
        name
    }

    /// Returns the entry at `path` below `tree`.
    pub(super) fn entry(&self, tree: ObjectId, path: &BStr) -> gix::Result<Option<Entry>> {
        let mut entry = Entry { id: tree, mode: gix::objs::tree::EntryKind::Tree.into() };
        for name in path.split(|byte| *byte == b'/') {
            if !entry.mode.is_tree() {
                return Ok(None);
            }
            match self.child(entry.id, name.as_bstr())? {
                Some(child) => entry = child,
                None => return Ok(None),
            }
        }
        Ok(Some(entry))
    }

    /// Returns the entry `name` of `tree`.
    pub(super) fn child(&self, tree: ObjectId, name: &BStr) -> gix::Result<Option<Entry>> {
        let data = self.objects.tree(tree)?;
        for entry in TreeRefIter::from_bytes(&data, gix::hash::Kind::Sha1) {
            let entry = entry?;
            if entry.filename == name {
                return Ok(Some(Entry { id: entry.oid.to_owned(), mode: entry.mode }));
            }
        }
        Ok(None)
    }

    /// Returns the entry of the folder `path` in its parent tree; cached, because it is looked up for every commit and file.
    pub(super) fn folder_in(&self, parent_tree: ObjectId, path: &BString) -> gix::Result<Option<Entry>> {
        let cached = |folders: &FolderCache| folders.by_path.get(path)?.get(&parent_tree).copied();
        if let Some(entry) = cached(&self.folders.borrow()) {
            return Ok(entry);
        }
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let entry = self.child(parent_tree, name.as_bstr())?;
        let mut folders = self.folders.borrow_mut();
        if folders.count >= CACHED_FOLDERS_MAX {
            *folders = FolderCache::default();
        }
        folders.by_path.entry(path.clone()).or_default().insert(parent_tree, entry);
        folders.count += 1;
        Ok(entry)
    }

    /// Returns the tree of the opened folder in a commit with the tree `root`.
    pub(super) fn folder_tree(&self, root: ObjectId) -> gix::Result<Option<ObjectId>> {
        if self.folder.is_empty() {
            return Ok(Some(root));
        }
        Ok(self
            .entry(root, self.folder.as_bstr())?
            .filter(|entry| entry.mode.is_tree())
            .map(|entry| entry.id))
    }

    /// Returns the regular files that differ between two trees; `None` is the empty tree. Ends when `is_stopped` returns true, because a
    /// few objects can describe billions of files.
    ///
    /// # Errors
    /// Unreadable objects, too many changes, or a stop.
    pub(super) fn changes(
        &self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        is_stopped: &dyn Fn() -> bool,
    ) -> gix::Result<Vec<Change>> {
        if old == new {
            return Ok(Vec::new());
        }
        let tree = |id: Option<ObjectId>| id.map_or_else(|| Ok(Vec::new()), |id| self.objects.tree(id));
        let (old, new) = (tree(old)?, tree(new)?);
        let mut changes = TreeChanges::new(is_stopped);
        let before = TreeRefIter::from_bytes(&old, gix::hash::Kind::Sha1);
        let after = TreeRefIter::from_bytes(&new, gix::hash::Kind::Sha1);
        gix::diff::tree(before, after, gix::diff::tree::State::default(), &self.objects.handle, &mut changes)
            .map_err(gix::Error::from_error)?;
        Ok(changes.into_files())
    }

    /// Returns the content of a blob; `None` if it is binary or has more than `bytes_max` bytes.
    pub(super) fn text(&self, id: ObjectId, bytes_max: usize) -> gix::Result<Option<Vec<u8>>> {
        /// As in git, a file is binary if there is a NUL among this many of its first bytes.
        const EXAMINED_BYTES: usize = 8000;
        let blob = self.blob(id, bytes_max)?;
        Ok(blob.filter(|bytes| !bytes[..bytes.len().min(EXAMINED_BYTES)].contains(&0)))
    }

    /// Returns the bytes of a blob; `None` if it has more than `bytes_max`.
    pub(super) fn blob(&self, id: ObjectId, bytes_max: usize) -> gix::Result<Option<Vec<u8>>> {
        if self.objects.size(id)? > bytes_max as u64 {
            return Ok(None);
        }
        self.objects.object(id, gix::objs::Kind::Blob).map(Some)
    }
}

/// An entry of a tree.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) id: ObjectId,
    pub(super) mode: gix::objs::tree::EntryMode,
}
