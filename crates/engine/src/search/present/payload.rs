//! Presents an answer in its public forms, each within a size limit: compact for agents, full, and json with statistics.

use schemars::JsonSchema;
use serde::Serialize;

use crate::search::backend::Backend;
use crate::search::exact::{Matches, frame, present_matches};
use crate::search::present::answer::{Explain, Hit, SearchAnswer, Timings, VectorsUsed};
use crate::search::present::budget::{Budget, Fitted, fit};
use crate::search::present::presented_hit::{PresentedHit, present_hit};
use crate::search::present::snippet::shorten;
use crate::search::present::total_relation::TotalRelation;
use crate::search::rank::confidence::Confidence;
use crate::search::request::Output;

/// Maximum number of terms in `explain`.
const TERMS_EXPLAINED_MAX: usize = 24;
/// Maximum number of characters of the query that an answer with a token limit repeats.
const QUERY_CHARS_MAX: usize = 200;
/// Hint of `omitted`.
const OMITTED_HINT: &str = "Page with `offset`, use a smaller `top`, narrow with `path` or `lang`, or read the lines with `show_file`.";

/// The payload of `search`: one ranked list over everything the mode admits.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchPayload {
    /// The index that answered.
    pub backend: Backend,
    /// The query's normal form: words rank; `"phrases"` and `-words` filter.
    pub query: String,
    /// Trust in the hits: high, medium, low (probably no answer here), none (no hits are shown).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Names in the index spelled like unknown words of the query; with low or no confidence.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub did_you_mean: Vec<String>,
    /// Hits, best first.
    pub hits: Vec<PresentedHit>,
    /// Of an exact search, which has no hits: the matching lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<Matches>,
    /// Candidates that passed every filter (with `matches`: lines), before the limit; with `totalRelation`, at least so many.
    pub total: usize,
    /// `gte` if `total` is a lower bound, because only so many were ranked; absent if it is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_relation: Option<TotalRelation>,
    /// `offset` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// How vectors were compared: `exact`, `hnsw` or `none`.
    pub vectors: VectorsUsed,
    /// What the limits on bytes and tokens left out; absent when nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted: Option<Omitted>,
    /// How the query was parsed and weighted; with `explain`, and in `json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explain>,
    /// Milliseconds of each stage; only in `json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<Timings>,
}

impl TotalRelation {
    /// Returns `None` if the total of the answer is exact.
    #[must_use]
    pub fn new(answer: &SearchAnswer) -> Option<Self> {
        answer.total_is_least.then_some(Self::Gte)
    }
}

/// What did not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Omitted {
    /// Hits shown without their text, or with less of it.
    pub texts: usize,
    /// Hits not shown.
    pub hits: usize,
    /// How to get them.
    pub hint: String,
}

/// Presents an answer within a size limit. Hits that do not fit lose their text first and are then left out; `omitted`
/// counts both.
#[must_use]
pub fn present(
    answer: &SearchAnswer,
    output: Output,
    explain: bool,
    budget: impl Into<Budget>,
) -> SearchPayload {
    let budget = budget.into();
    let with_explain = explain || output == Output::Json;
    let first_repository = answer.hits.first().map(|hit| hit.repository.as_str());
    let differs = |hit: &Hit| Some(hit.repository.as_str()) != first_repository;
    let with_repository = answer.several_repositories || answer.hits.iter().any(differs);
    let query = match budget.tokens() {
        Some(_) => shorten(&answer.query, QUERY_CHARS_MAX),
        None => answer.query.clone(),
    };
    let mut payload = SearchPayload {
        backend: answer.backend,
        query,
        confidence: answer.confidence,
        did_you_mean: answer.did_you_mean.clone(),
        hits: Vec::new(),
        matches: answer.matches.as_ref().map(frame),
        total: answer.total,
        total_relation: TotalRelation::new(answer),
        next_offset: Some(answer.total),
        explain: with_explain.then(|| shortened(&answer.explain)),
        vectors: answer.vectors_used,
        // The longest possible `omitted`, so that the real one fits.
        omitted: omitted(answer.hits.len(), answer.hits.len()),
        stats: (output == Output::Json).then_some(answer.took),
    };
    if let Some(found) = &answer.matches {
        let fitted = present_matches(found, with_repository, budget.less_frame(&payload));
        payload.next_offset = next_offset(answer, fitted.shown);
        payload.omitted = omitted(fitted.omitted.0, fitted.omitted.1);
        payload.matches = Some(fitted.matches);
        return payload;
    }
    let hits = answer.hits.iter().enumerate().map(|(at, hit)| {
        let mut presented = present_hit(hit, answer, output, with_repository, at == 0);
        presented.score_breakdown = with_explain.then_some(hit.parts);
        presented
    });
    let Fitted { items, shrunk, dropped } = fit(hits, budget.less_frame(&payload));
    payload.next_offset = next_offset(answer, items.len());
    (payload.hits, payload.omitted) = (items, omitted(shrunk, dropped));
    payload
}

