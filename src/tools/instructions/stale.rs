//! Stale instructions: those that name files, scripts or symbols that the project's index does not have.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::tools::Call;
use crate::tools::search::execute::search_project;
use contract::{ErrorCode, Fault, Warning};
use engine::search::{ExactQuery, Mode, SearchRequest, Vectors, parse_filters};
use instructions::mentions::{Mentions, Script, mentions};
use instructions::{Requirement, Stored};
use store::{Access, Project, ProjectTx, files, repositories};

/// Paths read at a time.
const PATHS_PAGE: i64 = 10_000;
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

/// The entries with such names, in the order of ids. A project without an indexed repository has none: nothing can be known of it.
pub(super) async fn stale_entries(
    call: &Call,
    project: &Project,
    entries: &[Stored],
) -> Result<Vec<StaleEntry>, Fault> {
    let named: Vec<(&Stored, Mentions)> = entries
        .iter()
        .filter(|stored| stored.instruction.requirement != Requirement::Deprecated)
        .map(|stored| (stored, mentions(&stored.instruction.body)))
        .filter(|(_, mentions)| !mentions.is_empty())
        .collect();
    let mut index = KnownNames { call, project, roots: roots(call, project).await?, searches: 0 };
    if named.is_empty() || index.roots.is_empty() {
        return Ok(Vec::new());
    }
    let paths = named.iter().flat_map(|(_, mentions)| mentions.paths.iter().map(String::as_str)).collect();
    let known_paths = known_paths(call, project, &paths).await?;
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
    Ok(named.iter().map(unknown).filter(is_stale).collect())
}

/// The roots of the project's repositories that are folders, or were.
async fn roots(call: &Call, project: &Project) -> Result<Vec<String>, Fault> {
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    Ok(rows.into_iter().filter(|row| !row.is_records()).map(|row| row.root).collect())
}

/// Those of `paths` that are paths of files or folders in a repository, from its root or from any of its folders.
async fn known_paths<'a>(
    call: &Call,
    project: &Project,
    paths: &HashSet<&'a str>,
) -> Result<HashSet<&'a str>, Fault> {
    let mut known = HashSet::new();
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Snapshot).await?;
    let mut after = (0, String::new());
    loop {
        let page = files::paths_page(&mut tx, (after.0, &after.1), PATHS_PAGE).await?;
        let Some(last) = page.last() else { break };
        after.clone_from(last);
        for (_, path) in &page {
            for part in parts_of(path) {
                if let Some(found) = paths.get(part) {
                    known.insert(*found);
                }
            }
        }
    }
    tx.commit().await?;
    Ok(known)
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
    /// Exact searches that were made.
    searches: usize,
}

impl KnownNames<'_> {
    /// Whether a text contains the name.
    async fn has_symbol(&mut self, symbol: &str) -> Result<bool, Fault> {
        self.contains(symbol, None).await
    }

    /// Whether a file that defines scripts contains the name.
    async fn has_script(&mut self, script: &Script) -> Result<bool, Fault> {
        let mut is_known = false;
        for file in script.files {
            is_known = is_known || self.contains(&script.name, Some(file)).await?;
        }
        Ok(is_known)
    }

    /// Whether a text of the repositories contains `name` as a word, in files of this name if one is given; also true once too many
    /// names were looked up.
    async fn contains(&mut self, name: &str, file: Option<&str>) -> Result<bool, Fault> {
        if self.searches >= SEARCHES_MAX {
            return Ok(true);
        }
        self.searches += 1;
        let filters = match file {
            Some(file) => parse_filters(&Map::from_iter([("path".to_owned(), Value::from(file))]))?,
            None => Vec::new(),
        };
        let request = SearchRequest {
            query: format!("\\b{}\\b", name.replace('.', "\\.")),
            repository_roots: self.roots.clone(),
            exact: Some(ExactQuery::Regex),
            filters,
            case_tokens: true,
            mode: Mode::Both,
            top: 1,
            vectors: Vectors::Off,
            ..SearchRequest::default()
        };
        match search_project(self.call, self.project, &request).await {
            Ok(answer) => Ok(answer.total > 0),
            Err(fault) if fault.code == ErrorCode::NoIndex => Ok(true),
            Err(fault) => Err(fault),
        }
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
