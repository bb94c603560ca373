//! A repository opened for reading, pinned to the commit of HEAD: reads its commits, trees and blobs.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::{CommitRef, Find, FindHeader, TreeRefIter};
use gix::odb::pack::cache;
use serde::{Deserialize, Serialize};

use platform::beneath::Folder;

use super::place::{NoHistory, Place};
use super::tree_changes::{Change, TreeChanges};

/// Decoded objects that stay in memory, for each handle: neighbouring commits share most of their trees.
const OBJECT_CACHE_BYTES: usize = 32 << 20;

/// Entries of folders that stay in memory, for each handle; some 64 bytes each.
const FOLDERS_MAX: usize = 500_000;

/// A `.mailmap` above this size is ignored.
const MAILMAP_BYTES_MAX: usize = 1 << 20;
/// Largest object, and largest of those that a packed one is made of: a few bytes can unpack to gigabytes.
const OBJECT_BYTES_MAX: usize = 64 << 20;
/// Most parents of a commit. One with more is not read: each costs a comparison of two trees.
const PARENTS_MAX: usize = 1000;
/// Longest author's name in bytes; the rest is cut off.
const NAME_BYTES_MAX: usize = 256;

/// The history of the files below one folder, as of the commit of HEAD when the repository was opened.
///
/// A handle belongs to one thread at a time; a clone is cheap and has caches of its own.
#[derive(Clone)]
pub struct History {
    objects: gix::odb::HandleArc,
    /// The folder's path in the work tree, without slashes at the ends; empty for the work tree itself.
    pub(super) folder: BString,
    head: Option<ObjectId>,
    graph: Option<Arc<gix::commitgraph::Graph>>,
    /// Commits whose parents a shallow clone left out.
    cut_off: Arc<HashSet<ObjectId>>,
    mailmap: Arc<gix::mailmap::Snapshot>,
    commits: RefCell<HashMap<ObjectId, Arc<Commit>>>,
    authors: RefCell<HashMap<ObjectId, Author>>,
    names: RefCell<HashSet<Arc<str>>>,
    folders: RefCell<Folders>,
}

/// Entries of folders by their path and the tree above them. Files of a folder share these look-ups, and so do
/// commits that leave the tree alone.
#[derive(Clone, Default)]
struct Folders {
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
    /// Most commits that one call reads.
    pub commits_max: usize,
    /// The window of the churn: how many of a file's last commits count.
    pub churn_commits: u32,
    /// Bytes of a file's version whose lines are compared. Larger ones count as binary.
    pub blob_bytes_max: usize,
    /// Time limit of one call.
    pub time: Duration,
}

/// The position of a commit in the history.
pub(super) struct Commit {
    pub(super) tree: ObjectId,
    pub(super) parents: Vec<ObjectId>,
    /// Committer date, seconds since the epoch. Walks go by it.
    pub(super) committed_s: i64,
}

/// Who wrote a commit, after the mailmap, and when.
#[derive(Clone)]
pub(super) struct Author {
    pub(super) name: Arc<str>,
    /// Author date, seconds since the epoch.
    pub(super) authored_s: i64,
}

/// A repository whose git directory may be read. Its objects were not touched yet: what opens them maps files that others
/// may cut off meanwhile, which ends a process.
pub struct Found {
    place: Place,
    folder: BString,
    head: Option<Head>,
    cut_off: HashSet<ObjectId>,
    objects: Folder,
}

impl Found {
    /// Finds the repository whose work tree holds `root`; `may_read` as for [`Place::find`].
    ///
    /// Repositories of other users are read as well, where git would refuse: git protects from programs that a
    /// repository's configuration names (hooks, filters, drivers). None of them can run here: only objects, references and
    /// `.mailmap` are read, and of the configuration where the work tree of a submodule is.
    ///
    /// # Errors
    /// Why there is no history to read.
    pub fn find(root: &Path, may_read: &dyn Fn(&Path) -> bool) -> Result<Self, NoHistory> {
        let root = root.canonicalize().map_err(|_| NoHistory::Absent)?;
        let place = Place::find(&root, may_read)?;
        let folder = root.strip_prefix(&place.work_tree).map_err(|_| NoHistory::Absent)?;
        let folder = BString::from(folder.as_os_str().as_bytes());
        let (head, cut_off) = (place.head()?, place.shallow()?.into_iter().collect());
        let objects = place.objects()?;
        Ok(Self { place, folder, head, cut_off, objects })
    }

