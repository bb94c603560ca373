//! Cost of launch runs compared with searches, and the time until a run goes on after the death of its process, as ratios within one run.
//!
//! `cargo bench --bench launch` copies the beginnings of 10,000 source files of the build's own dependencies into a repository (about
//! 50,000 chunks), together with a small product, and prints: the time of `launch check` over 100 pages beside that of a search, the
//! time of a validation beside that of a second one without changes, the statements and the time of the database for each page of a
//! run, and the time until another process takes over from one that was killed, and ends its item. `-- --files N` sets the number of
//! files.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops at the first error")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::ProjectId;
use contract::config::{Config, LaunchSite};
use embedding::StubEmbedder;
use gate::app::App;
use launch::event::ItemRef;
use launch::ids::RunId;
use launch::report::Profile;
use launch::snapshot::{ItemState, RunSnapshot};
use launch_runs::runs::{SiteCheck, check_site, open_run};
use serde_json::{Value, json};
use store::postgres::{Pool, recorder, sql};
use tokio_util::sync::CancellationToken;

mod corpus;

use corpus::{commit_all, git, median};

const FILES: usize = 10_000;
const HEAD_BYTES: usize = 4_500;
/// Pages of the site that is checked, and of the one that runs add pages to.
const PAGES: usize = 100;
/// Names of the repository on each checked page.
const NAMES: usize = 10;
const QUERIES: usize = 60;
/// Measurements of each kind; an odd number, so that one of them is the median.
const ROUNDS: usize = 3;
const LEASE_MS: u64 = 5_000;
const PROJECT: &str = "shop";
/// The argument that makes this program a server that advances runs until it is killed.
const SERVER: &str = "--server";
/// Longest time until a run gets on.
const PROGRESS_MAX: Duration = Duration::from_secs(600);
/// After this time without work, the sessions of the database have flushed their statistics.
const STATISTICS_DELAY: Duration = Duration::from_secs(11);

const README: &str = "# ShopKit\n\nShopKit counts the coins in a drawer. It keeps a list of sales.\n\n\
    ## Installation\n\nThe package is on the usual index.\n\n```sh\n$ pip install shopkit\n```\n\n\
    ## Usage\n\nCall `drawer` with the coins of one day.\n\n```python\nfrom shopkit.cash import drawer\n\nprint(drawer([1, 2]))\n```\n\n\
    ## Formats\n\nReads sales from CSV files of one day.\n\n## Limitations\n\nShopKit does not convert currencies.\n";
const MIT: &str = "Permission is hereby granted, free of charge, to any person obtaining a copy.\n\nTHE SOFTWARE IS PROVIDED \"AS IS\".\n";
const PYPROJECT: &str =
    "[project]\nname = \"shopkit\"\ndescription = \"Counts coins and keeps sales\"\nlicense = \"MIT\"\n";
const CASH: &str =
    "def drawer(coins):\n    \"\"\"Adds the values of all coins.\"\"\"\n    return sum(coins)\n";

/// The folders of the benchmark.
struct Places {
    home: PathBuf,
    repository: PathBuf,
    /// The bare repository of the site that runs change.
    site: PathBuf,
    /// The folder that is checked.
    pages: PathBuf,
}

impl Places {
    fn in_folder(folder: &Path) -> Self {
        let [home, repository, site, pages] =
            ["home", "repository", "site.git", "pages"].map(|name| folder.join(name));
        Self { home, repository, site, pages }
    }

    /// An application that advances up to this many runs at a time on its own.
    fn app(&self, running_max: usize) -> Arc<App> {
        let site = json!({ "name": "docs", "project": PROJECT, "repository": self.site, "base": "main",
            "allowed_paths": ["content/docs"], "forge": "local" });
        let change = |config: &mut Config| {
            config.launch.enabled = true;
            config.launch.running_max = running_max;
            config.launch.sites = vec![serde_json::from_value::<LaunchSite>(site).unwrap()];
            config.indexing.lease_ms = LEASE_MS;
            config.indexing.hnsw_rows_min = u64::MAX;
        };
        let app = corpus::unshared_app(&self.home, change);
        Arc::new(app.with_embedder(Arc::new(StubEmbedder::default())))
    }
}

