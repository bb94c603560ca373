//! Sentences of documents and comments that a page may repeat: what stands by itself, is short, and means nothing but text.

use std::sync::LazyLock;

use regex::Regex;

use crate::claim::statement;
use crate::pattern::pattern;
use crate::site::{LineKind, Page};

/// Lengths of a sentence.
const BYTES_MIN: usize = 12;
const BYTES_MAX: usize = 300;
const WORDS_MIN: usize = 3;
const WORDS_MAX: usize = 45;
/// Longest paragraph that is read, in bytes.
const PARAGRAPH_BYTES_MAX: usize = 8 << 10;

/// Words by which a sentence depends on what stands around it, or on who says it.
const DEPENDENT: &[&str] = &[
    "above",
    "below",
    "click",
    "fixme",
    "following",
    "here",
    "i",
    "i'm",
    "me",
    "my",
    "our",
    "tbd",
    "todo",
    "us",
    "we",
    "we'll",
    "we're",
];
/// Phrases that do the same.
const DEPENDENT_PHRASES: &[&str] = &[
    "this section",
    "this page",
    "this document",
    "this file",
    "this guide",
    "this readme",
    "this example",
    "see the ",
    "for example",
];
/// Parts of texts that mean something to Markdown, to HTML, to templates, or that lead elsewhere.
const ACTIVE: &[&str] = &["<!--", "-->", "{{", "}}", "{%", "%}", "${", "://", "www.", "``", "\\"];
/// Words that end with a full stop and no sentence.
const ABBREVIATIONS: &[&str] = &["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "no.", "resp."];

static IMAGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"!\[[^\]\[]*\]\([^()]*\)"));
static LINK: LazyLock<Regex> = LazyLock::new(|| pattern(r"\[([^\]\[]+)\](?:\([^()]*\)|\[[^\]\[]*\])"));
static EMPHASIS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\*([^*\s](?:[^*]*[^*\s])?)\*"));
static ITEM: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?"));

/// A sentence and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The sentence, without markup but code.
    pub text: String,
    /// Its first line, 1-based.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// The headings above it in lower case, the innermost last.
    pub headings: Vec<String>,
}

/// The sentences of a page that can stand by themselves, in order.
#[must_use]
pub fn sentences(page: &Page) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut paragraph = Paragraph::default();
    let mut above: Vec<(u8, String)> = Vec::new();
    let names = |above: &[(u8, String)]| above.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>();
    for (number, kind, line) in page.numbered_lines() {
        let trimmed = line.trim();
        let is_quoted = trimmed.starts_with(['>', '|', '<']) || trimmed.starts_with("[^");
        if kind != LineKind::Text || is_quoted {
            paragraph.flush(&names(&above), &mut found);
            if let Some(heading) = page.headings.iter().find(|heading| heading.line == number) {
                above.retain(|(level, _)| *level < heading.level);
                above.push((heading.level, heading.text.to_lowercase()));
            }
            continue;
        }
        if let Some(marker) = ITEM.find(trimmed) {
            paragraph.flush(&names(&above), &mut found);
            paragraph.is_item = true;
            paragraph.push(number, trimmed.get(marker.end()..).unwrap_or_default());
        } else {
            paragraph.push(number, trimmed);
        }
    }
    paragraph.flush(&names(&above), &mut found);
    found
}

/// The first sentence of the lines of a comment, each with its number.
#[must_use]
pub fn first_sentence<'l>(lines: impl Iterator<Item = (u32, &'l str)>) -> Option<Sentence> {
    let mut paragraph = Paragraph::default();
    let text = lines.map(|(number, line)| (number, line.trim())).skip_while(|(_, line)| line.is_empty());
    for (number, line) in text.take_while(|(_, line)| !line.is_empty()) {
        paragraph.push(number, line);
    }
    let mut found = Vec::new();
    paragraph.flush(&[], &mut found);
    // Another sentence than the first says what something does only together with it.
    found.into_iter().next().filter(|sentence| paragraph.is_first(sentence))
}

/// Lines that belong together.
#[derive(Default)]
struct Paragraph {
    text: String,
    /// Offsets at which lines begin, with their numbers.
    lines: Vec<(usize, u32)>,
    is_item: bool,
    /// The first line of what was flushed last.
    flushed_line: u32,
    /// The beginning of what was flushed last.
    flushed_text: String,
}

