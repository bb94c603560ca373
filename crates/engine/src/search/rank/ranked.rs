//! The ranked candidates of a search, and the confidence in them.

use crate::search::backend::Backend;
use crate::search::query::SearchQuery;
use crate::search::query::query_class::QueryClass;
use crate::search::rank::confidence::{Confidence, Evidence, Judgement, scale};
use crate::search::rank::duplicates::{fold, is_short};
use crate::search::rank::merge::merge;
use crate::search::rank::scores::{RankedChunk, ScoreParts};
use crate::search::request::SearchRequest;
use crate::search::retrieve::part::{Part, RankedPart};
use crate::search::retrieve::plan::{VectorPath, WeightedTerm};

/// Number of hits that decide which repository's confidence is that of the answer.
const JUDGED_HITS: usize = 10;

/// All candidates, best first, each text once, with the measurements for confidence and explanation. Of several parts, the
/// measurements are those of the part that is trusted most.
pub(in crate::search) struct RankedCandidates {
    pub(in crate::search) chunks: Vec<RankedChunk>,
    pub(in crate::search) total: usize,
    /// `true` if `total` is a lower bound.
    pub(in crate::search) total_is_least: bool,
    /// `true` if so many candidates had equal texts that further ones may belong on the page.
    pub(in crate::search) is_short: bool,
    /// `true` if the dense retriever found any candidate.
    pub(in crate::search) vectors_found: bool,
    pub(in crate::search) vector_path: VectorPath,
    /// Maximum number of candidates of each retriever in each part.
    pub(in crate::search) candidates: usize,
    /// The weighted terms of the query. A term that is known in any part is known.
    pub(in crate::search) terms: Vec<WeightedTerm>,
    pub(in crate::search) dense_weight: f32,
    pub(in crate::search) class: QueryClass,
    /// `None` for a listing, which is not ranked.
    pub(in crate::search) evidence: Option<Evidence>,
}

impl RankedCandidates {
    /// Creates the candidates of one part, or those of several merged. `parts` are the planned parts; `model` is that of the compared
    /// vectors; `last` is the last hit of the page.
    pub(in crate::search) fn new(
        parts: &[Part],
        mut ranked: Vec<RankedPart>,
        model: Option<&str>,
        last: usize,
    ) -> Self {
        let cut_short: Vec<bool> = ranked.iter().map(|part| part.total_is_least).collect();
        let vectors_found = ranked.iter().any(|part| part.vectors_found);
        let roots: Vec<&str> = parts.iter().map(|part| part.root.as_str()).collect();
        let mut order = match ranked.as_mut_slice() {
            [only] => std::mem::take(&mut only.chunks).into_iter().map(|chunk| (0, chunk)).collect(),
            several => merge(several, &roots),
        };
        let is_short = is_short(&order, &cut_short, last);
        fold(&mut order);
        let likelihood = |part: &usize| {
            let part = &ranked[*part];
            part.evidence.judge(model.filter(|_| part.vectors_found)).likelihood
        };
        let trusted = order.iter().take(JUDGED_HITS).map(|(part, _)| *part);
        let best = trusted.reduce(|a, b| if likelihood(&b) > likelihood(&a) { b } else { a }).unwrap_or(0);
        let plan = &parts[best].plan;
        let mut terms = plan.lexical.terms.clone();
        for term in terms.iter_mut().filter(|term| term.chunks == 0) {
            let of_part = |part: &Part| {
                part.plan.lexical.terms.iter().find(|other| other.id == term.id).map(|other| other.chunks)
            };
            term.chunks = parts.iter().filter_map(of_part).max().unwrap_or(0);
        }
        let part = ranked.swap_remove(best);
        Self {
            total: order.len(),
            chunks: order.into_iter().map(|(_, chunk)| chunk).collect(),
            total_is_least: cut_short.contains(&true),
            is_short,
            vectors_found,
            vector_path: plan.vector,
            candidates: plan.candidates,
            terms,
            dense_weight: part.dense_weight,
            class: part.class,
            evidence: Some(part.evidence),
        }
    }

    /// Returns the chunks of a listing, in its order, of `total` in all.
    pub(in crate::search) fn listed(ids: Vec<i64>, total: usize) -> Self {
        let unranked =
            |chunk_id| RankedChunk { chunk_id, score: 0.0, parts: ScoreParts::default(), text: None };
        Self {
            candidates: ids.len(),
            chunks: ids.into_iter().map(unranked).collect(),
            total,
            total_is_least: false,
            is_short: false,
            vectors_found: false,
            vector_path: VectorPath::None,
            terms: Vec::new(),
            dense_weight: 0.0,
            class: QueryClass::new(""),
            evidence: None,
        }
    }

    /// Puts some chunks before all others, in this order, with scores above theirs.
    pub(in crate::search) fn lead(&mut self, leading: Vec<RankedChunk>) {
        let best = self.chunks.iter().map(|chunk| chunk.score).fold(0.0, f32::max);
        let best = if best > 0.0 { best } else { 1.0 };
        let is_leading = |chunk: &RankedChunk| leading.iter().any(|other| other.chunk_id == chunk.chunk_id);
        self.chunks.retain(|chunk| !is_leading(chunk));
        let raised = leading.into_iter().map(|chunk| {
            let parts = ScoreParts { literal: best - chunk.score, ..chunk.parts };
            (0, RankedChunk { score: best, parts, ..chunk })
        });
        let rest = std::mem::take(&mut self.chunks).into_iter().map(|chunk| (0, chunk));
        let mut order = raised.chain(rest).collect();
        fold(&mut order);
        self.chunks = order.into_iter().map(|(_, chunk)| chunk).collect();
        self.total = self.total.max(self.chunks.len());
    }

    /// Judges the answer, if the confidence is calibrated for such queries.
    pub(in crate::search) fn judge(
        &self,
        backend: Backend,
        query: &SearchQuery,
        model: Option<&str>,
    ) -> Option<Judgement> {
        // Calibrated on queries of a few words scored by BM25, so neither on pasted texts nor on the scores of FTS5.
        let calibrated =
            backend != Backend::SqliteFts && query.similar_to.is_none() && self.class.issue <= 0.0;
        let model = model.filter(|_| self.vectors_found);
        self.evidence.filter(|_| calibrated).map(|evidence| evidence.judge(model))
    }

    /// Scales the scores to 0 ..= 1 and returns the confidence. Removes all hits if it is `none`, unless the query has filters or the
    /// caller wants doubtful hits.
    pub(in crate::search) fn settle(
        &mut self,
        judged: Option<Judgement>,
        query: &SearchQuery,
        request: &SearchRequest,
    ) -> Option<Confidence> {
        scale(&mut self.chunks, judged.map_or(1.0, |judged| judged.likelihood));
        let confidence = judged.map(|judged| judged.confidence);
        let has_filters =
            query.filter.is_some() || request.filters.iter().any(|filter| !filter.field.is_location());
        if confidence == Some(Confidence::None) && !has_filters && !request.keep_doubtful {
            self.chunks.clear();
            (self.total, self.total_is_least) = (0, false);
        }
        confidence
    }
}
