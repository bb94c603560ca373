//! Histories of lines (blame): follows the lines of a text back through the versions of the file, to the commits that added
//! them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use serde::{Deserialize, Serialize};

use super::line_diff::{LineDiff, LineRange, lines};
use super::line_history::{LineCommit, LineHistory, LineRun};
use super::repository::{Author, Commit, Entry};
use super::{History, Limits};

/// Maximum number of deleted files that are compared with an added file to detect a rename.
const RENAME_CANDIDATES_MAX: usize = 32;

impl History {
    /// Finds the commit that added each line of `text`, the content of `path` in the work tree, as `git blame` of HEAD does, following
    /// renames. Lines that HEAD does not contain have no commit.
    ///
    /// # Errors
    /// The reason why the commits, and so the authors, are unknown.
    pub fn line_history(
        &self,
        path: &str,
        text: &str,
        limits: &Limits,
    ) -> Result<LineHistory, AuthorsUnknown> {
        if text.len() > limits.blob_bytes_max {
            return Err(AuthorsUnknown::Permanent);
        }
        let mut blame = Blame::new(self, limits, lines(text.as_bytes()).count());
        blame.run(path, text).unwrap_or_else(|error| {
            tracing::debug!(path, %error, "the authors of lines are unknown");
            Err(if blame.is_timed_out() { AuthorsUnknown::TimedOut } else { AuthorsUnknown::Permanent })
        })
    }
}

/// The reason why the authors of a file's lines are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuthorsUnknown {
    /// The file is not in HEAD, is binary, or its size or history exceeds a limit.
    Permanent,
    /// The time limit passed; another attempt may succeed.
    TimedOut,
}

/// A version of the file that may have added lines: its commit, and the index of its path in [`Blame::paths`].
type Candidate = (ObjectId, usize);

/// The time limit passed.
struct TimedOut;

/// The search for the commits that added the lines of one file.
struct Blame<'a> {
    history: &'a History,
    limits: &'a Limits,
    deadline: Instant,
    /// The paths that the file had, the latest one first.
    paths: Vec<FollowedPath>,
    /// Versions to visit by committer date, newest first; those of the same second in the order of insertion.
    queue: BinaryHeap<(i64, Reverse<usize>, Candidate)>,
    queued: usize,
    /// The blob of each queued version, and the lines whose commit is searched from there.
    pending: HashMap<Candidate, (ObjectId, Vec<LineRange>)>,
    /// The commit that added each line, where it has been found.
    added_by: Vec<Option<ObjectId>>,
}

impl<'a> Blame<'a> {
    fn new(history: &'a History, limits: &'a Limits, lines: usize) -> Self {
        Self {
            history,
            limits,
            deadline: Instant::now() + limits.time,
            paths: Vec::new(),
            queue: BinaryHeap::new(),
            queued: 0,
            pending: HashMap::new(),
            added_by: vec![None; lines],
        }
    }

    fn run(&mut self, path: &str, text: &str) -> gix::Result<Result<LineHistory, AuthorsUnknown>> {
        const PERMANENT: Result<LineHistory, AuthorsUnknown> = Err(AuthorsUnknown::Permanent);
        let history = self.history;
        let Some(head) = history.head_id() else { return Ok(PERMANENT) };
        let folder = if history.folder.is_empty() { String::new() } else { format!("{}/", history.folder) };
        let path = self.follow(format!("{folder}{path}").into());
        let Some(blob) = self.paths[path].blob_in(history, history.commit(head)?.tree)? else {
            return Ok(PERMANENT);
        };
        let Some(committed) = history.text(blob, self.limits.blob_bytes_max)? else { return Ok(PERMANENT) };

        // The work tree is one more version after HEAD; lines that only it contains have no commit.
        let len = u32::try_from(self.added_by.len()).unwrap_or(u32::MAX);
        let all = [LineRange { text_line: 0, version_line: 0, len }];
        let (common, _) = LineDiff::new(&committed, text.as_bytes()).split(&all);
        self.enqueue((head, path), blob, common)?;

        let mut commits_seen = 0;
        while let Some((_, _, candidate)) = self.queue.pop() {
            let Some((blob, ranges)) = self.pending.remove(&candidate) else { continue };
            if commits_seen >= self.limits.commits_max {
                return Ok(PERMANENT);
            }
            if self.is_timed_out() {
                return Ok(Err(AuthorsUnknown::TimedOut));
            }
            commits_seen += 1;
            if self.visit(candidate, blob, ranges)?.is_err() {
                return Ok(Err(AuthorsUnknown::TimedOut));
            }
        }
        self.line_history().map(Ok)
    }