impl Paragraph {
    fn push(&mut self, number: u32, line: &str) {
        if self.text.len() + line.len() > PARAGRAPH_BYTES_MAX {
            return;
        }
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), number));
        self.text.push_str(&without_markup(line));
    }

    /// Adds the sentences of the paragraph and begins another one.
    fn flush(&mut self, headings: &[String], found: &mut Vec<Sentence>) {
        let text = std::mem::take(&mut self.text);
        let lines = std::mem::take(&mut self.lines);
        let is_item = std::mem::take(&mut self.is_item);
        let ranges = split(&text);
        let is_alone = ranges.len() == 1;
        for (start, end) in ranges {
            let sentence = text.get(start..end).unwrap_or_default().trim();
            if stands_alone(sentence, is_item && is_alone) {
                found.push(Sentence {
                    text: sentence.split_whitespace().collect::<Vec<_>>().join(" "),
                    start_line: line_at(&lines, start),
                    end_line: line_at(&lines, end.saturating_sub(1)),
                    headings: headings.to_vec(),
                });
            }
        }
        self.flushed_line = lines.first().map_or(0, |(_, number)| *number);
        self.flushed_text = text;
    }

    /// Whether a sentence is what the flushed paragraph begins with.
    fn is_first(&self, sentence: &Sentence) -> bool {
        let plain = self.flushed_text.split_whitespace().collect::<Vec<_>>().join(" ");
        sentence.start_line == self.flushed_line && plain.starts_with(&sentence.text)
    }
}

fn line_at(lines: &[(usize, u32)], offset: usize) -> u32 {
    let after = lines.partition_point(|(start, _)| *start <= offset);
    after.checked_sub(1).and_then(|at| lines.get(at)).map_or(1, |(_, number)| *number)
}

/// A line without images, links and emphasis. What stands between backticks stays as it is.
fn without_markup(line: &str) -> String {
    let plain = |(at, part): (usize, &str)| {
        if at % 2 == 1 {
            return part.to_owned();
        }
        let part = IMAGE.replace_all(part, "");
        let part = LINK.replace_all(&part, "$1");
        let part = part.replace("**", "");
        EMPHASIS.replace_all(&part, "$1").into_owned()
    };
    line.split('`').enumerate().map(plain).collect::<Vec<_>>().join("`")
}

/// Where sentences begin and end.
fn split(text: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let (mut start, mut in_code) = (0, false);
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        in_code ^= char == '`';
        if in_code || !matches!(char, '.' | '!' | '?') {
            continue;
        }
        let end = at + char.len_utf8();
        let mut rest = text.get(end..).unwrap_or_default().chars();
        let begins_next = match rest.next() {
            None => true,
            Some(' ') => {
                rest.next().is_none_or(|next| next.is_uppercase() || next.is_numeric() || next == '`')
            }
            Some(_) => false,
        };
        let word = text.get(start..end).and_then(|text| text.split_whitespace().last()).unwrap_or_default();
        let is_abbreviation = ABBREVIATIONS.contains(&word.trim_start_matches('(').to_lowercase().as_str());
        if begins_next && (!is_abbreviation || chars.peek().is_none()) {
            ranges.push((start, end));
            start = end;
        }
    }
    if !text.get(start..).unwrap_or_default().trim().is_empty() {
        ranges.push((start, text.len()));
    }
    // A space in front of a sentence may be on the line before.
    let trimmed = |(start, end): (usize, usize)| {
        let part = text.get(start..end).unwrap_or_default();
        (end - part.trim_start().len(), end)
    };
    ranges.into_iter().map(trimmed).collect()
}

/// Whether a sentence can be repeated elsewhere and means nothing but text there.
#[must_use]
pub fn stands_alone(text: &str, is_item: bool) -> bool {
    is_plain(text) && is_complete(text, is_item) && !is_dependent(text)
}

/// Whether a text has no markup but balanced code.
fn is_plain(text: &str) -> bool {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
            || ('\u{e0000}'..='\u{e007f}').contains(&c)
    };
    let outside = || text.split('`').step_by(2);
    (BYTES_MIN..=BYTES_MAX).contains(&text.len())
        && !text.chars().any(is_hidden)
        && !ACTIVE.iter().any(|part| text.contains(part))
        && text.matches('`').count().is_multiple_of(2)
        && !outside().any(|part| part.contains(['<', '>', '[', ']', '|', '*']))
        && statement(text) == text
}

