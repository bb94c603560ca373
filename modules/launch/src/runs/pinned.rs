//! The index as seen from the commit of a run. A run is about one commit, and an index moves on: to other commits, and with uncommitted
//! edits. Content that differs from the commit is no evidence.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::{ErrorCode, Fault, escaped_line};
use engine::indexing::differing_from_commit;
use launch::event::Failure;
use launch::issue::{Issue, Rule, Severity};
use launch::report::{GateOutcome, GateStatus, ValidationReport};
use serde_json::json;
use store::{Access, ProjectTx, RepositoryRow, RepositoryState, files, repositories};

use super::answer::Stop;
use super::index_version::{Differing, IndexVersion};
use super::run_job::RunJob;

/// Name of the check in reports.
pub(super) const GATE: &str = "pinned_commit";
/// The index is of another commit.
const MOVED: Rule = Rule::new("inputs_moved", "The index is not of the commit of the run");
/// Files have changes that are not committed.
const UNCOMMITTED: Rule = Rule::new("uncommitted_changes", "Files are not as the commit of the run has them");
/// Files that a message names.
const EXAMPLES_MAX: usize = 5;

/// The part of the index that a worker may read.
pub(super) struct PinnedIndex {
    /// The index when this was decided; what the worker reads has to be the same.
    pub(super) version: IndexVersion,
    /// `true` if the index is of the commit of the run.
    pub(super) is_pinned: bool,
    /// Files whose content is no evidence, because it is not that of the commit.
    pub(super) differing: Arc<BTreeSet<String>>,
}

impl RunJob<'_> {
    /// The state of the index of a repository now.
    pub(super) async fn index_version(&self, repository: &RepositoryRow) -> Result<IndexVersion, Fault> {
        let mut tx = ProjectTx::begin(self.store, self.project, Access::Snapshot).await?;
        let row = repositories::with_id(&mut tx, repository.id).await?;
        let files = files::manifest(&mut tx, repository.id).await?;
        tx.commit().await?;
        Ok(IndexVersion::of(row.as_ref(), &files))
    }

    /// Returns the part of the index that may be read. The comparison with the commit is made once for each state of the index, because it
    /// reads all files of the commit.
    pub(super) async fn pinned_index(&mut self, repository: &RepositoryRow) -> Result<PinnedIndex, Stop> {
        let version = self.index_version(repository).await?;
        let repo_sha = self.snapshot().created.repo_sha.clone();
        if !version.is_ready || version.commit.as_ref() != Some(&repo_sha) {
            return Ok(PinnedIndex { version, is_pinned: false, differing: Arc::default() });
        }
        if let Some(known) = self.differing.as_ref().filter(|known| known.version == version) {
            let differing = Arc::clone(&known.paths);
            return Ok(PinnedIndex { version, is_pinned: true, differing });
        }
        let (settings, parsing) = (&self.app.config.indexing, &self.app.parsing);
        let cancel = &self.running.cancel;
        let compared =
            differing_from_commit(self.store, self.project, repository, &repo_sha, settings, parsing, cancel)
                .await;
        let differing = match compared {
            Ok(paths) => Arc::new(paths.into_iter().collect::<BTreeSet<String>>()),
            // The commit could not be read; that may be different the next time.
            Err(fault) if fault.code == ErrorCode::IllegalState => {
                return Err(Stop::Answer(Fault { retryable: true, ..fault }));
            }
            Err(fault) => return Err(Stop::from(fault)),
        };
        if !differing.is_empty() {
            tracing::info!(
                run_id = self.journal.run_id(),
                files = differing.len(),
                "files are not as the commit of the run has them, and are not used"
            );
        }
        self.differing = Some(Differing { version: version.clone(), paths: Arc::clone(&differing) });
        Ok(PinnedIndex { version, is_pinned: true, differing })
    }

    /// The failure of a run whose repository is indexed at another commit.
    pub(super) fn moved(&self, repository: &RepositoryRow) -> Failure {
        let wanted = &self.snapshot().created.repo_sha;
        let found = repository.commit.as_deref().unwrap_or("no commit");
        let message = format!(
            "The index of the repository {} is of {found}, and the run needs {wanted}.",
            escaped_line(&repository.name)
        );
        Failure::new("INPUTS_MOVED", message)
            .with_details(json!({ "wanted": wanted, "indexed": repository.commit }))
    }

    /// The fault of a call that needs the index of the commit of the run while there is another one.
    pub(super) fn not_pinned(&self, repository: Option<&RepositoryRow>) -> Fault {
        let Some(repository) = repository else {
            let message = "The project does not have the repository of the run any more.";
            return Fault::new(ErrorCode::RepoNotFound, message).with_hint("Start another run.");
        };
        let Failure { code, message, details } = self.moved(repository);
        let fault = Fault::new(ErrorCode::IllegalState, message)
            .with_details(json!({ "cause_class": code, "details": details }))
            .with_hint("Index that commit again and call again, or start another run for the commit that is indexed.");
        Fault { retryable: repository.state == RepositoryState::Indexing, ..fault }
    }
}

