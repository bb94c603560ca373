//! Splits a report into its items, so that a broken item does not affect the others.
//!
//! Follows only brackets and strings; whether an item is valid JSON is checked later, item by item.

use std::ops::Range;

/// The structure that a report appears to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportShape {
    /// One JSON array, alone or in a field of an object.
    Array,
    /// One object.
    Single,
    /// One JSON value per line.
    Lines,
}

/// The bytes of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemSpan {
    /// Position in the array, or line number; from 0.
    pub index: usize,
    /// Range of bytes in the text.
    pub bytes: Range<usize>,
}

/// Fields in which tools put the list of items.
const LIST_FIELDS: &[&str] = &["alerts", "findings", "records", "items", "runs"];

/// Splits a report into its items.
#[must_use]
pub fn split_items(text: &[u8]) -> (ReportShape, Vec<ItemSpan>) {
    let start = text.len() - without_mark(text).len();
    let at = root_start(text);
    let end = value_end(text, at);
    let closing = closing_end(text, at);
    let is_whole_text = closing.is_none_or(|end| skip_whitespace(text, end) >= text.len());
    match text.get(at) {
        Some(b'[') if is_whole_text => (ReportShape::Array, array_elements(text, at)),
        // An object that is never closed is one broken item, unless each line is an object of its own.
        Some(b'{') if is_whole_text && (closing.is_some() || !has_object_per_line(&text[at..])) => {
            match list_in_envelope(text, at) {
                Some(list) => (ReportShape::Array, array_elements(text, list)),
                None => (ReportShape::Single, vec![ItemSpan { index: 0, bytes: at..end }]),
            }
        }
        _ => (ReportShape::Lines, line_items(text, start)),
    }
}

/// Returns the text without its byte order mark.
pub(super) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Returns the start of the first value; the end of the text if it is blank.
pub(super) fn root_start(text: &[u8]) -> usize {
    skip_whitespace(text, text.len() - without_mark(text).len())
}

/// Returns whether the value that begins at `at` ends in the text.
pub(super) fn is_closed(text: &[u8], at: usize) -> bool {
    closing_end(text, at).is_some()
}

/// Returns the end of the array or object with which a text begins, if there is more text after it.
pub(super) fn end_before_more(text: &[u8]) -> Option<usize> {
    let at = root_start(text);
    let end = closing_end(text, at).filter(|_| matches!(text[at], b'[' | b'{'))?;
    (skip_whitespace(text, end) < text.len()).then_some(end)
}

fn has_object_per_line(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    text.trim_ascii_end().contains(&b'\n') && lines.all(|line| line.starts_with(b"{"))
}

