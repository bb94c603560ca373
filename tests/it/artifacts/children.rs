//! Processes that pip starts end with it: on cancellation, at the time limit, and when the program itself ends, even by
//! SIGKILL.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::PROGRAM;

/// A home without assets, and a script `python3` that starts a child process. Script and child ignore SIGTERM.
struct FakePython {
    folder: TempDir,
}

impl FakePython {
    fn new() -> Self {
        let fake = Self { folder: tempfile::tempdir().unwrap() };
        let script = format!(
            "#!/bin/sh\ntrap '' TERM\nsleep 600 &\necho $! > {0}.new\nmv {0}.new {0}\nwait\n",
            fake.pid_file().display()
        );
        std::fs::write(fake.python(), script).unwrap();
        std::fs::set_permissions(fake.python(), std::fs::Permissions::from_mode(0o755)).unwrap();
        fake
    }

    fn python(&self) -> PathBuf {
        self.folder.path().join("python3")
    }

    /// The file to which the script writes the process id of its child.
    fn pid_file(&self) -> PathBuf {
        self.folder.path().join("grandchild")
    }

    /// The program with this script as its Python, and with further arguments.
    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(["--set", &format!("assets.python={:?}", self.python())])
            .args(arguments)
            .env("PAIROFCLEATS_HOME", self.folder.path().join("home"))
            // pip is the last resort, so no setting of this machine may name an index.
            .env("PIP_CONFIG_FILE", "/dev/null")
            .env_remove("PIP_INDEX_URL")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Waits until the script has started its child.
    fn wait_for_grandchild(&self) -> Grandchild {
        let file = self.pid_file();
        wait_until("the grandchild to start", || file.exists());
        let pid = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        std::fs::remove_file(&file).unwrap();
        let grandchild = Grandchild(pid);
        assert!(grandchild.is_alive());
        grandchild
    }
}

/// A process started by the script, by its process id.
struct Grandchild(i32);

impl Grandchild {
    fn is_alive(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        // The state follows the name in brackets. A process that has ended may not have been reaped yet.
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    }

    fn assert_ends(&self, when: &str) {
        wait_until(&format!("the grandchild to end {when}"), || !self.is_alive());
    }
}

impl Drop for Grandchild {
    fn drop(&mut self) {
        // It is still alive only if the test has failed.
        if self.is_alive() {
            let _ = kill_process(Pid::from_raw(self.0).unwrap(), Signal::KILL);
        }
    }
}

fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !reached() {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An MCP session over stdin and stdout.
struct Session {
    child: Child,
    input: ChildStdin,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Session {
    fn open(fake_python: &FakePython, flags: &[&str]) -> Self {
        let mut command = fake_python.program(&[flags, &["mcp"]].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut session = Self { input: child.stdin.take().unwrap(), child, lines };
        session.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } }));
        session.next();
        session.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn send(&mut self, message: Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    /// Requests a model, which only pip can download.
    fn request_model(&mut self, id: i64) {
        let params = json!({ "name": "download_models", "arguments": { "model": "all-minilm-l6-v2" } });
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const DOWNLOAD: &[&str] = &["call", "download_models", "--args", r#"{"model":"all-minilm-l6-v2"}"#];

#[test]
fn processes_of_pip_end_with_a_cancelled_call() {
    let fake_python = FakePython::new();
    let mut session = Session::open(&fake_python, &[]);
    session.request_model(2);
    let grandchild = fake_python.wait_for_grandchild();
    session.send(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 2 } }));
    let answer = session.next();
    let error = &answer["result"]["structuredContent"]["error"];
    assert_eq!((&answer["id"], &error["code"]), (&json!(2), &json!("CANCELLED")), "{answer:#}");
    grandchild.assert_ends("after a cancel");
    session.request_model(3);
    let grandchild = fake_python.wait_for_grandchild();
    session
        .send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } }));
    grandchild.assert_ends("after a cancel without an answer");
}

#[test]
fn processes_of_pip_end_with_a_cancelled_call_of_every_tool_that_runs_pip() {
    for (n, tool) in
        ["download_extensions", "download_dictionaries", "download_models", "bootstrap"].iter().enumerate()
    {
        let fake_python = FakePython::new();
        let mut session = Session::open(&fake_python, &[]);
        let id = 10 + i64::try_from(n).unwrap();
        let params = json!({ "name": tool, "arguments": {} });
        session.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
        let grandchild = fake_python.wait_for_grandchild();
        session.send(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } }));
        assert_eq!(session.next()["result"]["structuredContent"]["error"]["code"], "CANCELLED", "{tool}");
        grandchild.assert_ends(&format!("after a cancelled call of {tool}"));
    }
}

#[test]
fn processes_of_pip_end_at_the_time_limit() {
    let fake_python = FakePython::new();
    let limited = [&["--set", "timeouts.artifacts_ms=4000"][..], DOWNLOAD].concat();
    let child = fake_python.program(&limited).stdout(Stdio::piped()).spawn().unwrap();
    let grandchild = fake_python.wait_for_grandchild();
    let answer: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(answer["error"]["code"], "TOOL_TIMEOUT", "{answer:#}");
    assert_eq!(answer["error"]["details"]["timeoutMs"], 4000, "{answer:#}");
    grandchild.assert_ends("after the time limit");
}

#[test]
fn processes_of_pip_end_with_the_program() {
    for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
        let fake_python = FakePython::new();
        let mut child = fake_python.program(DOWNLOAD).stdout(Stdio::null()).spawn().unwrap();
        let grandchild = fake_python.wait_for_grandchild();
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
        grandchild.assert_ends(&format!("with a command that got {signal:?}"));
    }
    for signal in [Some(Signal::TERM), Some(Signal::KILL), None] {
        let fake_python = FakePython::new();
        let mut session = Session::open(&fake_python, &[]);
        session.request_model(2);
        let grandchild = fake_python.wait_for_grandchild();
        match signal {
            Some(signal) => kill_process(Pid::from_child(&session.child), signal).unwrap(),
            // The client closes its end of the pipe.
            None => drop(std::mem::replace(&mut session.input, closed_input())),
        }
        grandchild.assert_ends(&format!("with a server that got {signal:?}"));
    }
}

/// The input of a process that has ended.
fn closed_input() -> ChildStdin {
    let mut child = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take().unwrap();
    child.wait().unwrap();
    input
}
