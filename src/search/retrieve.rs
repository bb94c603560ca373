//! The two legs: wide candidates by words and by meaning, each with its score from the other leg, too.

use std::collections::HashSet;

use super::fuse::Leg;
use super::plan::{LexicalPlan, VectorPath};
use super::ranking::Ranking;
use crate::contract::Fault;
use crate::store::{LexicalHit, LexicalQuery, Reads, VectorHit, Within, Words};

/// The best chunks by BM25. Terms that stand in many chunks do not choose at first; when that could have cost
/// a good candidate, all terms choose.
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
    let hits = reads.by_words(words, within, &lexical_query(&plan.with_all_terms()), limit).await?;
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

/// Gives each candidate of one leg its score in the other: being absent from a list of 200 is not being unlike. The
/// first of `sources` that has words of a chunk speaks for it.
pub(super) async fn complete(
    reads: &mut Reads,
    plan: &LexicalPlan,
    sources: &[Words],
    question: Option<&[f32]>,
    words: &mut Leg,
    meaning: &mut Leg,
) -> Result<(), Fault> {
    let Some(question) = question.filter(|_| !meaning.is_empty()) else { return Ok(()) };
    let mut only_meaning = absent(meaning, words);
    let only_words = absent(words, meaning);
    for source in sources {
        if !only_meaning.is_empty() && !plan.terms.is_empty() {
            let scores = reads.word_scores(*source, &lexical_query(plan), &only_meaning).await?;
            only_meaning.retain(|id| scores.iter().all(|score| score.chunk_id != *id));
            words.extend(scores.iter().map(lexical_score));
        }
    }
    if !only_words.is_empty() {
        let scores = reads.similarities(question, &only_words).await?;
        meaning.extend(scores.iter().map(vector_score));
    }
    Ok(())
}

/// Chunks of `leg` that `other` does not have.
fn absent(leg: &Leg, other: &Leg) -> Vec<i64> {
    let known: HashSet<i64> = other.iter().map(|(chunk_id, _)| *chunk_id).collect();
    leg.iter().map(|(chunk_id, _)| *chunk_id).filter(|chunk_id| !known.contains(chunk_id)).collect()
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
