//! Estimates how likely an answer is right, from measurements that do not need the right answer, calibrated on queries with
//! known answers (docs/benchmarks.md, "Nothing found").

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::search::query::exact_name::QueriedName;
use crate::search::query::query_class::QueryClass;
use crate::search::rank::fuse::Retrieved;
use crate::search::rank::scores::RankedChunk;
use crate::search::retrieve::plan::LexicalPlan;

/// Hits that are measured: readers look at these first.
pub(in crate::search) const MEASURED_HITS: usize = 3;

/// How far an answer can be trusted.
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

/// What is measured of an answer. All numbers depend only on the query and the first hits: BM25 and cosine are absolute,
/// unlike the score of a hit, which is relative to the best candidate.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Largest cosine similarity of the first three hits; absent if vectors were not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f32>,
    /// Largest BM25 of the first three hits, divided by the sum of the idf of the terms that occur in the index: 1 if a chunk of
    /// average length contains each of them once.
    pub coverage: f32,
    /// Share of the query's words that occur in the index, each counted once. Weighted by idf, unknown words would outweigh all
    /// others in a small repository.
    pub known_words: f32,
    /// 1 if the first hit defines a name in the query, else 0.
    pub defines: f32,
    /// How far the query is the name of something, 0 to 1; lower for one ordinary word that many chunks contain.
    pub symbol: f32,
    /// 1 if the text of the query occurs as it stands in one of the first three hits, or in their paths. Only looked for where the
    /// other measurements make the answer doubtful.
    pub literal: f32,
}

impl Evidence {
    /// Measures the first hits of `ranked`. `lexical` and `dense` hold the raw scores of all candidates.
    pub(in crate::search) fn new(
        class: &QueryClass,
        plan: &LexicalPlan,
        lexical: &Retrieved,
        dense: &Retrieved,
        ranked: &[RankedChunk],
    ) -> Self {
        let first = &ranked[..ranked.len().min(MEASURED_HITS)];
        let best = |retrieved: &Retrieved| {
            let scores: HashMap<i64, f32> = retrieved.iter().copied().collect();
            first.iter().filter_map(|hit| scores.get(&hit.chunk_id).copied()).reduce(f32::max)
        };
        let best_lexical = best(lexical);
        // One ordinary word may be a topic rather than a name: the more chunks contain it, the less a missing definition means.
        let is_ordinary =
            class.name.as_ref().is_some_and(QueriedName::is_ordinary_word) && class.words.len() == 1;
        let symbol = match best_lexical {
            Some(score) if is_ordinary && score > 0.0 => class.symbol * (1.0 - familiarity(plan)),
            _ => class.symbol,
        };
        let known_weight: f32 =
            plan.terms.iter().filter(|term| term.chunks > 0).map(|term| term.weight).sum();
        // Word pairs and field terms such as `def:` repeat the words.
        let words = || plan.terms.iter().filter(|term| !term.term.contains([' ', ':']));
        let known = words().filter(|term| term.chunks > 0).count();
        let defines = if first.first().is_some_and(|hit| hit.parts.definition > 0.0) { 1.0 } else { 0.0 };
        // The name of an operator has no words: what defines it has all of the query.
        let is_wordless = words().next().is_none();
        #[expect(clippy::cast_precision_loss, reason = "a query has few words")]
        let known = share(known as f32, words().count() as f32);
        let coverage = share(best_lexical.unwrap_or(0.0), known_weight);
        Self {
            similarity: best(dense),
            coverage: if is_wordless { DEFINED_COVERAGE * defines } else { coverage },
            known_words: if is_wordless { defines } else { known },
            defines,
            symbol,
            literal: 0.0,
        }
    }
}

/// Coverage of a query without words by what defines it: that of a chunk with all words, several times.
const DEFINED_COVERAGE: f32 = 1.5;

/// Document frequency from which a word counts as well known.
const FAMILIAR_CHUNKS: u64 = 5;

/// Returns how common the most common word of a query is in the index, 0 to 1.
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

/// The model whose cosines were calibrated. Cosines of other models have another distribution: with them only the
/// lexical evidence counts, and the confidence is never `none`.
const CALIBRATED_MODEL: &str = "all-minilm-l6-v2";

/// A logistic regression over [`Evidence`]: weights, and the likelihoods at which levels begin. Fitted on 25
/// repositories in 20 languages with 493 queries that have an answer in them and 300 that have none, weighted equally.
/// In leave-one-out validation by repository, 95 % of the right answers reach `medium`, and 92 % of the wrong ones do
/// not (lexical only: 75 %).
struct Calibration {
    bias: f32,
    similarity: f32,
    coverage: f32,
    known_words: f32,
    defines: f32,
    symbol: f32,
    /// Likelihood at which `low` begins; below it is `none`.
    low: f32,
    medium: f32,
    high: f32,
}

