//! Latency and recall of searches in a generated project.

use std::collections::HashSet;

use serde::Serialize;

use super::queries::BenchmarkFilter;
use crate::score::{mean, rounded};
use crate::{Experiment, Variant};
use contract::Fault;
use contract::config;
use engine::search::{self, SearchAnswer, SearchRequest, Timings};
use store::{Index, Project};

/// Number of hits that count.
const K: usize = 10;
/// Difference of similarities below which two vectors count as equally near.
const TIE: f32 = 1e-5;

/// The figures of searches with one filter.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryFigures {
    /// Name of the filter.
    pub condition: String,
    /// Share of all chunks that match the filter.
    pub share: f64,
    /// The strategies that search chose: everything, listed or tested; exact or hnsw.
    pub path: Vec<String>,
    /// Number of queries.
    pub questions: usize,
    /// Median latency after a warm-up.
    pub p50_ms: f64,
    /// 95th percentile of the latency.
    pub p95_ms: f64,
    /// Median times of the stages.
    pub stages_ms: MedianStages,
    /// Mean recall@10 of the dense retriever against exact vector search.
    pub dense_recall: f64,
    /// Lowest recall@10 of a query.
    pub dense_recall_min: f64,
    /// Share of the first ten hits of an exact search that the search also returns.
    pub answer_recall: f64,
}

/// Median milliseconds of the stages of a search.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MedianStages {
    /// Scope and document frequencies.
    pub plan: f64,
    /// Lexical retriever.
    pub lexical: f64,
    /// Waiting for the query's vector.
    pub embed: f64,
    /// Dense retriever, and scores of each retriever's candidates in the other.
    pub dense: f64,
    /// Reading the rows of candidates.
    pub hydrate: f64,
    /// Ranking.
    pub rank: f64,
    /// Reading the texts of the hits.
    pub content: f64,
}

/// Runs every query twice and measures the second run; measures recall for the first `recalled` queries.
///
/// # Errors
/// The faults of [`search::execute()`].
pub(super) async fn measure(
    experiment: &Experiment,
    project: &Project,
    questions: &[String],
    filter: &BenchmarkFilter,
    recalled: usize,
) -> Result<QueryFigures, Fault> {
    let (times, path) = measure_latency(experiment, project, questions, filter, &Variant::shipped()).await?;
    let (mut dense, mut answers) = (Vec::new(), Vec::new());
    for question in &questions[..recalled.min(questions.len())] {
        let request = filtered_request(filter, question);
        dense.extend(dense_recall(experiment, project, &request).await?);
        answers.push(answer_recall(experiment, project, &request).await?);
    }
    let least = dense.iter().copied().fold(1.0, f64::min);
    Ok(QueryFigures {
        share: filter.share,
        path,
        dense_recall: rounded(mean(dense)),
        dense_recall_min: rounded(least),
        answer_recall: rounded(mean(answers)),
        ..summarise(filter.name, &times)
    })
}

/// Measures lexical searches, without recall.
///
/// # Errors
/// The faults of [`search::execute()`].
pub(super) async fn measure_lexical(
    experiment: &Experiment,
    project: &Project,
    questions: &[String],
    filter: &BenchmarkFilter,
) -> Result<QueryFigures, Fault> {
    let (times, path) =
        measure_latency(experiment, project, questions, filter, &Variant::lexical_only()).await?;
    Ok(QueryFigures { share: filter.share, path, ..summarise("words alone", &times) })
}

async fn measure_latency(
    experiment: &Experiment,
    project: &Project,
    questions: &[String],
    filter: &BenchmarkFilter,
    variant: &Variant,
) -> Result<(Vec<Timings>, Vec<String>), Fault> {
    let (mut times, mut paths) = (Vec::new(), HashSet::new());
    for warm in [false, true] {
        for question in questions {
            let answer = experiment.search(project, &filtered_request(filter, question), variant).await?;
            if warm {
                let vectors = serde_json::to_value(answer.vectors_used).unwrap_or_default();
                paths.insert(format!("{} {}", answer.explain.within, vectors.as_str().unwrap_or("?")));
                times.push(answer.took);
            }
        }
    }
    let mut paths: Vec<String> = paths.into_iter().collect();
    paths.sort();
    Ok((times, paths))
}

