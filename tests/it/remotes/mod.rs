//! Repositories that are given by their address: fetched into a mirror, and indexed from its objects.

mod bad_hosts;
mod command_line;
mod fetching;
mod hostile_commits;
mod pushes;
mod revisions;
mod rights;

use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};

use crate::git_host::HostedRepository;
use crate::harness::{call, result};

/// Indexes an address into a project; the report of the run.
async fn index(app: &Arc<App>, project: &str, address: &str) -> Value {
    result(app, "build_index", json!({ "repoPath": address, "project_id": project })).await["report"].take()
}

/// The code of the error with which indexing an address fails.
async fn refusal(app: &Arc<App>, project: &str, address: &str) -> String {
    let answer = call(app, "build_index", json!({ "repoPath": address, "project_id": project })).await;
    answer["error"]["code"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned()
}

/// The files in which a search finds `word`, sorted.
pub(crate) async fn files_with(app: &Arc<App>, project: &str, word: &str) -> Vec<String> {
    let arguments = json!({ "query": format!("\"{word}\""), "project_id": project, "top": 50 });
    let found = result(app, "search", arguments).await;
    let hits = found["hits"].as_array().unwrap();
    let mut files: Vec<String> = hits.iter().map(|hit| hit["file"].as_str().unwrap().to_owned()).collect();
    files.sort();
    files.dedup();
    files
}

/// A small repository with code, prose, an ignore file and a folder of third-party code.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("src/till.py", "def count_drawer(coins):\n    return sum(coins)\n"),
    ("src/shop.py", "from till import count_drawer\n\n\ndef close(coins):\n    return count_drawer(coins)\n"),
    ("README.md", "# Shop\n\nCounts the coins of the drawer at night.\n"),
    (".gitignore", "*.log\n"),
    ("debug.log", "there although it is ignored\n"),
    ("node_modules/x/index.js", "export function vendored() {}\n"),
];

/// Commits [`FILES`]; the id of the commit.
fn fill(repository: &HostedRepository) -> String {
    repository.commit(FILES, "Begin")
}
