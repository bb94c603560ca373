//! Formats search results as text: `path:line  kind name  score`, then the code with line numbers.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer_style::{AnswerStyle, CodeLine};
use super::explanation::{SearchExplanation, legend, score_parts};
use super::grep::render_lines;
use super::hyperlinks::LinkedPlace;
use super::output::{BOLD, DIM, PATH, styled};
use contract::{escaped, escaped_line};
use engine::search::OtherPlaces;

/// The part of a `search` result that is printed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SearchResult {
    hits: Vec<SearchHit>,
    total: u64,
    /// Set if `total` is a lower bound.
    #[serde(rename = "totalRelation")]
    total_relation: Option<String>,
    confidence: Option<String>,
    #[serde(rename = "didYouMean")]
    did_you_mean: Vec<String>,
    omitted: Option<OmittedCounts>,
    query: String,
    /// Set only with `--explain`.
    explain: Option<SearchExplanation>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OmittedCounts {
    texts: u64,
    hits: u64,
}

impl OmittedCounts {
    /// States what was omitted and which flags retrieve it; the tool's own hint names its arguments instead.
    fn sentence(&self) -> String {
        let Self { texts, hits } = self;
        format!(
            "Omitted to fit the limit: {hits} hits, the text of {texts} hits. Page with --offset, lower --top, or narrow with --path or --lang."
        )
    }
}

/// One hit; fields that the output level omits stay empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SearchHit {
    repo: Option<String>,
    file: String,
    start_line: u32,
    end_line: u32,
    /// Line of the name of the matching definition.
    line: Option<u32>,
    /// First line of `snippet`, if it differs from `start_line`.
    snippet_line: Option<u32>,
    kind: String,
    name: Option<String>,
    headline: String,
    score: f64,
    /// The parts of the score; set only with `--explain`.
    score_breakdown: Map<String, Value>,
    snippet: Option<String>,
    content: Option<String>,
    context_before: Vec<String>,
    context_after: Vec<String>,
    other_places: Option<OtherPlaces>,
    /// The requested branches and tags that contain it.
    revisions: Vec<String>,
}

/// Formats a `search` result.
pub(super) fn render(result: &Value, style: &AnswerStyle) -> String {
    // A result of an unexpected shape is printed like one without hits.
    let found = SearchResult::deserialize(result).unwrap_or_default();
    if result["matches"].is_object() {
        let least = if found.total_relation.is_some() { "at least " } else { "" };
        let counted = styled(DIM, &format!("{least}{} lines", found.total));
        return format!("{}{counted}\n", render_lines(result, style));
    }
    let mut shown = found.explain.as_ref().map(|explain| explain.render(&found.query)).unwrap_or_default();
    if found.hits.is_empty() {
        shown.push_str(if found.confidence.as_deref() == Some("none") {
            "No relevant results.\n"
        } else {
            "No hits.\n"
        });
    }
    if !found.did_you_mean.is_empty() {
        let names: Vec<String> = found.did_you_mean.iter().map(|name| escaped_line(name)).collect();
        let _ = writeln!(shown, "Did you mean: {}?", names.join(", "));
    }
    if found.hits.is_empty() {
        return shown;
    }
    if found.confidence.as_deref() == Some("low") {
        shown.push_str("Probably no relevant results; the closest matches:\n\n");
    }
    for hit in &found.hits {
        hit.render_into(&mut shown, style);
    }
    let least = if found.total_relation.is_some() { "at least " } else { "" };
    let counted = format!("{} of {least}{} hits", found.hits.len(), found.total);
    let _ = writeln!(shown, "{}", styled(DIM, &counted));
    if let Some(omitted) = &found.omitted {
        let _ = writeln!(shown, "{}", styled(DIM, &omitted.sentence()));
    }
    if found.explain.is_some() {
        shown.push_str(&legend());
    }
    shown
}

