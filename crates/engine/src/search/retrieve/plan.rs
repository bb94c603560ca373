//! Plans a search: the terms that select candidates, the terms that only score them, and the comparison of vectors.

use crate::search::rank::ranking::Ranking;
use contract::config;
use languages::terms::QueryTerm;

/// BM25's k1 + 1, the upper bound of a term's frequency part.
const FREQUENCY_PART_MAX: f32 = 2.2;

/// Maximum number of chunks that the terms of the first statement may select in total. Scoring a chunk costs a few microseconds, and the
/// best chunks usually contain rare terms as well.
const SELECTED_MAX: u64 = 6_000;
/// The same limit for the second statement.
const SELECTED_AGAIN_MAX: u64 = 40_000;

/// Number of vectors up to which `search.ef_search` gives enough recall.
const EF_SEARCH_ENOUGH_FOR: u64 = 50_000;
/// Above that number, `ef_search` grows with this power of the number of vectors. Measured recall of the ten nearest:
/// 0.984 with 320 at 100,000 vectors, 0.964 with 512 at a million.
const EF_SEARCH_GROWTH: f64 = 0.4;

/// A term with its document frequency looked up.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::search) struct WeightedTerm {
    /// Id in the lexical index.
    pub id: i32,
    /// idf times the term's weight in the query; an element of the sparse query vector.
    pub weight: f32,
    /// Weight of the term in the query alone.
    pub asked: f32,
    /// Document frequency: the number of chunks that contain the term. For a term that lagging counts do not know, the number of
    /// candidates.
    pub chunks: u64,
    /// The term itself, for `explain`.
    pub term: String,
}

/// Plan of the lexical retriever.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::search) struct LexicalPlan {
    /// All terms that score, ordered by id.
    pub terms: Vec<WeightedTerm>,
    /// Ids of the terms that select candidates: a chunk must contain at least one of them.
    pub keep: Vec<i32>,
    /// Upper bound of the score of a chunk that contains no term of `keep`.
    pub dropped_score_max: f32,
    /// `true` if `keep` lacks terms because too many chunks contain them.
    pub cut: bool,
    /// `true` if chunks may contain terms that the counts do not know.
    pub counts_lag: bool,
}

/// Method by which vectors are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::search) enum VectorPath {
    /// Each vector within the filter.
    Exact,
    /// The HNSW index, with this `ef_search`.
    Hnsw(u32),
    /// No comparison: there is no model, or there are no vectors yet.
    None,
}

/// Sizes that decide the [`VectorPath`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::search) struct Counts {
    /// Number of chunks whose terms were counted: the N of idf.
    pub statistics_chunks: u64,
    /// Vectors within the filter.
    pub vectors_in_filter: u64,
    /// Vectors in the project. Only this number distinguishes a repository alone from one with neighbours: above `search.exact_rows_max`
    /// vectors, one is compared by HNSW and the other may be compared exactly.
    pub vectors: u64,
    /// `true` if there is an HNSW index.
    pub vectors_indexed: bool,
    /// `true` if the query could be embedded.
    pub embedded: bool,
    /// `true` if chunks may contain terms that the counts do not know.
    pub counts_lag: bool,
}

/// Execution plan of a search.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::search) struct Plan {
    /// Lexical retriever.
    pub lexical: LexicalPlan,
    /// Dense retriever.
    pub vector: VectorPath,
    /// Maximum number of candidates of each retriever.
    pub candidates: usize,
}

/// Plans a search. `frequencies` gives the document frequency of a term, 0 if it is unknown.
#[must_use]
pub(in crate::search) fn plan(
    terms: &[QueryTerm],
    frequencies: &dyn Fn(i32) -> u64,
    counts: Counts,
    settings: &config::Search,
    ranking: &Ranking,
) -> Plan {
    Plan {
        lexical: lexical(terms, frequencies, counts, ranking),
        vector: vector_path(counts, settings),
        candidates: settings.candidates,
    }
}

