//! Other processes that use a cluster, controlled over their stdin and stdout.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use store::postgres::embedded::{EmbeddedOptions, ensure_running};

use crate::embedded::cluster::answers_queries;

/// Another process that uses the cluster: this test binary, running only [`user_process`].
pub(crate) struct User {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl User {
    pub(crate) fn spawn(options: &EmbeddedOptions) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "embedded::user::user_process", "--ignored", "--nocapture", "--test-threads=1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let EmbeddedOptions { install, cluster, supervisor, settings, disk_free_bytes_min } = options;
        let options_line = (install, cluster, supervisor, settings, disk_free_bytes_min);
        writeln!(input, "{}", serde_json::to_string(&options_line).unwrap()).unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input: Some(input), output }
    }

    /// Waits for the next answer; skips the output of the test harness.
    pub(crate) fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the other process ended");
            if let Some(answer) = line.trim().strip_prefix("user: ") {
                return answer.to_owned();
            }
        }
    }

    pub(crate) fn send(&mut self, command: &str) -> String {
        writeln!(self.input.as_mut().unwrap(), "{command}").unwrap();
        self.answer()
    }

    pub(crate) fn leave(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
#[ignore = "started by other tests as their second process"]
fn user_process() {
    let mut lines = std::io::stdin().lines();
    // Run without a parent process (by hand or with all ignored tests), stdin is empty and there is nothing to do.
    let Some(Ok(options_line)) = lines.next() else { return };
    let (install, cluster, supervisor, settings, disk_free_bytes_min) =
        serde_json::from_str(&options_line).unwrap();
    let options = EmbeddedOptions { install, cluster, supervisor, settings, disk_free_bytes_min };
    let started = Instant::now();
    let server = ensure_running(&options).unwrap();
    println!("\nuser: up in {:?}", started.elapsed());
    for line in lines {
        match line.unwrap().as_str() {
            "works?" => println!("user: {}", answers_queries(&server)),
            other => panic!("unknown command {other}"),
        }
    }
}
