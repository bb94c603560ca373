//! A repository opened for reading, pinned to the commit that HEAD was at; commits, trees and blobs of it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::discover::upwards::{Options as Discovery, TrustPolicy};
use gix::objs::TreeRefIter;

/// Decoded objects that stay in memory, for each handle: neighbouring commits share most of their trees.
const OBJECT_CACHE_BYTES: usize = 32 << 20;

/// Entries of folders that stay in memory, for each handle; some 64 bytes each.
const FOLDERS_MAX: usize = 500_000;

/// A `.mailmap` above this size is ignored.
const MAILMAP_BYTES_MAX: usize = 1 << 20;

/// What a git repository knows of the files at and below one folder, as of the commit that HEAD was at when it
/// was opened.
///
/// A handle belongs to one thread at a time; a clone is cheap and has caches of its own.
#[derive(Clone)]
pub struct History {
    repo: gix::Repository,
    /// The folder's path in the work tree, without slashes at the ends; empty for the work tree itself.
    pub(super) folder: BString,
    head: Option<(Head, ObjectId)>,
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

/// Where HEAD stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The short name of the branch; `None` when HEAD is detached.
    pub branch: Option<String>,
    /// The commit, in hex.
    pub commit: String,
}

/// Where one call gives up.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Commits one call looks at.
    pub commits_max: usize,
    /// The window of the churn: how many of a file's last commits count.
    pub churn_commits: u32,
    /// Bytes of a file's version whose lines are compared. Larger ones count as binary.
    pub blob_bytes_max: usize,
    /// Time of one call.
    pub time: Duration,
}

/// The place of a commit in the history.
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

/// A file that differs between two trees. `None`: not there, or not a regular file (symlink, submodule).
pub(super) struct Change {
    pub(super) path: BString,
    pub(super) old: Option<ObjectId>,
    pub(super) new: Option<ObjectId>,
}

impl History {
    /// Opens the repository whose work tree holds `root`. Paths given and returned are relative to `root`, with `/`;
    /// files outside of it do not exist here. `None` where there is no such repository or it cannot be read.
    #[must_use]
    pub fn open(root: &Path) -> Option<Self> {
        match Self::try_open(root) {
            Ok(history) => Some(history),
            Err(error) => {
                tracing::debug!(root = %root.display(), %error, "no git history");
                None
            }
        }
    }

    /// Repositories of other users are read as well, where git would refuse: git protects from programs that a
    /// repository's configuration names (hooks, filters, textconv, diff drivers, fsmonitor). None of them can run here.
    /// The crate is built without the features for filters and drivers; only objects, references and `.mailmap`
    /// blobs are read; and every repository is opened as one that is not trusted, in isolation, so that its own
    /// configuration, the user's and the environment are left aside.
    fn try_open(root: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let options = gix::open::Options::isolated();
        let mut repo = gix::ThreadSafeRepository::discover_opts(
            root,
            Discovery { trust: TrustPolicy::Assume(gix::sec::Trust::Reduced), ..Discovery::default() },
            gix::sec::trust::Mapping { full: options.clone(), reduced: options },
        )?
        .to_thread_local();
        repo.object_cache_size(OBJECT_CACHE_BYTES);

        let work_tree = repo.workdir().ok_or("the repository has no work tree")?.canonicalize()?;
        let folder = root.canonicalize()?;
        let folder = gix::path::into_bstr(folder.strip_prefix(work_tree)?)?;
        let folder = gix::path::to_unix_separators(folder).into_owned();

        let cut_off = repo.shallow_commits()?.map(|commits| commits.iter().copied().collect());
        let mut history = Self {
            folder,
            head: read_head(&repo)?,
            // Only a shortcut: without it, or with a broken one, commits are decoded.
            graph: repo.commit_graph_if_enabled().ok().flatten().map(Arc::new),
            cut_off: Arc::new(cut_off.unwrap_or_default()),
            mailmap: Arc::default(),
            commits: RefCell::default(),
            authors: RefCell::default(),
            names: RefCell::default(),
            folders: RefCell::default(),
            repo,
        };
        history.mailmap = Arc::new(history.read_mailmap().unwrap_or_default());
        Ok(history)
    }

