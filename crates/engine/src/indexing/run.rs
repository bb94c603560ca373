//! One index run, from the walk to the last vector. What is committed stays, whenever it ends.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::options::{Mode, Options};
use super::parser::Parsing;
use super::plan::{self, Plan};
use super::prepare::ReadWith;
use super::report::{RunReport, SkipCounter, SkippedFiles};
use super::risk::{self, Rules};
use super::versions::versions;
use super::walk::{self, Walk};
use super::{artifacts, history, vectors, write};
use crate::jobs::{Phase, ProgressSender};
use contract::clock::Clock;
use contract::config::{self, Config};
use contract::{ErrorCode, Fault};
use embedding::Embedder;
use languages::Dictionary;
use platform::failpoints;
use platform::room::is_short;
use store::{
    Access, Fence, IndexState, ModelFacts, Project, ProjectTx, RepositoryState, Store, Versions, breakdown,
    files, index_state, is_full, is_passing, lexical, names, repositories,
};

/// Everything a run needs; it reads nothing else but the repository.
pub struct Run<'a> {
    /// The database.
    pub store: &'a Store,
    /// Where the rows go.
    pub project: &'a Project,
    /// The job's fence token: every transaction checks that it is still the newest.
    pub fence: Fence,
    /// The repository's canonical root.
    pub root: &'a Path,
    /// How.
    pub options: Options,
    /// The project's model; without one the run makes words searchable and leaves vectors pending.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Where its files are parsed.
    pub parsing: &'a Parsing,
    /// Splits names without marks; a repository that was read with another one is read anew.
    pub dictionary: Option<Arc<Dictionary>>,
    /// Settings.
    pub config: &'a Config,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Fires when the job is cancelled or its lease is lost.
    pub cancel: &'a CancellationToken,
    /// Where progress goes.
    pub progress: &'a ProgressSender,
}

/// Runs.
///
/// # Errors
/// `CANCELLED`; `INVALID_REQUEST` when nothing in the repository can be indexed; `ILLEGAL_STATE` when the
/// run lost its fence, when too much vanished, or when the project is pinned to another model; storage faults.
pub async fn run(run: &Run<'_>) -> Result<RunReport, Fault> {
    let started = run.clock.instant();
    if let Some(embedder) = &run.embedder {
        run.project.require_model(&ModelFacts::of(embedder.model()))?;
    }
    run.store.require_room().await?;
    let (rules, note) = risk::rules(run)?;
    let versions = versions(run, &rules);
    let repository = open(run, versions).await?;
    failpoints::reach("index.opened");
    let outcome = tokio::select! {
        outcome = pipeline(run, &repository, rules, note, started) => outcome,
        fault = overdue(run.cancel) => Err(fault),
    };
    if let Err(fault) = &outcome {
        close_unfinished(run, &repository, fault).await;
    }
    outcome
}

impl Run<'_> {
    /// For work on a thread of its own, which asks before each step: whether to stop. To ask is a sign of progress.
    pub(super) fn stops(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let (cancel, progress) = (self.cancel.clone(), self.progress.clone());
        move || {
            progress.touch();
            cancel.is_cancelled()
        }
    }

    /// Opens the transaction of a batch, where the disk has room for one.
    pub(super) async fn begin_batch(&self) -> Result<ProjectTx, Fault> {
        self.store.require_room().await?;
        ProjectTx::begin(self.store, self.project, Access::Write).await
    }
}

/// How long a cancelled run may take to come to a place where it asks; an index build never does.
const PUT_DOWN: Duration = Duration::from_millis(500);

/// Ends a while after the run was cancelled. What the run has open then is rolled back.
async fn overdue(cancel: &CancellationToken) -> Fault {
    cancel.cancelled().await;
    tokio::time::sleep(PUT_DOWN).await;
    Fault::new(ErrorCode::Cancelled, "The index run was cancelled; what was committed stays.")
}

