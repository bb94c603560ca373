//! The official Inspector's command line: are the schemas of our tools portable, and do its calls work?

use std::process::Command;

use serde_json::Value;

use super::setup::node_program;
use super::{Served, run, said, stdio_server};

const PROGRAM: &str = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

/// What the Inspector says with its exit code.
const OK: i32 = 0;
const PROTOCOL_ERROR: i32 = 1;
const TOOL_ERROR: i32 = 5;

/// A call of the Inspector, which keeps its own files in `home`.
fn inspector(home: &tempfile::TempDir, arguments: &[&str], server: &[String]) -> Command {
    let mut command = node_program(PROGRAM);
    command.env("HOME", home.path()).arg("--cli").args(["--format", "json", "--quiet"]).args(arguments);
    match server {
        [url] => command.arg(url).args(["--transport", "http"]),
        program => command.arg("--").args(program),
    };
    command
}

fn over_both_transports(check: impl Fn(&tempfile::TempDir, &[String])) {
    let (home, served) = (tempfile::tempdir().unwrap(), Served::start(&[]));
    check(&home, &stdio_server());
    check(&home, &[served.at("/mcp")]);
}

#[test]
fn schemas_are_portable() {
    over_both_transports(|home, server| {
        let file = home.path().join("tools.json");
        let arguments = ["--method", "tools/list", "--strict", "--output", &file.to_string_lossy()];
        let output = run(inspector(home, &arguments, server));
        assert_eq!(output.status.code(), Some(OK), "{server:?}: {}", said(&output));
        let listed: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(listed["tools"].as_array().unwrap().len(), pairofcleats::tools::LIST.len());
    });
}

#[test]
fn calls_end_as_they_should() {
    over_both_transports(|home, server| {
        for (tool, arguments, code) in [
            ("check_status", "{}", OK),
            ("check_status", r#"{"nonsense":1}"#, PROTOCOL_ERROR),
            ("search", r#"{"query":"x","project_id":"nobody-made-this"}"#, TOOL_ERROR),
        ] {
            let call = ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments];
            let output = run(inspector(home, &call, server));
            assert_eq!(output.status.code(), Some(code), "{server:?} {tool}: {}", said(&output));
        }
    });
}
