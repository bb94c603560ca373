//! Texts as both agents and people see them: characters that are invisible, reorder text or control a terminal become `\u{…}`.
//!
//! A file that an agent obeys and a person reviews must not say more to the agent than to the person.

use std::borrow::Cow;

use contract::escaped;

use super::FILE_PREFIX;
use crate::entry::Instruction;
use crate::scope::{SCOPE_PREFIX, decoded, encoded};

const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';

/// Checks whether an export writes characters of this entry in escaped form.
#[must_use]
pub fn has_hidden_text(instruction: &Instruction) -> bool {
    matches!(visible(instruction), Cow::Owned(_))
}

/// Returns the entry without hidden characters. In globs each becomes `?`, which matches it. A file with such characters in its name
/// is not the one that an export writes to.
pub(super) fn visible(instruction: &Instruction) -> Cow<'_, Instruction> {
    let shown = Instruction {
        title: visible_text(&instruction.title).into_owned(),
        body: visible_text(&instruction.body).into_owned(),
        rationale: instruction.rationale.as_deref().map(|text| visible_text(text).into_owned()),
        categories: instruction.categories.iter().filter_map(|category| visible_category(category)).collect(),
        ..instruction.clone()
    };
    if shown == *instruction { Cow::Borrowed(instruction) } else { Cow::Owned(shown) }
}

fn visible_category(category: &str) -> Option<String> {
    if let Some(glob) = decoded(SCOPE_PREFIX, category).filter(|glob| is_hidden(glob)) {
        return Some(encoded(SCOPE_PREFIX, &visible_glob(&glob)));
    }
    (!decoded(FILE_PREFIX, category).is_some_and(|path| is_hidden(&path))).then(|| category.to_owned())
}

fn visible_glob(glob: &str) -> String {
    let shown = |part: &str| {
        part.chars().map(|char| if is_hidden(char.encode_utf8(&mut [0; 4])) { '?' } else { char }).collect()
    };
    map_between_joiners(glob, |part| Cow::Owned(shown(part)))
}

fn is_hidden(text: &str) -> bool {
    visible_text(text) != text
}

/// Escapes the hidden characters of `text`, except the joiners that emoji and the scripts of Asia are written with.
fn visible_text(text: &str) -> Cow<'_, str> {
    if matches!(escaped(text), Cow::Borrowed(_)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(map_between_joiners(text, escaped))
}

/// Maps the text between the joiners that stay.
fn map_between_joiners<'a>(text: &'a str, map: impl Fn(&'a str) -> Cow<'a, str>) -> String {
    let mut mapped = String::with_capacity(text.len() + 16);
    let (mut start, mut before) = (0, None);
    for (at, char) in text.char_indices() {
        let end = at + char.len_utf8();
        let joins = matches!(char, JOINER | NON_JOINER)
            && before.is_some_and(is_joined)
            && text[end..].chars().next().is_some_and(is_joined);
        if joins {
            mapped.push_str(&map(&text[start..at]));
            mapped.push(char);
            start = end;
        }
        before = Some(char);
    }
    mapped.push_str(&map(&text[start..]));
    mapped
}

/// Checks whether joiners have a meaning beside this character: in scripts from Hebrew on, and between symbols. One joiner beside
/// another has none, so that they cannot encode hidden text.
fn is_joined(char: char) -> bool {
    let is_of_script_or_symbol = matches!(char, '\u{590}'..='\u{1fff}' | '\u{2190}'..);
    is_of_script_or_symbol
        && !char.is_whitespace()
        && matches!(escaped(char.encode_utf8(&mut [0; 4])), Cow::Borrowed(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped() {
        for (text, shown) in [
            ("a\u{1b}]0;x\u{7}b", "a\\u{1b}]0;x\\u{7}b"),
            ("a\u{9b}31m\u{7f}", "a\\u{9b}31m\\u{7f}"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
            ("a\u{e0041}", "a\\u{e0041}"),
            ("a\u{200b}b\u{ad}", "a\\u{200b}b\\u{ad}"),
            ("a\rb", "a\\u{d}b"),
            // Joiners where they join nothing.
            ("no\u{200d}pe \u{200c}", "no\\u{200d}pe \\u{200c}"),
            ("ب\u{200c}\u{200d}\u{200c}ا", "ب\\u{200c}\\u{200d}\\u{200c}ا"),
            ("👩\u{200d} 💻", "👩\\u{200d} 💻"),
        ] {
            assert_eq!(visible_text(text), shown, "{text:?}");
            assert_eq!(visible_text(shown), shown, "once is enough");
        }
    }

    #[test]
    fn writing_stays_as_it_is() {
        for text in
            ["می\u{200c}خواهم", "क्\u{200d}ष", "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥", "a\n\tb", "日本語 ü", ""]
        {
            assert!(matches!(visible_text(text), Cow::Borrowed(_)) || visible_text(text) == text, "{text:?}");
        }
    }
}
