//! Escapes characters of untrusted text that are invisible, reorder text or control a terminal, as `\u{…}`.
//!
//! Invisible characters can contain instructions to models, and bidirectional ones display code in a different order from the one in which
//! it runs ("Trojan Source").

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

/// Returns `text` with hidden characters escaped: control characters except newline and tab, invisible and reordering characters.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            // Drop the carriage return of a Windows line end.
            '\r' if rest.peek() == Some(&'\n') => {}
            char if is_hidden(char) => drop(write!(escaped, "\\u{{{:x}}}", u32::from(char))),
            char => escaped.push(char),
        }
    }
    Cow::Owned(escaped)
}

/// Returns `text` with invisible and reordering characters escaped. Control characters are kept.
#[must_use]
pub fn escaped_invisible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_invisible(char) {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "\\u{{{:x}}}", u32::from(char));
        } else {
            escaped.push(char);
        }
    }
    Cow::Owned(escaped)
}

/// Reverses [`escaped`] and [`escaped_invisible`]: turns a file name of an answer back into the name on disk. `None` if nothing is escaped.
#[must_use]
pub fn unescaped(text: &str) -> Option<String> {
    let mut unescaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\u{") {
        let (before, sequence) = rest.split_at(at);
        unescaped.push_str(before);
        let parsed = sequence[3..].split_once('}').and_then(|(code, after)| {
            let char = char::from_u32(u32::from_str_radix(code, 16).ok()?)?;
            is_hidden(char).then_some((char, after))
        });
        match parsed {
            Some((char, after)) => {
                unescaped.push(char);
                rest = after;
            }
            None => {
                unescaped.push_str(&sequence[..3]);
                rest = &sequence[3..];
            }
        }
    }
    unescaped.push_str(rest);
    (unescaped != text).then_some(unescaped)
}

/// Escapes invisible and reordering characters in the strings of `value`; returns `true` if there were any. Control characters are kept,
/// because JSON escapes them.
pub fn escape_invisible(value: &mut Value) -> bool {
    match value {
        Value::String(text) if text.contains(is_invisible) => {
            *text = escaped_invisible(text).into_owned();
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |found, item| escape_invisible(item) | found),
        Value::Object(fields) => {
            fields.values_mut().fold(false, |found, field| escape_invisible(field) | found)
        }
        _ => false,
    }
}

/// Like [`escaped`], on one line, for paths and names.
#[must_use]
pub fn escaped_line(text: &str) -> String {
    escaped(text).replace('\n', "\\n").replace('\t', " ")
}

fn is_hidden(char: char) -> bool {
    !matches!(char, '\n' | '\t') && (char.is_control() || is_invisible(char))
}

fn is_invisible(char: char) -> bool {
    match char {
        // Soft hyphen, Arabic letter mark, Mongolian vowel separator, Hangul fillers.
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => true,
        // Zero width, bidirectional controls, line and paragraph separators, byte order mark.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => true,
        // Interlinear annotation, tags, supplementary variation selectors: they can encode hidden text.
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_of_json_are_escaped() {
        let mut value = serde_json::json!({ "a": ["x\u{202e}y", 1, "\u{1b}[0m\r\n"], "b": { "c": "ü 👍" } });
        assert!(escape_invisible(&mut value));
        assert_eq!(
            value,
            serde_json::json!({ "a": ["x\\u{202e}y", 1, "\u{1b}[0m\r\n"], "b": { "c": "ü 👍" } })
        );
        assert!(!escape_invisible(&mut value), "nothing is left to escape");
    }

    #[test]
    fn unescaping_restores_the_original() {
        for name in ["a\u{202e}b.py", "\u{1b}]0;x\u{7}.py", "\u{e0041}\u{200b}"] {
            assert_eq!(unescaped(&escaped(name)).as_deref(), Some(name));
        }
        assert_eq!(unescaped(&escaped_invisible("a\u{202e}b\u{1b}")).as_deref(), Some("a\u{202e}b\u{1b}"));
        for plain in ["a.py", "\\u{61}", "\\u{", "\\u{110000}", "\\u{x}", "dir\\u"] {
            assert_eq!(unescaped(plain), None, "{plain}");
        }
    }

    #[test]
    fn plain_text_is_unchanged() {
        for text in ["fn main() {\n\tlet ü = \"日本\"; // 👍\n}", ""] {
            assert!(matches!(escaped(text), Cow::Borrowed(unchanged) if unchanged == text), "{text:?}");
        }
    }

    #[test]
    fn hidden_characters_are_escaped() {
        let table = [
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\u{9b}31mb", "a\\u{9b}31mb"),
            ("a\rb", "a\\u{d}b"),
            ("a\r\nb", "a\nb"),
            ("\u{202e}evil", "\\u{202e}evil"),
            ("x\u{e0041}y", "x\\u{e0041}y"),
            ("\u{200b}\u{feff}", "\\u{200b}\\u{feff}"),
            ("bell\u{7}del\u{7f}", "bell\\u{7}del\\u{7f}"),
        ];
        for (text, expected) in table {
            assert_eq!(escaped(text), expected);
        }
        assert_eq!(escaped_line("a\nb\tc"), "a\\nb c");
    }
}
