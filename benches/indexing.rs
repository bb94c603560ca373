//! Speed and memory of indexing and searching, as ratios within one run.
//!
//! `cargo bench --bench indexing` copies the beginnings of 10,000 source files of the build's own dependencies into a repository (about
//! 20,000 chunks), indexes it with the real model and the embedded Postgres, and prints: the time until words are searchable and until
//! vectors are complete, the time of a first, an unchanged and an edited run, memory, and the latency of warm hybrid searches. `-- --files
//! N` sets the number of files. `-- --parsing` instead compares how soon words are searchable with files parsed in separate processes and
//! in this process; `-- --address` compares indexing the address of a git repository with cloning it and indexing the clone, and measures a
//! run after one pushed commit; `-- --revisions` compares the rows, vectors and seconds of a repository with those of the same one with 20
//! release branches that each differ from the one before in one file of a hundred, or, with `--of ADDRESS --matching PATTERN`, of another
//! repository with branches and tags of its own.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops at the first error")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use embedding::StubEmbedder;
use engine::indexing::parser::Parsing;
use gate::app::App;
use serde_json::{Value, json};

mod corpus;

use corpus::{app, call, collect, commit_all, files_argument, git, median, peak_megabytes, unshared_app};

const FILES: usize = 10_000;
/// Bytes of a file that are copied at most.
const HEAD_BYTES: usize = 2_500;
const QUERIES: usize = 300;
/// Runs of each kind; an odd number, so that one of them is the median.
const ROUNDS: usize = 5;

fn main() {
    let files = files_argument(FILES);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-indexing");
    let _ = fs::remove_dir_all(&folder);
    let repository = folder.join("repository");
    let texts = collect(files, HEAD_BYTES, &repository);
    println!("{} files, {:.1} MB", texts.len(), texts.iter().map(String::len).sum::<usize>() as f64 / 1e6);
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
        if std::env::args().any(|arg| arg == "--parsing") {
            return measure_parsing(&folder.join("home"), &repository).await;
        }
        if std::env::args().any(|arg| arg == "--address") {
            return measure_address(&folder, &repository).await;
        }
        if std::env::args().any(|arg| arg == "--revisions") {
            let given =
                |flag: &str| std::env::args().skip_while(|arg| arg != flag).nth(1).unwrap_or_default();
            return match (given("--of"), given("--matching")) {
                (of, matching) if !of.is_empty() => measure_revisions(&folder, &of, &matching).await,
                _ => measure_revisions(&folder, &with_releases(&folder, &repository), "release/*").await,
            };
        }
        let app = app(&folder.join("home"), |_| {});
        measure_indexing(&app, &repository).await;
        measure_search(&app, &texts).await;
        app.store().await.unwrap().database().close().await;
    });
    println!("memory      {:>9.0} MB at most", peak_megabytes());
    fs::remove_dir_all(&folder).unwrap();
}

/// Compares the seconds until words are searchable, in turns, so that other load affects both.
async fn measure_parsing(home: &Path, repository: &Path) {
    let stub = || Arc::new(StubEmbedder::default());
    let separate = Arc::new(unshared_app(home, |_| {}).with_embedder(stub()));
    let mut in_process = unshared_app(home, |_| {}).with_embedder(stub());
    in_process.parsing = Parsing::InProcess;
    let both = [("separate", separate), ("in-process", Arc::new(in_process))];
    let mut seconds = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for ((name, app), seconds) in both.iter().zip(&mut seconds) {
            let project = format!("{name}-{round}");
            let answer =
                call(app, "build_index", json!({ "repoPath": repository, "project_id": project })).await;
            seconds.push(answer["report"]["lexicalSeconds"].as_f64().unwrap());
        }
    }
    let [separate, in_process] = seconds.map(median);
    println!(
        "words ready {separate:.2} s parsed in separate processes, {in_process:.2} s in this process: {:.2}x",
        separate / in_process
    );
    both[0].1.store().await.unwrap().database().close().await;
}

