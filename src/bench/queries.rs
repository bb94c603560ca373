//! Reads the query files of the quality benchmarks.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Variant;
use super::score::Target;
use contract::{ErrorCode, Fault};

/// Options of the quality benchmarks.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder of the queries: `repos.json` and `annotations/`, or `instances.json` (or that file itself).
    pub questions: PathBuf,
    /// Folder of checkouts.
    pub corpus: PathBuf,
    /// Names of repositories, or parts of issue ids; empty means all.
    pub only: Vec<String>,
    /// Variants to measure.
    pub variants: Vec<Variant>,
    /// Report every query.
    pub details: bool,
}

/// A repository with a query file.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Repository {
    pub(super) name: String,
    pub(super) language: String,
    /// Published as `owner/name`.
    pub(super) repository: String,
    pub(super) commit: String,
    /// If set, only this folder is indexed.
    pub(super) root: Option<String>,
}

/// A query with its known answers.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct AnnotatedQuery {
    pub(super) query: String,
    relevant: Vec<AnswerLocation>,
    #[serde(default)]
    secondary: Vec<AnswerLocation>,
    pub(super) category: String,
}

/// The text of an issue, and the files that its fix changed.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Issue {
    pub(super) id: String,
    pub(super) repository: String,
    pub(super) commit: String,
    pub(super) query: String,
    relevant: Vec<AnswerLocation>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum AnswerLocation {
    File(String),
    Lines { path: String, start_line: u32, end_line: u32 },
}

impl AnswerLocation {
    fn target(&self) -> Target {
        match self {
            Self::File(path) => Target { path: path.clone(), lines: None },
            Self::Lines { path, start_line, end_line } => {
                Target { path: path.clone(), lines: Some((*start_line, *end_line)) }
            }
        }
    }
}

impl AnnotatedQuery {
    /// Whether the repository has no answer.
    pub(super) fn is_absent(&self) -> bool {
        self.relevant.is_empty() && self.secondary.is_empty()
    }

    /// The primary targets.
    pub(super) fn relevant_targets(&self) -> Vec<Target> {
        self.relevant.iter().map(AnswerLocation::target).collect()
    }

    /// The primary and secondary targets.
    pub(super) fn targets(&self) -> Vec<Target> {
        self.relevant.iter().chain(&self.secondary).map(AnswerLocation::target).collect()
    }
}

impl Issue {
    /// The files that the fix changed.
    pub(super) fn targets(&self) -> Vec<Target> {
        self.relevant.iter().map(AnswerLocation::target).collect()
    }
}

/// Reads `folder/repos.json`; keeps the repositories that `only` names, or all if it is empty.
pub(super) fn read_repositories(folder: &Path, only: &[String]) -> Result<Vec<Repository>, Fault> {
    let all: Vec<Repository> = read_json(&folder.join("repos.json"))?;
    Ok(all.into_iter().filter(|repository| only.is_empty() || only.contains(&repository.name)).collect())
}

/// Reads `folder/annotations/NAME.json`.
pub(super) fn read_queries(folder: &Path, repository: &Repository) -> Result<Vec<AnnotatedQuery>, Fault> {
    read_json(&folder.join("annotations").join(format!("{}.json", repository.name)))
}

/// Reads the issues from `folder/instances.json` or from the file itself.
pub(super) fn read_issues(path: &Path, only: &[String]) -> Result<Vec<Issue>, Fault> {
    let file = if path.is_dir() { path.join("instances.json") } else { path.to_owned() };
    let all: Vec<Issue> = read_json(&file)?;
    Ok(all
        .into_iter()
        .filter(|issue| only.is_empty() || only.iter().any(|name| issue.id.contains(name)))
        .collect())
}

fn read_json<T: DeserializeOwned>(file: &Path) -> Result<T, Fault> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Fault::new(ErrorCode::InvalidInput, format!("{} could not be read: {error}.", file.display()))
            .with_hint("docs/benchmarks.md describes the files that a benchmark reads.")
    };
    let text = fs::read_to_string(file).map_err(|error| unreadable(&error))?;
    serde_json::from_str(&text).map_err(|error| unreadable(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_files_or_lines_of_one() {
        let question: AnnotatedQuery = serde_json::from_str(
            r#"{"query": "q", "relevant": ["a.rs", {"path": "b.rs", "start_line": 3, "end_line": 9}], "category": "symbol"}"#,
        )
        .unwrap();
        let lines: Vec<_> = question.targets().into_iter().map(|target| target.lines).collect();
        assert_eq!(lines, [None, Some((3, 9))]);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let fault = read_repositories(Path::new("/nowhere"), &[]).unwrap_err();
        assert!(fault.message.contains("/nowhere/repos.json"));
    }
}
