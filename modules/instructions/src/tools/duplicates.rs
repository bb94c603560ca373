//! Instructions that say the same, or nearly: pairs with the same text, with nearly the same words, or with close vectors.
//!
//! The vectors are those of the search by meaning, which are made of title and text. Vectors do not distinguish a rule from its opposite.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::refresh::is_pending;
use crate::catalog::{RECORDS_ROOT, entry_id_of_path};
use contract::{Fault, Warning};
use gate::app::blocking;
use gate::tools::Call;
use instructions::duplicates::{Alike, AlikePair, alike};
use instructions::{Requirement, Stored};
use store::{Access, Project, ProjectTx, vectors};

/// Cosine from which two texts count as the same rule. Of the rules of the integration test `stale`, half of those that say the same in
/// other words and below other titles reach 0.79; those about one subject that say something else reach 0.72.
const SIMILARITY_MIN: f32 = 0.78;
/// Chunks that are compared with one another; of a catalog with 10,000 entries of one chunk, all are.
const CHUNKS_MAX: i64 = 12_000;
/// Pairs of an answer.
const PAIRS_MAX: usize = 200;

/// Two entries that say nearly the same, or contradict each other.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct SimilarPair {
    /// Their ids.
    ids: [String; 2],
    /// Their titles.
    titles: [String; 2],
    /// How similar they are, at most 1: what `by` says measured it.
    similarity: f64,
    /// What they share.
    by: Likeness,
}

/// What two entries share; the most certain kind comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Likeness {
    /// The text, but for white space.
    Text,
    /// Four of five words of their texts; the similarity is that part.
    Words,
    /// The direction of their vectors; the similarity is the cosine.
    Meaning,
}

/// A pair by its ids, in their order.
type Pairs = BTreeMap<[String; 2], (Likeness, f64)>;

/// The pairs of entries that say nearly the same, most similar first. Deprecated ones are left out: another has replaced them.
pub(super) async fn similar_pairs(
    call: &Call,
    project: &Project,
    mut entries: Vec<Stored>,
) -> Result<Vec<SimilarPair>, Fault> {
    entries.retain(|stored| stored.instruction.requirement != Requirement::Deprecated);
    let rows = match call.app.config.instructions.semantic {
        true => vectors(call, project).await?,
        false => {
            let message = "Entries were compared by their words only: they are not indexed, because `instructions.semantic` is off.";
            call.warn(Warning::new("not_compared_by_meaning", message));
            Vec::new()
        }
    };
    let cancel = call.cancel.clone();
    let compared = blocking(move || {
        let must_stop = || cancel.is_cancelled();
        let titles: HashMap<&str, &str> = entries
            .iter()
            .map(|stored| (stored.instruction.id.as_str(), stored.instruction.title.as_str()))
            .collect();
        let (mut pairs, is_complete) = alike_pairs(&entries, &must_stop);
        let chunks: Vec<(&str, &[f32])> = rows
            .iter()
            .filter_map(|(path, vector)| Some((entry_id_of_path(path)?, vector.as_slice())))
            .filter(|(id, _)| titles.contains_key(id))
            .collect();
        for (ids, similarity) in close_pairs(&chunks, &must_stop) {
            pairs.entry(ids).or_insert((Likeness::Meaning, similarity));
        }
        Ok((best(pairs, &titles), is_complete))
    });
    let (pairs, is_complete) = compared.await?;
    if !is_complete {
        let message = "There are too many pairs, or too many words to compare; pairs may be missing.";
        call.warn(Warning::new("pairs_left_out", message));
    }
    Ok(pairs)
}

/// The paths of the catalog's documents with the vectors of their chunks.
async fn vectors(call: &Call, project: &Project) -> Result<Vec<(String, Vec<f32>)>, Fault> {
    if is_pending(call, project).await? {
        let message = "Entries were changed and are being indexed; pairs with them may be missing.";
        call.warn(Warning::new("index_pending", message));
    }
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Snapshot).await?;
    let rows = vectors::of_root(&mut tx, RECORDS_ROOT, CHUNKS_MAX).await?;
    tx.commit().await?;
    Ok(rows)
}

