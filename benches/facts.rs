//! The cost of facts, as ratios within one run.
//!
//! `cargo bench --bench facts` uses the beginnings of source files of the build's own dependencies and prints:
//! - lexical: the time of lexical indexing (walk, chunk, rows) with facts and risk, compared with the time without them,
//! - whole: the time of a whole run with vectors: without facts, with facts, and with facts and a git history of 1,000 commits,
//! - filters: the latency of searches in 100,000 chunks with each kind of filter, compared with a search without one.
//!
//! `-- lexical`, `-- whole` or `-- filters` runs one part.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops at the first error")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use contract::config::Config;
use embedding::StubEmbedder;
use gate::app::App;
use serde_json::{Value, json};

mod corpus;

use corpus::{call, collect, unshared_app};

const COMMITS: usize = 1_000;
const QUERIES: usize = 60;

fn main() {
    let parts: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wants = |part: &str| parts.is_empty() || parts.iter().any(|word| word == part);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-facts");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
        if wants("lexical") {
            measure_lexical(&folder.join("lexical")).await;
        }
        if wants("whole") {
            measure_whole(&folder.join("whole")).await;
        }
        if wants("filters") {
            measure_filters(&folder.join("filters")).await;
        }
    });
    // The cluster may still be writing while it shuts down, so this can fail.
    let _ = fs::remove_dir_all(&folder);
}

fn app_with_stub(home: &Path, change: impl FnOnce(&mut Config)) -> Arc<App> {
    Arc::new(unshared_app(home, change).with_embedder(Arc::new(StubEmbedder::default())))
}

/// Indexes the repository into a new project; the report of the run.
async fn index(app: &Arc<App>, repository: &Path, project: &str) -> Value {
    call(app, "build_index", json!({ "repoPath": repository, "project_id": project })).await["report"].take()
}

fn seconds(report: &Value, field: &str) -> f64 {
    report[field].as_f64().unwrap()
}

/// Compares the best of three runs each, in turns, because other load only ever adds time.
async fn measure_lexical(folder: &Path) {
    let repository = folder.join("repository");
    let files = collect(10_000, 2_500, &repository).len();
    let home = folder.join("home");
    let without = app_with_stub(&home, |config| config.indexing.facts = false);
    let with = app_with_stub(&home, |_| {});
    let (mut plain, mut full) = (f64::INFINITY, f64::INFINITY);
    for round in 0..3 {
        let report = index(&without, &repository, &format!("plain-{round}")).await;
        plain = plain.min(seconds(&report, "lexicalSeconds"));
        let report = index(&with, &repository, &format!("full-{round}")).await;
        full = full.min(seconds(&report, "lexicalSeconds"));
    }
    println!(
        "lexical     {files} files: {plain:.2} s without facts, {full:.2} s with facts and risk: {:+.0} %",
        (full / plain - 1.0) * 100.0
    );
    with.store().await.unwrap().database().close().await;
    without.store().await.unwrap().database().close().await;
}

async fn measure_whole(folder: &Path) {
    let repository = folder.join("repository");
    let files = collect(1_500, 2_500, &repository).len();
    create_history(&repository);
    let home = folder.join("home");
    // One model for all applications: the sessions of a second one would compete with the first.
    let model = Arc::clone(Arc::new(unshared_app(&home, |_| {})).embedder().await.unwrap());
    let variant = |facts: bool, history: bool| {
        let app = unshared_app(&home, move |config| {
            config.indexing.facts = facts;
            config.indexing.history = history;
        });
        Arc::new(app.with_embedder(Arc::clone(&model)))
    };
    let apps = [variant(false, false), variant(true, false), variant(true, true)];
    // The first run also loads the model.
    index(&apps[0], &repository.join("part_0"), "warm").await;
    let mut times = Vec::new();
    for (at, app) in apps.iter().enumerate() {
        let report = index(app, &repository, &format!("whole-{at}")).await;
        times.push(seconds(&report, "seconds"));
    }
    let increase = |at: usize| (times[at] / times[0] - 1.0) * 100.0;
    println!(
        "whole       {files} files, {COMMITS} commits: {:.1} s; with facts {:+.1} %; with facts and history {:+.1} %",
        times[0],
        increase(1),
        increase(2)
    );
    for app in &apps {
        app.store().await.unwrap().database().close().await;
    }
}

