//! Speed and memory of indexing and searching, as ratios within one run.
//!
//! `cargo bench --bench indexing` copies the heads of 10,000 source files of the build's own dependencies into a
//! repository (about 20,000 chunks), indexes it with the real model and the embedded Postgres, and prints: words searchable
//! against vectors complete, unchanged against first run, one edited file, memory, and the latency of
//! warm hybrid questions. `-- --files N` takes another number of files.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that cannot go on stops")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use pairofcleats::app::App;
use pairofcleats::clock::SystemClock;
use pairofcleats::config::{self, Layout, Overrides, Variant};
use pairofcleats::tools::{self, Caller, Request};
use pairofcleats::upkeep::assets::{Wanted, install_for_tests, test_home};
use serde_json::{Value, json};

const FILES: usize = 10_000;
/// How much of a file is copied.
const HEAD_BYTES: usize = 2_500;
const QUESTIONS: usize = 300;

fn main() {
    let files =
        std::env::args().skip_while(|arg| arg != "--files").nth(1).map_or(FILES, |n| n.parse().unwrap());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-indexing");
    let _ = fs::remove_dir_all(&folder);
    let repository = folder.join("repository");
    let texts = collect(files, &repository);
    println!("{} files, {:.1} MB", texts.len(), texts.iter().map(String::len).sum::<usize>() as f64 / 1e6);
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
        let app = app(&folder.join("home"));
        index(&app, &repository).await;
        search(&app, &texts).await;
        app.store().await.unwrap().database().close().await;
    });
    println!("memory      {:>9.0} MB at most", peak_megabytes());
    fs::remove_dir_all(&folder).unwrap();
}

/// The first whole lines of a text.
fn head(text: &str) -> String {
    let mut head = String::new();
    for line in text.lines().take_while(|line| line.len() < HEAD_BYTES) {
        if head.len() + line.len() > HEAD_BYTES {
            break;
        }
        head.push_str(line);
        head.push('\n');
    }
    head
}

/// Copies the heads of source files of dependencies, spread evenly over what is there.
fn collect(count: usize, into: &Path) -> Vec<String> {
    let registry = directories::BaseDirs::new().unwrap().home_dir().join(".cargo/registry/src");
    let mut found = Vec::new();
    let mut open = vec![registry];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs" || e == "md" || e == "c" || e == "h") {
                found.push(path);
            }
        }
    }
    found.sort();
    let step = (found.len() / count).max(1);
    let copy = |(at, path): (usize, PathBuf)| {
        let text = head(&fs::read_to_string(&path).ok()?);
        let target =
            into.join(format!("part_{}", at % 200)).join(format!("{at}_{}", path.file_name()?.to_str()?));
        fs::create_dir_all(target.parent()?).ok()?;
        fs::write(target, &text).ok()?;
        Some(text)
    };
    found.into_iter().step_by(step).take(count).enumerate().filter_map(copy).collect()
}

fn app(home: &Path) -> Arc<App> {
    install_for_tests(Wanted { postgres: true, embedding: true }, Variant::Auto).unwrap();
    fs::create_dir_all(home).unwrap();
    for folder in ["runtime", "models"] {
        std::os::unix::fs::symlink(test_home().home().join(folder), home.join(folder)).unwrap();
    }
    let (config, _) =
        config::load(&Overrides { home: Some(home.to_owned()), ..Overrides::default() }).unwrap();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_pairofcleats"));
    Arc::new(App::new(config, Layout::new(home.to_owned()), Arc::new(SystemClock), program))
}

async fn call(app: &Arc<App>, tool: &str, arguments: Value) -> Value {
    let envelope = tools::call(app, Request::new(tool, arguments, Caller::default())).await.unwrap();
    assert!(envelope.ok, "{:?}", envelope.error);
    envelope.result.unwrap()
}

async fn index(app: &Arc<App>, repository: &Path) {
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

/// Distinct questions from the files' own words: names alone, and names in sentences.
async fn search(app: &Arc<App>, texts: &[String]) {
    let mut times = Vec::new();
    for at in 0..QUESTIONS + 20 {
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
        "search      p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms ({} questions)",
        at(0.5),
        at(0.95),
        at(0.99),
        times.len()
    );
}

/// The most memory this process ever held. Postgres is not in it.
fn peak_megabytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}
