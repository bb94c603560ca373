//! The short text form of tool results, which costs the model fewer tokens; `structuredContent` always carries the whole envelope.
//!
//! For each hit it prints one line with the location, then the code verbatim. JSON keys and escapes would cost a third of the
//! tokens. Selected by `mcp.text = "short"`, `mcp --text short` or the header `X-MCP-Text: short`; the default is the envelope.

mod navigation;

use std::fmt::Write;

use serde::Deserialize;
use serde_json::Value;

use crate::commit::short_commit;
use contract::{Envelope, escaped, escaped_line};
use engine::search::OtherPlaces;

/// Formats the envelope as short text.
pub(super) fn short_text(envelope: &Envelope) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = match (&envelope.result, &envelope.error) {
        (Some(result), _) => write_result(&mut text, result),
        (None, Some(error)) => {
            let details = error.details.as_ref().map(|details| format!("\n{details}")).unwrap_or_default();
            let hint = error.hint.as_deref().map(|hint| format!("\n{hint}")).unwrap_or_default();
            write!(text, "{}: {}{hint}{details}", error.code, error.message)
        }
        (None, None) => Ok(()),
    };
    // The message of a failure already contains the sentence.
    if let Some(coverage) = envelope.meta.coverage.as_ref().filter(|_| envelope.ok) {
        let _ = write!(text, "\n{}", coverage.sentence());
    }
    for warning in &envelope.meta.warnings {
        let _ = write!(text, "\nwarning {}: {}", warning.code, warning.message);
    }
    if let Some(next) = &envelope.meta.next {
        let _ = write!(text, "\nnext: {} {}", next.tool, Value::Object(next.arguments.clone()));
    }
    escaped(&text).into_owned()
}

/// Formats a result as short text.
pub(super) fn result_text(result: &Value) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_result(&mut text, result);
    escaped(&text).into_owned()
}

/// Writes hits and files as text, all other results as compact JSON.
fn write_result(text: &mut String, result: &Value) -> std::fmt::Result {
    let compact = |hit: &Value| hit.get("content").is_none() && hit.get("scoreBreakdown").is_none();
    if result["matches"].is_object() && result.get("explain").is_none() {
        return write_matches(text, result);
    }
    match (result["hits"].as_array(), result["text"].as_str()) {
        (Some(hits), _) if hits.iter().all(compact) && result.get("explain").is_none() => {
            write_confidence(text, result, hits.is_empty())?;
            hits.iter().try_for_each(|hit| {
                write_hit(text, hit)?;
                writeln!(text)
            })?;
            write_summary(text, result, hits.len())
        }
        (None, Some(lines)) if result["path"].is_string() => write_file(text, result, lines),
        _ if result["relation"].is_string() && result["files"].is_array() => navigation::write(text, result),
        _ => write!(text, "{result}"),
    }
}

/// Writes the confidence and the suggestions for misspelled names.
fn write_confidence(text: &mut String, result: &Value, empty: bool) -> std::fmt::Result {
    match result["confidence"].as_str() {
        Some("none") if empty => writeln!(text, "No relevant results.")?,
        _ if empty => writeln!(text, "No hits.")?,
        Some("none") => writeln!(text, "confidence none: probably no relevant results")?,
        Some("low") => writeln!(text, "confidence low: possibly no relevant results")?,
        Some(confidence) => writeln!(text, "confidence {confidence}")?,
        None => {}
    }
    let names = result["didYouMean"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        Ok(())
    } else {
        writeln!(text, "Did you mean: {}?", escaped_line(&names.join(", ")))
    }
}