fn lexical(
    terms: &[QueryTerm],
    frequencies: &dyn Fn(i32) -> u64,
    Counts { statistics_chunks, counts_lag, .. }: Counts,
    ranking: &Ranking,
) -> LexicalPlan {
    let weigh = |term: &QueryTerm| {
        let chunks = frequencies(term.id);
        let weight = term.weight * idf(chunks, statistics_chunks);
        WeightedTerm { id: term.id, weight, asked: term.weight, chunks, term: term.term.clone() }
    };
    let mut weighted: Vec<WeightedTerm> = terms.iter().map(weigh).collect();
    weighted.sort_by_key(|term| term.id);
    // Two terms with the same hash are one element of the sparse vector.
    weighted.dedup_by(|next, kept| {
        let same = next.id == kept.id;
        if same {
            kept.weight = kept.weight.max(next.weight);
            kept.asked = kept.asked.max(next.asked);
        }
        same
    });
    weighted.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.id.cmp(&b.id)));
    // Terms that match nothing are dropped first.
    weighted.sort_by_key(|term| term.chunks == 0 && !counts_lag);
    weighted.truncate(ranking.terms_max);

    let common = share_of(statistics_chunks, ranking.common_share);
    weighted.sort_by_key(|t| t.id);
    let rare: Vec<&WeightedTerm> = weighted.iter().filter(|t| t.chunks <= common).collect();
    let mut keep = rarest(&rare, SELECTED_MAX);
    let selects_any = weighted.iter().any(|t| keep.contains(&t.id) && t.chunks > 0);
    if !selects_any {
        // The query has only common terms: the rarest one that occurs selects.
        let rarest = weighted.iter().filter(|t| t.chunks > 0).min_by_key(|t| (t.chunks, t.id));
        keep.extend(rarest.map(|t| t.id));
    }
    keep.sort_unstable();
    let cut = keep.len() < rare.len();
    LexicalPlan { terms: weighted, keep, dropped_score_max: 0.0, cut, counts_lag }.bounded()
}

/// Returns the ids of the rarest terms, as many as occur in at most `chunks_max` chunks in total.
fn rarest(terms: &[&WeightedTerm], chunks_max: u64) -> Vec<i32> {
    let mut terms = terms.to_vec();
    terms.sort_by_key(|t| (t.chunks, t.id));
    let sums = terms.iter().scan(0, |sum: &mut u64, term| {
        *sum += term.chunks;
        Some((*sum, term.id))
    });
    let mut ids: Vec<i32> = sums.take_while(|(sum, _)| *sum <= chunks_max).map(|(_, id)| id).collect();
    ids.sort_unstable();
    ids
}

impl LexicalPlan {
    /// Returns whether the best `wanted` chunks are certainly among those that `keep` selected, that is, whether the
    /// last of them scores at least as high as a chunk without any term of `keep` can. After a cut (in a large project)
    /// this is rarely provable, so `wanted` chunks suffice. `scores` are descending.
    #[must_use]
    pub(in crate::search) fn is_exact(&self, scores: &[f32], wanted: usize) -> bool {
        if self.keep.len() == self.terms.len() || (self.cut && scores.len() >= wanted) {
            return true;
        }
        wanted > 0 && scores.get(wanted - 1).is_some_and(|score| *score >= self.dropped_score_max)
    }

    /// Returns the terms that the counts do not know although chunks may contain them.
    pub(in crate::search) fn uncounted(&self) -> Vec<i32> {
        let unknown = self.terms.iter().filter(|term| self.counts_lag && term.chunks == 0);
        unknown.map(|term| term.id).collect()
    }

    /// Counts terms that the counts do not know: `found` are the terms of candidates, with the number of these.
    pub(in crate::search) fn count(&mut self, found: &[(i32, i64)]) {
        for term in self.terms.iter_mut().filter(|term| term.chunks == 0) {
            let chunks = found.iter().find(|(id, _)| *id == term.id).map_or(0, |(_, chunks)| *chunks);
            term.chunks = chunks.unsigned_abs();
        }
    }

    /// Returns the same plan, in which every term selects.
    #[must_use]
    pub(in crate::search) fn with_all_terms(&self) -> Self {
        Self { keep: self.terms.iter().map(|t| t.id).collect(), dropped_score_max: 0.0, ..self.clone() }
    }

    /// Returns the same plan with one idf, 1, for all terms: its scores do not depend on the rest of the index.
    #[must_use]
    pub(in crate::search) fn with_equal_idf(&self) -> Self {
        let equal = |term: &WeightedTerm| WeightedTerm { weight: term.asked, ..term.clone() };
        Self { terms: self.terms.iter().map(equal).collect(), ..self.clone() }.bounded()
    }

