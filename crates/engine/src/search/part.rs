//! One part of what a request covers: its plan and its candidates, which are ranked among themselves.
//!
//! A part is one repository, so that its order depends on nothing else in the project: neither the idf of its terms nor the
//! range of its scores.

use std::collections::{HashMap, HashSet};

use super::confidence::Evidence;
use super::duplicates::text_hash;
use super::fuse::{Fused, Retrieved, fuse, fuse_shares};
use super::plan::Plan;
use super::query::SearchQuery;
use super::query_class::QueryClass;
use super::rank::{CandidateFacts, RankedChunk, rank};
use super::ranking::Ranking;
use super::scope::Selections;
use store::{Candidate, DefinitionRow};

/// The question of a search.
pub(super) struct Question {
    pub(super) query: SearchQuery,
    /// The words that rank; empty for a query that only filters.
    pub(super) text: String,
    /// Class of the query.
    pub(super) class: QueryClass,
    /// Vector of the query, if vectors are compared.
    pub(super) vector: Option<Vec<f32>>,
}

/// A part of a search with its plan.
pub(super) struct Part {
    /// Root of its repository.
    pub(super) root: String,
    /// Its repository; `None` if there is no other part.
    pub(super) repository: Option<i64>,
    /// Upper bound of the number of chunks.
    pub(super) rows: u64,
    pub(super) plan: Plan,
    /// Chunks of this part, if it is searched beside others by statements of its own.
    pub(super) own: Option<Selections>,
}

/// The candidates of both retrievers, each with the scores of both.
#[derive(Default)]
pub(super) struct Candidates {
    pub(super) lexical: Retrieved,
    pub(super) dense: Retrieved,
    /// Number of candidates that the dense retriever found.
    pub(super) dense_found: usize,
    /// Lexical scores with an equal idf for all terms, as shares; `None` if there is no other part.
    pub(super) equal_idf: Option<Retrieved>,
    /// Ids of the candidates of the first pages, over which the scores of these pages are normalised.
    pub(super) first_page: HashSet<i64>,
    pub(super) rows: Vec<Candidate>,
    /// Definitions that have the queried name, by chunk.
    pub(super) named: HashMap<i64, Vec<DefinitionRow>>,
    /// `true` if a retriever stopped at its limit, so that more chunks may pass than were ranked.
    pub(super) is_filled: bool,
}

/// The ranked candidates of a part, best first, with the measurements for confidence and explanation.
pub(super) struct RankedPart {
    pub(super) chunks: Vec<RankedChunk>,
    pub(super) facts: Vec<CandidateFacts>,
    /// `true` if more chunks may match than were ranked.
    pub(super) total_is_least: bool,
    /// `true` if the dense retriever found any candidate.
    pub(super) vectors_found: bool,
    pub(super) dense_weight: f32,
    pub(super) class: QueryClass,
    pub(super) evidence: Evidence,
    /// The scores of the places of `chunks` among those of other parts, descending within the first pages and after them; empty
    /// if there is no other part.
    pub(super) places: Vec<f32>,
}

impl Part {
    /// Returns whether the statements of this part cover no other part.
    pub(super) fn is_alone(&self) -> bool {
        self.repository.is_none() || self.own.is_some()
    }

    /// Fuses and ranks the candidates.
    ///
    /// Several parts are merged by the same ranking of other scores: shares of the query's terms, and cosines, which mean the same in every
    /// repository. Scores by idf do not: a word weighs much where it is rare, which is not where it belongs. Neither does a range of 0 to 1
    /// over the candidates of one part: its best candidate would be as good as that of any other part.
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
            total_is_least: is_filled && (chunks.len() as u64) < self.rows,
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
