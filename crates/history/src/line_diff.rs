//! Compares two versions of a file line by line.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// Returns the lines of a file without line ends. Changed line ends do not count as changes, because checkouts convert them.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.take(if text.is_empty() { 0 } else { usize::MAX })
}

/// A range of lines that a text and a version of the file have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineRange {
    /// The first line in the text.
    pub(super) text_line: u32,
    /// The first line in the version.
    pub(super) version_line: u32,
    /// Number of lines.
    pub(super) len: u32,
}

/// The lines that differ between two versions.
pub(super) struct LineDiff {
    /// Lines of the old version and the lines of the new one that replace them, ascending.
    hunks: Vec<(Range<u32>, Range<u32>)>,
    new_lines: u32,
}

impl LineDiff {
    pub(super) fn new(old: &[u8], new: &[u8]) -> Self {
        let mut input = InternedInput::default();
        input.update_before(lines(old));
        input.update_after(lines(new));
        // Myers and the indentation heuristic, the defaults of git.
        let mut diff = Diff::compute(Algorithm::Myers, &input);
        diff.postprocess_lines(&input);
        let new_lines = u32::try_from(input.after.len()).unwrap_or(u32::MAX);
        Self { hunks: diff.hunks().map(|hunk| (hunk.before, hunk.after)).collect(), new_lines }
    }

    pub(super) fn added(&self) -> u32 {
        self.hunks.iter().map(|(_, new)| new.end - new.start).sum()
    }

    pub(super) fn deleted(&self) -> u32 {
        self.hunks.iter().map(|(old, _)| old.end - old.start).sum()
    }

    /// Returns the number of lines that both versions have.
    pub(super) fn unchanged(&self) -> u32 {
        self.new_lines - self.added()
    }

    /// Splits ranges of the new version into those that the old one also has, as ranges of the old version, and the rest.
    pub(super) fn split(&self, ranges: &[LineRange]) -> (Vec<LineRange>, Vec<LineRange>) {
        let (mut common, mut rest) = (Vec::new(), Vec::new());
        for range in ranges {
            let end = range.version_line + range.len;
            let mut at = range.version_line;
            let mut next = self.hunks.partition_point(|(_, new)| new.end <= at);
            while at < end {
                let (new_start, new_end) =
                    self.hunks.get(next).map_or((end, end), |(_, new)| (new.start, new.end));
                let text_line = range.text_line + (at - range.version_line);
                if at < new_start {
                    let len = new_start.min(end) - at;
                    let before = next.checked_sub(1).and_then(|last| self.hunks.get(last));
                    let old_line = before.map_or(at, |(old, new)| old.end + (at - new.end));
                    common.push(LineRange { text_line, version_line: old_line, len });
                    at += len;
                } else {
                    let len = new_end.min(end) - at;
                    if len > 0 {
                        rest.push(LineRange { text_line, version_line: at, len });
                    }
                    at += len;
                }
                if at >= new_end {
                    next += 1;
                }
            }
        }
        (common, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_by_str_lines() {
        for text in ["", "a", "a\n", "a\n\n", "\n", "a\r\nb\r\n", "a\r\nb", "\r\n"] {
            let actual: Vec<&[u8]> = lines(text.as_bytes()).collect();
            let expected: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
            assert_eq!(actual, expected, "{text:?}");
        }
    }

    #[test]
    fn ranges_are_split_into_common_ranges_and_the_rest() {
        let diff = LineDiff::new(b"a\nb\nc\nd\ne\nf\n", b"new\na\nB\nc\nf\nlast\n");
        assert_eq!((diff.added(), diff.deleted(), diff.unchanged()), (3, 3, 3));
        let range = |text_line, version_line, len| LineRange { text_line, version_line, len };
        let (common, rest) = diff.split(&[range(0, 0, 6)]);
        assert_eq!(common, [range(1, 0, 1), range(3, 2, 1), range(4, 5, 1)]);
        assert_eq!(rest, [range(0, 0, 1), range(2, 2, 1), range(5, 5, 1)]);
        let (common, rest) = diff.split(&[range(10, 4, 1), range(20, 2, 2)]);
        assert_eq!((common, rest), (vec![range(10, 5, 1), range(21, 2, 1)], vec![range(20, 2, 1)]));
    }

    proptest::proptest! {
        #[test]
        fn every_line_is_in_either_common_ranges_or_the_rest(old in "[abc\n]{0,40}", new in "[abc\n]{0,40}") {
            let count = lines(new.as_bytes()).count() as u32;
            let diff = LineDiff::new(old.as_bytes(), new.as_bytes());
            let (common, rest) = diff.split(&[LineRange { text_line: 0, version_line: 0, len: count }]);
            let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
            let mut seen = vec![false; new.len()];
            for range in &common {
                for step in 0..range.len {
                    let (old_line, new_line) = (range.version_line + step, range.text_line + step);
                    assert_eq!(old[old_line as usize], new[new_line as usize]);
                }
            }
            for range in common.iter().chain(&rest) {
                for line in range.text_line..range.text_line + range.len {
                    assert!(!std::mem::replace(&mut seen[line as usize], true), "line {line} twice");
                }
            }
            assert!(seen.iter().all(|seen| *seen));
            assert_eq!(common.iter().map(|range| range.len).sum::<u32>(), diff.unchanged());
        }
    }
}
