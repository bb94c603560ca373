//! The fallback for malformed queries: the words of a text without syntax.

use super::lex::{Fields, balanced, chunk, field, negates, operator};

/// Returns the words of a text without quotes and brackets at their ends, negations, and colons of fields, and with
/// operators in lower case. The result has the same terms and parses to plain words.
pub(super) fn plain_words(text: &str, fields: Fields<'_>) -> String {
    let mut words: Vec<String> = Vec::new();
    for typed in text.split_whitespace() {
        let mut rest = bare(typed);
        while let Some(colon) = colon(rest, fields) {
            words.push(rest[..colon].to_owned());
            rest = bare(&rest[colon + 1..]);
        }
        if operator(rest).is_some() {
            words.push(rest.to_lowercase());
        } else if !rest.is_empty() {
            words.push(rest.to_owned());
        }
    }
    words.join(" ")
}

/// Removes quotes, brackets and negations at the ends of a word; keeps balanced brackets, as in `f(x)`.
fn bare(mut word: &str) -> &str {
    while word.starts_with(['"', '(']) || negates(word) {
        word = &word[1..];
    }
    while word.ends_with('"') || (word.ends_with(')') && !balanced(word)) {
        word = &word[..word.len() - 1];
    }
    word
}

/// Returns the position of the colon of `field:value` or `chunk:12`.
fn colon(word: &str, fields: Fields<'_>) -> Option<usize> {
    if chunk(word).is_some() { word.find(':') } else { field(word, fields).map(|(_, colon)| colon) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_contains_no_syntax() {
        let fields = |name: &str| (name == "lang").then_some("lang");
        for (text, plain) in [
            ("say \"hello world", "say hello world"),
            ("AND (x OR -y)", "and x or y"),
            ("f(x) (g(y)) \"AND\"", "f(x) g(y) and"),
            ("lang:rust -lang:\"c\" chunk:12", "lang rust lang c chunk 12"),
            ("lang: path::x --flag ( \" )", "lang: path::x --flag"),
            ("-(-(!a", "a"),
            ("lang:\"AND", "lang and"),
        ] {
            assert_eq!(plain_words(text, &fields), plain, "{text}");
        }
    }
}