fn main() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-launch");
    let places = Places::in_folder(&folder);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if std::env::args().any(|argument| argument == SERVER) {
        return runtime.block_on(async {
            let server = places.app(1);
            server.start_background();
            server.shutdown.cancelled().await;
        });
    }
    let files = corpus::files_argument(FILES);
    let _ = fs::remove_dir_all(&folder);
    let texts = corpus::collect(files, HEAD_BYTES, &places.repository);
    write_product(&places.repository);
    write_pages(&places.pages, &texts);
    write_site(&folder, &places.site);
    runtime.block_on(measure(&places, &texts));
    fs::remove_dir_all(&folder).unwrap();
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Adds a product to the files of others, whose documents are not about it.
fn write_product(repository: &Path) {
    for part in fs::read_dir(repository).unwrap().flatten() {
        for file in fs::read_dir(part.path()).unwrap().flatten() {
            if file.path().extension().is_some_and(|extension| extension == "md") {
                fs::remove_file(file.path()).unwrap();
            }
        }
    }
    for (path, text) in [
        ("README.md", README),
        ("LICENSE", MIT),
        ("pyproject.toml", PYPROJECT),
        ("shopkit/__init__.py", ""),
        ("shopkit/cash.py", CASH),
    ] {
        write(repository, path, text);
    }
    commit_all(repository);
}

/// Names of functions in a text.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    let names = text.split("fn ").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        rest.get(..end)
    });
    names.filter(|name| name.len() > 4 && name.contains('_'))
}

/// Writes pages that name code of the repository, show some, link to each other, and each name one function that does not exist.
fn write_pages(folder: &Path, texts: &[String]) {
    let names: Vec<&str> =
        texts.iter().flat_map(|text| functions(text).take(1)).take(PAGES * NAMES).collect();
    for page in 0..PAGES {
        let mut text = format!("# Page {page}\n\nSee [the next page](page_{}.md).\n", (page + 1) % PAGES);
        for name in names.iter().cycle().skip(page * NAMES).take(NAMES) {
            let _ = write!(text, "\nThe function `{name}()` is described here.\n\n```rust\n{name}();\n```\n");
        }
        let _ = write!(text, "\nThe function `vanished_without_trace_{page}()` is not.\n");
        write(folder, &format!("page_{page}.md"), &text);
    }
}

/// Makes the bare repository of a site with pages of other products.
fn write_site(folder: &Path, site: &Path) {
    let source = folder.join("site");
    for page in 0..PAGES {
        let text = format!("# Old {page}\n\nNobody changes this page.\n");
        write(&source, &format!("content/docs/old/page-{page}.md"), &text);
    }
    commit_all(&source);
    git(folder, &["clone", "--quiet", "--bare", source.to_str().unwrap(), site.to_str().unwrap()]);
}

async fn measure(places: &Places, texts: &[String]) {
    let app = places.app(0);
    let index = json!({ "repoPath": places.repository, "project_id": PROJECT });
    let report = corpus::call(&app, "build_index", index.clone()).await;
    println!(
        "{} files, {} chunks; medians of {ROUNDS}:",
        report["report"]["files"], report["report"]["chunks"]
    );

    let search = measure_search(&app, texts).await;
    println!("  search                                  {search:9.1} ms");
    let check = measure_check(&app, places).await / PAGES as f64;
    println!("  check, of {PAGES} pages each               {check:9.1} ms   {:.2} searches", check / search);

    let run = measure_run(&app, places).await;
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        // Another state of the index, and the same commit: the pages have to be validated again.
        fs::write(places.repository.join("scratch.txt"), format!("Round {round}.\n")).unwrap();
        corpus::call(&app, "build_index", index.clone()).await;
        let times = (validate(&app, &run).await, validate(&app, &run).await);
        // The first round warms the caches.
        if round > 0 {
            first.push(times.0);
            again.push(times.1);
        }
    }
    let (first, again) = (median(first), median(again));
    println!("  validation                              {first:9.1} ms");
    println!("  … again without changes                 {again:9.1} ms   {:.3}x", again / first);

    fs::remove_file(places.repository.join("scratch.txt")).unwrap();
    corpus::call(&app, "build_index", index).await;
    measure_recovery(&app, places).await;
    app.store().await.unwrap().database().close().await;
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

