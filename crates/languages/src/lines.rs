//! The line table of a text with character counts, and cutting by lines.

use tree_sitter::Node;

use super::limits::ChunkLimits;

/// Maximum number of lines that are not blank in a piece cut by lines; short lines (tables, logs) reach it before the character target.
const LINES_MAX: usize = 30;

/// A run of rows, 0-based and inclusive. The pieces of a file cover all its rows in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) first: usize,
    pub(super) last: usize,
    /// Number of non-whitespace characters.
    pub(super) chars: usize,
    /// The definition that the piece contains completely, if there is exactly one.
    pub(super) whole: Option<usize>,
    /// The definition that was split into this piece and others.
    pub(super) parent: Option<usize>,
}

/// First and last row of a node; a node that ends at the start of a line does not reach into it.
pub(super) fn node_rows(node: Node<'_>) -> (usize, usize) {
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    (start.row, last)
}

/// A text by rows (0-based lines), with prefix sums of non-whitespace characters.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    chars: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// Scans the text once. Lines end at `\n`, as tree-sitter counts them.
    pub(super) fn new(text: &'t str) -> Self {
        let mut starts = vec![0];
        let mut chars = vec![0];
        let mut sum = 0;
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            offset += line.len();
            sum += line.chars().filter(|c| !c.is_whitespace()).count();
            starts.push(offset);
            chars.push(sum);
        }
        Self { text, starts, chars }
    }

    /// Number of lines; an empty text has none.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The byte where a row starts.
    pub(super) fn start(&self, row: usize) -> usize {
        self.starts[row]
    }

    /// Row of the last line, 0 for an empty text.
    pub(super) fn last_row(&self) -> usize {
        self.count().saturating_sub(1)
    }

    /// Non-whitespace characters of the rows `first..=last`.
    pub(super) fn chars(&self, first: usize, last: usize) -> usize {
        if first > last || self.count() == 0 {
            return 0;
        }
        self.chars[(last + 1).min(self.count())] - self.chars[first.min(self.count())]
    }

    /// Checks whether a row is empty or has only whitespace.
    pub(super) fn is_blank(&self, row: usize) -> bool {
        self.chars(row, row) == 0
    }

    /// The text of the rows, without the final line break.
    pub(super) fn text(&self, first: usize, last: usize) -> &'t str {
        if self.count() == 0 {
            return "";
        }
        let text = &self.text[self.starts[first]..self.starts[last + 1]];
        let text = text.strip_suffix('\n').unwrap_or(text);
        text.strip_suffix('\r').unwrap_or(text)
    }

    /// The rows without blank ones at either end; `None` if all are blank.
    pub(super) fn trim(&self, first: usize, last: usize) -> Option<(usize, usize)> {
        let first = (first..=last).find(|&row| !self.is_blank(row))?;
        let last = (first..=last).rev().find(|&row| !self.is_blank(row))?;
        Some((first, last))
    }

    /// Splits rows into pieces of about the target size, at a blank line if there is one nearby.
    pub(super) fn cut(&self, first: usize, last: usize, limits: &ChunkLimits) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut start = first;
        let mut lines_in_piece = 0;
        // Where this piece could end early: the last blank row after half of the target.
        let mut blank = None;
        for row in first..=last {
            if self.is_blank(row) {
                if 2 * self.chars(start, row) >= limits.chars_target {
                    blank = Some(row);
                }
                continue;
            }
            let over = self.chars(start, row) > limits.chars_target || lines_in_piece >= LINES_MAX;
            if over && lines_in_piece > 0 {
                let end = blank.unwrap_or(row - 1);
                pieces.push(self.plain(start, end));
                start = end + 1;
                lines_in_piece = (start..row).filter(|&row| !self.is_blank(row)).count();
                blank = None;
            }
            lines_in_piece += 1;
        }
        pieces.push(self.plain(start, last));
        pieces
    }

    fn plain(&self, first: usize, last: usize) -> Piece {
        Piece { first, last, chars: self.chars(first, last), whole: None, parent: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_and_characters() {
        let lines = Lines::new("ab c\r\n\n  é\n");
        assert_eq!(lines.count(), 3);
        assert_eq!(
            (lines.chars(0, 0), lines.chars(1, 1), lines.chars(2, 2), lines.chars(0, 2)),
            (3, 0, 1, 4)
        );
        assert_eq!(lines.text(0, 0), "ab c");
        assert_eq!(lines.text(0, 2), "ab c\r\n\n  é");
        assert_eq!(lines.trim(1, 2), Some((2, 2)));
        assert_eq!(lines.trim(1, 1), None);
        assert_eq!(Lines::new("").count(), 0);
        assert_eq!(Lines::new("").text(0, 0), "");
    }

    #[test]
    fn cuts_at_the_blank_line_near_the_target() {
        let limits = ChunkLimits { chars_target: 20, ..ChunkLimits::default() };
        let lines = Lines::new("aaaaaaaaaa\nbbbb\n\ncccccccc\ndddddddd\n");
        let rows: Vec<_> = lines.cut(0, 4, &limits).iter().map(|piece| (piece.first, piece.last)).collect();
        assert_eq!(rows, [(0, 2), (3, 4)]);
    }

    #[test]
    fn a_line_longer_than_the_target_is_not_cut() {
        let limits = ChunkLimits { chars_target: 4, ..ChunkLimits::default() };
        let lines = Lines::new("aaaaaaaaaa\nbbbbbbbbbb\n");
        let rows: Vec<_> = lines.cut(0, 1, &limits).iter().map(|piece| (piece.first, piece.last)).collect();
        assert_eq!(rows, [(0, 0), (1, 1)]);
    }
}
