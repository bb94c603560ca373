//! Indexes other branches and tags of a repository. A file that has the same content on several revisions is stored, and embedded, once:
//! each row knows the revisions that have it. Files that the default branch does not have go to a hidden repository.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use super::context::RunContext;
use super::file_tree::FileTree;
use super::opened_repository::OpenedRepository;
use super::options::Mode;
use super::plan::{FileToRead, StoredFile, may_succeed_now};
use super::prepare::PrepareOptions;
use super::report::{IndexedRevision, RevisionsReport, SkipCounter};
use super::walk::WalkedFile;
use super::walk_tree::walk_tree;
use super::write::{self, Target};
use contract::{ErrorCode, Fault, escaped_line};
use history::{Head, Revision};
use platform::failpoints;
use store::{
    Access, FileRow, ProjectTx, REVISIONS_MAX, RepositoryState, RevisionFile, RevisionRow, Versions, files,
    repositories, revisions,
};

/// A path with a content: the key of a file that revisions share.
type Version = (String, i64);

/// Brings the other revisions of a repository up to date. Adds revisions that could not be indexed to `notes`.
///
/// # Errors
/// `CANCELLED`, `ILLEGAL_STATE` if the fence is lost, storage faults. Until everything is written, searches see the old state.
pub(super) async fn index_revisions(
    run: &RunContext<'_>,
    repository: &OpenedRepository,
    options: PrepareOptions,
    notes: &mut Vec<String>,
) -> Result<Option<RevisionsReport>, Fault> {
    let FileTree::Commit { git_dir, folder, .. } = run.tree else { return Ok(None) };
    if run.options.mode != Mode::All {
        return Ok(None);
    }
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let mut known = revisions::list(&mut tx).await?;
    known.retain(|revision| revision.repository_id == repository.id);
    let mut hidden = revisions::hidden(&mut tx, repository.id).await?;
    if hidden.is_none() && !run.revisions.is_empty() {
        let named = (repository.id, repository.name.as_str());
        hidden = Some(revisions::create_hidden(&mut tx, run.fence, named, repository.versions).await?);
    }
    tx.commit().await?;
    let Some(hidden) = hidden else { return Ok(None) };
    if run.revisions.is_empty() {
        remove_all(run, repository.id, hidden.id).await?;
        return Ok(None);
    }
    let full = run.options.full || hidden.versions != repository.versions;
    let (indexed, files_changed) = if !full && is_current(&known, run.revisions) {
        // Files that the default branch has gained, in this run or in one that died.
        let mut tx = run.begin_bulk().await?;
        revisions::merge(&mut tx, run.fence, (repository.id, hidden.id)).await?;
        tx.commit().await?;
        (known, 0)
    } else {
        let state = read_state(run, repository.id).await?;
        let update = Update::new(run, (git_dir, folder), known, full);
        update_revisions(run, (repository.id, hidden.id), update, state, (&options, notes)).await?
    };
    // Includes files of a run that died after it had published.
    remove_unused(run, hidden.id).await?;
    let report = close(run, hidden.id, repository.versions).await?;
    Ok(Some(RevisionsReport {
        indexed: indexed.into_iter().map(IndexedRevision::from).collect(),
        files_changed,
        ..report
    }))
}

/// Writes the files that no revision had before, and publishes all revisions at once. Returns them, and the number of searchable
/// files that were written.
async fn update_revisions(
    run: &RunContext<'_>,
    (repository_id, hidden_id): (i64, i64),
    mut update: Update<'_>,
    mut state: Vec<RevisionFile>,
    (options, notes): (&PrepareOptions, &mut Vec<String>),
) -> Result<(Vec<RevisionRow>, u64), Fault> {
    let revisions = update.collect(repository_id, &state, notes).await?;
    let Update { views, to_read, .. } = update;
    let (writes, mut files_changed) = (!to_read.is_empty(), 0);
    for (tree, files) in to_read {
        files_changed += write_versions(run, hidden_id, &tree, files, options).await?;
    }
    failpoints::reach("index.revisions_written");
    if writes {
        state = read_state(run, repository_id).await?;
    }
    let views = changed_views(&state, &views);
    let mut tx = run.begin_bulk().await?;
    revisions::publish(&mut tx, run.fence, repository_id, &revisions, &views).await?;
    tx.commit().await?;
    failpoints::reach("index.revisions_published");
    Ok((revisions, files_changed))
}

