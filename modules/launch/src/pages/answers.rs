//! The answers of the tools about runs, as far as the pages show them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use surfaces::http::pages::frame::{Asker, PageError};

/// The tool that shows a run.
const STATUS: &str = "launch_get_status";

/// The answer of `launch_list_runs`.
#[derive(Debug, Deserialize)]
pub(super) struct RunList {
    pub(super) runs: Vec<ListedRun>,
    pub(super) next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ListedRun {
    pub(super) run_id: String,
    pub(super) product_slug: String,
    pub(super) state: String,
    pub(super) open_issue_count: i64,
    /// The number of stale sentences; absent if the site is not watched.
    pub(super) stale: Option<i64>,
    pub(super) repo_sha: String,
    pub(super) started_at: String,
    pub(super) finished_at: Option<String>,
    pub(super) pr_url: Option<String>,
}

/// A run as `launch_get_status` answers it.
#[derive(Debug, Deserialize)]
pub(super) struct RunStatus {
    pub(super) run_id: String,
    pub(super) state: String,
    pub(super) product_slug: String,
    pub(super) section_states: BTreeMap<String, String>,
    pub(super) open_issues: Vec<OpenIssue>,
    pub(super) open_issue_count: usize,
    pub(super) artifacts: Vec<ArtifactSummary>,
    pub(super) artifact_count: usize,
    pub(super) jobs: Vec<Job>,
    /// The tools that can change something now.
    pub(super) next: Vec<String>,
    pub(super) last_report_ok: Option<bool>,
    pub(super) fix_attempts: u16,
    pub(super) max_fix_attempts: u16,
    pub(super) repo_sha: String,
    pub(super) site_profile: String,
    pub(super) site_sha: String,
    pub(super) pending: Option<String>,
    pub(super) failure: Option<Failure>,
    pub(super) publication: Option<Publication>,
    pub(super) started_at: String,
    pub(super) updated_at: String,
    pub(super) finished_at: Option<String>,
    /// Absent if the site is not watched.
    pub(super) freshness: Option<Freshness>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OpenIssue {
    pub(super) issue_id: String,
    pub(super) severity: String,
    pub(super) gate: String,
    pub(super) title: String,
    /// The exact problem; several lines, for example where a command failed.
    pub(super) message: String,
    pub(super) path: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) fixable: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct ArtifactSummary {
    pub(super) name: String,
    pub(super) bytes: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Job {
    pub(super) state: String,
    pub(super) action: String,
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Failure {
    pub(super) code: String,
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Publication {
    pub(super) branch: String,
    pub(super) commit_sha: Option<String>,
    pub(super) pr_url: Option<String>,
}

/// The result of the last check of the sources of the published pages.
#[derive(Debug, Deserialize)]
pub(super) struct Freshness {
    pub(super) checked_sha: String,
    pub(super) checked_at: String,
    pub(super) claims: u64,
    pub(super) stale_count: u64,
    pub(super) stale: Vec<StaleClaim>,
    /// `true` if there are more than are listed.
    pub(super) truncated: bool,
}

/// A sentence whose source lines have changed.
#[derive(Debug, Deserialize)]
pub(super) struct StaleClaim {
    pub(super) page: String,
    pub(super) line: u32,
    pub(super) text: String,
    /// The file that the sentence is taken from.
    pub(super) path: String,
    pub(super) old: Lines,
    /// Absent if the lines are gone.
    pub(super) new: Option<Lines>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Lines {
    pub(super) start_line: u32,
    pub(super) lines: Vec<String>,
    /// `true` if part of the lines is omitted, because they are long or contain a secret.
    #[serde(default)]
    pub(super) truncated: bool,
}

#[derive(Debug, Deserialize)]
struct StatusAnswer {
    status: RunStatus,
}

impl RunStatus {
    /// Returns `true` if a job is working on the run, or will as soon as it can.
    pub(super) fn is_advancing(&self) -> bool {
        let is_held = self.jobs.first().is_some_and(|job| matches!(job.state.as_str(), "queued" | "running"));
        is_held || self.pending.is_some()
    }

    /// Checks whether a tool can change something now.
    pub(super) fn is_legal(&self, tool: &str) -> bool {
        self.next.iter().any(|next| next == tool)
    }
}

/// Reads a run.
pub(super) async fn status(asker: &Asker, project: &str, run_id: &str) -> Result<RunStatus, PageError> {
    let arguments = json!({ "run_id": run_id, "project_id": project });
    Ok(asker.tool::<StatusAnswer>(STATUS, arguments).await?.result.status)
}