async fn measure_search(app: &Arc<App>, texts: &[String]) -> f64 {
    let mut times = Vec::new();
    for (at, query) in corpus::sample_queries(texts, QUERIES).iter().enumerate() {
        let started = Instant::now();
        corpus::call(app, "search", json!({ "query": query, "project_id": PROJECT })).await;
        // The first queries warm the caches.
        if at >= QUERIES / 6 {
            times.push(milliseconds(started));
        }
    }
    median(times)
}

/// The time of a check of all pages.
async fn measure_check(app: &Arc<App>, places: &Places) -> f64 {
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        let request = SiteCheck {
            site: places.pages.clone(),
            project: ProjectId::parse(PROJECT).unwrap(),
            repository: Some("repository".to_owned()),
            profile: Profile::Local,
            coverage: false,
        };
        let started = Instant::now();
        let checked = check_site(app, request, &CancellationToken::new(), &|_| {}).await.unwrap();
        if round > 0 {
            times.push(milliseconds(started));
        }
        let gone =
            checked.report.issues.iter().filter(|issue| issue.message.contains("vanished_without_trace"));
        assert_eq!((checked.pages, gone.count()), (PAGES, PAGES), "{:?}", checked.report.gates);
    }
    median(times)
}

/// The configuration of a run.
fn config(places: &Places) -> Value {
    json!({
        "schema_version": "1.0", "product_slug": "shop", "product_name": "ShopKit",
        "github_repo_url": places.repository, "required_sections": ["docs", "kb", "reference"],
        "site_profile": "docs", "max_fix_attempts": 10,
    })
}

async fn start(app: &Arc<App>, places: &Places) -> String {
    let arguments = json!({ "run_config": config(places), "project_id": PROJECT });
    let started = corpus::call(app, "launch_start_run", arguments).await;
    started["run_id"].as_str().unwrap().to_owned()
}

fn about(run: &str) -> Value {
    json!({ "run_id": run, "project_id": PROJECT })
}

/// Continues a run until people decide, and prints what each of its pages cost the database. Returns its id.
async fn measure_run(app: &Arc<App>, places: &Places) -> String {
    let (statements, before) = (recorder::created(), database_time(app).await);
    let started = Instant::now();
    let run = start(app, places).await;
    let mut state = Value::Null;
    let status = loop {
        let status = corpus::call(app, "launch_resume", about(&run)).await["status"].take();
        if status["state"] == "READY_FOR_PR" || status["state"] == state {
            break status;
        }
        state = status["state"].clone();
    };
    let (seconds, statements) = (started.elapsed().as_secs_f64(), recorder::created() - statements);
    let (busy, transactions) = {
        let after = database_time(app).await;
        (after.0 - before.0, after.1 - before.1)
    };
    assert_eq!(status["failure"], Value::Null, "{status:#}");
    let artifacts = status["artifacts"].as_array().unwrap().iter();
    let drafts = artifacts.filter(|one| one["name"].as_str().unwrap().starts_with("drafts/")).count() as f64;
    println!("  a run of {drafts} pages to {:<20} {seconds:9.1} s", status["state"].as_str().unwrap());
    println!("  … statements, of each page              {:9.1}", statements as f64 / drafts);
    println!("  … transactions, of each page            {:9.1}", transactions as f64 / drafts);
    println!("  … time of the database, of each page    {:9.1} ms", busy / drafts);
    run
}