/// The repository's row as the run found it.
pub(super) struct Repository {
    pub(super) id: i64,
    pub(super) name: String,
    is_new: bool,
    /// What a run that is cancelled leaves it in.
    before: RepositoryState,
    /// Its chunks were made by another version of this program.
    pub(super) outdated: bool,
    /// What makes its rows in this run.
    versions: Versions,
    /// What made the rows that are there.
    versions_before: Versions,
    /// Where git stood at the end of the last run.
    commit: Option<String>,
}

async fn pipeline(
    run: &Run<'_>,
    repository: &Repository,
    rules: Rules,
    note: Option<String>,
    started: Instant,
) -> Result<RunReport, Fault> {
    run.progress.update(|progress| progress.phase = Phase::Walk);
    let walked = walk_blocking(run).await?;
    failpoints::reach("index.walked");
    if run.cancel.is_cancelled() {
        return Err(Fault::new(ErrorCode::Cancelled, "The index run was cancelled before it read anything."));
    }
    let (plan, stored) = plan_run(run, repository, &walked).await?;
    let others = plan.others;

    let mut skips = SkipCounter::default();
    walked.skipped.iter().for_each(|left_out| skips.add(left_out.reason.as_str(), &left_out.path));
    plan.still_skipped.iter().for_each(|(reason, path)| skips.add(reason, path));

    let unchanged = plan.unchanged as u64;
    // What an incomplete walk did not meet may well exist.
    let vanished = if walked.is_complete() { plan.vanished } else { Vec::new() };
    guard_against_loss(run, stored, vanished.len())?;

    let total = unchanged + plan.read.len() as u64;
    run.progress.update(|progress| {
        progress.phase = Phase::Files;
        progress.files_seen = walked.entries.len() as u64;
        progress.files_total = Some(total);
        progress.files_done = unchanged;
    });
    let (parsing, dictionary) = (run.parsing.clone(), run.dictionary.clone());
    let with = ReadWith { mode: run.options.mode, parsing, rules, dictionary };
    let written = write::write_files(run, repository.id, plan.read, with, &mut skips).await?;
    failpoints::reach("index.files_written");
    if written.searchable + unchanged + others == 0 {
        return Err(nothing_to_index(run.options.mode, skips));
    }
    let removed_chunks = remove(run, &vanished).await?;
    failpoints::reach("index.removed");
    finish_files(run, repository, written.changed_chunks + removed_chunks).await?;
    let lexical_seconds = seconds_since(run, started);

    // Settings shape what is told of history, too.
    let commit = repository.commit.as_deref().filter(|_| !repository.outdated);
    let no_history = history::record(run, repository.id, commit).await?;
    if run.options.full || repository.outdated {
        remove_orphan_names(run).await?;
    }
    let mut notes = notes(run, repository, note);
    notes.extend(walked.incomplete.into_iter().chain(walked.notes).chain(no_history));
    let restored = artifacts::restore(run, &mut notes).await?;
    let embedded = vectors::embed_pending(run).await?;
    run.progress.update(|progress| progress.phase = Phase::Finish);
    vectors::ensure_index(run).await?;
    failpoints::reach("index.vectors_indexed");

    let (files, chunks) = totals(run, repository.id).await?;
    let report = RunReport {
        repository_id: repository.id,
        repository: repository.name.clone(),
        files,
        chunks,
        files_changed: written.changed_files,
        files_unchanged: unchanged + written.same_files,
        files_removed: vanished.len() as u64,
        vectors_embedded: embedded.embedded,
        vectors_pending: embedded.pending,
        secrets_redacted: written.redacted,
        skipped: skips.finish(),
        facts_missing: facts_missing(run, repository.id).await?,
        notes,
        restored_artifacts: restored,
        sqlite: None,
        lexical_seconds,
        seconds: seconds_since(run, started),
    };
    failpoints::reach("index.closing");
    close(run, repository, &report).await?;
    failpoints::reach("index.closed");
    Ok(report)
}