fn skip_whitespace(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Returns the end of the value that begins at `at`; the end of the text if the value is never closed.
pub(super) fn value_end(text: &[u8], at: usize) -> usize {
    closing_end(text, at).unwrap_or(text.len())
}

/// Returns the end of the value that begins at `at`; `None` if it is never closed.
fn closing_end(text: &[u8], at: usize) -> Option<usize> {
    let (mut depth, mut at) = (0usize, at);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = string_end(text, at) - 1,
            b'[' | b'{' => depth += 1,
            b',' | b']' | b'}' if depth == 0 => return Some(at),
            b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the end of the string that begins at `at`.
fn string_end(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => return at + 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// Returns the elements of the array that begins at `at`.
pub(super) fn array_elements(text: &[u8], at: usize) -> Vec<ItemSpan> {
    let mut items = Vec::new();
    let mut at = skip_whitespace(text, at + 1);
    while at < text.len() && text[at] != b']' {
        let end = value_end(text, at);
        let trimmed = at + text[at..end].trim_ascii_end().len();
        items.push(ItemSpan { index: items.len(), bytes: at..trimmed });
        at = skip_whitespace(text, end);
        if text.get(at) == Some(&b',') {
            at = skip_whitespace(text, at + 1);
        } else if at == end && text.get(at) == Some(&b'}') {
            // Skip a closing bracket without an opening one.
            at = skip_whitespace(text, at + 1);
        }
    }
    items
}

/// Returns the start of the list in the object at `at`, if the object is an envelope around a list: a field of [`LIST_FIELDS`], otherwise
/// the first field that is a list of objects, unless the object itself is a finding.
fn list_in_envelope(text: &[u8], at: usize) -> Option<usize> {
    let fields = object_fields(text, at);
    let is_list = |value: usize| text.get(value) == Some(&b'[');
    let value_of = |field: &str| {
        let has_name = |(name, _): &&(Range<usize>, usize)| &text[name.clone()] == field.as_bytes();
        fields.iter().find(has_name).map(|(_, value)| *value)
    };
    if let Some(list) = LIST_FIELDS.iter().filter_map(|name| value_of(name)).find(|value| is_list(*value)) {
        return Some(list);
    }
    if FINDING_FIELDS.iter().any(|name| value_of(name).is_some()) {
        return None;
    }
    let of_objects =
        |value: &usize| is_list(*value) && text.get(skip_whitespace(text, value + 1)) == Some(&b'{');
    fields.iter().map(|(_, value)| *value).find(of_objects)
}

/// Fields that findings have and envelopes do not.
const FINDING_FIELDS: &[&str] = &[
    "id", "alertId", "alert_id", "number", "arn", "findingArn", "stableKey", "recordId", "vulnId", "cve",
    "title", "vuln", "package", "severity", "security_advisory", "securityAdvisory", "ruleId",
];

/// Returns whether the value at `at` is an object with one of these fields. As in [`super::json_path`], the name `a.b` means the field `b`
/// of `a`, so it also counts as `a`.
pub(super) fn has_field(text: &[u8], at: usize, names: &[&str]) -> bool {
    let first_part = |name: &Range<usize>| text[name.clone()].split(|byte| *byte == b'.').next();
    let is_wanted = |part: &[u8]| names.iter().any(|name| name.as_bytes() == part);
    object_fields(text, at).iter().any(|(name, _)| first_part(name).is_some_and(is_wanted))
}

/// Returns the value of a field of the object at `at`; `None` if it is missing or no object is there.
pub(super) fn object_field(text: &[u8], at: usize, name: &str) -> Option<Range<usize>> {
    let found =
        object_fields(text, at).into_iter().find(|(field, _)| &text[field.clone()] == name.as_bytes());
    found.map(|(_, value)| value..value_end(text, value))
}

/// Returns the fields of the object at `at`: names without quotes, and the bytes of their values. Empty if no object is there.
pub(super) fn fields(text: &[u8], at: usize) -> Vec<(&[u8], Range<usize>)> {
    let fields = object_fields(text, at).into_iter();
    fields.map(|(name, value)| (&text[name], value..value_end(text, value))).collect()
}

/// Returns the fields of the object at `at`: the range of each name, without quotes, and the start of its value. Empty if no object is
/// there.
fn object_fields(text: &[u8], at: usize) -> Vec<(Range<usize>, usize)> {
    let mut fields = Vec::new();
    if text.get(at) != Some(&b'{') {
        return fields;
    }
    let mut at = skip_whitespace(text, at + 1);
    while text.get(at) == Some(&b'"') {
        let end = string_end(text, at);
        let colon = skip_whitespace(text, end);
        if text.get(colon) != Some(&b':') {
            break;
        }
        let value = skip_whitespace(text, colon + 1);
        fields.push((at + 1..end.saturating_sub(1).max(at + 1), value));
        at = skip_whitespace(text, value_end(text, value));
        if text.get(at) != Some(&b',') {
            break;
        }
        at = skip_whitespace(text, at + 1);
    }
    fields
}

fn line_items(text: &[u8], start: usize) -> Vec<ItemSpan> {
    let mut items = Vec::new();
    let mut at = start;
    for (index, line) in text[start..].split(|byte| *byte == b'\n').enumerate() {
        let trimmed = line.trim_ascii();
        if !trimmed.is_empty() {
            let from = at + (line.len() - line.trim_ascii_start().len());
            items.push(ItemSpan { index, bytes: from..from + trimmed.len() });
        }
        at += line.len() + 1;
    }
    items
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split_text(text: &str) -> (ReportShape, Vec<&str>) {
        let (shape, items) = split_items(text.as_bytes());
        (shape, items.iter().map(|item| &text[item.bytes.clone()]).collect())
    }

    #[test]
    fn every_structure_is_recognised() {
        use ReportShape::{Array, Lines, Single};
        assert_eq!(split_text("[{\"a\": \"],[\"}, 2 ,[3]]\n"), (Array, vec!["{\"a\": \"],[\"}", "2", "[3]"]));
        assert_eq!(split_text("\u{feff} []"), (Array, vec![]));
        assert_eq!(split_text("{\"n\": 1, \"alerts\": [{\"a\":1},{}]}"), (Array, vec!["{\"a\":1}", "{}"]));
        assert_eq!(
            split_text("{\"other\": [{\"a\":1}]}"),
            (Array, vec!["{\"a\":1}"]),
            "an envelope of another name"
        );
        let single = "{\"id\": 5, \"resources\": [{\"a\":1}]}";
        assert_eq!(split_text(single), (Single, vec![single]));
        assert_eq!(
            split_text("{\"a\":1}\n\n {\"b\":2}\r\n{bad\n"),
            (Lines, vec!["{\"a\":1}", "{\"b\":2}", "{bad"])
        );
        assert_eq!(split_items(b"{\"a\":1}\n\nx\n").1[1].index, 2, "empty lines count");
        assert_eq!(split_text(""), (Lines, vec![]));
        assert_eq!(split_text("[1]\n[2]\n"), (Lines, vec!["[1]", "[2]"]));
    }

    #[test]
    fn a_broken_line_is_one_line() {
        let (shape, items) = split_text("{\"a\":1\n{\"b\":2}\n{\"c\": \"x}\n{\"d\":4}\n");
        assert_eq!((shape, items.len()), (ReportShape::Lines, 4), "{items:?}");
        assert_eq!(split_text("[1] and more").0, ReportShape::Lines);
        assert_eq!(split_text("{\n\"a\": 1,\n").0, ReportShape::Single);
    }

    #[test]
    fn a_broken_item_is_one_item() {
        assert_eq!(
            split_text("[{\"a\":1},{broken: ,},{\"b\":2}]").1,
            ["{\"a\":1}", "{broken: ,}", "{\"b\":2}"]
        );
        assert_eq!(split_text("[{\"a\":1},\n{\"b\": \"never").1, ["{\"a\":1}", "{\"b\": \"never"]);
        assert_eq!(split_text("[1,,2]").1, ["1", "", "2"]);
    }

    #[test]
    fn fields_are_found_by_the_first_part_of_their_name() {
        let text = b"{\"a.b\": {\"c\": 1}, \"d\": [], \"cut";
        assert!(has_field(text, 0, &["x", "a"]) && has_field(text, 0, &["d"]));
        assert!(!has_field(text, 0, &["b", "c", "a.b", "cut"]));
        assert!(!has_field(b"[{\"a\": 1}]", 0, &["a"]) && !has_field(b"", 0, &["a"]));
        assert_eq!(object_field(b"17", 0, "a"), None);
    }

    proptest! {
        #[test]
        fn items_are_in_order_and_inside_the_text(text in "[\\[\\]{},:\"\\\\ a1\n]{0,60}") {
            let (_, items) = split_items(text.as_bytes());
            let mut end = 0;
            for item in items {
                prop_assert!(item.bytes.start >= end && item.bytes.end <= text.len());
                prop_assert!(item.bytes.start <= item.bytes.end);
                end = item.bytes.end;
            }
        }

        #[test]
        fn valid_json_is_split_like_a_json_parser_does(values in prop::collection::vec("[a-z\\[\\]{},\"\\\\]{0,8}", 0..6)) {
            let text = serde_json::to_string(&values).unwrap();
            let (shape, items) = split_items(text.as_bytes());
            let parts: Vec<String> =
                items.iter().map(|item| serde_json::from_str(&text[item.bytes.clone()]).unwrap()).collect();
            prop_assert_eq!(shape, ReportShape::Array);
            prop_assert_eq!(parts, values);
        }
    }
}