impl SearchHit {
    fn render_into(&self, shown: &mut String, style: &AnswerStyle) {
        let name = self.name.as_deref().map(|name| format!(" {}", styled(BOLD, &escaped_line(name))));
        let what = format!("{}{}", escaped_line(&self.kind), name.unwrap_or_default());
        let score = styled(DIM, &format!("{:.3}", self.score));
        let revisions = self.revisions.iter().map(|name| escaped_line(name)).collect::<Vec<_>>().join(", ");
        let revisions =
            if revisions.is_empty() { revisions } else { styled(DIM, &format!(" [{revisions}]")) };
        let _ = writeln!(shown, "{}{revisions}  {what}  {score}", self.location(style));
        shown.push_str(&score_parts(&self.score_breakdown));
        if let Some(places) = &self.other_places {
            let _ = writeln!(shown, "    {}", styled(DIM, &escaped_line(&places.sentence())));
        }
        let lines = self.lines();
        if lines.is_empty() && !self.headline.is_empty() {
            let _ = writeln!(shown, "    {}", escaped_line(&self.headline));
        }
        let width =
            lines.iter().filter_map(|(number, _)| *number).max().unwrap_or_default().to_string().len();
        let code: Vec<CodeLine<'_>> = lines.iter().map(|(_, line)| without_end_spaces(line).into()).collect();
        for ((number, _), code) in lines.iter().zip(style.lines(&self.file, &code)) {
            let number = number.map(|number| number.to_string()).unwrap_or_default();
            let gutter = styled(DIM, &format!("{number:>width$} │"));
            let _ = writeln!(shown, "{}", format!("  {gutter} {code}").trim_end());
        }
        shown.push('\n');
    }

    /// Formats `path:line` as a link.
    fn location(&self, style: &AnswerStyle) -> String {
        let line = self.line.unwrap_or(self.start_line);
        let repo = self.repo.as_deref().map(|repo| format!("{}: ", escaped_line(repo))).unwrap_or_default();
        let location = styled(PATH, &format!("{repo}{}:{line}", escaped_line(&self.file)));
        let place = LinkedPlace {
            repository: self.repo.as_deref(),
            file: &self.file,
            line: Some(line.into()),
            column: None,
        };
        style.link(&place, location)
    }

    /// Returns the code with line numbers. A snippet may start after the first line of the chunk.
    fn lines(&self) -> Vec<(Option<u32>, &str)> {
        let (text, first) = match (&self.content, &self.snippet) {
            (Some(content), _) => (content, Some(self.start_line)),
            (None, Some(snippet)) => (snippet, self.snippet_line.or(Some(self.start_line))),
            (None, None) => return Vec::new(),
        };
        let above = u32::try_from(self.context_before.len()).unwrap_or_default();
        let before = self.context_before.iter().map(String::as_str);
        let after = self.context_after.iter().map(String::as_str);
        numbered(before, Some(self.start_line.saturating_sub(above)))
            .chain(numbered(text.trim_end().lines(), first))
            .chain(numbered(after, Some(self.end_line + 1)))
            .collect()
    }
}

/// Returns a line without trailing spaces, as far as they are printed as spaces.
fn without_end_spaces(line: &str) -> &str {
    line.trim_end_matches(|char: char| char.is_whitespace() && !is_escaped(char))
}

fn is_escaped(char: char) -> bool {
    let text = char.to_string();
    escaped(&text) != text
}

