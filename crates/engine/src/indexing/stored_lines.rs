//! Stored history of a file's lines: its serialised form, and the commit up to which it is known.

use ::history::{AuthorsUnknown, LineHistory};
use store::KnownHistory;
use store::history::{LINE_HISTORY_BYTES_MAX, LineHistoryRow};

/// Maximum number of runs of lines that are stored for a file. For a file with more, which is generated or data, only the authors of its
/// chunks are stored.
const RUNS_MAX: usize = 10_000;
/// Number of attempts for a file, in successive runs, that may time out before only a new commit or a full run causes
/// another attempt.
const TIMEOUTS_MAX: usize = 5;

/// Knowledge of the commits that added the lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredLines {
    /// The commits.
    Known(LineHistory),
    /// Nothing yet: no run has determined them within its time limit.
    Pending,
    /// Nothing: the file is not in git, exceeds a limit, or took too long several times.
    Unknown,
}

/// Reads the stored history of a file's lines. The row may come from an archive: an invalid one counts as unknown.
#[must_use]
pub fn read_lines(row: &LineHistoryRow) -> StoredLines {
    let state = AttributionState::parse(row.last_commit.as_deref(), row.attributed_to.as_deref());
    if state.is_pending() {
        return if state.is_due(false) { StoredLines::Pending } else { StoredLines::Unknown };
    }
    let lines = row.lines.as_deref().and_then(|bytes| postcard::from_bytes::<LineHistory>(bytes).ok());
    let lines = lines.filter(|lines| is_bounded(lines) && lines.is_sound());
    lines.map_or(StoredLines::Unknown, StoredLines::Known)
}

/// Returns whether a history is no larger than those that are stored; each commit has a run, and each author a commit.
fn is_bounded(lines: &LineHistory) -> bool {
    lines.runs.len() <= RUNS_MAX
        && lines.commits.len() <= lines.runs.len()
        && lines.authors.len() <= lines.commits.len()
}

/// Returns the serialised form of a history; `None` if it exceeds a limit. A change of the form needs a new
/// [`AttributionState::VERSION_PREFIX`].
pub(super) fn serialise(lines: &LineHistory) -> Option<Vec<u8>> {
    if lines.runs.len() > RUNS_MAX {
        return None;
    }
    postcard::to_stdvec(lines).ok().filter(|bytes| bytes.len() <= LINE_HISTORY_BYTES_MAX)
}

/// The attribution state of a file: the commit to which its lines are attributed. Stored as a text: a prefix `late ` for each
/// timed-out attempt, the version of the serialised form, and the commit.
pub(super) struct AttributionState<'a> {
    last_commit: Option<&'a str>,
    attributed_to: Option<&'a str>,
    /// Number of attempts that timed out.
    timeouts: usize,
}

impl<'a> AttributionState<'a> {
    const TIMEOUT_PREFIX: &'static str = "late ";
    /// Version 1 stored the commit alone, and no history of lines. A file with another version is attributed again.
    const VERSION_PREFIX: &'static str = "2 ";

    pub(super) fn of(file: &'a KnownHistory) -> Self {
        Self::parse(file.last_commit.as_deref(), file.attributed_to.as_deref())
    }

    fn parse(last_commit: Option<&'a str>, stored: Option<&'a str>) -> Self {
        let (mut stored, mut timeouts) = (stored.unwrap_or_default(), 0);
        while let Some(rest) = stored.strip_prefix(Self::TIMEOUT_PREFIX) {
            (stored, timeouts) = (rest, timeouts + 1);
        }
        Self { last_commit, attributed_to: stored.strip_prefix(Self::VERSION_PREFIX), timeouts }
    }

    /// Returns whether the commits that added the lines are still to be determined.
    fn is_pending(&self) -> bool {
        self.last_commit.is_some() && (self.last_commit != self.attributed_to || self.timeouts > 0)
    }

    /// Returns whether a run, or a `full` one, tries to determine them.
    pub(super) fn is_due(&self, full: bool) -> bool {
        let has_given_up = self.last_commit == self.attributed_to && self.timeouts >= TIMEOUTS_MAX;
        self.is_pending() && (full || !has_given_up)
    }

