//! Presents an answer in its public forms, each within a size limit: compact for agents, full, and json with statistics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{AllFacts, Backend, CallEdge, Explain, Hit, SearchAnswer, Timings, VectorsUsed};
use super::budget::{Budget, Fitted, Shrinks, fit};
use super::confidence::Confidence;
use super::exact::{Matches, frame, present_matches};
use super::other_places::OtherPlaces;
use super::rank::ScoreParts;
use super::request::{Mode, Output};
use super::snippet::{SnippetLimits, shorten, snippet};

/// Snippet of the best hit in compact output: large enough for an average chunk.
const BEST: SnippetLimits = SnippetLimits { lines: 40, bytes: 2_000 };
/// Snippet of each further hit.
const FURTHER: SnippetLimits = SnippetLimits { lines: 4, bytes: 320 };
/// Additional words of the query that a window must contain to be shown instead of the head of a block.
const MORE_WORDS_BLOCK: usize = 1;
/// The same for the head of a definition, which contains the name.
const MORE_WORDS_DEFINITION: usize = 2;
/// The most callees, and the most callers, in compact output.
const CALLS_COMPACT_MAX: usize = 5;
/// The most other places of the best hit that are named in compact output, and of each further hit.
const PLACES_COMPACT_MAX: (usize, usize) = (3, 1);
/// The most terms in `explain`.
const TERMS_EXPLAINED_MAX: usize = 24;
/// Longest headline in bytes; longer ones are cut.
const HEADLINE_BYTES_MAX: usize = 200;
/// The most characters of the query that an answer with a token limit repeats.
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

/// How `total` relates to the real number, as in Elasticsearch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TotalRelation {
    /// The real number is `total` or more.
    Gte,
}

impl TotalRelation {
    /// Returns `None` if the total of the answer is exact.
    #[must_use]
    pub fn new(answer: &SearchAnswer) -> Option<Self> {
        answer.total_is_least.then_some(Self::Gte)
    }
}

/// Which retrievers contributed to a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScoreType {
    /// Lexical and dense.
    Blend,
    /// Lexical only.
    Bm25,
    /// Neither: a listing of what passes the filters, ordered by path.
    None,
}

