//! The answer about one finding, as its page and the parts of that page read it.

use crate::findings::Record;
use serde::Deserialize;

/// The answer of the operation that reads a finding.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Detail {
    pub(super) finding: Finding,
    pub(super) decisions: Vec<PastDecision>,
    pub(super) truncated: bool,
    pub(super) evidence_queries: Vec<String>,
}

/// A stored record: the finding or a decision.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    pub(super) record_id: String,
    pub(super) status: String,
    pub(super) status_expires_at: Option<String>,
    pub(super) created_at: String,
    pub(super) updated_at: String,
    #[serde(flatten)]
    pub(super) record: Record,
}

/// A decision about the finding.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PastDecision {
    pub(super) is_expired: bool,
    pub(super) is_in_force: bool,
    #[serde(flatten)]
    pub(super) stored: Finding,
}
