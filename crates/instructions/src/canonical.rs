//! Hashes of entries and of the whole catalog. Clients compute them too, so their form is part of the contract.

use platform::sha256;
use serde_json::{Map, Value};

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// Normalises the body for storage and hashing: line feeds only, no NUL characters, and no blank lines at either end.
#[must_use]
pub fn normalised_text(text: &str) -> String {
    let text = text.replace('\0', "");
    // Strip all carriage returns at the end of a line, so that normalising a second time changes nothing.
    let mut lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    let blank = |line: &&str| line.trim().is_empty();
    let kept = lines.iter().rposition(|line| !blank(line)).map_or(0, |last| last + 1);
    lines.truncate(kept);
    let first = lines.iter().position(|line| !blank(line)).unwrap_or(lines.len());
    lines[first..].join("\n")
}

/// Returns the JSON of `fields` with sorted keys and without spaces.
#[must_use]
pub fn canonical_json(fields: Map<String, Value>) -> String {
    let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    Value::Object(fields.into_iter().collect()).to_string()
}

/// Returns the hash of a catalog: SHA-256 of `id:hash`, the hashes as hexadecimal text, joined by `|`. `entries` must be sorted by id
/// in byte order. An empty catalog has the hash of the empty text.
#[must_use]
pub fn catalog_hash<'a>(entries: impl IntoIterator<Item = (&'a str, &'a Hash)>) -> Hash {
    let mut text = String::new();
    for (id, hash) in entries {
        if !text.is_empty() {
            text.push('|');
        }
        text.push_str(id);
        text.push(':');
        text.push_str(&sha256::to_hex(hash));
    }
    sha256::digest(text.as_bytes())
}

/// Reads a hash of 64 hexadecimal digits in either case.
#[must_use]
pub fn parse_hash(text: &str) -> Option<Hash> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    // `from_str_radix` also reads a sign.
    text.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blank_lines_go_at_both_ends_and_stay_inside() {
        assert_eq!(normalised_text("\r\n  \n a\r\n\n  b \n\n"), " a\n\n  b ");
        assert_eq!(normalised_text("\n \0\n"), "");
        assert_eq!(normalised_text("a\rb"), "a\rb");
    }

    #[test]
    fn the_empty_catalog_has_the_hash_of_the_empty_text() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256::to_hex(&catalog_hash([])), empty);
    }

    #[test]
    fn keys_are_sorted() {
        let fields = [("b".to_owned(), Value::from(1)), ("a".to_owned(), Value::from("x"))];
        assert_eq!(canonical_json(fields.into_iter().collect()), r#"{"a":"x","b":1}"#);
    }

    #[test]
    fn hashes_are_hexadecimal_text_of_their_length() {
        let hash = sha256::digest(b"abc");
        assert_eq!(parse_hash(&sha256::to_hex(&hash)), Some(hash));
        assert_eq!(parse_hash(&sha256::to_hex(&hash).to_uppercase()), Some(hash));
        for wrong in ["", "ab", &"+a".repeat(32), &"ü".repeat(32), &"g".repeat(64)] {
            assert_eq!(parse_hash(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing_more(text in "[\\x00\\r\\n \\ta-c]{0,40}") {
            let once = normalised_text(&text);
            prop_assert_eq!(normalised_text(&once), once.clone());
            prop_assert!(!once.contains('\0') && !once.contains("\r\n"));
        }
    }
}