impl ScoreType {
    /// Returns the type of a score with these parts, in an answer that used `vectors`.
    #[must_use]
    pub fn new(parts: &ScoreParts, vectors: VectorsUsed) -> Self {
        match vectors {
            _ if *parts == ScoreParts::default() => Self::None,
            VectorsUsed::None => Self::Bm25,
            _ => Self::Blend,
        }
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

/// One hit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PresentedHit {
    /// Identifies the chunk inside the project.
    pub id: i64,
    /// Path relative to its repository.
    pub file: String,
    /// `code`, `prose`, `extracted-prose` (what comments say) or `records`. Compact: absent for `code`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Line of the definition that matched: where its name stands, 1-based.
    pub line: u32,
    /// Kind of the definition that matched, or `block`.
    pub kind: String,
    /// Its qualified name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Signature, or the first line with letters or digits. Compact: absent if the snippet contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// 0 to 1, larger is better; comparable within one answer only.
    pub score: f64,
    /// Name of the repository; if more than one was searched, and in `full` and `json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Compact: the lines that contain most words of the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// Line of the file at which the snippet begins; absent if that is `startLine`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet_line: Option<u32>,
    /// Full and json: the whole text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Lines before the chunk, as many as `context` asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub context_before: Vec<String>,
    /// Lines after the chunk.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub context_after: Vec<String>,
    /// What it calls: the first few, in full and json more.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub calls: Vec<String>,
    /// Functions that are known to call it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub called_by: Vec<String>,
    /// Functions that call something of its name, in languages whose calls are not resolved.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub may_be_called_by: Vec<String>,
    /// Its known calls with their places; compact: of the best hit.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub callers: Vec<CallEdge>,
    /// What it is known to call, with the places of the definitions; compact: of the best hit.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub callees: Vec<CallEdge>,
    /// Other places with the same text, each of which would be a hit; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_places: Option<OtherPlaces>,
    /// Full and json: all facts, history and metadata of the chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<AllFacts>,
    /// Full and json: language id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    /// Full and json: extension of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ext: Option<String>,
    /// Full and json: which retrievers contributed to the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_type: Option<ScoreType>,
    /// With `explain`, and in json: every part of the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_breakdown: Option<ScoreParts>,
    /// The line that a shortened snippet keeps.
    #[serde(skip)]
    pub(super) focus: Option<u32>,
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

fn present_hit(
    hit: &Hit,
    answer: &SearchAnswer,
    output: Output,
    with_repository: bool,
    is_best: bool,
) -> PresentedHit {
    let whole = output != Output::Compact;
    let limits = if is_best { BEST } else { FURTHER };
    let calls_max = if whole { usize::MAX } else { CALLS_COMPACT_MAX };
    let edges_max = if is_best { calls_max } else { 0 };
    let edges_max = if whole { usize::MAX } else { edges_max };
    let places_max = if is_best { PLACES_COMPACT_MAX.0 } else { PLACES_COMPACT_MAX.1 };
    let places_max = if whole { usize::MAX } else { places_max };
    let extension = hit.path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    let score_type = ScoreType::new(&hit.parts, answer.vectors_used);
    let cut = if whole { None } else { cut(hit, &answer.words, limits, is_best) };
    let headline = headline(hit);
    let is_in_snippet = cut.as_ref().is_some_and(|(_, text)| text.contains(&headline));
    PresentedHit {
        id: hit.chunk_id,
        file: hit.path.clone(),
        mode: (whole || hit.mode != Mode::Code).then_some(hit.mode),
        start_line: hit.start_line,
        end_line: hit.end_line,
        line: hit.line,
        kind: hit.kind.clone(),
        name: hit.name.clone(),
        headline: (!is_in_snippet).then_some(headline),
        score: rounded(hit.score),
        repo: (whole || with_repository).then(|| hit.repository.clone()),
        snippet_line: cut
            .as_ref()
            .filter(|(above, _)| *above > 0)
            .and_then(|(above, _)| Some(hit.start_line + u32::try_from(*above).ok()?)),
        snippet: cut.map(|(_, text)| text),
        content: whole.then(|| hit.content.clone()),
        context_before: hit.before.clone(),
        context_after: hit.after.clone(),
        calls: hit.calls.iter().take(if whole { usize::MAX } else { CALLS_COMPACT_MAX }).cloned().collect(),
        called_by: hit
            .called_by
            .iter()
            .take(if whole { usize::MAX } else { CALLS_COMPACT_MAX })
            .cloned()
            .collect(),
        may_be_called_by: hit.may_be_called_by.iter().take(calls_max).cloned().collect(),
        callers: hit.callers.iter().take(edges_max).cloned().collect(),
        callees: hit.callees.iter().take(edges_max).cloned().collect(),
        other_places: hit
            .other_places
            .clone()
            .map(|places| places.shortened(places_max, whole || with_repository)),
        known: hit.known.clone().filter(|_| whole),
        lang: hit.language.clone().filter(|_| whole),
        ext: extension.map(|(_, extension)| extension.to_owned()).filter(|_| whole),
        score_type: whole.then_some(score_type),
        score_breakdown: None,
        focus: hit.focus,
    }
}

/// Returns the snippet of the matched definition, or of the chunk if none matched, with the number of lines of the
/// chunk before it. It begins at the first line, except for further hits if other lines contain clearly more words of
/// the query. It always contains the line that a filter matched.
fn cut(hit: &Hit, words: &[String], limits: SnippetLimits, is_best: bool) -> Option<(usize, String)> {
    let count = |lines: u32| usize::try_from(lines).unwrap_or(usize::MAX);
    let Some((first, last)) = hit.definition_lines else {
        let more = if hit.kind == "block" { MORE_WORDS_BLOCK } else { MORE_WORDS_DEFINITION };
        let must = hit.focus.map(|focus| count(focus.saturating_sub(hit.start_line)));
        return snippet(&hit.content, words, limits, more, must);
    };
    let above = count(first.saturating_sub(hit.start_line));
    let height = count(last.saturating_sub(first.max(hit.start_line))).saturating_add(1);
    let definition: Vec<&str> = hit.content.lines().skip(above).take(height).collect();
    let more = if is_best { usize::MAX } else { MORE_WORDS_DEFINITION };
    let must = hit.focus.map(|focus| count(focus.saturating_sub(first.max(hit.start_line))));
    let (at, text) = snippet(&definition.join("\n"), words, limits, more, must)?;
    Some((above + at, text))
}

impl Shrinks for PresentedHit {
    fn shrink(&mut self) -> bool {
        if let Some(text) = &self.snippet
            && (text.len() > FURTHER.bytes || text.lines().count() > FURTHER.lines)
        {
            let first = self.snippet_line.unwrap_or(self.start_line);
            let must = self.focus.and_then(|focus| usize::try_from(focus.checked_sub(first)?).ok());
            let Some((above, shorter)) = snippet(text, &[], FURTHER, 1, must) else {
                self.snippet = None;
                return true;
            };
            self.snippet = Some(shorter);
            if above > 0 {
                self.snippet_line = u32::try_from(above).ok().map(|above| first.saturating_add(above));
            }
            return true;
        }
        if self.has_texts() {
            let has_words = |line: &&str| line.chars().any(char::is_alphanumeric);
            let line = self.snippet.as_deref().and_then(|text| text.lines().map(str::trim).find(has_words));
            let headline = line.map(|line| shorten(line, HEADLINE_BYTES_MAX));
            self.headline = self.headline.take().or(headline);
            self.strip_texts();
            return true;
        }
        let lists = [&mut self.calls, &mut self.called_by, &mut self.may_be_called_by];
        let mut places = self.other_places.as_mut().map(|places| &mut places.first);
        let can_shrink = self.headline.is_some()
            || lists.iter().any(|list| !list.is_empty())
            || places.as_ref().is_some_and(|places| !places.is_empty());
        places.iter_mut().for_each(|places| places.clear());
        self.headline = None;
        lists.into_iter().for_each(Vec::clear);
        can_shrink
    }
}

impl PresentedHit {
    fn has_texts(&self) -> bool {
        self.snippet.is_some()
            || self.content.is_some()
            || self.known.is_some()
            || !self.context_before.is_empty()
            || !self.context_after.is_empty()
            || !self.callers.is_empty()
            || !self.callees.is_empty()
    }

    fn strip_texts(&mut self) {
        self.snippet = None;
        self.snippet_line = None;
        self.content = None;
        self.context_before.clear();
        self.context_after.clear();
        self.known = None;
        self.callers.clear();
        self.callees.clear();
    }
}

/// Returns the signature of a hit, or its first line with letters or digits.
#[must_use]
pub fn headline(hit: &Hit) -> String {
    let first_line =
        || hit.content.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric));
    shorten(hit.signature.as_deref().or_else(first_line).unwrap_or(""), HEADLINE_BYTES_MAX)
}

fn omitted(texts: usize, hits: usize) -> Option<Omitted> {
    (texts + hits > 0).then(|| Omitted { texts, hits, hint: OMITTED_HINT.to_owned() })
}

fn shortened(explain: &Explain) -> Explain {
    let mut shortened = explain.clone();
    shortened.terms.truncate(TERMS_EXPLAINED_MAX);
    shortened
}

/// Rounds to four decimals, which suffice to compare scores and save tokens.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

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
