//! The index run, from the walk to the last vector. Committed changes are kept if the run fails or is cancelled.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::context::RunContext;
use super::failures::record_failure;
use super::file_tree::FileTree;
use super::opened_repository::{OpenedRepository, open_repository};
use super::options::Mode;
use super::plan::{self, RunPlan};
use super::prepare::PrepareOptions;
use super::report::{RunReport, SkipCounter, SkippedFiles};
use super::risk::{self, RiskRules};
use super::versions::run_versions;
use super::walk::{self, WalkResult};
use super::walk_tree::walk_tree;
use super::write::remove_files;
use super::{artifacts, history, navigation, revisions, scip, vectors, write};
use crate::jobs::Phase;
use contract::config;
use contract::{ErrorCode, Fault};
use platform::failpoints;
use store::{
    Access, ModelFacts, ProjectTx, RepositoryState, breakdown, files, grams, index_state, lexical, names,
    repositories, statistics,
};
use tenancy::RepositoryRoot;

/// Indexes the repository at `run.root`.
///
/// # Errors
/// `CANCELLED`; `INVALID_REQUEST` if nothing in the repository can be indexed; `ILLEGAL_STATE` if the run lost its fence, too
/// many files vanished, or the project has a different model; storage faults.
pub async fn index_repository(run: &RunContext<'_>) -> Result<RunReport, Fault> {
    let started = run.clock.instant();
    if let Some(embedder) = &run.embedder {
        run.project.require_model(&ModelFacts::from(embedder.model()))?;
    }
    run.store.require_disk_space().await?;
    let (rules, note) = risk::load_rules(run)?;
    let versions = run_versions(run, &rules);
    let repository = open_repository(run, versions).await?;
    failpoints::reach("index.opened");
    let outcome = tokio::select! {
        outcome = run_stages(run, &repository, rules, note, started) => outcome,
        fault = abort_after_cancel(run.cancel) => Err(fault),
    };
    if let Err(fault) = &outcome {
        record_failure(run, &repository, fault).await;
    }
    outcome
}

/// Time that a cancelled run may take to stop at its next check; building a database index has no such check.
const CANCEL_GRACE: Duration = Duration::from_millis(500);

/// Completes shortly after the run was cancelled, which drops the run and rolls back its open transaction.
async fn abort_after_cancel(cancel: &CancellationToken) -> Fault {
    cancel.cancelled().await;
    tokio::time::sleep(CANCEL_GRACE).await;
    Fault::new(ErrorCode::Cancelled, "The index run was cancelled; committed changes are kept.")
}

