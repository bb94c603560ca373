//! Escapes characters of repository text that are invisible, reorder text or move a terminal's cursor.
//!
//! Invisible characters can carry instructions to models, and bidirectional ones display code in another order than it runs
//! ("Trojan Source"). Each is shown as `\u{…}`.

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
            // The carriage return of a Windows line end is dropped.
            '\r' if rest.peek() == Some(&'\n') => {}
            char if is_hidden(char) => drop(write!(shown, "\\u{{{:x}}}", u32::from(char))),
            char => shown.push(char),
        }
    }
    Cow::Owned(shown)
}

/// `text` with every invisible or reordering character shown as `\u{…}`. Control characters are kept.
#[must_use]
pub fn revealed(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_invisible(char) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(char));
        } else {
            shown.push(char);
        }
    }
    Cow::Owned(shown)
}

/// The inverse of [`visible`] and [`revealed`]: replaces each `\u{…}` of a hidden character by the character. `None` if there is
/// none. Turns a file name of an answer back into the name on disk.
#[must_use]
pub fn hidden_again(text: &str) -> Option<String> {
    let mut hidden = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\u{") {
        let (before, shown) = rest.split_at(at);
        hidden.push_str(before);
        let code = shown[3..].split_once('}').and_then(|(code, behind)| {
            let char = char::from_u32(u32::from_str_radix(code, 16).ok()?)?;
            is_hidden(char).then_some((char, behind))
        });
        match code {
            Some((char, behind)) => {
                hidden.push(char);
                rest = behind;
            }
            None => {
                hidden.push_str(&shown[..3]);
                rest = &shown[3..];
            }
        }
    }
    hidden.push_str(rest);
    (hidden != text).then_some(hidden)
}

/// Replaces every invisible or reordering character in the strings of `value` by `\u{…}`; true if there was one. Control
/// characters are kept, because JSON escapes them.
pub fn reveal(value: &mut Value) -> bool {
    match value {
        Value::String(text) if text.contains(is_invisible) => {
            *text = revealed(text).into_owned();
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |found, item| reveal(item) | found),
        Value::Object(fields) => fields.values_mut().fold(false, |found, field| reveal(field) | found),
        _ => false,
    }
}

/// As [`visible`], on one line: for paths and names.
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
    fn what_is_shown_leads_back() {
        for name in ["a\u{202e}b.py", "\u{1b}]0;x\u{7}.py", "\u{e0041}\u{200b}"] {
            assert_eq!(hidden_again(&visible(name)).as_deref(), Some(name));
        }
        assert_eq!(hidden_again(&revealed("a\u{202e}b\u{1b}")).as_deref(), Some("a\u{202e}b\u{1b}"));
        for plain in ["a.py", "\\u{61}", "\\u{", "\\u{110000}", "\\u{x}", "dir\\u"] {
            assert_eq!(hidden_again(plain), None, "{plain}");
        }
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
