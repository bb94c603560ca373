//! Stale instructions: those that name files, scripts or symbols that the project's index does not have.
//!
//! The rules may be in the indexed repository as well: as files of agents, or as an exported folder. Such files are no evidence
//! ([`RuleFiles`]).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::bound_folders;
use contract::{ErrorCode, Fault, Warning};
use engine::search::{ExactQuery, Mode, SearchRequest, Vectors, parse_filters};
use gate::app::blocking;
use gate::tools::Call;
use gate::tools::for_modules::{is_indexed, search_project};
use instructions::mentions::{Mentions, Script, mentions};
use instructions::{Requirement, RuleFiles, Stored};
use store::{Access, Project, ProjectTx, RepositoryRow, files, repositories};

/// Paths read at a time.
const PATHS_PAGE: i64 = 10_000;
/// Matching lines that are looked at first; often one of them is code.
const FIRST_LINES: usize = 20;
/// Names of symbols and scripts that are looked up, each by an exact search; further ones count as known.
const SEARCHES_MAX: usize = 300;

/// An entry with names that the index does not have.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StaleEntry {
    /// Its id.
    id: String,
    /// Paths of files and folders.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    paths: Vec<String>,
    /// Commands whose script is defined nowhere.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    scripts: Vec<String>,
    /// Symbols that occur nowhere.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    symbols: Vec<String>,
}

/// The entries with such names, in the order of ids. `None` without an indexed repository: nothing can be known of them.
pub(super) async fn stale_entries(
    call: &Call,
    project: &Project,
    entries: &[Stored],
) -> Result<Option<Vec<StaleEntry>>, Fault> {
    let repositories = indexed_repositories(call, project).await?;
    if repositories.is_empty() {
        return Ok(None);
    }
    let named: Vec<(&Stored, Mentions)> = entries
        .iter()
        .filter(|stored| stored.instruction.requirement != Requirement::Deprecated)
        .map(|stored| (stored, mentions(&stored.instruction.body)))
        .filter(|(_, mentions)| !mentions.is_empty())
        .collect();
    if named.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let ids = entries.iter().map(|stored| stored.instruction.id.as_str()).collect();
    let paths = named.iter().flat_map(|(_, mentions)| mentions.paths.iter().map(String::as_str)).collect();
    let (known_paths, rule_files) = read_paths(call, project, &repositories, &paths).await?;
    let roots = repositories.into_iter().map(|row| row.root).collect();
    let mut index = KnownNames { call, project, roots, rule_files, ids, searches: 0 };
    let scripts: BTreeSet<&Script> = named.iter().flat_map(|(_, mentions)| &mentions.scripts).collect();
    let symbols: BTreeSet<&String> = named.iter().flat_map(|(_, mentions)| &mentions.symbols).collect();
    let mut known_scripts = BTreeMap::new();
    for script in scripts {
        known_scripts.insert(script, index.has_script(script).await?);
    }
    let mut known_symbols = BTreeMap::new();
    for symbol in symbols {
        known_symbols.insert(symbol, index.has_symbol(symbol).await?);
    }
    if index.searches >= SEARCHES_MAX {
        let message = format!("Only the first {SEARCHES_MAX} names were looked up in the texts.");
        call.warn(Warning::new("names_left_out", message));
    }
    let unknown = |(stored, mentions): &(&Stored, Mentions)| StaleEntry {
        id: stored.instruction.id.clone(),
        paths: mentions.paths.iter().filter(|path| !known_paths.contains(path.as_str())).cloned().collect(),
        scripts: (mentions.scripts.iter().filter(|script| known_scripts.get(script) == Some(&false)))
            .map(|script| script.command.clone())
            .collect(),
        symbols: (mentions.symbols.iter().filter(|symbol| known_symbols.get(symbol) == Some(&false)))
            .cloned()
            .collect(),
    };
    let is_stale = |entry: &StaleEntry| {
        !(entry.paths.is_empty() && entry.scripts.is_empty() && entry.symbols.is_empty())
    };
    Ok(Some(named.iter().map(unknown).filter(is_stale).collect()))
}

/// The project's repositories that are or were folders, and whose content a search can find.
async fn indexed_repositories(call: &Call, project: &Project) -> Result<Vec<RepositoryRow>, Fault> {
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    Ok(rows.into_iter().filter(|row| !row.is_records() && is_indexed(row)).collect())
}

