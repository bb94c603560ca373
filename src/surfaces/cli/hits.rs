//! Search results for people: `path:line  kind name  score`, then the code with its line numbers.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::Value;

use super::output::{BOLD, DIM, PATH, styled};
use super::text::{visible, visible_line};

/// Lines of a snippet that are shown; the file has the rest.
const SNIPPET_LINES_MAX: usize = 12;

/// The parts of a `search` result that people read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Found {
    #[serde(alias = "results")]
    hits: Vec<Hit>,
}

/// One hit; fields that an output level leaves out stay empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Hit {
    #[serde(alias = "file", alias = "file_path")]
    path: String,
    #[serde(alias = "startLine", alias = "line_start")]
    start_line: u32,
    kind: Option<String>,
    name: Option<String>,
    headline: Option<String>,
    score: Option<f64>,
    #[serde(alias = "text", alias = "content", alias = "code")]
    snippet: Option<String>,
}

/// A `search` result as text.
pub(super) fn render(result: &Value) -> String {
    // A result without hits, or of another shape, reads as no hits.
    let found = Found::deserialize(result).unwrap_or_default();
    if found.hits.is_empty() {
        return "No hits.\n".to_owned();
    }
    let mut shown = String::new();
    for hit in &found.hits {
        hit.write(&mut shown);
    }
    shown
}

impl Hit {
    fn write(&self, shown: &mut String) {
        let place = format!("{}:{}", visible_line(&self.path), self.start_line.max(1));
        let name = self.name.as_deref().map(|name| styled(BOLD, &visible_line(name)));
        let what = [self.kind.as_deref().map(visible_line), name];
        let what = what.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let score = self.score.map(|score| format!("{score:.3}")).unwrap_or_default();
        let heading = format!("{}  {what}  {}", styled(PATH, &place), styled(DIM, &score));
        let _ = writeln!(shown, "{}", heading.trim_end());
        match (&self.snippet, &self.headline) {
            (Some(snippet), _) => self.write_snippet(snippet, shown),
            (None, Some(headline)) => {
                let _ = writeln!(shown, "    {}", visible_line(headline));
            }
            (None, None) => {}
        }
        shown.push('\n');
    }

    fn write_snippet(&self, snippet: &str, shown: &mut String) {
        let lines: Vec<&str> = snippet.trim_end().lines().collect();
        let last = self.start_line.max(1) as usize + lines.len().min(SNIPPET_LINES_MAX);
        let width = last.to_string().len();
        for (line, number) in lines.iter().take(SNIPPET_LINES_MAX).zip(self.start_line.max(1)..) {
            let number = styled(DIM, &format!("{number:>width$} │"));
            let _ = writeln!(shown, "  {number} {}", visible(line));
        }
        if lines.len() > SNIPPET_LINES_MAX {
            let left = format!("… {} more lines", lines.len() - SNIPPET_LINES_MAX);
            let _ = writeln!(shown, "  {:width$}   {}", "", styled(DIM, &left));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plain(result: &Value) -> String {
        anstream::adapter::strip_str(&render(result)).to_string()
    }

    #[test]
    fn a_hit_reads_as_place_what_score_and_code() {
        let hit = json!({ "hits": [{
            "path": "src/app.rs", "startLine": 9, "kind": "function", "name": "App::new", "score": 0.91234,
            "snippet": "fn new() {\n    x\n}\n"
        }] });
        assert_eq!(
            plain(&hit),
            "src/app.rs:9  function App::new  0.912\n   9 │ fn new() {\n  10 │     x\n  11 │ }\n\n"
        );
    }

    #[test]
    fn long_snippets_are_cut_and_say_so() {
        let code = "x\n".repeat(SNIPPET_LINES_MAX + 3);
        let shown = plain(&json!({ "hits": [{ "file": "a", "start_line": 1, "content": code }] }));
        assert!(shown.contains("… 3 more lines"), "{shown}");
        assert_eq!(shown.matches('│').count(), SNIPPET_LINES_MAX);
    }

    #[test]
    fn repository_text_cannot_steer_the_terminal() {
        let shown = render(&json!({ "hits": [{ "path": "a\u{1b}[2J", "snippet": "\u{202e}x" }] }));
        assert!(shown.contains("a\\u{1b}[2J") && shown.contains("\\u{202e}x"), "{shown:?}");
        assert_eq!(render(&json!({ "hits": [] })), "No hits.\n");
        assert_eq!(render(&json!(null)), "No hits.\n");
    }
}