async fn run_stages(
    run: &RunContext<'_>,
    repository: &OpenedRepository,
    rules: RiskRules,
    note: Option<String>,
    started: Instant,
) -> Result<RunReport, Fault> {
    let walked = walk_repository(run).await?;
    let (plan, stored) = plan_run(run, repository, &walked).await?;
    let other_mode_files = plan.other_mode_files;

    let mut skips = count_skipped(&walked, &plan);
    let unchanged = plan.unchanged as u64;
    // Files that an incomplete walk did not find may still exist.
    let vanished = if walked.is_complete() { plan.vanished } else { Vec::new() };
    // An unmounted directory looks like deleted files; a commit has exactly the files that were pushed.
    if *run.tree == FileTree::Directory {
        guard_against_loss(run, stored, vanished.len())?;
    }

    let total = unchanged + plan.read.len() as u64;
    report_files_phase(run, walked.entries.len(), total, unchanged);
    let (parsing, dictionary) = (run.parsing.clone(), run.dictionary.clone());
    let options = PrepareOptions { mode: run.options.mode, parsing, rules, dictionary };
    let target = write::Target::Repository(repository.id);
    let written = write::write_files(run, target, plan.read, options.clone(), &mut skips).await?;
    failpoints::reach("index.files_written");
    if written.searchable + unchanged + other_mode_files == 0 {
        return Err(nothing_to_index(run.options.mode, skips));
    }
    let removed_chunks = remove_files(run, &vanished).await?;
    failpoints::reach("index.removed");
    finish_files(run, repository, written.changed_chunks + removed_chunks).await?;
    let lexical_seconds = seconds_since(run, started);
    let tree_changed = written.changed_files > 0 || !vanished.is_empty();
    let scip = scip::import(run, repository.id, tree_changed).await?;
    let resolved = navigation::resolve_uses(run, repository.id).await?;

    // The history also depends on settings, so an outdated repository reads it again.
    let commit = repository.commit.as_deref().filter(|_| !repository.outdated);
    let history_note = history::update_history(run, repository.id, commit).await?;
    let mut notes = report_notes(run, repository, note);
    let revisions = revisions::index_revisions(run, repository, options, &mut notes).await?;
    if run.options.full || repository.outdated {
        remove_orphan_names(run).await?;
    }
    let navigation = navigation::report(run, repository.id, &resolved).await?;
    notes.extend(scip.notes.into_iter().chain(resolved.notes));
    notes.extend(walked.incomplete.into_iter().chain(walked.notes).chain(history_note));
    let restored = artifacts::restore(run, &repository.name, &mut notes).await?;
    let embedded = vectors::complete(run).await?;
    failpoints::reach("index.vectors_indexed");

    let (files, chunks) = totals(run, repository.id).await?;
    let report = RunReport {
        repository_id: repository.id,
        repository: repository.name.clone(),
        files,
        chunks,
        files_changed: written.changed_files,
        files_unchanged: unchanged + written.unchanged_files,
        files_removed: vanished.len() as u64,
        vectors_embedded: embedded.embedded,
        vectors_pending: embedded.pending,
        secrets_redacted: written.redacted,
        skipped: skips.finish(),
        facts_missing: facts_missing(run, repository.id).await?,
        navigation,
        scip: scip.report,
        revisions,
        notes,
        restored_artifacts: restored,
        sqlite: None,
        lexical_seconds,
        seconds: seconds_since(run, started),
    };
    failpoints::reach("index.closing");
    store_report(run, repository, &report).await?;
    history::store_commit(run, repository.id).await?;
    failpoints::reach("index.closed");
    Ok(report)
}

async fn walk_repository(run: &RunContext<'_>) -> Result<WalkResult, Fault> {
    run.progress.update(|progress| progress.phase = Phase::Walk);
    let walked = walk_tree(run, run.tree).await?;
    failpoints::reach("index.walked");
    if run.cancel.is_cancelled() {
        return Err(Fault::new(ErrorCode::Cancelled, "The index run was cancelled before it read anything."));
    }
    Ok(walked)
}

fn report_files_phase(run: &RunContext<'_>, seen: usize, total: u64, unchanged: u64) {
    run.progress.update(|progress| {
        progress.phase = Phase::Files;
        progress.files_seen = seen as u64;
        progress.files_total = Some(total);
        progress.files_done = unchanged;
    });
}

/// Counts the files that the walk and the plan skip.
fn count_skipped(walked: &WalkResult, plan: &RunPlan) -> SkipCounter {
    let mut skips = SkipCounter::default();
    walked.skipped.iter().for_each(|skipped| skips.add(skipped.reason.as_str(), &skipped.path));
    plan.still_skipped.iter().for_each(|(reason, path)| skips.add(reason, path));
    skips
}

/// Rebuilds the rows that depend on all files: statistics, and flows between files.
async fn finish_files(
    run: &RunContext<'_>,
    repository: &OpenedRepository,
    changed_chunks: i64,
) -> Result<(), Fault> {
    finish_lexical(run, changed_chunks).await?;
    failpoints::reach("index.statistics_made");
    vectors::report_lexical_ready(run).await?;
    failpoints::reach("index.words_ready");
    if is_derived_due(run, repository.id).await? {
        risk::rebuild_flows(run, repository.id).await?;
    }
    failpoints::reach("index.flows_joined");
    Ok(())
}

