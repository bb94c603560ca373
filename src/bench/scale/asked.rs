//! What questions to a grown project cost, and how much of the exact answer they get.

use std::collections::HashSet;

use serde::Serialize;

use super::questions::Condition;
use crate::bench::score::{mean, rounded};
use crate::bench::{Lab, Variant};
use contract::Fault;
use contract::config;
use engine::search::{self, SearchAnswer, SearchRequest, Timings};
use store::{Index, Project};

/// Places of an answer that count.
const K: usize = 10;
/// Likeness within which two vectors are equally near.
const TIE: f32 = 1e-5;

/// What was measured under one condition.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// The filter.
    pub condition: String,
    /// Share of all chunks that pass.
    pub share: f64,
    /// How the product treated it: everything, listed or tested; exact or hnsw.
    pub path: Vec<String>,
    /// Questions.
    pub questions: usize,
    /// Milliseconds of the whole search, warm.
    pub p50_ms: f64,
    /// …
    pub p95_ms: f64,
    /// Medians of its stages.
    pub stages_ms: Stages,
    /// Recall@10 of the dense leg against the exact one.
    pub dense_recall: f64,
    /// The least of a question.
    pub dense_recall_min: f64,
    /// Share of the answer's first ten that the answer with exact vectors has, too.
    pub answer_recall: f64,
}

/// Medians of the stages of a search, milliseconds.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stages {
    /// Scope, document frequencies.
    pub plan: f64,
    /// Candidates by words.
    pub lexical: f64,
    /// Waiting for the question's vector.
    pub embed: f64,
    /// Candidates by meaning, and scores of each leg's in the other.
    pub dense: f64,
    /// Rows of candidates.
    pub hydrate: f64,
    /// Ranking.
    pub rank: f64,
    /// Texts of the hits.
    pub content: f64,
}

/// Asks every question twice and measures the second time; of the first `recalled` ones also recall.
///
/// # Errors
/// As [`search::search`].
pub(super) async fn ask(
    lab: &Lab,
    project: &Project,
    questions: &[String],
    condition: &Condition,
    recalled: usize,
) -> Result<Asked, Fault> {
    let (times, path) = time(lab, project, questions, condition, &Variant::shipped()).await?;
    let (mut dense, mut answers) = (Vec::new(), Vec::new());
    for question in &questions[..recalled.min(questions.len())] {
        let request = with_words(condition, question);
        dense.extend(dense_recall(lab, project, &request).await?);
        answers.push(answer_recall(lab, project, &request).await?);
    }
    let least = dense.iter().copied().fold(1.0, f64::min);
    Ok(Asked {
        share: condition.share,
        path,
        dense_recall: rounded(mean(dense)),
        dense_recall_min: rounded(least),
        answer_recall: rounded(mean(answers)),
        ..summary(condition.name, &times)
    })
}

/// The same by words alone; nothing to recall.
///
/// # Errors
/// As [`search::search`].
pub(super) async fn ask_words(
    lab: &Lab,
    project: &Project,
    questions: &[String],
    condition: &Condition,
) -> Result<Asked, Fault> {
    let (times, path) = time(lab, project, questions, condition, &Variant::words()).await?;
    Ok(Asked { share: condition.share, path, ..summary("words alone", &times) })
}

async fn time(
    lab: &Lab,
    project: &Project,
    questions: &[String],
    condition: &Condition,
    variant: &Variant,
) -> Result<(Vec<Timings>, Vec<String>), Fault> {
    let (mut times, mut paths) = (Vec::new(), HashSet::new());
    for warm in [false, true] {
        for question in questions {
            let answer = lab.ask(project, &with_words(condition, question), variant).await?;
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

fn with_words(condition: &Condition, question: &str) -> SearchRequest {
    SearchRequest { query: question.to_owned(), top: K, ..condition.request.clone() }
}

/// The share of the nearest that the product finds: each that is as near as the last of the exact ones counts.
async fn dense_recall(lab: &Lab, project: &Project, request: &SearchRequest) -> Result<Option<f64>, Fault> {
    let index = || async { Ok::<_, Fault>(Index::Postgres(lab.app.store().await?, project)) };
    let embedder = lab.app.embedder_for(project.model()).await?;
    let variant = Variant::shipped();
    let deps = lab.deps(&embedder, &variant);
    let exact = search::nearest(deps, index().await?, request, true).await?;
    let found = search::nearest(deps, index().await?, request, false).await?;
    Ok(recall(&exact, &found))
}

fn recall(exact: &[(i64, f32)], found: &[(i64, f32)]) -> Option<f64> {
    let wanted = &exact[..exact.len().min(K)];
    let least = wanted.last()?.1 - TIE;
    let met = found.iter().take(K).filter(|(_, likeness)| *likeness >= least).count();
    Some(share(met, wanted.len()))
}

/// How much of the answer stays when every vector is compared.
async fn answer_recall(lab: &Lab, project: &Project, request: &SearchRequest) -> Result<f64, Fault> {
    let all = config::Search { exact_rows_max: u64::MAX, ..lab.app.config.search.clone() };
    let exact = lab.ask_with(project, request, &Variant::shipped(), &all).await?;
    let found = lab.ask(project, request, &Variant::shipped()).await?;
    let ids = |answer: &SearchAnswer| answer.hits.iter().map(|hit| hit.chunk_id).collect::<HashSet<_>>();
    let (exact, found) = (ids(&exact), ids(&found));
    Ok(if exact.is_empty() { 1.0 } else { share(exact.intersection(&found).count(), exact.len()) })
}

#[expect(clippy::cast_precision_loss, reason = "counts of hits")]
fn share(part: usize, of: usize) -> f64 {
    part as f64 / of.max(1) as f64
}

fn summary(condition: &str, times: &[Timings]) -> Asked {
    let of = |stage: fn(&Timings) -> f64, share: f64| quantile(times.iter().map(stage), share);
    Asked {
        condition: condition.to_owned(),
        questions: times.len(),
        p50_ms: of(|t| t.total_ms, 0.5),
        p95_ms: of(|t| t.total_ms, 0.95),
        stages_ms: Stages {
            plan: of(|t| t.plan_ms, 0.5),
            lexical: of(|t| t.lexical_ms, 0.5),
            embed: of(|t| t.embed_ms, 0.5),
            dense: of(|t| t.dense_ms, 0.5),
            hydrate: of(|t| t.hydrate_ms, 0.5),
            rank: of(|t| t.rank_ms, 0.5),
            content: of(|t| t.content_ms, 0.5),
        },
        ..Asked::default()
    }
}

/// The value below which `share` of the values lie; 0 of none.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in a short list"
)]
pub(super) fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * share) as usize;
    rounded(values.get(place.min(values.len().saturating_sub(1))).copied().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_near_as_the_last_exact_one_counts() {
        let exact: Vec<(i64, f32)> = (0..12).map(|i: i16| (i.into(), 1.0 - f32::from(i) * 0.01)).collect();
        assert_eq!(recall(&exact, &exact), Some(1.0));
        assert_eq!(recall(&exact, &exact[5..]), Some(0.5));
        let tied = [(99, 0.91), (98, 0.5)];
        assert_eq!(recall(&exact, &tied), Some(0.1));
        assert_eq!(recall(&[], &exact), None);
    }

    #[test]
    fn quantiles_of_short_lists() {
        assert!(quantile([].into_iter(), 0.5).abs() < 1e-9);
        assert!((quantile([3.0, 1.0, 2.0].into_iter(), 0.5) - 2.0).abs() < 1e-9);
        assert!((quantile((1..=100).map(f64::from), 0.95) - 96.0).abs() < 1e-9);
    }
}
