//! History of files: one walk over the commits, newest first, with a queue of commits and the files that need them.

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

/// The history of one file, as `git log -- <file>` shows it: a merge counts only if the file differs from that of all
/// parents, branches whose changes a merge dropped do not count, and a rename ends the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHistory {
    /// The author of the last commit that changed the file, by the name that the mailmap assigns.
    pub last_author: String,
    /// The author date of that commit, seconds since the epoch.
    pub last_modified_s: i64,
    /// The id of that commit, in hex.
    pub last_commit: String,
    /// Lines added by the counted commits. Binary files and merges have none, as in `git log --numstat`.
    pub churn_added: u32,
    /// Lines deleted by the counted commits.
    pub churn_deleted: u32,
    /// The counted commits: the last ones of the file, at most [`Limits::churn_commits`].
    pub churn_commits: u32,
}

/// The result of [`History::files`].
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FileHistories {
    /// By path. Files that the walk did not reach are absent.
    pub files: HashMap<String, FileHistory>,
    /// False if a limit, cancellation or an unreadable object ended the walk early.
    pub complete: bool,
    /// Number of commits that were read.
    pub commits_seen: u64,
}

impl History {
    /// Reads the histories of the regular files in HEAD. Ends when every file has all its counted commits, at the end
    /// of the history, at a limit, or when `is_cancelled` returns true.
    #[must_use]
    pub fn files(&self, limits: &Limits, is_cancelled: &dyn Fn() -> bool) -> FileHistories {
        let mut walk = Walk::new(self, limits, is_cancelled);
        let complete = walk.run().unwrap_or_else(|error| {
            tracing::debug!(%error, "the walk over the git history ended early");
            false
        });
        let histories = walk.paths.into_iter().zip(walk.histories);
        let files = histories.filter_map(|(path, history)| Some((path?, history?))).collect();
        FileHistories { files, complete, commits_seen: walk.commits_seen }
    }
}

/// The index of a file in the list of HEAD's files.
type FileId = u32;

struct Walk<'a> {
    history: &'a History,
    limits: &'a Limits,
    is_cancelled: &'a dyn Fn() -> bool,
    deadline: Instant,
    ids: HashMap<BString, FileId>,
    /// The path of each file; `None` for a path that is not UTF-8, whose file is omitted.
    paths: Vec<Option<String>>,
    histories: Vec<Option<FileHistory>>,
    /// Files that need more commits.
    unfinished: FileSet,
    /// Commits to visit by committer date, newest first; those of the same second in the order of insertion.
    queue: BinaryHeap<(i64, Reverse<u64>, ObjectId)>,
    /// The files that need each queued commit. A commit can be queued twice if clocks went backwards.
    files_by_commit: HashMap<ObjectId, FileSet>,
    queued: u64,
    commits_seen: u64,
    /// `true` if some content could not be read.
    has_unreadable: bool,
}

/// The walk was cancelled, or its time limit passed.
struct Stopped;

impl<'a> Walk<'a> {
    fn new(history: &'a History, limits: &'a Limits, is_cancelled: &'a dyn Fn() -> bool) -> Self {
        Self {
            history,
            limits,
            is_cancelled,
            deadline: Instant::now() + limits.time,
            ids: HashMap::new(),
            paths: Vec::new(),
            histories: Vec::new(),
            unfinished: FileSet::default(),
            queue: BinaryHeap::new(),
            files_by_commit: HashMap::new(),
            queued: 0,
            commits_seen: 0,
            has_unreadable: false,
        }
    }

    /// Runs the walk; returns `true` if it is complete and could read everything.
    fn run(&mut self) -> gix::Result<bool> {
        let Some(head) = self.history.head_id() else { return Ok(true) };
        let tree = self.history.folder_tree(self.history.commit(head)?.tree)?;
        for Change { path, .. } in self.history.changes(None, tree, &|| self.is_stopped())? {
            self.paths.push(String::from_utf8(path.to_vec()).ok());
            self.ids.insert(path, self.histories.len() as FileId);
            self.histories.push(None);
        }
        self.unfinished = FileSet::all(self.histories.len());
        self.enqueue(head, self.unfinished.clone())?;

        while let Some((_, _, id)) = self.queue.pop() {
            let Some(mut files) = self.files_by_commit.remove(&id) else { continue };
            files.intersect(&self.unfinished);
            if files.is_empty() {
                continue;
            }
            if self.commits_seen >= self.limits.commits_max as u64 || self.is_stopped() {
                return Ok(false);
            }
            self.commits_seen += 1;
            if self.visit(id, files)?.is_err() {
                return Ok(false);
            }
        }
        Ok(!self.has_unreadable)
    }

    fn is_stopped(&self) -> bool {
        (self.is_cancelled)() || Instant::now() >= self.deadline
    }

