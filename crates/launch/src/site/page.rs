//! A single page and the parts of it that gates check.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::anchors::{AnchorStyle, anchors};
use super::front_matter::FrontMatter;
use super::line_index::LineIndex;
use super::markdown;
use crate::pattern::pattern;

/// An anchor that attributes set, as in `{#id}` and `{: .class #id }` behind a link or a paragraph, or a target of MyST: `(id)=`.
static GIVEN_ANCHOR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?m)\{[^{}\n]*?#([A-Za-z][A-Za-z0-9_:.-]*)[^{}\n]*\}|^\(([^()\s]+)\)=[ \t]*$")
});

/// Maximum number of these that are kept of a page.
const GIVEN_MAX: usize = 10_000;
/// Maximum number of headings, links, code blocks, code spans and comments that are usually collected of one page, each counted by itself.
pub const PAGE_ITEMS_MAX: usize = 10_000;

/// The kind of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LineKind {
    /// Nothing.
    #[default]
    Blank,
    /// The front matter with its fences.
    FrontMatter,
    /// A heading.
    Heading,
    /// A paragraph, a list or a quote.
    Text,
    /// A table.
    Table,
    /// A code block with its fences.
    Code,
    /// Raw HTML.
    Html,
    /// The definition of a reference.
    Reference,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its text without markup.
    pub text: String,
    /// 1-based.
    pub line: u32,
    /// The id that it is given: `# Title {#id}`.
    pub id: Option<String>,
}

/// The content of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// Text.
    Link,
    /// An image.
    Image,
}

/// A link or an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its kind.
    pub kind: LinkKind,
    /// Its target, as it is written.
    pub target: String,
    /// Its text without markup; of an image, its alternative text.
    pub text: String,
    /// 1-based.
    pub line: u32,
    /// `true` if it contains an image, or is raw HTML, so that an empty text is not a fault.
    pub has_content: bool,
}

/// A code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeBlock {
    /// The text after the fence; `None` for an indented block.
    pub info: Option<String>,
    /// The code.
    pub code: String,
    /// Line of the fence, or the first line of an indented block; 1-based.
    pub line: u32,
    /// Line of the first line of code.
    pub code_line: u32,
    /// `true` if the fence has an end.
    pub is_closed: bool,
}

impl CodeBlock {
    /// The language: the first word of the info in lower case, without attributes: `rust` of ```` ```rust,ignore ````.
    #[must_use]
    pub fn language(&self) -> Option<String> {
        let info = self.info.as_deref()?.trim();
        let info = info.strip_prefix('{').unwrap_or(info).trim_start_matches('.');
        let word = info.split(|c: char| c.is_whitespace() || matches!(c, ',' | '{' | '}' | ':')).next()?;
        (!word.is_empty()).then(|| word.to_lowercase())
    }
}

/// Code within a line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeSpan {
    /// The code.
    pub code: String,
    /// 1-based.
    pub line: u32,
}

/// A comment of raw HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Its text, without white space around it.
    pub text: String,
    /// 1-based.
    pub line: u32,
}

/// A Markdown page.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Path, relative to the site.
    pub path: String,
    /// The text.
    pub text: String,
    /// The front matter.
    pub front_matter: FrontMatter,
    /// The headings.
    pub headings: Vec<Heading>,
    /// The links and images, those of raw HTML too.
    pub links: Vec<Link>,
    /// The code blocks.
    pub code_blocks: Vec<CodeBlock>,
    /// Code within lines of text.
    pub code_spans: Vec<CodeSpan>,
    /// Comments of raw HTML.
    pub comments: Vec<Comment>,
    /// Anchors that raw HTML sets.
    pub html_ids: BTreeSet<String>,
    /// HTML that could run in a browser, with its line.
    pub active_html: Vec<(u32, String)>,
    /// Labels of references that are not defined, with their lines: `[text][label]`.
    pub undefined_references: Vec<(u32, String)>,
    /// The kind of each line.
    pub line_kinds: Vec<LineKind>,
    /// The text with all code and comments replaced by spaces, at the same offsets.
    pub masked: String,
    /// `true` if items were omitted because there are too many.
    pub is_truncated: bool,
    pub(super) lines: LineIndex,
}

impl Page {
    /// Parses a page. Collects at most `items_max` of each kind.
    #[must_use]
    pub fn parse(path: &str, text: String, items_max: usize) -> Self {
        let (front_matter, body) = FrontMatter::split(&text);
        let lines = LineIndex::new(&text);
        let mut page = Self { path: path.to_owned(), front_matter, lines, ..Self::default() };
        markdown::collect(&mut page, &text, body, items_max);
        page.text = text;
        page
    }

    /// The anchors that links can lead to.
    #[must_use]
    pub fn anchors(&self, style: AnchorStyle) -> BTreeSet<String> {
        let mut all = anchors(&self.headings, style);
        all.extend(self.html_ids.iter().cloned());
        let given =
            GIVEN_ANCHOR.captures_iter(&self.masked).filter_map(|found| found.get(1).or(found.get(2)));
        all.extend(given.take(GIVEN_MAX).map(|anchor| anchor.as_str().to_owned()));
        all
    }

    /// The lines of the text with their numbers and kinds.
    pub fn numbered_lines(&self) -> impl Iterator<Item = (u32, LineKind, &str)> {
        let kinds = self.line_kinds.iter().copied().chain(std::iter::repeat(LineKind::Blank));
        self.text.lines().zip(kinds).zip(1..).map(|((line, kind), number)| (number, kind, line))
    }

    /// Returns the kind of a line, 1-based.
    #[must_use]
    pub fn kind_of(&self, line: u32) -> LineKind {
        let row = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
        row.and_then(|row| self.line_kinds.get(row)).copied().unwrap_or_default()
    }

    /// The line of a byte of [`Page::masked`] or [`Page::text`], 1-based.
    #[must_use]
    pub fn line_at(&self, offset: usize) -> u32 {
        self.lines.line(offset)
    }

    /// The title: that of the front matter, else the first heading.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.front_matter.text("title").or_else(|| self.headings.first().map(|heading| heading.text.as_str()))
    }

    /// The folder of the page; empty for the site itself.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}
