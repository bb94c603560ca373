//! Schemathesis reads `GET /openapi.json` and asks what it describes, at and beyond every bound: does the server do what
//! its own document says? `tests/clients/schemathesis.toml` says what is checked.

use platform::process::Output;
use serde_json::json;
use tempfile::TempDir;

use super::setup::{Python, sources};
use super::{Served, key, program, run, said};
use crate::harness::{Repository, http, new_home};

/// The project that generated calls mean when they name none.
const PROJECT: &str = "zero";

/// A server with something to find, which may index nothing more: the generated calls ask for that, too.
struct Subject {
    served: Served,
    home: std::path::PathBuf,
    _nothing_in_it: TempDir,
}

impl Subject {
    fn start(name: &str, flags: &[&str]) -> Self {
        let (home, empty) = (new_home(name), TempDir::new().unwrap());
        let repository = Repository::new(&[("zero.py", "def zero():\n    return 0\n")]);
        let arguments = json!({ "repoPath": repository.root(), "project_id": PROJECT });
        program(&home, &["call", "build_index", "--args", &arguments.to_string()]);
        let roots = format!("indexing.roots=[{:?}]", empty.path());
        let served = Served::start_in(&home, &[&["--set", &roots], flags].concat());
        Self { served, home, _nothing_in_it: empty }
    }
}

fn schemathesis(subject: &Subject, more: &[&str]) -> Output {
    let scratch = TempDir::new().unwrap();
    let mut command = Python::Schemathesis.command();
    command.current_dir(&scratch).args(["-m", "schemathesis.cli", "--config-file"]);
    command.arg(sources().join("schemathesis.toml")).args(["run", &subject.served.at("/openapi.json")]);
    command.args(["--header", &format!("X-PairOfCleats-Project: {PROJECT}")]).args(more);
    run(command)
}

/// How often a tool ended so, as the server counted it.
fn counted(metrics: &str, tool: &str, outcome: &str) -> u64 {
    let line =
        format!("pairofcleats_tool_calls_total{{tool=\"{tool}\",surface=\"http\",outcome=\"{outcome}\"}} ");
    metrics.lines().find_map(|text| text.strip_prefix(&line)?.parse().ok()).unwrap_or(0)
}

#[test]
fn the_server_does_what_its_document_says() {
    let subject = Subject::start("schemathesis", &[]);
    let output = schemathesis(&subject, &[]);
    assert!(output.status.success(), "{}", said(&output));
    // Whether it got beyond the gate, so that answers of successes and of failures were looked at.
    let metrics = metrics(&subject);
    for (tool, outcome) in [
        ("search", "ok"),
        ("search_code", "ok"),
        ("index_status", "ok"),
        ("show_file", "NOT_FOUND"),
        ("search", "NO_INDEX"),
    ] {
        assert!(counted(&metrics, tool, outcome) > 0, "no call of {tool} ended with {outcome}:\n{metrics}");
    }
    for tool in ["build_index", "index_repository"] {
        assert_eq!(counted(&metrics, tool, "ok"), 0, "{tool} indexed the machine:\n{metrics}");
    }
}

#[test]
fn the_server_does_what_its_document_says_for_a_key() {
    let flags = ["--set", "access.required=\"always\"", "--set", "access.calls_per_minute=0"];
    let subject = Subject::start("schemathesis-key", &flags);
    let header = format!("Authorization: Bearer {}", key(&subject.home));
    let output = schemathesis(&subject, &["--header", &header]);
    assert!(output.status.success(), "{}", said(&output));
}

fn metrics(subject: &Subject) -> String {
    let url = subject.served.at("/metrics");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async { http().get(url).send().await.unwrap().text().await.unwrap() })
}
