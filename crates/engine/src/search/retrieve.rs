//! The two retrievers: lexical (BM25) and dense (vectors). Each finds wide candidates; each candidate then gets the score of
//! the other retriever as well.

use std::collections::HashSet;

use super::fuse::Retrieved;
use super::plan::{LexicalPlan, Plan, VectorPath};
use super::ranking::Ranking;
use contract::{Fault, config};
use store::{Candidate, Completion, LexicalHit, LexicalQuery, LexicalSource, Reads, VectorHit, Within};

/// The best chunks by BM25 from each of `sources`, and those of them that are candidates of a first page
/// (`search.candidates` of each source).
///
/// Terms that occur in many chunks do not select candidates at first; if that could have cost a good one, a second
/// statement selects by more terms.
pub(super) async fn lexical<'w>(
    reads: &mut Reads,
    sources: impl Iterator<Item = (LexicalSource, &'w Within)>,
    plan: &Plan,
    ranking: &Ranking,
    settings: &config::Search,
) -> Result<(Retrieved, HashSet<i64>), Fault> {
    let (mut all, mut near) = (Retrieved::new(), HashSet::new());
    let limit = sql_limit(plan.candidates);
    for (source, within) in sources.filter(|_| !plan.lexical.terms.is_empty()) {
        // Few of the listed chunks contain the rare terms, and all of them are cheap to score: one statement is enough.
        let is_listed = matches!(within, Within::These(_));
        let query = if is_listed {
            lexical_query(&plan.lexical.with_all_terms())
        } else {
            lexical_query(&plan.lexical)
        };
        let mut hits = reads.lexical_hits(source, within, &query, limit).await?;
        let scores: Vec<f32> = hits.iter().map(|hit| lexical_score(hit).1).collect();
        if !is_listed
            && !plan.lexical.is_exact(&scores, ranking.lexical_exact_rows)
            && let Some(more) = plan.lexical.with_more_terms()
        {
            hits = reads.lexical_hits(source, within, &lexical_query(&more), limit).await?;
        }
        let found: Retrieved = hits.iter().map(lexical_score).collect();
        near.extend(chunk_ids(&found).take(settings.candidates));
        all.extend(found);
    }
    Ok((all, near))
}

/// Dense candidates where a filter lets many chunks through: each one that it rejects costs a step through the HNSW graph.
const TESTED_CANDIDATES_MAX: i64 = 100;

/// The chunks whose vectors are nearest to `vector`, with their cosine similarity.
pub(super) async fn dense(
    reads: &mut Reads,
    within: &Within,
    path: VectorPath,
    vector: &[f32],
    limit: usize,
) -> Result<Retrieved, Fault> {
    let limit = sql_limit(limit);
    let hits = match path {
        VectorPath::None => Vec::new(),
        VectorPath::Exact => reads.vector_hits(within, vector, limit).await?,
        VectorPath::Hnsw(ef_search) => {
            let tested = matches!(within, Within::Where(_));
            let limit = if tested { limit.min(TESTED_CANDIDATES_MAX) } else { limit };
            reads.vector_hits_hnsw(within, vector, limit, ef_search).await?
        }
    };
    Ok(hits.iter().map(dense_score).collect())
}

