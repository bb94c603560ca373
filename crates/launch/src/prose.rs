//! Sentences of documents and comments that a page may repeat: they are self-contained, short, and plain text.
//!
//! A sentence is repeated without its context, so its place matters, too: an item may depend on the line that introduces its list, and text
//! below "Roadmap" is not true yet.

mod outline;
mod paragraph;

use std::iter::Peekable;
use std::slice::Iter;
use std::sync::{Arc, LazyLock};

use regex::Regex;

use self::outline::Outline;
pub(crate) use self::outline::is_limiting;
use self::paragraph::{Paragraph, item_text};
use crate::claim::statement;
use crate::evidence::is_readme;
use crate::pattern::pattern;
use crate::site::{Heading, LineKind, Page};

/// Lengths of a sentence.
const BYTES_MIN: usize = 12;
const BYTES_MAX: usize = 300;
const WORDS_MIN: usize = 3;
const WORDS_MAX: usize = 45;

/// Words by which a sentence depends on its context, or on its author.
const DEPENDENT: &[&str] = &[
    "above", "below", "click", "fixme", "following", "here", "i", "i'm", "me", "my", "our", "tbd", "todo",
    "us", "we", "we'll", "we're",
];
/// Phrases with the same effect.
const DEPENDENT_PHRASES: &[&str] = &[
    "this section", "this page", "this document", "this file", "this guide", "this readme", "this example",
    "see the ", "for example",
];
/// Parts of texts that are syntax in Markdown, HTML or templates, or that lead elsewhere.
const ACTIVE: &[&str] =
    &["<!--", "-->", "{{", "}}", "{%", "%}", "${", "://", "www.", "``", "~~", "\\", "\u{fffc}"];
/// Keys of front matter that describe a page.
pub(crate) const DESCRIPTION_KEYS: &[&str] = &["description", "summary", "abstract", "excerpt"];

/// An HTML entity, by name or number, which is shown as another character.
static ENTITY: LazyLock<Regex> = LazyLock::new(|| pattern(r"&#?[A-Za-z0-9]{1,32};"));

/// A sentence and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The sentence, without markup but code.
    pub text: String,
    /// Its first line, 1-based.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// The headings above it in lower case, the innermost last; without the title of a README, which names the product.
    pub headings: Arc<[String]>,
}

/// Returns the first `most` sentences of a page that are self-contained, in order; none of a truncated page, because the headings above its
/// lines are not known.
#[must_use]
pub fn sentences(page: &Page, most: usize) -> Vec<Sentence> {
    if page.is_truncated {
        return Vec::new();
    }
    let mut reader = Reader {
        headings: page.headings.iter().peekable(),
        outline: Outline::new(is_readme(&page.path)),
        paragraph: Paragraph::default(),
        found: Vec::new(),
    };
    for (number, kind, line) in page.numbered_lines() {
        if reader.found.len() >= most {
            break;
        }
        reader.take(number, kind, line);
    }
    reader.flush();
    reader.found.truncate(most);
    reader.found
}

/// Returns the first sentence of the lines of a comment, each with its number.
#[must_use]
pub fn first_sentence<'l>(lines: impl Iterator<Item = (u32, &'l str)>) -> Option<Sentence> {
    let mut paragraph = Paragraph::default();
    let text = lines.map(|(number, line)| (number, line.trim())).skip_while(|(_, line)| line.is_empty());
    for (number, line) in text.take_while(|(_, line)| !line.is_empty() && item_text(line).is_none()) {
        paragraph.push(number, line);
    }
    // Later sentences may depend on the first.
    paragraph.sentences().into_iter().next().flatten()
}

/// Reads a page line by line.
struct Reader<'p> {
    headings: Peekable<Iter<'p, Heading>>,
    outline: Outline,
    paragraph: Paragraph,
    found: Vec<Sentence>,
}

impl Reader<'_> {
    fn take(&mut self, number: u32, kind: LineKind, line: &str) {
        let trimmed = line.trim();
        while let Some(heading) = self.headings.next_if(|heading| heading.line <= number) {
            self.flush();
            self.outline.enter(heading, line);
        }
        let is_quoted = trimmed.starts_with(['>', '|', '<']) || trimmed.starts_with("[^");
        if kind == LineKind::Text && !is_quoted {
            self.take_text(number, line, trimmed);
        } else {
            self.flush();
            self.outline.pass(kind, trimmed);
        }
    }

    fn take_text(&mut self, number: u32, line: &str, trimmed: &str) {
        let indentation = indentation(line);
        if let Some(item) = item_text(trimmed) {
            self.flush();
            self.outline.enter_item(indentation);
            let is_refused = self.outline.is_refused() || item.is_open_task;
            self.paragraph.begin_item(is_refused);
            self.paragraph.push(number, item.text);
            return;
        }
        if !self.paragraph.is_begun() {
            self.outline.enter_text(indentation);
            self.paragraph.begin(self.outline.is_refused());
        }
        self.paragraph.push(number, trimmed);
    }

    /// Ends the paragraph, and keeps its sentences.
    fn flush(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        if !paragraph.is_begun() {
            return;
        }
        for sentence in paragraph.sentences().into_iter().flatten() {
            self.found.push(Sentence { headings: self.outline.names(), ..sentence });
        }
        self.outline.leave(&paragraph);
    }
}

/// Returns the indentation of a line, in columns.
fn indentation(line: &str) -> usize {
    let white = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    white.map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// Returns `true` if a sentence can be repeated elsewhere and is plain text there.
#[must_use]
pub fn stands_alone(text: &str, is_item: bool) -> bool {
    is_plain(text) && is_complete(text, is_item) && !is_dependent(text)
}

/// Returns a claim as the description of a page in front matter, where there is no code and which themes insert into HTML; `None` if the
/// claim is not plain text without its backticks.
#[must_use]
pub fn description(text: &str) -> Option<String> {
    let plain = text.replace('`', "");
    (is_plain(&plain) && !plain.contains('"')).then_some(plain)
}

/// Returns `true` if a text has no markup except balanced code.
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
        && !outside().any(|part| part.contains(['<', '>', '[', ']', '|', '*']) || ENTITY.is_match(part))
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
mod tests;