/// The fault of a validation during which the index changed.
pub(super) fn changed_meanwhile() -> Fault {
    let fault = Fault::new(ErrorCode::IllegalState, "The index changed while the pages were validated.");
    Fault { retryable: true, ..fault }.with_hint("Call again when the index run has ended.")
}

/// A report that also says whether the index was of the commit of the run. If it was not, a run that is not published yet fails.
pub(super) fn with_pin(
    report: ValidationReport,
    index: &PinnedIndex,
    repo_sha: &str,
    is_published: bool,
) -> ValidationReport {
    let issue = pin_issue(index, repo_sha, is_published);
    let fails = issue.as_ref().is_some_and(|issue| report.profile.fails_on(issue.severity));
    let ValidationReport { profile, mut gates, mut issues, .. } = report;
    gates.push(GateOutcome {
        gate: GATE.to_owned(),
        status: if fails { GateStatus::Failed } else { GateStatus::Passed },
        reason: None,
        issues: u32::from(issue.is_some()),
    });
    issues.extend(issue);
    ValidationReport::new(profile, gates, issues)
}

fn pin_issue(index: &PinnedIndex, repo_sha: &str, is_published: bool) -> Option<Issue> {
    if !index.is_pinned {
        let found = match &index.version {
            IndexVersion { is_ready: false, .. } => "is being changed".to_owned(),
            IndexVersion { commit: None, .. } => "is of no commit".to_owned(),
            IndexVersion { commit: Some(commit), .. } => format!("is of {commit}"),
        };
        let message = format!(
            "The index {found}, and the run is about {repo_sha}. The other gates say whether the pages hold for what is indexed."
        );
        let severity = if is_published { Severity::Info } else { Severity::Blocker };
        return Some(Issue::new(GATE, &MOVED, severity, None, "", message));
    }
    if index.differing.is_empty() {
        return None;
    }
    let examples: Vec<String> =
        index.differing.iter().take(EXAMPLES_MAX).map(|path| format!("`{}`", escaped_line(path))).collect();
    let message = format!(
        "{} indexed files are not as the commit {repo_sha} has them, such as {}. Nothing that they say is used.",
        index.differing.len(),
        examples.join(", ")
    );
    // People who see that their edits are indexed expect the pages to say them.
    let severity = if is_published { Severity::Info } else { Severity::Warning };
    Some(Issue::new(GATE, &UNCOMMITTED, severity, None, "", message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use launch::report::Profile;

    fn index(commit: &str, differing: &[&str]) -> PinnedIndex {
        let version = IndexVersion { commit: Some(commit.to_owned()), is_ready: true, content: [0; 32] };
        let paths = differing.iter().map(|path| (*path).to_owned()).collect();
        PinnedIndex { version, is_pinned: commit == "aaa", differing: Arc::new(paths) }
    }

    fn checked(index: &PinnedIndex, is_published: bool) -> ValidationReport {
        checked_as(Profile::Ci, index, is_published)
    }

    fn checked_as(profile: Profile, index: &PinnedIndex, is_published: bool) -> ValidationReport {
        with_pin(ValidationReport::new(profile, Vec::new(), Vec::new()), index, "aaa", is_published)
    }

    #[test]
    fn an_index_of_another_commit_fails_unpublished_runs() {
        let report = checked(&index("bbb", &[]), false);
        assert!(!report.ok && report.issues[0].code == "inputs_moved", "{report:?}");
        assert!(report.issues[0].message.contains("bbb") && report.issues[0].message.contains("aaa"));
        let published = checked(&index("bbb", &[]), true);
        assert!(published.ok && published.issues[0].code == "inputs_moved", "{published:?}");
    }

    #[test]
    fn uncommitted_changes_are_a_warning_until_the_run_is_published() {
        let clean = checked(&index("aaa", &[]), false);
        assert!(clean.ok && clean.issues.is_empty() && clean.gates.len() == 1, "{clean:?}");
        let edited = checked(&index("aaa", &["README.md", "a\nb.md"]), false);
        assert!(edited.ok && edited.issues[0].code == "uncommitted_changes", "{edited:?}");
        let message = &edited.issues[0].message;
        assert!(message.contains("2 indexed files") && message.contains("`README.md`"), "{message}");
        assert!(!message.contains('\n'), "{message}");
        assert_eq!(edited.issues[0].severity, Severity::Warning);
        assert!(!checked_as(Profile::Prod, &index("aaa", &["README.md"]), false).ok);
        assert!(checked_as(Profile::Prod, &index("aaa", &["README.md"]), true).ok);
    }
}
