//! The context of a line: the headings above it, and the lines that introduce its list. They may make a line untrue by itself.

use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::is_dependent;
use super::paragraph::{Paragraph, item_text};
use crate::pattern::pattern;
use crate::site::{Heading, LineKind};

/// The level of text that is treated as a heading but is not a Markdown heading: a bold line, a summary, a heading within a list.
const LEVEL_MINOR: u8 = 7;
/// Longest text of a heading of HTML that is read, in bytes.
const HTML_BYTES_MAX: usize = 1024;

/// Words for things that are not true yet, or no longer.
const UNREAL: &[&str] = &[
    "anti-features", "backlog", "deprecated", "future", "goal", "goals", "ideas", "milestone", "milestones",
    "non-features", "non-goal", "non-goals", "nongoal", "nongoals", "planned", "plans", "proposal",
    "proposals", "proposed", "removed", "roadmap", "someday", "soon", "to-do", "to-dos", "todo", "todos",
    "unreleased", "upcoming", "wish-list", "wishlist",
];
/// Phrases with the same meaning.
const UNREAL_PHRASES: &[&str] = &[
    "help wanted", "in progress", "missing feature", "out of scope", "road map", "what's next", "wish list",
];
/// Words that deny.
const DENYING: &[&str] = &[
    "aren't", "can't", "cannot", "didn't", "doesn't", "don't", "isn't", "lacks", "neither", "never", "no",
    "nor", "not", "shouldn't", "unsupported", "wasn't", "won't", "wouldn't",
];
/// Parts of headings about limitations.
const LIMITING: &[&str] =
    &["limitation", "caveat", "known issue", "known problem", "not supported", "unsupported"];

static HTML_BEGIN: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)<(?:h([1-6])|summary)(?:\s[^>]*)?>"));
static HTML_END: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)</(?:h[1-6]|summary)\s*>"));
static HTML_TAG: LazyLock<Regex> = LazyLock::new(|| pattern(r"<[^>]*>"));

/// A heading above the next line.
struct Above {
    level: u8,
    /// Its text in lower case.
    text: String,
    /// `true` if it says that the text below is not true.
    is_unreal: bool,
}

/// The context of the next line.
pub(super) struct Outline {
    /// `true` if the first heading is the name of the product.
    is_readme: bool,
    has_heading: bool,
    /// The headings, the innermost last.
    headings: Vec<Above>,
    /// Their texts, shared by all sentences below; created on first use.
    names: Option<Arc<[String]>>,
    /// `true` if the items of the next list depend on the text before it.
    list_depends: bool,
    /// The open items with their indentation, the innermost last, and whether their contents depend on them.
    items: Vec<(usize, bool)>,
    /// The heading of HTML that is open, with its level and its text so far.
    html: Option<(u8, String)>,
}

impl Outline {
    pub(super) fn new(is_readme: bool) -> Self {
        Self {
            is_readme,
            has_heading: false,
            headings: Vec::new(),
            names: None,
            list_depends: false,
            items: Vec::new(),
            html: None,
        }
    }

    /// The texts of the headings.
    pub(super) fn names(&mut self) -> Arc<[String]> {
        let headings = &self.headings;
        let names =
            self.names.get_or_insert_with(|| headings.iter().map(|above| above.text.clone()).collect());
        Arc::clone(names)
    }

    /// Returns `true` if the text here would have another meaning without its context.
    pub(super) fn is_refused(&self) -> bool {
        let in_list = !self.items.is_empty();
        self.headings.iter().any(|above| above.is_unreal)
            || (in_list && self.list_depends)
            || self.items.iter().any(|(_, depends)| *depends)
    }

    /// Begins the part below a heading, whose line is given.
    pub(super) fn enter(&mut self, heading: &Heading, line: &str) {
        // A heading in a quote belongs to the quote; one in a list ends nothing outside of the list.
        if line.trim_start().starts_with('>') {
            return;
        }
        let is_inner = line.starts_with([' ', '\t']) || item_text(line.trim()).is_some();
        self.push(if is_inner { LEVEL_MINOR } else { heading.level }, &heading.text);
    }