    /// Where HEAD stood when it was found; none on a branch without commits.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// The git directory.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The directory of objects, which is all that [`Found::open`] reads.
    #[must_use]
    pub fn objects(&self) -> &Folder {
        &self.objects
    }

    /// Reads as of this commit instead of HEAD.
    #[must_use]
    pub fn at(mut self, commit: &str) -> Self {
        self.head = Some(Head { branch: None, commit: commit.to_owned() });
        self
    }

    /// Opens the objects.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub fn open(self) -> Result<History, NoHistory> {
        let directory = self.place.common.join("objects");
        // Only a shortcut: without it, or with a broken one, commits are decoded.
        let graph = |path: &str| {
            gix::commitgraph::Graph::at(&directory.join(path), gix::hash::Kind::Sha1, Some(OBJECT_BYTES_MAX))
        };
        let graph = graph("info").or_else(|_| graph("info/commit-graphs")).ok().map(Arc::new);
        let mut history = History {
            folder: self.folder,
            head: self.head.and_then(|head| ObjectId::from_hex(head.commit.as_bytes()).ok()),
            graph,
            cut_off: Arc::new(self.cut_off),
            mailmap: Arc::default(),
            commits: RefCell::default(),
            authors: RefCell::default(),
            names: RefCell::default(),
            folders: RefCell::default(),
            objects: objects(directory)?,
        };
        history.mailmap = Arc::new(history.read_mailmap().unwrap_or_default());
        Ok(history)
    }
}

impl History {
    /// Finds and opens the repository whose work tree holds `root`. Paths given and returned are relative to `root`, with
    /// `/`; files outside of it do not exist here.
    ///
    /// Packs are mapped into memory: whoever can truncate them can crash this process. Use it for trusted repositories only; others
    /// are opened in a process of their own.
    ///
    /// # Errors
    /// Why there is no history to read.
    pub fn open(root: &Path) -> Result<Self, NoHistory> {
        Found::find(root, &|_| true)?.open()
    }

    /// Whether HEAD holds a file at `path`, relative to the root.
    #[must_use]
    pub fn holds(&self, path: &str) -> bool {
        let Some(head) = self.head_id() else { return false };
        let mut path_in_tree = self.folder.clone();
        if !path_in_tree.is_empty() {
            path_in_tree.push(b'/');
        }
        path_in_tree.extend_from_slice(path.as_bytes());
        let entry = self.commit(head).and_then(|commit| self.entry(commit.tree, path_in_tree.as_ref()));
        entry.is_ok_and(|entry| entry.is_some())
    }

    pub(super) fn head_id(&self) -> Option<ObjectId> {
        self.head
    }

    /// The mailmap that HEAD holds, as git takes it in a bare repository.
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

    /// The commit's place in the history, from the commit-graph file where it has it.
    pub(super) fn commit(&self, id: ObjectId) -> gix::Result<Arc<Commit>> {
        if let Some(known) = self.commits.borrow().get(&id) {
            return Ok(Arc::clone(known));
        }
        let mut commit = match self.commit_of_graph(id)? {
            Some(commit) => commit,
            None => {
                let data = self.object(id, gix::objs::Kind::Commit)?;
                let decoded = CommitRef::from_bytes(&data, gix::hash::Kind::Sha1)?;
                Commit {
                    tree: decoded.tree(),
                    parents: decoded.parents().take(PARENTS_MAX + 1).collect(),
                    committed_s: decoded.committer()?.seconds(),
                }
            }
        };
        if commit.parents.len() > PARENTS_MAX {
            return Err(refused("has more parents than are read", id));
        }
        if self.cut_off.contains(&id) {
            commit.parents.clear();
        }
        let commit = Arc::new(commit);
        self.commits.borrow_mut().insert(id, Arc::clone(&commit));
        Ok(commit)
    }

