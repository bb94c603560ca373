//! The words of a text, and the parts of names in all naming styles.

use std::ops::Range;

use crate::identifier::nfc;

/// A run of letters, digits and `_`, and where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word as written.
    pub text: &'a str,
    /// Byte offset in the text.
    pub start: usize,
}

impl Word<'_> {
    /// Byte offset of the end of the word.
    #[must_use]
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The words of a text, in order.
pub fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(is_word_char)?;
        let length = text[start..].find(|c| !is_word_char(c)).unwrap_or(text.len() - start);
        at = start + length;
        Some(Word { text: &text[start..at], start })
    })
}

/// The camel, snake and kebab parts of a name, lower-cased, in order.
#[must_use]
pub fn parts(name: &str) -> Vec<String> {
    name.split(|c| !is_word_char(c) || c == '_')
        .flat_map(|piece| camel_parts(piece).into_iter().map(|range| piece[range].to_lowercase()))
        .collect()
}

/// A name folded across naming styles: `foo_bar`, `fooBar` and `foo-bar` are all `foobar`.
#[must_use]
pub fn squash(name: &str) -> String {
    nfc(name).chars().filter(|c| is_word_char(*c) && *c != '_').flat_map(char::to_lowercase).collect()
}

/// Checks whether a word in a sentence is certainly a name in code: inner capitals, `_`, a call, a path separator.
#[must_use]
pub fn is_identifier(word: &Word<'_>, text: &str) -> bool {
    let inner_capital =
        word.text.chars().zip(word.text.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let snake = word.text.trim_matches('_').contains('_');
    let before = &text[..word.start];
    let after = &text[word.end()..];
    let quoted = before.ends_with('`') && after.starts_with('`');
    let qualified = before.ends_with("::") || after.starts_with("::") || before.ends_with('#');
    // A dot ends a sentence too, so it counts only between two words.
    let dotted = (before.ends_with('.') && before[..before.len() - 1].ends_with(is_word_char))
        || (after.starts_with('.') && after[1..].starts_with(is_word_char));
    inner_capital || snake || quoted || qualified || dotted || after.starts_with("()")
}

/// Names like `max-old-space-size`: words of at least two characters joined by single hyphens.
pub(super) fn kebab_names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(is_word_char(c) || c == '-')).map(|run| run.trim_matches('-')).filter(|run| {
        run.contains('-')
            && run.starts_with(char::is_alphabetic)
            && run.split('-').all(|piece| piece.len() > 1)
    })
}

/// Chinese, Japanese and Korean are written without spaces: each pair of neighbouring characters is a term.
pub(super) fn ideograph_pairs(part: &str) -> impl Iterator<Item = &str> {
    let starts = part.char_indices().zip(part.char_indices().skip(1));
    starts
        .filter(|((_, a), (_, b))| is_ideograph(*a) && is_ideograph(*b))
        .map(|((start, _), (next, b))| &part[start..next + b.len_utf8()])
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{2ffff}')
}

/// The byte ranges of the parts of a camel-case run without `_`.
fn camel_parts(run: &str) -> Vec<Range<usize>> {
    let chars: Vec<(usize, char)> = run.char_indices().collect();
    let mut bounds = vec![0];
    for i in 1..chars.len() {
        let (previous, current) = (chars[i - 1].1, chars[i].1);
        let rises = !previous.is_uppercase() && current.is_uppercase();
        let next = chars.get(i + 1).map(|(_, c)| *c);
        // `HTTPServer` is `HTTP` and `Server`; the plural `IDs` is one part.
        let plural = next == Some('s') && !chars.get(i + 2).is_some_and(|(_, c)| c.is_alphabetic());
        let acronym_ends = previous.is_uppercase()
            && current.is_uppercase()
            && next.is_some_and(char::is_lowercase)
            && !plural;
        if rises || acronym_ends {
            bounds.push(chars[i].0);
        }
    }
    bounds.push(run.len());
    bounds.windows(2).map(|pair| pair[0]..pair[1]).filter(|range| !range.is_empty()).collect()
}

pub(super) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
