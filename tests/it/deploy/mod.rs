//! Deployments of a team: the files of `deploy/`, the image and the compose file; and the promises of the operations guide.

mod backup;
mod compose;
mod files;
mod monitoring;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::PROGRAM;

/// Reads a file of the repository.
fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("not a list: {list}"));
    list.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

/// Checks that the program knows these arguments. They end with `--help`, so the command does not run, and missing or conflicting
/// arguments are not noticed.
fn assert_accepted(arguments: &[String]) {
    let output = Command::new(PROGRAM).args(arguments).arg("--help").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Folder of `psql`, `pg_dump`, `postgres` and the other Postgres programs.
fn postgres_programs() -> PathBuf {
    use contract::config::Variant;
    use upkeep::install::{AssetSelection, install_for_tests};
    let selection = AssetSelection { postgres: true, embedding: true };
    install_for_tests(selection, Variant::Auto)
        .expect("runtime assets for the tests")
        .postgres
        .unwrap()
        .join("bin")
}