/// For lexical and dense evidence.
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

/// For lexical evidence only.
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

/// Cosine from which hits are shown even if they share no word with the query: reached by 95 % of right answers, and by one in
/// six answers to queries about something else.
const SIMILARITY_SHOWN_MIN: f32 = 0.30;

/// Share of known words from which hits are shown even if they are probably wrong: a paraphrase contains words that the
/// code does not.
const KNOWN_WORDS_SHOWN_MIN: f32 = 0.15;

/// Likelihood of an answer that contains the text of the query verbatim, whatever else is measured.
const LITERAL_LIKELIHOOD: f32 = 0.5;

/// The likelihood that an answer is right, and its level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::search) struct Judgement {
    pub(in crate::search) likelihood: f32,
    pub(in crate::search) confidence: Confidence,
}

impl Evidence {
    /// Judges the answer. `model` is the model of the compared vectors, `None` if the search was lexical only.
    pub(in crate::search) fn judge(&self, model: Option<&str>) -> Judgement {
        let calibrated = model == Some(CALIBRATED_MODEL);
        let calibration = if calibrated && self.similarity.is_some() { &HYBRID } else { &LEXICAL };
        let likelihood = calibration.likelihood(self).max(self.literal * LITERAL_LIKELIHOOD);
        let level = calibration.level(likelihood);
        // A dense hit can be right without any word of the query.
        let is_similar = self.similarity.is_some_and(|similarity| similarity >= SIMILARITY_SHOWN_MIN);
        let shown =
            self.known_words >= KNOWN_WORDS_SHOWN_MIN || (model.is_some() && (!calibrated || is_similar));
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

/// Scales scores to 0 ..= 1: relative to the best, times the likelihood that the answer is right. The score of the first hit
/// is thus the likelihood, and scores never rise from one hit or page to the next.
pub(in crate::search) fn scale(ranked: &mut [RankedChunk], likelihood: f32) {
    let best = ranked.iter().map(|hit| hit.score).fold(0.0, f32::max);
    let mut lowest = 1.0_f32;
    for hit in ranked {
        let share = if best > 0.0 { (hit.score / best).clamp(0.0, 1.0) } else { 1.0 };
        lowest = lowest.min(share);
        hit.score = likelihood * lowest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::rank::scores::ScoreParts;
    use crate::search::retrieve::plan::WeightedTerm;

    /// Returns the confidence for a one-word query with this document frequency and this BM25 of the best hit.
    fn confidence(query: &str, chunks: u64, bm25: f32) -> Confidence {
        let term = WeightedTerm { id: 1, weight: 1.0, asked: 1.0, chunks, term: query.to_lowercase() };
        let plan = LexicalPlan { terms: vec![term], ..LexicalPlan::default() };
        let ranked = [RankedChunk { chunk_id: 7, score: 1.0, parts: ScoreParts::default(), text: None }];
        let lexical = if bm25 > 0.0 { vec![(7, bm25)] } else { Retrieved::new() };
        let evidence = Evidence::new(&QueryClass::new(query), &plan, &lexical, &vec![(7, 0.4)], &ranked);
        evidence.judge(Some(CALIBRATED_MODEL)).confidence
    }

    #[test]
    fn a_text_that_occurs_as_it_stands_is_never_doubtful() {
        for (similarity, model) in
            [(None, None), (Some(0.1), Some(CALIBRATED_MODEL)), (Some(0.1), Some("other"))]
        {
            let doubtful = Evidence { similarity, symbol: 1.0, ..Evidence::default() };
            assert!(doubtful.judge(model).confidence < Confidence::Medium);
            let literal = Evidence { literal: 1.0, ..doubtful };
            assert_eq!(literal.judge(model).confidence, Confidence::Medium);
            let sure = Evidence { coverage: 2.0, known_words: 1.0, defines: 1.0, ..literal };
            assert_eq!(sure.judge(model).confidence, Confidence::High, "it makes nothing less likely");
        }
    }

    #[test]
    fn an_ordinary_word_that_many_chunks_contain_is_a_topic() {
        // Measured of `cookie` in flask: 0.255 as a name that is not defined.
        assert_eq!(confidence("cookie", 363, 0.76), Confidence::Medium);
        assert_eq!(confidence("cookie", FAMILIAR_CHUNKS, 0.76), Confidence::Medium);
        assert_eq!(confidence("cookie", 1, 0.76), Confidence::Low, "a rare word may be a name");
        for name in ["Cookie", "set_cookie", "Session.cookie", "class cookie"] {
            assert_eq!(confidence(name, 363, 0.76), Confidence::Low, "{name}");
        }
        assert!(confidence("cookie", 363, 0.0) <= Confidence::Low, "no hit contains the word");
        assert!(confidence("flurble", 0, 0.0) <= Confidence::Low);
    }
}
