//! Literal texts in regular expressions and LIKE patterns.

/// The literal text, in lower case, that a case-insensitive regular expression matches; `None` if it uses any other syntax.
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

/// Escapes a text for a LIKE pattern.
pub(super) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_patterns_without_operators_are_literals() {
        assert_eq!(literal("(?i)Src/a\\.rs").as_deref(), Some("src/a.rs"));
        for pattern in ["src", "(?i)^src", "(?i)a.rs", "(?i)\\msrc", "(?i)caf\u{e9}", "(?i)"] {
            assert_eq!(literal(pattern), None, "{pattern}");
        }
    }
}