/// What is made of all files, once they are written: statistics, and flows between files.
async fn finish_files(run: &Run<'_>, repository: &Repository, changed_chunks: i64) -> Result<(), Fault> {
    finish_lexical(run, changed_chunks).await?;
    failpoints::reach("index.statistics_made");
    vectors::note_words_ready(run).await?;
    failpoints::reach("index.words_ready");
    if is_derived_due(run, repository.id).await? {
        risk::join(run, repository.id).await?;
    }
    failpoints::reach("index.flows_joined");
    Ok(())
}

/// Makes the vectors that the project lacks and reads no file; repositories that lacked only those are complete again.
///
/// # Errors
/// As [`run`].
pub async fn embed(run: &Run<'_>) -> Result<RunReport, Fault> {
    let started = run.clock.instant();
    if let Some(embedder) = &run.embedder {
        run.project.require_model(&ModelFacts::of(embedder.model()))?;
    }
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    index_state::acquire_fence(&mut tx, run.fence).await?;
    tx.commit().await?;
    vectors::note_words_ready(run).await?;
    let embedded = vectors::embed_pending(run).await?;
    run.progress.update(|progress| progress.phase = Phase::Finish);
    vectors::ensure_index(run).await?;
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    if embedded.pending == 0 {
        repositories::settle(&mut tx, run.fence).await?;
    }
    let totals = files::totals(&mut tx, None).await?;
    tx.commit().await?;
    Ok(RunReport {
        files: totals.files.unsigned_abs(),
        chunks: totals.chunks.unsigned_abs(),
        files_unchanged: totals.files.unsigned_abs(),
        vectors_embedded: embedded.embedded,
        vectors_pending: embedded.pending,
        seconds: seconds_since(run, started),
        ..RunReport::default()
    })
}

/// What the reader of the report should know besides.
fn notes(run: &Run<'_>, repository: &Repository, note: Option<String>) -> Vec<String> {
    let mut notes: Vec<String> = note.into_iter().collect();
    if repository.outdated && run.options.mode != Mode::All {
        notes.push(
            "Another version of this program or of the rules read the other files: a run of all modes reads them anew.".to_owned(),
        );
    }
    if run.embedder.is_none() {
        let pinned = run.project.model();
        notes.push(format!(
            "The project's model {} ({}) is not installed: new texts are found by words only. `pairofcleats models download {}` installs it.",
            pinned.id, pinned.variant, pinned.id
        ));
    }
    notes
}

/// Names that edits left behind go when everything is read again: in between they cost little, and looking for them
/// reads all facts.
async fn remove_orphan_names(run: &Run<'_>) -> Result<(), Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let removed = names::remove_orphans(&mut tx, run.fence).await?;
    tx.commit().await?;
    tracing::debug!(removed.rows, "removed names that no chunk has any more");
    Ok(())
}

pub(super) fn seconds_since(run: &Run<'_>, started: Instant) -> f64 {
    (run.clock.instant().duration_since(started).as_secs_f64() * 1e3).round() / 1e3
}

/// Whether rows that are made of all files are due, by this run or by one that died before it made them.
async fn is_derived_due(run: &Run<'_>, repository_id: i64) -> Result<bool, Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let due = repositories::is_derived_due(&mut tx, repository_id).await?;
    tx.commit().await?;
    Ok(due)
}

/// Takes the fence and the repository's row.
pub(super) async fn open(run: &Run<'_>, versions: Versions) -> Result<Repository, Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    index_state::acquire_fence(&mut tx, run.fence).await?;
    let root = run.root.to_string_lossy();
    let known = repositories::get(&mut tx, &root).await?;
    let outdated = known.as_ref().is_some_and(|known| known.versions != versions);
    let is_new = known.as_ref().is_none_or(|known| known.indexed_ms.is_none());
    let versions_before = known.as_ref().map_or(versions, |known| known.versions);
    let commit = known.as_ref().and_then(|known| known.commit.clone());
    let before = match known.as_ref().map_or(RepositoryState::New, |known| known.state) {
        // A first run whose process died left it as new as it was; of a later one nobody knows what it left undone.
        RepositoryState::Indexing if is_new => RepositoryState::New,
        RepositoryState::Indexing => RepositoryState::Failed,
        state => state,
    };
    let (id, name) = match known {
        Some(known) => (known.id, known.name),
        None => {
            let name = free_name(&mut tx, run.root).await?;
            (repositories::ensure(&mut tx, run.fence, &root, &name, versions).await?, name)
        }
    };
    repositories::set_state(&mut tx, run.fence, id, RepositoryState::Indexing).await?;
    tx.commit().await?;
    Ok(Repository { id, name, is_new, before, outdated, versions, versions_before, commit })
}

