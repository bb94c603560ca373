//! History of files: one walk over the commits, newest first, that tracks at each commit which files still need it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Instant;

use gix::ObjectId;
use gix::bstr::BString;
use serde::{Deserialize, Serialize};

use super::line_diff::{LineDiff, lines};
use super::repository::Commit;
use super::tree_changes::Change;
use super::{History, Limits};

/// The history of one file, as `git log -- <file>` shows it: a merge counts only where the file differs from
/// all parents, branches whose changes a merge dropped do not count, renames end the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHistory {
    /// The author of the last commit that changed the file, after the repository's mailmap.
    pub last_author: String,
    /// When that commit was written: author date, seconds since the epoch.
    pub last_modified_s: i64,
    /// That commit, in hex.
    pub last_commit: String,
    /// Lines added by the commits of the window. A binary file has none, and so has a merge (`git log --numstat`).
    pub churn_added: u32,
    /// Lines deleted by the commits of the window.
    pub churn_deleted: u32,
    /// Commits in the window: the file's last ones, at most [`Limits::churn_commits`].
    pub churn_commits: u32,
}

/// The result of [`History::files`].
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FileHistories {
    /// By path. Files that the walk did not reach are absent: unknown is not 0.
    pub files: HashMap<String, FileHistory>,
    /// False when limits, cancellation or an unreadable object ended the walk early.
    pub complete: bool,
    /// Number of commits that were read.
    pub commits_seen: u64,
}

impl History {
    /// Facts of the regular files of HEAD's tree. Ends when each has its last commit and its window, at the end of
    /// the history, at a limit, or when `cancelled` says so (asked at every commit).
    #[must_use]
    pub fn files(&self, limits: &Limits, cancelled: &dyn Fn() -> bool) -> FileHistories {
        let mut walk = Walk::new(self, limits, cancelled);
        let complete = walk.run().unwrap_or_else(|error| {
            tracing::debug!(%error, "the walk over the git history ended early");
            false
        });
        let found = walk.names.into_iter().zip(walk.found);
        let files = found.filter_map(|(name, found)| Some((name?, found?))).collect();
        FileHistories { files, complete, commits_seen: walk.commits_seen }
    }
}

/// A file by its place in the list of HEAD's files.
type FileId = u32;

struct Walk<'a> {
    history: &'a History,
    limits: &'a Limits,
    cancelled: &'a dyn Fn() -> bool,
    deadline: Instant,
    ids: HashMap<BString, FileId>,
    /// Paths that are not UTF-8 have none and are left out.
    names: Vec<Option<String>>,
    found: Vec<Option<FileHistory>>,
    /// Files that need more commits.
    open: FileSet,
    /// Commits to look at, newest first; of the same second, first come first served.
    queue: BinaryHeap<(i64, Reverse<u64>, ObjectId)>,
    /// The files that sent the walk to a commit. Clocks that went backwards can send it there twice.
    wanted: HashMap<ObjectId, FileSet>,
    queued: u64,
    commits_seen: u64,
    /// Whether there was content that could not be read.
    unreadable: bool,
}

/// The walk was cancelled.
struct Stop;

impl<'a> Walk<'a> {
    fn new(history: &'a History, limits: &'a Limits, cancelled: &'a dyn Fn() -> bool) -> Self {
        Self {
            history,
            limits,
            cancelled,
            deadline: Instant::now() + limits.time,
            ids: HashMap::new(),
            names: Vec::new(),
            found: Vec::new(),
            open: FileSet::default(),
            queue: BinaryHeap::new(),
            wanted: HashMap::new(),
            queued: 0,
            commits_seen: 0,
            unreadable: false,
        }
    }

    /// Whether the walk came to its end and read everything.
    fn run(&mut self) -> gix::Result<bool> {
        let Some(head) = self.history.head_id() else { return Ok(true) };
        let tree = self.history.folder_of(self.history.commit(head)?.tree)?;
        for Change { path, .. } in self.history.changes(None, tree, &|| self.stopped())? {
            self.names.push(String::from_utf8(path.to_vec()).ok());
            self.ids.insert(path, self.found.len() as FileId);
            self.found.push(None);
        }
        self.open = FileSet::all(self.found.len());
        self.send(head, self.open.clone())?;

        while let Some((_, _, id)) = self.queue.pop() {
            let Some(mut files) = self.wanted.remove(&id) else { continue };
            files.keep(&self.open);
            if files.is_empty() {
                continue;
            }
            if self.commits_seen >= self.limits.commits_max as u64 || self.stopped() {
                return Ok(false);
            }
            self.commits_seen += 1;
            if self.look_at(id, files)?.is_err() {
                return Ok(false);
            }
        }
        Ok(!self.unreadable)
    }

    fn stopped(&self) -> bool {
        (self.cancelled)() || Instant::now() >= self.deadline
    }

