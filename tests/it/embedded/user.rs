//! Other processes that use a cluster.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use store::postgres::embedded::{EmbeddedOptions, ensure_running};

use crate::embedded::cluster::works;

/// Another process that uses the cluster: this test program, running [`a_user`].
pub(crate) struct User {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl User {
    pub(crate) fn spawn(options: &EmbeddedOptions) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "embedded::user::a_user", "--ignored", "--nocapture", "--test-threads=1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let EmbeddedOptions { install, cluster, supervisor, settings, disk_free_bytes_min } = options;
        let order = (install, cluster, supervisor, settings, disk_free_bytes_min);
        writeln!(input, "{}", serde_json::to_string(&order).unwrap()).unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input: Some(input), output }
    }

    /// Waits for the next answer, past what the test harness prints.
    pub(crate) fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the other process ended");
            if let Some(answer) = line.trim().strip_prefix("user: ") {
                return answer.to_owned();
            }
        }
    }

    pub(crate) fn ask(&mut self, question: &str) -> String {
        writeln!(self.input.as_mut().unwrap(), "{question}").unwrap();
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
#[ignore = "the other process of these tests, started by them"]
fn a_user() {
    let mut lines = std::io::stdin().lines();
    // Started by hand (or with all ignored tests), there is nobody to serve.
    let Some(Ok(order)) = lines.next() else { return };
    let (install, cluster, supervisor, settings, disk_free_bytes_min) = serde_json::from_str(&order).unwrap();
    let options = EmbeddedOptions { install, cluster, supervisor, settings, disk_free_bytes_min };
    let begun = Instant::now();
    let server = ensure_running(&options).unwrap();
    println!("\nuser: up in {:?}", begun.elapsed());
    for line in lines {
        match line.unwrap().as_str() {
            "works?" => println!("user: {}", works(&server)),
            "revive" => println!("user: {}", server.revive().is_ok()),
            other => panic!("unknown question {other}"),
        }
    }
}
