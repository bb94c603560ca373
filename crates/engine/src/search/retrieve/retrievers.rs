//! The statements of the two retrievers, lexical (BM25) and dense (vectors), and the meaning of their scores.

use std::collections::HashSet;

use crate::search::filters::scope::Selections;
use crate::search::rank::fuse::Retrieved;
use crate::search::retrieve::plan::{LexicalPlan, VectorPath};
use crate::search::retrieve::ties::Cuts;
use contract::Fault;
use store::{Candidate, ChunkSelection, LexicalHit, LexicalQuery, Reads, VectorHit};

/// Returns the lexical scores of candidates with an equal idf for all terms, as shares of the score of a chunk of average length that
/// contains each term of the query once. Such shares are comparable between repositories in which the same term is rare or common.
pub(in crate::search) fn equal_idf_shares(plan: &LexicalPlan, candidates: &[Candidate]) -> Retrieved {
    let whole: f32 = plan.terms.iter().map(|term| term.asked).sum();
    let share = |candidate: &Candidate| {
        let (chunk_id, file_id) = (candidate.id, candidate.file_id);
        let score = lexical_score(&LexicalHit { chunk_id, file_id, score: candidate.other.unwrap_or(0.0) }).1;
        (chunk_id, if whole > 0.0 { score / whole } else { 0.0 })
    };
    candidates.iter().map(share).collect()
}

/// Returns the best chunks of a selection by BM25 with an equal idf for all terms, best first.
pub(in crate::search) async fn equal_idf_hits(
    reads: &mut Reads,
    selected: &Selections,
    plan: &LexicalPlan,
    limit: usize,
) -> Result<Retrieved, Fault> {
    let (query, mut all) = (lexical_query(&plan.with_equal_idf()), Retrieved::new());
    for (source, selection) in selected.sources().filter(|_| !plan.terms.is_empty()) {
        let hits = reads.lexical_hits(source, selection, &query, sql_limit(limit)).await?;
        all.extend(hits.iter().map(lexical_score));
    }
    Ok(all)
}

/// Maximum number of dense candidates with a filter that is tested during the HNSW scan: each rejected chunk costs a step through the
/// graph.
const TESTED_CANDIDATES_MAX: i64 = 100;

/// Returns the chunks whose vectors are nearest to `vector`, with their cosine similarity.
pub(in crate::search) async fn dense(
    reads: &mut Reads,
    selection: &ChunkSelection,
    path: VectorPath,
    vector: &[f32],
    cuts: Cuts,
) -> Result<Retrieved, Fault> {
    let scores = |hits: Vec<VectorHit>| hits.iter().map(dense_score).collect::<Retrieved>();
    match path {
        VectorPath::None => Ok(Retrieved::new()),
        VectorPath::Exact => {
            let mut found = scores(reads.vector_hits(selection, vector, sql_limit(cuts.read())).await?);
            if let Some(more) = cuts.read_again(&found) {
                found = scores(reads.vector_hits(selection, vector, sql_limit(more)).await?);
            }
            cuts.cut(reads, found).await
        }
        VectorPath::Hnsw(ef_search) => {
            let (tested, limit) = (matches!(selection, ChunkSelection::Matching(_)), sql_limit(cuts.all));
            let limit = if tested { limit.min(TESTED_CANDIDATES_MAX) } else { limit };
            Ok(scores(reads.vector_hits_hnsw(selection, vector, limit, ef_search).await?))
        }
    }
}

/// Returns the ids of retrieved chunks, in their order.
pub(in crate::search) fn chunk_ids(retrieved: &Retrieved) -> impl Iterator<Item = i64> {
    retrieved.iter().map(|(chunk_id, _)| *chunk_id)
}

/// All candidates, each with whether it lacks the score of a retriever. Parallel lists, sorted by unique id.
#[derive(Debug, PartialEq)]
pub(in crate::search) struct MissingScores {
    pub(in crate::search) ids: Vec<i64>,
    pub(in crate::search) lexical: Vec<bool>,
    pub(in crate::search) dense: Vec<bool>,
}

impl MissingScores {
    pub(in crate::search) fn new(
        lexical: &Retrieved,
        dense: &Retrieved,
        named: &[i64],
        has_vector: bool,
        has_terms: bool,
    ) -> Self {
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

pub(in crate::search) fn lexical_query(plan: &LexicalPlan) -> LexicalQuery {
    LexicalQuery {
        terms: plan.terms.iter().map(|term| term.id).collect(),
        weights: plan.terms.iter().map(|term| term.weight).collect(),
        keep: plan.keep.clone(),
        // FTS5 does not have the field terms (`def:name`) that we add to BM25.
        words: plan.terms.iter().map(|term| term.term.clone()).filter(|term| !term.contains(':')).collect(),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "Postgres widens what was an f32")]
pub(in crate::search) fn lexical_score(hit: &LexicalHit) -> (i64, f32) {
    (hit.chunk_id, hit.score as f32)
}

#[expect(clippy::cast_possible_truncation, reason = "a cosine needs no more digits than its vectors have")]
pub(in crate::search) fn dense_score(hit: &VectorHit) -> (i64, f32) {
    (hit.chunk_id, hit.similarity as f32)
}

pub(in crate::search) fn sql_limit(limit: usize) -> i64 {
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
        assert_eq!(lexical_only.lexical, [false, false, true], "found only by name");
    }
}