/// The folder's name, with a number where another repository of the project has it.
async fn free_name(tx: &mut ProjectTx, root: &Path) -> Result<String, Fault> {
    let folder =
        root.file_name().map_or_else(|| "repository".into(), |name| name.to_string_lossy().into_owned());
    let taken: Vec<String> = repositories::list(tx).await?.into_iter().map(|row| row.name).collect();
    let numbered = (2..).map(|number| format!("{folder}-{number}"));
    let mut names = std::iter::once(folder.clone()).chain(numbered);
    Ok(names.find(|name| !taken.contains(name)).unwrap_or(folder))
}

/// Refuses a directory in which a walk meets no file at all, before a workspace is made for it. Blocks.
///
/// # Errors
/// `INVALID_REQUEST` when there is none; as the walk for a root that cannot be read.
pub fn require_files(root: &Path, settings: &config::Indexing) -> Result<(), Fault> {
    let walked = walk::walk(root, &settings.into(), &|| false)?;
    if !walked.entries.is_empty() {
        return Ok(());
    }
    let mut skips = SkipCounter::default();
    walked.skipped.iter().for_each(|left_out| skips.add(left_out.reason.as_str(), &left_out.path));
    Err(nothing_to_index(Mode::All, skips))
}

async fn walk_blocking(run: &Run<'_>) -> Result<Walk, Fault> {
    let (root, settings, stops) = (run.root.to_owned(), run.config.indexing.clone(), run.stops());
    let walking = tokio::task::spawn_blocking(move || walk::walk(&root, &(&settings).into(), &stops));
    walking.await.map_err(|error| Fault::internal("The walk failed unexpectedly.", error))?
}

async fn plan_run(run: &Run<'_>, repository: &Repository, walked: &Walk) -> Result<(Plan, usize), Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let stored = files::manifest(&mut tx, repository.id).await?;
    tx.commit().await?;
    let mode = run.options.mode;
    let count = stored.iter().filter(|row| plan::is_of(row, mode)).count();
    let full = run.options.full || repository.outdated;
    let timeout_ms = run.config.indexing.parse_timeout_ms;
    Ok((plan::plan(stored, walked.entries.clone(), full, mode, timeout_ms), count))
}

fn guard_against_loss(run: &Run<'_>, stored: usize, vanished: usize) -> Result<(), Fault> {
    if run.options.force || !plan::suspicious_loss(stored, vanished, run.config.indexing.delete_guard_files) {
        return Ok(());
    }
    Err(Fault::new(
        ErrorCode::IllegalState,
        format!("{vanished} of {stored} indexed files are gone; nothing was removed."),
    )
    .with_details(serde_json::json!({ "indexed": stored, "vanished": vanished }))
    .with_hint("Check that the repository is mounted and checked out; if the files are really gone, run again with force."))
}

fn nothing_to_index(mode: Mode, skips: SkipCounter) -> Fault {
    let message = match mode.of_files() {
        None => "The repository holds no file that can be indexed.".to_owned(),
        Some(word) => format!("The repository holds no file of the mode `{word}` that can be indexed."),
    };
    Fault::new(ErrorCode::InvalidRequest, message)
        .with_details(serde_json::json!({ "skipped": skips.finish() }))
        .with_hint(
            "Check the path, .gitignore and .pairofcleatsignore; details list what was left out and why.",
        )
}

/// Removes vanished files; returns how many chunks went with them.
pub(super) async fn remove(run: &Run<'_>, ids: &[i64]) -> Result<i64, Fault> {
    let mut chunks = 0;
    for batch in ids.chunks(run.config.indexing.batch_files.max(1)) {
        let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
        chunks += files::delete(&mut tx, run.fence, batch).await?;
        tx.commit().await?;
    }
    Ok(chunks)
}

