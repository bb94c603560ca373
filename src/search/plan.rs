//! How a question is answered: which terms choose, which only score, and how vectors are compared.

use super::ranking::Ranking;
use crate::config;
use crate::languages::terms::QueryTerm;

/// BM25's k1 + 1: the most that a term's frequency part can reach.
const FREQUENCY_PART_MAX: f32 = 2.2;

/// A term with its document frequency looked up.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedTerm {
    /// Id in the lexical index.
    pub id: i32,
    /// idf times the question's own weight; the query vector's element.
    pub weight: f32,
    /// Chunks that say it, at the last rebuild of the statistics.
    pub chunks: u64,
    /// The term, for explanations.
    pub term: String,
}

/// The lexical leg.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LexicalPlan {
    /// All terms that score, by id.
    pub terms: Vec<WeightedTerm>,
    /// Ids of the terms that choose candidates: a chunk says at least one of them.
    pub keep: Vec<i32>,
    /// The most that the terms outside `keep` can add to a chunk that says none inside.
    pub dropped_score_max: f32,
}

/// How vectors are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorPath {
    /// Each vector within the filter.
    Exact,
    /// The HNSW index, with this `ef_search`.
    Hnsw(u32),
    /// Not at all: no model, or no vectors yet.
    None,
}

/// What the index holds for this question, counted by the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Chunks behind the document frequencies.
    pub statistics_chunks: u64,
    /// Vectors within the filter.
    pub vectors_in_filter: u64,
    /// Whether there is an HNSW index.
    pub vectors_indexed: bool,
    /// Whether the question could be embedded.
    pub embedded: bool,
}

/// The whole plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Lexical leg.
    pub lexical: LexicalPlan,
    /// Dense leg.
    pub vector: VectorPath,
    /// Candidates from each leg.
    pub candidates: usize,
}

/// Makes the plan. `frequencies` gives the chunks that say each term, 0 for those it does not know.
#[must_use]
pub fn plan(
    terms: &[QueryTerm],
    frequencies: &dyn Fn(i32) -> u64,
    counts: Counts,
    settings: &config::Search,
    ranking: &Ranking,
) -> Plan {
    Plan {
        lexical: lexical(terms, frequencies, counts.statistics_chunks, ranking),
        vector: vector_path(counts, settings),
        candidates: settings.candidates,
    }
}

fn lexical(
    terms: &[QueryTerm],
    frequencies: &dyn Fn(i32) -> u64,
    statistics_chunks: u64,
    ranking: &Ranking,
) -> LexicalPlan {
    let weigh = |term: &QueryTerm| {
        let chunks = frequencies(term.id);
        let weight = term.weight * idf(chunks, statistics_chunks);
        WeightedTerm { id: term.id, weight, chunks, term: term.term.clone() }
    };
    let mut weighted: Vec<WeightedTerm> = terms.iter().map(weigh).collect();
    weighted.sort_by_key(|term| term.id);
    // Two terms under one hash are one element of the vector.
    weighted.dedup_by(|next, kept| {
        let same = next.id == kept.id;
        if same {
            kept.weight = kept.weight.max(next.weight);
        }
        same
    });
    weighted.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.id.cmp(&b.id)));
    // What no chunk says takes nobody's place.
    weighted.sort_by_key(|term| term.chunks == 0);
    weighted.truncate(ranking.terms_max);

    let common = share_of(statistics_chunks, ranking.common_share);
    let mut keep: Vec<i32> = weighted.iter().filter(|t| t.chunks <= common).map(|t| t.id).collect();
    let says_something = weighted.iter().any(|t| keep.contains(&t.id) && t.chunks > 0);
    if !says_something {
        // Only common words: the rarest that is said at all chooses.
        let rarest = weighted.iter().filter(|t| t.chunks > 0).min_by_key(|t| (t.chunks, t.id));
        keep.extend(rarest.map(|t| t.id));
    }
    let dropped: f32 = weighted.iter().filter(|t| !keep.contains(&t.id)).map(|t| t.weight).sum();
    weighted.sort_by_key(|t| t.id);
    keep.sort_unstable();
    LexicalPlan { terms: weighted, keep, dropped_score_max: FREQUENCY_PART_MAX * dropped }
}

impl LexicalPlan {
    /// Whether the best `wanted` of all chunks are surely among what `keep` chose: the last of them scores at
    /// least what a chunk without any kept term could reach. `scores` are descending.
    #[must_use]
    pub fn is_exact(&self, scores: &[f32], wanted: usize) -> bool {
        if self.keep.len() == self.terms.len() {
            return true;
        }
        wanted > 0 && scores.get(wanted - 1).is_some_and(|score| *score >= self.dropped_score_max)
    }

    /// The same leg with every term choosing, for the second try.
    #[must_use]
    pub fn with_all_terms(&self) -> Self {
        Self { keep: self.terms.iter().map(|t| t.id).collect(), dropped_score_max: 0.0, ..self.clone() }
    }
}

