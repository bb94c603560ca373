//! One query: the answer compared with the targets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::place::{Place, Standing};
use crate::queries::{AnnotatedQuery, QuerySet};
use crate::score::{HitLocation, by_file, files, ndcg, ranks};
use crate::{Experiment, Variant, answers, tokens};
use contract::Fault;
use engine::search::{Confidence, Evidence, Output, SearchAnswer, SearchRequest, Vectors, VectorsUsed};

/// Cutoff rank of NDCG.
pub(super) const K: usize = 10;
/// Number of hits requested: enough for ten files and 4,000 tokens.
const TOP: usize = 50;
/// Token budgets at which recall is measured.
pub(super) const BUDGETS: [usize; 4] = [500, 1_000, 2_000, 4_000];
/// Separates the name of another repository from the path of its hit; no path contains it.
const OF_STRANGER: &str = "//";

/// The result of one query.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryResult {
    /// Name of the repository.
    pub repository: String,
    pub(super) language: String,
    /// Folder of the query files.
    pub(super) set: String,
    /// Category of the query.
    pub category: String,
    /// The query.
    pub query: String,
    /// NDCG@10 of the chunks.
    pub ndcg10: f64,
    /// NDCG@10 of the files: the lines of targets do not count.
    pub ndcg10_files: f64,
    /// Rank of the first relevant hit; secondary targets do not count.
    pub right: Option<usize>,
    /// The same rank before low confidence suppressed hits.
    pub(super) unsuppressed: Option<usize>,
    /// Confidence of the answer.
    pub confidence: Option<Confidence>,
    /// The likelihood behind the confidence: the score of the first hit.
    pub likelihood: f32,
    /// The measurements behind the confidence.
    pub evidence: Option<Evidence>,
    /// `true` if the repository has no answer; such queries count only for the confidence.
    pub absent: bool,
    /// The repository that the query is about, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The way in which vectors were compared.
    pub(super) vectors_used: VectorsUsed,
    /// `true` if vectors should have been compared and were not.
    pub without_vectors: bool,
    /// Targets with their ranks among chunks.
    pub targets: Vec<(String, Option<usize>)>,
    /// The first ten hits; those of another repository as `NAME//path`.
    pub hits: Vec<String>,
    /// Share of the targets within each budget, by output.
    pub(super) within: BTreeMap<String, [f64; BUDGETS.len()]>,
}

impl QueryResult {
    /// The hits of the repository itself.
    pub(super) fn own_hits(&self) -> impl Iterator<Item = &String> {
        self.hits.iter().filter(|hit| !hit.contains(OF_STRANGER))
    }
}

/// Asks a query in `standing` and compares the answer with the targets. `about`: the query is about that other repository, so
/// that nothing answers it.
pub(super) async fn run_query(
    experiment: &Experiment,
    standing: &Standing,
    (set, query, about): (&QuerySet, &AnnotatedQuery, Option<&str>),
    variant: &Variant,
) -> Result<QueryResult, Fault> {
    let named = standing.place == Place::Named;
    let request = SearchRequest {
        query: query.query.clone(),
        repository_roots: if named { vec![standing.root.clone()] } else { Vec::new() },
        top: TOP,
        keep_doubtful: true,
        ..SearchRequest::default()
    };
    let mut answer = experiment.search(&standing.project, &request, variant).await?;
    let absent = about.is_some() || query.is_absent();
    let (targets, relevant) =
        if absent { (Vec::new(), Vec::new()) } else { (query.targets(), query.relevant_targets()) };
    let first_right = |found: &[HitLocation]| ranks(&relevant, found).into_iter().flatten().min();
    let locations = |answer: &SearchAnswer| answers::hit_locations(answer, Some(&standing.repository));
    let unsuppressed = first_right(&locations(&answer));
    let likelihood = answer.confidence.and(answer.hits.first()).map_or(0.0, |hit| hit.score);
    // The other figures measure the answer as the tool returns it: without hits if the confidence is `none`.
    if answer.confidence == Some(Confidence::None) {
        answer.hits.clear();
    }
    let found = locations(&answer);
    let in_list = ranks(&targets, &found);
    Ok(QueryResult {
        repository: set.label(),
        language: set.repository.language.clone(),
        set: set.name.clone(),
        category: query.category.clone(),
        query: query.query.clone(),
        ndcg10: ndcg(&in_list, K),
        ndcg10_files: ndcg(&ranks(&files(&targets), &by_file(&found)), K),
        right: first_right(&found),
        unsuppressed,
        confidence: answer.confidence,
        likelihood,
        evidence: answer.explain.evidence,
        absent,
        about: about.map(str::to_owned),
        vectors_used: answer.vectors_used,
        // If no chunk passes the query's filters, there was nothing to compare.
        without_vectors: variant.vectors == Vectors::Auto
            && answer.vectors_used == VectorsUsed::None
            && answer.total > 0,
        within: within(&answer, &in_list),
        targets: targets.into_iter().map(|target| target.path).zip(in_list).collect(),
        hits: found.iter().take(K).map(shown).collect(),
    })
}

fn shown(hit: &HitLocation) -> String {
    let at = format!("{}:{}-{}", hit.path, hit.lines.0, hit.lines.1);
    hit.stranger.as_ref().map_or(at.clone(), |name| format!("{name}{OF_STRANGER}{at}"))
}

fn within(answer: &SearchAnswer, ranks: &[Option<usize>]) -> BTreeMap<String, [f64; BUDGETS.len()]> {
    let chunks: Vec<usize> =
        answer.hits.iter().map(answers::full_text).map(|text| tokens::count(&text)).collect();
    let compact: Vec<usize> =
        answers::tool_hits(answer, Output::Compact).iter().map(|text| tokens::count(text)).collect();
    [("chunks", chunks), ("compact", compact)]
        .map(|(name, costs)| (name.to_owned(), within_budgets(ranks, &costs)))
        .into()
}

/// The share of targets whose hit is complete within each budget if the hits are read in order.
#[expect(clippy::cast_precision_loss, reason = "counts of targets")]
fn within_budgets(ranks: &[Option<usize>], costs: &[usize]) -> [f64; BUDGETS.len()] {
    let until = |rank: usize| -> usize { costs.iter().take(rank).sum() };
    BUDGETS.map(|budget| {
        let met =
            ranks.iter().flatten().filter(|rank| **rank <= costs.len() && until(**rank) <= budget).count();
        met as f64 / ranks.len().max(1) as f64
    })
}

#[cfg(test)]
mod tests {
    use super::within_budgets;

    #[test]
    fn a_target_counts_once_its_hit_was_read_whole() {
        let shares = within_budgets(&[Some(1), Some(3), None, Some(9)], &[400, 300, 300, 10]);
        assert_eq!(shares, [0.25, 0.5, 0.5, 0.5]);
    }
}
