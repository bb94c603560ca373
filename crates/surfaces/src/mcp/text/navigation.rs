//! The short text form of a navigation: the symbol, then a line for each place.

use std::fmt::{Result, Write};

use serde_json::Value;

use super::write_other_fields;
use contract::escaped_line;

/// Fields that the text contains in another form.
const WRITTEN: [&str; 12] = [
    "relation", "symbol", "candidates", "files", "total", "totalRelation", "nextOffset", "byCertainty",
    "byKind", "steps", "unresolved", "omitted",
];

/// Writes the result of `navigate`.
pub(super) fn write(text: &mut String, result: &Value) -> Result {
    let relation = result["relation"].as_str().unwrap_or_default();
    if let Some(candidates) = result["candidates"].as_array() {
        write_heading(text, result, candidates)?;
        candidates.iter().try_for_each(|candidate| write_symbol(text, candidate))?;
    }
    if result["symbol"].is_object() {
        write!(text, "{relation} of ")?;
        write_symbol(text, &result["symbol"])?;
    }
    let shown = write_files(text, &result["files"])?;
    let unresolved = &result["unresolved"];
    if unresolved["files"].is_array() {
        writeln!(text, "not resolved, only the name fits:")?;
        write_files(text, &unresolved["files"])?;
    }
    if !result["candidates"].is_array() {
        write!(text, "{shown} of {}{} places", least(result), result["total"])?;
    }
    for field in ["byKind", "byCertainty"] {
        let counts: Vec<String> = result[field]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        if !counts.is_empty() {
            write!(text, "; {}", counts.join(", "))?;
        }
    }
    if let Some(offset) = result["nextOffset"].as_u64() {
        write!(text, ", next page: offset {offset}")?;
    }
    if unresolved.is_object() {
        let is_one = unresolved["total"] == 1;
        let uses = if is_one { "use" } else { "uses" };
        let what = match (relation, unresolved["candidates"].is_u64()) {
            ("implementations" | "hierarchy", _) => {
                format!("{} by the names of methods alone", if is_one { "fits" } else { "fit" })
            }
            ("callees", false) => format!("{uses} in it are not resolved"),
            (_, true) => format!("{uses} of the name are not resolved"),
            (_, false) => format!("{uses} of its name and those of its members are not resolved"),
        };
        write!(text, "\n{}{} more {what}", least(unresolved), unresolved["total"])?;
        match unresolved["candidates"].as_u64() {
            None => {}
            Some(1) => write!(text, " (1 definition has it)")?,
            Some(candidates) => {
                let least = if unresolved["candidatesRelation"].is_string() { "at least " } else { "" };
                write!(text, " ({least}{candidates} definitions have it)")?;
            }
        }
    }
    if let Some(omitted) = result["omitted"].as_object() {
        let (texts, places) = (&omitted["texts"], &omitted["places"]);
        write!(
            text,
            "\nomitted: {places} places, texts of {texts}. {}",
            omitted["hint"].as_str().unwrap_or_default()
        )?;
    }
    write_other_fields(text, result, &WRITTEN)
}

/// Writes a heading for the candidates of a name, or of a line.
fn write_heading(text: &mut String, result: &Value, candidates: &[Value]) -> Result {
    let name = |candidate: &Value| candidate["name"].clone();
    let is_one_name = candidates.iter().all(|one| Some(name(one)) == candidates.first().map(name));
    let heading = match (result["total"].as_u64(), is_one_name) {
        (Some(1), _) => "1 definition may be meant; give its `file` and `line`:",
        (_, true) => "definitions have this name; give `file` and `line` of one:",
        (_, false) => "definitions may be meant; give `file` and `line` of one:",
    };
    let count = match result["total"].as_u64() {
        Some(1) => String::new(),
        _ => format!("{}{} ", least(result), result["total"]),
    };
    writeln!(text, "{count}{heading}")
}

fn least(value: &Value) -> &'static str {
    if value["totalRelation"].is_string() { "at least " } else { "" }
}

