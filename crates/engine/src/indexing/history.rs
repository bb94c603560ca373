//! Updates the git history of indexed files and lines, after lexical indexing. History that cannot be read in time does
//! not fail a run; the next run tries again. Separate processes read the objects ([`super::historian`]); this process
//! reads only HEAD.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::context::RunContext;
use super::file::{ContentKind, OpenRoot, ReadLimits};
use super::file_tree::FileTree;
use super::historian::{GRACE, Historian, HistorianError, HistoryLocation, RequestDeadline};
use super::options::Mode;
use super::parser::Parsing;
use super::stored_lines::{AttributionState, serialise};
use crate::jobs::Phase;
use ::history::{AuthorsUnknown, FileHistories, FoundRepository, Head, Limits, LineHistory, NoHistory};
use contract::Fault;
use contract::config;
use languages::facts::Field;
use platform::failpoints;
use store::{
    Access, AttributedFile, AuthorsWrite, HistoryWrite, KnownHistory, KnownNames, ProjectTx, history,
    repositories,
};
use tenancy::AllowedRoots;

/// Maximum number of rows in one statement.
const ROWS_MAX: usize = 1000;
/// Number of files whose lines are attributed in one transaction.
const BATCH_FILES: usize = 200;
/// Time limit for attributing the lines of one file.
const FILE_TIME_MAX: Duration = Duration::from_secs(2);
/// Number of processes that may die while attributing lines before the rest is left to the next run.
const LOST_PROCESSES_MAX: usize = 3;

/// Updates the history of a repository's files. `commit_before` is HEAD at the end of the last run. Returns a note if
/// the history could not be read.
///
/// # Errors
/// `ILLEGAL_STATE` if the run lost its fence; storage faults.
pub(super) async fn update_history(
    run: &RunContext<'_>,
    repository_id: i64,
    commit_before: Option<&str>,
) -> Result<Option<String>, Fault> {
    let settings = &run.config.indexing;
    if !settings.history {
        return Ok(None);
    }
    run.progress.update(|progress| progress.phase = Phase::History);
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let known = history::known(&mut tx, repository_id).await?;
    tx.commit().await?;
    let (found, note) = match find_history(run).await {
        Ok(found) => (Some(found), None),
        Err(reason) => (None, history_note(reason)),
    };
    let head = found.as_ref().and_then(|found| found.head().cloned());
    let Some(location) =
        found.as_ref().and_then(|found| HistoryLocation::from_found(history_root(run), found))
    else {
        remove_histories(run, known.iter().filter(|file| file.last_commit.is_some())).await?;
        store_head(run, repository_id, None).await?;
        return Ok(note);
    };
    let historians = Arc::new(HistorianPool::new(location, run.parsing.clone()));
    // If HEAD has not moved, only files that are new to the index can have new history.
    let head_moved = head.as_ref().map(|head| head.commit.as_str()) != commit_before
        || run.options.full
        || known.iter().all(|file| file.last_commit.is_none());
    let known = match read_file_histories(run, Arc::clone(&historians), head_moved, &known).await {
        Ok(Some(found)) => write_histories(run, found, known).await?,
        Ok(None) => known,
        Err(HistorianError::Cancelled) => return Ok(None),
        // Do not store HEAD, so that the next run tries again.
        Err(HistorianError::Failed(why)) => return Ok(history_note(NoHistory::Refused(why))),
    };
    // Stored after the histories, because the next run would otherwise skip the histories that an interrupted run did
    // not write.
    if !run.cancel.is_cancelled() {
        store_head(run, repository_id, head.as_ref()).await?;
    }
    failpoints::reach("index.history_of_files");
    write_line_histories(run, &historians, known).await?;
    failpoints::reach("index.history_of_lines");
    Ok(historians.first_loss().map(|why| format!("The authors of some lines are missing: {why}.")))
}

/// Returns the note for a history that could not be read; `None` if there is no history.
fn history_note(reason: NoHistory) -> Option<String> {
    match reason {
        NoHistory::Absent => None,
        NoHistory::Refused(why) => Some(format!("Its git history was not read: {why}.")),
    }
}

/// The historian processes of a run; idle ones are reused.
struct HistorianPool {
    location: HistoryLocation,
    parsing: Parsing,
    idle: Mutex<Vec<Historian>>,
    /// The reasons for lost processes.
    lost: Mutex<Vec<String>>,
}

impl HistorianPool {
    fn new(location: HistoryLocation, parsing: Parsing) -> Self {
        Self { location, parsing, idle: Mutex::default(), lost: Mutex::default() }
    }

    /// Returns an idle process or a new one. Blocks.
    fn take(&self, until: &RequestDeadline<'_>) -> Result<Historian, HistorianError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Historian::open(&self.location, &self.parsing, until), Ok)
    }

    fn give_back(&self, historian: Historian) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(historian);
    }

    fn record_loss(&self, why: String) {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).push(why);
    }

    /// Returns whether too many processes were lost in this run.
    fn is_exhausted(&self) -> bool {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).len() >= LOST_PROCESSES_MAX
    }

    fn first_loss(&self) -> Option<String> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).first().cloned()
    }
}

