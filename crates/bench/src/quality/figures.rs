//! Means over queries, by group.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::absent::AbsentFigures;
use super::place::Place;
use super::question::{BUDGETS, K, QueryResult};
use crate::Variant;
use crate::score::{mean, rounded};
use engine::search::{Confidence, VectorsUsed};

/// The first hits that readers look at.
const FIRST_HITS: usize = 3;

/// The results of one variant in one place.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VariantResult {
    /// Name of the variant.
    pub variant: String,
    /// The project in which the queries were asked.
    pub place: Place,
    /// Figures over all queries.
    pub all: QueryFigures,
    /// Queries that should have been answered with vectors and were not.
    pub questions_without_vectors: usize,
    /// Number of queries by how vectors were compared: `exact`, `hnsw` or `none`.
    pub vectors_used: BTreeMap<&'static str, usize>,
    /// Share of the targets within each token budget, by output: complete chunks, and the compact output of the tool.
    pub token_recall: BTreeMap<&'static str, BTreeMap<usize, f64>>,
    /// Number of queries by confidence.
    pub confidence: ConfidenceCounts,
    /// Separation of absent answers from right ones by confidence, if there are absent ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absent: Option<AbsentFigures>,
    /// By folder of the query files.
    pub sets: BTreeMap<String, QueryFigures>,
    /// By category of the query.
    pub categories: BTreeMap<String, QueryFigures>,
    /// By language of the repository.
    pub languages: BTreeMap<String, QueryFigures>,
    /// By repository.
    pub by_repository: BTreeMap<String, QueryFigures>,
    /// In one project: agreement with the answers of the repository alone, if that was measured too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_alone: Option<OrderFigures>,
    /// The same by repository.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub as_alone_by_repository: BTreeMap<String, OrderFigures>,
    /// Every query, with `--details`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QueryResult>,
}

/// Means over queries.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryFigures {
    /// Number of queries.
    pub questions: usize,
    /// NDCG@10 of the returned chunks.
    pub ndcg10: f64,
    /// NDCG@10 of the files, each at its best rank; a target's lines do not count.
    pub ndcg10_files: f64,
    /// Share of the queries whose first hit is relevant.
    pub right_first: f64,
    /// Share of the queries with a relevant hit among the first three.
    pub right_among_three: f64,
}

/// Agreement of the answers in one project with those of the repository alone.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderFigures {
    /// Number of queries.
    pub questions: usize,
    /// Mean share of the first three hits that are also the first three alone.
    pub top3_overlap: f64,
    /// Share of the queries whose hits from the repository are the first ones alone, in the same order.
    pub same_order: f64,
}

/// Number of queries by the confidence of their answers.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfidenceCounts {
    /// Queries with a relevant hit among the first ten, even if low confidence suppressed it.
    pub right: BTreeMap<Confidence, usize>,
    /// Queries without one.
    pub wrong: BTreeMap<Confidence, usize>,
    /// Queries without an answer in the repository.
    pub absent: BTreeMap<Confidence, usize>,
}

impl VariantResult {
    pub(super) fn from_results(
        variant: &Variant,
        place: Place,
        all: &[&QueryResult],
        alone: Option<&[&QueryResult]>,
        details: bool,
    ) -> Self {
        let results: Vec<&QueryResult> = all.iter().copied().filter(|result| !result.absent).collect();
        let groups = |key: fn(&QueryResult) -> &String| {
            let figures = |results: Vec<&QueryResult>| QueryFigures::from_results(&results);
            grouped(&results, key).into_iter().map(|(name, results)| (name, figures(results))).collect()
        };
        let mut vectors_used = BTreeMap::new();
        for result in all {
            *vectors_used.entry(word(result.vectors_used)).or_default() += 1;
        }
        let order = |results: &[&QueryResult]| alone.map(|alone| OrderFigures::new(results, alone));
        let by_repository = grouped(all, |result| &result.repository).into_iter();
        Self {
            variant: variant.name.clone(),
            place,
            all: QueryFigures::from_results(&results),
            questions_without_vectors: all.iter().filter(|result| result.without_vectors).count(),
            vectors_used,
            token_recall: ["chunks", "compact"]
                .into_iter()
                .map(|name| (name, recall(&results, name)))
                .collect(),
            confidence: ConfidenceCounts::from_results(all),
            absent: AbsentFigures::new(all),
            sets: groups(|result| &result.set),
            categories: groups(|result| &result.category),
            languages: groups(|result| &result.language),
            by_repository: groups(|result| &result.repository),
            as_alone: order(all),
            as_alone_by_repository: by_repository
                .filter_map(|(name, results)| Some((name, order(&results)?)))
                .collect(),
            questions: if details {
                all.iter().map(|result| (*result).clone()).collect()
            } else {
                Vec::new()
            },
        }
    }
}

fn word(vectors: VectorsUsed) -> &'static str {
    match vectors {
        VectorsUsed::Exact => "exact",
        VectorsUsed::Hnsw => "hnsw",
        VectorsUsed::None => "none",
    }
}

