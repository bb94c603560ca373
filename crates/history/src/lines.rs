//! Line authors (blame): passes the lines of a text back through the history, version by version, to the commit whose parents do
//! not have them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use serde::{Deserialize, Serialize};

use super::line_diff::{LineDiff, Run, lines};
use super::repository::{Commit, Entry};
use super::{History, Limits};

/// How many deleted files are compared with a file that appears, to find where it came from.
const RENAME_CANDIDATES_MAX: usize = 32;

impl History {
    /// The author of each line of `text`, which is what `path` holds in the work tree, as `git blame` of HEAD would
    /// say (renames followed). A line is `None` that HEAD does not have as it stands.
    ///
    /// # Errors
    /// Why the authors are unknown.
    pub fn line_authors(&self, path: &str, text: &str, limits: &Limits) -> Result<LineAuthors, Unknown> {
        if text.len() > limits.blob_bytes_max {
            return Err(Unknown::ForGood);
        }
        let mut blame = Blame::new(self, limits, lines(text.as_bytes()).count());
        let known = blame.run(path, text).unwrap_or_else(|error| {
            tracing::debug!(path, %error, "the authors of lines are unknown");
            Err(if blame.is_late() { Unknown::OutOfTime } else { Unknown::ForGood })
        });
        known.map(|()| blame.authors)
    }
}

/// The author of each line, where it has one.
pub type LineAuthors = Vec<Option<Arc<str>>>;

/// Why the authors of a file's lines are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unknown {
    /// The file is not in HEAD, binary, larger than the limit, or has a longer history than is read.
    ForGood,
    /// The time limit passed; another attempt may succeed.
    OutOfTime,
}

/// A version of the file that may have brought lines: where, and as which of the followed paths.
type Suspect = (ObjectId, usize);

/// The time limit passed.
struct Late;

