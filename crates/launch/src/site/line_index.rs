//! Lines of a text by byte offset.

use std::ops::Range;

/// Offsets of the beginnings of lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LineIndex(Vec<usize>);

impl LineIndex {
    /// The lines of a text. A text that ends with a line break has no empty line after it.
    pub(crate) fn new(text: &str) -> Self {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(after_breaks).filter(|start| *start < text.len());
        Self(starts.collect())
    }

    /// Number of lines.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the line of a byte, 1-based; the last one for offsets behind the end.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        u32::try_from(self.0.partition_point(|start| *start <= offset).max(1)).unwrap_or(u32::MAX)
    }

    /// The rows of a range, from 0. An empty range has none.
    pub(crate) fn rows(&self, range: &Range<usize>) -> Range<usize> {
        if range.is_empty() {
            return 0..0;
        }
        let row = |offset: usize| self.0.partition_point(|start| *start <= offset).saturating_sub(1);
        row(range.start)..row(range.end - 1) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_lines() {
        let index = LineIndex::new("a\nbc\n\nd");
        assert_eq!(index.count(), 4);
        let lines: Vec<u32> = (0..9).map(|at| index.line(at)).collect();
        assert_eq!(lines, [1, 1, 2, 2, 2, 3, 4, 4, 4]);
        assert_eq!(index.rows(&(0..5)), 0..2);
        assert_eq!(index.rows(&(3..3)), 0..0);
        assert_eq!(LineIndex::new("a\n").count(), 1);
        assert_eq!((LineIndex::new("").count(), LineIndex::new("").line(0)), (0, 1));
    }
}
