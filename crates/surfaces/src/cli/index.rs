//! `index`: builds or refreshes the index of a repository.

use indicatif::HumanCount;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::artifact::{ArtifactTarget, RestoredCounts, answer_with_artifact, restored_line, written_line};
use super::flags::{absolute, indexable};
use super::install::offer_assets;
use super::output::{BOLD, DIM, GOOD, NOTE, styled};
use super::progress_bar::CallProgressBar;
use super::session::{CommandError, CommandResult, Exit, Session, ToolAnswer};
use contract::escaped_line;
use engine::jobs::Progress as Counts;
use gate::tools::Progress;

/// Arguments of `index`.
#[derive(Debug, clap::Args)]
pub(super) struct IndexArgs {
    /// Repository to index: a directory, an archive (.tar, .tar.gz, .tgz, .tar.zst, .zip), or the address of a git repository
    #[arg(default_value = ".", value_name = "PATH|URL")]
    path: String,
    /// Project to index into; created on first use
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Read and chunk every file again, including unchanged ones
    #[arg(long)]
    full: bool,
    /// Index even if more than half of the indexed files no longer exist
    #[arg(long)]
    force: bool,
    /// If a run is already in progress, wait for it and then run again: it may have missed the latest change
    #[arg(long)]
    fresh: bool,
    /// Update the project's portable SQLite index afterwards
    #[arg(long)]
    sqlite: bool,
    /// Reuse vectors from the portable indexes in this folder [default: ci-artifacts in the repository]
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "ci-artifacts")]
    use_artifacts: Option<String>,
    /// Afterwards write the index of the commit as a portable file into this folder, for --use-artifacts elsewhere [default: ci-artifacts in the repository]
    #[arg(
        long,
        value_name = "DIR",
        num_args = 0..=1,
        default_missing_value = "ci-artifacts",
        conflicts_with = "mode"
    )]
    write_artifact: Option<String>,
    /// Write the artifact even if indexed files differ from the commit; its name then ends in -dirty
    #[arg(long, requires = "write_artifact")]
    allow_dirty: bool,
    /// Take what a SCIP file says of the files: made by a compiler's indexer of this state of the repository; repeatable
    #[arg(long, value_name = "FILE", value_parser = absolute)]
    scip: Vec<String>,
    /// Of a git URL: also index, from now on, branches and tags that match, such as 'release/*'; repeatable; '' for none
    #[arg(long, value_name = "PATTERN")]
    revisions: Option<Vec<String>>,
    /// Index only files of this mode: code, prose, extracted-prose or records [default: all]
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Embedding model of the project: ID, ID:int8 or ID:fp32 [default: the project's model; for a new project the configured one]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Install missing runtime files, and replace the project's model (which embeds everything again), without asking
    #[arg(long)]
    yes: bool,
    /// Use hashed word vectors instead of a model, for trying things out
    #[arg(long, conflicts_with = "model")]
    stub_embeddings: bool,
}

/// The arguments of the tool `build_index`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BuildIndex<'a> {
    pub(super) repo_path: &'a str,
    #[serde(rename = "project_id", skip_serializing_if = "Option::is_none")]
    pub(super) project_id: Option<&'a str>,
    /// `words`: return as soon as lexical search is ready, before the vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wait: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) incremental: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) force: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sqlite: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) use_artifacts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) artifacts_dir: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(super) scip: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) revisions: Option<Vec<&'a str>>,
    pub(super) mode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) confirm_reembed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stub_embeddings: Option<bool>,
}

/// Entry point of `index`.
pub(super) async fn run_index(session: &Session, args: &IndexArgs) -> CommandResult {
    let path = indexable(&args.path, &session.app.config.git).map_err(CommandError::not_run)?;
    let target = |folder: &String| ArtifactTarget::resolve(folder, &path, args.allow_dirty);
    let artifact = args.write_artifact.as_ref().map(target).transpose().map_err(CommandError::not_run)?;
    offer_assets(session, !args.stub_embeddings, args.yes).await?;
    let arguments = BuildIndex {
        repo_path: &path,
        project_id: args.project.as_deref(),
        wait: None,
        incremental: args.full.then_some(false),
        force: args.force.then_some(true),
        sqlite: args.sqlite.then_some(true),
        use_artifacts: args.use_artifacts.is_some().then_some(true),
        artifacts_dir: args.use_artifacts.as_deref(),
        scip: &args.scip,
        revisions: args
            .revisions
            .as_deref()
            .map(|given| given.iter().map(String::as_str).filter(|pattern| !pattern.is_empty()).collect()),
        mode: args.mode.as_deref(),
        model: args.model.as_deref(),
        confirm_reembed: args.yes.then_some(true),
        stub_embeddings: args.stub_embeddings.then_some(true),
    };
    let mut called = build(session, &arguments).await;
    if args.fresh && joined_existing_run(&called) {
        called = build(session, &arguments).await;
    }
    match artifact {
        Some(target) if called.exit == Exit::Ok => {
            answer_with_artifact(session, called, &target, render).await
        }
        _ => Ok(session.output.answer(&called, render)),
    }
}

/// Returns `true` if the call attached to a run that was already queued or running.
pub(super) fn joined_existing_run(called: &ToolAnswer) -> bool {
    called.envelope.result.as_ref().is_some_and(|result| result["attached"] == true)
}

/// Runs `build_index` without a progress bar.
pub(super) async fn build_quietly(session: &Session, arguments: &BuildIndex<'_>) -> ToolAnswer {
    session.call("build_index", arguments, Progress::default()).await
}

