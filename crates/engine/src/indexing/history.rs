//! What git knows of the files and lines that were indexed. It follows the words and never fails a run: what
//! cannot be found out in its time stays unknown and is looked for again by the next run. Objects are read by processes
//! of their own ([`super::historian`]), here no more than where HEAD stands.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::file::{Kind, ReadLimits, Root};
use super::historian::{Failed, GRACE, Historian, Opening, Until};
use super::parser::Parsing;
use super::run::Run;
use crate::jobs::Phase;
use ::history::{FileHistories, Found, Head, Limits, LineAuthors, NoHistory, Unknown};
use contract::Fault;
use contract::config;
use languages::facts::Field;
use platform::failpoints;
use store::{Access, AuthorsWrite, HistoryWrite, KnownHistory, KnownNames, ProjectTx, history, repositories};
use tenancy::AllowedRoots;

/// Rows of one statement.
const ROWS_MAX: usize = 1000;
/// Files whose lines are attributed in one transaction.
const FILES_A_BATCH: usize = 200;
/// Longest time for the lines of one file.
const FILE_TIME_MAX: Duration = Duration::from_secs(2);
/// Processes that a run may lose over the lines of files before it leaves the rest to the next run.
const LOST_MAX: usize = 3;

/// Brings the history of a repository's files up to date. `before` is the commit at the end of the last run. Answers why
/// a repository's history was not read, one sentence.
///
/// # Errors
/// `ILLEGAL_STATE` when the run lost its fence; storage faults.
pub(super) async fn record(
    run: &Run<'_>,
    repository_id: i64,
    before: Option<&str>,
) -> Result<Option<String>, Fault> {
    let settings = &run.config.indexing;
    if !settings.history {
        return Ok(None);
    }
    run.progress.update(|progress| progress.phase = Phase::History);
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let known = history::known(&mut tx, repository_id).await?;
    tx.commit().await?;
    let (found, why_not) = match find(run).await {
        Ok(found) => (Some(found), None),
        Err(why) => (None, sentence(why)),
    };
    let head = found.as_ref().and_then(|found| found.head().cloned());
    let Some(opening) = found.as_ref().and_then(|found| Opening::of(run.root, found)) else {
        forget(run, known.iter().filter(|file| file.last_commit.is_some())).await?;
        note_head(run, repository_id, None).await?;
        return Ok(why_not);
    };
    let readers = Arc::new(Readers::new(opening, run.parsing.clone()));
    // Where HEAD stands still, only files that are new to the index can have news.
    let moved = head.as_ref().map(|head| head.commit.as_str()) != before
        || run.options.full
        || known.iter().all(|file| file.last_commit.is_none());
    let known = match walk(run, Arc::clone(&readers), moved, &known).await {
        Ok(Some(found)) => write_files(run, found, known).await?,
        Ok(None) => known,
        Err(Failed::Cancelled) => return Ok(None),
        // HEAD stays where the last run saw it, so that the next one looks again.
        Err(Failed::Because(why)) => return Ok(sentence(NoHistory::Refused(why))),
    };
    // Only now: a run that ended before would leave the next one nothing to look for.
    if !run.cancel.is_cancelled() {
        note_head(run, repository_id, head.as_ref()).await?;
    }
    failpoints::reach("index.history_of_files");
    write_lines(run, &readers, known).await?;
    failpoints::reach("index.history_of_lines");
    Ok(readers.why_not().map(|why| format!("The authors of some lines were not read: {why}.")))
}

/// What is told of a history that was not read; nothing where there is none.
fn sentence(why: NoHistory) -> Option<String> {
    match why {
        NoHistory::Absent => None,
        NoHistory::Refused(why) => Some(format!("Its git history was not read: {why}.")),
    }
}

/// The processes of a run that read its history. Those that wait for work are kept.
struct Readers {
    opening: Opening,
    parsing: Parsing,
    idle: Mutex<Vec<Historian>>,
    /// Why lines were not attributed, once for each process that was lost.
    lost: Mutex<Vec<String>>,
}

