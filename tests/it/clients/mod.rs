//! Clients that others wrote: what works with our own client may still be wrong, so theirs decide.
//!
//! The scripts and the lists of packages stand in `tests/clients/`; [`setup`] installs them once a machine.

mod fixtures;
mod setup;

mod conformance;
mod inspector;
mod schemathesis;
mod sdks;

pub(crate) use setup::{compose_schema, cyclonedx_schemas};

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use platform::process::{Output, Program};
use serde_json::Value;

use crate::harness::{PROGRAM, home};

/// How long one run of a client may take before it and everything it started is ended.
const CLIENT_LIMIT: Duration = Duration::from_secs(400);

/// Runs a client to its end; fails the test when it takes too long.
fn run(command: Command) -> Output {
    let shown = format!("{command:?}");
    Program::from(command).run(CLIENT_LIMIT, &|| false).unwrap_or_else(|fault| panic!("{shown}: {fault}"))
}

/// Both ends of what a client said, for the message of a failed test.
fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}\n{}", output.status, text(&output.stdout), text(&output.stderr))
}

/// The arguments with which a client starts the server on stdio. Clients pass on only a part of the environment.
fn stdio_server() -> Vec<String> {
    [PROGRAM, "--home", &home().to_string_lossy(), "mcp"].map(str::to_owned).to_vec()
}

/// Runs a command of the program and gives the result that it printed.
fn program(home: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).args(["--json", "--home"]).arg(home).env_remove("DATABASE_URL");
    let output = run(command);
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["result"].take()
}

/// A new key that may search every project.
fn key(home: &Path) -> String {
    program(home, &["keys", "create", "--name", "test", "--all-projects"])["key"].as_str().unwrap().to_owned()
}

/// `pairofcleats serve` on a free port over the home that the tests share.
struct Served {
    child: Child,
    url: String,
}

impl Served {
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
        let url = ready["result"]["url"].as_str().unwrap_or_else(|| panic!("it does not serve: {line}"));
        Self { child, url: url.to_owned() }
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
