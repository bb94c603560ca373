//! Determines which words of a query are marked in results, on pages and on terminals.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

/// Minimum length of a marked word; shorter ones would mark half of the page.
const WORD_CHARS_MIN: usize = 2;
/// Maximum number of marked words.
const WORDS_MAX: usize = 32;

/// The marked words of a query.
#[derive(Debug, Default)]
pub(super) struct Marks(Option<Regex>);

impl Marks {
    /// Creates the marks for a search in a mode: `regex`, `exact`, or any other, in which the query may be an expression between slashes.
    pub(super) fn of_search(query: &str, mode: &str, matches_case: bool) -> Self {
        match mode {
            "regex" => Self::of_pattern(query, true, !matches_case),
            "exact" => Self::of_pattern(query, false, !matches_case),
            _ => match engine::search::slashed_query(query) {
                Some(slashed) => Self::of_pattern(&slashed.regex, true, slashed.ignores_case),
                None => Self::of_query(query),
            },
        }
    }

    /// Creates the marks for the words that rank, and for phrases; neither for filters nor for excluded words.
    pub(super) fn of_query(query: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        for (at, part) in query.split('"').enumerate() {
            let is_phrase = at % 2 == 1;
            if is_phrase {
                words.push(regex::escape(part.trim()));
                continue;
            }
            let ranked = part.split_whitespace().filter(|word| {
                !word.starts_with('-') && !word.contains(':') && !matches!(*word, "AND" | "OR" | "NOT")
            });
            let parts = ranked.flat_map(|word| word.split(|c: char| !c.is_alphanumeric() && c != '_'));
            words.extend(parts.filter(|word| word.chars().count() >= WORD_CHARS_MIN).map(word_pattern));
        }
        Self::of_patterns(&words, true)
    }

    /// Creates the marks for the matches of a regular expression or a literal text.
    pub(super) fn of_pattern(pattern: &str, is_regex: bool, ignores_case: bool) -> Self {
        let pattern = if is_regex { format!("(?:{pattern})") } else { regex::escape(pattern) };
        Self::of_patterns(&[pattern], ignores_case)
    }

    fn of_patterns(patterns: &[String], ignores_case: bool) -> Self {
        let mut patterns: Vec<&str> =
            patterns.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
        patterns.truncate(WORDS_MAX);
        // The first alternative wins, so the longest comes first.
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.len()));
        if patterns.is_empty() {
            return Self::default();
        }
        let built =
            RegexBuilder::new(&patterns.join("|")).case_insensitive(ignores_case).size_limit(1 << 20).build();
        Self(built.ok())
    }

    /// Finds the words in a text; returns their byte ranges, in order and without overlaps.
    pub(super) fn within(&self, text: &str) -> Vec<Range<usize>> {
        let found = self.0.iter().flat_map(|words| words.find_iter(text));
        found.map(|found| found.range()).filter(|range| !range.is_empty()).collect()
    }
}

/// Returns the pattern of a word. The shortest words are marked only as whole words: `is` is also a part of `this`.
fn word_pattern(word: &str) -> String {
    let escaped = regex::escape(word);
    if word.chars().count() == WORD_CHARS_MIN { format!(r"\b{escaped}\b") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked<'a>(marks: &Marks, text: &'a str) -> Vec<&'a str> {
        marks.within(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn words_and_phrases_are_marked_and_filters_are_not() {
        let marks = Marks::of_query("where is parseUrl \"not found\" lang:rust -mock OR a");
        let text = "fn ParseURL() { where(); Not Found; lang rust mock or a }";
        assert_eq!(marked(&marks, text), ["ParseURL", "where", "Not Found"]);
        assert_eq!(marked(&Marks::of_query("is"), "this is"), ["is"]);
        assert!(Marks::of_query("lang:rust").within("lang rust").is_empty());
        assert!(Marks::of_query("\"\" \"").within("x").is_empty());
    }

    #[test]
    fn a_mode_decides_how_the_query_is_read() {
        let text = "a+b aab AB";
        for (query, mode, matches_case, expected) in [
            ("a+b", "regex", false, vec!["aab", "AB"]),
            ("a+b", "regex", true, vec!["aab"]),
            ("a+b", "exact", false, vec!["a+b"]),
            ("/a+b/", "", false, vec!["aab"]),
            ("/a+b/i", "code", false, vec!["aab", "AB"]),
            ("aab", "code", false, vec!["aab"]),
        ] {
            let marks = Marks::of_search(query, mode, matches_case);
            assert_eq!(marked(&marks, text), expected, "{query} {mode} {matches_case}");
        }
    }

    #[test]
    fn a_pattern_marks_what_it_matches() {
        assert_eq!(marked(&Marks::of_pattern("a+b", true, false), "ab aab AB"), ["ab", "aab"]);
        assert_eq!(marked(&Marks::of_pattern("a+b", false, true), "aab A+b"), ["A+b"]);
        assert!(
            Marks::of_pattern("(", true, false).within("(").is_empty(),
            "an invalid pattern marks nothing"
        );
        assert!(Marks::of_pattern("x*", true, false).within("aaa").is_empty(), "nothing is no match");
    }
}
