//! Whether an answer can be believed: what can be measured of it without knowing the right answer, and how likely it is
//! right, calibrated on queries with known answers (docs/benchmarks.md, "Nothing found").

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fuse::Leg;
use super::naming::AskedName;
use super::plan::LexicalPlan;
use super::rank::Ranked;
use super::shape::Shape;

/// Places of the list that are looked at: who reads an answer looks at these first.
const PLACES: usize = 3;

/// How far an answer can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Nothing here answers the query: no hits are shown.
    None,
    /// Probably nothing here answers the query.
    Low,
    /// The first hits are probably right.
    Medium,
    /// The first hits are almost surely right.
    High,
}

/// What is measured of an answer. Every number is a property of the query and the first hits alone: BM25 and cosine are
/// absolute, where the score that orders the hits is relative to the best candidate.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Largest cosine between the query and one of the first three hits; absent where vectors were not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f32>,
    /// BM25 of the best of the first three hits over the sum of the idf of the terms that some chunk says: 1 when a chunk of
    /// average length says each of them once.
    pub coverage: f32,
    /// Share of the query's words, each counted once, that some chunk says. By idf, words that no chunk says would outweigh
    /// all others in a small repository.
    pub known_words: f32,
    /// 1 when the first hit defines a name of the query, else 0.
    pub defines: f32,
    /// How far the query is the name of something, 0 to 1; less for one ordinary word that many chunks say.
    pub symbol: f32,
}

impl Evidence {
    /// Measures the first hits of `ranked`. `lexical` and `dense` hold the raw scores of all candidates.
    pub(super) fn of(
        shape: &Shape,
        plan: &LexicalPlan,
        lexical: &Leg,
        dense: &Leg,
        ranked: &[Ranked],
    ) -> Self {
        let first = &ranked[..ranked.len().min(PLACES)];
        let best = |leg: &Leg| {
            let scores: HashMap<i64, f32> = leg.iter().copied().collect();
            first.iter().filter_map(|hit| scores.get(&hit.chunk_id).copied()).reduce(f32::max)
        };
        let coverage_of = best(lexical);
        // One ordinary word is a topic as well as a name: the more chunks say it, the less it tells that nothing is called so.
        let ordinary =
            shape.asked.as_ref().is_some_and(AskedName::is_ordinary_word) && shape.words.len() == 1;
        let symbol = match coverage_of {
            Some(score) if ordinary && score > 0.0 => shape.symbol * (1.0 - familiarity(plan)),
            _ => shape.symbol,
        };
        let said: f32 = plan.terms.iter().filter(|term| term.chunks > 0).map(|term| term.weight).sum();
        // Pairs of words and fields such as `def:` repeat what the words themselves say.
        let words = || plan.terms.iter().filter(|term| !term.term.contains([' ', ':']));
        let known = words().filter(|term| term.chunks > 0).count();
        Self {
            similarity: best(dense),
            coverage: share(coverage_of.unwrap_or(0.0), said),
            #[expect(clippy::cast_precision_loss, reason = "a query has few words")]
            known_words: share(known as f32, words().count() as f32),
            defines: if first.first().is_some_and(|hit| hit.parts.definition > 0.0) { 1.0 } else { 0.0 },
            symbol,
        }
    }
}

/// Chunks that say a word which the index knows well.
const FAMILIAR_CHUNKS: u64 = 5;

/// How well the index knows the words of a query, 0 to 1, by the one that most chunks say.
fn familiarity(plan: &LexicalPlan) -> f32 {
    let words = plan.terms.iter().filter(|term| !term.term.contains([' ', ':']));
    let chunks = words.map(|term| term.chunks.min(FAMILIAR_CHUNKS)).max().unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "both are at most FAMILIAR_CHUNKS")]
    let familiarity = chunks as f32 / FAMILIAR_CHUNKS as f32;
    familiarity
}

fn share(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { (part / whole).clamp(0.0, 2.2) } else { 0.0 }
}

/// The model whose cosines were calibrated. Other models spread theirs differently: with them, words alone decide, and no
/// answer is taken for empty.
const CALIBRATED_MODEL: &str = "all-minilm-l6-v2";

/// A logistic regression over [`Evidence`]: weights of its numbers, and the likelihoods at which levels begin. Fitted on 493
/// queries that 25 repositories in 20 languages answer against 300 that they do not, as if both were equally frequent; on each
/// repository left out in turn `medium` keeps 95 % of the right answers while 92 % of what is absent falls below (words alone:
/// 75 %).
struct Calibration {
    bias: f32,
    similarity: f32,
    coverage: f32,
    known_words: f32,
    defines: f32,
    symbol: f32,
    /// From here on `low`; below, `none`.
    low: f32,
    medium: f32,
    high: f32,
}

