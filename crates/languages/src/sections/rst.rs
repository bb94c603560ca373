//! The headings of reStructuredText: a line of punctuation below a title, or below and above it. Each style is a level, in the order
//! of their appearance.

use super::{Heading, trimmed, with_rows_above};
use crate::lines::Lines;
use crate::stop::{Stop, Stopped};

/// A line of punctuation shorter than this must be as long as its title.
const MARK_CHARS_MIN: usize = 4;

/// The style of a title: the character that marks it, and whether the mark is also above it.
type Style = (u8, bool);

/// The context before a line.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// A line of a paragraph, which a title cannot follow.
    Paragraph,
    /// A paragraph whose end announces a literal block.
    Announcement,
    /// Anything else.
    Other,
}

/// Finds the headings of a text.
pub(super) fn headings(lines: &Lines<'_>, stop: &Stop<'_>) -> Result<Vec<Heading>, Stopped> {
    let mut found: Vec<Heading> = Vec::new();
    let mut styles: Vec<Style> = Vec::new();
    let (mut row, mut floor, mut before) = (0, 0, Before::Other);
    let mut is_quoted = false;
    while row < lines.count() {
        let line = lines.text(row, row).trim_end();
        stop.step(1 + line.len())?;
        if line.is_empty() {
            is_quoted = false;
            // The block may follow after any number of blank lines.
            before = if before == Before::Announcement { before } else { Before::Other };
            row += 1;
            continue;
        }
        // A quoted literal block: every line begins with the same character, up to a blank line.
        is_quoted |= before == Before::Announcement && starts_quoted_block(lines, row, line);
        if is_quoted || line.starts_with([' ', '\t']) {
            before = Before::Other;
            row += 1;
            continue;
        }
        let is_in_paragraph = match before {
            Before::Paragraph => true,
            Before::Announcement => !is_blank(lines, row.checked_sub(1)),
            Before::Other => false,
        };
        if let Some((style, rows)) = title(lines, row, line, is_in_paragraph) {
            let title_row = row + usize::from(style.1);
            let level = styles.iter().position(|known| *known == style).unwrap_or_else(|| {
                styles.push(style);
                styles.len() - 1
            });
            let first_row = with_rows_above(lines, row, floor, true, is_label);
            found.push(Heading { first_row, title_row, title: trimmed(lines, title_row), level });
            row += rows;
            (floor, before) = (row, Before::Other);
            continue;
        }
        before = if is_markup(line) {
            Before::Other
        } else if line.ends_with("::") {
            Before::Announcement
        } else {
            Before::Paragraph
        };
        row += 1;
    }
    Ok(found)
}

/// The title that begins in a row: its style, and the number of its rows.
fn title(lines: &Lines<'_>, row: usize, line: &str, is_in_paragraph: bool) -> Option<(Style, usize)> {
    let line_at = |row: usize| (row < lines.count()).then(|| lines.text(row, row).trim_end());
    if let Some(mark) = mark(line) {
        let (title, below) = (line_at(row + 1)?, line_at(row + 2)?);
        let is_title = !title.is_empty() && self::mark(title).is_none() && below == line;
        return (is_title && is_long_enough(line, title.trim())).then_some(((mark, true), 3));
    }
    let below = line_at(row + 1)?;
    let mark = mark(below).filter(|_| !is_in_paragraph && !begins_item(line))?;
    is_long_enough(below, line).then_some(((mark, false), 2))
}

/// Returns the character that a line consists of, if it is punctuation.
fn mark(line: &str) -> Option<u8> {
    let first = *line.as_bytes().first()?;
    (first.is_ascii_punctuation() && line.bytes().all(|byte| byte == first)).then_some(first)
}

fn is_long_enough(mark: &str, title: &str) -> bool {
    mark.len() >= MARK_CHARS_MIN || mark.len() >= title.chars().count()
}

/// Checks whether a line begins an item of a list, a table or the like, which is not a title regardless of the line below it.
fn begins_item(line: &str) -> bool {
    ["- ", "* ", "+ ", "| ", ">>> ", "+-", "+=", "..", ":"].iter().any(|begin| line.starts_with(begin))
}

/// Checks whether a line is explicit markup: a directive, a comment, a target. Its content is indented.
fn is_markup(line: &str) -> bool {
    line == ".." || line.starts_with(".. ") || line.starts_with("__ ")
}

/// Checks whether a line is the target of a reference to the title below it: `.. _install:`.
fn is_label(line: &str) -> bool {
    line.starts_with(".. _") && line.trim_end().ends_with(':')
}

fn is_blank(lines: &Lines<'_>, row: Option<usize>) -> bool {
    row.is_none_or(|row| lines.is_blank(row))
}

/// Checks whether a row begins a block whose lines all begin with the same punctuation, after a paragraph that announces it. A title with a
/// line above it is not such a block.
fn starts_quoted_block(lines: &Lines<'_>, row: usize, line: &str) -> bool {
    let Some(quote) = line.chars().next().filter(char::is_ascii_punctuation) else { return false };
    let next = row + 1;
    let is_alone = next >= lines.count() || lines.is_blank(next);
    is_blank(lines, row.checked_sub(1)) && (is_alone || lines.text(next, next).starts_with(quote))
}
