//! OpenDocument: texts with headings as `# Heading`, the sheets of a spreadsheet, the slides of a presentation.

use super::package::Package;
use super::word::LEVEL_MAX;
use super::xml::{Element, Handler};
use crate::Unreadable;
use crate::format::Format;
use crate::text::Text;

/// Elements whose texts are omitted: comments, deleted text, and text that replaces an image.
const SKIPPED: &[&[u8]] = &[b"annotation", b"tracked-changes", b"desc", b"title"];
/// Maximum number of spaces that one element is expanded to.
const SPACES_MAX: usize = 40;

/// Reads a document.
pub(super) fn read(package: &mut Package<'_>, format: Format, text: &mut Text) -> Result<(), Unreadable> {
    let mut manifest = Manifest::default();
    package.read("META-INF/manifest.xml", &mut manifest)?;
    if manifest.is_encrypted {
        return Err(Unreadable::Encrypted);
    }
    package.require("content.xml", &mut Content::new(text, format))
}

/// Reads whether the parts are encrypted.
#[derive(Default)]
struct Manifest {
    is_encrypted: bool,
}

impl Handler for Manifest {
    fn start(&mut self, element: &Element<'_>) {
        self.is_encrypted |= element.name() == b"encryption-data";
    }

    fn is_done(&self) -> bool {
        self.is_encrypted
    }
}

/// Reads paragraphs, tables and pages.
struct Content<'t> {
    text: &'t mut Text,
    format: Format,
    /// Number of the current slide.
    slide: usize,
    /// The level of the heading whose text has not yet begun; else 0.
    level: usize,
    /// Numbers of open paragraphs, table cells, footnotes and skipped elements.
    paragraphs: usize,
    cells: usize,
    notes: usize,
    skipped: usize,
}

impl<'t> Content<'t> {
    fn new(text: &'t mut Text, format: Format) -> Self {
        Self { text, format, slide: 0, level: 0, paragraphs: 0, cells: 0, notes: 0, skipped: 0 }
    }

    /// Returns `true` where the end of a paragraph does not end the line.
    fn is_on_one_line(&self) -> bool {
        self.cells > 0 || self.notes > 0
    }

    fn begin_paragraph(&mut self, level: usize) {
        self.level = 0;
        if self.is_on_one_line() {
            self.text.space();
        } else {
            self.text.end_line();
            self.level = level.min(LEVEL_MAX);
        }
        self.paragraphs += 1;
    }

    fn end_paragraph(&mut self) {
        self.paragraphs = self.paragraphs.saturating_sub(1);
        if self.is_on_one_line() {
            self.text.space();
        } else {
            self.text.end_line();
        }
    }

    /// Begins the line of a heading before its first word.
    fn begin_heading(&mut self) {
        if self.level > 0 {
            self.text.paragraph();
            self.text.push(&"#".repeat(self.level));
            self.text.push(" ");
            self.level = 0;
        }
    }
}

/// The level of a heading, which is counted from 1. A title is above all.
fn level_of_heading(element: &Element<'_>) -> usize {
    let level = element.attribute("outline-level").and_then(|level| level.parse::<usize>().ok());
    level.unwrap_or(1).saturating_add(1)
}

impl Handler for Content<'_> {
    fn start(&mut self, element: &Element<'_>) {
        let name = element.name();
        if SKIPPED.contains(&name) {
            self.skipped += 1;
        }
        match name {
            _ if self.skipped > 0 => {}
            b"h" => self.begin_paragraph(level_of_heading(element)),
            b"p" => {
                let is_title = element.attribute("style-name").is_some_and(|style| style == "Title");
                self.begin_paragraph(usize::from(is_title));
            }
            b"s" => {
                let count = element.attribute("c").and_then(|count| count.parse::<usize>().ok()).unwrap_or(1);
                self.text.push(&" ".repeat(SPACES_MAX.min(count)));
            }
            b"tab" => self.text.tab(),
            b"line-break" if self.is_on_one_line() => self.text.space(),
            b"line-break" => self.text.end_line(),
            b"note" => self.notes += 1,
            b"table-cell" | b"covered-table-cell" => self.cells += 1,
            b"table" if self.format == Format::Ods && self.cells == 0 => {
                let name = element.attribute("name").unwrap_or_default();
                self.text.page(&format!("sheet {name}"));
            }
            b"page" if self.format == Format::Odp => {
                self.slide += 1;
                self.text.page(&format!("slide {}", self.slide));
            }
            b"notes" => self.text.paragraph(),
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        if SKIPPED.contains(&name) {
            self.skipped = self.skipped.saturating_sub(1);
            return;
        }
        match name {
            _ if self.skipped > 0 => {}
            b"h" | b"p" => self.end_paragraph(),
            b"note" => self.notes = self.notes.saturating_sub(1),
            b"table-cell" | b"covered-table-cell" => {
                self.cells = self.cells.saturating_sub(1);
                self.text.tab();
            }
            b"table-row" if self.cells == 0 => self.text.end_line(),
            b"table" if self.cells == 0 => self.text.paragraph(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.paragraphs == 0 || self.skipped > 0 {
            return;
        }
        // White space is what separates words, however much there is.
        let mut pieces = text.split(char::is_whitespace);
        if let Some(first) = pieces.next() {
            self.push_word(first);
        }
        for piece in pieces {
            self.text.space();
            self.push_word(piece);
        }
    }

    fn is_done(&self) -> bool {
        self.text.is_full()
    }
}

impl Content<'_> {
    fn push_word(&mut self, word: &str) {
        if !word.is_empty() {
            self.begin_heading();
            self.text.push(word);
        }
    }
}
