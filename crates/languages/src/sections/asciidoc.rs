//! The headings of AsciiDoc: `== Title`, or a line of punctuation below the title. Blocks between delimiters have none.

use super::{Heading, trimmed, with_rows_above};
use crate::lines::Lines;
use crate::stop::{Stop, Stopped};

/// Shortest delimiter of a block, and of a line below a title.
const DELIMITER_CHARS_MIN: usize = 4;
const UNDERLINE_CHARS_MIN: usize = 3;
/// Deepest level of a heading.
const LEVEL_MAX: usize = 6;
/// Deepest nesting of blocks that is followed.
const BLOCKS_MAX: usize = 32;

/// A block that is open.
struct Block<'t> {
    /// The line that ends it.
    end: &'t str,
    /// `true` if it can contain other blocks.
    is_compound: bool,
}

/// Finds the headings of a text.
pub(super) fn headings(lines: &Lines<'_>, stop: &Stop<'_>) -> Result<Vec<Heading>, Stopped> {
    let mut found: Vec<Heading> = Vec::new();
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let (mut row, mut floor) = (0, 0);
    // Whether a title can begin here, and whether it would be one of the text without a section.
    let (mut can_begin, mut is_discrete) = (true, false);
    while row < lines.count() {
        let line = lines.text(row, row).trim_end();
        stop.step(1 + line.len())?;
        let mut rows = 1;
        if let Some(block) = blocks.last() {
            if line == block.end {
                blocks.pop();
                can_begin = true;
            } else if block.is_compound && blocks.len() < BLOCKS_MAX {
                blocks.extend(opened(line));
            }
        } else if line.is_empty() {
            can_begin = true;
        } else if let Some((level, title_rows)) = title(lines, row, line).filter(|_| can_begin) {
            if !is_discrete {
                let first_row = with_rows_above(lines, row, floor, false, is_attribute);
                found.push(Heading { first_row, title_row: row, title: title_bytes(lines, row), level });
                floor = row + title_rows;
            }
            rows = title_rows;
            is_discrete = false;
        } else if let Some(block) = opened(line) {
            blocks.push(block);
            is_discrete = false;
        } else {
            let is_attribute = is_attribute(line);
            is_discrete =
                is_attribute && (is_discrete || line.starts_with("[discrete") || line.starts_with("[float"));
            can_begin = is_attribute || is_entry(line);
        }
        row += rows;
    }
    Ok(found)
}

/// The block that a line opens.
fn opened(line: &str) -> Option<Block<'_>> {
    let first = line.chars().next()?;
    let ticks = line.len() - line.trim_start_matches('`').len();
    if ticks >= 3 {
        // The language may follow.
        return Some(Block { end: line.get(..ticks)?, is_compound: false });
    }
    if matches!(line, "|===" | ",===" | ":===" | "!===") {
        return Some(Block { end: line, is_compound: false });
    }
    let is_run = line.len() >= DELIMITER_CHARS_MIN && line.chars().all(|c| c == first);
    match first {
        '-' if line == "--" => Some(Block { end: line, is_compound: true }),
        '=' | '*' | '_' if is_run => Some(Block { end: line, is_compound: true }),
        '-' | '.' | '+' | '/' if is_run => Some(Block { end: line, is_compound: false }),
        _ => None,
    }
}

/// The title that begins in a row: its level, and the number of its rows.
fn title(lines: &Lines<'_>, row: usize, line: &str) -> Option<(usize, usize)> {
    if let Some(level) = marked_level(line) {
        return Some((level, 1));
    }
    let next = row + 1;
    if next >= lines.count() || !line.starts_with(char::is_alphanumeric) {
        return None;
    }
    let below = lines.text(next, next).trim_end();
    let first = below.chars().next()?;
    let level = "=-~^+".chars().position(|mark| mark == first)? + 1;
    let length = below.len();
    let fits = length >= UNDERLINE_CHARS_MIN && length.abs_diff(line.chars().count()) <= 1;
    (fits && below.chars().all(|c| c == first)).then_some((level, 2))
}

/// The level of a title that is marked at its beginning.
fn marked_level(line: &str) -> Option<usize> {
    let mark = line.chars().next().filter(|first| matches!(first, '=' | '#'))?;
    let rest = line.trim_start_matches(mark);
    let level = line.len() - rest.len();
    (level <= LEVEL_MAX && rest.starts_with([' ', '\t']) && !rest.trim().is_empty()).then_some(level)
}

/// The bytes of a title, without the marks around it.
fn title_bytes(lines: &Lines<'_>, row: usize) -> std::ops::Range<usize> {
    let line = lines.text(row, row).trim();
    let mut bytes = trimmed(lines, row);
    if let Some(level) = marked_level(line) {
        let (marks, title) = line.split_at(level);
        let title = title.trim_start();
        bytes.start = bytes.end - title.len();
        // The same marks may follow.
        if let Some(before) = title.strip_suffix(marks).filter(|before| before.ends_with(' ')) {
            bytes.end = bytes.start + before.trim_end().len();
        }
    }
    bytes
}

/// Checks whether a line holds attributes of the next element: `[#install]`, `[[install]]`, `[discrete]`.
fn is_attribute(line: &str) -> bool {
    line.starts_with('[') && line.trim_end().ends_with(']')
}

/// Checks whether a line belongs to no paragraph: an entry of the document, a comment, the title of a block, a break.
fn is_entry(line: &str) -> bool {
    let is_block_title = line.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
    let is_macro = line.split_once("::").is_some_and(|(name, rest)| {
        rest.ends_with(']') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    let is_variable = line.strip_prefix(':').is_some_and(|rest| rest.contains(':'));
    is_block_title || is_macro || is_variable || line.starts_with("//") || matches!(line, "'''" | "<<<")
}