fn filtered_request(filter: &BenchmarkFilter, question: &str) -> SearchRequest {
    SearchRequest { query: question.to_owned(), top: K, ..filter.request.clone() }
}

/// Recall of the nearest vectors: a result counts if it is at least as near as the last exact one.
async fn dense_recall(
    experiment: &Experiment,
    project: &Project,
    request: &SearchRequest,
) -> Result<Option<f64>, Fault> {
    let index = || async { Ok::<_, Fault>(Index::Postgres(experiment.app.store().await?, project)) };
    let embedder = experiment.app.embedder_for(project.model()).await?;
    let variant = Variant::shipped();
    let deps = experiment.deps(&embedder, &variant);
    let exact = search::nearest(deps, index().await?, request, true).await?;
    let found = search::nearest(deps, index().await?, request, false).await?;
    Ok(recall_at_k(&exact, &found))
}

fn recall_at_k(exact: &[(i64, f32)], found: &[(i64, f32)]) -> Option<f64> {
    let wanted = &exact[..exact.len().min(K)];
    let least = wanted.last()?.1 - TIE;
    let met = found.iter().take(K).filter(|(_, similarity)| *similarity >= least).count();
    Some(share(met, wanted.len()))
}

/// The share of the hits of an exact search that the search also returns.
async fn answer_recall(
    experiment: &Experiment,
    project: &Project,
    request: &SearchRequest,
) -> Result<f64, Fault> {
    let all = config::Search { exact_rows_max: u64::MAX, ..experiment.app.config.search.clone() };
    let exact = experiment.search_with_settings(project, request, &Variant::shipped(), &all).await?;
    let found = experiment.search(project, request, &Variant::shipped()).await?;
    let ids = |answer: &SearchAnswer| answer.hits.iter().map(|hit| hit.chunk_id).collect::<HashSet<_>>();
    let (exact, found) = (ids(&exact), ids(&found));
    Ok(if exact.is_empty() { 1.0 } else { share(exact.intersection(&found).count(), exact.len()) })
}

#[expect(clippy::cast_precision_loss, reason = "counts of hits")]
fn share(part: usize, of: usize) -> f64 {
    part as f64 / of.max(1) as f64
}

fn summarise(condition: &str, times: &[Timings]) -> QueryFigures {
    let of = |stage: fn(&Timings) -> f64, share: f64| quantile(times.iter().map(stage), share);
    QueryFigures {
        condition: condition.to_owned(),
        questions: times.len(),
        p50_ms: of(|t| t.total_ms, 0.5),
        p95_ms: of(|t| t.total_ms, 0.95),
        stages_ms: MedianStages {
            plan: of(|t| t.plan_ms, 0.5),
            lexical: of(|t| t.lexical_ms, 0.5),
            embed: of(|t| t.embed_ms, 0.5),
            dense: of(|t| t.dense_ms, 0.5),
            hydrate: of(|t| t.hydrate_ms, 0.5),
            rank: of(|t| t.rank_ms, 0.5),
            content: of(|t| t.content_ms, 0.5),
        },
        ..QueryFigures::default()
    }
}

/// The quantile at `share`; 0 for an empty list.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index into a short list"
)]
pub(super) fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let index = (values.len() as f64 * share) as usize;
    rounded(values.get(index.min(values.len().saturating_sub(1))).copied().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_near_as_the_last_exact_one_counts() {
        let exact: Vec<(i64, f32)> = (0..12).map(|i: i16| (i.into(), 1.0 - f32::from(i) * 0.01)).collect();
        assert_eq!(recall_at_k(&exact, &exact), Some(1.0));
        assert_eq!(recall_at_k(&exact, &exact[5..]), Some(0.5));
        let tied = [(99, 0.91), (98, 0.5)];
        assert_eq!(recall_at_k(&exact, &tied), Some(0.1));
        assert_eq!(recall_at_k(&[], &exact), None);
    }

    #[test]
    fn quantiles_of_short_lists() {
        assert!(quantile([].into_iter(), 0.5).abs() < 1e-9);
        assert!((quantile([3.0, 1.0, 2.0].into_iter(), 0.5) - 2.0).abs() < 1e-9);
        assert!((quantile((1..=100).map(f64::from), 0.95) - 96.0).abs() < 1e-9);
    }
}
