//! Measures how well the confidence of an answer distinguishes queries that the repository does not answer from those that it does.

use serde::Serialize;

use super::question::{K, QueryResult};
use crate::score::{mean, rounded};
use engine::search::Confidence;

/// The share of right answers that a threshold must keep.
const KEPT: f64 = 0.95;

/// Shares of right and absent answers on either side of `medium`, and of a threshold that keeps enough right ones.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AbsentFigures {
    /// Queries with a right answer among the first ten.
    pub right: usize,
    /// Share of them whose confidence is medium or high.
    pub right_kept: f64,
    /// The likelihood that 95 % of the right answers reach.
    pub threshold: f64,
    /// Queries that the repository does not answer.
    pub absent: AbsentShares,
    /// Those that query files list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed: Option<AbsentShares>,
    /// Those that are about another repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_others: Option<AbsentShares>,
}

/// The shares of absent answers that are recognised.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AbsentShares {
    /// Number of queries.
    pub questions: usize,
    /// Share whose confidence is low or none.
    pub low_or_none: f64,
    /// Share whose likelihood is below the threshold that keeps 95 % of the right answers.
    pub below_threshold: f64,
}

impl AbsentFigures {
    /// None without absent queries or without right answers to compare them with.
    pub(super) fn new(results: &[&QueryResult]) -> Option<Self> {
        let judged = || results.iter().copied().filter(|result| result.confidence.is_some());
        let right: Vec<&QueryResult> = judged()
            .filter(|result| !result.absent && result.unsuppressed.is_some_and(|rank| rank <= K))
            .collect();
        let absent: Vec<&QueryResult> = judged().filter(|result| result.absent).collect();
        if right.is_empty() || absent.is_empty() {
            return None;
        }
        let threshold = kept_from(right.iter().map(|result| result.likelihood).collect());
        let (of_others, listed): (Vec<&QueryResult>, Vec<&QueryResult>) =
            absent.iter().copied().partition(|result| result.about.is_some());
        let shares = |results: &[&QueryResult]| AbsentShares::new(results, threshold);
        let split = |results: &[&QueryResult]| (!results.is_empty()).then(|| shares(results));
        Some(Self {
            right: right.len(),
            right_kept: rounded(1.0 - share(&right, is_low)),
            threshold: rounded(f64::from(threshold)),
            absent: shares(&absent),
            listed: split(&listed),
            of_others: split(&of_others),
        })
    }
}

impl AbsentShares {
    fn new(results: &[&QueryResult], threshold: f32) -> Self {
        Self {
            questions: results.len(),
            low_or_none: rounded(share(results, is_low)),
            below_threshold: rounded(share(results, |result| result.likelihood < threshold)),
        }
    }
}

fn is_low(result: &QueryResult) -> bool {
    result.confidence.is_some_and(|confidence| confidence < Confidence::Medium)
}

fn share(results: &[&QueryResult], is: impl Fn(&QueryResult) -> bool) -> f64 {
    mean(results.iter().map(|result| f64::from(u8::from(is(result)))))
}

/// The largest likelihood that at least [`KEPT`] of the given ones reach.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of queries"
)]
fn kept_from(mut likelihoods: Vec<f32>) -> f32 {
    likelihoods.sort_by(f32::total_cmp);
    let lost = (likelihoods.len() as f64 * (1.0 - KEPT) + 1e-9).floor() as usize;
    likelihoods[lost.min(likelihoods.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::kept_from;

    #[test]
    #[expect(clippy::float_cmp, reason = "a number of the list")]
    fn a_threshold_keeps_nineteen_of_twenty() {
        let of = |count: u8| (1..=count).rev().map(f32::from).collect::<Vec<_>>();
        assert_eq!(kept_from(of(20)), 2.0);
        assert_eq!(kept_from(of(19)), 1.0);
        assert_eq!(kept_from(of(100)), 6.0);
        assert_eq!(kept_from(of(1)), 1.0);
    }
}