/// Records that the hidden repository is complete; returns its size.
async fn close(run: &RunContext<'_>, hidden_id: i64, versions: Versions) -> Result<RevisionsReport, Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let nothing = serde_json::json!({});
    let ready = RepositoryState::Ready;
    repositories::set_report(&mut tx, run.fence, hidden_id, ready, versions, &nothing).await?;
    let totals = files::totals(&mut tx, Some(hidden_id)).await?;
    tx.commit().await?;
    let (files, chunks) = (totals.files.unsigned_abs(), totals.chunks.unsigned_abs());
    Ok(RevisionsReport { files, chunks, ..RevisionsReport::default() })
}

impl From<RevisionRow> for IndexedRevision {
    fn from(row: RevisionRow) -> Self {
        Self { name: row.name, kind: row.kind, commit: row.commit }
    }
}

/// Returns whether the index has exactly these revisions at these commits.
fn is_current(known: &[RevisionRow], wanted: &[Revision]) -> bool {
    let is_same = |revision: &Revision| {
        known.iter().any(|row| {
            row.name == revision.name && row.commit == revision.commit && row.kind == revision.kind.as_str()
        })
    };
    known.len() == wanted.len() && wanted.iter().all(is_same)
}

async fn read_state(run: &RunContext<'_>, repository_id: i64) -> Result<Vec<RevisionFile>, Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let state = revisions::files(&mut tx, repository_id).await?;
    tx.commit().await?;
    Ok(state)
}

/// An update of the revisions of a repository.
struct Update<'u> {
    run: &'u RunContext<'u>,
    /// The mirror, and the folder in it that is indexed.
    place: (&'u Path, &'u str),
    known: Vec<RevisionRow>,
    /// `true` if all files are read again.
    full: bool,
    /// The revisions that have each file, as bits.
    views: HashMap<Version, i64>,
    /// Files to read, with the tree of a revision that has them.
    to_read: Vec<(FileTree, Vec<FileToRead>)>,
    budget: Budget,
}

/// The shared limits of a repository's revisions, beyond its default branch.
struct Budget {
    /// Further files to read.
    files: usize,
    /// Bytes of their paths.
    path_bytes: usize,
    /// Time limit for listing their files.
    deadline: Instant,
}

/// Maximum number of bytes of the paths of files that only revisions have.
const PATH_BYTES_MAX: usize = 128 << 20;

/// The stored file of each version: that of the default branch, if it has it.
type StoredVersions<'s> = HashMap<Version, &'s RevisionFile>;

impl<'u> Update<'u> {
    fn new(run: &'u RunContext<'u>, place: (&'u Path, &'u str), known: Vec<RevisionRow>, full: bool) -> Self {
        let settings = &run.config.indexing;
        let budget = Budget {
            files: settings.files_max,
            path_bytes: PATH_BYTES_MAX,
            deadline: Instant::now() + Duration::from_millis(settings.walk_ms_max),
        };
        Self { run, place, known, full, views: HashMap::new(), to_read: Vec::new(), budget }
    }

