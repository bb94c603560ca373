//! Variants chosen by leaving repositories out: for each repository, the variant that is best on all others. The score of that variant on
//! the repository left out predicts the quality on repositories that were not used for tuning.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::place::Place;
use super::question::QueryResult;
use crate::Variant;
use crate::score::{mean, rounded};
use engine::search::Vectors;

/// Scores of the variants with vectors, or of those without.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaveOut {
    /// The project in which the queries were asked.
    pub place: Place,
    /// `hybrid` or `words`.
    pub search: &'static str,
    /// Names of the variants that could be chosen.
    pub variants: Vec<String>,
    /// The variant that is best on all repositories.
    pub best: String,
    /// Over all queries.
    pub all: LeaveOutScores,
    /// By language of the repository.
    pub languages: BTreeMap<String, LeaveOutScores>,
    /// The variant chosen for each repository by all others.
    pub chosen: BTreeMap<String, String>,
}

/// NDCG@10 of the first variant, of the best one, and of the variants chosen by the other repositories.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaveOutScores {
    /// Number of queries.
    pub questions: usize,
    /// The first variant: as shipped.
    pub first: f64,
    /// The variant that is best on all repositories, this one included.
    pub fitted: f64,
    /// The variant that is best on the other repositories.
    pub left_out: f64,
}

/// A query's repository and language, and its NDCG@10 with each variant.
struct Scored<'a> {
    repository: &'a str,
    language: &'a str,
    ndcg: Vec<f64>,
}

/// Chooses among the variants with vectors and among those without.
pub(super) fn choose(place: Place, candidates: &[(&Variant, Vec<&QueryResult>)]) -> Vec<LeaveOut> {
    let of = |vectors: Vectors| candidates.iter().filter(move |(variant, _)| variant.vectors == vectors);
    let one = |(search, vectors)| {
        let names: Vec<String> = of(vectors).map(|(variant, _)| variant.name.clone()).collect();
        let results: Vec<&Vec<&QueryResult>> = of(vectors).map(|(_, results)| results).collect();
        choose_among(place, search, names, &scored(&results))
    };
    [("hybrid", Vectors::Auto), ("words", Vectors::Off)].into_iter().filter_map(one).collect()
}

fn scored<'a>(results: &[&Vec<&'a QueryResult>]) -> Vec<Scored<'a>> {
    let Some(first) = results.first() else { return Vec::new() };
    let answered = first.iter().enumerate().filter(|(_, result)| !result.absent);
    let score = |(at, result): (usize, &&'a QueryResult)| Scored {
        repository: &result.repository,
        language: &result.language,
        ndcg: results.iter().map(|results| results[at].ndcg10).collect(),
    };
    answered.map(score).collect()
}

fn choose_among(
    place: Place,
    search: &'static str,
    variants: Vec<String>,
    queries: &[Scored<'_>],
) -> Option<LeaveOut> {
    let repositories: BTreeSet<&str> = queries.iter().map(|query| query.repository).collect();
    // With one repository, there are no others to choose by.
    if variants.is_empty() || repositories.len() < 2 {
        return None;
    }
    let best_where = |is_used: &dyn Fn(&Scored<'_>) -> bool| {
        let score = |variant: usize| {
            mean(queries.iter().filter(|query| is_used(query)).map(|query| query.ndcg[variant]))
        };
        // Among equals the first, which ships.
        (0..variants.len()).rev().max_by(|a, b| score(*a).total_cmp(&score(*b))).unwrap_or_default()
    };
    let best = best_where(&|_| true);
    let chosen: BTreeMap<&str, usize> = repositories
        .into_iter()
        .map(|left_out| (left_out, best_where(&|query| query.repository != left_out)))
        .collect();
    let scores = |queries: &[&Scored<'_>]| LeaveOutScores {
        questions: queries.len(),
        first: rounded(mean(queries.iter().map(|query| query.ndcg[0]))),
        fitted: rounded(mean(queries.iter().map(|query| query.ndcg[best]))),
        left_out: rounded(mean(queries.iter().map(|query| query.ndcg[chosen[query.repository]]))),
    };
    let mut languages: BTreeMap<String, Vec<&Scored<'_>>> = BTreeMap::new();
    queries.iter().for_each(|query| languages.entry(query.language.to_owned()).or_default().push(query));
    Some(LeaveOut {
        place,
        search,
        best: variants[best].clone(),
        all: scores(&queries.iter().collect::<Vec<_>>()),
        languages: languages.into_iter().map(|(name, queries)| (name, scores(&queries))).collect(),
        chosen: chosen
            .into_iter()
            .map(|(repository, variant)| (repository.to_owned(), variants[variant].clone()))
            .collect(),
        variants,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(repository: &'static str, language: &'static str, ndcg: [f64; 2]) -> Scored<'static> {
        Scored { repository, language, ndcg: ndcg.to_vec() }
    }

    #[test]
    fn a_variant_that_one_repository_alone_prefers_is_not_chosen_for_it() {
        // The second variant is best over all, but only because of `c`.
        let queries =
            [query("a", "go", [0.6, 0.5]), query("b", "go", [0.6, 0.5]), query("c", "lua", [0.0, 1.0])];
        let names = vec!["shipped".to_owned(), "bold".to_owned()];
        let report = choose_among(Place::Alone, "words", names, &queries).unwrap();
        assert_eq!(report.best, "bold");
        assert_eq!(report.chosen["c"], "shipped");
        assert_eq!(report.chosen["a"], "bold");
        let scores = |scores: &LeaveOutScores| (scores.first, scores.fitted, scores.left_out);
        assert_eq!(scores(&report.all), (0.4, 0.6667, 0.3333));
        assert_eq!(scores(&report.languages["lua"]), (0.0, 1.0, 0.0));
        assert_eq!(report.languages["go"].questions, 2);
    }

    #[test]
    fn one_repository_leaves_nothing_to_choose_by() {
        let queries = [query("a", "go", [0.6, 0.5])];
        assert!(choose_among(Place::Alone, "words", vec!["x".to_owned()], &queries).is_none());
    }
}
