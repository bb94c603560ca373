//! A run as tools show it.

use std::collections::BTreeMap;

use launch::freshness::StaleSentence;
use launch::issue::{Issue, Severity};
use launch::sections::SectionState;
use launch::snapshot::RunSnapshot;
use launch::state::RunState;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::runs::{OpenedRun, RunFreshness};
use contract::clock::iso_from_millis;
use store::{Job, JobState};

/// Open issues and artifacts that a status lists; all are counted.
const ISSUES_LISTED_MAX: usize = 50;
const ARTIFACTS_LISTED_MAX: usize = 200;

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunStatus {
    /// Its id.
    run_id: String,
    /// Its state.
    state: RunState,
    /// The product.
    product_slug: String,
    /// How far each section is.
    section_states: BTreeMap<String, SectionState>,
    /// The open issues, the worst first; at most 50.
    open_issues: Vec<OpenIssue>,
    /// Number of open issues.
    open_issue_count: usize,
    /// The artifacts; at most 200.
    artifacts: Vec<ArtifactSummary>,
    /// Number of artifacts.
    artifact_count: usize,
    /// The last jobs of the run, the newest first.
    jobs: Vec<JobSummary>,
    /// Tools that change something now.
    next: Vec<String>,
    /// Whether the last validation was ok.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_report_ok: Option<bool>,
    /// Fixes that were begun.
    fix_attempts: u16,
    /// Most fixes.
    max_fix_attempts: u16,
    /// The commit of the repository.
    repo_sha: String,
    /// The site profile.
    site_profile: String,
    /// The commit of the site.
    site_sha: String,
    /// Why the run waits for its repository to be indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<String>,
    /// Why the run failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<FailureSummary>,
    /// Where it is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    publication: Option<PublicationSummary>,
    /// When it was started.
    started_at: String,
    /// When its last event happened.
    updated_at: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
    /// Whether the repository still says what its pages say; absent if nobody watches them, or if they were not compared yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    freshness: Option<FreshnessStatus>,
}

/// What the last comparison of the pages with the repository found out.
#[derive(Debug, Serialize, JsonSchema)]
struct FreshnessStatus {
    /// The commit of the repository.
    checked_sha: String,
    /// When they were compared.
    checked_at: String,
    /// Number of claims that the pages make.
    claims: u32,
    /// Number of stale sentences.
    stale_count: u32,
    /// The stale sentences, by page and line.
    stale: Vec<StaleSentence>,
    /// Whether there are more of them than are listed.
    truncated: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OpenIssue {
    issue_id: String,
    severity: Severity,
    gate: String,
    code: String,
    title: String,
    /// What exactly is wrong.
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    fixable: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ArtifactSummary {
    name: String,
    sha256: String,
    bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct JobSummary {
    job_id: String,
    /// `queued`, `running`, `succeeded`, `failed` or `cancelled`.
    state: String,
    /// What it does: advance, validate, fix or publish.
    action: String,
    /// Why it failed, or was given back.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FailureSummary {
    /// A code of the error table, or one of a worker.
    code: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PublicationSummary {
    branch: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_sha: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pr_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pr_number: Option<i64>,
}

impl From<&OpenedRun> for RunStatus {
    fn from(run: &OpenedRun) -> Self {
        let snapshot = &run.snapshot;
        let open = snapshot.open_issues();
        let created = &snapshot.created;
        Self {
            run_id: snapshot.run_id.clone(),
            state: snapshot.state,
            product_slug: created.product_slug.clone(),
            section_states: run
                .sections
                .iter()
                .map(|(section, state)| (section.as_str().to_owned(), *state))
                .collect(),
            open_issue_count: open.len(),
            open_issues: open.into_iter().take(ISSUES_LISTED_MAX).map(OpenIssue::from).collect(),
            artifacts: artifacts(snapshot),
            artifact_count: snapshot.artifacts.len(),
            jobs: run.jobs.iter().map(JobSummary::from).collect(),
            next: run.legal_tools().into_iter().map(str::to_owned).collect(),
            last_report_ok: snapshot.report_ok,
            fix_attempts: snapshot.fix_attempts,
            max_fix_attempts: run.config.max_fix_attempts,
            repo_sha: created.repo_sha.clone(),
            site_profile: created.site_profile.clone(),
            site_sha: created.site_sha.clone(),
            pending: snapshot.pending.as_ref().map(|pending| pending.reason.clone()),
            failure: snapshot.failure.as_ref().map(|failure| FailureSummary {
                code: failure.code.clone(),
                message: failure.message.clone(),
                details: failure.details.clone(),
            }),
            publication: publication(snapshot),
            started_at: iso_from_millis(snapshot.created_ms),
            updated_at: iso_from_millis(snapshot.updated_ms),
            finished_at: snapshot.finished_ms.map(iso_from_millis),
            freshness: None,
        }
    }
}

impl RunStatus {
    /// The status, with the freshness of the pages.
    pub(super) fn with_freshness(self, freshness: Option<RunFreshness>) -> Self {
        Self { freshness: freshness.map(FreshnessStatus::from), ..self }
    }
}

impl From<RunFreshness> for FreshnessStatus {
    fn from(freshness: RunFreshness) -> Self {
        let listed = u32::try_from(freshness.stale.len()).unwrap_or(u32::MAX);
        Self {
            checked_sha: freshness.checked_sha,
            checked_at: iso_from_millis(freshness.checked_ms),
            claims: freshness.claims,
            stale_count: freshness.stale_count,
            truncated: listed < freshness.stale_count,
            stale: freshness.stale,
        }
    }
}

impl From<&Issue> for OpenIssue {
    fn from(issue: &Issue) -> Self {
        Self {
            issue_id: issue.issue_id.clone(),
            severity: issue.severity,
            gate: issue.gate.clone(),
            code: issue.code.clone(),
            title: issue.title.clone(),
            message: issue.message.clone(),
            path: issue.path.clone(),
            line: issue.line,
            fixable: issue.fixable,
        }
    }
}

impl From<&Job> for JobSummary {
    fn from(job: &Job) -> Self {
        let error = job.error.as_ref().and_then(|error| error["message"].as_str());
        let note = job.note.as_deref().filter(|_| job.state != JobState::Succeeded);
        Self {
            job_id: job.id.clone(),
            state: job.state.as_str().to_owned(),
            action: job.request["action"].as_str().unwrap_or_default().to_owned(),
            message: error.or(note).map(str::to_owned),
        }
    }
}

fn artifacts(snapshot: &RunSnapshot) -> Vec<ArtifactSummary> {
    let listed = snapshot.artifacts.values().take(ARTIFACTS_LISTED_MAX);
    listed
        .map(|artifact| ArtifactSummary {
            name: artifact.name.clone(),
            sha256: artifact.sha256.clone(),
            bytes: artifact.bytes,
        })
        .collect()
}

fn publication(snapshot: &RunSnapshot) -> Option<PublicationSummary> {
    let publication = snapshot.publication.as_ref()?;
    let opened = publication.opened.as_ref();
    Some(PublicationSummary {
        branch: publication.branch.clone(),
        commit_sha: opened.map(|opened| opened.commit_sha.clone()),
        pr_url: opened.map(|opened| opened.pr_url.clone()),
        pr_number: opened.and_then(|opened| opened.pr_number),
    })
}
