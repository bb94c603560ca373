//! Quotes of caller input in error messages: escaped, on one line and truncated, so that no answer grows with its request.

use super::escaped_line;

/// Maximum number of characters that an answer quotes of a wrong value.
pub const ECHO_CHARS_MAX: usize = 200;

/// Returns `text` on one line, with hidden characters escaped as `\u{…}`, truncated to [`ECHO_CHARS_MAX`] characters. A truncated text is
/// followed by `…` and its length in characters.
#[must_use]
pub fn echo(text: &str) -> String {
    echo_within(text, ECHO_CHARS_MAX)
}

/// Like [`echo`], truncated to `chars_max` characters.
#[must_use]
pub fn echo_within(text: &str, chars_max: usize) -> String {
    let (start, rest) = split_at_char(text, chars_max);
    // Escaping makes the text longer, so truncate it again.
    let escaped = escaped_line(start);
    let (start, escaped_rest) = split_at_char(&escaped, chars_max);
    if rest.is_empty() && escaped_rest.is_empty() {
        return escaped;
    }
    format!("{start}… ({} characters)", text.chars().count())
}

/// Truncates `text` to `chars_max` characters and then appends `…`; line breaks are kept.
#[must_use]
pub fn truncate_chars(text: String, chars_max: usize) -> String {
    match split_at_char(&text, chars_max) {
        (_, "") => text,
        (start, _) => format!("{start}…"),
    }
}

fn split_at_char(text: &str, chars: usize) -> (&str, &str) {
    let offset = text.char_indices().nth(chars).map_or(text.len(), |(offset, _)| offset);
    text.split_at(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_quoted_whole() {
        assert_eq!(echo("repoPath"), "repoPath");
        assert_eq!(echo("a\nb\u{202e}"), "a\\nb\\u{202e}");
        assert_eq!(echo(&"ü".repeat(200)), "ü".repeat(200));
    }

    #[test]
    fn long_text_is_truncated_with_its_length() {
        assert_eq!(echo(&"ü".repeat(1000)), format!("{}… (1000 characters)", "ü".repeat(200)));
        assert!(echo(&"\u{202e}".repeat(200)).chars().count() < 230, "also if escaping makes it longer");
        assert_eq!(truncate_chars("abc\ndef".into(), 5), "abc\nd…");
        assert_eq!(truncate_chars("abc".into(), 3), "abc");
    }
}
