//! The action that a job takes on a run, and the request that is stored with the job.

use launch::legality::RunTool;
use serde::{Deserialize, Serialize};

/// The action of a job on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Goes on.
    Advance,
    /// Validates the site.
    Validate,
    /// Fixes one issue.
    Fix,
    /// Opens the pull request.
    Publish,
}

impl Action {
    /// The tool whose calls ask for it.
    #[must_use]
    pub fn tool(self) -> RunTool {
        match self {
            Self::Advance => RunTool::Resume,
            Self::Validate => RunTool::Validate,
            Self::Fix => RunTool::FixNext,
            Self::Publish => RunTool::OpenPr,
        }
    }
}

/// The point up to which a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdvanceUntil {
    /// Until the next boundary.
    Boundary,
    /// Until people decide.
    End,
}

/// The request that is stored with a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct JobRequest {
    pub(super) action: Action,
    pub(super) until: AdvanceUntil,
    pub(super) trace_id: String,
    pub(super) parent_span_id: Option<String>,
    /// The principal who requested it; `None` if the run goes on by itself.
    #[serde(default)]
    pub(super) principal: Option<String>,
}
