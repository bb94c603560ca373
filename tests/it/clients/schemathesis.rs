//! Schemathesis reads `GET /openapi.json` and generates requests at and beyond every bound: the server must do what its
//! own document says. `tests/clients/schemathesis.toml` configures the checks.

use platform::process::ProgramOutput as Output;
use serde_json::json;
use tempfile::TempDir;

use super::setup::{PythonClient, client_sources};
use super::{ServerProcess, create_key, describe_output, run, run_program};
use crate::harness::{Repository, http, new_home};

/// The project of generated calls that name none.
const PROJECT: &str = "zero";

/// A server that has indexed one file and may index no other folder: generated calls also try to index.
struct ServerUnderTest {
    process: ServerProcess,
    home: std::path::PathBuf,
    _allowed_root: TempDir,
}

impl ServerUnderTest {
    fn start(name: &str, flags: &[&str]) -> Self {
        let (home, allowed_root) = (new_home(name), TempDir::new().unwrap());
        let repository = Repository::new(&[("zero.py", "def zero():\n    return 0\n")]);
        let arguments = json!({ "repoPath": repository.root(), "project_id": PROJECT });
        run_program(&home, &["call", "build_index", "--args", &arguments.to_string()]);
        let roots = format!("indexing.roots=[{:?}]", allowed_root.path());
        // On a busy machine, calls take longer than people would wait.
        let patience = ["--set", "timeouts.search_ms=100000", "--set", "queue.search_wait_ms=60000"];
        let process = ServerProcess::start_in(&home, &[&["--set", &roots], &patience[..], flags].concat());
        Self { process, home, _allowed_root: allowed_root }
    }
}

fn schemathesis(server: &ServerUnderTest, flags: &[&str]) -> Output {
    let scratch = TempDir::new().unwrap();
    let mut command = PythonClient::Schemathesis.command();
    command.current_dir(&scratch).args(["-m", "schemathesis.cli", "--config-file"]);
    command
        .arg(client_sources().join("schemathesis.toml"))
        .args(["run", &server.process.url_of("/openapi.json")]);
    command.args(["--header", &format!("X-PairOfCleats-Project: {PROJECT}")]).args(flags);
    run(command)
}

/// Returns the number of calls of a tool that ended with this outcome, by the server's own metrics.
fn call_count(metrics: &str, tool: &str, outcome: &str) -> u64 {
    let line =
        format!("pairofcleats_tool_calls_total{{tool=\"{tool}\",surface=\"http\",outcome=\"{outcome}\"}} ");
    metrics.lines().find_map(|text| text.strip_prefix(&line)?.parse().ok()).unwrap_or(0)
}

#[test]
fn the_server_conforms_to_its_openapi_document() {
    let server = ServerUnderTest::start("schemathesis", &[]);
    let output = schemathesis(&server, &[]);
    assert!(output.status.success(), "{}", describe_output(&output));
    // Checks that calls passed admission, so that both results and errors of tools were validated.
    let metrics = metrics(&server);
    for (tool, outcome) in [
        ("search", "ok"),
        ("search_code", "ok"),
        ("index_status", "ok"),
        ("show_file", "NOT_FOUND"),
        ("search", "NO_INDEX"),
    ] {
        assert!(
            call_count(&metrics, tool, outcome) > 0,
            "no call of {tool} ended with {outcome}:\n{metrics}"
        );
    }
    for tool in ["build_index", "index_repository"] {
        assert_eq!(call_count(&metrics, tool, "ok"), 0, "{tool} indexed another folder:\n{metrics}");
    }
}

#[test]
fn the_server_conforms_to_its_openapi_document_for_a_key() {
    let flags = ["--set", "access.required=\"always\"", "--set", "access.calls_per_minute=0"];
    let server = ServerUnderTest::start("schemathesis-key", &flags);
    let header = format!("Authorization: Bearer {}", create_key(&server.home));
    let output = schemathesis(&server, &["--header", &header]);
    assert!(output.status.success(), "{}", describe_output(&output));
}

fn metrics(server: &ServerUnderTest) -> String {
    let url = server.process.url_of("/metrics");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async { http().get(url).send().await.unwrap().text().await.unwrap() })
}
