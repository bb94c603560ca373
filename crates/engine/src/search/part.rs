//! Searches one part of what a request covers: finds candidates, and ranks them among themselves.
//!
//! A part is one repository, so that its order depends on nothing else in the project: neither the idf of its terms nor the
//! range of its scores.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::confidence::Evidence;
use super::duplicates::text_hash;
use super::exact_name;
use super::fuse::{Fused, Retrieved, fuse, fuse_shares};
use super::plan::Plan;
use super::query::SearchQuery;
use super::query_class::QueryClass;
use super::rank::{CandidateFacts, RankedChunk, rank};
use super::ranking::Ranking;
use super::retrieve::{chunk_ids, complete_scores, dense, equal_idf_shares, lexical};
use super::scope::Selections;
use super::stopwatch::Stopwatch;
use contract::{Fault, config};
use store::{Candidate, DefinitionRow, LexicalSource, Reads};

/// What is asked.
pub(super) struct Question {
    pub(super) query: SearchQuery,
    /// The words that rank; empty for a query that only filters.
    pub(super) text: String,
    /// What kind of query it is.
    pub(super) class: QueryClass,
    /// Its vector, if vectors are compared.
    pub(super) vector: Option<Vec<f32>>,
}

/// A part of a search with its plan.
pub(super) struct Part {
    /// The chunks that it covers.
    pub(super) selected: Arc<Selections>,
    pub(super) plan: Plan,
}

/// The candidates of both retrievers, each with the scores of both.
pub(super) struct Candidates {
    lexical: Retrieved,
    dense: Retrieved,
    /// How many the dense retriever found.
    pub(super) dense_found: usize,
    /// Lexical scores with an equal idf for all terms, as shares; `None` if there is no other part.
    equal_idf: Option<Retrieved>,
    /// Ids of the candidates of the first pages, over which the scores of these pages are normalised.
    first_page: HashSet<i64>,
    rows: Vec<Candidate>,
    /// Definitions that have the queried name, by chunk.
    named: HashMap<i64, Vec<DefinitionRow>>,
    /// Whether a retriever stopped at its limit, so that more chunks may pass than were ranked.
    is_filled: bool,
}

/// The ranked candidates of a part, best first, with the measurements for confidence and explanation.
pub(super) struct RankedPart {
    pub(super) chunks: Vec<RankedChunk>,
    pub(super) facts: Vec<CandidateFacts>,
    /// Whether more chunks may match than were ranked.
    pub(super) total_is_least: bool,
    /// Whether the dense retriever found any candidate.
    pub(super) vectors_found: bool,
    pub(super) dense_weight: f32,
    pub(super) class: QueryClass,
    pub(super) evidence: Evidence,
    /// The scores of the places of `chunks` among those of other parts, descending within the first pages and after them; empty
    /// if there is no other part.
    pub(super) places: Vec<f32>,
}

impl Part {
    /// Returns the lexical candidates, and the ids of those of the first pages.
    pub(super) async fn lexical(
        &self,
        reads: &mut Reads,
        ranking: &Ranking,
        settings: &config::Search,
    ) -> Result<(Retrieved, HashSet<i64>), Fault> {
        lexical(reads, &self.selected, &self.plan, ranking, settings).await
    }

    /// Adds dense candidates and chunks that define the queried name to the lexical ones, and completes the scores of
    /// each candidate for both retrievers.
    pub(super) async fn candidates(
        &self,
        reads: &mut Reads,
        question: &Question,
        (mut lexical, mut first_page): (Retrieved, HashSet<i64>),
        (candidates_max, for_merging): (usize, bool),
        took: &mut Stopwatch<'_>,
    ) -> Result<Candidates, Fault> {
        let (selected, plan) = (&self.selected, &self.plan);
        let mut dense = match &question.vector {
            Some(vector) => dense(reads, &selected.vectors, plan.vector, vector, plan.candidates).await?,
            None => Retrieved::new(),
        };
        first_page.extend(chunk_ids(&dense).take(candidates_max));
        // A search of comments only has no definitions.
        let named = match &selected.chunks {
            Some(_) => exact_name::definitions(reads, &question.query, &selected.vectors).await?,
            None => HashMap::new(),
        };
        took.timings.dense_ms += took.lap();
        let dense_found = dense.len();
        for retrieved in [&mut lexical, &mut dense] {
            retrieved.retain(|(chunk_id, _)| Some(*chunk_id) != question.query.similar_to);
        }
        // Before completion, which adds the other retriever's candidates to each list.
        let is_filled = lexical.len().max(dense.len()) >= plan.candidates;
        let sources: Vec<LexicalSource> = selected.sources().map(|(source, _)| source).collect();
        let by_name: Vec<i64> = named.keys().copied().collect();
        first_page.extend(&by_name);
        let vector = question.vector.as_deref();
        let (words, lists) = (&plan.lexical, (&mut lexical, &mut dense));
        // Who uses a definition does not matter to a query that is its name, or an issue.
        let more = (for_merging, question.class.short_sentence() > 0.0);
        let rows = complete_scores(reads, words, &sources, vector, lists, &by_name, more).await?;
        took.timings.hydrate_ms += took.lap();
        let equal_idf = for_merging.then(|| equal_idf_shares(&plan.lexical, &rows));
        Ok(Candidates { lexical, dense, dense_found, equal_idf, first_page, rows, named, is_filled })
    }