    /// Returns the same plan with more selecting terms, for the second statement; `None` if they would select too many
    /// chunks.
    #[must_use]
    pub(in crate::search) fn with_more_terms(&self) -> Option<Self> {
        let keep = rarest(&self.terms.iter().collect::<Vec<_>>(), SELECTED_AGAIN_MAX);
        (keep.len() > self.keep.len()).then(|| Self { keep, cut: false, ..self.clone() }.bounded())
    }

    /// Computes `dropped_score_max`.
    fn bounded(self) -> Self {
        let dropped: f32 = self.terms.iter().filter(|t| !self.keep.contains(&t.id)).map(|t| t.weight).sum();
        Self { dropped_score_max: FREQUENCY_PART_MAX * dropped, ..self }
    }
}

/// Decides the comparison of vectors.
pub(in crate::search) fn vector_path(counts: Counts, settings: &config::Search) -> VectorPath {
    let Counts { vectors_in_filter: within, vectors: all, .. } = counts;
    if !counts.embedded || within == 0 {
        VectorPath::None
    } else if within <= settings.exact_rows_max
        || is_exact_cheaper(within, all, settings.exact_rows_max)
        || !counts.vectors_indexed
    {
        // Postgres' planner would use HNSW for selective filters as well, with a lower recall.
        VectorPath::Exact
    } else {
        VectorPath::Hnsw(ef_search(all, settings.ef_search))
    }
}

/// Returns whether comparing all vectors within a filter costs less than an HNSW scan that tests each candidate: the
/// former cost grows with the vectors that pass, the latter with those that do not. Measured at 100,000 vectors, both
/// costs are equal if a quarter of `rows_max` passes.
fn is_exact_cheaper(within: u64, all: u64, rows_max: u64) -> bool {
    within < all && within.saturating_mul(within) <= (rows_max / 4).saturating_mul(all)
}

