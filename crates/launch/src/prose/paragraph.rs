//! Paragraphs and items of lists, cut into sentences.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use regex::{Captures, Regex};

use super::{Sentence, stands_alone};
use crate::pattern::pattern;

/// Longest paragraph that is read, in bytes.
const BYTES_MAX: usize = 8 << 10;
/// Words whose full stop does not end a sentence.
const ABBREVIATIONS: &[&str] = &["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "no.", "resp."];

/// A link, or an image if `!` precedes it.
static LINK: LazyLock<Regex> = LazyLock::new(|| pattern(r"(!?)\[([^\]\[]+)\](?:\([^()]*\)|\[[^\]\[]*\])"));
static EMPHASIS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\*([^*\s](?:[^*]*[^*\s])?)\*"));
static ITEM: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:[-*+]|\d{1,9}[.)])\s+"));
static TASK: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\[([ xX])\](?:\s+|$)"));
/// The beginning of a tag, which may hide or strike through the text after it.
static TAG: LazyLock<Regex> = LazyLock::new(|| pattern(r"</?[A-Za-z][A-Za-z0-9-]*(?:[\s/>]|$)"));
/// A line that is bold as a whole, and thus used as a heading.
static BOLD: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:\*\*[^*]+\*\*|__[^_]+__):?$"));

/// An item of a list, without the mark in front of it.
pub(super) struct Item<'l> {
    pub(super) text: &'l str,
    /// `true` if it is an unchecked task.
    pub(super) is_open_task: bool,
}

/// The item that a line begins.
pub(super) fn item_text(line: &str) -> Option<Item<'_>> {
    let text = line.get(ITEM.find(line)?.end()..)?;
    let Some(task) = TASK.captures(text) else { return Some(Item { text, is_open_task: false }) };
    let after = text.get(task.get(0)?.end()..)?;
    Some(Item { text: after, is_open_task: task.get(1)?.as_str() == " " })
}

/// Lines that belong together.
#[derive(Default)]
pub(super) struct Paragraph {
    text: String,
    /// Offsets at which lines begin, with their numbers.
    lines: Vec<(usize, u32)>,
    is_begun: bool,
    is_item: bool,
    /// `true` if nothing of it may be repeated.
    is_refused: bool,
    /// `true` if it is a single bold line.
    is_bold: bool,
    /// `true` if the last line ended between two backticks.
    in_code: bool,
}

impl Paragraph {
    pub(super) fn begin(&mut self, is_refused: bool) {
        *self = Self { is_begun: true, is_refused, ..Self::default() };
    }

    pub(super) fn begin_item(&mut self, is_refused: bool) {
        *self = Self { is_begun: true, is_item: true, is_refused, ..Self::default() };
    }

    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    pub(super) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Returns its text, if it is written like a heading.
    pub(super) fn bold_text(&self) -> Option<&str> {
        self.is_bold.then_some(self.text.trim_matches(['_', ' ']))
    }

    /// Adds a line. A paragraph that is too long is refused, because a part of it may not mean the same as the whole.
    pub(super) fn push(&mut self, number: u32, line: &str) {
        if self.text.len() + line.len() > BYTES_MAX {
            self.is_refused = true;
            return;
        }
        self.is_bold = self.lines.is_empty() && BOLD.is_match(line);
        if !self.lines.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), number));
        let plain = without_markup(line, &mut self.in_code);
        self.text.push_str(&plain);
    }

    /// Returns its sentences in order, without headings; `None` in place of one that is not self-contained.
    pub(super) fn sentences(&self) -> Vec<Option<Sentence>> {
        if self.is_refused || self.text.split('`').step_by(2).any(|part| TAG.is_match(part)) {
            return Vec::new();
        }
        let (ranges, comments) = (split(&self.text), comments(&self.text));
        let is_item = self.is_item && ranges.len() == 1;
        let sentence = |range: &Range<usize>| {
            let is_hidden = comments.iter().any(|one| one.start < range.end && range.start < one.end);
            let text = self.text.get(range.clone()).unwrap_or_default().trim();
            (!is_hidden && stands_alone(text, is_item)).then(|| Sentence {
                text: text.split_whitespace().collect::<Vec<_>>().join(" "),
                start_line: self.line_at(range.start),
                end_line: self.line_at(range.end.saturating_sub(1)),
                headings: Arc::default(),
            })
        };
        ranges.iter().map(sentence).collect()
    }

    /// The last sentence, whole or not.
    pub(super) fn last_text(&self) -> &str {
        let last = split(&self.text).pop().unwrap_or_default();
        self.text.get(last).unwrap_or_default().trim()
    }

    fn line_at(&self, offset: usize) -> u32 {
        let after = self.lines.partition_point(|(start, _)| *start <= offset);
        after.checked_sub(1).and_then(|at| self.lines.get(at)).map_or(1, |(_, number)| *number)
    }
}

/// Removes links and emphasis from a line. Code between backticks is kept, and so are images, because their content is unknown.
fn without_markup(line: &str, in_code: &mut bool) -> String {
    let mut written = String::with_capacity(line.len());
    for (at, part) in line.split('`').enumerate() {
        if at > 0 {
            written.push('`');
            *in_code = !*in_code;
        }
        if *in_code {
            written.push_str(part);
            continue;
        }
        let part = LINK.replace_all(part, |link: &Captures<'_>| {
            let part = |at: usize| link.get(at).map_or("", |part| part.as_str());
            if part(1).is_empty() { part(2).to_owned() } else { part(0).to_owned() }
        });
        let part = part.replace("**", "");
        written.push_str(&EMPHASIS.replace_all(&part, "$1"));
    }
    written
}

/// Finds the comments of HTML. One without an end reaches to the end of the text.
fn comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text.get(from..).and_then(|rest| rest.find("<!--")).map(|at| from + at) {
        let end = text.get(start..).and_then(|rest| rest.find("-->")).map(|at| start + at + "-->".len());
        from = end.unwrap_or(text.len());
        found.push(start..from);
    }
    found
}

/// Finds the ranges of sentences.
fn split(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut in_code) = (0, false);
    for (at, char) in text.char_indices() {
        in_code ^= char == '`';
        if in_code || !matches!(char, '.' | '!' | '?') {
            continue;
        }
        let end = at + char.len_utf8();
        if begins_sentence(text.get(end..).unwrap_or_default()) && !is_abbreviated(text, start..end) {
            ranges.push(start..end);
            start = end;
        }
    }
    if !text.get(start..).unwrap_or_default().trim().is_empty() {
        ranges.push(start..text.len());
    }
    // A space in front of a sentence may be on the line before.
    let trimmed = |range: Range<usize>| {
        let part = text.get(range.clone()).unwrap_or_default();
        range.end - part.trim_start().len()..range.end
    };
    ranges.into_iter().map(trimmed).collect()
}

/// Returns `true` if a text is empty, or begins with a space and another sentence.
fn begins_sentence(rest: &str) -> bool {
    let mut rest = rest.chars();
    match rest.next() {
        None => true,
        Some(' ') => rest.next().is_none_or(|next| next.is_uppercase() || next.is_numeric() || next == '`'),
        Some(_) => false,
    }
}

/// Returns `true` if a range ends with an abbreviation, and the text continues after it.
fn is_abbreviated(text: &str, range: Range<usize>) -> bool {
    let is_last = range.end == text.len();
    let word = text.get(range).and_then(|part| part.split_whitespace().next_back()).unwrap_or_default();
    let longest = ABBREVIATIONS.iter().map(|one| one.len()).max().unwrap_or_default();
    let word = word.trim_start_matches('(');
    !is_last && word.len() <= longest && ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}
