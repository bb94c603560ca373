//! A file of findings to its items, without believing it: an item that is broken is one broken item.
//!
//! Only brackets and strings are followed here; whether an item is JSON is found out item by item.

use std::ops::Range;

/// What a text was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One JSON array, alone or in a field of an object.
    Array,
    /// One object.
    Single,
    /// A JSON value a line.
    Lines,
}

/// The bytes of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Where it stands: the position in the array, or the line, from 0.
    pub index: usize,
    /// Its bytes in the text.
    pub bytes: Range<usize>,
}

/// Fields in which tools put their list.
const LISTS: &[&str] = &["alerts", "findings", "records", "items", "runs"];

/// The items of a text.
#[must_use]
pub fn split(text: &[u8]) -> (Shape, Vec<Item>) {
    let start = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let at = blank(text, start);
    let end = value_end(text, at);
    let closes = closed(text, at);
    let alone = closes.is_none_or(|end| blank(text, end) >= text.len());
    match text.get(at) {
        Some(b'[') if alone => (Shape::Array, elements(text, at)),
        // What never closes is one broken value, unless each of its lines is a value of its own.
        Some(b'{') if alone && (closes.is_some() || !values_a_line(&text[at..])) => match list_in(text, at) {
            Some(list) => (Shape::Array, elements(text, list)),
            None => (Shape::Single, vec![Item { index: 0, bytes: at..end }]),
        },
        _ => (Shape::Lines, lines(text, start)),
    }
}

fn values_a_line(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    text.trim_ascii_end().contains(&b'\n') && lines.all(|line| line.starts_with(b"{"))
}