    /// Fuses and ranks the candidates.
    ///
    /// The places of several parts are compared by the same ranking of other scores: shares of the query's terms and cosines,
    /// which mean the same in every repository. Scores by idf do not: a word is dear where it is rare, which is not at home. A
    /// range of 0 to 1 over the candidates of one part neither: its best candidate would be as good as that of another.
    pub(super) fn rank(&self, candidates: Candidates, question: &Question, ranking: &Ranking) -> RankedPart {
        let Candidates { lexical, dense, equal_idf, first_page, rows, mut named, is_filled, .. } = candidates;
        let class = question.class.clone();
        let class = if named.is_empty() { class } else { class.as_defined_name() };
        let dense_weight = dense_weight(&class, ranking);
        let facts = |candidate: Candidate| {
            let named = named.remove(&candidate.id).unwrap_or_default();
            CandidateFacts { named, ..candidate_facts(candidate, ranking) }
        };
        let facts: Vec<CandidateFacts> = rows.into_iter().map(facts).collect();
        let rank_some = |fused: Vec<Fused>| rank(&class, &fused, &facts, ranking);
        let chunks = in_pages(&first_page, |is_wanted| {
            let (lexical, dense) = (some(&lexical, is_wanted), some(&dense, is_wanted));
            rank_some(fuse(&lexical, &dense, dense_weight, class.issue))
        });
        let places = equal_idf.as_ref().map(|equal_idf| {
            let places = in_pages(&first_page, |is_wanted| {
                let lexical = some(equal_idf, is_wanted);
                rank_some(fuse_shares(&lexical, &some(&dense, is_wanted), dense_weight))
            });
            places.into_iter().map(|place| place.score).collect()
        });
        let evidence = Evidence::new(&class, &self.plan.lexical, &lexical, &dense, &chunks);
        RankedPart {
            total_is_least: is_filled && (chunks.len() as u64) < self.selected.rows,
            vectors_found: !dense.is_empty(),
            chunks,
            places: places.unwrap_or_default(),
            facts,
            dense_weight,
            class,
            evidence,
        }
    }
}

/// Ranks all candidates; those of the first pages, if a later page ranks more candidates, separately, so that they keep their
/// order and the further ones follow.
fn in_pages(
    first_page: &HashSet<i64>,
    rank_some: impl Fn(&dyn Fn(i64) -> bool) -> Vec<RankedChunk>,
) -> Vec<RankedChunk> {
    let mut chunks = rank_some(&|_| true);
    if chunks.iter().all(|chunk| first_page.contains(&chunk.chunk_id)) {
        return chunks;
    }
    let first = rank_some(&|chunk_id| first_page.contains(&chunk_id));
    chunks.retain(|chunk| !first_page.contains(&chunk.chunk_id));
    chunks.splice(0..0, first);
    chunks
}

fn some(retrieved: &Retrieved, is_wanted: &dyn Fn(i64) -> bool) -> Retrieved {
    retrieved.iter().filter(|(chunk_id, _)| is_wanted(*chunk_id)).copied().collect()
}

fn dense_weight(class: &QueryClass, ranking: &Ranking) -> f32 {
    let sentence = (1.0 - class.issue) * ranking.dense_weight + class.issue * ranking.dense_weight_issue;
    class.sentence * sentence + class.symbol * ranking.dense_weight_symbol
}

fn candidate_facts(candidate: Candidate, ranking: &Ranking) -> CandidateFacts {
    CandidateFacts {
        chunk_id: candidate.id,
        file_id: candidate.file_id,
        repository_id: candidate.repository_id,
        path: candidate.path,
        start_line: u32::try_from(candidate.start_line).unwrap_or(0),
        defines: candidate.defines,
        users: candidate.users.and_then(|users| u32::try_from(users).ok()).unwrap_or(0),
        named: Vec::new(),
        text: text_hash(candidate.text, ranking),
    }
}
