//! The lines that two versions of a file have in common.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// The lines of a file, without their ends: whether a line ends in LF, CRLF or with the file is not a change of the
/// line, because checkouts convert it.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.take(if text.is_empty() { 0 } else { usize::MAX })
}

/// A stretch of lines of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// The first line as numbered in the text that was asked about.
    pub(super) line: u32,
    /// The first line in the version.
    pub(super) at: u32,
    /// Number of lines.
    pub(super) len: u32,
}

/// What changed from one version to the next, by lines.
pub(super) struct LineDiff {
    /// Lines of the old version and the lines of the new one that stand in their place, ascending.
    hunks: Vec<(Range<u32>, Range<u32>)>,
    lines: u32,
}

impl LineDiff {
    pub(super) fn new(old: &[u8], new: &[u8]) -> Self {
        let mut input = InternedInput::default();
        input.update_before(lines(old));
        input.update_after(lines(new));
        // Myers and the indentation heuristic, as git's own commands do by default.
        let mut diff = Diff::compute(Algorithm::Myers, &input);
        diff.postprocess_lines(&input);
        let lines = u32::try_from(input.after.len()).unwrap_or(u32::MAX);
        Self { hunks: diff.hunks().map(|hunk| (hunk.before, hunk.after)).collect(), lines }
    }

    pub(super) fn added(&self) -> u32 {
        self.hunks.iter().map(|(_, new)| new.end - new.start).sum()
    }

    pub(super) fn deleted(&self) -> u32 {
        self.hunks.iter().map(|(old, _)| old.end - old.start).sum()
    }

    /// Lines that both versions have.
    pub(super) fn kept(&self) -> u32 {
        self.lines - self.added()
    }

    /// Parts the runs of the new version into those that the old one has as well, placed in that, and the rest.
    pub(super) fn part(&self, runs: &[Run]) -> (Vec<Run>, Vec<Run>) {
        let (mut passed, mut rest) = (Vec::new(), Vec::new());
        for run in runs {
            let end = run.at + run.len;
            let mut at = run.at;
            let mut next = self.hunks.partition_point(|(_, new)| new.end <= at);
            while at < end {
                let (new_start, new_end) =
                    self.hunks.get(next).map_or((end, end), |(_, new)| (new.start, new.end));
                let line = run.line + (at - run.at);
                if at < new_start {
                    let len = new_start.min(end) - at;
                    let before = next.checked_sub(1).and_then(|last| self.hunks.get(last));
                    let at_old = before.map_or(at, |(old, new)| old.end + (at - new.end));
                    passed.push(Run { line, at: at_old, len });
                    at += len;
                } else {
                    let len = new_end.min(end) - at;
                    if len > 0 {
                        rest.push(Run { line, at, len });
                    }
                    at += len;
                }
                if at >= new_end {
                    next += 1;
                }
            }
        }
        (passed, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_str() {
        for text in ["", "a", "a\n", "a\n\n", "\n", "a\r\nb\r\n", "a\r\nb", "\r\n"] {
            let ours: Vec<&[u8]> = lines(text.as_bytes()).collect();
            let theirs: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
            assert_eq!(ours, theirs, "{text:?}");
        }
    }

    #[test]
    fn parts_runs_into_what_both_versions_have_and_the_rest() {
        let diff = LineDiff::new(b"a\nb\nc\nd\ne\nf\n", b"new\na\nB\nc\nf\nlast\n");
        assert_eq!((diff.added(), diff.deleted(), diff.kept()), (3, 3, 3));
        let run = |line, at, len| Run { line, at, len };
        let (passed, rest) = diff.part(&[run(0, 0, 6)]);
        assert_eq!(passed, [run(1, 0, 1), run(3, 2, 1), run(4, 5, 1)]);
        assert_eq!(rest, [run(0, 0, 1), run(2, 2, 1), run(5, 5, 1)]);
        let (passed, rest) = diff.part(&[run(10, 4, 1), run(20, 2, 2)]);
        assert_eq!((passed, rest), (vec![run(10, 5, 1), run(21, 2, 1)], vec![run(20, 2, 1)]));
    }

    proptest::proptest! {
        #[test]
        fn every_line_is_either_passed_on_unchanged_or_left(old in "[abc\n]{0,40}", new in "[abc\n]{0,40}") {
            let count = lines(new.as_bytes()).count() as u32;
            let diff = LineDiff::new(old.as_bytes(), new.as_bytes());
            let (passed, rest) = diff.part(&[Run { line: 0, at: 0, len: count }]);
            let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
            let mut seen = vec![false; new.len()];
            for run in &passed {
                for step in 0..run.len {
                    assert_eq!(old[(run.at + step) as usize], new[(run.line + step) as usize]);
                }
            }
            for run in passed.iter().chain(&rest) {
                for line in run.line..run.line + run.len {
                    assert!(!std::mem::replace(&mut seen[line as usize], true), "line {line} twice");
                }
            }
            assert!(seen.iter().all(|seen| *seen));
            assert_eq!(passed.iter().map(|run| run.len).sum::<u32>(), diff.kept());
        }
    }
}