/// Words and vectors.
const HYBRID: Calibration = Calibration {
    bias: -8.76,
    similarity: 6.70,
    coverage: 2.67,
    known_words: 4.36,
    defines: 2.77,
    symbol: -2.54,
    low: 0.06,
    medium: 0.45,
    high: 0.80,
};

/// Words alone.
const LEXICAL: Calibration = Calibration {
    bias: -8.25,
    similarity: 0.0,
    coverage: 3.28,
    known_words: 6.33,
    defines: 3.18,
    symbol: -3.39,
    low: 0.03,
    medium: 0.35,
    high: 0.80,
};

/// Cosine from which a hit is shown although it shares no word with the query: above it lie 95 of 100 right answers and one
/// in six of those to queries about something else.
const SIMILAR: f32 = 0.30;

/// Share of the query's words from which hits are shown although they are probably wrong: whoever paraphrases says words
/// that the code does not.
const KNOWN_WORDS: f32 = 0.15;

/// How likely an answer is right, and what that is called.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Judgement {
    pub(super) likelihood: f32,
    pub(super) confidence: Confidence,
}

impl Evidence {
    /// Judges the answer. `model` made the vectors that took part; none: words alone did.
    pub(super) fn judge(&self, model: Option<&str>) -> Judgement {
        let calibrated = model == Some(CALIBRATED_MODEL);
        let calibration = if calibrated && self.similarity.is_some() { &HYBRID } else { &LEXICAL };
        let likelihood = calibration.likelihood(self);
        let level = calibration.level(likelihood);
        // A hit that only the vectors found can be right although it says no word of the query.
        let similar = self.similarity.is_some_and(|similarity| similarity >= SIMILAR);
        let shown = self.known_words >= KNOWN_WORDS || (model.is_some() && (!calibrated || similar));
        let floor = if shown { Confidence::Low } else { Confidence::None };
        Judgement { likelihood, confidence: level.max(floor) }
    }
}

impl Calibration {
    fn likelihood(&self, evidence: &Evidence) -> f32 {
        let sum = self.bias
            + self.similarity * evidence.similarity.unwrap_or(0.0)
            + self.coverage * evidence.coverage
            + self.known_words * evidence.known_words
            + self.defines * evidence.defines
            + self.symbol * evidence.symbol;
        1.0 / (1.0 + (-sum).exp())
    }

    fn level(&self, likelihood: f32) -> Confidence {
        match likelihood {
            _ if likelihood >= self.high => Confidence::High,
            _ if likelihood >= self.medium => Confidence::Medium,
            _ if likelihood >= self.low => Confidence::Low,
            _ => Confidence::None,
        }
    }
}

/// Scores from 0 to 1: what the order is by, over the best hit's, times how likely the answer is right. The first hit's
/// score is thus the likelihood itself, and a page never begins above the one before it.
pub(super) fn scale(ranked: &mut [Ranked], likelihood: f32) {
    let best = ranked.iter().map(|hit| hit.score).fold(0.0, f32::max);
    let mut above = 1.0_f32;
    for hit in ranked {
        let share = if best > 0.0 { (hit.score / best).clamp(0.0, 1.0) } else { 1.0 };
        above = above.min(share);
        hit.score = likelihood * above;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::plan::WeightedTerm;
    use crate::search::rank::Parts;

    /// The confidence of a question of one word that so many chunks say, whose best hit says it so well.
    fn of(question: &str, chunks: u64, bm25: f32) -> Confidence {
        let term = WeightedTerm { id: 1, weight: 1.0, chunks, term: question.to_lowercase() };
        let plan = LexicalPlan { terms: vec![term], ..LexicalPlan::default() };
        let ranked = [Ranked { chunk_id: 7, score: 1.0, parts: Parts::default() }];
        let lexical = if bm25 > 0.0 { vec![(7, bm25)] } else { Leg::new() };
        let evidence = Evidence::of(&Shape::of(question), &plan, &lexical, &vec![(7, 0.4)], &ranked);
        evidence.judge(Some(CALIBRATED_MODEL)).confidence
    }

    #[test]
    fn one_ordinary_word_is_a_topic_where_many_chunks_say_it() {
        // Measured of `cookie` in flask: 0.255 as a name that is not defined.
        assert_eq!(of("cookie", 363, 0.76), Confidence::Medium);
        assert_eq!(of("cookie", FAMILIAR_CHUNKS, 0.76), Confidence::Medium);
        assert_eq!(of("cookie", 1, 0.76), Confidence::Low, "it could be a name that is meant");
        for name in ["Cookie", "set_cookie", "Session.cookie", "class cookie"] {
            assert_eq!(of(name, 363, 0.76), Confidence::Low, "{name}");
        }
        assert!(of("cookie", 363, 0.0) <= Confidence::Low, "no hit says it");
        assert!(of("flurble", 0, 0.0) <= Confidence::Low);
    }
}