    /// Returns the state to store after another attempt.
    pub(super) fn after(&self, lines: &Result<LineHistory, AuthorsUnknown>) -> Option<String> {
        let commit = self.last_commit?;
        let timeouts = match lines {
            Err(AuthorsUnknown::TimedOut) if self.last_commit == self.attributed_to => {
                (self.timeouts + 1).min(TIMEOUTS_MAX)
            }
            Err(AuthorsUnknown::TimedOut) => 1,
            _ => 0,
        };
        Some(Self::TIMEOUT_PREFIX.repeat(timeouts) + Self::VERSION_PREFIX + commit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::history::{LineCommit, LineRun};

    #[test]
    fn timed_out_files_are_retried_a_limited_number_of_times() {
        let mut file = KnownHistory {
            file_id: 1,
            path: "a.rs".into(),
            last_commit: Some("c1".into()),
            attributed_to: None,
        };
        let mut attempts = 0;
        while AttributionState::of(&file).is_due(false) {
            attempts += 1;
            file.attributed_to = AttributionState::of(&file).after(&Err(AuthorsUnknown::TimedOut));
        }
        assert_eq!(attempts, TIMEOUTS_MAX);
        assert!(AttributionState::of(&file).is_due(true), "a full run retries");
        file.last_commit = Some("c2".into());
        assert!(AttributionState::of(&file).is_due(false), "a new commit causes a retry");
        file.attributed_to = AttributionState::of(&file).after(&Err(AuthorsUnknown::TimedOut));
        assert_eq!(file.attributed_to.as_deref(), Some("late 2 c2"));
        file.attributed_to = AttributionState::of(&file).after(&Ok(LineHistory::default()));
        assert_eq!(file.attributed_to.as_deref(), Some("2 c2"));
        assert!(!AttributionState::of(&file).is_due(true));
        file.attributed_to = None;
        file.attributed_to = AttributionState::of(&file).after(&Err(AuthorsUnknown::Permanent));
        assert!(!AttributionState::of(&file).is_due(false), "a permanent failure is not retried");
        for earlier in ["c2", "late c2"] {
            file.attributed_to = Some(earlier.into());
            assert!(AttributionState::of(&file).is_due(false), "an earlier version stored {earlier}");
        }
        file.last_commit = None;
        assert!(!AttributionState::of(&file).is_due(true), "a file outside of git has no authors");
    }

    /// Returns `runs` runs, of two commits in turn.
    fn lines(runs: u32) -> LineHistory {
        let commit =
            |digit: u8, author| LineCommit { id: vec![digit; 20], author, authored_s: 1_700_000_000 };
        LineHistory {
            authors: vec!["Ann".to_owned(), "Bob".to_owned()],
            commits: vec![commit(1, 0), commit(2, 1)],
            runs: (0..runs).map(|at| LineRun { last_line: at + 1, commit: Some(at % 2) }).collect(),
        }
    }

    fn row(attributed_to: &str, lines: Option<Vec<u8>>) -> LineHistoryRow {
        let (last_commit, attributed_to) = (Some("c1".to_owned()), Some(attributed_to.to_owned()));
        LineHistoryRow { last_commit, attributed_to, lines }
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let lines = lines(100);
        let bytes = serialise(&lines).unwrap();
        assert!(bytes.len() < 500, "{} bytes", bytes.len());
        assert_eq!(read_lines(&row("2 c1", Some(bytes.clone()))), StoredLines::Known(lines));
        for pending in ["late 2 c1", "2 c0", "c1", "late c1", "3 c1"] {
            assert_eq!(read_lines(&row(pending, Some(bytes.clone()))), StoredLines::Pending, "{pending}");
        }
        assert_eq!(read_lines(&row("2 c1", None)), StoredLines::Unknown);
        assert_eq!(read_lines(&LineHistoryRow::default()), StoredLines::Unknown);
        let late = |timeouts: usize| "late ".repeat(timeouts) + "2 c1";
        assert_eq!(read_lines(&row(&late(TIMEOUTS_MAX - 1), None)), StoredLines::Pending);
        assert_eq!(read_lines(&row(&late(TIMEOUTS_MAX), None)), StoredLines::Unknown, "it was given up");
        let never = LineHistoryRow { attributed_to: None, ..row("", None) };
        assert_eq!(read_lines(&never), StoredLines::Pending);
    }

    #[test]
    fn lines_that_make_no_sense_are_unknown() {
        let bytes = serialise(&lines(10)).unwrap();
        for end in 0..bytes.len() {
            assert_eq!(read_lines(&row("2 c1", Some(bytes[..end].to_vec()))), StoredLines::Unknown, "{end}");
        }
        let foreign = LineHistory { authors: Vec::new(), ..lines(10) };
        assert_eq!(read_lines(&row("2 c1", serialise(&foreign))), StoredLines::Unknown);
    }

    #[test]
    fn lines_beyond_the_limits_are_unknown() {
        let most = u32::try_from(RUNS_MAX).unwrap();
        let mut with_authors = lines(10);
        with_authors.authors.push("Cem".to_owned());
        for (lines, is_known) in [
            (lines(most), true),
            (lines(most + 1), false),
            // A commit without a run, and an author without a commit.
            (lines(1), false),
            (with_authors, false),
        ] {
            let read = read_lines(&row("2 c1", postcard::to_stdvec(&lines).ok()));
            assert!(lines.is_sound());
            assert_eq!(matches!(read, StoredLines::Known(_)), is_known, "{} runs", lines.runs.len());
        }
    }

    #[test]
    fn histories_beyond_the_limits_are_not_stored() {
        let most = u32::try_from(RUNS_MAX).unwrap();
        assert!(serialise(&lines(most)).is_some() && serialise(&lines(most + 1)).is_none());
        let mut large = lines(2);
        large.authors.extend((0..5000).map(|_| "n".repeat(250)));
        assert!(large.is_sound() && serialise(&large).is_none());
    }
}