    /// Collects the files of all revisions, and those of them that have to be read. Returns the revisions to store. A revision whose files
    /// cannot be read stays as it was; if all are read again, it is omitted until they can be.
    async fn collect(
        &mut self,
        repository_id: i64,
        state: &[RevisionFile],
        notes: &mut Vec<String>,
    ) -> Result<Vec<RevisionRow>, Fault> {
        let mut free = self.free_bits();
        let stored = stored_versions(state);
        let mut revisions = Vec::new();
        for revision in self.run.revisions.iter().take(REVISIONS_MAX) {
            let before = self.known.iter().find(|row| row.name == revision.name).cloned();
            let Some(bit) = before.as_ref().map(|row| row.bit).or_else(|| free.pop()) else { continue };
            let row = RevisionRow {
                repository_id,
                hidden_id: None,
                bit,
                name: revision.name.clone(),
                kind: revision.kind.as_str().to_owned(),
                commit: revision.commit.clone(),
            };
            let is_same = before.as_ref().is_some_and(|before| before.commit == row.commit);
            if is_same && !self.full {
                self.keep(&row, state);
                revisions.push(row);
                continue;
            }
            let walked = self.walk(revision).await;
            if self.run.cancel.is_cancelled() {
                return Err(Fault::new(ErrorCode::Cancelled, "The run was cancelled."));
            }
            match walked.and_then(|(tree, entries)| self.add(&row, tree, entries, &stored)) {
                Ok(()) => revisions.push(row),
                Err(fault) => {
                    let name = escaped_line(&revision.name);
                    notes.push(format!("The revision {name} was not indexed: {}", fault.message));
                    if let Some(before) = before.filter(|_| !self.full) {
                        self.keep(&before, state);
                        revisions.push(before);
                    }
                }
            }
        }
        Ok(revisions)
    }

    /// Returns bits for new revisions. The bit of a revision that is no longer wanted is free at once, because all views are published
    /// together.
    fn free_bits(&self) -> Vec<i16> {
        let bits = 0..i16::try_from(REVISIONS_MAX).unwrap_or(i16::MAX);
        let is_kept = |row: &RevisionRow| self.run.revisions.iter().any(|wanted| wanted.name == row.name);
        bits.rev().filter(|bit| !self.known.iter().any(|row| row.bit == *bit && is_kept(row))).collect()
    }

    /// Keeps the files of a revision that did not change.
    fn keep(&mut self, row: &RevisionRow, state: &[RevisionFile]) {
        let view = row.view();
        for file in state.iter().filter(|file| file.views & view != 0) {
            *self.views.entry(version(&file.row)).or_default() |= view;
        }
    }

    /// Adds the files of a revision. Those that are neither stored nor scheduled are scheduled to be read.
    ///
    /// # Errors
    /// `INVALID_REQUEST` if they exceed the budget; then nothing is added.
    fn add(
        &mut self,
        row: &RevisionRow,
        tree: FileTree,
        entries: Vec<WalkedFile>,
        stored: &StoredVersions<'_>,
    ) -> Result<(), Fault> {
        self.spend(&entries, stored)?;
        let timeout_ms = self.run.config.indexing.parse_timeout_ms;
        let mut to_read = Vec::new();
        for entry in entries {
            let version = (entry.path.clone(), entry.modified_ns);
            let stored = stored.get(&version);
            let views = self.views.entry(version).or_default();
            let is_new = *views == 0;
            *views |= row.view();
            let is_read = stored.is_some_and(|file| {
                !file.is_hidden || (!self.full && !may_succeed_now(&file.row, timeout_ms))
            });
            if is_new && !is_read {
                let stored = stored.map(|file| StoredFile::new(&file.row, self.full, timeout_ms));
                to_read.push(FileToRead { entry, stored });
            }
        }
        if !to_read.is_empty() {
            self.to_read.push((tree, to_read));
        }
        Ok(())
    }

    /// Subtracts the files that only this revision has from the budget.
    fn spend(&mut self, entries: &[WalkedFile], stored: &StoredVersions<'_>) -> Result<(), Fault> {
        let (mut files, mut path_bytes) = (0, 0);
        for entry in entries {
            let version = (entry.path.clone(), entry.modified_ns);
            let is_default = stored.get(&version).is_some_and(|file| !file.is_hidden);
            if !is_default && !self.views.contains_key(&version) {
                files += 1;
                path_bytes += entry.path.len();
            }
        }
        if files > self.budget.files || path_bytes > self.budget.path_bytes {
            let files_max = self.run.config.indexing.files_max;
            let message = format!(
                "The revisions have more than {files_max} files (indexing.files_max), or longer paths than {PATH_BYTES_MAX} bytes \
                 in all, that the default branch does not have."
            );
            return Err(Fault::new(ErrorCode::InvalidRequest, message));
        }
        self.budget.files -= files;
        self.budget.path_bytes -= path_bytes;
        Ok(())
    }