/// Stores the commit whose files were all read, even if no history is read.
pub(super) async fn store_commit(run: &RunContext<'_>, repository_id: i64) -> Result<(), Fault> {
    match run.tree {
        FileTree::Commit { head, .. } if run.options.mode == Mode::All => {
            store_head(run, repository_id, Some(head)).await
        }
        _ => Ok(()),
    }
}

async fn store_head(run: &RunContext<'_>, repository_id: i64, head: Option<&Head>) -> Result<(), Fault> {
    let (branch, commit) =
        head.map_or((None, None), |head| (head.branch.as_deref(), Some(head.commit.as_str())));
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    repositories::set_head(&mut tx, run.fence, repository_id, branch, commit).await?;
    tx.commit().await
}

/// Returns the directory in which the history is searched for.
pub(super) fn history_root<'a>(run: &RunContext<'a>) -> &'a Path {
    match run.tree {
        FileTree::Directory => run.root,
        FileTree::Commit { git_dir, .. } => git_dir,
    }
}

/// Finds the history, unless it is outside of the allowed directories.
pub(super) async fn find_history(run: &RunContext<'_>) -> Result<FoundRepository, NoHistory> {
    let (root, tree) = (run.root.to_owned(), run.tree.clone());
    let allowed = AllowedRoots::for_project(&run.config.indexing, run.project.id());
    let find = move || match tree {
        FileTree::Directory => FoundRepository::find(&root, &|path| allowed.contains(path)),
        FileTree::Commit { git_dir, head, folder } => FoundRepository::in_mirror(&git_dir, head, &folder),
    };
    let finding = platform::task::spawn_blocking(find);
    finding.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the search for the git history failed");
        Err(NoHistory::Refused("the search for it failed".to_owned()))
    })
}

/// Reads the history of each file. Returns `None` if it is stored already: HEAD has not moved and contains no file
/// without a stored history.
async fn read_file_histories(
    run: &RunContext<'_>,
    historians: Arc<HistorianPool>,
    head_moved: bool,
    known: &[KnownHistory],
) -> Result<Option<FileHistories>, HistorianError> {
    let without_history: Vec<String> =
        known.iter().filter(|file| file.last_commit.is_none()).map(|file| file.path.clone()).collect();
    if !head_moved && without_history.is_empty() {
        return Ok(None);
    }
    let (mut limits, must_stop) = (limits(&run.config.indexing), run.stop_check());
    let working = platform::task::spawn_blocking(move || {
        let end = Instant::now() + limits.time;
        let until = RequestDeadline { deadline: end + GRACE, cancelled: &must_stop };
        let mut historian = historians.take(&until)?;
        let without_history = without_history.iter().map(String::as_str).collect();
        let found = if head_moved || historian.contains_any(without_history, &until)? {
            limits.time = end.saturating_duration_since(Instant::now());
            Some(historian.files(&limits, &until)?)
        } else {
            None
        };
        historians.give_back(historian);
        Ok(found)
    });
    working.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "reading the git history failed");
        Err(HistorianError::Failed("reading it failed".to_owned()))
    })
}

