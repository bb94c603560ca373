//! What git knows of the files and lines that were indexed. It follows the words and never fails a run: what
//! cannot be found out in its time stays unknown and is looked for again by the next run.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::file::{Kind, ReadLimits, Root};
use super::run::Run;
use crate::jobs::Phase;
use ::history::{FileHistories, Head, History, Limits, LineAuthors, NoHistory, Unknown};
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
    let (opened, why_not) = match open(run).await {
        Ok(opened) => (Some(opened), None),
        Err(why) => (None, sentence(why)),
    };
    let head = opened.as_ref().and_then(History::head);
    let Some(opened) = opened.filter(|_| head.is_some()) else {
        forget(run, known.iter().filter(|file| file.last_commit.is_some())).await?;
        note_head(run, repository_id, None).await?;
        return Ok(why_not);
    };
    // Where HEAD stands still, only files that are new to the index can have news.
    let moved = head.as_ref().map(|head| head.commit.as_str()) != before
        || run.options.full
        || known.iter().all(|file| file.last_commit.is_none());
    let (known, why_not) = if moved || has_news(run, opened.clone(), &known).await {
        write_files(run, opened.clone(), known).await?
    } else {
        (known, None)
    };
    // Only now: a run that ended before would leave the next one nothing to look for.
    if !run.cancel.is_cancelled() {
        note_head(run, repository_id, head.as_ref()).await?;
    }
    failpoints::reach("index.history_of_files");
    write_lines(run, opened, known).await?;
    failpoints::reach("index.history_of_lines");
    Ok(why_not.and_then(sentence))
}

/// What is told of a history that was not read; nothing where there is none.
fn sentence(why: NoHistory) -> Option<String> {
    match why {
        NoHistory::Absent => None,
        NoHistory::Refused(why) => Some(format!("Its git history was not read: {why}.")),
    }
}

async fn note_head(run: &Run<'_>, repository_id: i64, head: Option<&Head>) -> Result<(), Fault> {
    let (branch, commit) =
        head.map_or((None, None), |head| (head.branch.as_deref(), Some(head.commit.as_str())));
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    repositories::set_head(&mut tx, run.fence, repository_id, branch, commit).await?;
    tx.commit().await
}

/// What the work on a history comes to where the library that reads it panics: its objects are damaged, or made to do that.
fn damaged(error: &tokio::task::JoinError) -> NoHistory {
    tracing::warn!(%error, "reading the git history failed");
    NoHistory::Refused("it is damaged; `git fsck` says more".to_owned())
}

/// Opens the history, unless it lies where nothing may be read.
async fn open(run: &Run<'_>) -> Result<History, NoHistory> {
    let root = run.root.to_owned();
    let allowed = AllowedRoots::of_project(&run.config.indexing, run.project.id());
    let opening = tokio::task::spawn_blocking(move || open_allowed(&root, &allowed));
    opening.await.unwrap_or_else(|error| Err(damaged(&error)))
}

/// The git history of `root`, unless it lies outside what may be read. Blocks.
pub(super) fn open_allowed(root: &Path, allowed: &AllowedRoots) -> Result<History, NoHistory> {
    let history = History::open(root)?;
    if allowed.contains(history.directory()) && allowed.contains(history.own_directory()) {
        Ok(history)
    } else {
        Err(NoHistory::Refused("it lies outside the directories that may be indexed".to_owned()))
    }
}

/// Whether HEAD holds a file of which nothing is known yet; also where the time ended before that was clear.
async fn has_news(run: &Run<'_>, opened: History, known: &[KnownHistory]) -> bool {
    let strangers: Vec<String> =
        known.iter().filter(|file| file.last_commit.is_none()).map(|file| file.path.clone()).collect();
    let (stops, until) = (run.stops(), Instant::now() + limits(&run.config.indexing).time);
    let looking = tokio::task::spawn_blocking(move || {
        strangers.iter().any(|path| stops() || Instant::now() >= until || opened.holds(path))
    });
    looking.await.unwrap_or(true)
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

/// Walks the history once and writes what it says of each file. Answers why it could not be walked.
async fn write_files(
    run: &Run<'_>,
    opened: History,
    mut known: Vec<KnownHistory>,
) -> Result<(Vec<KnownHistory>, Option<NoHistory>), Fault> {
    let (limits, stops) = (limits(&run.config.indexing), run.stops());
    let walking = tokio::task::spawn_blocking(move || opened.files(&limits, &stops));
    let (FileHistories { files, complete, .. }, why_not) = match walking.await {
        Ok(found) => (found, None),
        Err(error) => (FileHistories::default(), Some(damaged(&error))),
    };
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
    Ok((known, why_not))
}

/// Attributes the lines of files that changed since that was done, as far as the time goes.
async fn write_lines(run: &Run<'_>, opened: History, known: Vec<KnownHistory>) -> Result<(), Fault> {
    let mut due: Vec<KnownHistory> =
        known.into_iter().filter(|file| Attributed::of(file).is_due(run.options.full)).collect();
    let deadline = Instant::now() + Duration::from_millis(run.config.indexing.history_ms_max);
    let mut names = KnownNames::default();
    while !due.is_empty() && Instant::now() < deadline && !run.cancel.is_cancelled() {
        let batch: Vec<KnownHistory> = due.drain(..due.len().min(FILES_A_BATCH)).collect();
        let attributed = attribute(run, opened.clone(), batch, deadline).await?;
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

/// Who wrote the lines of each file, on all cores; files that the time does not reach are left out.
async fn attribute(
    run: &Run<'_>,
    opened: History,
    files: Vec<KnownHistory>,
    deadline: Instant,
) -> Result<Vec<(KnownHistory, Result<LineAuthors, Unknown>)>, Fault> {
    let (settings, cancel) = (run.config.indexing.clone(), run.cancel.clone());
    let root = Root::open(run.root)?;
    let working = tokio::task::spawn_blocking(move || {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let queue = Mutex::new(files.into_iter());
        let next = || queue.lock().ok().and_then(|mut files| files.next());
        let (next, root, settings) = (&next, &root, &settings);
        // A handle belongs to one thread; clones share what was read.
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    let (opened, cancel) = (opened.clone(), cancel.clone());
                    scope.spawn(move || {
                        let mut done = Vec::new();
                        while Instant::now() < deadline && !cancel.is_cancelled() {
                            let Some(file) = next() else { break };
                            let lines = lines_of(&opened, root, &file.path, settings);
                            done.push((file, lines));
                        }
                        done
                    })
                })
                .collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        })
    });
    working.await.map_err(|error| Fault::internal("Attributing lines failed unexpectedly.", error))
}

fn lines_of(
    opened: &History,
    root: &Root,
    path: &str,
    settings: &config::Indexing,
) -> Result<LineAuthors, Unknown> {
    let read =
        ReadLimits { bytes_max: settings.file_bytes_max, line_bytes_mean_max: settings.line_bytes_mean_max };
    let Kind::Text { text, .. } = root.read(path, &read).kind else { return Err(Unknown::ForGood) };
    opened.line_authors(path, &text, &Limits { time: FILE_TIME_MAX, ..limits(settings) })
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
