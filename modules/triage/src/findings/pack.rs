//! Context packs: a finding with earlier decisions and evidence from the repositories, the input for a new decision.

use serde::Serialize;

use super::evidence::{Evidence, EvidenceOptions, PackWarning, search_evidence};
use super::record::StoredRecord;
use contract::Fault;
use contract::clock::iso_millis;
use engine::search::SearchDeps;
use store::triage;
use store::{Access, Project, ProjectTx, Store};

/// A context pack.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextPack {
    /// The finding's id.
    pub record_id: String,
    /// Time at which the pack was generated, UTC.
    pub generated_at: String,
    /// The finding.
    pub finding: StoredRecord,
    /// Decisions about this and related findings, the most closely related and latest first.
    pub history: Vec<StoredRecord>,
    /// Hits from the repositories.
    pub repo_evidence: Evidence,
    /// Steps that failed.
    pub warnings: Vec<PackWarning>,
}

/// Collects the context of a finding. Steps that fail become warnings in the pack.
pub async fn context_pack(
    store: &Store,
    project: &Project,
    deps: SearchDeps<'_>,
    finding: StoredRecord,
    history_max: usize,
    options: EvidenceOptions,
) -> ContextPack {
    let mut warnings = Vec::new();
    let history = decision_history(store, project, &finding, history_max).await.unwrap_or_else(|fault| {
        warnings.push(PackWarning::new("history", None, &fault));
        Vec::new()
    });
    let repo_evidence = search_evidence(store, project, deps, &finding, options, &mut warnings).await;
    ContextPack {
        record_id: finding.record_id.clone(),
        generated_at: iso_millis(deps.clock.now()),
        finding,
        history,
        repo_evidence,
        warnings,
    }
}

async fn decision_history(
    store: &Store,
    project: &Project,
    finding: &StoredRecord,
    limit: usize,
) -> Result<Vec<StoredRecord>, Fault> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let rows = triage::history(&mut tx, &finding.record_id, &finding.record.related(), limit).await?;
    tx.commit().await?;
    rows.into_iter().map(StoredRecord::from_row).collect()
}

impl ContextPack {
    /// Truncates the pack to `bytes_max` of JSON: drops evidence, then decisions, from the end. Returns also whether
    /// anything was dropped.
    ///
    /// # Errors
    /// `INTERNAL` if the pack cannot be serialized.
    pub fn truncated_to(mut self, bytes_max: usize) -> Result<(Self, bool), Fault> {
        let mut is_truncated = false;
        loop {
            let bytes = serde_json::to_vec(&self)
                .map_err(|error| Fault::internal("The context pack could not be serialized.", error))?;
            let is_empty = self.repo_evidence.queries.is_empty() && self.history.is_empty();
            if bytes.len() <= bytes_max || is_empty {
                return Ok((self, is_truncated));
            }
            is_truncated = true;
            if self.repo_evidence.queries.pop().is_none() {
                self.history.pop();
            }
        }
    }
}
