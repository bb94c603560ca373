//! The two retrievers: lexical (BM25) and dense (vectors). Each finds candidates; then each candidate also gets the
//! score of the other retriever.

use std::collections::HashSet;

use super::fuse::Retrieved;
use super::plan::{LexicalPlan, Plan, VectorPath};
use super::ranking::Ranking;
use super::scope::Selections;
use contract::{Fault, config};
use store::{
    Candidate, ChunkSelection, Completion, LexicalHit, LexicalQuery, LexicalSource, Reads, VectorHit,
};

/// Returns the best chunks by BM25 from each lexical table, and the ids of those that are candidates of a first page
/// (`search.candidates` of each table).
///
/// At first, terms that occur in many chunks do not select candidates; if a good candidate may be missing, a second
/// statement selects by more terms.
pub(super) async fn lexical(
    reads: &mut Reads,
    selected: &Selections,
    plan: &Plan,
    ranking: &Ranking,
    settings: &config::Search,
) -> Result<(Retrieved, HashSet<i64>), Fault> {
    let (mut all, mut first_page) = (Retrieved::new(), HashSet::new());
    let limit = sql_limit(plan.candidates);
    for (source, selection) in selected.sources().filter(|_| !plan.lexical.terms.is_empty()) {
        // The chunks that a filter lists are few enough to score all of them in one statement. A whole repository is searched in
        // one way, whether it is listed because it has neighbours or not.
        let scores_all = selected.is_narrowed && matches!(selection, ChunkSelection::Listed(_));
        let query = if scores_all {
            lexical_query(&plan.lexical.with_all_terms())
        } else {
            lexical_query(&plan.lexical)
        };
        let mut hits = reads.lexical_hits(source, selection, &query, limit).await?;
        let scores: Vec<f32> = hits.iter().map(|hit| lexical_score(hit).1).collect();
        if !scores_all
            && !plan.lexical.is_exact(&scores, ranking.lexical_exact_rows)
            && let Some(more) = plan.lexical.with_more_terms()
        {
            hits = reads.lexical_hits(source, selection, &lexical_query(&more), limit).await?;
        }
        let found: Retrieved = hits.iter().map(lexical_score).collect();
        first_page.extend(chunk_ids(&found).take(settings.candidates));
        all.extend(found);
    }
    Ok((all, first_page))
}

/// Returns the lexical scores of candidates with an equal idf for all terms, as shares of the score that a chunk of average length
/// has that contains each term of the query once. Such shares are comparable between repositories, in which the same term is rare
/// or common.
pub(super) fn equal_idf_shares(plan: &LexicalPlan, candidates: &[Candidate]) -> Retrieved {
    let whole: f32 = plan.terms.iter().map(|term| term.asked).sum();
    let share = |candidate: &Candidate| {
        let (chunk_id, file_id) = (candidate.id, candidate.file_id);
        let score = lexical_score(&LexicalHit { chunk_id, file_id, score: candidate.other.unwrap_or(0.0) }).1;
        (chunk_id, if whole > 0.0 { score / whole } else { 0.0 })
    };
    candidates.iter().map(share).collect()
}

/// Returns the best chunks of a selection by BM25 with an equal idf for all terms, best first.
pub(super) async fn equal_idf_hits(
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

/// The most dense candidates with a filter that is tested during the HNSW scan: each rejected chunk costs a step
/// through the graph.
const TESTED_CANDIDATES_MAX: i64 = 100;

/// Returns the chunks whose vectors are nearest to `vector`, with their cosine similarity.
pub(super) async fn dense(
    reads: &mut Reads,
    selection: &ChunkSelection,
    path: VectorPath,
    vector: &[f32],
    limit: usize,
) -> Result<Retrieved, Fault> {
    let limit = sql_limit(limit);
    let hits = match path {
        VectorPath::None => Vec::new(),
        VectorPath::Exact => reads.vector_hits(selection, vector, limit).await?,
        VectorPath::Hnsw(ef_search) => {
            let tested = matches!(selection, ChunkSelection::Matching(_));
            let limit = if tested { limit.min(TESTED_CANDIDATES_MAX) } else { limit };
            reads.vector_hits_hnsw(selection, vector, limit, ef_search).await?
        }
    };
    Ok(hits.iter().map(dense_score).collect())
}

/// Reads the facts of all candidates for the ranking, and adds to each retriever's list the scores of candidates that
/// only the other one found, because a chunk beyond the limit of a list may still be similar. Chunks found only by name
/// (`named`) get both scores. The lexical score is that of the first of `sources` that contains the chunk. With `for_merging`, the
/// rows also have the score with an equal idf for all terms; with `counts_users`, the number of files that use their definitions.
pub(super) async fn complete_scores(
    reads: &mut Reads,
    plan: &LexicalPlan,
    sources: &[LexicalSource],
    vector: Option<&[f32]>,
    (lexical, dense): (&mut Retrieved, &mut Retrieved),
    named: &[i64],
    (for_merging, counts_users): (bool, bool),
) -> Result<Vec<Candidate>, Fault> {
    // If only one retriever answered, there is nothing to complete.
    let vector = vector.filter(|_| !dense.is_empty());
    let missing = MissingScores::new(lexical, dense, named, vector.is_some(), !plan.terms.is_empty());
    if missing.ids.is_empty() {
        return Ok(Vec::new());
    }
    let equal_idf = for_merging.then(|| lexical_query(&plan.with_equal_idf()));
    let completion = Completion {
        ids: &missing.ids,
        needs_lexical: &missing.lexical,
        needs_similarity: &missing.dense,
        sources,
        words: &lexical_query(plan),
        other_words: equal_idf.as_ref(),
        counts_users,
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

/// Returns the ids of retrieved chunks, in their order.
pub(super) fn chunk_ids(retrieved: &Retrieved) -> impl Iterator<Item = i64> {
    retrieved.iter().map(|(chunk_id, _)| *chunk_id)
}

/// All candidates, and whether each lacks the score of a retriever. Parallel lists, sorted by unique id.
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
        assert_eq!(lexical_only.lexical, [false, false, true], "found only by name");
    }
}