/// The time that the database has spent on statements so far in milliseconds, and its transactions.
async fn database_time(app: &Arc<App>) -> (f64, i64) {
    tokio::time::sleep(STATISTICS_DELAY).await;
    let mut tx = app.store().await.unwrap().database().begin_read_only(Pool::Search).await.unwrap();
    let text = "SELECT active_time, xact_commit FROM pg_stat_database WHERE datname = current_database()";
    let row = tx.one(sql(text)).await.unwrap();
    let read = (row.try_get("active_time").unwrap(), row.try_get("xact_commit").unwrap());
    tx.commit().await.unwrap();
    read
}

async fn validate(app: &Arc<App>, run: &str) -> f64 {
    let started = Instant::now();
    let answer = corpus::call(app, "launch_validate", about(run)).await;
    let taken = milliseconds(started);
    assert!(answer["validation_report"]["gates"].as_array().unwrap().len() > 10, "{answer:#}");
    taken
}

/// Kills the process that advances a run while another one serves the same home.
async fn measure_recovery(app: &Arc<App>, places: &Places) {
    let (mut taken_over, mut ended) = (Vec::new(), Vec::new());
    while ended.len() < ROUNDS {
        let run = start(app, places).await;
        let victim = Victim::start();
        working_on(app, &run).await;
        let other = places.app(1);
        other.store().await.unwrap();
        other.start_background();
        if let Some(item) = working_on(app, &run).await {
            let killed = victim.kill();
            if let Some(times) = recovery(app, &run, &item, killed).await {
                taken_over.push(times.0);
                ended.push(times.1);
            }
        }
        other.shutdown.cancel();
        other.wait_stopped().await;
        other.store().await.unwrap().database().close().await;
        corpus::call(app, "launch_cancel", about(&run)).await;
    }
    let lease = LEASE_MS as f64 / 1e3;
    let (taken_over, ended) = (median(taken_over), median(ended));
    println!(
        "  after a kill, until taken over          {taken_over:9.1} s    lease {:+.1} s",
        taken_over - lease
    );
    println!("  … until the item is done                {ended:9.1} s    lease {:+.1} s", ended - lease);
}

/// This program as a server, which dies with this value at the latest.
struct Victim(Child);

impl Victim {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(SERVER).stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// Kills it; returns when.
    fn kill(mut self) -> Instant {
        self.0.kill().unwrap();
        let killed = Instant::now();
        self.0.wait().unwrap();
        killed
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn snapshot(app: &Arc<App>, run: &str) -> RunSnapshot {
    let store = app.store().await.unwrap();
    let project = tenancy::require(store, &ProjectId::parse(PROJECT).unwrap()).await.unwrap();
    open_run(store, &project, &RunId::parse(run).unwrap()).await.unwrap().snapshot
}

/// Waits until an item of a run is in progress; `None` if the run rests.
async fn working_on(app: &Arc<App>, run: &str) -> Option<ItemRef> {
    let started = Instant::now();
    loop {
        let snapshot = snapshot(app, run).await;
        if let Some(item) = snapshot.unfinished().into_iter().next() {
            return Some(item);
        }
        if snapshot.report_ok.is_some() || snapshot.state.is_terminal() {
            return None;
        }
        assert!(started.elapsed() < PROGRESS_MAX, "no process advances the run");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The seconds since the kill until another process began the item again, and until that ended it; `None` if it was ended just before
/// the kill.
async fn recovery(app: &Arc<App>, run: &str, item: &ItemRef, killed: Instant) -> Option<(f64, f64)> {
    let mut taken_over = None;
    loop {
        let snapshot = snapshot(app, run).await;
        let (latest, state) = snapshot
            .latest(&item.worker, &item.scope_key)
            .map(|(latest, row)| (latest.attempt, row.state))?;
        let now = killed.elapsed().as_secs_f64();
        match state {
            ItemState::Finished if latest == item.attempt => return None,
            _ if latest > item.attempt => {
                let begun = *taken_over.get_or_insert(now);
                if state == ItemState::Finished {
                    return Some((begun, now));
                }
            }
            _ => {}
        }
        assert!(killed.elapsed() < PROGRESS_MAX, "no process took the run over");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