/// Chooses how vectors are compared.
pub(super) fn vector_path(counts: Counts, settings: &config::Search) -> VectorPath {
    if !counts.embedded || counts.vectors_in_filter == 0 {
        VectorPath::None
    } else if counts.vectors_in_filter <= settings.exact_rows_max || !counts.vectors_indexed {
        // The planner would take HNSW for selective filters too, and lose recall there.
        VectorPath::Exact
    } else {
        VectorPath::Hnsw(settings.ef_search)
    }
}

/// BM25's inverse document frequency; positive for every term.
#[expect(clippy::cast_precision_loss, reason = "a ratio of counts; f32 is what the index stores")]
fn idf(chunks: u64, statistics_chunks: u64) -> f32 {
    let (n, df) = (statistics_chunks.max(chunks) as f32, chunks as f32);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive share of a count"
)]
fn share_of(count: u64, share: f32) -> u64 {
    (count as f64 * f64::from(share)).floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::terms::query_terms;
    use proptest::prelude::*;

    fn settings() -> config::Search {
        config::Search {
            top_default: 10,
            top_max: 100,
            query_chars_max: 8192,
            candidates: 200,
            exact_rows_max: 20_000,
            ef_search: 100,
            result_bytes_max: 262_144,
            context_lines_max: 50,
            filter_rows_max: 8000,
            filter_names_max: 4096,
            offset_max: 900,
            embed_wait_ms: 1500,
        }
    }

    fn term(id: i32) -> QueryTerm {
        QueryTerm { id, weight: 1.0, term: format!("t{id}") }
    }

    fn counts(vectors: u64) -> Counts {
        Counts { statistics_chunks: 1000, vectors_in_filter: vectors, vectors_indexed: true, embedded: true }
    }

    /// Term 1 is rare, 2 is middling, 3 and 4 are common, the others unknown.
    fn frequency(id: i32) -> u64 {
        match id {
            1 => 3,
            2 => 50,
            3 => 400,
            4 => 900,
            _ => 0,
        }
    }

    fn made(ids: &[i32]) -> LexicalPlan {
        let terms: Vec<_> = ids.iter().map(|id| term(*id)).collect();
        plan(&terms, &frequency, counts(10), &settings(), &Ranking::default()).lexical
    }

    #[test]
    fn common_terms_score_but_do_not_choose() {
        let lexical = made(&[4, 1, 2]);
        assert_eq!(lexical.keep, [1, 2]);
        assert_eq!(lexical.terms.len(), 3);
        assert!(lexical.dropped_score_max > 0.0);
    }

    #[test]
    fn with_only_common_terms_the_rarest_chooses() {
        assert_eq!(made(&[4, 3]).keep, [3]);
        assert_eq!(made(&[4, 3, 9]).keep, [3, 9]);
    }

    #[test]
    fn an_answer_is_exact_when_the_last_beats_what_was_left_out() {
        let lexical = made(&[1, 4]);
        let limit = lexical.dropped_score_max;
        assert!(lexical.is_exact(&[9.0, limit], 2));
        assert!(!lexical.is_exact(&[9.0, limit * 0.99], 2));
        assert!(!lexical.is_exact(&[9.0], 2), "fewer rows than wanted prove nothing");
        assert!(lexical.with_all_terms().is_exact(&[], 2));
        assert!(made(&[1, 2]).is_exact(&[], 2));
    }

    #[test]
    fn the_row_count_chooses_the_vector_path() {
        let path = |c: Counts| vector_path(c, &settings());
        assert_eq!(path(counts(20_000)), VectorPath::Exact);
        assert_eq!(path(counts(20_001)), VectorPath::Hnsw(100));
        assert_eq!(path(Counts { vectors_indexed: false, ..counts(90_000) }), VectorPath::Exact);
        assert_eq!(path(Counts { embedded: false, ..counts(9) }), VectorPath::None);
        assert_eq!(path(counts(0)), VectorPath::None);
    }

    #[test]
    fn a_long_text_keeps_its_weightiest_terms() {
        let text: String = (0..200).map(|i| format!("word{i} ")).collect();
        let plan = plan(&query_terms(&text, None), &|_| 1, counts(1), &settings(), &Ranking::default());
        assert_eq!(plan.lexical.terms.len(), Ranking::default().terms_max);
    }

    proptest! {
        #[test]
        fn plans_are_sound(ids in proptest::collection::vec(1_i32..8, 0..8)) {
            let lexical = made(&ids);
            prop_assert!(lexical.terms.windows(2).all(|pair| pair[0].id < pair[1].id));
            prop_assert!(lexical.terms.iter().all(|t| t.weight > 0.0));
            prop_assert!(lexical.keep.iter().all(|id| lexical.terms.iter().any(|t| t.id == *id)));
            prop_assert!(lexical.keep.is_empty() == lexical.terms.is_empty());
        }
    }
}
