//! The sections of texts that were extracted from documents: a mark such as `[page 3]` before each page, and headings that are marked
//! as in Markdown.

use super::{Heading, trimmed};
use crate::lines::Lines;
use crate::stop::{Stop, Stopped};

/// The words with which marks begin.
const MARKS: &[&str] = &["page ", "slide ", "sheet "];
/// Deepest level of a heading.
const LEVEL_MAX: usize = 6;

/// Finds the marks of pages, slides and sheets.
pub(super) fn pages(lines: &Lines<'_>, stop: &Stop<'_>) -> Result<Vec<Heading>, Stopped> {
    find(lines, stop, |line| {
        let mark = line.strip_prefix('[')?.strip_suffix(']')?;
        MARKS.iter().any(|word| mark.starts_with(word)).then_some((1, 1, 1))
    })
}

/// Finds headings such as `## Install`.
pub(super) fn headings(lines: &Lines<'_>, stop: &Stop<'_>) -> Result<Vec<Heading>, Stopped> {
    find(lines, stop, |line| {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        let is_heading = (1..=LEVEL_MAX).contains(&level) && title.starts_with(' ');
        (is_heading && !title.trim().is_empty()).then_some((level, level + 1, 0))
    })
}

/// Finds the lines for which `heading` returns a level, and how many bytes are before and after the title.
fn find(
    lines: &Lines<'_>,
    stop: &Stop<'_>,
    heading: impl Fn(&str) -> Option<(usize, usize, usize)>,
) -> Result<Vec<Heading>, Stopped> {
    let mut found = Vec::new();
    for row in 0..lines.count() {
        let line = lines.text(row, row);
        stop.step(1)?;
        if let Some((level, before, after)) = heading(line.trim()) {
            let bytes = trimmed(lines, row);
            let title = bytes.start + before..bytes.end - after;
            found.push(Heading { first_row: row, title_row: row, title, level });
        }
    }
    Ok(found)
}