/// Words become searchable with true weights: index on terms, document frequencies, counts.
pub(super) async fn finish_lexical(run: &Run<'_>, changed_chunks: i64) -> Result<(), Fault> {
    let mut tx = run.begin_batch().await?;
    let mut state = index_state::read(&mut tx).await?;
    // Also what a run left that died after its last file.
    if state.statistics_due {
        state = index_state::publish(&mut tx, run.fence).await?;
        if statistics_are_stale(&state) {
            tx.lift_timeout().await?;
            lexical::rebuild_statistics(&mut tx, run.fence).await?;
        }
    }
    tx.commit().await?;
    if changed_chunks > 0 {
        vectors::bound_orphans(run, state.chunks).await?;
    }
    run.store.require_room().await?;
    lexical::ensure_terms_index(run.store, run.project, run.fence, memory_mb(run)).await?;
    Ok(())
}

/// Memory for building an index, in MB.
pub(super) fn memory_mb(run: &Run<'_>) -> u32 {
    run.config.embedded.maintenance_work_mem_mb
}

/// Document frequencies are rebuilt when they may be off by more than a fiftieth, or when it is cheap.
fn statistics_are_stale(state: &IndexState) -> bool {
    const CHEAP_CHUNKS: i64 = 5_000;
    state.chunks <= CHEAP_CHUNKS
        || state.statistics_chunks == 0
        || state.changed_since_statistics * 50 > state.chunks
}

pub(super) async fn totals(run: &Run<'_>, repository_id: i64) -> Result<(u64, u64), Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let totals = files::totals(&mut tx, Some(repository_id)).await?;
    tx.commit().await?;
    Ok((totals.files.unsigned_abs(), totals.chunks.unsigned_abs()))
}

pub(super) async fn close(run: &Run<'_>, repository: &Repository, report: &RunReport) -> Result<(), Fault> {
    let json =
        serde_json::to_value(report).map_err(|e| Fault::internal("The report could not be written.", e))?;
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    repositories::set_report(
        &mut tx,
        run.fence,
        repository.id,
        RepositoryState::Ready,
        // A run that left files out did not bring them up to date.
        if run.options.mode == Mode::All { repository.versions } else { repository.versions_before },
        &json,
    )
    .await?;
    if report.vectors_pending == 0 {
        repositories::settle(&mut tx, run.fence).await?;
    }
    tx.commit().await
}

/// Searchable files whose facts could not be read, by reason.
pub(super) async fn facts_missing(run: &Run<'_>, repository_id: i64) -> Result<Vec<SkippedFiles>, Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let missing = breakdown::facts_missing(&mut tx, &[repository_id]).await?;
    tx.commit().await?;
    Ok(missing.into_iter().map(SkippedFiles::from).collect())
}

/// A first run that did not come to its end leaves no empty repository behind; a later one keeps what was searchable.
/// Being cancelled is no failure: what was complete before stays so, with what the run committed. A run that lost its
/// database, or room on disk, is not over: it goes on when that is back.
pub(super) async fn close_unfinished(run: &Run<'_>, repository: &Repository, fault: &Fault) {
    if is_passing(fault) || is_short(fault) || is_full(fault) {
        return;
    }
    let closing = async {
        let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
        let empty = files::totals(&mut tx, Some(repository.id)).await?.chunks == 0;
        if repository.is_new && empty {
            repositories::delete(&mut tx, run.fence, repository.id).await?;
        } else if fault.code == ErrorCode::Cancelled {
            repositories::set_stopped(&mut tx, run.fence, repository.id, repository.before).await?;
        } else {
            repositories::set_state(&mut tx, run.fence, repository.id, RepositoryState::Failed).await?;
        }
        tx.commit().await
    };
    if let Err(fault) = closing.await {
        // The run's own fault is what the caller gets; losing the fence, for one, ends both.
        tracing::debug!(%fault, "the repository of a run without a proper end was left as it is");
    }
}