/// Reads what the ranking needs of all candidates, and adds to each retriever's list the scores of the candidates that only
/// the other one found: a chunk that is absent from a list is not dissimilar. Chunks found by name alone (`named`) get both
/// scores. Of the lexical scores, the one of the first of `sources` that has the chunk counts.
pub(super) async fn complete_scores(
    reads: &mut Reads,
    plan: &LexicalPlan,
    sources: &[LexicalSource],
    vector: Option<&[f32]>,
    lexical: &mut Retrieved,
    dense: &mut Retrieved,
    named: &[i64],
) -> Result<Vec<Candidate>, Fault> {
    // If only one retriever answered, there is nothing to complete.
    let vector = vector.filter(|_| !dense.is_empty());
    let missing = MissingScores::new(lexical, dense, named, vector.is_some(), !plan.terms.is_empty());
    if missing.ids.is_empty() {
        return Ok(Vec::new());
    }
    let completion = Completion {
        ids: &missing.ids,
        needs_lexical: &missing.lexical,
        needs_similarity: &missing.dense,
        sources,
        words: &lexical_query(plan),
        query_vector: vector,
    };
    let candidates = reads.candidates(&completion).await?;
    for candidate in &candidates {
        let (chunk_id, file_id) = (candidate.id, candidate.file_id);
        lexical
            .extend(candidate.lexical.map(|score| lexical_score(&LexicalHit { chunk_id, file_id, score })));
        let near = candidate.similarity.map(|similarity| VectorHit { chunk_id, file_id, similarity });
        dense.extend(near.as_ref().map(dense_score));
    }
    // A chunk with the queried name stays a candidate even if it contains none of the terms.
    let scored: HashSet<i64> = chunk_ids(lexical).chain(chunk_ids(dense)).collect();
    lexical.extend(named.iter().filter(|id| !scored.contains(id)).map(|id| (*id, 0.0)));
    Ok(candidates)
}

/// The ids of retrieved chunks, in their order.
pub(super) fn chunk_ids(retrieved: &Retrieved) -> impl Iterator<Item = i64> {
    retrieved.iter().map(|(chunk_id, _)| *chunk_id)
}

/// All candidates, and which of them lack the score of a retriever; parallel lists, ids sorted and unique.
#[derive(Debug, PartialEq)]
struct MissingScores {
    ids: Vec<i64>,
    lexical: Vec<bool>,
    dense: Vec<bool>,
}

impl MissingScores {
    fn new(lexical: &Retrieved, dense: &Retrieved, named: &[i64], has_vector: bool, has_terms: bool) -> Self {
        let in_lexical: HashSet<i64> = chunk_ids(lexical).collect();
        let in_dense: HashSet<i64> = chunk_ids(dense).collect();
        let mut ids: Vec<i64> = in_lexical.union(&in_dense).chain(named).copied().collect();
        ids.sort_unstable();
        ids.dedup();
        let lacks_lexical =
            |id: &i64| has_terms && !in_lexical.contains(id) && (has_vector || named.contains(id));
        Self {
            lexical: ids.iter().map(lacks_lexical).collect(),
            dense: ids.iter().map(|id| has_vector && !in_dense.contains(id)).collect(),
            ids,
        }
    }
}

fn lexical_query(plan: &LexicalPlan) -> LexicalQuery {
    LexicalQuery {
        terms: plan.terms.iter().map(|term| term.id).collect(),
        weights: plan.terms.iter().map(|term| term.weight).collect(),
        keep: plan.keep.clone(),
        // FTS5 does not have the field terms (`def:name`) that we add to BM25.
        words: plan.terms.iter().map(|term| term.term.clone()).filter(|term| !term.contains(':')).collect(),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "Postgres widens what was an f32")]
fn lexical_score(hit: &LexicalHit) -> (i64, f32) {
    (hit.chunk_id, hit.score as f32)
}

#[expect(clippy::cast_possible_truncation, reason = "a cosine needs no more digits than its vectors have")]
fn dense_score(hit: &VectorHit) -> (i64, f32) {
    (hit.chunk_id, hit.similarity as f32)
}

fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_one_retriever_lacks_are_completed() {
        let (lexical, dense) = (vec![(3, 1.0), (1, 0.5)], vec![(2, 0.9), (3, 0.8)]);
        let both = MissingScores::new(&lexical, &dense, &[], true, true);
        assert_eq!(both.ids, [1, 2, 3]);
        assert_eq!((both.lexical, both.dense), (vec![false, true, false], vec![true, false, false]));
        let no_terms = MissingScores::new(&Retrieved::new(), &dense, &[], true, false);
        assert_eq!((no_terms.ids, no_terms.lexical), (vec![2, 3], vec![false; 2]));
        let lexical_only = MissingScores::new(&lexical, &Retrieved::new(), &[1, 7], false, true);
        assert_eq!((lexical_only.ids, lexical_only.dense), (vec![1, 3, 7], vec![false; 3]));
        assert_eq!(lexical_only.lexical, [false, false, true], "found by its name alone");
    }
}
