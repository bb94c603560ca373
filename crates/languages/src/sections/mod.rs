//! Divides documents that have headings, but no grammar, as Markdown is divided: reStructuredText, AsciiDoc, and the texts that
//! were extracted from other documents. Headings are found line by line.

mod asciidoc;
mod extracted;
mod rst;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ops::Range;

use super::cells::Cells;
use super::chunk::{Chunked, ChunkingMethod};
use super::identifier::Marks;
use super::limits::ChunkLimits;
use super::lines::{Lines, Piece};
use super::outline::{Definition, NAME_CHARS_MAX, Outline, cut, nest};
use super::split::{stays_whole, whole};
use super::stop::{Stop, Stopped};
use super::{merge, name};

/// Separates the headings of a path: `Guide > Install`.
const SEPARATOR: &str = " > ";
/// Maximum number of headings of a document; what follows belongs to the last one.
const HEADINGS_MAX: usize = 10_000;

/// A heading, which begins a section.
pub(super) struct Heading {
    /// The row at which the section begins: that of the title, or of labels and attributes above it.
    first_row: usize,
    /// The row of the title.
    title_row: usize,
    /// The bytes of the title.
    title: Range<usize>,
    /// The level; sections of higher levels are inside.
    level: usize,
}

/// Finds the headings of a text, in order.
pub(super) type HeadingScanner = fn(&Lines<'_>, &Stop<'_>) -> Result<Vec<Heading>, Stopped>;

/// The scanner for documents in a language without a grammar; `None` if they are divided by lines.
pub(super) fn heading_scanner(language: &str) -> Option<HeadingScanner> {
    match language {
        "rst" => Some(rst::headings),
        "asciidoc" => Some(asciidoc::headings),
        "docx" | "odt" => Some(extracted::headings),
        "pdf" | "pptx" | "odp" | "xlsx" | "ods" => Some(extracted::pages),
        _ => None,
    }
}

/// Splits a document into chunks along its headings.
pub(super) fn chunk(
    text: &str,
    lines: &Lines<'_>,
    scan: HeadingScanner,
    limits: &ChunkLimits,
    stop: &Stop<'_>,
) -> Result<Chunked, Stopped> {
    stop.begin();
    let mut headings = scan(lines, stop)?;
    headings.truncate(HEADINGS_MAX);
    let sections = nest(sections(text, lines, &headings, stop)?, SEPARATOR, stop)?;
    let outline = Outline::new((text, Marks::of("")), sections, Vec::new(), HashSet::new(), Vec::new());
    let pieces = split(&outline, lines, limits, stop)?;
    let pieces = merge::merge(pieces, &outline, (lines, &Cells::default()), limits);
    Ok(Chunked::new(name::chunks(&pieces, &outline, lines, stop)?, ChunkingMethod::Sections))
}

/// The sections that headings begin. Each ends before the next heading that is not below its own.
fn sections(
    text: &str,
    lines: &Lines<'_>,
    headings: &[Heading],
    stop: &Stop<'_>,
) -> Result<Vec<Definition>, Stopped> {
    let mut open: Vec<usize> = Vec::new();
    let mut last_rows = vec![lines.last_row(); headings.len()];
    for (number, heading) in headings.iter().enumerate() {
        stop.step(1)?;
        while let Some(before) = open.pop_if(|before| headings[*before].level >= heading.level) {
            last_rows[before] = heading.first_row.saturating_sub(1);
        }
        open.push(number);
    }
    let sections = headings.iter().zip(last_rows);
    Ok(sections.map(|(heading, last_row)| section(text, lines, heading, last_row)).collect())
}

fn section(text: &str, lines: &Lines<'_>, heading: &Heading, last_row: usize) -> Definition {
    let (start, end) = (lines.start(heading.first_row), lines.start(last_row + 1));
    let written = text.get(heading.title.clone()).unwrap_or_default();
    let name = cut(written.split_whitespace().collect::<Vec<_>>().join(" "), NAME_CHARS_MAX);
    let title = heading.title.start;
    Definition {
        start,
        end,
        first_row: heading.first_row,
        last_row,
        head: title,
        body: end,
        code_row: heading.first_row,
        name_row: heading.title_row,
        name_start: title,
        written_start: title,
        begin: (heading.first_row, start),
        kind: "section",
        qualified: name.clone(),
        name,
        parent: None,
        has_inner: false,
        small: false,
        member: false,
    }
}

/// Rows that still have to be split.
struct Rows {
    first: usize,
    last: usize,
    parent: Option<usize>,
}

/// Splits the text along its sections: a section that is too large is divided into what precedes its first subsection, and its
/// subsections; one without any is divided by lines.
fn split(
    outline: &Outline<'_>,
    lines: &Lines<'_>,
    limits: &ChunkLimits,
    stop: &Stop<'_>,
) -> Result<Vec<Piece>, Stopped> {
    let mut pieces = Vec::new();
    if lines.count() == 0 {
        return Ok(pieces);
    }
    let mut left = vec![Rows { first: 0, last: lines.last_row(), parent: None }];
    while let Some(Rows { first, last, parent }) = left.pop() {
        stop.step(1)?;
        let whole = whole(outline, first, last);
        if stays_whole(outline, whole, (first, last), lines, limits, stop) {
            let chars = lines.chars(first, last);
            pieces.push(Piece { first, last, chars, whole: whole.definition(), parent });
            continue;
        }
        let begins = |section: &usize| outline.definitions[*section].first_row == first;
        let section = whole.definition().filter(begins);
        let inside =
            section.map_or_else(|| outline.starting(first, last), |section| outline.inside_of(section));
        let row = |section: usize| outline.definitions[section].first_row;
        let starts: Vec<usize> = outline.outermost_in(inside).map(row).collect();
        let parent = section.or(parent);
        // Rows that are not divided further by sections are divided by lines, so that each step gets ahead.
        let is_divided = starts.iter().any(|start| *start > first);
        let head = if is_divided { starts.first().copied().unwrap_or(first) } else { last + 1 };
        if head > first {
            let cut = lines.cut(first, head - 1, limits);
            pieces.extend(cut.into_iter().map(|piece| Piece { parent, ..piece }));
        }
        let ends = starts.iter().skip(1).map(|next| next - 1).chain([last]);
        let parts = starts.iter().zip(ends).filter(|_| is_divided);
        let parts: Vec<Rows> = parts.map(|(first, last)| Rows { first: *first, last, parent }).collect();
        left.extend(parts.into_iter().rev());
    }
    Ok(pieces)
}

/// The bytes of a row without white space around them.
fn trimmed(lines: &Lines<'_>, row: usize) -> Range<usize> {
    let line = lines.text(row, row);
    let start = lines.start(row) + line.len() - line.trim_start().len();
    start..start + line.trim().len()
}

/// The first of the rows above a title, from `floor` on, that belong to it; blank rows may be between if `across_blank`.
fn with_rows_above(
    lines: &Lines<'_>,
    title: usize,
    floor: usize,
    across_blank: bool,
    belongs: impl Fn(&str) -> bool,
) -> usize {
    let (mut first, mut row) = (title, title);
    while row > floor {
        row -= 1;
        if belongs(lines.text(row, row)) {
            first = row;
        } else if !across_blank || !lines.is_blank(row) {
            break;
        }
    }
    first
}