async fn remove_histories(
    run: &RunContext<'_>,
    files: impl Iterator<Item = &KnownHistory>,
) -> Result<(), Fault> {
    let ids: Vec<i64> = files.map(|file| file.file_id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    history::clear(&mut tx, run.fence, &ids).await?;
    tx.commit().await
}

/// Writes the histories of files. Returns the updated `known`.
async fn write_histories(
    run: &RunContext<'_>,
    found: FileHistories,
    mut known: Vec<KnownHistory>,
) -> Result<Vec<KnownHistory>, Fault> {
    let FileHistories { files, complete, .. } = found;
    let mut rows = Vec::new();
    let mut gone = Vec::new();
    for file in &mut known {
        match files.get(&file.path) {
            Some(found) => {
                file.last_commit = Some(found.last_commit.clone());
                rows.push(HistoryWrite {
                    file_id: file.file_id,
                    last_author: found.last_author.replace('\0', ""),
                    last_modified_s: found.last_modified_s,
                    last_commit: found.last_commit.clone(),
                    churn_added: found.churn_added.into(),
                    churn_deleted: found.churn_deleted.into(),
                    churn_commits: found.churn_commits.into(),
                });
            }
            // An incomplete history does not prove that a file is absent.
            None if complete && file.last_commit.take().is_some() => gone.push(file.clone()),
            None => {}
        }
    }
    for rows in rows.chunks(ROWS_MAX) {
        let mut tx = run.begin_batch().await?;
        history::write(&mut tx, run.fence, rows).await?;
        tx.commit().await?;
    }
    remove_histories(run, gone.iter()).await?;
    Ok(known)
}

/// Attributes the lines of files that changed since their last attribution, within the time limit.
async fn write_line_histories(
    run: &RunContext<'_>,
    historians: &Arc<HistorianPool>,
    known: Vec<KnownHistory>,
) -> Result<(), Fault> {
    let mut due: Vec<KnownHistory> =
        known.into_iter().filter(|file| AttributionState::of(file).is_due(run.options.full)).collect();
    let deadline = Instant::now() + Duration::from_millis(run.config.indexing.history_ms_max);
    let mut names = KnownNames::default();
    let may_continue =
        || Instant::now() < deadline && !run.cancel.is_cancelled() && !historians.is_exhausted();
    while !due.is_empty() && may_continue() {
        let batch: Vec<KnownHistory> = due.drain(..due.len().min(BATCH_FILES)).collect();
        let attributed = attribute_files(run, Arc::clone(historians), batch, deadline).await?;
        let ids: Vec<i64> = attributed.iter().map(|(file, _)| file.file_id).collect();
        let mut tx = run.begin_batch().await?;
        let spans = history::spans(&mut tx, &ids).await?;
        let mut authors = Vec::new();
        for (file, lines) in &attributed {
            let Ok(lines) = lines else { continue };
            for span in spans.get(&file.file_id).into_iter().flatten() {
                let names = lines.authors_of(span.first.unsigned_abs(), span.last.unsigned_abs());
                if !names.is_empty() {
                    let authors_of =
                        names.into_iter().map(|name| (Field::Author as i16, name.to_owned())).collect();
                    let (chunk_id, file_id) = (span.chunk_id, file.file_id);
                    authors.push(AuthorsWrite { chunk_id, file_id, authors: authors_of });
                }
            }
        }
        let write = |(file, lines): &FileLines| {
            Some(AttributedFile {
                file_id: file.file_id,
                attributed_to: AttributionState::of(file).after(lines)?,
                lines: lines.as_ref().ok().and_then(serialise),
            })
        };
        let files: Vec<AttributedFile> = attributed.iter().filter_map(write).collect();
        history::write_authors(&mut tx, run.fence, &files, &authors, &mut names).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// A file and the history of its lines.
type FileLines = (KnownHistory, Result<LineHistory, AuthorsUnknown>);

/// Attributes the lines of files on all cores. Files that are not reached before the deadline are omitted.
async fn attribute_files(
    run: &RunContext<'_>,
    historians: Arc<HistorianPool>,
    files: Vec<KnownHistory>,
    deadline: Instant,
) -> Result<Vec<FileLines>, Fault> {
    let (settings, must_stop) = (run.config.indexing.clone(), run.stop_check());
    let root = run.open_root()?;
    let working = platform::task::spawn_blocking(move || {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let threads = cores.min(files.len());
        let queue = Mutex::new(files.into_iter());
        let next = || queue.lock().ok().and_then(|mut files| files.next());
        let work = || attribute_from_queue(&historians, &next, &root, &settings, deadline, &must_stop);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        })
    });
    working.await.map_err(|error| Fault::internal("Attributing lines failed unexpectedly.", error))
}

/// Attributes files of the queue on one thread, which uses one process at a time.
fn attribute_from_queue(
    historians: &HistorianPool,
    next: &dyn Fn() -> Option<KnownHistory>,
    root: &OpenRoot,
    settings: &config::Indexing,
    deadline: Instant,
    must_stop: &dyn Fn() -> bool,
) -> Vec<FileLines> {
    let mut done = Vec::new();
    let mut historian = None;
    while Instant::now() < deadline && !must_stop() && !historians.is_exhausted() {
        let Some(file) = next() else { break };
        let Some(text) = read_text(root, &file.path, settings) else {
            done.push((file, Err(AuthorsUnknown::Permanent)));
            continue;
        };
        let end = deadline.min(Instant::now() + FILE_TIME_MAX);
        let until = RequestDeadline { deadline: end + GRACE, cancelled: must_stop };
        let mut reader = match historian.take().map_or_else(|| historians.take(&until), Ok) {
            Ok(reader) => reader,
            Err(HistorianError::Cancelled) => break,
            Err(HistorianError::Failed(why)) => {
                // The next run attributes the file.
                historians.record_loss(why);
                continue;
            }
        };
        let limits = Limits { time: end.saturating_duration_since(Instant::now()), ..limits(settings) };
        match reader.line_history(&file.path, &text, &limits, &until) {
            Ok(lines) => {
                done.push((file, lines));
                historian = Some(reader);
            }
            Err(HistorianError::Cancelled) => break,
            // Treated like a timeout, because another attempt may succeed.
            Err(HistorianError::Failed(why)) => {
                historians.record_loss(why);
                done.push((file, Err(AuthorsUnknown::TimedOut)));
            }
        }
    }
    historian.into_iter().for_each(|historian| historians.give_back(historian));
    done
}

fn read_text(root: &OpenRoot, path: &str, settings: &config::Indexing) -> Option<String> {
    let read =
        ReadLimits { bytes_max: settings.file_bytes_max, line_bytes_mean_max: settings.line_bytes_mean_max };
    match root.read(path, &read).kind {
        ContentKind::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// Returns the limits of one call that reads the history.
pub(super) fn limits(settings: &config::Indexing) -> Limits {
    Limits {
        commits_max: settings.history_commits_max,
        churn_commits: settings.churn_commits,
        blob_bytes_max: usize::try_from(settings.file_bytes_max).unwrap_or(usize::MAX),
        time: Duration::from_millis(settings.history_ms_max),
    }
}