/// Compares the seconds until words are searchable, in turns, from the address of a repository and from a clone of it.
async fn measure_address(folder: &Path, repository: &Path) {
    let app = stub_app(folder);
    commit_all(repository);
    let address = publish(folder, repository);
    let words = async |root: &str, project: &str| {
        let started = Instant::now();
        let arguments = json!({ "repoPath": root, "project_id": project, "wait": "words" });
        let answer = call(&app, "build_index", arguments).await;
        let elapsed = started.elapsed().as_secs_f64();
        // The benchmark waits for the end of a run that has little to embed; the time after the words does not count.
        let of_run = |name: &str| answer["report"][name].as_f64().unwrap_or_default();
        let seconds = elapsed - (of_run("seconds") - of_run("lexicalSeconds"));
        // Pending embedding must not disturb the next measurement.
        call(&app, "build_index", json!({ "repoPath": root, "project_id": project })).await;
        seconds
    };
    // So that no first run has to make the tables and load the libraries.
    words(&address, "warm").await;
    let mut seconds = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        fs::remove_dir_all(folder.join("home/mirrors")).unwrap();
        seconds[0].push(words(&address, &format!("address-{round}")).await);
        let (clone, started) = (folder.join(format!("clone-{round}")), Instant::now());
        git(folder, &["clone", "--quiet", &address, clone.to_str().unwrap()]);
        let cloning = started.elapsed().as_secs_f64();
        seconds[1].push(cloning + words(clone.to_str().unwrap(), &format!("clone-{round}")).await);
        let edited = fs::read_dir(repository.join("part_0")).unwrap().flatten().next().unwrap().path();
        fs::write(&edited, format!("{}\n// edit {round}\n", fs::read_to_string(&edited).unwrap())).unwrap();
        git(repository, &["commit", "--quiet", "--all", "-m", "One"]);
        git(repository, &["push", "--quiet", &address, "main"]);
        seconds[2].push(words(&address, "warm").await);
        let [address, clone, pushed] = &seconds;
        println!("round {round}: {:.2} {:.2} {:.2} s", address[round], clone[round], pushed[round]);
    }
    let [address, clone, pushed] = seconds.map(median);
    println!(
        "words ready {address:.2} s from the address, {clone:.2} s from a clone: {:.2}x",
        address / clone
    );
    println!("one pushed  {pushed:.2} s until searchable");
    app.store().await.unwrap().database().close().await;
}

/// Makes a bare clone of a git repository; its address.
fn publish(folder: &Path, repository: &Path) -> String {
    git(folder, &["clone", "--quiet", "--bare", repository.to_str().unwrap(), "host.git"]);
    format!("file://{}", folder.join("host.git").display())
}

/// An application without a model and without approximate search.
fn stub_app(folder: &Path) -> Arc<App> {
    let app = unshared_app(&folder.join("home"), |config| config.indexing.hnsw_rows_min = u64::MAX);
    Arc::new(app.with_embedder(Arc::new(StubEmbedder::default())))
}

/// Release branches of the measured repository.
const RELEASES: usize = 20;
/// Between two releases, one file in this many changes.
const CHANGED_BETWEEN: usize = 100;

/// Queries for a repository with revisions.
const REVISION_QUERIES: &[&str] = &[
    "parse the arguments", "where is the error returned", "read a file", "default value", "new",
    "write to the socket",
];

/// Makes a git repository with release branches; returns its address.
fn with_releases(folder: &Path, repository: &Path) -> String {
    commit_all(repository);
    let mut files: Vec<_> = fs::read_dir(repository)
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name() != ".git" && entry.path().is_dir())
        .flat_map(|part| fs::read_dir(part.path()).unwrap().flatten().map(|file| file.path()))
        .collect();
    files.sort();
    for release in 0..RELEASES {
        git(repository, &["branch", &format!("release/{release}")]);
        for file in files.iter().skip(release).step_by(CHANGED_BETWEEN) {
            let text = fs::read_to_string(file).unwrap();
            fs::write(file, format!("// changed after release {release}\n{text}")).unwrap();
        }
        git(repository, &["commit", "--quiet", "--all", "-m", "Next"]);
    }
    publish(folder, repository)
}