pub(super) fn grouped<'a>(
    results: &[&'a QueryResult],
    key: fn(&QueryResult) -> &String,
) -> BTreeMap<String, Vec<&'a QueryResult>> {
    let mut groups: BTreeMap<String, Vec<&QueryResult>> = BTreeMap::new();
    results.iter().for_each(|result| groups.entry(key(result).clone()).or_default().push(*result));
    groups
}

fn recall(results: &[&QueryResult], output: &str) -> BTreeMap<usize, f64> {
    let at = |place: usize| mean(results.iter().filter_map(|result| Some(result.within.get(output)?[place])));
    BUDGETS.into_iter().enumerate().map(|(place, budget)| (budget, rounded(at(place)))).collect()
}

impl QueryFigures {
    pub(super) fn from_results(results: &[&QueryResult]) -> Self {
        Self {
            questions: results.len(),
            ndcg10: rounded(mean(results.iter().map(|result| result.ndcg10))),
            ndcg10_files: rounded(mean(results.iter().map(|result| result.ndcg10_files))),
            right_first: share_right(results, 1),
            right_among_three: share_right(results, FIRST_HITS),
        }
    }
}

impl OrderFigures {
    fn new(results: &[&QueryResult], alone: &[&QueryResult]) -> Self {
        let key =
            |result: &QueryResult| (result.repository.clone(), result.query.clone(), result.about.clone());
        let alone: HashMap<_, &QueryResult> = alone.iter().map(|result| (key(result), *result)).collect();
        let pairs: Vec<_> =
            results.iter().filter_map(|result| Some((*result, *alone.get(&key(result))?))).collect();
        Self {
            questions: pairs.len(),
            top3_overlap: rounded(mean(
                pairs.iter().map(|(result, alone)| overlap(&result.hits, &alone.hits)),
            )),
            same_order: rounded(mean(pairs.iter().map(|(result, alone)| {
                let own: Vec<&String> = result.own_hits().collect();
                f64::from(u8::from(is_same_order(&own, &alone.hits, own.len() == result.hits.len())))
            }))),
        }
    }
}

/// The share of the first hits that both answers have; hits of another repository lower it.
#[expect(clippy::cast_precision_loss, reason = "at most three hits")]
fn overlap(hits: &[String], alone: &[String]) -> f64 {
    let first = |hits: &[String]| hits[..hits.len().min(FIRST_HITS)].to_vec();
    let (hits, alone) = (first(hits), first(alone));
    let both = alone.iter().filter(|hit| hits.contains(hit)).count();
    let longer = hits.len().max(alone.len());
    if longer == 0 { 1.0 } else { both as f64 / longer as f64 }
}

/// Returns `true` if the repository's own hits are the first ones alone, in the same order; all of them, if no other repository took places
/// (`whole`).
fn is_same_order(own: &[&String], alone: &[String], whole: bool) -> bool {
    own.len() <= alone.len()
        && own.iter().zip(alone).all(|(own, alone)| *own == alone)
        && (!whole || own.len() == alone.len())
}

impl ConfidenceCounts {
    fn from_results(results: &[&QueryResult]) -> Self {
        let mut counts = Self::default();
        for result in results {
            let Some(confidence) = result.confidence else { continue };
            let group = match result.unsuppressed {
                _ if result.absent => &mut counts.absent,
                Some(rank) if rank <= K => &mut counts.right,
                _ => &mut counts.wrong,
            };
            *group.entry(confidence).or_default() += 1;
        }
        counts
    }

    /// Number of queries without an answer.
    pub(super) fn absent_count(&self) -> usize {
        self.absent.values().sum()
    }
}

/// The share of queries with a relevant hit among the first `k`.
fn share_right(results: &[&QueryResult], k: usize) -> f64 {
    let is_right = |result: &&QueryResult| if result.right.is_some_and(|rank| rank <= k) { 1.0 } else { 0.0 };
    rounded(mean(results.iter().map(is_right)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn order_is_compared_with_the_answer_of_the_repository_alone() {
        let same = |own: &str, alone: &str, whole| {
            let own = hits(own);
            is_same_order(&own.iter().collect::<Vec<_>>(), &hits(alone), whole)
        };
        assert!(same("a b", "a b", true) && same("a b", "a b c", false) && same("", "a", false));
        assert!(!same("a b", "a b c", true), "a hit is gone and no other took its place");
        assert!(!same("b a", "a b", true) && !same("a c", "a b c", false) && !same("a b", "a", false));
    }

    #[test]
    fn the_first_three_are_compared_without_their_order() {
        let share = |hits_now: &str, alone: &str| overlap(&hits(hits_now), &hits(alone));
        assert!((share("c b a d", "a b c x") - 1.0).abs() < 1e-9);
        assert!((share("a x//b c", "a b c") - 2.0 / 3.0).abs() < 1e-9);
        assert!((share("a x//b", "a") - 0.5).abs() < 1e-9, "a hit of another repository took a place");
        assert!((share("", "") - 1.0).abs() < 1e-9 && share("a", "").abs() < 1e-9);
    }
}
