//! Everything that is known of a finding, for whoever has to decide: the finding, what was decided before, what the
//! repositories say.

use serde::Serialize;

use super::evidence::{Evidence, EvidenceOptions, PackWarning, evidence};
use super::record::StoredRecord;
use crate::search::Deps;
use contract::Fault;
use contract::clock::iso_millis;
use store::triage;
use store::{Access, Project, ProjectTx, Store};

/// A context pack.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextPack {
    /// The finding's id.
    pub record_id: String,
    /// When it was gathered, UTC.
    pub generated_at: String,
    /// The finding.
    pub finding: StoredRecord,
    /// Decisions that bear on it, the nearest and latest first.
    pub history: Vec<StoredRecord>,
    /// What the repositories say.
    pub repo_evidence: Evidence,
    /// Steps that failed.
    pub warnings: Vec<PackWarning>,
}

/// Gathers. What fails on the way is a warning in the pack.
pub async fn context_pack(
    store: &Store,
    project: &Project,
    deps: Deps<'_>,
    finding: StoredRecord,
    history_max: usize,
    options: EvidenceOptions,
) -> ContextPack {
    let mut warnings = Vec::new();
    let history = history(store, project, &finding, history_max).await.unwrap_or_else(|fault| {
        warnings.push(PackWarning::of("history", None, &fault));
        Vec::new()
    });
    let repo_evidence = evidence(store, project, deps, &finding, options, &mut warnings).await;
    ContextPack {
        record_id: finding.record_id.clone(),
        generated_at: iso_millis(deps.clock.now()),
        finding,
        history,
        repo_evidence,
        warnings,
    }
}

async fn history(
    store: &Store,
    project: &Project,
    finding: &StoredRecord,
    limit: usize,
) -> Result<Vec<StoredRecord>, Fault> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let rows = triage::history(&mut tx, &finding.record_id, &finding.record.related(), limit).await?;
    tx.commit().await?;
    rows.into_iter().map(StoredRecord::of).collect()
}

impl ContextPack {
    /// The pack within `bytes_max` of JSON: decisions and evidence are left out from the end. True when something was.
    ///
    /// # Errors
    /// `INTERNAL` when it cannot be written.
    pub fn within(mut self, bytes_max: usize) -> Result<(Self, bool), Fault> {
        let mut cut = false;
        loop {
            let bytes = serde_json::to_vec(&self)
                .map_err(|error| Fault::internal("The context pack could not be written.", error))?;
            let rest = self.repo_evidence.queries.len() + self.history.len();
            if bytes.len() <= bytes_max || rest == 0 {
                return Ok((self, cut));
            }
            cut = true;
            if self.repo_evidence.queries.pop().is_none() {
                self.history.pop();
            }
        }
    }
}
