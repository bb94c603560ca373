//! The commit that added each line of a text, as runs of consecutive lines of one commit.

use serde::{Deserialize, Serialize};

use super::repository::NAME_BYTES_MAX;

/// The commit that added each line of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineHistory {
    /// The different authors of the commits, by the names that the mailmap assigns.
    pub authors: Vec<String>,
    /// The commits.
    pub commits: Vec<LineCommit>,
    /// All lines in their order; neighbours are of different commits.
    pub runs: Vec<LineRun>,
}

/// A commit that added lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCommit {
    /// Its id.
    pub id: Vec<u8>,
    /// Index of its author in [`LineHistory::authors`].
    pub author: u32,
    /// The author date, seconds since the epoch.
    pub authored_s: i64,
}

/// Consecutive lines of one commit. It begins after the previous run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRun {
    /// The last line, 1-based and inclusive.
    pub last_line: u32,
    /// Index of the commit in [`LineHistory::commits`]; `None` for lines that are not committed.
    pub commit: Option<u32>,
}

impl LineCommit {
    /// Returns its id, in hex.
    #[must_use]
    pub fn hex(&self) -> String {
        platform::sha256::to_hex(&self.id)
    }
}

impl LineHistory {
    /// Returns the author of a commit of this history.
    #[must_use]
    pub fn author_of(&self, commit: &LineCommit) -> &str {
        self.authors.get(commit.author as usize).map_or("", String::as_str)
    }

    /// Returns the commit of a run of this history; `None` if its lines are not committed.
    #[must_use]
    pub fn commit_of(&self, run: &LineRun) -> Option<&LineCommit> {
        self.commits.get(run.commit? as usize)
    }

    /// Returns the different authors of the lines `first..=last`, 1-based, sorted.
    #[must_use]
    pub fn authors_of(&self, first: u32, last: u32) -> Vec<&str> {
        let runs = &self.runs[self.runs.partition_point(|run| run.last_line < first)..];
        let inner = runs.partition_point(|run| run.last_line < last);
        let runs = &runs[..runs.len().min(inner + 1)];
        let commits = runs.iter().filter_map(|run| self.commit_of(run));
        let mut names: Vec<&str> = commits.map(|commit| self.author_of(commit)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Checks whether this is a value that [`History::line_history`](super::History::line_history) may return. A value from another
    /// process, or from an archive, need not be.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.authors.iter().all(|name| name.len() <= NAME_BYTES_MAX && !name.contains('\0'))
            // The lengths of SHA-1 and SHA-256.
            && self.commits.iter().all(|commit| matches!(commit.id.len(), 20 | 32))
            && self.commits.iter().all(|commit| (commit.author as usize) < self.authors.len())
            && self.runs.first().is_none_or(|run| run.last_line > 0)
            && self.runs.is_sorted_by(|run, next| run.last_line < next.last_line)
            && self.runs.iter().all(|run| run.commit.is_none_or(|at| (at as usize) < self.commits.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ann wrote lines 1 and 5, Bob 2 and 3 and 6; line 4 is not committed.
    fn history() -> LineHistory {
        let commit = |digit: u8, author| LineCommit { id: vec![digit; 20], author, authored_s: 7 };
        let run = |last_line, commit| LineRun { last_line, commit };
        LineHistory {
            authors: vec!["Bob".to_owned(), "Ann".to_owned()],
            commits: vec![commit(0x1a, 1), commit(2, 0)],
            runs: vec![run(1, Some(0)), run(3, Some(1)), run(4, None), run(5, Some(0)), run(6, Some(1))],
        }
    }

    #[test]
    fn authors_are_those_of_the_lines_that_are_asked_for() {
        let history = history();
        assert_eq!(history.commits[0].hex(), "1a".repeat(20));
        for (first, last, authors) in [
            (1, 1, vec!["Ann"]),
            (2, 3, vec!["Bob"]),
            (3, 4, vec!["Bob"]),
            (4, 4, vec![]),
            (1, 6, vec!["Ann", "Bob"]),
            (5, 100, vec!["Ann", "Bob"]),
            (7, 9, vec![]),
        ] {
            assert_eq!(history.authors_of(first, last), authors, "{first} to {last}");
        }
        assert_eq!(LineHistory::default().authors_of(1, 5), [""; 0]);
    }

    #[test]
    fn a_history_that_cannot_be_is_not_sound() {
        assert!(history().is_sound() && LineHistory::default().is_sound());
        let changes: [fn(&mut LineHistory); 8] = [
            |history| history.authors[0] = "n".repeat(NAME_BYTES_MAX + 1),
            |history| history.authors[1] = "A\0nn".to_owned(),
            |history| history.commits[0].id.truncate(19),
            |history| history.commits[1].author = 2,
            |history| history.runs[0].last_line = 0,
            |history| history.runs[2].last_line = 3,
            |history| history.runs[1].commit = Some(2),
            |history| drop(history.commits.pop()),
        ];
        for (case, change) in changes.into_iter().enumerate() {
            let mut changed = history();
            change(&mut changed);
            assert!(!changed.is_sound(), "case {case}: {changed:?}");
        }
    }
}
