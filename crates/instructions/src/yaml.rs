//! YAML of front matter: parsed within limits, and written so that it reads back as the same text.

use std::fmt::Write;

use contract::{echo, echo_within};
use serde::de::DeserializeOwned;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};

/// Longest YAML that is parsed, in bytes.
const YAML_BYTES_MAX: usize = 256 << 10;
const DEPTH_MAX: usize = 8;
const NODES_MAX: usize = 4096;
/// Words that YAML does not read as text.
const RESERVED: &[&str] = &["y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan"];

/// Parses YAML. Aliases are refused, because a small text with aliases can expand to a huge one, and so are keys that are given
/// twice.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.len() > YAML_BYTES_MAX {
        return Err(format!(
            "The front matter has {} bytes; at most {YAML_BYTES_MAX} are allowed.",
            text.len()
        ));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_aliases: 0,
            max_anchors: 0,
            max_depth: DEPTH_MAX,
            flow_nesting_limit: DEPTH_MAX,
            max_documents: 1,
            max_nodes: NODES_MAX,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let message = error.to_string();
        let line = message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        format!("The front matter is not valid YAML: {}.", echo(line))
    })
}

/// Quotes a name or a value for a message, short enough for several of them on one line.
pub(crate) fn quoted_in_message(text: &str) -> String {
    format!("{:?}", echo_within(text, 80))
}

/// Formats `text` as a YAML scalar on one line: plain where every YAML parser reads it as text, else double-quoted.
pub(crate) fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Formats `text` as a double-quoted scalar, which is also JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if must_escape(character) => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Checks whether YAML forbids a character or folds it as a line break. All of these are in the basic plane.
fn must_escape(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        || ('\u{fdd0}'..='\u{fdef}').contains(&character)
}

fn is_plain(text: &str) -> bool {
    let allowed = |character: char| character.is_alphanumeric() || " -_./()',".contains(character);
    text.starts_with(char::is_alphabetic)
        && !text.ends_with(' ')
        && text.chars().all(allowed)
        && !RESERVED.contains(&text.to_lowercase().as_str())
}

/// Formats the value of a key in a mapping without indentation: a literal block if `text` has several lines that a block preserves,
/// else a scalar on one line.
pub(crate) fn block_or_scalar(text: &str) -> String {
    let is_kept = |line: &str| {
        !line.ends_with(char::is_whitespace) && !line.starts_with('\t') && !line.chars().any(must_escape)
    };
    if !text.contains('\n') || text.starts_with(char::is_whitespace) || !text.split('\n').all(is_kept) {
        return scalar(text);
    }
    let mut block = "|-".to_owned();
    for line in text.split('\n') {
        block.push('\n');
        if !line.is_empty() {
            block.push_str("  ");
            block.push_str(line);
        }
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn read(yaml: &str) -> Value {
        parse(&format!("key: {yaml}\nother: 1\n")).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
    }

    #[test]
    fn plain_is_what_no_parser_takes_for_something_else() {
        for text in ["Keep secrets out", "a-b_c", "Größe (mm), Peter's", "e3b0"] {
            assert_eq!(scalar(text), text);
        }
        for text in [
            "yes", "No", "null", "1", "1e3", "2026-01-24", "a: b", "a #b", "", " a", "a ", "- a", "'a'", "~",
            ".inf", "*a",
        ] {
            assert!(scalar(text).starts_with('"'), "{text}");
            assert_eq!(read(&scalar(text))["key"], *text);
        }
        assert_eq!(quoted("a\u{85}\"\\\u{2028}\0"), r#""a\u0085\"\\\u2028\u0000""#);
    }

    #[test]
    fn several_lines_are_a_block() {
        assert_eq!(block_or_scalar("a: #1\n\n  - b"), "|-\n  a: #1\n\n    - b");
        for text in [" a\nb", "a \nb", "a\n\tb", "a\n \nb", "a\n\r\nb"] {
            assert!(block_or_scalar(text).starts_with('"'), "{text:?}");
        }
    }

    #[test]
    fn bombs_are_refused() {
        let nested = format!("a: {}", "[".repeat(10_000));
        let aliases = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]";
        let many = format!("a: [{}]", "1, ".repeat(5_000));
        let long = format!("a: {}", "x".repeat(YAML_BYTES_MAX));
        for text in [&nested, aliases, &many, &long, "a: 1\na: 2", "a: 1\n<<: {b: 2}", "a: 1\n---\nb: 1"] {
            let error = parse::<Value>(text).unwrap_err();
            assert!(error.contains("front matter") && error.len() < 1000, "{error}");
        }
    }

    /// Characters that have a meaning in YAML, or that it does not allow.
    const AWKWARD: &str =
        "[ \\t\\r\\n\\x00-\\x1f:#'\"\\\\|>a-cü\u{85}\u{2028}\u{feff}\u{1f600}1~!&*{}\\[\\],?@`%-]{0,40}";

    proptest! {
        #[test]
        fn every_text_reads_back_as_itself(text in AWKWARD) {
            prop_assert_eq!(&read(&scalar(&text))["key"], &text);
            let trimmed = text.trim_matches('\n');
            prop_assert_eq!(&read(&block_or_scalar(trimmed))["key"], &trimmed);
        }

        #[test]
        fn texts_of_several_lines_read_back_as_themselves(text in "(([a-c#:-]| |  |-){0,4}\n){1,5}x") {
            let text = text.trim_matches('\n');
            prop_assert_eq!(&read(&block_or_scalar(text))["key"], &text);
        }
    }
}
