//! Finds out whether the report of a scanner says that it did not scan everything.

use super::ScannerFormat;
use crate::findings::split;

/// Values of a field without meaning.
const EMPTY: &[&[u8]] = &[b"null", b"false", b"0", b"\"\"", b"[]", b"{}"];

/// Returns the fields of the report at `at` that say that something was not scanned.
pub(super) fn gaps(text: &[u8], at: usize, format: &ScannerFormat) -> impl Iterator<Item = &'static str> {
    format.gaps.iter().filter(move |(path, words)| says(text, at, path, words)).map(|(path, _)| *path)
}

/// Returns whether a value to which `path` leads from the object at `at` is one of `words`, or, without words, is not empty.
fn says(text: &[u8], at: usize, path: &str, words: &[&str]) -> bool {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let Some(value) = split::object_field(text, at, &path[..end]) else { return false };
    let below = |value: std::ops::Range<usize>, path: &str| match path.strip_prefix('.') {
        Some(path) => says(text, value.start, path, words),
        None => is_one(text[value].trim_ascii(), words),
    };
    match path[end..].strip_prefix("[]") {
        Some(path) if text.get(value.start) == Some(&b'[') => {
            split::array_elements(text, value.start).into_iter().any(|element| below(element.bytes, path))
        }
        Some(path) => below(value, path),
        None => below(value, &path[end..]),
    }
}

fn is_one(value: &[u8], words: &[&str]) -> bool {
    let bare = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value);
    match words {
        [] => !value.is_empty() && !EMPTY.contains(&value),
        words => words.iter().any(|word| bare.eq_ignore_ascii_case(word.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::scanners::FORMATS;
    use crate::findings::source::FindingSource;

    #[test]
    fn each_format_says_in_its_own_way_that_something_was_not_scanned() {
        use FindingSource::{Bandit, Checkov, Eslint, Semgrep, Trivy};
        for (source, report, expected) in [
            (Bandit, r#"{"errors": []}"#, &[][..]),
            (Bandit, r#"{"results": [], "errors": [{"filename": "a.py", "reason": "r"}]}"#, &["errors[]"]),
            (Semgrep, r#"{"errors": [{"level": "warn", "type": "Other"}], "paths": {"skipped": []}}"#, &[]),
            (Semgrep, r#"{"errors": [{"level": "warn"}, {"level": "Error"}]}"#, &["errors[].level"]),
            (Semgrep, r#"{"errors": [{"level": "warn", "path": "a.py"}]}"#, &["errors[].path"]),
            (Semgrep, r#"{"errors": [{"level": "warn", "path": null}, 5]}"#, &[]),
            (Semgrep, r#"{"paths": {"scanned": ["b"], "skipped": [{"path": "a"}]}}"#, &["paths.skipped[]"]),
            (Semgrep, r#"{"errors": [], "skipped_rules": [{"rule_id": "r"}]}"#, &["skipped_rules[]"]),
            (Eslint, r#"{"messages": [{"fatal": false}, {"ruleId": "r"}, {}]}"#, &[]),
            (Eslint, r#"{"messages": [{"ruleId": "r"}, {"fatal" : true }]}"#, &["messages[].fatal"]),
            (Checkov, r#"{"results": {"parsing_errors": []}, "summary": {"parsing_errors": 0}}"#, &[]),
            (Checkov, r#"{"results": {"parsing_errors": ["/a.tf"]}}"#, &["results.parsing_errors[]"]),
            (Checkov, r#"{"summary": {"failed": 1, "parsing_errors": 2 }}"#, &["summary.parsing_errors"]),
            (Checkov, r#"{"results": 5, "summary": []}"#, &[]),
            (Trivy, r#"{"errors": [{"level": "error"}]}"#, &[]),
        ] {
            let format = FORMATS.iter().find(|format| format.source == source).unwrap();
            let found: Vec<&str> = gaps(report.as_bytes(), 0, format).collect();
            assert_eq!(found, expected, "{report}");
        }
    }
}
