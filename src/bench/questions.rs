//! Annotated questions, as files tell them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Variant;
use super::score::Target;
use contract::{ErrorCode, Fault};

/// What is asked, of what, and with what.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder of the questions: `repos.json` and `annotations/`, or `instances.json` (or that file itself).
    pub questions: PathBuf,
    /// Folder of checkouts.
    pub corpus: PathBuf,
    /// Names of repositories, or parts of the ids of issues; all where there are none.
    pub only: Vec<String>,
    /// What is asked with.
    pub variants: Vec<Variant>,
    /// Tell each question.
    pub details: bool,
}

/// A repository with a folder of questions about it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Repository {
    pub(super) name: String,
    pub(super) language: String,
    /// `owner/name` where it is published.
    pub(super) repository: String,
    pub(super) commit: String,
    /// Only this folder of it is indexed.
    pub(super) root: Option<String>,
}

/// A question about a repository.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Question {
    pub(super) query: String,
    relevant: Vec<Place>,
    #[serde(default)]
    secondary: Vec<Place>,
    pub(super) category: String,
}

/// The text of an issue, and the files that its fix changed.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Issue {
    pub(super) id: String,
    pub(super) repository: String,
    pub(super) commit: String,
    pub(super) query: String,
    relevant: Vec<Place>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Place {
    File(String),
    Lines { path: String, start_line: u32, end_line: u32 },
}

impl Place {
    fn target(&self) -> Target {
        match self {
            Self::File(path) => Target { path: path.clone(), lines: None },
            Self::Lines { path, start_line, end_line } => {
                Target { path: path.clone(), lines: Some((*start_line, *end_line)) }
            }
        }
    }
}

impl Question {
    /// Whether the repository has nothing that answers.
    pub(super) fn is_absent(&self) -> bool {
        self.relevant.is_empty() && self.secondary.is_empty()
    }

    /// The places that a fair judge calls right.
    pub(super) fn right(&self) -> Vec<Target> {
        self.relevant.iter().map(Place::target).collect()
    }

    /// All that should be found, the first-rate and the others alike.
    pub(super) fn targets(&self) -> Vec<Target> {
        self.relevant.iter().chain(&self.secondary).map(Place::target).collect()
    }
}

impl Issue {
    /// The files that its fix changed.
    pub(super) fn targets(&self) -> Vec<Target> {
        self.relevant.iter().map(Place::target).collect()
    }
}

/// The repositories of `folder/repos.json`; of these the ones that `only` names, all where it names none.
pub(super) fn repositories(folder: &Path, only: &[String]) -> Result<Vec<Repository>, Fault> {
    let all: Vec<Repository> = read(&folder.join("repos.json"))?;
    Ok(all.into_iter().filter(|repository| only.is_empty() || only.contains(&repository.name)).collect())
}

/// The questions of `folder/annotations/NAME.json`.
pub(super) fn questions(folder: &Path, repository: &Repository) -> Result<Vec<Question>, Fault> {
    read(&folder.join("annotations").join(format!("{}.json", repository.name)))
}

/// The issues of `folder/instances.json`, or of the file itself.
pub(super) fn issues(path: &Path, only: &[String]) -> Result<Vec<Issue>, Fault> {
    let file = if path.is_dir() { path.join("instances.json") } else { path.to_owned() };
    let all: Vec<Issue> = read(&file)?;
    Ok(all
        .into_iter()
        .filter(|issue| only.is_empty() || only.iter().any(|name| issue.id.contains(name)))
        .collect())
}

fn read<T: DeserializeOwned>(file: &Path) -> Result<T, Fault> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Fault::new(ErrorCode::InvalidInput, format!("{} cannot be read: {error}.", file.display()))
            .with_hint("docs/benchmarks.md shows the files that a benchmark reads.")
    };
    let text = fs::read_to_string(file).map_err(|error| unreadable(&error))?;
    serde_json::from_str(&text).map_err(|error| unreadable(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_files_or_lines_of_one() {
        let question: Question = serde_json::from_str(
            r#"{"query": "q", "relevant": ["a.rs", {"path": "b.rs", "start_line": 3, "end_line": 9}], "category": "symbol"}"#,
        )
        .unwrap();
        let lines: Vec<_> = question.targets().into_iter().map(|target| target.lines).collect();
        assert_eq!(lines, [None, Some((3, 9))]);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let fault = repositories(Path::new("/nowhere"), &[]).unwrap_err();
        assert!(fault.message.contains("/nowhere/repos.json"));
    }
}