    /// Queues a commit for these files.
    fn enqueue(&mut self, id: ObjectId, files: FileSet) -> gix::Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let committed_s = self.history.commit(id)?.committed_s;
        match self.files_by_commit.get_mut(&id) {
            Some(queued_files) => queued_files.unite(&files),
            None => {
                self.files_by_commit.insert(id, files);
                self.queued += 1;
                self.queue.push((committed_s, Reverse(self.queued), id));
            }
        }
        Ok(())
    }

    /// Counts a commit for the files that it changed, and queues its parents.
    fn visit(&mut self, id: ObjectId, files: FileSet) -> gix::Result<Result<(), Stopped>> {
        let commit = self.history.commit(id)?;
        if commit.parents.len() > 1 {
            return self.visit_merge(id, &commit, files);
        }
        let parent = commit.parents.first().copied();
        for (file, change) in self.changes(parent, &commit, &files)? {
            if self.is_stopped() {
                return Ok(Err(Stopped));
            }
            // A partial clone may lack blobs; author and date are known nevertheless.
            let (added, deleted) = self.line_counts(&change).unwrap_or_else(|error| {
                tracing::debug!(commit = %id, path = %change.path, %error, "lines of a commit could not be counted");
                self.has_unreadable = true;
                (0, 0)
            });
            self.count(file, id, added, deleted)?;
        }
        if let Some(parent) = parent {
            self.enqueue(parent, files)?;
        }
        Ok(Ok(()))
    }

    /// Counts a merge for the files that differ from those of all parents, and queues all parents for them. Queues for
    /// each other file the first parent that has the same content.
    fn visit_merge(
        &mut self,
        id: ObjectId,
        commit: &Commit,
        files: FileSet,
    ) -> gix::Result<Result<(), Stopped>> {
        let mut changed = files;
        for parent in &commit.parents {
            if self.is_stopped() {
                return Ok(Err(Stopped));
            }
            let mut same = changed.clone();
            changed = FileSet::default();
            for (file, _) in self.changes(Some(*parent), commit, &same)? {
                same.remove(file);
                changed.insert(file);
            }
            self.enqueue(*parent, same)?;
            if changed.is_empty() {
                return Ok(Ok(()));
            }
        }
        for file in changed.iter() {
            self.count(file, id, 0, 0)?;
        }
        for parent in &commit.parents {
            self.enqueue(*parent, changed.clone())?;
        }
        Ok(Ok(()))
    }

    /// Returns the changes of a commit to these files, compared with a parent; without a parent, compared with the empty tree.
    fn changes(
        &self,
        parent: Option<ObjectId>,
        commit: &Commit,
        files: &FileSet,
    ) -> gix::Result<Vec<(FileId, Change)>> {
        let old = match parent {
            Some(parent) => self.history.folder_tree(self.history.commit(parent)?.tree)?,
            None => None,
        };
        let new = self.history.folder_tree(commit.tree)?;
        let changes = self.history.changes(old, new, &|| self.is_stopped())?;
        let in_head = changes.into_iter().filter_map(|change| Some((*self.ids.get(&change.path)?, change)));
        Ok(in_head.filter(|(file, _)| files.contains(*file)).collect())
    }

    /// Returns the numbers of added and deleted lines.
    fn line_counts(&self, change: &Change) -> gix::Result<(u32, u32)> {
        if change.old == change.new || self.limits.churn_commits == 0 {
            return Ok((0, 0));
        }
        let text = |id: Option<ObjectId>| match id {
            Some(id) => self.history.text(id, self.limits.blob_bytes_max),
            None => Ok(Some(Vec::new())),
        };
        let (Some(old), Some(new)) = (text(change.old)?, text(change.new)?) else { return Ok((0, 0)) };
        let line_count = |text: &[u8]| u32::try_from(lines(text).count()).unwrap_or(u32::MAX);
        Ok(match (change.old, change.new) {
            (None, _) => (line_count(&new), 0),
            (_, None) => (0, line_count(&old)),
            _ => {
                let diff = LineDiff::new(&old, &new);
                (diff.added(), diff.deleted())
            }
        })
    }

    /// Counts a commit for a file.
    fn count(&mut self, file: FileId, id: ObjectId, added: u32, deleted: u32) -> gix::Result<()> {
        let history = &mut self.histories[file as usize];
        if history.is_none() {
            let author = self.history.author(id)?;
            *history = Some(FileHistory {
                last_author: author.name.to_string(),
                last_modified_s: author.authored_s,
                last_commit: id.to_hex().to_string(),
                churn_added: 0,
                churn_deleted: 0,
                churn_commits: 0,
            });
        }
        if let Some(history) = history
            && history.churn_commits < self.limits.churn_commits
        {
            history.churn_added = history.churn_added.saturating_add(added);
            history.churn_deleted = history.churn_deleted.saturating_add(deleted);
            history.churn_commits += 1;
        }
        if history.as_ref().is_some_and(|history| history.churn_commits >= self.limits.churn_commits) {
            self.unfinished.remove(file);
        }
        Ok(())
    }
}

/// A bit set of files: a walk holds one for each commit in its queue.
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
    fn unite(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    /// Removes the files that `other` lacks.
    fn intersect(&mut self, other: &Self) {
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