impl Readers {
    fn new(opening: Opening, parsing: Parsing) -> Self {
        Self { opening, parsing, idle: Mutex::default(), lost: Mutex::default() }
    }

    /// One that waits, or a new one. Blocks.
    fn take(&self, until: &Until<'_>) -> Result<Historian, Failed> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Historian::open(&self.opening, &self.parsing, until), Ok)
    }

    fn give_back(&self, historian: Historian) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(historian);
    }

    fn lose(&self, why: String) {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).push(why);
    }

    /// Whether so many were lost that the rest is left to the next run.
    fn are_exhausted(&self) -> bool {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).len() >= LOST_MAX
    }

    fn why_not(&self) -> Option<String> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).first().cloned()
    }
}

async fn note_head(run: &Run<'_>, repository_id: i64, head: Option<&Head>) -> Result<(), Fault> {
    let (branch, commit) =
        head.map_or((None, None), |head| (head.branch.as_deref(), Some(head.commit.as_str())));
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    repositories::set_head(&mut tx, run.fence, repository_id, branch, commit).await?;
    tx.commit().await
}

/// Finds the history, unless it lies where nothing may be read.
async fn find(run: &Run<'_>) -> Result<Found, NoHistory> {
    let root = run.root.to_owned();
    let allowed = AllowedRoots::of_project(&run.config.indexing, run.project.id());
    let finding = tokio::task::spawn_blocking(move || Found::find(&root, &|path| allowed.contains(path)));
    finding.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "looking for the git history failed");
        Err(NoHistory::Refused("looking for it failed".to_owned()))
    })
}

/// What the history says of each file; nothing where that is known already: HEAD has not moved, and holds no file of which
/// nothing is known yet.
async fn walk(
    run: &Run<'_>,
    readers: Arc<Readers>,
    moved: bool,
    known: &[KnownHistory],
) -> Result<Option<FileHistories>, Failed> {
    let strangers: Vec<String> =
        known.iter().filter(|file| file.last_commit.is_none()).map(|file| file.path.clone()).collect();
    if !moved && strangers.is_empty() {
        return Ok(None);
    }
    let (mut limits, stops) = (limits(&run.config.indexing), run.stops());
    let working = tokio::task::spawn_blocking(move || {
        let end = Instant::now() + limits.time;
        let until = Until { deadline: end + GRACE, cancelled: &stops };
        let mut historian = readers.take(&until)?;
        let strangers = strangers.iter().map(String::as_str).collect();
        let found = if moved || historian.holds(strangers, &until)? {
            limits.time = end.saturating_duration_since(Instant::now());
            Some(historian.files(&limits, &until)?)
        } else {
            None
        };
        readers.give_back(historian);
        Ok(found)
    });
    working.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "reading the git history failed");
        Err(Failed::Because("reading it failed".to_owned()))
    })
}

async fn forget(run: &Run<'_>, files: impl Iterator<Item = &KnownHistory>) -> Result<(), Fault> {
    let ids: Vec<i64> = files.map(|file| file.file_id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    history::forget(&mut tx, run.fence, &ids).await?;
    tx.commit().await
}

/// Writes what the history says of each file.
async fn write_files(
    run: &Run<'_>,
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
            // A walk that was cut short does not know what it did not reach.
            None if complete && file.last_commit.take().is_some() => gone.push(file.clone()),
            None => {}
        }
    }
    for rows in rows.chunks(ROWS_MAX) {
        let mut tx = run.begin_batch().await?;
        history::write(&mut tx, run.fence, rows).await?;
        tx.commit().await?;
    }
    forget(run, gone.iter()).await?;
    Ok(known)
}