struct Blame<'a> {
    history: &'a History,
    limits: &'a Limits,
    deadline: Instant,
    /// The paths that the file had, the last one first.
    paths: Vec<FollowedPath>,
    /// Commits to look at, newest first; of the same second, first come first served.
    queue: BinaryHeap<(i64, Reverse<usize>, Suspect)>,
    queued: usize,
    /// The blob of a suspect and the lines that came down to it.
    open: HashMap<Suspect, (ObjectId, Vec<Run>)>,
    authors: Vec<Option<Arc<str>>>,
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
            open: HashMap::new(),
            authors: vec![None; lines],
        }
    }

    fn run(&mut self, path: &str, text: &str) -> gix::Result<Result<(), Unknown>> {
        const FOR_GOOD: Result<(), Unknown> = Err(Unknown::ForGood);
        let history = self.history;
        let Some(head) = history.head_id() else { return Ok(FOR_GOOD) };
        let folder = if history.folder.is_empty() { String::new() } else { format!("{}/", history.folder) };
        let path = self.follow(format!("{folder}{path}").into());
        let Some(blob) = self.paths[path].blob_in(history, history.commit(head)?.tree)? else {
            return Ok(FOR_GOOD);
        };
        let Some(committed) = history.text(blob, self.limits.blob_bytes_max)? else { return Ok(FOR_GOOD) };

        // The work tree is one more version on top of HEAD, whose own lines have no author yet.
        let len = u32::try_from(self.authors.len()).unwrap_or(u32::MAX);
        let all = [Run { line: 0, at: 0, len }];
        let (passed, _) = LineDiff::new(&committed, text.as_bytes()).part(&all);
        self.pass((head, path), blob, passed)?;

        let mut commits_seen = 0;
        while let Some((_, _, suspect)) = self.queue.pop() {
            let Some((blob, runs)) = self.open.remove(&suspect) else { continue };
            if commits_seen >= self.limits.commits_max {
                return Ok(FOR_GOOD);
            }
            if self.is_late() {
                return Ok(Err(Unknown::OutOfTime));
            }
            commits_seen += 1;
            if self.look_at(suspect, blob, runs)?.is_err() {
                return Ok(Err(Unknown::OutOfTime));
            }
        }
        Ok(Ok(()))
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Passes lines on to the parents that have them; the rest is this commit's.
    fn look_at(
        &mut self,
        (id, path): Suspect,
        blob: ObjectId,
        runs: Vec<Run>,
    ) -> gix::Result<Result<(), Late>> {
        let commit = self.history.commit(id)?;
        let mut versions = Vec::new();
        for parent in &commit.parents {
            if self.is_late() {
                return Ok(Err(Late));
            }
            let tree = self.history.commit(*parent)?.tree;
            match self.paths[path].blob_in(self.history, tree)? {
                Some(same) if same == blob => return self.pass((*parent, path), blob, runs).map(Ok),
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
        let rest = self.pass_to_versions(blob, runs, versions)?;
        if !rest.is_empty() {
            let author = self.history.author(id)?.name;
            for run in rest {
                let (start, end) = (run.line as usize, (run.line + run.len) as usize);
                self.authors[start..end].fill(Some(Arc::clone(&author)));
            }
        }
        Ok(Ok(()))
    }

    /// Answers the lines that no older version has.
    fn pass_to_versions(
        &mut self,
        blob: ObjectId,
        mut runs: Vec<Run>,
        versions: Vec<(Suspect, ObjectId)>,
    ) -> gix::Result<Vec<Run>> {
        if versions.is_empty() {
            return Ok(runs);
        }
        let bytes_max = self.limits.blob_bytes_max;
        let Some(new) = self.history.text(blob, bytes_max)? else { return Ok(runs) };
        for (suspect, old_blob) in versions {
            if runs.is_empty() {
                break;
            }
            if old_blob == blob {
                self.pass(suspect, old_blob, std::mem::take(&mut runs))?;
            } else if let Some(old) = self.history.text(old_blob, bytes_max)? {
                let (passed, rest) = LineDiff::new(&old, &new).part(&runs);
                self.pass(suspect, old_blob, passed)?;
                runs = rest;
            }
        }
        Ok(runs)
    }

    fn pass(&mut self, suspect: Suspect, blob: ObjectId, runs: Vec<Run>) -> gix::Result<()> {
        if runs.is_empty() {
            return Ok(());
        }
        let committed_s = self.history.commit(suspect.0)?.committed_s;
        if let Some((_, known)) = self.open.get_mut(&suspect) {
            known.extend(runs);
        } else {
            self.open.insert(suspect, (blob, runs));
            self.queued += 1;
            self.queue.push((committed_s, Reverse(self.queued), suspect));
        }
        Ok(())
    }

    fn follow(&mut self, path: BString) -> usize {
        if let Some(known) = self.paths.iter().position(|followed| followed.path == path) {
            return known;
        }
        self.paths.push(FollowedPath::new(path));
        self.paths.len() - 1
    }

    /// The file that this commit renamed to the followed path: one it deleted with the same content, or else the one
    /// that shares most lines, at least half of them.
    fn renamed_from(
        &self,
        parent: ObjectId,
        commit: &Commit,
        path: usize,
        blob: ObjectId,
    ) -> gix::Result<Option<(BString, ObjectId)>> {
        let name = |path: &BString| path.rsplit(|byte| *byte == b'/').next().map(<[u8]>::to_vec);
        let new_name = name(&self.paths[path].path);
        let old_tree = self.history.commit(parent)?.tree;
        let changes =
            self.history.changes(Some(old_tree), Some(commit.tree), &|| self.is_late())?.into_iter();
        let mut deleted: Vec<(BString, ObjectId)> = changes
            .filter_map(|change| Some((change.path, change.old.filter(|_| change.new.is_none())?)))
            .collect();
        deleted.sort_by_key(|(old_path, old)| (*old != blob, name(old_path) != new_name));
        if deleted.first().is_none_or(|(_, old)| *old == blob) {
            return Ok(deleted.into_iter().next());
        }

        let bytes_max = self.limits.blob_bytes_max;
        let Some(new) = self.history.text(blob, bytes_max)? else { return Ok(None) };
        let mut best = (0, None);
        for (old_path, old_blob) in deleted.into_iter().take(RENAME_CANDIDATES_MAX) {
            let Some(old) = self.history.text(old_blob, bytes_max)? else { continue };
            let diff = LineDiff::new(&old, &new);
            let most = lines(&old).count().max(lines(&new).count());
            if diff.kept() > best.0 && diff.kept() as usize * 2 >= most {
                best = (diff.kept(), Some((old_path, old_blob)));
            }
        }
        Ok(best.1)
    }
}

/// A path that is looked up in one commit after the other.
struct FollowedPath {
    path: BString,
    /// The paths of the folders above it, the top one first.
    folders: Vec<BString>,
    /// The file by the tree of its folder: most commits leave most folders as they are.
    seen: HashMap<ObjectId, Option<Entry>>,
}

impl FollowedPath {
    fn new(path: BString) -> Self {
        let folders = path.find_iter("/").map(|end| path[..end].into()).collect();
        Self { path, folders, seen: HashMap::new() }
    }

    /// The regular file at the path below a commit's tree.
    fn blob_in(&mut self, history: &History, tree: ObjectId) -> gix::Result<Option<ObjectId>> {
        let mut at = tree;
        let mut names = self.path.split(|byte| *byte == b'/').enumerate().peekable();
        while let Some((depth, name)) = names.next() {
            let last = names.peek().is_none();
            let entry = match self.seen.get(&at) {
                Some(known) if last => *known,
                _ if last => {
                    let entry = history.child(at, name.as_bstr())?;
                    self.seen.insert(at, entry);
                    entry
                }
                _ => history.folder_in(at, &self.folders[depth])?,
            };
            match entry {
                Some(entry) if last => return Ok(entry.mode.is_blob().then_some(entry.id)),
                Some(entry) if entry.mode.is_tree() => at = entry.id,
                _ => break,
            }
        }
        Ok(None)
    }
}
