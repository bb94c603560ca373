//! The worker `facts`: collects the statements of the repository about itself, each with the lines that contain it.

mod candidates;
mod statements;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

use self::candidates::shown_code;
use self::statements::{Statement, Statements};
use super::{FACTS, NewArtifact, SiteView, WorkItem, Worker, WorkerError, WorkerInput, WorkerOutput};
use crate::claim::{Citation, Claim};
use crate::contradiction::ClaimWords;
use crate::evidence::Questions;
use crate::forms::{
    CITED_LINES, EVIDENCE_MAP, PRODUCT_FACTS, ProductFacts, REPO_INVENTORY, RepoInventory,
    SNIPPET_CANDIDATES, SnippetCandidates, required,
};
use crate::freshness::cited_lines;
use crate::gate::SecretFinder;
use crate::report::stable_json;

/// The worker.
pub static WORKER: Worker = Worker {
    name: FACTS,
    version: 3,
    artifacts: &[REPO_INVENTORY],
    site: SiteView::Base,
    parses: false,
    asks,
    run,
};

/// Maximum number of other places that are listed for a claim.
const CORROBORATIONS_MAX: usize = 3;

/// The artifact [`EVIDENCE_MAP`].
#[derive(Debug, Default, Serialize)]
struct EvidenceMap {
    /// Other places that support a claim, by its id.
    corroborations: BTreeMap<String, Vec<Citation>>,
    /// Claims that contradict each other.
    contradictions: Vec<Contradiction>,
}

/// Two claims that contradict each other.
#[derive(Debug, Serialize)]
struct Contradiction {
    /// The claims.
    claims: [String; 2],
    /// The one that counts; `None` if neither has priority, so that neither is repeated.
    counts: Option<String>,
}

fn asks(item: &WorkItem<'_>) -> Questions {
    let mut questions = Questions::default().with_public_definitions();
    if let Ok(inventory) = required::<RepoInventory>(item, FACTS, REPO_INVENTORY) {
        let paths = inventory.documents.iter().chain(&inventory.examples).chain(&inventory.definitions);
        paths.for_each(|path| questions.ask_text(path));
    }
    questions
}

fn run(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let (item, evidence) = (&input.item, input.evidence);
    let inventory: RepoInventory = required(item, FACTS, REPO_INVENTORY)?;
    let statements = Statements::new(evidence, &item.config.product_name);
    let licence = statements.of_licence();
    let licence_claim = licence.as_ref().map(|licence| licence.claim.claim_id.clone());
    let mut all = statements.of_manifests();
    all.extend(licence);
    all.extend(statements.of_documents(&inventory.documents));
    all.extend(statements.of_definitions());
    all.retain(|statement| !has_secret(statement, input.secrets));
    let (claims, map) = weighed(all);
    let cited = cited_lines(&claims, evidence, input.secrets);
    let shown = shown_code(evidence, &inventory.documents, &inventory.examples);
    let address = &item.config.github_repo_url;
    let facts = ProductFacts {
        repository_url: address.starts_with("https://").then(|| address.clone()),
        claims,
        install_commands: shown.install_commands,
        licence_claim,
    };
    let candidates = SnippetCandidates { candidates: shown.snippets };
    let artifacts = vec![
        NewArtifact::json(PRODUCT_FACTS, "product_facts", stable_json(&facts)),
        NewArtifact::json(EVIDENCE_MAP, "evidence_map", stable_json(&map)),
        NewArtifact::json(CITED_LINES, "cited_lines", stable_json(&cited)),
        NewArtifact::json(SNIPPET_CANDIDATES, "snippet_candidates", stable_json(&candidates)),
    ];
    Ok(WorkerOutput { artifacts, ..WorkerOutput::default() })
}

fn has_secret(statement: &Statement, secrets: &dyn SecretFinder) -> bool {
    let path = statement.claim.citations.first().map_or("", |citation| citation.path.as_str());
    !secrets.find(path, &statement.claim.text).is_empty()
}

/// Returns each claim once, in order, with its contradictions and the other places in the repository that support it.
fn weighed(statements: Vec<Statement>) -> (Vec<Claim>, EvidenceMap) {
    let mut map = EvidenceMap::default();
    let mut kept: Vec<(Statement, ClaimWords)> = Vec::new();
    let mut place_of: BTreeMap<String, usize> = BTreeMap::new();
    for statement in statements {
        let id = statement.claim.claim_id.clone();
        if place_of.contains_key(&id) {
            corroborate(&mut map, &id, &statement.claim);
            continue;
        }
        place_of.insert(id, kept.len());
        let words = ClaimWords::new(&statement.claim.text);
        kept.push((statement, words));
    }
    compare(&mut kept, &mut map);
    (kept.into_iter().map(|(statement, _)| statement.claim).collect(), map)
}

/// Compares all claims with each other.
fn compare(kept: &mut [(Statement, ClaimWords)], map: &mut EvidenceMap) {
    let mut replaced: Vec<(usize, String)> = Vec::new();
    for (at, (one, words)) in kept.iter().enumerate() {
        for (other_at, (other, other_words)) in kept.iter().enumerate().skip(at + 1) {
            if words.agrees_with(other_words) {
                corroborate(map, &one.claim.claim_id, &other.claim);
                corroborate(map, &other.claim.claim_id, &one.claim);
            } else if words.contradicts(other_words) {
                let (id, other_id) = (one.claim.claim_id.clone(), other.claim.claim_id.clone());
                let counts = match one.priority.cmp(&other.priority) {
                    Ordering::Greater => Some(id.clone()),
                    Ordering::Less => Some(other_id.clone()),
                    Ordering::Equal => None,
                };
                if counts.as_ref() != Some(&id) {
                    replaced.push((at, other_id.clone()));
                }
                if counts.as_ref() != Some(&other_id) {
                    replaced.push((other_at, id.clone()));
                }
                map.contradictions.push(Contradiction { claims: [id, other_id], counts });
            }
        }
    }
    for (at, by) in replaced {
        if let Some((statement, _)) = kept.get_mut(at) {
            statement.claim.replaced_by.get_or_insert(by);
        }
    }
}

fn corroborate(map: &mut EvidenceMap, id: &str, by: &Claim) {
    let listed = map.corroborations.entry(id.to_owned()).or_default();
    for citation in &by.citations {
        if listed.len() < CORROBORATIONS_MAX && !listed.contains(citation) {
            listed.push(citation.clone());
        }
    }
}

#[cfg(test)]
mod tests;
