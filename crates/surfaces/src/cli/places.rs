//! Formats the answer of a navigation as text: the symbol, then `path:line:column: text` for each place.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::Deserialize;
use serde_json::Value;

use super::answer_style::AnswerStyle;
use super::hyperlinks::LinkedPlace;
use super::output::{BOLD, DIM, NOTE, PATH, styled};
use crate::marks::Marks;
use contract::escaped_line;

/// The part of a `navigate` result that is printed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NavigationResult {
    relation: String,
    symbol: Option<SymbolInfo>,
    candidates: Vec<SymbolInfo>,
    files: Vec<FilePlaces>,
    total: u64,
    total_relation: Option<String>,
    next_offset: Option<u64>,
    by_kind: BTreeMap<String, u64>,
    unresolved: Option<UnresolvedUses>,
    stopped: Option<StoppedWalk>,
    omitted: Option<OmittedCounts>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SymbolInfo {
    name: String,
    qualified: String,
    kind: String,
    signature: Option<String>,
    repo: String,
    file: String,
    line: u32,
    column: u32,
    uses: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FilePlaces {
    repo: Option<String>,
    file: String,
    places: Vec<Place>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Place {
    line: u32,
    column: u32,
    kind: String,
    name: Option<String>,
    #[serde(rename = "in")]
    within: Option<String>,
    certainty: Option<String>,
    candidates: Option<u64>,
    distance: Option<i64>,
    via: Option<String>,
    at: Vec<u32>,
    overrides: Vec<String>,
    text: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct UnresolvedUses {
    total: u64,
    total_relation: Option<String>,
    candidates: Option<u64>,
    candidates_relation: Option<String>,
    files: Vec<FilePlaces>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StoppedWalk {
    reason: String,
    depth: u32,
    remaining: u64,
    total_relation: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OmittedCounts {
    texts: u64,
    places: u64,
}

/// Returns the marks for the name of the symbol, as a whole word.
pub(super) fn marks(result: &Value) -> Marks {
    match result.pointer("/symbol/name").and_then(Value::as_str) {
        Some(name) => Marks::of_pattern(&format!(r"\b{}\b", regex::escape(name)), true, false),
        None => Marks::default(),
    }
}

/// Formats a `navigate` result.
pub(super) fn render(result: &Value, style: &AnswerStyle) -> String {
    // A result of an unexpected shape is printed like one without places.
    let found = NavigationResult::deserialize(result).unwrap_or_default();
    let mut shown = String::new();
    if !found.candidates.is_empty() {
        found.write_candidates(&mut shown, style);
        return shown;
    }
    if let Some(symbol) = &found.symbol {
        symbol.write(&mut shown, style);
    }
    let shown_places = write_files(&mut shown, &found.files, style);
    let unresolved = found.unresolved.as_ref();
    if let Some(unresolved) = unresolved.filter(|unresolved| !unresolved.files.is_empty()) {
        let _ = writeln!(shown, "{}", styled(NOTE, "not resolved, only the name fits:"));
        write_files(&mut shown, &unresolved.files, style);
    }
    found.write_summary(&mut shown, shown_places);
    shown
}

fn at_least(relation: Option<&String>) -> &'static str {
    if relation.is_some() { "at least " } else { "" }
}

impl NavigationResult {
    fn write_candidates(&self, shown: &mut String, style: &AnswerStyle) {
        let least = at_least(self.total_relation.as_ref());
        let first = self.candidates.first();
        let is_one_name = self.candidates.iter().all(|one| first.is_some_and(|first| one.name == first.name));
        let heading = match (self.total, is_one_name) {
            (1, _) => "One definition may be meant:".to_owned(),
            (total, true) => format!("The name has {least}{total} definitions:"),
            (total, false) => format!("{least}{total} definitions may be meant:"),
        };
        let _ = writeln!(shown, "{heading}");
        for candidate in &self.candidates {
            candidate.write(shown, style);
        }
        if let Some(advice) = self.advice() {
            let _ = writeln!(shown, "{}", styled(DIM, &advice));
        }
    }

    /// Suggests how to name one of the candidates unambiguously.
    fn advice(&self) -> Option<String> {
        let first = self.candidates.first()?;
        let is_alone =
            |same: &dyn Fn(&SymbolInfo) -> bool| self.candidates.iter().filter(|one| same(one)).count() == 1;
        let in_line =
            |one: &SymbolInfo| one.file == first.file && one.line == first.line && one.repo == first.repo;
        let mut place = format!("{}:{}", escaped_line(&first.file), first.line);
        if !is_alone(&in_line) {
            place = format!("{place}:{}", first.column);
        }
        let repo = match self.candidates.iter().any(|one| one.repo != first.repo) {
            true => format!(" with --repo {}", escaped_line(&first.repo)),
            false => String::new(),
        };
        if self.total == 1 {
            return Some(format!("Name it by its place: {place}."));
        }
        let files: BTreeSet<(&str, &str)> =
            self.candidates.iter().map(|one| (one.repo.as_str(), one.file.as_str())).collect();
        let by_name = match files.len() == self.candidates.len() && self.total == files.len() as u64 {
            true => format!(", or in its file: {}:{}", escaped_line(&first.file), escaped_line(&first.name)),
            false => String::new(),
        };
        Some(format!("Name one by its place, as {place}{repo}{by_name}."))
    }

    /// Returns `true` if the unresolved uses are implementations, which are known only by the names of their methods.
    fn is_by_methods(&self) -> bool {
        matches!(self.relation.as_str(), "implementations" | "hierarchy")
    }

    fn write_summary(&self, shown: &mut String, shown_places: usize) {
        let least = at_least(self.total_relation.as_ref());
        let kinds: Vec<String> = self.by_kind.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        let mut lines = vec![format!("{shown_places} of {least}{} places{kinds}", self.total)];
        if let Some(next) = self.next_offset {
            lines.push(format!("--offset {next} shows the next."));
        }
        if let Some(unresolved) = self.unresolved.as_ref().filter(|unresolved| unresolved.files.is_empty()) {
            let least = at_least(unresolved.total_relation.as_ref());
            let whose = match unresolved.candidates {
                None if self.relation == "callees" => "in it are not resolved".to_owned(),
                None if self.is_by_methods() => "by the names of methods alone".to_owned(),
                None => "of its name and those of its members are not resolved".to_owned(),
                Some(1) => "of the name are not resolved (1 definition has it)".to_owned(),
                Some(candidates) => {
                    let least = at_least(unresolved.candidates_relation.as_ref());
                    format!("of the name are not resolved ({least}{candidates} definitions have it)")
                }
            };
            let (one, several) = if self.is_by_methods() { ("fits", "fit") } else { ("use", "uses") };
            let uses = if unresolved.total == 1 { one } else { several };
            lines.push(format!(
                "{least}{} more {uses} {whose}; --certainty name shows them.",
                unresolved.total
            ));
        }
        if let Some(stopped) = &self.stopped {
            let least = at_least(stopped.total_relation.as_ref());
            lines.push(format!(
                "Stopped after {} steps ({}); {least}{} definitions follow.",
                stopped.depth,
                escaped_line(&stopped.reason),
                stopped.remaining
            ));
        }
        if let Some(omitted) = &self.omitted {
            lines.push(format!(
                "Omitted to fit the limit: {} places, the text of {} places.",
                omitted.places, omitted.texts
            ));
        }
        for line in lines {
            let _ = writeln!(shown, "{}", styled(DIM, &line));
        }
    }
}

impl SymbolInfo {
    fn write(&self, shown: &mut String, style: &AnswerStyle) {
        let location = format!("{}:{}:{}:", escaped_line(&self.file), self.line, self.column);
        let place = LinkedPlace {
            repository: Some(self.repo.as_str()).filter(|repo| !repo.is_empty()),
            file: &self.file,
            line: Some(self.line.into()),
            column: Some(self.column.into()),
        };
        let signature =
            self.signature.as_deref().map(|text| format!("  {}", style.line(&self.file, &on_one_line(text))));
        let uses = self.uses.map(|uses| styled(DIM, &format!("  {uses} uses"))).unwrap_or_default();
        let _ = writeln!(
            shown,
            "{} {} {}{}{uses}  {}",
            style.link(&place, styled(PATH, &location)),
            escaped_line(&self.kind),
            styled(BOLD, &escaped_line(&self.qualified)),
            signature.unwrap_or_default(),
            styled(DIM, &escaped_line(&self.repo)),
        );
    }
}

/// Replaces line ends and tabs as [`escaped_line`] does, without escaping the text.
fn on_one_line(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\\n").replace('\t', " ")
}

/// Writes the places in files; returns their number.
fn write_files(shown: &mut String, files: &[FilePlaces], style: &AnswerStyle) -> usize {
    for file in files {
        for place in &file.places {
            place.write(shown, file, style);
        }
    }
    files.iter().map(|file| file.places.len()).sum()
}

impl Place {
    fn write(&self, shown: &mut String, file: &FilePlaces, style: &AnswerStyle) {
        let repo = file.repo.as_deref().map(|repo| format!("{}: ", escaped_line(repo))).unwrap_or_default();
        let location = format!("{repo}{}:{}:{}:", escaped_line(&file.file), self.line, self.column);
        let linked = LinkedPlace {
            repository: file.repo.as_deref(),
            file: &file.file,
            line: Some(self.line.into()),
            column: Some(self.column.into()),
        };
        let location = style.link(&linked, styled(PATH, &location));
        let name = self.name.as_deref();
        let name =
            name.map(|name| format!(" {} {}", escaped_line(&self.kind), styled(BOLD, &escaped_line(name))));
        let text = self.text.as_deref().map(|text| format!(" {}", style.line(&file.file, text)));
        let text = text.unwrap_or_default();
        let notes = self.notes(name.is_some());
        let notes =
            if notes.is_empty() { String::new() } else { styled(DIM, &format!("  [{}]", notes.join(", "))) };
        let _ = writeln!(shown, "{location}{}{text}{notes}", name.unwrap_or_default());
    }

    fn notes(&self, is_definition: bool) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.distance.map(|distance| format!("{distance} steps")));
        if !is_definition {
            notes.push(escaped_line(&self.kind));
        }
        notes.extend(self.within.as_deref().map(|name| format!("in {}", escaped_line(name))));
        notes.extend(self.via.as_deref().map(|name| format!("uses {}", escaped_line(name))));
        if !self.at.is_empty() {
            let lines: Vec<String> = self.at.iter().map(u32::to_string).collect();
            notes.push(format!("line {}", lines.join(" ")));
        }
        if !self.overrides.is_empty() {
            notes.push(format!("overrides {}", escaped_line(&self.overrides.join(", "))));
        }
        notes.extend(self.certainty.as_deref().filter(|known| *known != "resolved").map(escaped_line));
        notes.extend(self.candidates.map(|count| format!("{count} candidates")));
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plain(result: &Value) -> String {
        anstream::adapter::strip_str(&render(result, &AnswerStyle::default())).to_string()
    }

    #[test]
    fn places_are_lines_that_editors_read() {
        let shown = plain(&json!({
            "symbol": { "qualified": "Till.open", "kind": "method", "repo": "shop", "file": "till.py", "line": 2, "column": 9,
                "signature": "def open(self)" },
            "files": [{ "file": "a.py", "places": [
                { "line": 3, "column": 5, "kind": "call", "in": "run", "text": "till.open()", "certainty": "resolved" }] }],
            "total": 7, "nextOffset": 1, "byKind": { "call": 6, "import": 1 },
            "unresolved": { "total": 2, "candidates": 3 }
        }));
        assert_eq!(
            shown,
            "till.py:2:9: method Till.open  def open(self)  shop\n\
             a.py:3:5: till.open()  [call, in run]\n\
             1 of 7 places (6 call, 1 import)\n--offset 1 shows the next.\n\
             2 more uses of the name are not resolved (3 definitions have it); --certainty name shows them.\n"
        );
    }

    #[test]
    fn implementations_known_only_by_name_are_not_uses() {
        let shown = |total: u32| {
            plain(
                &json!({ "relation": "implementations", "files": [], "total": 0, "unresolved": { "total": total } }),
            )
        };
        let expected =
            "0 of 0 places\n1 more fits by the names of methods alone; --certainty name shows them.\n";
        assert_eq!(shown(1), expected);
        assert!(shown(2).contains("2 more fit by the names of methods alone;"), "{}", shown(2));
    }

    #[test]
    fn candidates_and_walks_are_printed() {
        let shown = plain(&json!({ "total": 2, "candidates": [
            { "qualified": "A.f", "kind": "method", "repo": "r", "file": "a", "line": 1, "column": 1, "uses": 4 }] }));
        assert!(shown.starts_with("The name has 2 definitions:\na:1:1: method A.f  4 uses  r\n"), "{shown}");
        assert!(shown.ends_with("Name one by its place, as a:1.\n"), "{shown}");
        let shown = plain(&json!({ "total": 1, "files": [{ "file": "a", "places": [
            { "line": 1, "column": 2, "kind": "function", "name": "g", "distance": 2, "via": "f", "at": [3], "text": "def g()" }] }],
            "stopped": { "reason": "depth", "depth": 2, "remaining": 5, "totalRelation": "gte" } }));
        assert!(shown.contains("a:1:2: function g def g()  [2 steps, uses f, line 3]\n"), "{shown}");
        assert!(shown.contains("Stopped after 2 steps (depth); at least 5 definitions follow.\n"), "{shown}");
    }

    #[test]
    fn the_advice_on_candidates_names_what_is_one_of_them() {
        let candidate = |name: &str, file: &str, line: u32, column: u32, repo: &str| {
            json!({ "name": name, "qualified": name, "kind": "function", "repo": repo, "file": file, "line": line,
                "column": column })
        };
        let last = |candidates: &[Value]| {
            let shown = plain(&json!({ "total": candidates.len(), "candidates": candidates }));
            let mut lines = shown.lines();
            (lines.next().unwrap().to_owned(), lines.next_back().unwrap().to_owned())
        };
        let (heading, advice) = last(&[candidate("f", "a.go", 3, 6, "r"), candidate("f", "b.go", 5, 6, "r")]);
        assert_eq!(heading, "The name has 2 definitions:");
        assert_eq!(advice, "Name one by its place, as a.go:3, or in its file: a.go:f.");
        // In one file, the name within the file would again fit both.
        let (_, advice) = last(&[candidate("f", "a.go", 3, 6, "r"), candidate("f", "a.go", 5, 6, "r")]);
        assert_eq!(advice, "Name one by its place, as a.go:3.");
        let (heading, advice) = last(&[candidate("f", "a.go", 3, 6, "r"), candidate("g", "a.go", 3, 9, "r")]);
        assert_eq!(heading, "2 definitions may be meant:");
        assert_eq!(advice, "Name one by its place, as a.go:3:6.");
        let (_, advice) = last(&[candidate("f", "a.go", 3, 6, "r"), candidate("f", "a.go", 3, 6, "s")]);
        assert_eq!(advice, "Name one by its place, as a.go:3 with --repo r, or in its file: a.go:f.");
        let (heading, advice) = last(&[candidate("f", "a.go", 3, 6, "r")]);
        assert_eq!(
            (heading.as_str(), advice.as_str()),
            ("One definition may be meant:", "Name it by its place: a.go:3.")
        );
    }

    #[test]
    fn repository_text_cannot_steer_the_terminal() {
        let hostile = json!({ "files": [{ "file": "a\u{1b}[2J", "places": [{ "text": "\u{202e}x" }] }] });
        let shown = render(&hostile, &AnswerStyle::default());
        assert!(shown.contains("a\\u{1b}[2J") && shown.contains("\\u{202e}x"), "{shown:?}");
        assert_eq!(
            render(&json!(null), &AnswerStyle::default()),
            "0 of 0 places\n"
                .to_owned()
                .replace("0 of", "\u{1b}[2m0 of")
                .replace("places\n", "places\u{1b}[0m\n")
        );
    }
}