/// Embeds the pending texts of the whole project without reading files. Repositories that lacked only vectors become
/// ready.
///
/// # Errors
/// The faults of [`index_repository`].
pub async fn embed_project(run: &RunContext<'_>) -> Result<RunReport, Fault> {
    let started = run.clock.instant();
    if let Some(embedder) = &run.embedder {
        run.project.require_model(&ModelFacts::from(embedder.model()))?;
    }
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    index_state::acquire_fence(&mut tx, run.fence).await?;
    tx.commit().await?;
    vectors::report_lexical_ready(run).await?;
    let embedded = vectors::complete(run).await?;
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    if embedded.pending == 0 {
        repositories::mark_embedded_ready(&mut tx, run.fence).await?;
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

fn report_notes(run: &RunContext<'_>, repository: &OpenedRepository, note: Option<String>) -> Vec<String> {
    let mut notes: Vec<String> = note.into_iter().collect();
    if repository.outdated && run.options.mode != Mode::All {
        notes.push(
            "Files of other modes were indexed by another version of the program or its rules; a run with all modes reads them again.".to_owned(),
        );
    }
    if run.embedder.is_none() {
        let pinned = run.project.model();
        notes.push(format!(
            "The project's model {} ({}) is not installed, so only lexical search finds new texts. `pairofcleats models download {}` installs it.",
            pinned.id, pinned.variant, pinned.id
        ));
    }
    notes
}

/// Removes names without chunks. Only runs that read all files do this, because it reads all facts, and unused names
/// cost little.
async fn remove_orphan_names(run: &RunContext<'_>) -> Result<(), Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let removed = names::remove_orphans(&mut tx, run.fence).await?;
    tx.commit().await?;
    tracing::debug!(removed.rows, "removed names that no chunk uses");
    Ok(())
}

pub(super) fn seconds_since(run: &RunContext<'_>, started: Instant) -> f64 {
    (run.clock.instant().duration_since(started).as_secs_f64() * 1e3).round() / 1e3
}

/// Returns whether rows that depend on all files must be rebuilt, because of this run or of a killed one.
async fn is_derived_due(run: &RunContext<'_>, repository_id: i64) -> Result<bool, Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let due = repositories::is_derived_due(&mut tx, repository_id).await?;
    tx.commit().await?;
    Ok(due)
}

/// Rejects a directory without any file to index, before a workspace is provisioned for it. Blocks.
///
/// # Errors
/// `INVALID_REQUEST` if there is no file to index; `CANCELLED`; faults of the walk if the root cannot be read.
pub fn require_files(
    root: &RepositoryRoot,
    settings: &config::Indexing,
    cancelled: &dyn Fn() -> bool,
) -> Result<(), Fault> {
    let walked = walk::walk(root.path(), &FileTree::Directory, root.allowed(), &settings.into(), cancelled)?;
    if !walked.entries.is_empty() {
        return Ok(());
    }
    if cancelled() {
        return Err(Fault::new(ErrorCode::Cancelled, "The call was cancelled."));
    }
    let mut skips = SkipCounter::default();
    walked.skipped.iter().for_each(|skipped| skips.add(skipped.reason.as_str(), &skipped.path));
    Err(nothing_to_index(Mode::All, skips))
}

async fn plan_run(
    run: &RunContext<'_>,
    repository: &OpenedRepository,
    walked: &WalkResult,
) -> Result<(RunPlan, usize), Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let stored = files::manifest(&mut tx, repository.id).await?;
    tx.commit().await?;
    let mode = run.options.mode;
    let count = stored.iter().filter(|row| plan::has_mode(row, mode)).count();
    let full = run.options.full || repository.outdated;
    let timeout_ms = run.config.indexing.parse_timeout_ms;
    Ok((plan::plan_files(stored, walked.entries.clone(), full, mode, timeout_ms), count))
}

fn guard_against_loss(run: &RunContext<'_>, stored: usize, vanished: usize) -> Result<(), Fault> {
    if run.options.force
        || !plan::is_suspicious_loss(stored, vanished, run.config.indexing.delete_guard_files)
    {
        return Ok(());
    }
    Err(Fault::new(
        ErrorCode::IllegalState,
        format!("{vanished} of {stored} indexed files no longer exist; nothing was removed."),
    )
    .with_details(serde_json::json!({ "indexed": stored, "vanished": vanished }))
    .with_hint("Check that the repository is mounted and checked out. If the files were really deleted, run again with force."))
}

fn nothing_to_index(mode: Mode, skips: SkipCounter) -> Fault {
    let message = match mode.stored_mode() {
        None => "The repository contains no file that can be indexed.".to_owned(),
        Some(mode) => format!("The repository contains no file of the mode `{mode}` that can be indexed."),
    };
    Fault::new(ErrorCode::InvalidRequest, message)
        .with_details(serde_json::json!({ "skipped": skips.finish() }))
        .with_hint(
            "Check the path, .gitignore and .pairofcleatsignore; the details list skipped files with the reasons.",
        )
}

/// Files of an earlier version whose trigrams are written in one transaction.
const FILES_WITHOUT_TRIGRAMS: i64 = 100;

/// Completes lexical search: counts, document frequencies, trigrams of files that an earlier version wrote, and the indexes.
pub(super) async fn finish_lexical(run: &RunContext<'_>, changed_chunks: i64) -> Result<(), Fault> {
    let mut tx = run.begin_batch().await?;
    // May also be due because an earlier run was killed after it had written files, or had an earlier version.
    let uncounted = statistics::uncounted(&mut tx).await?;
    if !uncounted.is_empty() || index_state::read(&mut tx).await?.statistics_due {
        index_state::publish(&mut tx, run.fence).await?;
        for id in uncounted {
            statistics::rebuild(&mut tx, run.fence, id).await?;
        }
    }
    tx.commit().await?;
    if changed_chunks > 0 {
        vectors::limit_orphans(run).await?;
    }
    run.store.require_disk_space().await?;
    while !run.cancel.is_cancelled() && write_missing_trigrams(run).await? {}
    lexical::ensure_terms_index(run.store, run.project, run.fence, run.maintenance_memory_mb()).await?;
    Ok(())
}

/// Writes the trigrams of some files that an earlier version wrote; returns whether more may be left.
async fn write_missing_trigrams(run: &RunContext<'_>) -> Result<bool, Fault> {
    let mut tx = run.begin_batch().await?;
    let written = grams::write_missing(&mut tx, run.fence, FILES_WITHOUT_TRIGRAMS).await?;
    tx.commit().await?;
    Ok(written > 0)
}

pub(super) async fn totals(run: &RunContext<'_>, repository_id: i64) -> Result<(u64, u64), Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let totals = files::totals(&mut tx, Some(repository_id)).await?;
    tx.commit().await?;
    Ok((totals.files.unsigned_abs(), totals.chunks.unsigned_abs()))
}

pub(super) async fn store_report(
    run: &RunContext<'_>,
    repository: &OpenedRepository,
    report: &RunReport,
) -> Result<(), Fault> {
    let json =
        serde_json::to_value(report).map_err(|e| Fault::internal("The report could not be written.", e))?;
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    repositories::set_report(
        &mut tx,
        run.fence,
        repository.id,
        RepositoryState::Ready,
        // A run of one mode did not update the files of the others.
        if run.options.mode == Mode::All { repository.versions } else { repository.versions_before },
        &json,
    )
    .await?;
    if report.vectors_pending == 0 {
        repositories::mark_embedded_ready(&mut tx, run.fence).await?;
    }
    tx.commit().await
}

/// Returns the searchable files whose facts could not be read, by reason.
pub(super) async fn facts_missing(
    run: &RunContext<'_>,
    repository_id: i64,
) -> Result<Vec<SkippedFiles>, Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let missing = breakdown::facts_missing(&mut tx, &[repository_id]).await?;
    tx.commit().await?;
    Ok(missing.into_iter().map(SkippedFiles::from).collect())
}
