//! Shared by the benchmarks: a corpus of real files, an application, a tool call, git, and the median.
#![expect(clippy::unwrap_used, reason = "a benchmark stops at the first error")]
#![allow(dead_code, clippy::allow_attributes, reason = "each benchmark uses only some of it")]

#[path = "../../src/modules.rs"]
mod modules;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use contract::clock::SystemClock;
use contract::config::{self, Config, Layout, Overrides, Variant};
use gate::app::App;
use gate::tools::{self, Caller, Request, Surface};
use serde_json::Value;
use upkeep::install::{AssetSelection, install_for_tests, test_home};

pub(crate) use modules::MODULES;

/// The value of `--files`: how many files are copied.
pub(crate) fn files_argument(default: usize) -> usize {
    std::env::args().skip_while(|arg| arg != "--files").nth(1).map_or(default, |n| n.parse().unwrap())
}

/// The first lines of a text, `bytes_max` bytes at most.
fn head(text: &str, bytes_max: usize) -> String {
    let mut head = String::new();
    for line in text.lines().take_while(|line| line.len() < bytes_max) {
        if head.len() + line.len() > bytes_max {
            break;
        }
        head.push_str(line);
        head.push('\n');
    }
    head
}

/// Copies the first lines, at most `bytes_max` bytes, of up to `count` evenly selected source files of the build's dependencies
/// below `into`. Returns the copied texts.
pub(crate) fn collect(count: usize, bytes_max: usize, into: &Path) -> Vec<String> {
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
        let text = head(&fs::read_to_string(&path).ok()?, bytes_max);
        let target =
            into.join(format!("part_{}", at % 200)).join(format!("{at}_{}", path.file_name()?.to_str()?));
        fs::create_dir_all(target.parent()?).ok()?;
        fs::write(target, &text).ok()?;
        Some(text)
    };
    found.into_iter().step_by(step).take(count).enumerate().filter_map(copy).collect()
}

/// Queries of three neighbouring words of the corpus, so that every query finds something; at most `count`.
pub(crate) fn sample_queries(texts: &[String], count: usize) -> Vec<String> {
    let words = |text: &String| {
        let words: Vec<&str> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 4).collect();
        let middle = words.len() / 2;
        words.get(middle..middle + 3).map(|three| three.join(" "))
    };
    texts.iter().filter_map(words).take(count).collect()
}

/// An application with the home directory `home` and the assets that are installed on the machine.
pub(crate) fn app(home: &Path, change: impl FnOnce(&mut Config)) -> Arc<App> {
    Arc::new(unshared_app(home, change))
}

/// The same application, not yet shared.
pub(crate) fn unshared_app(home: &Path, change: impl FnOnce(&mut Config)) -> App {
    install_for_tests(AssetSelection { postgres: true, embedding: true }, Variant::Auto).unwrap();
    fs::create_dir_all(home).unwrap();
    for folder in ["runtime", "models"] {
        // The link exists if another application has the same home.
        let _ = std::os::unix::fs::symlink(test_home().home().join(folder), home.join(folder));
    }
    let (mut config, _) =
        config::load(&Overrides { home: Some(home.to_owned()), ..Overrides::default() }).unwrap();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_pairofcleats"));
    change(&mut config);
    App::new(config, Layout::new(home.to_owned()), Arc::new(SystemClock), program, MODULES.gate())
}

/// Calls a tool that must succeed.
pub(crate) async fn call(app: &Arc<App>, tool: &str, arguments: Value) -> Value {
    let envelope =
        tools::call(app, Request::new(tool, arguments, Caller::local(Surface::Cli))).await.unwrap();
    assert!(envelope.ok, "{:?}", envelope.error);
    envelope.result.unwrap()
}

/// Runs git in a directory; it must succeed.
pub(crate) fn git(directory: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(directory).args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(arguments);
    assert!(git.status().unwrap().success(), "git {arguments:?}");
}

/// Makes a git repository of a directory, with one commit of all its files.
pub(crate) fn commit_all(repository: &Path) {
    git(repository, &["init", "--quiet", "--initial-branch=main"]);
    git(repository, &["add", "--all"]);
    git(repository, &["commit", "--quiet", "-m", "All"]);
}

/// The median of an odd number of values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The peak memory of this process in MB, without Postgres.
pub(crate) fn peak_megabytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}
