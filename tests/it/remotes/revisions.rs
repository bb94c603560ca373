//! Other branches and tags beside the default branch: what is found of each, what they cost, how they follow the host, and where
//! they are not to be seen.

mod changes;
mod interrupted;
mod leaving;
mod lists;
mod rows;
mod searching;
mod shown;

use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Row};

use crate::git_host::{GitHost, HostedRepository};
use crate::harness::{app, git, project, result};
use crate::upkeep::{query_number, raw, schema};

/// The patterns with which the shop is indexed.
const PATTERNS: [&str; 2] = ["release/*", "v*"];

const TILL: &str = "def count_drawer(coins):\n    return sum(coins)\n";
const OTHER_TILL: &str = "def tally_slowly(coins):\n    return len(coins)\n";
/// The same on all branches, and long enough to be folded where it occurs twice.
const SHARED: &str = "def weigh_bullion(bars):\n    total = 0\n    for bar in bars:\n        total += bar.weight_in_grams\n    return total\n";

/// A repository with the branches `main`, `release/1.0` and `release/2.0` and the tag `v1.0`, and a project.
///
/// `till.py` is the same on all but `release/1.0`, and `shared.py` and `README.md` on all. Each branch has one more file.
struct Shop {
    host: GitHost,
    repository: HostedRepository,
    app: Arc<App>,
    project: String,
    /// The commit of the tag, from which the branches start.
    first: String,
    /// The commit of `release/1.0`.
    release: String,
}

impl Shop {
    async fn new(name: &str) -> Self {
        let host = GitHost::start().await;
        let repository = host.repository("acme/shop");
        let readme = "# Shop\n\nCounts the coins of the drawer at night.\n";
        let files = [("till.py", TILL), ("shared.py", SHARED), ("README.md", readme)];
        let first = repository.commit(&files, "Begin");
        repository.annotated_tag("v1.0", "The first version");
        let legacy = ("legacy.py", "def only_in_one(coin):\n    return coin\n");
        let release = repository.commit_to("release/1.0", &[("till.py", OTHER_TILL), legacy], "Release");
        let future = ("future.py", "def only_in_two(coin):\n    return [coin]\n");
        repository.commit_to("release/2.0", &[future], "Release");
        repository.commit(&[("new.py", "def only_on_main(coin):\n    return {coin}\n")], "More");
        Self { host, repository, app: app(), project: project(name), first, release }
    }

    /// As [`Self::new`], indexed with [`PATTERNS`].
    async fn indexed(name: &str) -> Self {
        let shop = Self::new(name).await;
        shop.index_with(&PATTERNS).await;
        shop
    }

    /// Indexes it with patterns, which are kept; the report.
    async fn index_with(&self, patterns: &[&str]) -> Value {
        index(&self.app, &self.project, &self.repository.url(), Some(patterns)).await
    }

    /// Indexes it as it was asked for last; the report.
    async fn refresh(&self) -> Value {
        index(&self.app, &self.project, &self.repository.url(), None).await
    }

    /// Sets a branch to any commit that the repository has.
    fn force_push(&self, branch: &str, commit: &str) {
        let reference = format!("refs/heads/{branch}");
        git(&self.repository.path(), &["update-ref", &reference, commit]);
    }

    async fn search(&self, query: &str) -> Value {
        search(&self.app, &self.project, json!({ "query": query })).await
    }

    async fn hits(&self, query: &str) -> Vec<FoundFile> {
        found_files(&self.search(query).await)
    }

    /// Checks whether a search finds a word, with further conditions.
    async fn finds(&self, word: &str, conditions: &str) -> bool {
        !self.hits(&format!("\"{word}\" {conditions}")).await.is_empty()
    }

    /// The number of rows of a table that meet a condition.
    async fn count(&self, table: &str, condition: &str) -> i64 {
        count(&self.project, table, condition).await
    }
}

/// A file that was found, and the revisions that have it.
type FoundFile = (String, Vec<String>);

fn found(file: &str, revisions: &[&str]) -> FoundFile {
    (file.to_owned(), revisions.iter().map(|&name| name.to_owned()).collect())
}

async fn index(app: &Arc<App>, project: &str, address: &str, patterns: Option<&[&str]>) -> Value {
    let mut arguments = json!({ "repoPath": address, "project_id": project });
    if let Some(patterns) = patterns {
        arguments["revisions"] = json!(patterns);
    }
    // On the heap, because a test with many calls would need more stack than its thread has.
    Box::pin(result(app, "build_index", arguments)).await["report"].take()
}

async fn search(app: &Arc<App>, project: &str, mut arguments: Value) -> Value {
    arguments["project_id"] = json!(project);
    arguments["top"] = json!(50);
    Box::pin(result(app, "search", arguments)).await
}

/// The files of the hits, sorted; one for each hit.
fn found_files(answer: &Value) -> Vec<FoundFile> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let hits = answer["hits"].as_array().unwrap().iter();
    let file = |hit: &Value| {
        let revisions = hit["revisions"].as_array().into_iter().flatten().map(text).collect();
        (text(&hit["file"]), revisions)
    };
    let mut files: Vec<FoundFile> = hits.map(file).collect();
    files.sort();
    files
}

async fn count(project: &str, table: &str, condition: &str) -> i64 {
    query_number(&format!("SELECT count(*) FROM {}.{table} WHERE {condition}", schema(project))).await
}

/// Each file of a project, with its content, whether the default branch has it, and the names of the revisions that have it; as
/// sorted lines.
async fn views(project: &str) -> Vec<String> {
    let schema = schema(project);
    let text = format!(
        "SELECT f.path || ' ' || encode(f.content_hash, 'hex') || ' ' || (r.revisions_of IS NULL)::text || ' ' || \
           coalesce((SELECT string_agg(v.name || ' ' || v.commit_id, ',' ORDER BY v.name) FROM {schema}.revisions v \
             WHERE v.repository_id = coalesce(r.revisions_of, r.id) AND (f.views >> v.bit) & 1 = 1), '') \
         FROM {schema}.files f JOIN {schema}.repositories r ON r.id = f.repository_id ORDER BY 1"
    );
    let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(&mut raw().await).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}