/// Compares a repository with itself and its revisions.
async fn measure_revisions(folder: &Path, address: &str, matching: &str) {
    let app = stub_app(folder);
    let mut reports = Vec::new();
    for (project, revisions) in [("one", json!([])), ("all", json!([matching]))] {
        let arguments = json!({ "repoPath": address, "project_id": project, "revisions": revisions });
        reports.push(call(&app, "build_index", arguments).await["report"].take());
    }
    let (one, all) = (&reports[0], &reports[1]);
    let number = |report: &Value, field: &str| report[field].as_f64().unwrap();
    let revisions = &all["revisions"];
    println!("revisions   {:>9} beside the default branch", revisions["indexed"].as_array().unwrap().len());
    for field in ["files", "chunks"] {
        let ratio = (number(all, field) + number(revisions, field)) / number(one, field);
        println!("{field:<11} {:>9} and {} more: {ratio:.2}x", all[field], revisions[field]);
    }
    let vectors = number(all, "vectorsEmbedded") / number(one, "vectorsEmbedded");
    println!(
        "vectors     {:>9} instead of {}: {vectors:.2}x",
        all["vectorsEmbedded"], one["vectorsEmbedded"]
    );
    let seconds = [number(one, "seconds"), number(all, "seconds")];
    println!("seconds     {:>9.2} instead of {:.2}: {:.2}x", seconds[1], seconds[0], seconds[1] / seconds[0]);
    let first = revisions["indexed"][0]["name"].as_str().unwrap();
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..ROUNDS * 4 {
        for words in REVISION_QUERIES {
            let asked = [
                ("one", (*words).to_owned()),
                ("all", (*words).to_owned()),
                ("all", format!("{words} rev:{first}")),
            ];
            for ((project, query), times) in asked.into_iter().zip(&mut times) {
                let started = Instant::now();
                call(&app, "search", json!({ "query": query, "project_id": project })).await;
                if round > 0 {
                    times.push(started.elapsed().as_secs_f64() * 1e3);
                }
            }
        }
    }
    let [alone, beside, revision] = times.map(median);
    println!(
        "search p50  {alone:.1} ms, {beside:.1} ms beside revisions ({:.2}x), {revision:.1} ms in one of them ({:.2}x)",
        beside / alone,
        revision / alone
    );
    app.store().await.unwrap().database().close().await;
}

async fn measure_indexing(app: &Arc<App>, repository: &Path) {
    let arguments = json!({ "repoPath": repository });
    let run = async |what: &str| -> Value {
        let started = Instant::now();
        let mut answer = call(app, "build_index", arguments.clone()).await;
        println!("{what:<11} {:>9.2} s", started.elapsed().as_secs_f64());
        answer["report"].take()
    };
    let first = run("first run").await;
    let seconds = |report: &Value, field: &str| report[field].as_f64().unwrap();
    println!(
        "            {} files, {} chunks, {} vectors, {:.0} vectors/s",
        first["files"],
        first["chunks"],
        first["vectorsEmbedded"],
        first["vectorsEmbedded"].as_f64().unwrap()
            / (seconds(&first, "seconds") - seconds(&first, "lexicalSeconds"))
    );
    println!("words ready {:>9.2} s", seconds(&first, "lexicalSeconds"));
    let second = run("unchanged").await;
    assert_eq!(second["filesChanged"], 0);
    assert_eq!(second["vectorsEmbedded"], 0);
    let edited = fs::read_dir(repository.join("part_0")).unwrap().flatten().next().unwrap().path();
    fs::write(&edited, format!("{}\n// edited\n", fs::read_to_string(&edited).unwrap())).unwrap();
    let third = run("one edited").await;
    assert_eq!(third["filesChanged"], 1);
    println!(
        "ratios      words {:.1}x sooner than vectors; unchanged {:.0}x faster than the first run",
        seconds(&first, "seconds") / seconds(&first, "lexicalSeconds"),
        seconds(&first, "seconds") / seconds(&second, "seconds")
    );
}

/// Measures distinct queries with words from the files: single names, and names in sentences.
async fn measure_search(app: &Arc<App>, texts: &[String]) {
    let mut times = Vec::new();
    for at in 0..QUERIES + 20 {
        let text = &texts[(at * 7919) % texts.len()];
        let words: Vec<&str> =
            text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| w.len() > 4).collect();
        let word = |n: usize| words.get((at * 31 + n * 17) % words.len().max(1)).copied().unwrap_or("parser");
        let query = match at % 3 {
            0 => word(1).to_owned(),
            1 => format!("how is {} handled when {} fails", word(1), word(2)),
            _ => format!("{} {} {}", word(1), word(2), word(3)),
        };
        let started = Instant::now();
        let answer = call(app, "search", json!({ "query": query })).await;
        if at >= 20 {
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        assert_ne!(answer["vectors"], "none");
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "search      p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms ({} queries)",
        at(0.5),
        at(0.95),
        at(0.99),
        times.len()
    );
}
