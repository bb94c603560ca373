//! The commits that added the lines of a file, in the form of an answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ::history::LineHistory;
use contract::clock::iso_seconds;

/// Which commits added the lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownLines {
    /// The commits.
    pub commits: Vec<KnownCommit>,
    /// All lines in their order, as runs of lines of one commit.
    pub runs: Vec<KnownRun>,
}

/// A commit that added lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownCommit {
    /// Its id, in hex.
    pub id: String,
    /// Who wrote it.
    pub author: String,
    /// When it was written, in UTC.
    pub at: String,
}

/// Consecutive lines of one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownRun {
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Index of the commit in `commits`; absent for lines that are not committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<u32>,
}

impl From<&LineHistory> for KnownLines {
    fn from(lines: &LineHistory) -> Self {
        let commits = lines.commits.iter().map(|commit| KnownCommit {
            id: commit.hex(),
            author: lines.author_of(commit).to_owned(),
            at: iso_seconds(commit.authored_s),
        });
        let starts = std::iter::once(1).chain(lines.runs.iter().map(|run| run.last_line.saturating_add(1)));
        let runs = starts.zip(&lines.runs).map(|(start_line, run)| KnownRun {
            start_line,
            end_line: run.last_line,
            commit: run.commit,
        });
        Self { commits: commits.collect(), runs: runs.collect() }
    }
}

impl KnownLines {
    /// The commit of a run; `None` if its lines are not committed.
    #[must_use]
    pub fn commit_of(&self, run: &KnownRun) -> Option<&KnownCommit> {
        self.commits.get(run.commit? as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::history::{LineCommit, LineRun};

    #[test]
    fn each_run_begins_after_the_one_before_it() {
        let commit = LineCommit { id: vec![0xab; 20], author: 0, authored_s: 1_700_000_000 };
        let run = |last_line, commit| LineRun { last_line, commit };
        let lines = LineHistory {
            authors: vec!["Ann".to_owned()],
            commits: vec![commit],
            runs: vec![run(2, Some(0)), run(3, None), run(u32::MAX, Some(0))],
        };
        let known = KnownLines::from(&lines);
        let found: Vec<_> = known.runs.iter().map(|run| (run.start_line, run.end_line)).collect();
        assert_eq!(found, [(1, 2), (3, 3), (4, u32::MAX)]);
        let ann = known.commit_of(&known.runs[0]).unwrap();
        assert_eq!(ann.id, "ab".repeat(20));
        assert_eq!((ann.author.as_str(), ann.at.as_str()), ("Ann", "2023-11-14T22:13:20Z"));
        assert_eq!(known.commit_of(&known.runs[1]), None);
    }
}
