//! What pip starts ends with it: on a cancel, at the time limit, and when the program itself ends, even by SIGKILL.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::PROGRAM;

/// A home without assets, and a `python3` that starts a child of its own, which ignores the polite signal.
struct Trap {
    folder: TempDir,
}

impl Trap {
    fn set() -> Self {
        let trap = Self { folder: tempfile::tempdir().unwrap() };
        let script = format!(
            "#!/bin/sh\ntrap '' TERM\nsleep 600 &\necho $! > {0}.new\nmv {0}.new {0}\nwait\n",
            trap.told().display()
        );
        std::fs::write(trap.python(), script).unwrap();
        std::fs::set_permissions(trap.python(), std::fs::Permissions::from_mode(0o755)).unwrap();
        trap
    }

    fn python(&self) -> PathBuf {
        self.folder.path().join("python3")
    }

    /// Where the script writes the number of its child.
    fn told(&self) -> PathBuf {
        self.folder.path().join("grandchild")
    }

    /// The program, with what would run pip, and more arguments.
    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(["--set", &format!("assets.python={:?}", self.python())])
            .args(arguments)
            .env("PAIROFCLEATS_HOME", self.folder.path().join("home"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// The number of the grandchild, once it runs.
    fn sprung(&self) -> Grandchild {
        let told = self.told();
        wait_until("the grandchild to start", || told.exists());
        let number = std::fs::read_to_string(&told).unwrap().trim().parse().unwrap();
        std::fs::remove_file(&told).unwrap();
        let grandchild = Grandchild(number);
        assert!(grandchild.lives());
        grandchild
    }
}

struct Grandchild(i32);

impl Grandchild {
    fn lives(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        // The state follows the name, which stands in brackets; an ended process may not be reaped yet.
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    }

    fn ends(&self, when: &str) {
        wait_until(&format!("the grandchild to end {when}"), || !self.lives());
    }
}

impl Drop for Grandchild {
    fn drop(&mut self) {
        // Only after a failure is there one left.
        if self.lives() {
            let _ = kill_process(Pid::from_raw(self.0).unwrap(), Signal::KILL);
        }
    }
}

fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !reached() {
        assert!(Instant::now() < give_up, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A session on stdin and stdout.
struct Session {
    child: Child,
    input: ChildStdin,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Session {
    fn open(trap: &Trap, flags: &[&str]) -> Self {
        let mut command = trap.program(&[flags, &["mcp"]].concat());
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

    /// Asks for a model, which only pip could bring.
    fn ask(&mut self, id: i64) {
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
fn what_pip_started_ends_with_a_cancelled_call() {
    let trap = Trap::set();
    let mut session = Session::open(&trap, &[]);
    session.ask(2);
    let grandchild = trap.sprung();
    session.send(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 2 } }));
    let answer = session.next();
    let error = &answer["result"]["structuredContent"]["error"];
    assert_eq!((&answer["id"], &error["code"]), (&json!(2), &json!("CANCELLED")), "{answer:#}");
    grandchild.ends("after a cancel");
    session.ask(3);
    let grandchild = trap.sprung();
    session
        .send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } }));
    grandchild.ends("after a cancel without an answer");
}

#[test]
fn what_pip_started_ends_with_every_tool_that_runs_it() {
    for (at, tool) in
        ["download_extensions", "download_dictionaries", "download_models", "bootstrap"].iter().enumerate()
    {
        let trap = Trap::set();
        let mut session = Session::open(&trap, &[]);
        let id = 10 + i64::try_from(at).unwrap();
        let params = json!({ "name": tool, "arguments": {} });
        session.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
        let grandchild = trap.sprung();
        session.send(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } }));
        assert_eq!(session.next()["result"]["structuredContent"]["error"]["code"], "CANCELLED", "{tool}");
        grandchild.ends(&format!("after a cancel of {tool}"));
    }
}

#[test]
fn what_pip_started_ends_at_the_time_limit() {
    let trap = Trap::set();
    let limited = [&["--set", "timeouts.artifacts_ms=4000"][..], DOWNLOAD].concat();
    let child = trap.program(&limited).stdout(Stdio::piped()).spawn().unwrap();
    let grandchild = trap.sprung();
    let answer: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(answer["error"]["code"], "TOOL_TIMEOUT", "{answer:#}");
    assert_eq!(answer["error"]["details"]["timeoutMs"], 4000, "{answer:#}");
    grandchild.ends("after the time limit");
}

#[test]
fn what_pip_started_ends_with_the_program() {
    for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
        let trap = Trap::set();
        let mut child = trap.program(DOWNLOAD).stdout(Stdio::null()).spawn().unwrap();
        let grandchild = trap.sprung();
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
        grandchild.ends(&format!("with a command that got {signal:?}"));
    }
    for signal in [Some(Signal::TERM), Some(Signal::KILL), None] {
        let trap = Trap::set();
        let mut session = Session::open(&trap, &[]);
        session.ask(2);
        let grandchild = trap.sprung();
        match signal {
            Some(signal) => kill_process(Pid::from_child(&session.child), signal).unwrap(),
            // The client goes away.
            None => drop(std::mem::replace(&mut session.input, no_input())),
        }
        grandchild.ends(&format!("with a server that got {signal:?}"));
    }
}

/// The input of a process that ends at once.
fn no_input() -> ChildStdin {
    let mut child = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take().unwrap();
    child.wait().unwrap();
    input
}