    fn push(&mut self, level: u8, text: &str) {
        let text = text.to_lowercase().replace('’', "'");
        let is_title = self.is_readme && level == 1 && !self.has_heading;
        self.has_heading |= level < LEVEL_MINOR;
        self.list_depends = text.trim_end().ends_with(':');
        self.items.clear();
        self.headings.retain(|above| above.level < level);
        if !is_title {
            self.headings.push(Above { level, is_unreal: is_unreal(&text), text });
        }
        self.names = None;
    }

    /// Passes a line that belongs to no paragraph.
    pub(super) fn pass(&mut self, kind: LineKind, line: &str) {
        if kind == LineKind::Html || line.starts_with('<') {
            self.pass_html(line);
        } else {
            self.html = None;
        }
        let is_text = !matches!(kind, LineKind::Code | LineKind::Blank | LineKind::FrontMatter);
        if is_text && HTML_TAG.replace_all(line, "").trim_end().ends_with(':') {
            self.list_depends = true;
        }
    }

    fn pass_html(&mut self, line: &str) {
        let mut rest = line;
        loop {
            if let Some((level, mut text)) = self.html.take() {
                let end = HTML_END.find(rest);
                text.push_str(end.map_or(rest, |end| rest.get(..end.start()).unwrap_or_default()));
                text.push(' ');
                text.truncate(text.floor_char_boundary(HTML_BYTES_MAX));
                let Some(end) = end else {
                    self.html = Some((level, text));
                    return;
                };
                rest = rest.get(end.end()..).unwrap_or_default();
                let plain = HTML_TAG.replace_all(&text, "");
                self.push(level, &plain.split_whitespace().collect::<Vec<_>>().join(" "));
            }
            let Some(begin) = HTML_BEGIN.captures(rest) else { return };
            let level = begin.get(1).and_then(|digit| digit.as_str().parse().ok()).unwrap_or(LEVEL_MINOR);
            let after = begin.get(0).map_or(rest.len(), |tag| tag.end());
            rest = rest.get(after..).unwrap_or_default();
            self.html = Some((level, String::new()));
        }
    }

    /// Begins an item of a list.
    pub(super) fn enter_item(&mut self, indentation: usize) {
        self.html = None;
        self.items.retain(|(outer, _)| *outer < indentation);
        self.items.push((indentation, false));
    }

    /// Begins a paragraph: one that is not indented ends the list.
    pub(super) fn enter_text(&mut self, indentation: usize) {
        self.html = None;
        if indentation == 0 {
            self.items.clear();
        }
    }

    /// Ends a paragraph or an item, on which the next lines may depend.
    pub(super) fn leave(&mut self, paragraph: &Paragraph) {
        let depends = paragraph.is_refused() || leads(paragraph.last_text());
        match self.items.last_mut() {
            Some((_, of_item)) => *of_item |= depends,
            None => match paragraph.bold_text().filter(|text| !text.ends_with(['.', '!'])) {
                Some(text) => self.push(LEVEL_MINOR, text),
                None => self.list_depends = depends,
            },
        }
    }
}

/// Returns `true` if a text introduces the next one: it is no whole sentence, denies something, or refers to the future or to later text.
fn leads(text: &str) -> bool {
    let is_whole = text.trim_end_matches([')', '"', '\'', '”', '_']).ends_with(['.', '!']);
    let lower = text.to_lowercase().replace('’', "'");
    let denies = words(&lower).any(|word| DENYING.contains(&word));
    !text.is_empty() && (!is_whole || denies || speaks_of_unreal(&lower) || is_dependent(&lower))
}

/// Returns `true` if the text below a heading is not true. Limitations are an exception, because claims have a kind for them.
fn is_unreal(heading: &str) -> bool {
    let denies = words(heading).any(|word| DENYING.contains(&word));
    speaks_of_unreal(heading) || heading.trim() == "to do" || (denies && !is_limiting(heading))
}

/// Returns `true` if a heading in lower case is about limitations.
pub(crate) fn is_limiting(heading: &str) -> bool {
    LIMITING.iter().any(|part| heading.contains(part))
}

fn speaks_of_unreal(lower: &str) -> bool {
    words(lower).any(|word| UNREAL.contains(&word))
        || UNREAL_PHRASES.iter().any(|phrase| lower.contains(phrase))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '-'))).filter(|word| !word.is_empty())
}
