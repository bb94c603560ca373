//! One part of what a request covers: its plan and its candidates, which are ranked among themselves.
//!
//! A part is one repository, so that its order depends on nothing else in the project: neither the idf of its terms nor the
//! range of its scores.

use std::collections::{HashMap, HashSet};

use crate::search::filters::scope::Selections;
use crate::search::query::SearchQuery;
use crate::search::query::query_class::QueryClass;
use crate::search::rank::confidence::Evidence;
use crate::search::rank::duplicates::text_hash;
use crate::search::rank::fuse::{Fused, Retrieved, fuse, fuse_shares};
use crate::search::rank::ranking::Ranking;
use crate::search::rank::scores::{CandidateFacts, RankedChunk, rank};
use crate::search::retrieve::plan::Plan;
use store::{Candidate, DefinitionRow};

/// The question of a search.
pub(in crate::search) struct Question {
    pub(in crate::search) query: SearchQuery,
    /// The words that rank; empty for a query that only filters.
    pub(in crate::search) text: String,
    /// Class of the query.
    pub(in crate::search) class: QueryClass,
    /// Vector of the query, if vectors are compared.
    pub(in crate::search) vector: Option<Vec<f32>>,
}

/// A part of a search with its plan.
pub(in crate::search) struct Part {
    /// Root of its repository.
    pub(in crate::search) root: String,
    /// Its repository; `None` if there is no other part.
    pub(in crate::search) repository: Option<i64>,
    /// Upper bound of the number of chunks.
    pub(in crate::search) rows: u64,
    pub(in crate::search) plan: Plan,
    /// Chunks of this part, if it is searched beside others by statements of its own.
    pub(in crate::search) own: Option<Selections>,
}

/// The candidates of both retrievers, each with the scores of both.
#[derive(Default)]
pub(in crate::search) struct Candidates {
    pub(in crate::search) lexical: Retrieved,
    pub(in crate::search) dense: Retrieved,
    /// Number of candidates that the dense retriever found.
    pub(in crate::search) dense_found: usize,
    /// Lexical scores with an equal idf for all terms, as shares; `None` if there is no other part.
    pub(in crate::search) equal_idf: Option<Retrieved>,
    /// Ids of the candidates of the first pages, over which the scores of these pages are normalised.
    pub(in crate::search) first_page: HashSet<i64>,
    pub(in crate::search) rows: Vec<Candidate>,
    /// Definitions that have the queried name, by chunk.
    pub(in crate::search) named: HashMap<i64, Vec<DefinitionRow>>,
    /// `true` if a retriever stopped at its limit, so that more chunks may pass than were ranked.
    pub(in crate::search) is_filled: bool,
}

/// The ranked candidates of a part, best first, with the measurements for confidence and explanation.
pub(in crate::search) struct RankedPart {
    pub(in crate::search) chunks: Vec<RankedChunk>,
    pub(in crate::search) facts: Vec<CandidateFacts>,
    /// `true` if more chunks may match than were ranked.
    pub(in crate::search) total_is_least: bool,
    /// `true` if the vector of any candidate was compared.
    pub(in crate::search) vectors_found: bool,
    pub(in crate::search) dense_weight: f32,
    pub(in crate::search) class: QueryClass,
    pub(in crate::search) evidence: Evidence,
    /// The scores of the places of `chunks` among those of other parts, descending within the first pages and after them; empty
    /// if there is no other part.
    pub(in crate::search) places: Vec<f32>,
}

impl Part {
    /// Returns whether the statements of this part cover no other part.
    pub(in crate::search) fn is_alone(&self) -> bool {
        self.repository.is_none() || self.own.is_some()
    }

    /// Fuses and ranks the candidates.
    ///
    /// Several parts are merged by the same ranking of other scores: shares of the query's terms, and cosines, which mean the same in every
    /// repository. Scores by idf do not: a word weighs much where it is rare, which is not where it belongs. Neither does a range of 0 to 1
    /// over the candidates of one part: its best candidate would be as good as that of any other part.
    pub(in crate::search) fn rank(
        &self,
        candidates: Candidates,
        question: &Question,
        ranking: &Ranking,
    ) -> RankedPart {
        let Candidates { lexical, dense, equal_idf, first_page, rows, mut named, is_filled, .. } = candidates;
        let class = question.class.clone();
        let class = if named.is_empty() { class } else { class.into_defined_name() };
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