/// Creates a git history of the files in which each commit changes five of them.
fn create_history(repository: &Path) {
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in fs::read_dir(repository).unwrap().flatten() {
        paths.extend(fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path()));
    }
    paths.sort();
    git(repository, &["init", "--quiet"]);
    let mut import = Command::new("git")
        .current_dir(repository)
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stream = import.stdin.take().unwrap();
    for commit in 0..COMMITS {
        let author = format!("Author {} <a@b> {} +0000", commit % 7, 1_700_000_000 + commit * 3_600);
        let mut text = format!("commit refs/heads/main\nauthor {author}\ncommitter {author}\ndata 1\nx\n");
        // Most commits write a file up to a varying line; the last ones write each file completely.
        for at in 0..5 {
            let which = (commit * 5 + at) % paths.len();
            let path = paths[which].strip_prefix(repository).unwrap().to_str().unwrap();
            let content = fs::read_to_string(&paths[which]).unwrap();
            let last = (commit + paths.len() / 5) >= COMMITS;
            let lines = content.lines().count();
            let kept = if last { lines } else { lines * (commit % 5 + 1) / 6 };
            let content: String = if last {
                content
            } else {
                content.lines().take(kept).flat_map(|line| [line, "\n"]).collect()
            };
            text.push_str(&format!("M 100644 inline {path}\ndata {}\n{content}\n", content.len()));
        }
        stream.write_all(text.as_bytes()).unwrap();
    }
    drop(stream);
    assert!(import.wait().unwrap().success());
    git(repository, &["symbolic-ref", "HEAD", "refs/heads/main"]);
    git(repository, &["reset", "--quiet"]);
}

fn git(repository: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(repository).args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(command.status().unwrap().success());
}

/// Filters of different kinds and selectivity. The first filters nothing: its ratio shows the noise.
fn filter_cases() -> Vec<(&'static str, Value)> {
    vec![
        ("none again", json!({})),
        ("lang", json!({ "lang": "rust" })),
        ("ext", json!({ "ext": "h" })),
        ("path", json!({ "path": "part_7" })),
        ("type", json!({ "type": "method" })),
        ("calls (rare)", json!({ "calls": "from_utf8" })),
        ("calls (common)", json!({ "calls": "unwrap" })),
        ("uses", json!({ "uses": "HashMap" })),
        ("reads", json!({ "reads": "buffer" })),
        ("returnType", json!({ "returnType": "Result" })),
        ("visibility", json!({ "visibility": "private" })),
        ("returns", json!({ "returns": true })),
        ("async", json!({ "async": true })),
        ("lint", json!({ "lint": true })),
        ("branchesMin 1", json!({ "branchesMin": 1 })),
        ("branchesMin 9", json!({ "branchesMin": 9 })),
        ("signature", json!({ "signature": "&mut self" })),
        ("import", json!({ "import": "std::io" })),
        ("risk", json!({ "riskCategory": "command" })),
        ("all together", json!({ "lang": "rust", "type": "function", "returns": true, "branchesMin": 2 })),
    ]
}

async fn measure_filters(folder: &Path) {
    let repository = folder.join("repository");
    let texts = collect(12_000, 9_000, &repository);
    let app = app_with_stub(&folder.join("home"), |_| {});
    let report = index(&app, &repository, "filters").await;
    println!("filters     {} chunks", report["chunks"]);
    for query in ["", "-nothing_says_this", "\"return value\"", "NOT lang:c"] {
        let base = latency(&app, &texts, &json!({}), "").await;
        let time = latency(&app, &texts, &json!({}), query).await;
        println!("            {query:<22} {time:>7.1} ms, {:.2}x", time / base);
    }
    for (name, filter) in filter_cases() {
        // In turns, so that other load affects both.
        let base = latency(&app, &texts, &json!({}), "").await;
        let time = latency(&app, &texts, &filter, "").await;
        println!("            {name:<22} {time:>7.1} ms, {:.2}x of {base:.1} ms", time / base);
    }
    app.store().await.unwrap().database().close().await;
}

/// The median latency of queries with words from the files, in milliseconds.
async fn latency(app: &Arc<App>, texts: &[String], filter: &Value, clause: &str) -> f64 {
    let mut times = Vec::new();
    for at in 0..QUERIES {
        let text = &texts[(at * 7919) % texts.len()];
        let words: Vec<&str> =
            text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| w.len() > 4).collect();
        let word = |n: usize| words.get((at * 31 + n * 17) % words.len().max(1)).copied().unwrap_or("parser");
        let mut arguments = filter.clone();
        arguments["query"] = format!("how is {} handled when {} fails {clause}", word(1), word(2)).into();
        arguments["project_id"] = "filters".into();
        let started = Instant::now();
        call(app, "search", arguments).await;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
