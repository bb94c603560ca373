//! Reads the query files of the quality benchmarks.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Variant;
use super::score::Target;
use contract::{ErrorCode, Fault};

/// Number of known names that an error about an unknown one lists.
const NAMES_SHOWN: usize = 5;

/// Options of the quality benchmarks.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folders of queries: `repos.json` and `annotations/`, or `instances.json` (or that file itself).
    pub questions: Vec<PathBuf>,
    /// Folder of checkouts.
    pub corpus: PathBuf,
    /// Names of repositories, or parts of issue ids; empty means all.
    pub only: Vec<String>,
    /// Variants to measure.
    pub variants: Vec<Variant>,
    /// Name of the vectors, see [`vectors::embedder_named`](super::vectors::embedder_named).
    pub vectors: String,
    /// Further measurements of `quality`.
    pub modes: Modes,
    /// File that keeps the results of each repository or issue as soon as it is done.
    pub kept: Option<PathBuf>,
    /// `true` if the results in that file are taken over.
    pub continues: bool,
    /// Report every query.
    pub details: bool,
}

/// Further measurements of `bench quality`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Modes {
    /// Each repository in a project of its own; always measured without `one_project`.
    pub alone: bool,
    /// All repositories in one project, each query with and without its repository named.
    pub one_project: bool,
    /// Queries of other repositories, for the confidence of answers.
    pub absent: bool,
    /// For each repository, the variant that is best on all others.
    pub leave_out: bool,
}

/// A repository with its queries.
#[derive(Debug, Clone)]
pub(super) struct QuerySet {
    /// Name of the folder that the queries come from.
    pub(super) name: String,
    pub(super) repository: Repository,
    pub(super) queries: Vec<AnnotatedQuery>,
    /// `true` if another set has a repository of the same name.
    is_ambiguous: bool,
}

impl QuerySet {
    /// The repository's name; with the set's, if another set has one of that name.
    pub(super) fn label(&self) -> String {
        let name = &self.repository.name;
        if self.is_ambiguous { format!("{}/{name}", self.name) } else { name.clone() }
    }
}

/// A repository with a query file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Repository {
    pub(super) name: String,
    pub(super) language: String,
    /// Published as `owner/name`.
    pub(super) repository: String,
    pub(super) commit: String,
    /// If set, only this folder is indexed.
    pub(super) root: Option<String>,
}

impl Repository {
    /// Identifies the content that is indexed.
    pub(super) fn state(&self) -> String {
        format!("{} {} {}", self.repository, self.commit, self.root.as_deref().unwrap_or("."))
    }
}

/// A query with its known answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AnnotatedQuery {
    pub(super) query: String,
    relevant: Vec<AnswerLocation>,
    #[serde(default)]
    secondary: Vec<AnswerLocation>,
    pub(super) category: String,
}

/// The text of an issue, and the files that its fix changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Issue {
    pub(super) id: String,
    pub(super) repository: String,
    pub(super) commit: String,
    pub(super) query: String,
    relevant: Vec<AnswerLocation>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
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
    /// Returns `true` if the repository has no answer.
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

/// Reads the queries of each repository from `repos.json` and `annotations/` of all `folders`; keeps the repositories that
/// `only` names, or all if it is empty.
///
/// # Errors
/// `INVALID_INPUT` for an unreadable file or no queries at all; `INVALID_REQUEST` if `only` names no repository.
pub(super) fn read_sets(folders: &[PathBuf], only: &[String]) -> Result<Vec<QuerySet>, Fault> {
    let mut sets = Vec::new();
    for folder in folders {
        let name = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for repository in read_json::<Vec<Repository>>(&folder.join("repos.json"))? {
            let file = folder.join("annotations").join(format!("{}.json", repository.name));
            sets.push((name.clone(), repository, file));
        }
    }
    let known: Vec<&str> = sets.iter().map(|(_, repository, _)| repository.name.as_str()).collect();
    require_known(only, &known, |name, known| name == known)?;
    sets.retain(|(_, repository, _)| only.is_empty() || only.contains(&repository.name));
    let mut often: HashMap<String, usize> = HashMap::new();
    sets.iter().for_each(|(_, repository, _)| *often.entry(repository.name.clone()).or_default() += 1);
    let read = |(name, repository, file): (String, Repository, PathBuf)| {
        let is_ambiguous = often.get(&repository.name).is_some_and(|times| *times > 1);
        Ok(QuerySet { name, queries: read_json(&file)?, repository, is_ambiguous })
    };
    let sets = sets.into_iter().map(read).collect::<Result<Vec<_>, Fault>>()?;
    if sets.iter().all(|set| set.queries.is_empty()) {
        return Err(nothing_to_measure("The query files contain no queries."));
    }
    Ok(sets)
}

/// Reads the issues from `instances.json` of each folder or from the file itself; keeps those whose id contains a name in
/// `only`, or all if it is empty.
///
/// # Errors
/// As [`read_sets`].
pub(super) fn read_issues(paths: &[PathBuf], only: &[String]) -> Result<Vec<Issue>, Fault> {
    let mut all = Vec::new();
    for path in paths {
        let file = if path.is_dir() { path.join("instances.json") } else { path.clone() };
        all.extend(read_json::<Vec<Issue>>(&file)?);
    }
    let known: Vec<&str> = all.iter().map(|issue| issue.id.as_str()).collect();
    require_known(only, &known, |name, id| id.contains(name))?;
    all.retain(|issue| only.is_empty() || only.iter().any(|name| issue.id.contains(name)));
    if all.is_empty() {
        return Err(nothing_to_measure("The query files contain no issues."));
    }
    Ok(all)
}

/// Refuses names in `only` that mean none of the known ones, so that a misspelled name does not look like a result.
fn require_known(only: &[String], known: &[&str], means: fn(&str, &str) -> bool) -> Result<(), Fault> {
    let Some(unknown) = only.iter().find(|name| !known.iter().any(|known| means(name, known))) else {
        return Ok(());
    };
    let mut nearest: Vec<&str> = known.to_vec();
    let likeness = |known: &str| strsim::jaro_winkler(&unknown.to_lowercase(), &known.to_lowercase());
    nearest.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)).then(a.cmp(b)));
    nearest.dedup();
    nearest.truncate(NAMES_SHOWN);
    Err(Fault::new(ErrorCode::InvalidRequest, format!("The queries know nothing named `{unknown}`."))
        .with_hint(format!("The most similar of {} known names: {}.", known.len(), nearest.join(", "))))
}

/// A run that would only print zeros.
pub(super) fn nothing_to_measure(why: &str) -> Fault {
    Fault::new(ErrorCode::InvalidInput, format!("Nothing was measured. {why}"))
        .with_hint("docs/benchmarks.md says where queries and checkouts are looked for.")
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
        let fault = read_sets(&["/nowhere".into()], &[]).unwrap_err();
        assert!(fault.message.contains("/nowhere/repos.json"));
    }

    #[test]
    fn a_misspelled_name_is_refused_with_the_nearest_known_ones() {
        let known = ["flask", "fastapi", "hono", "cobra", "fd", "jsoup", "zls"];
        let only = |name: &str| require_known(&[name.to_owned()], &known, |name, known| name == known);
        let fault = only("flsk").unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidRequest);
        assert!(fault.message.contains("flsk") && fault.hint.unwrap().contains("names: flask, "));
        assert!(only("flask").is_ok() && require_known(&[], &known, |_, _| false).is_ok());
    }
}