    fn commit_of_graph(&self, id: ObjectId) -> gix::Result<Option<Commit>> {
        let Some(graph) = &self.graph else { return Ok(None) };
        let Some(commit) = graph.commit_by_id(id) else { return Ok(None) };
        let mut parents = Vec::new();
        for parent in commit.iter_parents().take(PARENTS_MAX + 1) {
            parents.push(graph.id_at(parent?).to_owned());
        }
        let committed_s = i64::try_from(commit.committer_timestamp()).unwrap_or(i64::MAX);
        Ok(Some(Commit { tree: commit.root_tree_id().to_owned(), parents, committed_s }))
    }

    /// Who wrote the commit; equal names share their memory.
    pub(super) fn author(&self, id: ObjectId) -> gix::Result<Author> {
        if let Some(known) = self.authors.borrow().get(&id) {
            return Ok(known.clone());
        }
        let data = self.object(id, gix::objs::Kind::Commit)?;
        let commit = CommitRef::from_bytes(&data, gix::hash::Kind::Sha1)?;
        let signature = commit.author()?;
        let mapped = self.mailmap.resolve_cow(signature.trim());
        let (name, email) = (mapped.name.to_str_lossy(), mapped.email.to_str_lossy());
        let name = if name.is_empty() { email } else { name };
        let name = &name[..name.floor_char_boundary(NAME_BYTES_MAX)];
        let author = Author { name: self.shared(name), authored_s: signature.seconds() };
        self.authors.borrow_mut().insert(id, author.clone());
        Ok(author)
    }

    fn shared(&self, name: &str) -> Arc<str> {
        let mut names = self.names.borrow_mut();
        if let Some(known) = names.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        names.insert(Arc::clone(&name));
        name
    }