    /// Lists the files of a revision.
    async fn walk(&self, revision: &Revision) -> Result<(FileTree, Vec<WalkedFile>), Fault> {
        if Instant::now() >= self.budget.deadline {
            let seconds = self.run.config.indexing.walk_ms_max / 1000;
            let message =
                format!("Listing all revisions took longer than {seconds} s (indexing.walk_ms_max).");
            return Err(Fault::new(ErrorCode::ToolTimeout, message));
        }
        let (git_dir, folder) = self.place;
        let head = Head { branch: Some(revision.name.clone()), commit: revision.commit.clone() };
        let tree = FileTree::Commit { git_dir: git_dir.to_owned(), head, folder: folder.to_owned() };
        let walked = walk_tree(self.run, &tree).await?;
        match walked.incomplete.first() {
            // Its other files would look as if they were deleted.
            Some(reason) => Err(Fault::new(ErrorCode::IllegalState, reason.clone())),
            None => Ok((tree, walked.entries)),
        }
    }
}

fn stored_versions(state: &[RevisionFile]) -> StoredVersions<'_> {
    let of = |is_hidden: bool| state.iter().filter(move |file| file.is_hidden == is_hidden);
    // Later ones replace earlier ones.
    of(true).chain(of(false)).map(|file| (version(&file.row), file)).collect()
}

fn version(row: &FileRow) -> Version {
    (row.path.clone(), row.modified_ns)
}

/// Returns the rows whose revisions changed, with the new revisions. A version that the default branch has belongs to its row.
fn changed_views(state: &[RevisionFile], views: &HashMap<Version, i64>) -> Vec<(i64, i64)> {
    let of_default: HashSet<Version> =
        state.iter().filter(|file| !file.is_hidden).map(|file| version(&file.row)).collect();
    let wanted = |file: &RevisionFile| {
        let version = version(&file.row);
        let is_double = file.is_hidden && of_default.contains(&version);
        if is_double { 0 } else { views.get(&version).copied().unwrap_or(0) }
    };
    let with_views = state.iter().map(|file| (file, wanted(file)));
    with_views
        .filter(|(file, views)| *views != file.views)
        .map(|(file, views)| (file.row.id, views))
        .collect()
}

/// Writes files of a revision to the hidden repository; returns the number of searchable ones.
async fn write_versions(
    run: &RunContext<'_>,
    hidden_id: i64,
    tree: &FileTree,
    files: Vec<FileToRead>,
    options: &PrepareOptions,
) -> Result<u64, Fault> {
    // The report lists what the default branch skips.
    let mut skips = SkipCounter::default();
    let run = run.with_tree(tree);
    let written =
        write::write_files(&run, Target::Hidden(hidden_id), files, options.clone(), &mut skips).await?;
    Ok(written.changed_files)
}

/// Removes files that no revision has any longer.
async fn remove_unused(run: &RunContext<'_>, hidden_id: i64) -> Result<(), Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let unused = revisions::unused_files(&mut tx, hidden_id).await?;
    tx.commit().await?;
    write::remove_files(run, &unused).await?;
    Ok(())
}

/// Removes all revisions of a repository, in bounded transactions.
async fn remove_all(run: &RunContext<'_>, repository_id: i64, hidden_id: i64) -> Result<(), Fault> {
    let state = read_state(run, repository_id).await?;
    let views = changed_views(&state, &HashMap::new());
    let mut tx = run.begin_bulk().await?;
    revisions::publish(&mut tx, run.fence, repository_id, &[], &views).await?;
    tx.commit().await?;
    remove_unused(run, hidden_id).await?;
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    revisions::remove(&mut tx, run.fence, repository_id).await?;
    tx.commit().await
}
