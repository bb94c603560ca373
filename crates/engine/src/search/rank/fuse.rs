//! Fuses the candidates of two retrievers: the scores of each are normalised to 0 ..= 1 over its own list, then weighted.
//!
//! Lexical scores become shares of the best one, because BM25 has a natural zero: no word in common. Cosine similarities have no such zero,
//! even between unrelated texts, so their range is stretched; and so is that of BM25 for an issue, because all chunks share words with it.
//!
//! Fusing scores instead of ranks was worth +0.006 NDCG@10 when measured: scores preserve *how much* better the first candidate of a
//! retriever is.

use std::collections::BTreeMap;

/// Chunk ids found by one retriever, each with its raw score (BM25 or cosine); higher is better.
pub(in crate::search) type Retrieved = Vec<(i64, f32)>;

/// One candidate.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::search) struct Fused {
    /// The chunk.
    pub chunk_id: i64,
    /// BM25, normalised to 0 ..= 1; 0 if the lexical retriever did not find the chunk.
    pub lexical: f32,
    /// Cosine similarity, normalised to 0 ..= 1; 0 if the dense retriever did not find the chunk.
    pub dense: f32,
    /// Weight of `dense` in `score`; 0 if there are no dense candidates.
    pub dense_weight: f32,
    /// Weighted sum of `lexical` and `dense`.
    pub score: f32,
}

/// Fuses two lists; if one is empty, only the other one counts. `issue` is the degree, 0 to 1, to which the query is a long text. The
/// result is ordered by chunk id.
#[must_use]
pub(in crate::search) fn fuse(
    lexical: &[(i64, f32)],
    dense: &[(i64, f32)],
    dense_weight: f32,
    issue: f32,
) -> Vec<Fused> {
    let low = lowest(lexical);
    sum(
        normalised(lexical, if low > 0.0 { issue * low } else { low }),
        normalised(dense, lowest(dense)),
        weight(lexical, dense, dense_weight),
    )
}

/// As [`fuse`], for scores that are shares of 1 already: they stay comparable with those of other lists, whose ranges differ.
#[must_use]
pub(in crate::search) fn fuse_shares(
    lexical: &[(i64, f32)],
    dense: &[(i64, f32)],
    dense_weight: f32,
) -> Vec<Fused> {
    let shares = |(chunk_id, score): &(i64, f32)| (*chunk_id, score.max(0.0));
    let weight = weight(lexical, dense, dense_weight);
    sum(lexical.iter().map(shares), dense.iter().map(shares), weight)
}

fn weight(lexical: &[(i64, f32)], dense: &[(i64, f32)], dense_weight: f32) -> f32 {
    match (lexical.is_empty(), dense.is_empty()) {
        (_, true) => 0.0,
        (true, false) => 1.0,
        (false, false) => dense_weight,
    }
}

fn sum(
    lexical: impl Iterator<Item = (i64, f32)>,
    dense: impl Iterator<Item = (i64, f32)>,
    dense_weight: f32,
) -> Vec<Fused> {
    let mut found: BTreeMap<i64, (f32, f32)> = BTreeMap::new();
    for (chunk_id, score) in lexical {
        let entry = found.entry(chunk_id).or_default();
        entry.0 = entry.0.max(score);
    }
    for (chunk_id, score) in dense {
        let entry = found.entry(chunk_id).or_default();
        entry.1 = entry.1.max(score);
    }
    let fused = |(chunk_id, (lexical, dense)): (i64, (f32, f32))| {
        let score = (1.0 - dense_weight) * lexical + dense_weight * dense;
        Fused { chunk_id, lexical, dense, dense_weight, score }
    };
    found.into_iter().map(fused).collect()
}

/// Normalises scores to 0 ..= 1 between `low` and the best score; if there is nothing between them, each becomes 1.
fn normalised(retrieved: &[(i64, f32)], low: f32) -> impl Iterator<Item = (i64, f32)> {
    let spread = retrieved.iter().map(|(_, score)| *score).fold(f32::NEG_INFINITY, f32::max) - low;
    retrieved.iter().map(move |(chunk_id, score)| {
        let share = if spread > f32::EPSILON { ((score - low) / spread).max(0.0) } else { 1.0 };
        (*chunk_id, share)
    })
}

fn lowest(retrieved: &[(i64, f32)]) -> f32 {
    retrieved.iter().map(|(_, score)| *score).fold(f32::INFINITY, f32::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn weighs_the_retrievers() {
        let fused = fuse(&[(1, 10.0), (2, 5.0), (3, 0.0)], &[(3, 0.9), (1, 0.4)], 0.5, 0.0);
        let scores: Vec<_> = fused.iter().map(|f| (f.chunk_id, f.score)).collect();
        assert_eq!(scores, [(1, 0.5), (2, 0.25), (3, 0.5)]);
    }

    #[test]
    fn words_count_from_zero_and_in_an_issue_from_the_worst_candidate() {
        let lexical = |issue: f32| fuse(&[(1, 10.0), (2, 8.0), (3, 5.0)], &[], 0.5, issue);
        let scores = |fused: Vec<Fused>| fused.iter().map(|f| f.score).collect::<Vec<f32>>();
        assert_eq!(scores(lexical(0.0)), [1.0, 0.8, 0.5]);
        assert_eq!(scores(lexical(1.0)), [1.0, 0.6, 0.0]);
    }

    #[test]
    fn one_retriever_alone_has_full_weight() {
        assert_eq!(fuse(&[(1, 2.0), (2, 1.0)], &[], 0.5, 0.0)[0].score, 1.0);
        assert_eq!(fuse(&[], &[(1, 2.0), (2, 1.0)], 0.5, 0.0)[0].score, 1.0);
        assert_eq!(fuse(&[(7, 3.0)], &[], 0.5, 0.0)[0].score, 1.0);
        assert!(fuse(&[], &[], 0.5, 0.0).is_empty());
    }

    fn retrieved() -> impl Strategy<Value = Retrieved> {
        proptest::collection::btree_map(0_i64..40, -5.0_f32..50.0, 0..20)
            .prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn the_order_of_retrieved_chunks_does_not_matter(lexical in retrieved(), dense in retrieved(), weight in 0.0_f32..1.0) {
            let (mut lexical_reversed, mut dense_reversed) = (lexical.clone(), dense.clone());
            lexical_reversed.reverse();
            dense_reversed.reverse();
            let reversed = fuse(&lexical_reversed, &dense_reversed, weight, 0.0);
            prop_assert_eq!(fuse(&lexical, &dense, weight, 0.0), reversed);
        }

        #[test]
        fn scores_stay_between_0_and_1_and_no_chunk_is_lost(lexical in retrieved(), dense in retrieved(), weight in 0.0_f32..1.0) {
            let fused = fuse(&lexical, &dense, weight, 0.0);
            prop_assert!(fused.iter().all(|f| (0.0..=1.000_001).contains(&f.score)));
            for (chunk_id, _) in lexical.iter().chain(&dense) {
                prop_assert!(fused.iter().any(|f| f.chunk_id == *chunk_id));
            }
        }

        #[test]
        fn the_order_of_raw_scores_is_kept(lexical in retrieved()) {
            let fused = fuse(&lexical, &[], 0.5, 0.0);
            let score = |id: i64| fused.iter().find(|f| f.chunk_id == id).map_or(0.0, |f| f.score);
            for (a, score_a) in &lexical {
                for (b, score_b) in &lexical {
                    prop_assert!(score_a < score_b || score(*a) >= score(*b));
                }
            }
        }
    }
}