fn blank(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// The end of the value that begins at `at`; the end of the text where it never closes.
fn value_end(text: &[u8], at: usize) -> usize {
    closed(text, at).unwrap_or(text.len())
}

/// The same; none where it never closes.
fn closed(text: &[u8], at: usize) -> Option<usize> {
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

/// The end of the string that begins at `at`.
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

/// The elements of the array that begins at `at`.
pub(super) fn elements(text: &[u8], at: usize) -> Vec<Item> {
    let mut items = Vec::new();
    let mut at = blank(text, at + 1);
    while at < text.len() && text[at] != b']' {
        let end = value_end(text, at);
        let trimmed = at + text[at..end].trim_ascii_end().len();
        items.push(Item { index: items.len(), bytes: at..trimmed });
        at = blank(text, end);
        if text.get(at) == Some(&b',') {
            at = blank(text, at + 1);
        } else if at == end && text.get(at) == Some(&b'}') {
            // A bracket that closes nothing; what follows is still looked at.
            at = blank(text, at + 1);
        }
    }
    items
}

/// Where the list of the object at `at` begins, if it is an envelope around one: a known field, or else its first field
/// that is a list of objects, unless the object says by itself what it is.
fn list_in(text: &[u8], at: usize) -> Option<usize> {
    let fields = fields(text, at);
    let is_list = |value: usize| text.get(value) == Some(&b'[');
    let named = |wanted: &str| {
        let found = |(name, _): &&(Range<usize>, usize)| &text[name.clone()] == wanted.as_bytes();
        fields.iter().find(found).map(|(_, value)| *value)
    };
    if let Some(list) = LISTS.iter().filter_map(|name| named(name)).find(|value| is_list(*value)) {
        return Some(list);
    }
    if OWN.iter().any(|name| named(name).is_some()) {
        return None;
    }
    let of_objects = |value: &usize| is_list(*value) && text.get(blank(text, value + 1)) == Some(&b'{');
    fields.iter().map(|(_, value)| *value).find(of_objects)
}

/// Fields that a finding has and an envelope has not.
const OWN: &[&str] = &[
    "id",
    "alertId",
    "alert_id",
    "number",
    "arn",
    "findingArn",
    "stableKey",
    "recordId",
    "vulnId",
    "cve",
    "title",
    "vuln",
    "package",
    "severity",
    "security_advisory",
    "securityAdvisory",
    "ruleId",
];

/// The value of a field of the object at `at`.
pub(super) fn field(text: &[u8], at: usize, name: &str) -> Option<Range<usize>> {
    let found = fields(text, at).into_iter().find(|(field, _)| &text[field.clone()] == name.as_bytes());
    found.map(|(_, value)| value..value_end(text, value))
}

/// Names of the fields of the object at `at`, without quotes, and where their values begin.
fn fields(text: &[u8], at: usize) -> Vec<(Range<usize>, usize)> {
    let mut fields = Vec::new();
    let mut at = blank(text, at + 1);
    while text.get(at) == Some(&b'"') {
        let end = string_end(text, at);
        let colon = blank(text, end);
        if text.get(colon) != Some(&b':') {
            break;
        }
        let value = blank(text, colon + 1);
        fields.push((at + 1..end.saturating_sub(1).max(at + 1), value));
        at = blank(text, value_end(text, value));
        if text.get(at) != Some(&b',') {
            break;
        }
        at = blank(text, at + 1);
    }
    fields
}

fn lines(text: &[u8], start: usize) -> Vec<Item> {
    let mut items = Vec::new();
    let mut at = start;
    for (index, line) in text[start..].split(|byte| *byte == b'\n').enumerate() {
        let trimmed = line.trim_ascii();
        if !trimmed.is_empty() {
            let from = at + (line.len() - line.trim_ascii_start().len());
            items.push(Item { index, bytes: from..from + trimmed.len() });
        }
        at += line.len() + 1;
    }
    items
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> (Shape, Vec<&str>) {
        let (shape, items) = split(text.as_bytes());
        (shape, items.iter().map(|item| &text[item.bytes.clone()]).collect())
    }

    #[test]
    fn every_shape_is_told() {
        use Shape::{Array, Lines, Single};
        assert_eq!(of("[{\"a\": \"],[\"}, 2 ,[3]]\n"), (Array, vec!["{\"a\": \"],[\"}", "2", "[3]"]));
        assert_eq!(of("\u{feff} []"), (Array, vec![]));
        assert_eq!(of("{\"n\": 1, \"alerts\": [{\"a\":1},{}]}"), (Array, vec!["{\"a\":1}", "{}"]));
        assert_eq!(of("{\"other\": [{\"a\":1}]}"), (Array, vec!["{\"a\":1}"]), "an envelope of another name");
        let single = "{\"id\": 5, \"resources\": [{\"a\":1}]}";
        assert_eq!(of(single), (Single, vec![single]));
        assert_eq!(of("{\"a\":1}\n\n {\"b\":2}\r\n{bad\n"), (Lines, vec!["{\"a\":1}", "{\"b\":2}", "{bad"]));
        assert_eq!(split(b"{\"a\":1}\n\nx\n").1[1].index, 2, "lines are counted as they stand");
        assert_eq!(of(""), (Lines, vec![]));
        assert_eq!(of("[1]\n[2]\n"), (Lines, vec!["[1]", "[2]"]));
    }

    #[test]
    fn a_broken_line_is_one_line() {
        let (shape, items) = of("{\"a\":1\n{\"b\":2}\n{\"c\": \"x}\n{\"d\":4}\n");
        assert_eq!((shape, items.len()), (Shape::Lines, 4), "{items:?}");
        assert_eq!(of("[1] and more").0, Shape::Lines);
        assert_eq!(of("{\n\"a\": 1,\n").0, Shape::Single);
    }

    #[test]
    fn a_broken_item_is_one_item() {
        assert_eq!(of("[{\"a\":1},{broken: ,},{\"b\":2}]").1, ["{\"a\":1}", "{broken: ,}", "{\"b\":2}"]);
        assert_eq!(of("[{\"a\":1},\n{\"b\": \"never").1, ["{\"a\":1}", "{\"b\": \"never"]);
        assert_eq!(of("[1,,2]").1, ["1", "", "2"]);
    }

    proptest! {
        #[test]
        fn items_stand_in_order_and_inside(text in "[\\[\\]{},:\"\\\\ a1\n]{0,60}") {
            let (_, items) = split(text.as_bytes());
            let mut end = 0;
            for item in items {
                prop_assert!(item.bytes.start >= end && item.bytes.end <= text.len());
                prop_assert!(item.bytes.start <= item.bytes.end);
                end = item.bytes.end;
            }
        }

        #[test]
        fn what_is_json_comes_apart_as_json_does(values in prop::collection::vec("[a-z\\[\\]{},\"\\\\]{0,8}", 0..6)) {
            let text = serde_json::to_string(&values).unwrap();
            let (shape, items) = split(text.as_bytes());
            let parts: Vec<String> =
                items.iter().map(|item| serde_json::from_str(&text[item.bytes.clone()]).unwrap()).collect();
            prop_assert_eq!(shape, Shape::Array);
            prop_assert_eq!(parts, values);
        }
    }
}
