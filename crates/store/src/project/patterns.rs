//! Texts and expressions as Postgres' operators want them.

/// The text in lower case that an expression looks for in whatever case, if it does nothing else.
pub(super) fn literal(pattern: &str) -> Option<String> {
    let mut rest = pattern.strip_prefix("(?i)")?.chars();
    let mut text = String::new();
    while let Some(c) = rest.next() {
        match c {
            '\\' => text.push(rest.next().filter(char::is_ascii_punctuation)?),
            c if ".^$*+?()[]{}|".contains(c) || !c.is_ascii() => return None,
            c => text.push(c.to_ascii_lowercase()),
        }
    }
    (!text.is_empty()).then_some(text)
}

/// A text that stands for itself in a LIKE pattern.
pub(super) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_for_itself_is_a_literal() {
        assert_eq!(literal("(?i)Src/a\\.rs").as_deref(), Some("src/a.rs"));
        for pattern in ["src", "(?i)^src", "(?i)a.rs", "(?i)\\msrc", "(?i)caf\u{e9}", "(?i)"] {
            assert_eq!(literal(pattern), None, "{pattern}");
        }
    }
}