/// Those of `paths` that are paths of files or folders in a repository, from its root or from any of its folders; and which files
/// hold instructions, by the name of the repository.
async fn read_paths<'a>(
    call: &Call,
    project: &Project,
    repositories: &[RepositoryRow],
    paths: &HashSet<&'a str>,
) -> Result<(HashSet<&'a str>, HashMap<String, RuleFiles>), Fault> {
    let mut known = HashSet::new();
    let mut rule_files: HashMap<String, RuleFiles> = HashMap::new();
    let bound = bound_folder(call, project).await?;
    for row in repositories {
        let files = rule_files.entry(row.name.clone()).or_default();
        let below = bound.as_deref().and_then(|bound| bound.strip_prefix(&row.root).ok());
        if let Some(folder) = below.and_then(Path::to_str) {
            files.add_bound_folder(folder);
        }
    }
    let names: HashMap<i64, &str> = repositories.iter().map(|row| (row.id, row.name.as_str())).collect();
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Snapshot).await?;
    let mut after = (0, String::new());
    loop {
        let page = files::paths_page(&mut tx, (after.0, &after.1), PATHS_PAGE).await?;
        let Some(last) = page.last() else { break };
        after.clone_from(last);
        for (repository, path) in &page {
            if let Some(files) = names.get(repository).and_then(|name| rule_files.get_mut(*name)) {
                files.add(path);
            }
            for part in parts_of(path) {
                if let Some(found) = paths.get(part) {
                    known.insert(*found);
                }
            }
        }
    }
    tx.commit().await?;
    Ok((known, rule_files))
}

/// The folder that is bound to the project, without links as far as this machine has it.
async fn bound_folder(call: &Call, project: &Project) -> Result<Option<PathBuf>, Fault> {
    let Some(bound) = bound_folders::bound_to(&call.app, project.id()) else { return Ok(None) };
    let path = bound.path.clone();
    blocking(move || Ok(Some(path.canonicalize().unwrap_or(path)))).await
}

/// All runs of components of a path.
fn parts_of(path: &str) -> impl Iterator<Item = &str> {
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    starts.flat_map(move |start| {
        let rest = &path[start..];
        rest.match_indices('/').map(move |(at, _)| &rest[..at]).chain(std::iter::once(rest))
    })
}

/// Looks names up in the project's index.
struct KnownNames<'a> {
    call: &'a Call,
    project: &'a Project,
    roots: Vec<String>,
    /// The files that hold instructions, by the name of their repository.
    rule_files: HashMap<String, RuleFiles>,
    /// Ids of the catalog's entries.
    ids: HashSet<&'a str>,
    /// Exact searches that were made.
    searches: usize,
}

impl KnownNames<'_> {
    /// Returns `true` if a text contains the name.
    async fn has_symbol(&mut self, symbol: &str) -> Result<bool, Fault> {
        self.contains(symbol, None).await
    }

    /// Returns `true` if a file that defines scripts contains the name.
    async fn has_script(&mut self, script: &Script) -> Result<bool, Fault> {
        let mut is_known = false;
        for file in script.files {
            is_known = is_known || self.contains(&script.name, Some(file)).await?;
        }
        Ok(is_known)
    }

    /// Checks whether a text of the repositories contains `name` as a word, in files of this name if one is given. Also returns `true` once
    /// too many names were looked up. Files that hold instructions do not count.
    async fn contains(&mut self, name: &str, file: Option<&str>) -> Result<bool, Fault> {
        if self.searches >= SEARCHES_MAX {
            return Ok(true);
        }
        self.searches += 1;
        let filters = match file {
            Some(file) => parse_filters(&Map::from_iter([("path".to_owned(), Value::from(file))]))?,
            None => Vec::new(),
        };
        let settings = &self.call.app.config.search;
        let (mut offset, mut lines) = (0, FIRST_LINES.min(settings.exact_top_max));
        loop {
            let request = SearchRequest {
                query: format!("\\b{}\\b", name.replace('.', "\\.")),
                repository_roots: self.roots.clone(),
                exact: Some(ExactQuery::Regex),
                filters: filters.clone(),
                case_tokens: true,
                mode: Mode::Both,
                top: lines,
                offset,
                vectors: Vectors::Off,
                ..SearchRequest::default()
            };
            let answer = match search_project(self.call, self.project, &request).await {
                Ok(answer) => answer,
                Err(fault) if fault.code == ErrorCode::NoIndex => return Ok(true),
                Err(fault) => return Err(fault),
            };
            let files = answer.matches.unwrap_or_default().files;
            if files.iter().any(|file| !self.holds_rules(&file.repository, &file.path)) {
                return Ok(true);
            }
            offset += lines;
            if files.is_empty() || (answer.total <= offset && !answer.total_is_least) {
                return Ok(false);
            }
            // The remaining lines may be code.
            if offset > answer.offset_max {
                return Ok(true);
            }
            lines = settings.exact_top_max;
        }
    }

    fn holds_rules(&self, repository: &str, path: &str) -> bool {
        let files = self.rule_files.get(repository);
        files.is_some_and(|files| files.contain(path, |id| self.ids.contains(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_of_components_is_a_part() {
        let parts: Vec<&str> = parts_of("a/b/c.rs").collect();
        assert_eq!(parts, ["a", "a/b", "a/b/c.rs", "b", "b/c.rs", "c.rs"]);
        assert_eq!(parts_of("README.md").collect::<Vec<_>>(), ["README.md"]);
    }
}