fn numbered<'a>(
    lines: impl Iterator<Item = &'a str>,
    first: Option<u32>,
) -> impl Iterator<Item = (Option<u32>, &'a str)> {
    lines.zip(0..).map(move |(line, at)| (first.map(|first| first + at), line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plain(result: &Value) -> String {
        anstream::adapter::strip_str(&render(result, &AnswerStyle::default())).to_string()
    }

    #[test]
    fn a_hit_reads_as_place_what_score_and_code() {
        let hit = json!({ "total": 40, "hits": [{
            "file": "src/app.rs", "startLine": 9, "endLine": 10, "kind": "function", "name": "App::new",
            "score": 0.91234, "content": "fn new() {\n}\n", "contextBefore": ["// why"], "contextAfter": ["x"]
        }] });
        assert_eq!(
            plain(&hit),
            "src/app.rs:9  function App::new  0.912\n   8 │ // why\n   9 │ fn new() {\n  10 │ }\n  11 │ x\n\n1 of 40 hits\n"
        );
    }

    #[test]
    fn other_places_of_the_text_stand_below_the_place() {
        let shown = plain(&json!({ "hits": [{ "file": "a", "startLine": 5, "kind": "block", "snippet": "x",
            "otherPlaces": { "total": 3, "first": [{ "repo": "fork", "file": "lib/\u{1b}a", "line": 7 }] } }] }));
        let place = "a:5  block  0.000\n    also in fork: lib/\\u{1b}a:7 and 2 more places\n  5 │ x\n";
        assert!(shown.starts_with(place), "{shown}");
    }

    #[test]
    fn the_revisions_of_a_hit_stand_behind_its_place() {
        let shown = plain(&json!({ "hits": [{ "file": "a", "startLine": 5, "kind": "block",
            "revisions": ["release/1.0", "v1\u{1b}"] }] }));
        assert!(shown.starts_with("a:5 [release/1.0, v1\\u{1b}]  block  0.000\n"), "{shown}");
    }

    #[test]
    fn a_snippet_is_numbered_from_its_own_line_or_else_the_hits() {
        let hit = |line: Value| {
            plain(&json!({ "hits": [
                { "file": "a", "startLine": 5, "kind": "block", "snippet": "x\ny", "snippetLine": line }
            ] }))
        };
        assert!(hit(json!(null)).contains("\n  5 │ x\n  6 │ y\n"), "{}", hit(json!(null)));
        assert!(hit(json!(7)).contains("\n  7 │ x\n  8 │ y\n"), "{}", hit(json!(7)));
    }

    #[test]
    fn an_explanation_shows_the_parsed_query_and_the_parts_of_a_score() {
        let shown = plain(&json!({
            "query": "retry \"delay\"", "total": 1,
            "explain": { "symbol": 0.25, "denseWeight": 0.5, "within": "everything", "candidates": 300,
                "filters": ["mode = code", "lang = rust"], "terms": [{ "term": "retry", "weight": 2.5, "chunks": 3 }] },
            "hits": [{ "file": "a", "startLine": 1, "kind": "block", "score": 0.9, "snippet": "x",
                "scoreBreakdown": { "lexical": 0.75, "dense": 0.5, "role": 1.0 } }]
        }));
        for line in [
            "   query retry \"delay\"\n",
            " filters mode = code; lang = rust\n",
            "   terms retry 2.50 (3 chunks)\n",
            "weights symbol 0.250, dense weight 0.500, within everything, candidates 300\n",
            "    found by words and vectors\n",
            "      lexical    0.750\n",
            "      vectors    0.500\n",
        ] {
            assert!(shown.contains(line), "{line:?}: {shown}");
        }
        let last = shown.lines().next_back().unwrap();
        assert!(last.starts_with("lexical: ") && shown.contains("1 of 1 hits\n"), "{shown}");
        let silent = plain(&json!({ "total": 1, "hits": [{ "file": "a", "startLine": 1, "snippet": "x" }] }));
        assert!(silent.ends_with("1 of 1 hits\n"), "no legend without --explain: {silent}");
    }

    #[test]
    fn spaces_at_the_end_are_left_out_and_escapes_are_not() {
        let shown = plain(
            &json!({ "hits": [{ "file": "a.py", "startLine": 1, "snippet": "x \n\t\ny \u{2028} \nz" }] }),
        );
        assert!(shown.contains("\n  1 │ x\n  2 │\n  3 │ y \\u{2028}\n  4 │ z\n"), "{shown:?}");
    }

    #[test]
    fn doubtful_hits_stand_right_behind_the_sentence_about_them() {
        let shown = plain(&json!({ "confidence": "low", "didYouMean": ["open_store"], "total": 1,
            "hits": [{ "file": "a", "startLine": 1, "kind": "block", "snippet": "x" }] }));
        let start =
            "Did you mean: open_store?\nProbably no relevant results; the closest matches:\n\na:1  block";
        assert!(shown.starts_with(start), "{shown}");
        let none = plain(&json!({ "confidence": "none", "didYouMean": ["open_store"], "hits": [] }));
        assert_eq!(none, "No relevant results.\nDid you mean: open_store?\n");
    }

    #[test]
    fn omitted_hits_are_reported() {
        let shown = plain(&json!({
            "hits": [{ "repo": "r", "file": "a", "startLine": 1, "kind": "block", "headline": "use x" }],
            "total": 9, "omitted": { "texts": 1, "hits": 0, "hint": "Ask for fewer." }
        }));
        assert!(shown.starts_with("r: a:1  block"), "{shown}");
        assert!(shown.contains("    use x\n") && shown.ends_with("1 of 9 hits\nOmitted to fit the limit: 0 hits, the text of 1 hits. Page with --offset, lower --top, or narrow with --path or --lang.\n"), "{shown}");
    }

    #[test]
    fn repository_text_cannot_steer_the_terminal() {
        let hostile = json!({ "hits": [{ "file": "a\u{1b}[2J", "snippet": "\u{202e}x" }] });
        let shown = render(&hostile, &AnswerStyle::default());
        assert!(shown.contains("a\\u{1b}[2J") && shown.contains("\\u{202e}x"), "{shown:?}");
        assert_eq!(plain(&json!({ "hits": [] })), "No hits.\n");
        assert_eq!(plain(&json!(null)), "No hits.\n");
    }
}
