//! Instructions that say the same in different words: pairs whose vectors are close.

use schemars::JsonSchema;
use serde::Serialize;

use super::refresh::is_pending;
use crate::app::blocking;
use crate::catalog::{RECORDS_ROOT, entry_id_of_path};
use crate::tools::Call;
use contract::{Fault, Warning};
use store::{Access, Project, ProjectTx, vectors};

/// Cosine from which two texts count as the same rule.
const SIMILARITY_MIN: f32 = 0.86;
/// Chunks that are compared with one another; of a catalog with 10,000 entries of one chunk, all are.
const CHUNKS_MAX: i64 = 12_000;
/// Pairs of an answer.
const PAIRS_MAX: usize = 200;

/// Two entries that say nearly the same.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct SimilarPair {
    /// Their ids.
    ids: [String; 2],
    /// Cosine of their vectors, at most 1.
    similarity: f64,
}

/// The pairs of entries that say nearly the same, most similar first.
pub(super) async fn similar_pairs(call: &Call, project: &Project) -> Result<Vec<SimilarPair>, Fault> {
    if is_pending(call, project).await? {
        let message = "Entries were changed and are being indexed; pairs with them may be missing.";
        call.warn(Warning::new("index_pending", message));
    }
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Snapshot).await?;
    let rows = vectors::of_root(&mut tx, RECORDS_ROOT, CHUNKS_MAX).await?;
    tx.commit().await?;
    let cancel = call.cancel.clone();
    let pairs = blocking(move || {
        let chunks: Vec<(&str, &[f32])> = rows
            .iter()
            .filter_map(|(path, vector)| Some((entry_id_of_path(path)?, vector.as_slice())))
            .collect();
        Ok(close_pairs(&chunks, &|| cancel.is_cancelled()))
    });
    pairs.await
}

/// The pairs of different ids with close vectors; of an id with several vectors, the closest counts.
fn close_pairs(chunks: &[(&str, &[f32])], must_stop: &dyn Fn() -> bool) -> Vec<SimilarPair> {
    let mut pairs: Vec<SimilarPair> = Vec::new();
    for (at, (id, vector)) in chunks.iter().enumerate() {
        if must_stop() {
            break;
        }
        for (other, other_vector) in &chunks[at + 1..] {
            let similarity = dot(vector, other_vector);
            if similarity >= SIMILARITY_MIN && id != other {
                let similarity = (f64::from(similarity.min(1.0)) * 1e4).round() / 1e4;
                pairs.push(SimilarPair { ids: [(*id).to_owned(), (*other).to_owned()], similarity });
            }
        }
        // A catalog of copies of one text has as many pairs as there are.
        if pairs.len() > 4 * PAIRS_MAX {
            keep_best(&mut pairs);
        }
    }
    keep_best(&mut pairs);
    pairs
}

fn keep_best(pairs: &mut Vec<SimilarPair>) {
    pairs.sort_by(|one, other| {
        other.similarity.total_cmp(&one.similarity).then_with(|| one.ids.cmp(&other.ids))
    });
    let mut seen = std::collections::HashSet::new();
    pairs.retain(|pair| seen.insert(pair.ids.clone()));
    pairs.truncate(PAIRS_MAX);
}

/// The inner product, in parts that the compiler computes side by side.
fn dot(one: &[f32], other: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let (ones, others) = (one.chunks_exact(LANES), other.chunks_exact(LANES));
    let rest: f32 = ones.remainder().iter().zip(others.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in ones.zip(others) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_those_of_different_entries_best_first() {
        let unit = |angle: f32| vec![angle.cos(), angle.sin()];
        let (a, a2, b, c) = (unit(0.0), unit(0.1), unit(0.3), unit(1.5));
        let chunks = [("a", &a[..]), ("a", &a2[..]), ("b", &b[..]), ("c", &c[..])];
        let pairs = close_pairs(&chunks, &|| false);
        assert_eq!(pairs.len(), 1, "{pairs:?}");
        assert_eq!((pairs[0].ids[0].as_str(), pairs[0].ids[1].as_str()), ("a", "b"));
        assert!(
            (pairs[0].similarity - f64::from((0.2_f32).cos())).abs() < 1e-3,
            "the closest of its vectors"
        );
    }

    #[test]
    fn the_inner_product_is_exact_for_every_length() {
        for length in [0, 1, 15, 16, 17, 384] {
            let ones = vec![1.0; length];
            let twos = vec![2.0; length];
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let expected = 2.0 * length as f32;
            assert!((dot(&ones, &twos) - expected).abs() < 1e-3, "{length}");
        }
    }

    #[test]
    fn a_catalog_of_copies_is_bounded() {
        let same = [1.0, 0.0];
        let ids: Vec<String> = (0..300).map(|at| format!("e{at}")).collect();
        let chunks: Vec<(&str, &[f32])> = ids.iter().map(|id| (id.as_str(), &same[..])).collect();
        assert_eq!(close_pairs(&chunks, &|| false).len(), PAIRS_MAX);
    }
}