fn is_complete(text: &str, is_item: bool) -> bool {
    let words = text.split_whitespace().count();
    let first = text.chars().next().unwrap_or(' ');
    let last = text.chars().next_back().unwrap_or(' ');
    let begins =
        first.is_uppercase() || first.is_numeric() || first == '`' || (is_item && first.is_alphabetic());
    let ends = last == '.' || (is_item && (last.is_alphanumeric() || matches!(last, '`' | ')')));
    (WORDS_MIN..=WORDS_MAX).contains(&words) && begins && ends
}

fn is_dependent(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_inner = |c: char| c.is_alphanumeric() || c == '\'';
    lower.split(|c| !is_inner(c)).any(|word| DEPENDENT.contains(&word))
        || DEPENDENT_PHRASES.iter().any(|phrase| lower.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, u32, u32)> {
        let page = Page::parse("README.md", text.to_owned(), 1000);
        sentences(&page).into_iter().map(|one| (one.text, one.start_line, one.end_line)).collect()
    }

    fn texts(text: &str) -> Vec<String> {
        of(text).into_iter().map(|(text, _, _)| text).collect()
    }

    #[test]
    fn sentences_have_their_lines() {
        let text = "# Shop\n\nReads orders from CSV\nfiles. Writes `a.b` e.g. Reports to disk.\n\n- Keeps a list of sales\n";
        assert_eq!(
            of(text),
            [
                ("Reads orders from CSV files.".to_owned(), 3, 4),
                ("Writes `a.b` e.g. Reports to disk.".to_owned(), 4, 4),
                ("Keeps a list of sales".to_owned(), 6, 6),
            ]
        );
    }

    #[test]
    fn headings_above_are_known() {
        let page = Page::parse(
            "a.md",
            "# Shop\n\n## Use\n\n### Fast\n\nReads all the files.\n\n## Install\n\nRuns with one command.\n"
                .to_owned(),
            1000,
        );
        let headings: Vec<_> = sentences(&page).into_iter().map(|one| one.headings).collect();
        assert_eq!(headings, [vec!["shop", "use", "fast"], vec!["shop", "install"]]);
    }

    #[test]
    fn links_and_emphasis_become_text() {
        assert_eq!(
            texts("It **reads** [CSV files](https://x.example/y) and *writes* [JSON][j].\n\n[j]: /j\n"),
            ["It reads CSV files and writes JSON."]
        );
    }

    #[test]
    fn what_is_more_than_text_is_left_out() {
        for text in [
            "It is perfect. <!-- claim_id: forged -->",
            "Runs {{< shortcode >}} for you.",
            "Shows <b>bold</b> text to people.",
            "See https://x.example for more of it.",
            "Costs ${PRICE} in all shops.",
            "Has a backslash \\* in the text.",
            "Looks at an [open bracket only.",
            "> Quotes what somebody else said.",
            "Hides \u{202e}something in the text.",
            "We read many kinds of files.",
            "The options are listed below.",
            "What is it for?",
            "Two words.",
            "not the beginning of a sentence.",
            "A sentence without an end",
            "- 1. an item in an item of a list",
        ] {
            assert!(texts(text).is_empty(), "{text}: {:?}", texts(text));
        }
        let long = format!("It {}.", "reads ".repeat(100));
        assert!(texts(&long).is_empty());
        assert!(texts("```\nReads orders from CSV files.\n```\n").is_empty());
    }

    #[test]
    fn only_the_first_sentence_of_a_comment_counts() {
        let first = |lines: &[&str]| {
            first_sentence(lines.iter().copied().zip(4..).map(|(line, number)| (number, line)))
                .map(|sentence| (sentence.text, sentence.start_line, sentence.end_line))
        };
        assert_eq!(
            first(&["", "Parses an order", "of a customer. Fails if empty.", "", "Never read."]),
            Some(("Parses an order of a customer.".to_owned(), 5, 6))
        );
        assert_eq!(first(&["See https://x.example. Parses an order of a customer."]), None);
        assert_eq!(first(&[]), None);
    }
}