/// Attributes the lines of files that changed since that was done, as far as the time goes.
async fn write_lines(run: &Run<'_>, readers: &Arc<Readers>, known: Vec<KnownHistory>) -> Result<(), Fault> {
    let mut due: Vec<KnownHistory> =
        known.into_iter().filter(|file| Attributed::of(file).is_due(run.options.full)).collect();
    let deadline = Instant::now() + Duration::from_millis(run.config.indexing.history_ms_max);
    let mut names = KnownNames::default();
    let goes_on = || Instant::now() < deadline && !run.cancel.is_cancelled() && !readers.are_exhausted();
    while !due.is_empty() && goes_on() {
        let batch: Vec<KnownHistory> = due.drain(..due.len().min(FILES_A_BATCH)).collect();
        let attributed = attribute(run, Arc::clone(readers), batch, deadline).await?;
        let ids: Vec<i64> = attributed.iter().map(|(file, _)| file.file_id).collect();
        let mut tx = run.begin_batch().await?;
        let spans = history::spans(&mut tx, &ids).await?;
        let mut authors = Vec::new();
        for (file, lines) in &attributed {
            let lines = lines.as_deref().unwrap_or_default();
            for span in spans.get(&file.file_id).into_iter().flatten() {
                let names = names_of(lines, span.first, span.last);
                if !names.is_empty() {
                    let authors_of = names.into_iter().map(|name| (Field::Author as i16, name)).collect();
                    let (chunk_id, file_id) = (span.chunk_id, file.file_id);
                    authors.push(AuthorsWrite { chunk_id, file_id, authors: authors_of });
                }
            }
        }
        let files: Vec<(i64, String)> = attributed
            .iter()
            .filter_map(|(file, lines)| Some((file.file_id, Attributed::of(file).after(lines)?)))
            .collect();
        history::write_authors(&mut tx, run.fence, &files, &authors, &mut names).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// How often the lines of a file are attributed in vain, one run after the other, before only another commit makes it worth
/// while.
const TRIES_MAX: usize = 5;

/// What is known of a file's attribution: the commit to which its lines were attributed, or how often the time was over
/// before they were, as `late` before that commit, once for each.
struct Attributed<'a> {
    last_commit: Option<&'a str>,
    to: Option<&'a str>,
    /// Tries in vain.
    late: usize,
}

impl<'a> Attributed<'a> {
    const LATE: &'static str = "late ";

    fn of(file: &'a KnownHistory) -> Self {
        let (mut to, mut late) = (file.attributed_to.as_deref(), 0);
        while let Some(rest) = to.and_then(|to| to.strip_prefix(Self::LATE)) {
            (to, late) = (Some(rest), late + 1);
        }
        Self { last_commit: file.last_commit.as_deref(), to, late }
    }

    fn is_due(&self, full: bool) -> bool {
        let to_be_tried = self.late > 0 && (full || self.late < TRIES_MAX);
        self.last_commit.is_some() && (self.last_commit != self.to || to_be_tried)
    }

    /// What is stored after another try.
    fn after(&self, lines: &Result<LineAuthors, Unknown>) -> Option<String> {
        let commit = self.last_commit?;
        let late = match lines {
            Err(Unknown::OutOfTime) if self.last_commit == self.to => (self.late + 1).min(TRIES_MAX),
            Err(Unknown::OutOfTime) => 1,
            _ => 0,
        };
        Some(Self::LATE.repeat(late) + commit)
    }
}

/// A file, and who wrote its lines.
type OfFile = (KnownHistory, Result<LineAuthors, Unknown>);

/// Who wrote the lines of each file, on all cores; files that the time does not reach are left out.
async fn attribute(
    run: &Run<'_>,
    readers: Arc<Readers>,
    files: Vec<KnownHistory>,
    deadline: Instant,
) -> Result<Vec<OfFile>, Fault> {
    let (settings, stops) = (run.config.indexing.clone(), run.stops());
    let root = Root::open(run.root)?;
    let working = tokio::task::spawn_blocking(move || {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let threads = cores.min(files.len());
        let queue = Mutex::new(files.into_iter());
        let next = || queue.lock().ok().and_then(|mut files| files.next());
        let work = || attribute_all(&readers, &next, &root, &settings, deadline, &stops);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        })
    });
    working.await.map_err(|error| Fault::internal("Attributing lines failed unexpectedly.", error))
}

