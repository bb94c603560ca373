//! The two legs: wide candidates by words and by meaning, each with its score from the other leg, too.

use std::collections::HashSet;

use super::fuse::Leg;
use super::plan::{LexicalPlan, VectorPath};
use super::ranking::Ranking;
use contract::Fault;
use store::{Candidate, Completion, LexicalHit, LexicalQuery, Reads, VectorHit, Within, Words};

/// The best chunks by BM25. Terms that stand in many chunks do not choose at first; when that could have cost
/// a good candidate, more terms choose.
pub(super) async fn by_words(
    reads: &mut Reads,
    words: Words,
    within: &Within,
    plan: &LexicalPlan,
    limit: usize,
    ranking: &Ranking,
) -> Result<Leg, Fault> {
    if plan.terms.is_empty() {
        return Ok(Leg::new());
    }
    let limit = sql_limit(limit);
    // Among listed chunks few say the rare words, and all of them are cheap to score: one try is enough.
    if matches!(within, Within::These(_)) {
        let query = lexical_query(&plan.with_all_terms());
        let hits = reads.by_words(words, within, &query, limit).await?;
        return Ok(hits.iter().map(lexical_score).collect());
    }
    let hits = reads.by_words(words, within, &lexical_query(plan), limit).await?;
    let found: Leg = hits.iter().map(lexical_score).collect();
    let scores: Vec<f32> = found.iter().map(|(_, score)| *score).collect();
    if plan.is_exact(&scores, ranking.lexical_exact_rows) {
        return Ok(found);
    }
    let Some(more) = plan.with_more_terms() else { return Ok(found) };
    let hits = reads.by_words(words, within, &lexical_query(&more), limit).await?;
    Ok(hits.iter().map(lexical_score).collect())
}

/// Candidates by meaning where a filter lets much through.
const TESTED_CANDIDATES_MAX: i64 = 100;

/// The best chunks by likeness to the question.
pub(super) async fn by_meaning(
    reads: &mut Reads,
    within: &Within,
    path: VectorPath,
    question: &[f32],
    limit: usize,
) -> Result<Leg, Fault> {
    let limit = sql_limit(limit);
    let hits = match path {
        VectorPath::None => Vec::new(),
        VectorPath::Exact => reads.by_meaning(within, question, limit).await?,
        VectorPath::Hnsw(ef_search) => {
            // Each candidate that a filter throws away costs a step through the graph.
            let tested = matches!(within, Within::Where(_));
            let limit = if tested { limit.min(TESTED_CANDIDATES_MAX) } else { limit };
            reads.by_meaning_hnsw(within, question, limit, ef_search).await?
        }
    };
    Ok(hits.iter().map(vector_score).collect())
}

/// What the ranking knows of all candidates; and each candidate of one leg gets its score in the other: being absent from
/// a list is not being unlike. What was found by its name alone (`named`) is scored by both. The first of `sources` that has words of a chunk speaks for it.
pub(super) async fn complete(
    reads: &mut Reads,
    plan: &LexicalPlan,
    sources: &[Words],
    question: Option<&[f32]>,
    words: &mut Leg,
    meaning: &mut Leg,
    named: &[i64],
) -> Result<Vec<Candidate>, Fault> {
    // With one leg alone there is nothing to complete.
    let question = question.filter(|_| !meaning.is_empty());
    let wanted = Wanted::of(words, meaning, named, question.is_some(), !plan.terms.is_empty());
    if wanted.ids.is_empty() {
        return Ok(Vec::new());
    }
    let completion = Completion {
        ids: &wanted.ids,
        by_words: &wanted.by_words,
        by_meaning: &wanted.by_meaning,
        sources,
        words: &lexical_query(plan),
        question,
    };
    let candidates = reads.candidates(&completion).await?;
    for candidate in &candidates {
        let (chunk_id, file_id) = (candidate.id, candidate.file_id);
        words.extend(candidate.lexical.map(|score| lexical_score(&LexicalHit { chunk_id, file_id, score })));
        let near = candidate.similarity.map(|similarity| VectorHit { chunk_id, file_id, similarity });
        meaning.extend(near.as_ref().map(vector_score));
    }
    // What says none of the words is a candidate by its name all the same.
    let scored: HashSet<i64> = words.iter().chain(meaning.iter()).map(|(id, _)| *id).collect();
    words.extend(named.iter().filter(|id| !scored.contains(id)).map(|id| (*id, 0.0)));
    Ok(candidates)
}

/// All candidates, and which of them lack the score of a leg; parallel lists.
#[derive(Debug, PartialEq)]
struct Wanted {
    ids: Vec<i64>,
    by_words: Vec<bool>,
    by_meaning: Vec<bool>,
}

impl Wanted {
    fn of(words: &Leg, meaning: &Leg, named: &[i64], completed: bool, has_words: bool) -> Self {
        let ids = |leg: &Leg| leg.iter().map(|(chunk_id, _)| *chunk_id).collect::<HashSet<i64>>();
        let (said, near) = (ids(words), ids(meaning));
        let mut all: Vec<i64> = said.union(&near).chain(named).copied().collect();
        all.sort_unstable();
        all.dedup();
        let by_words = |id: &i64| has_words && !said.contains(id) && (completed || named.contains(id));
        Self {
            by_words: all.iter().map(by_words).collect(),
            by_meaning: all.iter().map(|id| completed && !near.contains(id)).collect(),
            ids: all,
        }
    }
}

fn lexical_query(plan: &LexicalPlan) -> LexicalQuery {
    LexicalQuery {
        terms: plan.terms.iter().map(|term| term.id).collect(),
        weights: plan.terms.iter().map(|term| term.weight).collect(),
        keep: plan.keep.clone(),
        // Fields such as `def:` are of our own words alone.
        words: plan.terms.iter().map(|term| term.term.clone()).filter(|term| !term.contains(':')).collect(),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "Postgres widens what was an f32")]
fn lexical_score(hit: &LexicalHit) -> (i64, f32) {
    (hit.chunk_id, hit.score as f32)
}

#[expect(clippy::cast_possible_truncation, reason = "a cosine needs no more digits than its vectors have")]
fn vector_score(hit: &VectorHit) -> (i64, f32) {
    (hit.chunk_id, hit.similarity as f32)
}

fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_leg_lacks_is_asked_for_where_both_answer() {
        let (words, meaning) = (vec![(3, 1.0), (1, 0.5)], vec![(2, 0.9), (3, 0.8)]);
        let both = Wanted::of(&words, &meaning, &[], true, true);
        assert_eq!(both.ids, [1, 2, 3]);
        assert_eq!((both.by_words, both.by_meaning), (vec![false, true, false], vec![true, false, false]));
        let silent = Wanted::of(&Leg::new(), &meaning, &[], true, false);
        assert_eq!((silent.ids, silent.by_words), (vec![2, 3], vec![false; 2]));
        let alone = Wanted::of(&words, &Leg::new(), &[1, 7], false, true);
        assert_eq!((alone.ids, alone.by_meaning), (vec![1, 3, 7], vec![false; 3]));
        assert_eq!(alone.by_words, [false, false, true], "found by its name alone");
    }
}
