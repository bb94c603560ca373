//! The queries of `tests/ranking/queries/`, one file per category, with the targets of each.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;

use serde::Deserialize;

use super::folder;
use super::page::{Hit, Page};

/// Separates the path of a target from a text in the targeted line.
const AT: &str = " @ ";
/// The line before the ranked hits of a golden file.
pub(super) const RANKED: &str = "ranked:";
/// A golden file shows at most this many characters of its query.
const SHOWN_CHARS: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    query: Vec<QueryEntry>,
}

/// A query as its file contains it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryEntry {
    id: String,
    text: String,
    targets: Vec<String>,
}

/// A query with its category and targets.
pub(super) struct Query {
    pub(super) category: String,
    entry: QueryEntry,
    targets: Vec<Target>,
}

/// The expected place of a hit: in this file and, if there is a line, containing that line.
struct Target {
    file: String,
    line: Option<u64>,
}

/// All queries, by category, then in the order of the file.
pub(super) fn all() -> Vec<Query> {
    let mut names: Vec<_> = fs::read_dir(folder("queries")).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    let mut queries = Vec::new();
    for name in names {
        let category = name.file_stem().unwrap().to_string_lossy().into_owned();
        let file: File = toml::from_str(&fs::read_to_string(&name).unwrap()).unwrap();
        queries.extend(file.query.into_iter().map(|entry| Query::new(&category, entry)));
    }
    let ids: HashSet<String> = queries.iter().map(Query::id).collect();
    assert_eq!(ids.len(), queries.len(), "two queries of one category have the same id");
    queries
}

impl Query {
    fn new(category: &str, entry: QueryEntry) -> Self {
        let targets: Vec<Target> = entry.targets.iter().map(|target| Target::parse(target)).collect();
        assert!(!targets.is_empty(), "{} has no target", entry.id);
        Self { category: category.to_owned(), entry, targets }
    }

    /// Its unique id, which is also the name of its golden files.
    pub(super) fn id(&self) -> String {
        format!("{}-{}", self.category, self.entry.id)
    }

    pub(super) fn text(&self) -> &str {
        self.entry.text.trim()
    }

    /// The rank of each target, 1-based; `None` if it is not on the page.
    pub(super) fn ranks(&self, page: &Page) -> Vec<Option<usize>> {
        let rank = |target: &Target| page.0.iter().position(|hit| target.is_in(hit)).map(|at| at + 1);
        self.targets.iter().map(rank).collect()
    }

    /// The content of its golden file: the query, the ranks of its targets, and the page.
    pub(super) fn report(&self, page: &Page) -> String {
        let first: String =
            self.text().lines().next().unwrap_or_default().chars().take(SHOWN_CHARS).collect();
        let mut text = format!("query: {first}\ntargets:\n");
        for (target, rank) in self.entry.targets.iter().zip(self.ranks(page)) {
            let rank = rank.map_or("-".to_owned(), |rank| rank.to_string());
            writeln!(text, "{rank:>3} {target}").unwrap();
        }
        let lines = page.lines(|hit| self.targets.iter().any(|target| target.is_in(hit)));
        format!("{text}{RANKED}\n{lines}")
    }
}

impl Target {
    /// Parses `path` or `path @ text`, which means the first line that contains the text. Both must exist.
    fn parse(target: &str) -> Self {
        let (file, at) = target.split_once(AT).map_or((target, None), |(file, at)| (file, Some(at)));
        let text = fs::read_to_string(folder("corpus").join(file));
        let text = text.unwrap_or_else(|error| panic!("target {file}: {error}"));
        let line_of = |at: &str| {
            let index = text.lines().position(|line| line.contains(at));
            index.unwrap_or_else(|| panic!("no line of {file} contains {at}")) as u64 + 1
        };
        Self { file: file.to_owned(), line: at.map(line_of) }
    }

    fn is_in(&self, hit: &Hit) -> bool {
        let (first, last) = hit.lines;
        self.file == hit.file && self.line.is_none_or(|line| (first..=last).contains(&line))
    }
}