/// The share of one thread, which has one process.
fn attribute_all(
    readers: &Readers,
    next: &dyn Fn() -> Option<KnownHistory>,
    root: &Root,
    settings: &config::Indexing,
    deadline: Instant,
    stops: &dyn Fn() -> bool,
) -> Vec<OfFile> {
    let mut done = Vec::new();
    let mut historian = None;
    while Instant::now() < deadline && !stops() && !readers.are_exhausted() {
        let Some(file) = next() else { break };
        let Some(text) = text_of(root, &file.path, settings) else {
            done.push((file, Err(Unknown::ForGood)));
            continue;
        };
        let end = deadline.min(Instant::now() + FILE_TIME_MAX);
        let until = Until { deadline: end + GRACE, cancelled: stops };
        let mut reader = match historian.take().map_or_else(|| readers.take(&until), Ok) {
            Ok(reader) => reader,
            Err(Failed::Cancelled) => break,
            Err(Failed::Because(why)) => {
                // It is another run's.
                readers.lose(why);
                continue;
            }
        };
        let limits = Limits { time: end.saturating_duration_since(Instant::now()), ..limits(settings) };
        match reader.line_authors(&file.path, &text, &limits, &until) {
            Ok(lines) => {
                done.push((file, lines));
                historian = Some(reader);
            }
            Err(Failed::Cancelled) => break,
            // It may go better another time, as where the time was over.
            Err(Failed::Because(why)) => {
                readers.lose(why);
                done.push((file, Err(Unknown::OutOfTime)));
            }
        }
    }
    historian.into_iter().for_each(|historian| readers.give_back(historian));
    done
}

fn text_of(root: &Root, path: &str, settings: &config::Indexing) -> Option<String> {
    let read =
        ReadLimits { bytes_max: settings.file_bytes_max, line_bytes_mean_max: settings.line_bytes_mean_max };
    match root.read(path, &read).kind {
        Kind::Text { text, .. } => Some(text),
        _ => None,
    }
}

fn limits(settings: &config::Indexing) -> Limits {
    Limits {
        commits_max: settings.history_commits_max,
        churn_commits: settings.churn_commits,
        blob_bytes_max: usize::try_from(settings.file_bytes_max).unwrap_or(usize::MAX),
        time: Duration::from_millis(settings.history_ms_max),
    }
}

/// The different authors of lines `first..=last`, 1-based, sorted.
fn names_of(lines: &[Option<Arc<str>>], first: i32, last: i32) -> Vec<String> {
    let at = |line: i32| usize::try_from(line).unwrap_or(0);
    let mut names: Vec<String> = lines
        .iter()
        .take(at(last))
        .skip(at(first).saturating_sub(1))
        .flatten()
        .map(|name| name.replace('\0', ""))
        .collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_out_of_time_is_tried_again_and_not_for_ever() {
        let mut file = KnownHistory {
            file_id: 1,
            path: "a.rs".into(),
            last_commit: Some("c1".into()),
            attributed_to: None,
        };
        let mut tries = 0;
        while Attributed::of(&file).is_due(false) {
            tries += 1;
            file.attributed_to = Attributed::of(&file).after(&Err(Unknown::OutOfTime));
        }
        assert_eq!(tries, TRIES_MAX);
        assert!(Attributed::of(&file).is_due(true), "a full run tries");
        file.last_commit = Some("c2".into());
        assert!(Attributed::of(&file).is_due(false), "and so does the run after another commit");
        file.attributed_to = Attributed::of(&file).after(&Err(Unknown::OutOfTime));
        assert_eq!(file.attributed_to.as_deref(), Some("late c2"));
        file.attributed_to = Attributed::of(&file).after(&Ok(Vec::new()));
        assert_eq!(file.attributed_to.as_deref(), Some("c2"));
        assert!(!Attributed::of(&file).is_due(true));
        file.attributed_to = None;
        file.attributed_to = Attributed::of(&file).after(&Err(Unknown::ForGood));
        assert!(!Attributed::of(&file).is_due(false), "nothing changes what is not there");
    }
}
