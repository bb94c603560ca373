//! Word documents: paragraphs, headings as `# Heading`, the cells of a table row on one line, then footnotes and endnotes.
//!
//! They have no page numbers, because only a program that lays them out knows where a page begins.

use std::collections::HashMap;

use super::package::{Package, target_of};
use super::xml::{Element, Handler};
use crate::Unreadable;
use crate::text::Text;

/// Maximum number of styles of a document that are read.
const STYLES_MAX: usize = 10_000;
/// Deepest level of a heading.
pub(super) const LEVEL_MAX: usize = 6;
/// Elements whose texts are omitted: fallbacks for older programs, and formulas.
const SKIPPED: &[&[u8]] = &[b"Fallback", b"oMath"];

/// Reads a document.
pub(super) fn read(package: &mut Package<'_>, text: &mut Text) -> Result<(), Unreadable> {
    let document = package.main_part("word/document.xml")?;
    let relations = package.relations(&document)?;
    let mut styles = Styles::default();
    package.read(target_of(&relations, "/styles", "word/styles.xml"), &mut styles)?;
    let levels = styles.levels;
    package.require(&document, &mut Body::new(text, &levels))?;
    for (kind, usual) in [("/footnotes", "word/footnotes.xml"), ("/endnotes", "word/endnotes.xml")] {
        text.paragraph();
        package.read(target_of(&relations, kind, usual), &mut Body::new(text, &levels))?;
    }
    Ok(())
}

/// Reads which styles are those of headings.
#[derive(Default)]
struct Styles {
    current: Option<String>,
    /// By the id of a style, the level of its headings.
    levels: HashMap<String, usize>,
}

impl Handler for Styles {
    fn start(&mut self, element: &Element<'_>) {
        let level = match element.name() {
            b"style" => {
                self.current = element.attribute("styleId");
                return;
            }
            // The names of built-in styles are English in every language; only their ids are translated.
            b"name" => element.attribute("val").and_then(|name| level_of_name(&name)),
            b"outlineLvl" => element.attribute("val").and_then(|level| level_of_outline(&level)),
            _ => return,
        };
        if let (Some(style), Some(level)) = (&self.current, level) {
            self.levels.entry(style.clone()).or_insert(level);
        }
    }

    fn end(&mut self, name: &[u8]) {
        if name == b"style" {
            self.current = None;
        }
    }

    fn is_done(&self) -> bool {
        self.levels.len() >= STYLES_MAX
    }
}

/// The level of the headings of a style, by its name. A title is above all others.
fn level_of_name(name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    if name == "title" {
        return Some(1);
    }
    let number: usize = name.strip_prefix("heading ")?.trim().parse().ok()?;
    (number > 0).then(|| number.saturating_add(1).min(LEVEL_MAX))
}

/// The level of an outline level, which is counted from 0; 9 is that of ordinary text.
fn level_of_outline(level: &str) -> Option<usize> {
    let level: usize = level.parse().ok()?;
    (level < 9).then(|| (level + 2).min(LEVEL_MAX))
}

/// Reads paragraphs and tables.
struct Body<'t> {
    text: &'t mut Text,
    levels: &'t HashMap<String, usize>,
    /// The level of the heading that the current paragraph is; 0 for others, and after its text began.
    level: usize,
    /// Numbers of open runs, table cells and skipped elements.
    runs: usize,
    cells: usize,
    skipped: usize,
    /// `true` if the current element holds text.
    in_text: bool,
}

impl<'t> Body<'t> {
    fn new(text: &'t mut Text, levels: &'t HashMap<String, usize>) -> Self {
        Self { text, levels, level: 0, runs: 0, cells: 0, skipped: 0, in_text: false }
    }
}

impl Handler for Body<'_> {
    fn start(&mut self, element: &Element<'_>) {
        let name = element.name();
        if SKIPPED.contains(&name) {
            self.skipped += 1;
        }
        if self.skipped > 0 {
            return;
        }
        match name {
            b"p" => {
                self.level = 0;
                if self.cells == 0 {
                    self.text.end_line();
                }
            }
            b"pStyle" => {
                let style = element.attribute("val").unwrap_or_default();
                self.level = self.levels.get(&style).copied().unwrap_or(0);
            }
            b"r" => self.runs += 1,
            b"t" => self.in_text = true,
            b"tab" if self.runs > 0 => self.text.tab(),
            b"br" | b"cr" if self.runs > 0 && self.cells == 0 => self.text.end_line(),
            b"br" | b"cr" if self.runs > 0 => self.text.space(),
            b"noBreakHyphen" => self.text.push("-"),
            b"tc" => self.cells += 1,
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        if SKIPPED.contains(&name) {
            self.skipped = self.skipped.saturating_sub(1);
        }
        if self.skipped > 0 {
            return;
        }
        match name {
            b"p" if self.cells > 0 => self.text.space(),
            b"p" => self.text.end_line(),
            b"r" => self.runs = self.runs.saturating_sub(1),
            b"t" => self.in_text = false,
            b"tc" => {
                self.cells = self.cells.saturating_sub(1);
                self.text.tab();
            }
            b"tr" if self.cells == 0 => self.text.end_line(),
            b"tbl" if self.cells == 0 => self.text.paragraph(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if !self.in_text || self.skipped > 0 {
            return;
        }
        if self.level > 0 && self.cells == 0 && self.text.is_at_line_start() {
            self.text.paragraph();
            self.text.push(&"#".repeat(self.level));
            self.text.push(" ");
            self.level = 0;
        }
        self.text.push(text);
    }

    fn is_done(&self) -> bool {
        self.text.is_full()
    }
}
