//! Tests with independent clients: a server that works with our own client may still violate the protocol.
//!
//! The scripts and the lists of packages are in `tests/clients/`; [`setup`] installs the packages once per machine.

mod fixtures;
mod setup;

mod conformance;
mod inspector;
mod schemathesis;
mod sdks;

pub(crate) use setup::{
    agent_packages, client_sources, compose_schema, cyclonedx_schemas, node, npm_packages, package_set,
};

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use platform::process::{Program, ProgramOutput as Output};
use serde_json::Value;

use crate::harness::{PROGRAM, home};

/// Timeout of one client run; afterwards the client and all processes that it started are killed.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(1200);

/// Runs a client until it exits. Panics when it times out.
fn run(command: Command) -> Output {
    let command_line = format!("{command:?}");
    Program::from(command)
        .run(CLIENT_TIMEOUT, &|| false)
        .unwrap_or_else(|fault| panic!("{command_line}: {fault}"))
}

/// Exit status, stdout and stderr, for assertion messages.
fn describe_output(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}\n{}", output.status, text(&output.stdout), text(&output.stderr))
}

/// The command line with which a client starts the server on stdio. The home is an argument because clients pass on only
/// part of the environment.
fn stdio_server_command() -> Vec<String> {
    [PROGRAM, "--home", &home().to_string_lossy(), "mcp"].map(str::to_owned).to_vec()
}

/// Runs a command of the program and returns its `result`.
fn run_program(home: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).args(["--json", "--home"]).arg(home).env_remove("DATABASE_URL");
    let output = run(command);
    assert!(output.status.success(), "{}", describe_output(&output));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["result"].take()
}

/// Creates an access key that may search every project.
fn create_key(home: &Path) -> String {
    run_program(home, &["keys", "create", "--name", "test", "--all-projects"])["key"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// `pairofcleats serve` on a free port; killed on drop.
struct ServerProcess {
    child: Child,
    url: String,
}

impl ServerProcess {
    fn start(flags: &[&str]) -> Self {
        Self::start_in(home(), flags)
    }

    fn start_in(home: &Path, flags: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["serve", "--port", "0", "--json"])
            .args(flags)
            .env("PAIROFCLEATS_HOME", home)
            .env_remove("DATABASE_URL")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let url =
            ready["result"]["url"].as_str().unwrap_or_else(|| panic!("the server printed no URL: {line}"));
        Self { child, url: url.to_owned() }
    }

    fn url_of(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