    /// Returns the lines as runs. Commits and authors are in the order of their first lines, so that the same blame is always the same
    /// value.
    fn line_history(&self) -> gix::Result<LineHistory> {
        let mut found = LineHistory::default();
        let (mut commits, mut authors) = (HashMap::new(), HashMap::new());
        let mut last_line = 0;
        for run in self.added_by.chunk_by(|line, next| line == next) {
            if let Some(id) = run[0]
                && !commits.contains_key(&id)
            {
                let Author { name, authored_s } = self.history.author(id)?;
                let author = *authors.entry(Arc::clone(&name)).or_insert_with(|| {
                    found.authors.push(name.to_string());
                    found.authors.len() as u32 - 1
                });
                commits.insert(id, found.commits.len() as u32);
                found.commits.push(LineCommit { id: id.as_slice().to_vec(), author, authored_s });
            }
            last_line += run.len() as u32;
            found.runs.push(LineRun { last_line, commit: run[0].map(|id| commits[&id]) });
        }
        Ok(found)
    }

    fn is_timed_out(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Queues the parents that contain these lines; attributes the rest to this commit.
    fn visit(
        &mut self,
        (id, path): Candidate,
        blob: ObjectId,
        ranges: Vec<LineRange>,
    ) -> gix::Result<Result<(), TimedOut>> {
        let commit = self.history.commit(id)?;
        let mut versions = Vec::new();
        for parent in &commit.parents {
            if self.is_timed_out() {
                return Ok(Err(TimedOut));
            }
            let tree = self.history.commit(*parent)?.tree;
            match self.paths[path].blob_in(self.history, tree)? {
                Some(same) if same == blob => return self.enqueue((*parent, path), blob, ranges).map(Ok),
                Some(old) => versions.push(((*parent, path), old)),
                None => {}
            }
        }
        if versions.is_empty()
            && let Some(parent) = commit.parents.first()
            && let Some((old_path, old)) = self.renamed_from(*parent, &commit, path, blob)?
        {
            versions.push(((*parent, self.follow(old_path)), old));
        }
        let rest = self.enqueue_versions(blob, ranges, versions)?;
        if !rest.is_empty() {
            // The answer takes the author from the cache; reading it here counts for the time limit.
            self.history.author(id)?;
            for range in rest {
                let (start, end) = (range.text_line as usize, (range.text_line + range.len) as usize);
                self.added_by[start..end].fill(Some(id));
            }
        }
        Ok(Ok(()))
    }

    /// Queues the older versions for the lines that they contain. Returns the lines that none of them contains.
    fn enqueue_versions(
        &mut self,
        blob: ObjectId,
        mut ranges: Vec<LineRange>,
        versions: Vec<(Candidate, ObjectId)>,
    ) -> gix::Result<Vec<LineRange>> {
        if versions.is_empty() {
            return Ok(ranges);
        }
        let bytes_max = self.limits.blob_bytes_max;
        let Some(new) = self.history.text(blob, bytes_max)? else { return Ok(ranges) };
        for (candidate, old_blob) in versions {
            if ranges.is_empty() {
                break;
            }
            if old_blob == blob {
                self.enqueue(candidate, old_blob, std::mem::take(&mut ranges))?;
            } else if let Some(old) = self.history.text(old_blob, bytes_max)? {
                let (common, rest) = LineDiff::new(&old, &new).split(&ranges);
                self.enqueue(candidate, old_blob, common)?;
                ranges = rest;
            }
        }
        Ok(ranges)
    }

    /// Queues a version for these lines.
    fn enqueue(&mut self, candidate: Candidate, blob: ObjectId, ranges: Vec<LineRange>) -> gix::Result<()> {
        if ranges.is_empty() {
            return Ok(());
        }
        let committed_s = self.history.commit(candidate.0)?.committed_s;
        if let Some((_, queued_ranges)) = self.pending.get_mut(&candidate) {
            queued_ranges.extend(ranges);
        } else {
            self.pending.insert(candidate, (blob, ranges));
            self.queued += 1;
            self.queue.push((committed_s, Reverse(self.queued), candidate));
        }
        Ok(())
    }

    /// Returns the index of `path` in `paths`, after adding it if needed.
    fn follow(&mut self, path: BString) -> usize {
        if let Some(index) = self.paths.iter().position(|followed| followed.path == path) {
            return index;
        }
        self.paths.push(FollowedPath::new(path));
        self.paths.len() - 1
    }

    /// Finds the file that this commit renamed to the followed path: a deleted file with the same content, or else the deleted file with
    /// the most lines in common, at least half of all.
    fn renamed_from(
        &self,
        parent: ObjectId,
        commit: &Commit,
        path: usize,
        blob: ObjectId,
    ) -> gix::Result<Option<(BString, ObjectId)>> {
        let file_name = |path: &BString| path.rsplit(|byte| *byte == b'/').next().map(<[u8]>::to_vec);
        let new_name = file_name(&self.paths[path].path);
        let old_tree = self.history.commit(parent)?.tree;
        let changes =
            self.history.changes(Some(old_tree), Some(commit.tree), &|| self.is_timed_out())?.into_iter();
        let mut deleted: Vec<(BString, ObjectId)> = changes
            .filter_map(|change| Some((change.path, change.old.filter(|_| change.new.is_none())?)))
            .collect();
        deleted.sort_by_key(|(old_path, old)| (*old != blob, file_name(old_path) != new_name));
        if deleted.first().is_none_or(|(_, old)| *old == blob) {
            return Ok(deleted.into_iter().next());
        }

        let bytes_max = self.limits.blob_bytes_max;
        let Some(new) = self.history.text(blob, bytes_max)? else { return Ok(None) };
        let mut best = (0, None);
        for (old_path, old_blob) in deleted.into_iter().take(RENAME_CANDIDATES_MAX) {
            let Some(old) = self.history.text(old_blob, bytes_max)? else { continue };
            let diff = LineDiff::new(&old, &new);
            let lines_max = lines(&old).count().max(lines(&new).count());
            if diff.unchanged() > best.0 && diff.unchanged() as usize * 2 >= lines_max {
                best = (diff.unchanged(), Some((old_path, old_blob)));
            }
        }
        Ok(best.1)
    }
}

/// A path that is looked up in many commits.
struct FollowedPath {
    path: BString,
    /// The paths of its parent folders, the top one first.
    folders: Vec<BString>,
    /// Cache of the file's entry by the tree of its folder, which most commits do not change.
    entries: HashMap<ObjectId, Option<Entry>>,
}

impl FollowedPath {
    fn new(path: BString) -> Self {
        let folders = path.find_iter("/").map(|end| path[..end].into()).collect();
        Self { path, folders, entries: HashMap::new() }
    }

    /// Returns the blob at the path in a commit's tree; `None` if it is missing or not a regular file.
    fn blob_in(&mut self, history: &History, tree: ObjectId) -> gix::Result<Option<ObjectId>> {
        let mut at = tree;
        let mut names = self.path.split(|byte| *byte == b'/').enumerate().peekable();
        while let Some((depth, name)) = names.next() {
            let is_last = names.peek().is_none();
            let entry = match self.entries.get(&at) {
                Some(cached) if is_last => *cached,
                _ if is_last => {
                    let entry = history.child(at, name.as_bstr())?;
                    self.entries.insert(at, entry);
                    entry
                }
                _ => history.folder_in(at, &self.folders[depth])?,
            };
            match entry {
                Some(entry) if is_last => return Ok(entry.mode.is_blob().then_some(entry.id)),
                Some(entry) if entry.mode.is_tree() => at = entry.id,
                _ => break,
            }
        }
        Ok(None)
    }
}