fn write_symbol(text: &mut String, symbol: &Value) -> Result {
    let word = |field: &str| escaped_line(symbol[field].as_str().unwrap_or_default());
    let (line, column) = (&symbol["line"], &symbol["column"]);
    write!(
        text,
        "{} {} {}: {}:{line}:{column}",
        word("kind"),
        word("qualified"),
        word("repo"),
        word("file")
    )?;
    if let Some(uses) = symbol["uses"].as_u64() {
        write!(text, " {uses} uses")?;
    }
    let signature = word("signature");
    if signature.is_empty() { writeln!(text) } else { writeln!(text, " {signature}") }
}

/// Writes the places of files; returns their number.
fn write_files(text: &mut String, files: &Value) -> std::result::Result<usize, std::fmt::Error> {
    let mut shown = 0;
    for file in files.as_array().into_iter().flatten() {
        let repo = file["repo"].as_str().map(|repo| format!("{}: ", escaped_line(repo))).unwrap_or_default();
        writeln!(text, "{repo}{}", escaped_line(file["file"].as_str().unwrap_or_default()))?;
        for place in file["places"].as_array().into_iter().flatten() {
            write_place(text, place)?;
            shown += 1;
        }
    }
    Ok(shown)
}

fn write_place(text: &mut String, place: &Value) -> Result {
    let word = |field: &str, before: &str| {
        place[field].as_str().map(|word| format!("{before}{}", escaped_line(word))).unwrap_or_default()
    };
    write!(text, " {}:{}", place["line"], place["column"])?;
    if let Some(distance) = place["distance"].as_i64() {
        write!(text, " {distance} steps")?;
    }
    write!(text, "{}{}{}{}", word("kind", " "), word("name", " "), word("in", " in "), word("via", " via "))?;
    let list = |field: &str, before: &str| {
        let items: Vec<String> = place[field]
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| match item {
                Value::String(name) => escaped_line(name),
                other => other.to_string(),
            })
            .collect();
        if items.is_empty() { String::new() } else { format!("{before}{}", items.join(", ")) }
    };
    write!(text, "{}{}", list("at", " at "), list("overrides", " overrides "))?;
    let certainty = place["certainty"].as_str().filter(|known| *known != "resolved");
    if let Some(certainty) = certainty {
        write!(text, " [{}]", escaped_line(certainty))?;
    }
    writeln!(text, "{}", word("text", ": "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(result: &Value) -> String {
        let mut text = String::new();
        write(&mut text, result).unwrap();
        text
    }

    #[test]
    fn places_are_lines_below_their_file() {
        let shown = written(
            &json!({ "relation": "references", "total": 3, "nextOffset": 2, "byKind": { "call": 3 },
            "byCertainty": { "resolved": 3 }, "unresolved": { "total": 4, "candidates": 2 },
            "symbol": { "qualified": "Till.open", "kind": "method", "repo": "shop", "file": "till.py", "line": 2, "column": 9 },
            "files": [{ "file": "a.py", "places": [
                { "line": 3, "column": 5, "kind": "call", "in": "run", "certainty": "resolved", "text": "till.open()" },
                { "line": 9, "column": 1, "kind": "call", "certainty": "scip", "text": "x" }] }] }),
        );
        assert_eq!(
            shown,
            "references of method Till.open shop: till.py:2:9\na.py\n 3:5 call in run: till.open()\n 9:1 call [scip]: x\n\
             2 of 3 places; 3 call; 3 resolved, next page: offset 2\n4 more uses of the name are not resolved (2 definitions have it)"
        );
    }

    #[test]
    fn implementations_known_only_by_name_are_not_uses() {
        let shown = written(
            &json!({ "relation": "implementations", "total": 0, "files": [], "unresolved": { "total": 2 } }),
        );
        assert_eq!(shown, "0 of 0 places\n2 more fit by the names of methods alone");
    }

    #[test]
    fn candidates_are_listed_without_places() {
        let shown = written(&json!({ "relation": "callers", "total": 2, "files": [], "candidates": [
            { "qualified": "A.f", "kind": "method", "repo": "r", "file": "a", "line": 1, "column": 2, "uses": 4, "signature": "def f" }] }));
        assert_eq!(
            shown,
            "2 definitions have this name; give `file` and `line` of one:\nmethod A.f r: a:1:2 4 uses def f\n"
        );
    }
}
