//! Repository text in answers: nothing in it may hide, reorder or, on a terminal, move the cursor.
//!
//! Characters that nobody sees carry instructions to models and reorder code before people ("Trojan Source"); they
//! are shown as `\u{…}`.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

/// `text` with every control character but newline and tab, and every invisible or reordering
/// character, shown as `\u{…}`.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            // A Windows line end is only a line end.
            '\r' if rest.peek() == Some(&'\n') => {}
            char if is_hidden(char) => drop(write!(shown, "\\u{{{:x}}}", u32::from(char))),
            char => shown.push(char),
        }
    }
    Cow::Owned(shown)
}

/// Shows every invisible or reordering character in the strings of `value`; true if there was one. Control
/// characters stay: JSON escapes them.
pub fn reveal(value: &mut Value) -> bool {
    match value {
        Value::String(text) if text.contains(is_invisible) => {
            let mut shown = String::with_capacity(text.len() + 16);
            for char in text.chars() {
                if is_invisible(char) {
                    // Writing to a String cannot fail.
                    let _ = write!(shown, "\\u{{{:x}}}", u32::from(char));
                } else {
                    shown.push(char);
                }
            }
            *text = shown;
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |found, item| reveal(item) | found),
        Value::Object(fields) => fields.values_mut().fold(false, |found, field| reveal(field) | found),
        _ => false,
    }
}

/// [`visible`] in one line, for paths and names.
#[must_use]
pub fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', " ")
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
        // Interlinear annotation, tags, variation selectors of the supplement: text that carries text.
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_shows_what_is_invisible_and_leaves_the_rest() {
        let mut value = serde_json::json!({ "a": ["x\u{202e}y", 1, "\u{1b}[0m\r\n"], "b": { "c": "ü 👍" } });
        assert!(reveal(&mut value));
        assert_eq!(
            value,
            serde_json::json!({ "a": ["x\\u{202e}y", 1, "\u{1b}[0m\r\n"], "b": { "c": "ü 👍" } })
        );
        assert!(!reveal(&mut value), "nothing is left");
    }

    #[test]
    fn plain_text_is_untouched() {
        for text in ["fn main() {\n\tlet ü = \"日本\"; // 👍\n}", ""] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }

    #[test]
    fn nothing_hidden_survives() {
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
        for (given, shown) in table {
            assert_eq!(visible(given), shown);
        }
        assert_eq!(visible_line("a\nb\tc"), "a\\nb c");
    }
}
