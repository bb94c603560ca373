//! Runs the official MCP Inspector's command line: it must accept the schemas of our tools, and its calls must end with the
//! expected exit codes.

use std::process::Command;

use serde_json::Value;

use super::setup::node_program;
use super::{ServerProcess, describe_output, run, stdio_server_command};

const INSPECTOR_PROGRAM: &str = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

/// Exit codes of the Inspector.
const OK: i32 = 0;
const PROTOCOL_ERROR: i32 = 1;
const TOOL_ERROR: i32 = 5;

/// An Inspector command. The Inspector keeps its own files in `home`.
fn inspector(home: &tempfile::TempDir, arguments: &[&str], server: &[String]) -> Command {
    let mut command = node_program(INSPECTOR_PROGRAM);
    command.env("HOME", home.path()).arg("--cli").args(["--format", "json", "--quiet"]).args(arguments);
    match server {
        [url] => command.arg(url).args(["--transport", "http"]),
        program => command.arg("--").args(program),
    };
    command
}

fn over_both_transports(check: impl Fn(&tempfile::TempDir, &[String])) {
    let (home, server) = (tempfile::tempdir().unwrap(), ServerProcess::start(&[]));
    check(&home, &stdio_server_command());
    check(&home, &[server.url_of("/mcp")]);
}

#[test]
fn the_inspector_accepts_every_tool_schema() {
    over_both_transports(|home, server| {
        let file = home.path().join("tools.json");
        let arguments = ["--method", "tools/list", "--strict", "--output", &file.to_string_lossy()];
        let output = run(inspector(home, &arguments, server));
        assert_eq!(output.status.code(), Some(OK), "{server:?}: {}", describe_output(&output));
        let listed: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(listed["tools"].as_array().unwrap().len(), crate::serving::listed_by_default().len());
    });
}

#[test]
fn calls_of_the_inspector_end_with_the_expected_exit_code() {
    over_both_transports(|home, server| {
        for (tool, arguments, code) in [
            ("check_status", "{}", OK),
            ("check_status", r#"{"nonsense":1}"#, PROTOCOL_ERROR),
            ("search", r#"{"query":"x","project_id":"never-indexed"}"#, TOOL_ERROR),
        ] {
            let call = ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments];
            let output = run(inspector(home, &call, server));
            assert_eq!(output.status.code(), Some(code), "{server:?} {tool}: {}", describe_output(&output));
        }
    });
}
