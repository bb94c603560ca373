//! The public form of a hit, compact or whole, and the steps that shorten it to fit an answer.

use schemars::JsonSchema;
use serde::Serialize;

use crate::search::present::answer::{AllFacts, CallEdge, Hit, SearchAnswer, VectorsUsed};
use crate::search::present::budget::Shrinks;
use crate::search::present::other_places::OtherPlaces;
use crate::search::present::snippet::{SnippetLimits, shorten, snippet};
use crate::search::rank::scores::ScoreParts;
use crate::search::request::{Mode, Output};

/// Snippet of the best hit in compact output: large enough for an average chunk.
const BEST: SnippetLimits = SnippetLimits { lines: 40, bytes: 2_000 };
/// Snippet of each further hit.
const FURTHER: SnippetLimits = SnippetLimits { lines: 4, bytes: 320 };
/// Additional words of the query that a window must contain to be shown instead of the head of a block.
const MORE_WORDS_BLOCK: usize = 1;
/// The same number for the head of a definition, which contains the name.
const MORE_WORDS_DEFINITION: usize = 2;
/// Maximum number of callees, and of callers, in compact output.
const CALLS_COMPACT_MAX: usize = 5;
/// Maximum number of other places that are listed in compact output: of the best hit, and of each further hit.
const PLACES_COMPACT_MAX: (usize, usize) = (3, 1);
/// Maximum number of revisions of a hit in compact output.
const REVISIONS_COMPACT_MAX: usize = 3;
/// Maximum length of a headline in bytes; longer ones are cut.
const HEADLINE_BYTES_MAX: usize = 200;

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
    /// The first few of the branches and tags that the query asked for (`rev:`) and that have it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub revisions: Vec<String>,
    /// The commit of the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
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
    pub(in crate::search) focus: Option<u32>,
}

/// Presents a hit; with `is_best`, with more of its text.
pub(in crate::search) fn present_hit(
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
    let revisions_max = if whole { usize::MAX } else { REVISIONS_COMPACT_MAX };
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
        calls: hit.calls.iter().take(calls_max).cloned().collect(),
        called_by: hit.called_by.iter().take(calls_max).cloned().collect(),
        may_be_called_by: hit.may_be_called_by.iter().take(calls_max).cloned().collect(),
        callers: hit.callers.iter().take(edges_max).cloned().collect(),
        callees: hit.callees.iter().take(edges_max).cloned().collect(),
        other_places: hit
            .other_places
            .clone()
            .map(|places| places.shortened(places_max, whole || with_repository)),
        revisions: hit.revisions.iter().take(revisions_max).cloned().collect(),
        commit: hit.revision_commit.clone(),
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

/// Rounds to four decimals, which suffice to compare scores and save tokens.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}
