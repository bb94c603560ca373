//! What a team deploys: the files of `deploy/`, the image, the compose file; and what the operations guide promises.

mod backup;
mod compose;
mod files;
mod monitoring;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::PROGRAM;

/// A file of the repository.
fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn words(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("not a list: {list}"));
    list.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// The real program takes these arguments: with `--help` behind them it still finds every flag and value wrong that is.
fn accepted(arguments: &[String]) {
    let output = Command::new(PROGRAM).args(arguments).arg("--help").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The folder of `psql`, `pg_dump`, `postgres` and others.
fn postgres_programs() -> PathBuf {
    use contract::config::Variant;
    use upkeep::assets::{Wanted, install_for_tests};
    let wanted = Wanted { postgres: true, embedding: true };
    install_for_tests(wanted, Variant::Auto)
        .expect("runtime assets for the tests")
        .postgres
        .unwrap()
        .join("bin")
}
