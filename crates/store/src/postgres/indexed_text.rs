//! Makes texts acceptable to Postgres: without NUL, and in indexes not too long.

use std::borrow::Cow;

use serde_json::Value;

/// Longest text in an index, in bytes. Postgres refuses index rows of more than about 2,700 bytes (54000), and a row also has
/// the other columns of the index.
pub const INDEXED_TEXT_BYTES_MAX: usize = 2_000;

/// The beginning of a text, as much as an index holds.
pub(crate) fn indexable(text: &str) -> &str {
    &text[..text.floor_char_boundary(INDEXED_TEXT_BYTES_MAX)]
}

/// A text as a column can hold it: Postgres stores no NUL, so each becomes the replacement character; of a text with more than
/// `bytes_max` bytes, the beginning.
pub(crate) fn storable(text: &str, bytes_max: usize) -> Cow<'_, str> {
    let text = &text[..text.floor_char_boundary(bytes_max)];
    match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

/// A value as a `jsonb` column can hold it, as text. Foreign text may contain NUL, and one in a result would keep its job from ending.
pub(crate) fn storable_json(value: &Value) -> String {
    let text = value.to_string();
    match text.contains("\\u0000") {
        true => without_nul(value).to_string(),
        false => text,
    }
}

fn without_nul(value: &Value) -> Value {
    match value {
        Value::String(text) => storable(text, usize::MAX).into(),
        Value::Array(items) => items.iter().map(without_nul).collect(),
        Value::Object(fields) => {
            let storable = |(name, value): (&String, &Value)| {
                (storable(name, usize::MAX).into_owned(), without_nul(value))
            };
            fields.iter().map(storable).collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_and_values_lose_what_no_column_holds() {
        assert_eq!(storable("a\0b\0", 100), "a\u{fffd}b\u{fffd}");
        assert_eq!(storable("\u{20ac}\u{20ac}", 5), "\u{20ac}");
        assert!(matches!(storable("plain", 5), Cow::Borrowed("plain")));
        let value = json!({ "a\0": ["b\0", 1, null, { "c": "\0" }], "d": "\\u0000" });
        let stored: Value = serde_json::from_str(&storable_json(&value)).unwrap();
        assert_eq!(
            stored,
            json!({ "a\u{fffd}": ["b\u{fffd}", 1, null, { "c": "\u{fffd}" }], "d": "\\u0000" })
        );
        assert_eq!(storable_json(&json!({ "z": 1, "a": "x" })), r#"{"z":1,"a":"x"}"#);
    }

    #[test]
    fn only_long_texts_are_cut_and_only_between_characters() {
        for text in ["", "a", &"a".repeat(INDEXED_TEXT_BYTES_MAX)] {
            assert_eq!(indexable(text), text);
        }
        assert_eq!(indexable(&"a".repeat(5_000)).len(), INDEXED_TEXT_BYTES_MAX);
        assert_eq!(indexable(&"\u{20ac}".repeat(1_000)).len(), 1_998);
    }
}
