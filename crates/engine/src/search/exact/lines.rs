//! Finds the lines of a text that match a pattern.

use std::sync::atomic::Ordering;

use super::pattern::{Pattern, Scan};
use languages::Mapped;

/// Maximum number of characters of a line that are shown; a longer one is cut around its match.
const SHOWN_CHARS_MAX: usize = 300;
/// Characters shown before the match of a line that is cut.
const BEFORE_CHARS: usize = 80;

/// A line with a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedLine {
    /// Number of the line, 1-based; of the first one, if the match spans several.
    pub line: u32,
    /// Column at which the first match in it begins, in characters, 1-based.
    pub column: u32,
    /// Length of that match in characters.
    pub length: u32,
    /// Last line of the match, if it is another one.
    pub end_line: Option<u32>,
    /// The text of the line, without its end; cut around the match if it is long.
    pub text: String,
    /// Column at which `text` begins, if it is not the first.
    pub text_column: Option<u32>,
}

/// Returns the matching lines of a text that begins at line `start_line`, in order; each line once. Stops early if `scan` says so.
pub(super) fn matched_lines(pattern: &Pattern, text: &str, start_line: u32, scan: &Scan) -> Vec<MatchedLine> {
    let mut lines = Vec::new();
    // The position up to which line ends were counted, and their number.
    let (mut counted_to, mut number) = (0, start_line);
    // Texts are compared in composed form; the text and columns that are shown are those of the original.
    let compared = Mapped::new(text);
    let mut at = 0;
    while at <= compared.text.len() && !scan.stop.load(Ordering::Relaxed) {
        let Some((first, last)) = pattern.find_at(&compared.text, at, scan) else { break };
        // The next match begins on a later line, even if this one spans several.
        at = match compared.text[first..last].ends_with('\n') {
            true => last,
            false => {
                compared.text[last..].find('\n').map_or(compared.text.len() + 1, |found| last + found + 1)
            }
        };
        let (start, end) = (compared.written(first..last).start, compared.written(first..last).end);
        let line_start = text[..start].rfind('\n').map_or(0, |found| found + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |found| start + found);
        number += line_ends(&text[counted_to..line_start]);
        counted_to = line_start;
        // The line end that a match ends with belongs to its last line.
        let more_lines = line_ends(text[start..end].strip_suffix('\n').unwrap_or(&text[start..end]));
        let line = text[line_start..line_end].trim_end_matches('\r');
        let column = count(text[line_start..start].chars().count());
        let (shown, text_column) = cut(line, column);
        lines.push(MatchedLine {
            line: number,
            column: column.saturating_add(1),
            length: count(text[start..end].chars().count()),
            end_line: (more_lines > 0).then(|| number.saturating_add(more_lines)),
            text: shown,
            text_column,
        });
    }
    lines
}

/// Returns the part of a line that is shown, and the column at which it begins, if it is not the first. `column` is 0-based.
fn cut(line: &str, column: u32) -> (String, Option<u32>) {
    if line.len() <= SHOWN_CHARS_MAX {
        return (line.to_owned(), None);
    }
    let chars = line.chars().count();
    if chars <= SHOWN_CHARS_MAX {
        return (line.to_owned(), None);
    }
    let column = usize::try_from(column).unwrap_or(usize::MAX);
    let first = column.saturating_sub(BEFORE_CHARS).min(chars - SHOWN_CHARS_MAX);
    let shown: String = line.chars().skip(first).take(SHOWN_CHARS_MAX).collect();
    (shown, (first > 0).then(|| count(first).saturating_add(1)))
}

fn line_ends(text: &str) -> u32 {
    count(text.bytes().filter(|byte| *byte == b'\n').count())
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