    /// Where HEAD stood when the repository was opened; `None` on a branch without commits.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        self.head.as_ref().map(|(head, _)| head.clone())
    }

    /// Where objects and references are read from; of a linked work tree, the main one's.
    #[must_use]
    pub fn directory(&self) -> std::path::PathBuf {
        let directory = self.repo.common_dir();
        directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
    }

    /// Where HEAD itself is kept; the same but for a linked work tree, which has its own.
    #[must_use]
    pub fn own_directory(&self) -> std::path::PathBuf {
        let directory = self.repo.git_dir();
        directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
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
        self.head.as_ref().map(|(_, id)| *id)
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
                let found = self.repo.find_commit(id)?;
                let decoded = found.decode()?;
                Commit {
                    tree: decoded.tree(),
                    parents: decoded.parents().collect(),
                    committed_s: decoded.committer()?.seconds(),
                }
            }
        };
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
        for parent in commit.iter_parents() {
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
        let commit = self.repo.find_commit(id)?;
        let signature = commit.author()?;
        let mapped = self.mailmap.resolve_cow(signature.trim());
        let (name, email) = (mapped.name.to_str_lossy(), mapped.email.to_str_lossy());
        let name = if name.is_empty() { email } else { name };
        let author = Author { name: self.shared(&name), authored_s: signature.seconds() };
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
        let tree = self.repo.find_tree(tree)?;
        for entry in tree.iter() {
            let entry = entry?;
            if entry.filename() == name {
                return Ok(Some(Entry { id: entry.object_id(), mode: entry.mode() }));
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

    /// The regular files that differ between two trees; `None` is the empty tree.
    pub(super) fn changes(&self, old: Option<ObjectId>, new: Option<ObjectId>) -> gix::Result<Vec<Change>> {
        use gix::diff::tree::recorder::Change as Recorded;
        if old == new {
            return Ok(Vec::new());
        }
        let tree = |id: Option<ObjectId>| {
            id.map_or_else(|| Ok(self.repo.empty_tree()), |id| self.repo.find_tree(id))
        };
        let (old, new) = (tree(old)?, tree(new)?);
        let mut recorder = gix::diff::tree::Recorder::default();
        let before = TreeRefIter::from_bytes(&old.data, old.id.kind());
        let after = TreeRefIter::from_bytes(&new.data, new.id.kind());
        gix::diff::tree(before, after, gix::diff::tree::State::default(), &self.repo.objects, &mut recorder)
            .map_err(gix::Error::from_error)?;

        let file = |mode: gix::objs::tree::EntryMode, id| mode.is_blob().then_some(id);
        let changes = recorder.records.into_iter().map(|change| match change {
            Recorded::Addition { entry_mode, oid, path, .. } => {
                Change { path, old: None, new: file(entry_mode, oid) }
            }
            Recorded::Deletion { entry_mode, oid, path, .. } => {
                Change { path, old: file(entry_mode, oid), new: None }
            }
            Recorded::Modification { previous_entry_mode, previous_oid, entry_mode, oid, path } => {
                Change { path, old: file(previous_entry_mode, previous_oid), new: file(entry_mode, oid) }
            }
        });
        Ok(changes.filter(|change| change.old.is_some() || change.new.is_some()).collect())
    }

    /// The content of a blob, where it is text of at most `bytes_max` bytes.
    pub(super) fn text(&self, id: ObjectId, bytes_max: usize) -> gix::Result<Option<Vec<u8>>> {
        /// Git's own rule: a NUL among the first bytes makes a file binary.
        const LOOKED_AT: usize = 8000;
        let blob = self.blob(id, bytes_max)?;
        Ok(blob.filter(|bytes| !bytes[..bytes.len().min(LOOKED_AT)].contains(&0)))
    }

    fn blob(&self, id: ObjectId, bytes_max: usize) -> gix::Result<Option<Vec<u8>>> {
        if self.repo.find_header(id)?.size() > bytes_max as u64 {
            return Ok(None);
        }
        Ok(Some(self.repo.find_blob(id)?.take_data()))
    }
}

/// An entry of a tree.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) id: ObjectId,
    pub(super) mode: gix::objs::tree::EntryMode,
}

fn read_head(repo: &gix::Repository) -> gix::Result<Option<(Head, ObjectId)>> {
    let head = repo.head()?;
    if head.is_unborn() {
        return Ok(None);
    }
    let branch = head.referent_name().map(|name| name.shorten().to_str_lossy().into_owned());
    let id = repo.head_commit()?.id;
    Ok(Some((Head { branch, commit: id.to_hex().to_string() }, id)))
}