/// Returns the offset of the page after one of `shown` items, if there is one.
fn next_offset(answer: &SearchAnswer, shown: usize) -> Option<usize> {
    let next = answer.offset + shown;
    let has_more = shown > 0 && (next < answer.total || answer.total_is_least);
    (has_more && next <= answer.offset_max).then_some(next)
}

fn omitted(texts: usize, hits: usize) -> Option<Omitted> {
    (texts + hits > 0).then(|| Omitted { texts, hits, hint: OMITTED_HINT.to_owned() })
}

fn shortened(explain: &Explain) -> Explain {
    let mut shortened = explain.clone();
    shortened.terms.truncate(TERMS_EXPLAINED_MAX);
    shortened
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::present::answer::AllFacts;
    use crate::search::present::facets::Facets;
    use crate::search::rank::scores::ScoreParts;
    use crate::search::request::Mode;

    fn hit(id: i64, repository: &str, content: &str) -> Hit {
        Hit {
            chunk_id: id,
            file_id: id,
            mode: Mode::Code,
            calls: (0..9).map(|at| format!("f{at}")).collect(),
            called_by: Vec::new(),
            callers: Vec::new(),
            callees: Vec::new(),
            may_be_called_by: Vec::new(),
            other_places: None,
            revisions: Vec::new(),
            revision_commit: None,
            known: Some(AllFacts::default()),
            repository: repository.to_owned(),
            path: format!("src/{id}.rs"),
            language: Some("rust".to_owned()),
            start_line: 1,
            end_line: 9,
            line: 2,
            definition_lines: None,
            focus: None,
            kind: "function".to_owned(),
            name: Some("Store::open".to_owned()),
            signature: None,
            score: 0.123_456,
            parts: ScoreParts::default(),
            content: content.to_owned(),
            before: vec!["// before".to_owned()],
            after: Vec::new(),
        }
    }

    fn answer(hits: Vec<Hit>) -> SearchAnswer {
        SearchAnswer {
            backend: Backend::Postgres,
            total: hits.len(),
            total_is_least: false,
            offset: 0,
            offset_max: 900,
            several_repositories: false,
            explain: Explain::default(),
            hits,
            confidence: Some(Confidence::High),
            did_you_mean: Vec::new(),
            query: "open store".to_owned(),
            words: vec!["open".to_owned(), "store".to_owned()],
            vectors_used: VectorsUsed::Exact,
            took: Timings::default(),
            matches: None,
            facets: Facets::default(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn each_output_has_its_fields() {
        let answer = answer(vec![hit(1, "a", "}\nfn open() {\n    store();\n}")]);
        let first_hit = |output| present(&answer, output, false, 100_000).hits.remove(0);
        let (compact, full, json) =
            (first_hit(Output::Compact), first_hit(Output::Full), first_hit(Output::Json));
        assert_eq!(
            (compact.headline.as_deref(), compact.mode),
            (None, None),
            "the snippet contains the headline, and code is the default mode"
        );
        assert_eq!((full.headline.as_deref(), full.mode), (Some("fn open() {"), Some(Mode::Code)));
        assert!(compact.snippet.is_some() && compact.content.is_none() && compact.repo.is_none());
        assert!(full.content.is_some() && full.lang.is_some() && full.score_breakdown.is_none());
        assert_eq!(full.ext.as_deref(), Some("rs"));
        assert!(json.score_breakdown.is_some());
        assert_eq!((compact.calls.len(), full.calls.len()), (5, 9));
        assert!(compact.known.is_none() && full.known.is_some());
        let explained = present(&answer, Output::Compact, true, 100_000);
        assert!(explained.explain.is_some() && explained.hits[0].score_breakdown.is_some());
        assert!(present(&answer, Output::Json, false, 100_000).stats.is_some());
        assert!((compact.score - 0.1235).abs() < 1e-9);
    }

    #[test]
    fn names_repositories_if_there_are_several() {
        let payload =
            present(&answer(vec![hit(1, "a", "x"), hit(2, "b", "y")]), Output::Compact, false, 100_000);
        assert_eq!(payload.hits[1].repo.as_deref(), Some("b"));
        let wide = SearchAnswer { several_repositories: true, ..answer(vec![hit(1, "a", "x")]) };
        assert_eq!(present(&wide, Output::Compact, false, 100_000).hits[0].repo.as_deref(), Some("a"));
    }

    #[test]
    fn a_budget_drops_texts_first_and_reports_omissions() {
        let long = "let alpha = beta;\n".repeat(100);
        let answer = answer((1..=6).map(|id| hit(id, "a", &long)).collect());
        let payload = present(&answer, Output::Full, false, 5_600);
        let omitted = payload.omitted.clone().unwrap();
        assert!(payload.hits[0].content.is_some() && payload.hits[5].content.is_none());
        assert_eq!((omitted.hits, omitted.texts + 2), (0, 6));
        let tiny = present(&answer, Output::Full, false, 600).omitted.unwrap();
        assert!(tiny.hits > 0 && present(&answer, Output::Full, false, 100_000).omitted.is_none());
    }
}