    /// Sends the walk to a commit for the sake of some files.
    fn send(&mut self, id: ObjectId, files: FileSet) -> gix::Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let committed_s = self.history.commit(id)?.committed_s;
        match self.wanted.get_mut(&id) {
            Some(known) => known.add(&files),
            None => {
                self.wanted.insert(id, files);
                self.queued += 1;
                self.queue.push((committed_s, Reverse(self.queued), id));
            }
        }
        Ok(())
    }

    fn look_at(&mut self, id: ObjectId, files: FileSet) -> gix::Result<Result<(), Stop>> {
        let commit = self.history.commit(id)?;
        if commit.parents.len() > 1 {
            return self.look_at_merge(id, &commit, files);
        }
        let parent = commit.parents.first().copied();
        for (file, change) in self.changes(parent, &commit, &files)? {
            if self.stopped() {
                return Ok(Err(Stop));
            }
            // A clone that left out blobs still knows who and when.
            let (added, deleted) = self.line_counts(&change).unwrap_or_else(|error| {
                tracing::debug!(commit = %id, path = %change.path, %error, "lines of a commit could not be counted");
                self.unreadable = true;
                (0, 0)
            });
            self.count(file, id, added, deleted)?;
        }
        if let Some(parent) = parent {
            self.send(parent, files)?;
        }
        Ok(Ok(()))
    }

    /// A file follows the first parent that has it as the merge has it. Where all differ, the merge changed it, and
    /// the file follows them all.
    fn look_at_merge(
        &mut self,
        id: ObjectId,
        commit: &Commit,
        files: FileSet,
    ) -> gix::Result<Result<(), Stop>> {
        let mut differ = files;
        for parent in &commit.parents {
            if self.stopped() {
                return Ok(Err(Stop));
            }
            let mut same = differ.clone();
            differ = FileSet::default();
            for (file, _) in self.changes(Some(*parent), commit, &same)? {
                same.remove(file);
                differ.insert(file);
            }
            self.send(*parent, same)?;
            if differ.is_empty() {
                return Ok(Ok(()));
            }
        }
        for file in differ.iter() {
            self.count(file, id, 0, 0)?;
        }
        for parent in &commit.parents {
            self.send(*parent, differ.clone())?;
        }
        Ok(Ok(()))
    }

    /// What the commit changed against a parent (none: against nothing), of these files.
    fn changes(
        &self,
        parent: Option<ObjectId>,
        commit: &Commit,
        files: &FileSet,
    ) -> gix::Result<Vec<(FileId, Change)>> {
        let old = match parent {
            Some(parent) => self.history.folder_of(self.history.commit(parent)?.tree)?,
            None => None,
        };
        let new = self.history.folder_of(commit.tree)?;
        let changes = self.history.changes(old, new, &|| self.stopped())?;
        let known = changes.into_iter().filter_map(|change| Some((*self.ids.get(&change.path)?, change)));
        Ok(known.filter(|(file, _)| files.contains(*file)).collect())
    }

    /// Lines added and deleted.
    fn line_counts(&self, change: &Change) -> gix::Result<(u32, u32)> {
        if change.old == change.new || self.limits.churn_commits == 0 {
            return Ok((0, 0));
        }
        let text = |id: Option<ObjectId>| match id {
            Some(id) => self.history.text(id, self.limits.blob_bytes_max),
            None => Ok(Some(Vec::new())),
        };
        let (Some(old), Some(new)) = (text(change.old)?, text(change.new)?) else { return Ok((0, 0)) };
        let all = |text: &[u8]| u32::try_from(lines(text).count()).unwrap_or(u32::MAX);
        Ok(match (change.old, change.new) {
            (None, _) => (all(&new), 0),
            (_, None) => (0, all(&old)),
            _ => {
                let diff = LineDiff::new(&old, &new);
                (diff.added(), diff.deleted())
            }
        })
    }

    /// Counts a commit for a file.
    fn count(&mut self, file: FileId, id: ObjectId, added: u32, deleted: u32) -> gix::Result<()> {
        let found = &mut self.found[file as usize];
        if found.is_none() {
            let author = self.history.author(id)?;
            *found = Some(FileHistory {
                last_author: author.name.to_string(),
                last_modified_s: author.authored_s,
                last_commit: id.to_hex().to_string(),
                churn_added: 0,
                churn_deleted: 0,
                churn_commits: 0,
            });
        }
        if let Some(found) = found
            && found.churn_commits < self.limits.churn_commits
        {
            found.churn_added = found.churn_added.saturating_add(added);
            found.churn_deleted = found.churn_deleted.saturating_add(deleted);
            found.churn_commits += 1;
        }
        if found.as_ref().is_some_and(|found| found.churn_commits >= self.limits.churn_commits) {
            self.open.remove(file);
        }
        Ok(())
    }
}

/// A set of files, a bit each: a walk holds one for each commit in its queue.
#[derive(Clone, Default)]
struct FileSet(Vec<u64>);

impl FileSet {
    fn all(files: usize) -> Self {
        let mut set = Self(vec![u64::MAX; files.div_ceil(64)]);
        if let Some(last) = set.0.last_mut() {
            *last >>= (64 - files % 64) % 64;
        }
        set
    }

    fn insert(&mut self, file: FileId) {
        let word = file as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (file % 64);
    }

    fn remove(&mut self, file: FileId) {
        if let Some(word) = self.0.get_mut(file as usize / 64) {
            *word &= !(1 << (file % 64));
        }
    }

    fn contains(&self, file: FileId) -> bool {
        self.0.get(file as usize / 64).is_some_and(|word| word & (1 << (file % 64)) != 0)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Adds the files of `other`.
    fn add(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    /// Drops the files that `other` lacks.
    fn keep(&mut self, other: &Self) {
        self.0.truncate(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
    }

    fn iter(&self) -> impl Iterator<Item = FileId> {
        let bits = |(at, word): (usize, &u64)| {
            let word = *word;
            (0..64).filter(move |bit| word & (1 << bit) != 0).map(move |bit| (at * 64) as FileId + bit)
        };
        self.0.iter().enumerate().flat_map(bits)
    }
}
