//! Quotes of a caller's own input in error messages: on one line and bounded, so that no answer grows with its request.

use super::visible_line;

/// Most characters of a wrong value that an answer quotes.
pub const ECHO_CHARS_MAX: usize = 200;

/// `text` on one line, hidden characters shown as `\u{…}`, cut after [`ECHO_CHARS_MAX`] characters; a cut is marked by `…`
/// and the text's length in characters.
#[must_use]
pub fn echo(text: &str) -> String {
    echo_within(text, ECHO_CHARS_MAX)
}

/// As [`echo`], cut after `chars_max` characters.
#[must_use]
pub fn echo_within(text: &str, chars_max: usize) -> String {
    let (begin, rest) = split_at_char(text, chars_max);
    // Escaping hidden characters makes the text longer, so it is cut again.
    let shown = visible_line(begin);
    let (begin, shown_rest) = split_at_char(&shown, chars_max);
    if rest.is_empty() && shown_rest.is_empty() {
        return shown;
    }
    format!("{begin}… ({} characters)", text.chars().count())
}

/// `text` cut after `chars_max` characters, with `…` at the cut; line breaks are kept.
#[must_use]
pub fn cut(text: String, chars_max: usize) -> String {
    match split_at_char(&text, chars_max) {
        (_, "") => text,
        (begin, _) => format!("{begin}…"),
    }
}

fn split_at_char(text: &str, chars: usize) -> (&str, &str) {
    let at = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    text.split_at(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_shown_whole() {
        assert_eq!(echo("repoPath"), "repoPath");
        assert_eq!(echo("a\nb\u{202e}"), "a\\nb\\u{202e}");
        assert_eq!(echo(&"ü".repeat(200)), "ü".repeat(200));
    }

    #[test]
    fn long_text_is_cut_and_says_how_long_it_was() {
        assert_eq!(echo(&"ü".repeat(1000)), format!("{}… (1000 characters)", "ü".repeat(200)));
        assert!(echo(&"\u{202e}".repeat(200)).chars().count() < 230, "also when it grows by being shown");
        assert_eq!(cut("abc\ndef".into(), 5), "abc\nd…");
        assert_eq!(cut("abc".into(), 3), "abc");
    }
}