/// Runs `build_index` with a progress bar.
pub(super) async fn build(session: &Session, arguments: &BuildIndex<'_>) -> ToolAnswer {
    let bar = CallProgressBar::new(session.output);
    let called = session.call("build_index", arguments, bar.progress()).await;
    bar.finish();
    called
}

/// The part of a `build_index` report that is printed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BuildReport {
    repository: String,
    files: u64,
    chunks: u64,
    files_changed: u64,
    files_unchanged: u64,
    files_removed: u64,
    vectors_embedded: u64,
    vectors_pending: u64,
    secrets_redacted: u64,
    skipped: Vec<ReasonCount>,
    facts_missing: Vec<ReasonCount>,
    scip: Option<ScipCounts>,
    restored_artifacts: Option<RestoredCounts>,
    revisions: Option<RevisionCounts>,
    notes: Vec<String>,
    seconds: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ScipCounts {
    documents: u64,
    documents_differing: u64,
    documents_unknown: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RevisionCounts {
    indexed: Vec<RevisionName>,
    files: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RevisionName {
    name: String,
}

impl RevisionCounts {
    fn sentence(&self) -> String {
        let names: Vec<String> = self.indexed.iter().map(|revision| escaped_line(&revision.name)).collect();
        let named = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("revisions: {named}; {} files that only they have", self.files)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ReasonCount {
    reason: String,
    count: u64,
}

/// Formats a `build_index` result.
pub(super) fn render(result: &Value) -> String {
    if result.get("report").is_none_or(Value::is_null) {
        let counts = Counts::from_value(&result["progress"]);
        let files = HumanCount(counts.files_done.saturating_sub(counts.files_skipped));
        return format!("{} {files} files are ready for lexical search\n", styled(GOOD, "✓"));
    }
    let report =
        result.get("report").and_then(|report| BuildReport::deserialize(report).ok()).unwrap_or_default();
    let mut lines = vec![format!(
        "{} {}: {} files, {} chunks {}",
        styled(GOOD, "✓"),
        styled(BOLD, &escaped_line(&report.repository)),
        report.files,
        report.chunks,
        styled(DIM, &format!("in {:.1} s", report.seconds)),
    )];
    lines.push(format!(
        "  {} changed, {} unchanged, {} removed; {} texts embedded",
        report.files_changed, report.files_unchanged, report.files_removed, report.vectors_embedded
    ));
    lines.extend(report.restored_artifacts.as_ref().and_then(restored_line));
    if report.vectors_pending > 0 {
        lines.push(format!(
            "  {} texts have no vector yet; only lexical search finds them",
            report.vectors_pending
        ));
    }
    if report.secrets_redacted > 0 {
        let redacted = format!("{} secrets were redacted before storage", report.secrets_redacted);
        lines.push(format!("  {}", styled(NOTE, &redacted)));
    }
    if !report.skipped.is_empty() {
        let reasons =
            report.skipped.iter().map(|skip| format!("{} {}", skip.count, escaped_line(&skip.reason)));
        lines.push(format!(
            "  {}",
            styled(DIM, &format!("skipped: {}", reasons.collect::<Vec<_>>().join(", ")))
        ));
    }
    if !report.facts_missing.is_empty() {
        let files: u64 = report.facts_missing.iter().map(|missing| missing.count).sum();
        let reasons = report
            .facts_missing
            .iter()
            .map(|missing| format!("{} {}", missing.count, escaped_line(&missing.reason)));
        let message = format!(
            "facts are missing for {files} files: {}; the next run retries files that timed out",
            reasons.collect::<Vec<_>>().join(", ")
        );
        lines.push(format!("  {}", styled(NOTE, &message)));
    }
    if let Some(scip) = &report.scip {
        lines.push(format!(
            "  SCIP: {} documents taken, {} do not fit their files, {} of files that are not indexed",
            scip.documents, scip.documents_differing, scip.documents_unknown
        ));
    }
    lines.extend(report.revisions.iter().map(|revisions| format!("  {}", revisions.sentence())));
    lines.extend(report.notes.iter().map(|note| format!("  {}", styled(NOTE, &escaped_line(note)))));
    lines.extend(written_line(result));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_reads_as_sentences() {
        let shown = render(&serde_json::json!({ "report": {
            "repository": "x", "files": 3, "chunks": 9, "filesChanged": 1, "filesUnchanged": 2, "vectorsEmbedded": 4,
            "vectorsPending": 5, "secretsRedacted": 1, "seconds": 1.25, "skipped": [{ "reason": "binary", "count": 7 }],
            "factsMissing": [{ "reason": "facts_timeout", "count": 2 }],
            "scip": { "documents": 6, "documentsDiffering": 1, "documentsUnknown": 2 },
            "revisions": { "indexed": [{ "name": "release/1.0" }, { "name": "v1\u{1b}" }], "files": 2 },
            "notes": ["No portable file was found in\u{1b} ci-artifacts."]
        } }));
        let shown = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(
            shown,
            "✓ x: 3 files, 9 chunks in 1.2 s\n  1 changed, 2 unchanged, 0 removed; 4 texts embedded\n  \
             5 texts have no vector yet; only lexical search finds them\n  1 secrets were redacted before storage\n  \
             skipped: 7 binary\n  facts are missing for 2 files: 2 facts_timeout; the next run retries files that timed out\n  \
             SCIP: 6 documents taken, 1 do not fit their files, 2 of files that are not indexed\n  \
             revisions: release/1.0, v1\\u{1b}; 2 files that only they have\n  \
             No portable file was found in\\u{1b} ci-artifacts.\n"
        );
    }
}