/// Returns `ef_search` for the number of vectors: a larger graph needs a higher value for the same recall.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of candidates, rounded"
)]
fn ef_search(all: u64, base: u32) -> u32 {
    let times = (all as f64 / EF_SEARCH_ENOUGH_FOR as f64).max(1.0);
    (f64::from(base) * times.powf(EF_SEARCH_GROWTH)).round() as u32
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
    use languages::terms::query_terms;
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
            exact_top_default: 50,
            exact_top_max: 1000,
            exact_matches_max: 10_000,
            exact_counted_max: 2000,
            exact_candidates_max: 200_000,
            exact_scan_ms: 3000,
        }
    }

    fn term(id: i32) -> QueryTerm {
        QueryTerm { id, weight: 1.0, term: format!("t{id}") }
    }

    fn counts(vectors: u64) -> Counts {
        let vectors_in_filter = vectors;
        Counts {
            statistics_chunks: 1000,
            vectors_in_filter,
            vectors,
            vectors_indexed: true,
            embedded: true,
            counts_lag: false,
        }
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

    fn lexical_plan(ids: &[i32]) -> LexicalPlan {
        let terms: Vec<_> = ids.iter().map(|id| term(*id)).collect();
        plan(&terms, &frequency, counts(10), &settings(), &Ranking::default()).lexical
    }

    #[test]
    fn common_terms_score_but_do_not_select() {
        let lexical = lexical_plan(&[4, 1, 2]);
        assert_eq!(lexical.keep, [1, 2]);
        assert_eq!(lexical.terms.len(), 3);
        assert!(lexical.dropped_score_max > 0.0);
    }

    #[test]
    fn with_only_common_terms_the_rarest_selects() {
        assert_eq!(lexical_plan(&[4, 3]).keep, [3]);
        assert_eq!(lexical_plan(&[4, 3, 9]).keep, [3, 9]);
    }

    #[test]
    fn in_a_large_project_terms_select_a_bounded_number_of_chunks() {
        let terms: Vec<_> = (1..=6).map(term).collect();
        let frequency = |id: i32| [2, 5_000, 6_000, 12_000, 300_000, 0][usize::try_from(id - 1).unwrap()];
        // The two rarest terms occur in 5,002 chunks, within the limit.
        let large = Counts { statistics_chunks: 1_000_000, ..counts(10) };
        let lexical = plan(&terms, &frequency, large, &settings(), &Ranking::default()).lexical;
        assert_eq!(lexical.keep, [1, 2, 6]);
        assert!(lexical.cut && lexical.is_exact(&[0.1, 0.1], 2) && !lexical.is_exact(&[0.1], 2));
        let more = lexical.with_more_terms().unwrap();
        assert_eq!(more.keep, [1, 2, 3, 4, 6]);
        assert!(more.dropped_score_max > 0.0 && more.dropped_score_max < lexical.dropped_score_max);
        assert_eq!(more.with_more_terms(), None);
        let common = plan(&terms[4..5], &frequency, large, &settings(), &Ranking::default()).lexical;
        assert_eq!((common.keep.as_slice(), common.with_more_terms()), ([5].as_slice(), None));
    }

    #[test]
    fn an_answer_is_exact_if_the_last_score_exceeds_the_bound_of_dropped_chunks() {
        let lexical = lexical_plan(&[1, 4]);
        let limit = lexical.dropped_score_max;
        assert!(lexical.is_exact(&[9.0, limit], 2));
        assert!(!lexical.is_exact(&[9.0, limit * 0.99], 2));
        assert!(!lexical.is_exact(&[9.0], 2), "fewer rows than wanted prove nothing");
        assert!(lexical.with_all_terms().is_exact(&[], 2));
        assert!(lexical_plan(&[1, 2]).is_exact(&[], 2));
    }

    #[test]
    fn the_row_count_decides_the_vector_path() {
        let path = |c: Counts| vector_path(c, &settings());
        assert_eq!(path(counts(20_000)), VectorPath::Exact);
        assert_eq!(path(counts(20_001)), VectorPath::Hnsw(100));
        assert_eq!(path(Counts { vectors_indexed: false, ..counts(90_000) }), VectorPath::Exact);
        assert_eq!(path(Counts { embedded: false, ..counts(9) }), VectorPath::None);
        assert_eq!(path(counts(0)), VectorPath::None);
    }

    #[test]
    fn in_larger_projects_filters_with_more_vectors_are_compared_exactly() {
        let path =
            |within, all| vector_path(Counts { vectors_in_filter: within, ..counts(all) }, &settings());
        assert_eq!(path(30_000, 1_000_000), VectorPath::Exact);
        assert_eq!(path(30_000, 100_000), VectorPath::Hnsw(132));
        assert_eq!(path(100_000, 1_000_000), VectorPath::Hnsw(331));
        assert_eq!(path(1_000_000, 1_000_000), VectorPath::Hnsw(331));
    }

    #[test]
    fn a_long_text_keeps_a_bounded_number_of_terms() {
        let text: String = (0..200).map(|i| format!("word{i} ")).collect();
        let plan = plan(&query_terms(&text, None), &|_| 1, counts(1), &settings(), &Ranking::default());
        assert_eq!(plan.lexical.terms.len(), Ranking::default().terms_max);
    }

    #[test]
    fn a_term_that_lagging_counts_do_not_know_is_neither_dropped_first_nor_absent() {
        let ids: Vec<i32> = (1..=30).collect();
        let terms: Vec<_> = ids.iter().map(|id| term(*id)).collect();
        let few = Ranking { terms_max: 3, ..Ranking::default() };
        let planned = |counts_lag| {
            plan(&terms, &frequency, Counts { counts_lag, ..counts(10) }, &settings(), &few).lexical
        };
        let exact = planned(false);
        assert_eq!(exact.terms.iter().map(|term| term.id).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(exact.uncounted().is_empty());
        let mut lagging = planned(true);
        assert_eq!(lagging.uncounted(), [5, 6, 7], "the rarest terms, whose counts are unknown");
        lagging.count(&[(6, 2)]);
        assert_eq!(lagging.terms.iter().map(|term| term.chunks).collect::<Vec<_>>(), [0, 2, 0]);
    }

    proptest! {
        #[test]
        fn plans_are_sound(ids in proptest::collection::vec(1_i32..8, 0..8)) {
            let lexical = lexical_plan(&ids);
            prop_assert!(lexical.terms.windows(2).all(|pair| pair[0].id < pair[1].id));
            prop_assert!(lexical.terms.iter().all(|t| t.weight > 0.0));
            prop_assert!(lexical.keep.iter().all(|id| lexical.terms.iter().any(|t| t.id == *id)));
            prop_assert!(lexical.keep.is_empty() == lexical.terms.is_empty());
        }
    }
}