    /// The entry at `path` below `tree`.
    pub(super) fn entry(&self, tree: ObjectId, path: &BStr) -> gix::Result<Option<Entry>> {
        let mut at = Entry { id: tree, mode: gix::objs::tree::EntryKind::Tree.into() };
        for name in path.split(|byte| *byte == b'/') {
            if !at.mode.is_tree() {
                return Ok(None);
            }
            match self.child(at.id, name.as_bstr())? {
                Some(child) => at = child,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The entry `name` of `tree`.
    pub(super) fn child(&self, tree: ObjectId, name: &BStr) -> gix::Result<Option<Entry>> {
        let data = self.tree(tree)?;
        for entry in TreeRefIter::from_bytes(&data, gix::hash::Kind::Sha1) {
            let entry = entry?;
            if entry.filename == name {
                return Ok(Some(Entry { id: entry.oid.to_owned(), mode: entry.mode }));
            }
        }
        Ok(None)
    }

    /// The entry of the folder `path` in the tree above it; remembered, as every commit and every file asks for it.
    pub(super) fn folder_in(&self, above: ObjectId, path: &BString) -> gix::Result<Option<Entry>> {
        if let Some(known) = self.folders.borrow().by_path.get(path).and_then(|seen| seen.get(&above)) {
            return Ok(*known);
        }
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let entry = self.child(above, name.as_bstr())?;
        let mut folders = self.folders.borrow_mut();
        if folders.count >= FOLDERS_MAX {
            *folders = Folders::default();
        }
        folders.by_path.entry(path.clone()).or_default().insert(above, entry);
        folders.count += 1;
        Ok(entry)
    }

    /// The tree of the opened folder in the commit with the tree `root`.
    pub(super) fn folder_of(&self, root: ObjectId) -> gix::Result<Option<ObjectId>> {
        if self.folder.is_empty() {
            return Ok(Some(root));
        }
        Ok(self
            .entry(root, self.folder.as_bstr())?
            .filter(|entry| entry.mode.is_tree())
            .map(|entry| entry.id))
    }

    /// The regular files that differ between two trees; `None` is the empty tree. `stopped` is asked on the way: a few
    /// objects can be the trees of billions of files.
    ///
    /// # Errors
    /// Objects that cannot be read, more changes than are kept, or that it was stopped.
    pub(super) fn changes(
        &self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        stopped: &dyn Fn() -> bool,
    ) -> gix::Result<Vec<Change>> {
        if old == new {
            return Ok(Vec::new());
        }
        let tree = |id: Option<ObjectId>| id.map_or_else(|| Ok(Vec::new()), |id| self.tree(id));
        let (old, new) = (tree(old)?, tree(new)?);
        let mut changes = TreeChanges::new(stopped);
        let before = TreeRefIter::from_bytes(&old, gix::hash::Kind::Sha1);
        let after = TreeRefIter::from_bytes(&new, gix::hash::Kind::Sha1);
        gix::diff::tree(before, after, gix::diff::tree::State::default(), &self.objects, &mut changes)
            .map_err(gix::Error::from_error)?;
        Ok(changes.into_files())
    }

    /// The content of a blob, where it is text of at most `bytes_max` bytes.
    pub(super) fn text(&self, id: ObjectId, bytes_max: usize) -> gix::Result<Option<Vec<u8>>> {
        /// Git's own rule: a NUL among the first bytes makes a file binary.
        const LOOKED_AT: usize = 8000;
        let blob = self.blob(id, bytes_max)?;
        Ok(blob.filter(|bytes| !bytes[..bytes.len().min(LOOKED_AT)].contains(&0)))
    }

    /// The bytes of a blob, unless it has more than `bytes_max`.
    fn blob(&self, id: ObjectId, bytes_max: usize) -> gix::Result<Option<Vec<u8>>> {
        let header = self.objects.try_header(&id)?.ok_or_else(|| refused("is missing", id))?;
        if header.size > bytes_max as u64 {
            return Ok(None);
        }
        self.object(id, gix::objs::Kind::Blob).map(Some)
    }

    fn tree(&self, id: ObjectId) -> gix::Result<Vec<u8>> {
        if id == ObjectId::empty_tree(gix::hash::Kind::Sha1) {
            return Ok(Vec::new());
        }
        self.object(id, gix::objs::Kind::Tree)
    }

    fn object(&self, id: ObjectId, kind: gix::objs::Kind) -> gix::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.objects.try_find(&id, &mut bytes)?.map(|found| found.kind) {
            Some(found) if found == kind => Ok(bytes),
            Some(_) => Err(refused("is of another kind", id)),
            None => Err(refused("is missing", id)),
        }
    }
}

fn refused(what: &str, id: ObjectId) -> gix::Error {
    gix::Error::from_error(std::io::Error::other(format!("object {id} {what}")))
}

/// The objects of one repository, each of bounded size.
fn objects(directory: std::path::PathBuf) -> Result<gix::odb::HandleArc, NoHistory> {
    let options = gix::odb::store::init::Options {
        alloc_limit_bytes: Some(OBJECT_BYTES_MAX),
        ..gix::odb::store::init::Options::default()
    };
    let cannot = |error: std::io::Error| NoHistory::Refused(format!("its objects cannot be read: {error}"));
    let handle = gix::odb::at_opts(directory, gix::hash::Kind::Sha1, None, options).map_err(cannot)?;
    let mut handle = handle.into_arc().map_err(cannot)?;
    handle.set_pack_cache(|| Box::<cache::lru::StaticLinkedList<64>>::default());
    handle.set_object_cache(|| Box::new(cache::object::MemoryCappedHashmap::new(OBJECT_CACHE_BYTES)));
    Ok(handle)
}

/// An entry of a tree.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) id: ObjectId,
    pub(super) mode: gix::objs::tree::EntryMode,
}