/// The pairs that share their text or most words, and whether all were compared.
fn alike_pairs(entries: &[Stored], must_stop: &dyn Fn() -> bool) -> (Pairs, bool) {
    let texts: Vec<&str> = entries.iter().map(|stored| stored.instruction.body.as_str()).collect();
    let Alike { pairs, is_complete } = alike(&texts, PAIRS_MAX, must_stop);
    let id = |place: usize| entries[place].instruction.id.as_str();
    let pairs = pairs.into_iter().map(|AlikePair { places: (one, other), share, is_same }| {
        let by = if is_same { Likeness::Text } else { Likeness::Words };
        (in_order(id(one), id(other)), (by, rounded(share)))
    });
    (pairs.collect(), is_complete)
}

fn in_order(one: &str, other: &str) -> [String; 2] {
    [one.min(other).to_owned(), one.max(other).to_owned()]
}

fn rounded(similarity: f64) -> f64 {
    (similarity.min(1.0) * 1e4).round() / 1e4
}

/// The most similar pairs with their titles; of equally similar ones, the most certain first.
fn best(pairs: Pairs, titles: &HashMap<&str, &str>) -> Vec<SimilarPair> {
    let title = |id: &str| titles.get(id).copied().unwrap_or_default().to_owned();
    let mut pairs: Vec<SimilarPair> = pairs
        .into_iter()
        .map(|(ids, (by, similarity))| {
            let titles = [title(&ids[0]), title(&ids[1])];
            SimilarPair { ids, titles, similarity, by }
        })
        .collect();
    pairs.sort_by(|one, other| {
        other.similarity.total_cmp(&one.similarity).then(one.by.cmp(&other.by)).then(one.ids.cmp(&other.ids))
    });
    pairs.truncate(PAIRS_MAX);
    pairs
}

/// A pair of ids in their order, and the cosine of their vectors.
type ClosePair = ([String; 2], f64);

/// The pairs of different ids with close vectors; of an id with several vectors, the closest counts.
fn close_pairs(chunks: &[(&str, &[f32])], must_stop: &dyn Fn() -> bool) -> Vec<ClosePair> {
    // In the order of ids, so that of equally close pairs those to keep come first.
    let mut chunks = chunks.to_vec();
    chunks.sort_by_key(|(id, _)| *id);
    let mut pairs: Vec<ClosePair> = Vec::new();
    // The last of the pairs to keep, once there are enough: a catalog of copies of one text has millions of others.
    let mut last: Option<ClosePair> = None;
    for (at, (id, vector)) in chunks.iter().enumerate() {
        if must_stop() {
            break;
        }
        for (other, other_vector) in &chunks[at + 1..] {
            let similarity = dot(vector, other_vector);
            if similarity < SIMILARITY_MIN || id == other {
                continue;
            }
            let similarity = rounded(f64::from(similarity));
            let is_kept = last.as_ref().is_none_or(|(ids, least)| {
                let order = similarity.total_cmp(least);
                order.then_with(|| ids.each_ref().map(String::as_str).cmp(&[*id, *other])).is_gt()
            });
            if !is_kept {
                continue;
            }
            pairs.push((in_order(id, other), similarity));
            if pairs.len() > 4 * PAIRS_MAX {
                keep_best(&mut pairs);
                last = pairs.get(PAIRS_MAX - 1).cloned();
            }
        }
    }
    keep_best(&mut pairs);
    pairs
}

fn keep_best(pairs: &mut Vec<ClosePair>) {
    pairs.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let mut seen = std::collections::HashSet::new();
    pairs.retain(|(ids, _)| seen.insert(ids.clone()));
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
        assert_eq!(pairs[0].0, ["a", "b"]);
        assert!((pairs[0].1 - f64::from((0.2_f32).cos())).abs() < 1e-3, "the closest of its vectors");
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

    #[test]
    fn of_many_copies_the_first_pairs_are_kept() {
        let ids: Vec<String> = (0..1500).map(|at| format!("e{at:04}")).collect();
        let chunks: Vec<(&str, &[f32])> = ids.iter().map(|id| (id.as_str(), &[1.0, 0.0][..])).collect();
        let mut pairs = close_pairs(&chunks, &|| false);
        assert_eq!(pairs.len(), PAIRS_MAX);
        let last = pairs.pop().map(|(ids, _)| ids);
        assert_eq!(last, Some(["e0000".to_owned(), format!("e{PAIRS_MAX:04}")]));
    }
}