fn write_hit(text: &mut String, hit: &Value) -> std::fmt::Result {
    // A name with a line break must not look like additional lines of the answer.
    let word = |field: &str, before: &str| {
        hit[field].as_str().map(|word| format!("{before}{}", escaped_line(word))).unwrap_or_default()
    };
    let repo = hit["repo"].as_str().map(|repo| format!("{}: ", escaped_line(repo))).unwrap_or_default();
    write!(text, "{repo}{}:{}-{}", word("file", ""), hit["startLine"], hit["endLine"])?;
    let revisions: Vec<&str> =
        hit["revisions"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !revisions.is_empty() {
        write!(text, " [{}]", escaped_line(&revisions.join(", ")))?;
    }
    write!(text, " {}{}{}", word("kind", ""), word("name", " "), word("mode", " "))?;
    writeln!(text, " score {} id {}", hit["score"], hit["id"])?;
    for (field, before) in [("calls", "calls"), ("calledBy", "called by")] {
        let names: Vec<&str> =
            hit[field].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !names.is_empty() {
            writeln!(text, " {before} {}", escaped_line(&names.join(", ")))?;
        }
    }
    if let Ok(places) = OtherPlaces::deserialize(&hit["otherPlaces"]) {
        writeln!(text, " {}", escaped_line(&places.sentence()))?;
    }
    if let Some(headline) = hit["headline"].as_str() {
        writeln!(text, " {}", escaped_line(headline))?;
    }
    let lines = |field: &str| hit[field].as_array().into_iter().flatten().filter_map(Value::as_str);
    lines("contextBefore").try_for_each(|line| writeln!(text, "{line}"))?;
    if let Some(snippet) = hit["snippet"].as_str() {
        if let Some(line) = hit["snippetLine"].as_u64() {
            writeln!(text, " from line {line}:")?;
        }
        writeln!(text, "{snippet}")?;
    }
    lines("contextAfter").try_for_each(|line| writeln!(text, "{line}"))
}

/// Writes matching lines as `line:column: text` below the path of their file, and the lines around them as `line- text`.
fn write_matches(text: &mut String, result: &Value) -> std::fmt::Result {
    let array = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let (mut shown, matches) = (0, &result["matches"]);
    for file in array(&matches["files"]) {
        let repo = file["repo"].as_str().map(|repo| format!("{}: ", escaped_line(repo))).unwrap_or_default();
        writeln!(text, "{repo}{}", escaped_line(file["file"].as_str().unwrap_or_default()))?;
        for line in array(&file["lines"]) {
            let number = line["line"].as_u64().unwrap_or_default();
            let around = |lines: Vec<Value>, first: u64| {
                let of = |(line, at): (&Value, u64)| format!("{at}- {}\n", line.as_str().unwrap_or_default());
                lines.iter().zip(first..).map(of).collect::<String>()
            };
            let before = array(&line["before"]);
            let first = number.saturating_sub(before.len() as u64);
            text.push_str(&around(before, first));
            writeln!(text, "{number}:{}: {}", line["column"], line["text"].as_str().unwrap_or_default())?;
            text.push_str(&around(array(&line["after"]), number + 1));
            shown += 1;
        }
    }
    let least = if result["totalRelation"].is_string() { "at least " } else { "" };
    write!(text, "{shown} of {least}{} lines in {least}{} files", result["total"], matches["totalFiles"])?;
    if let Some(offset) = result["nextOffset"].as_u64() {
        write!(text, ", next page: offset {offset}")?;
    }
    if let Some(omitted) = result["omitted"].as_object() {
        let hint = omitted["hint"].as_str().unwrap_or_default();
        write!(text, "\nomitted: {} lines, texts of {}. {hint}", omitted["hits"], omitted["texts"])?;
    }
    let written =
        ["backend", "query", "hits", "matches", "total", "totalRelation", "nextOffset", "vectors", "omitted"];
    write_other_fields(text, result, &written)
}

/// Writes the total and the fields other than the hits.
fn write_summary(text: &mut String, result: &Value, shown: usize) -> std::fmt::Result {
    if shown == 0 && result["total"] == 0 {
        // The first line already says so.
        text.truncate(text.trim_end().len());
    } else {
        let least = if result["totalRelation"].is_string() { "at least " } else { "" };
        write!(text, "{shown} of {least}{} hits", result["total"])?;
    }
    if let Some(offset) = result["nextOffset"].as_u64() {
        write!(text, ", next page: offset {offset}")?;
    }
    if result["vectors"] == "none" && shown > 0 {
        text.push_str(", lexical search only");
    }
    if let Some(omitted) = result["omitted"].as_object() {
        let (texts, hits) = (&omitted["texts"], &omitted["hits"]);
        write!(
            text,
            "\nomitted: {hits} hits, texts of {texts}. {}",
            omitted["hint"].as_str().unwrap_or_default()
        )?;
    }
    let written = [
        "backend", "query", "confidence", "didYouMean", "hits", "total", "totalRelation", "nextOffset",
        "vectors", "omitted",
    ];
    write_other_fields(text, result, &written)
}

fn write_file(text: &mut String, result: &Value, lines: &str) -> std::fmt::Result {
    let name = |field: &str| escaped_line(result[field].as_str().unwrap_or_default());
    let (path, repo) = (name("path"), name("repo"));
    let (start, end) = (&result["startLine"], &result["endLine"]);
    let revision = match (result["revision"].as_str(), result["commit"].as_str()) {
        (Some(revision), Some(commit)) => {
            format!(" [{}, commit {}]", escaped_line(revision), escaped_line(short_commit(commit)))
        }
        (Some(revision), None) => format!(" [{}]", escaped_line(revision)),
        (None, _) => String::new(),
    };
    writeln!(text, "{repo}: {path}:{start}-{end} of {} lines{revision}", result["totalLines"])?;
    write!(text, "{lines}")?;
    if result["changedSinceIndexed"] == true {
        write!(text, "\nThe file has changed since it was indexed.")?;
    }
    if let Some(omitted) = result["omitted"].as_object() {
        write!(
            text,
            "\nomitted: {} lines. {}",
            omitted["lines"],
            omitted["hint"].as_str().unwrap_or_default()
        )?;
    }
    for chunk in result["chunks"].as_array().into_iter().flatten() {
        let name = escaped_line(chunk["name"].as_str().unwrap_or_default());
        let kind = chunk["kind"].as_str().unwrap_or_default();
        write!(text, "\n{}-{} {kind} {name} id {}", chunk["startLine"], chunk["endLine"], chunk["id"])?;
    }
    let written = [
        "path", "repo", "revision", "commit", "language", "startLine", "endLine", "totalLines", "truncated",
        "contentHash", "changedSinceIndexed", "text", "omitted", "chunks",
    ];
    write_other_fields(text, result, &written)
}

/// Writes the fields that are not in `written`, so that fields added later are not lost.
fn write_other_fields(text: &mut String, result: &Value, written: &[&str]) -> std::fmt::Result {
    let fields = result.as_object().into_iter().flatten();
    for (field, value) in fields.filter(|(field, _)| !written.contains(&field.as_str())) {
        write!(text, "\n{field}: {value}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{ErrorCode, Fault, Meta, Next};
    use serde_json::json;

    fn envelope(result: Value) -> Envelope {
        let mut meta = Meta::new("t".into());
        let arguments = json!({ "id": 7 }).as_object().cloned().unwrap();
        meta.next = Some(Next { tool: "show_file".into(), arguments });
        Envelope::success(result, meta)
    }

    #[test]
    fn hits_are_places_with_code() {
        let shown = short_text(&envelope(
            json!({ "backend": "postgres", "query": "q", "total": 9, "nextOffset": 1,
            "vectors": "exact", "confidence": "high", "hits": [{ "id": 7, "file": "src/a.rs", "startLine": 3, "endLine": 9,
            "kind": "function", "name": "open", "score": 0.5, "snippet": "fn open() {\n    \"x\"\n}",
            "revisions": ["release/1.0", "v1\n"], "commit": "c0ffee",
            "calls": ["a", "b"], "otherPlaces": { "total": 2, "first": [{ "file": "lib/a\n.rs", "line": 4 }] } }] }),
        ));
        assert_eq!(
            shown,
            "confidence high\nsrc/a.rs:3-9 [release/1.0, v1\\n] function open score 0.5 id 7\n calls a, b\n also in lib/a\\n.rs:4 and 1 more place\nfn open() {\n    \"x\"\n}\n\n\
             1 of 9 hits, next page: offset 1\nnext: show_file {\"id\":7}"
        );
    }

    #[test]
    fn doubt_precedes_the_hits_and_an_empty_result_is_a_sentence() {
        let none = json!({ "backend": "postgres", "query": "q", "total": 0, "vectors": "exact", "confidence": "none",
            "didYouMean": ["open_store", "Store"], "hits": [] });
        assert_eq!(
            short_text(&envelope(none)),
            "No relevant results.\nDid you mean: open_store, Store?\nnext: show_file {\"id\":7}"
        );
        let low = json!({ "backend": "postgres", "query": "q", "total": 1, "vectors": "exact", "confidence": "low",
            "hits": [{ "id": 7, "file": "a", "startLine": 1, "endLine": 2, "kind": "block", "score": 0.1 }] });
        assert!(
            short_text(&envelope(low))
                .starts_with("confidence low: possibly no relevant results\na:1-2 block")
        );
        let gated = json!({ "backend": "postgres", "query": "q", "total": 0, "vectors": "none", "hits": [] });
        assert!(short_text(&envelope(gated)).starts_with("No hits.\nnext"));
    }

    #[test]
    fn matching_lines_stand_below_their_file() {
        let found = json!({ "backend": "postgres", "query": "fo+", "hits": [], "total": 7, "totalRelation": "gte", "nextOffset": 2,
            "vectors": "none", "matches": { "totalFiles": 2, "notIndexed": { "files": 1, "reasons": { "minified": 1 } }, "files": [
                { "file": "a.rs", "lang": "rust", "lines": [
                    { "line": 3, "column": 5, "length": 3, "text": "let foo;", "before": ["// x"], "after": ["}"] } ] },
                { "file": "b\n.rs", "repo": "shop", "lines": [{ "line": 9, "column": 1, "length": 3, "text": "foo" }] } ] } });
        assert_eq!(
            short_text(&envelope(found)),
            "a.rs\n2- // x\n3:5: let foo;\n4- }\nshop: b\\n.rs\n9:1: foo\n\
             2 of at least 7 lines in at least 2 files, next page: offset 2\n\
             next: show_file {\"id\":7}"
        );
    }

    #[test]
    fn files_are_their_lines_and_everything_else_is_json() {
        let file = json!({ "path": "a.rs", "repo": "shop", "startLine": 1, "endLine": 2, "totalLines": 9, "truncated": true,
            "omitted": { "lines": 7, "hint": "Read on." }, "contentHash": "x", "changedSinceIndexed": false,
            "text": "a\u{1b}\nb", "chunks": [{ "id": 1, "startLine": 1, "endLine": 2, "kind": "block" }] });
        let shown = short_text(&envelope(file));
        assert!(
            shown
                .starts_with("shop: a.rs:1-2 of 9 lines\na\\u{1b}\nb\nomitted: 7 lines. Read on.\n1-2 block"),
            "{shown}"
        );
        assert!(short_text(&envelope(json!({ "healthy": true }))).starts_with("{\"healthy\":true}\n"));
    }

    #[test]
    fn a_file_of_a_revision_says_so() {
        let file = json!({ "path": "a.rs", "repo": "shop", "revision": "v1", "commit": "c0ffee", "startLine": 1, "endLine": 1,
            "totalLines": 1, "text": "a", "chunks": [] });
        let shown = short_text(&envelope(file));
        assert!(shown.starts_with("shop: a.rs:1-1 of 1 lines [v1, commit c0ffee]\na\nnext"), "{shown}");
    }

    #[test]
    fn failures_say_what_to_do() {
        let fault = Fault::new(ErrorCode::NoIndex, "Nothing here.").with_hint("Index it.");
        let shown = short_text(&Envelope::failure(&fault, Meta::new("t".into())));
        assert_eq!(shown, "NO_INDEX: Nothing here.\nIndex it.");
    }
}
