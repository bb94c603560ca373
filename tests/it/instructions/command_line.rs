//! `pairofcleats instructions`: folders, checks and the files of agents, with the real program.

mod agents;
mod checks;
mod examples;
mod failures;
mod folders;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use serde_json::Value;

use crate::harness::{PROGRAM, Repository, home};

/// Output of a command.
struct Printed {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Printed {
    /// The envelopes, one a line.
    fn envelopes(&self) -> Vec<Value> {
        let parse =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}\n{}", self.stderr));
        self.stdout.lines().map(parse).collect()
    }

    /// The result of the only envelope.
    fn result(&self) -> Value {
        let envelopes = self.envelopes();
        assert_eq!(envelopes.len(), 1, "{} {}", self.stdout, self.stderr);
        envelopes[0]["result"].clone()
    }

    fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// The command `pairofcleats instructions`, whose operator allows writes.
fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .env("PAIROFCLEATS_HOME", home())
        .env("MCP_ENABLE_MUTATION", "1")
        .env("PAIROFCLEATS_INSTRUCTIONS__SEMANTIC", "false")
        .env_remove("DATABASE_URL");
    command
}

fn printed(mut command: Command, stdin: &str) -> Printed {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that does not read its input may end before.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Printed {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn run(project: &str, arguments: &[&str]) -> Printed {
    let arguments = [&["instructions"], arguments, &["--project", project]].concat();
    printed(program(&arguments), "")
}

/// Runs a command with `--json` that must succeed, and returns its only result.
fn json_of(project: &str, arguments: &[&str]) -> Value {
    let printed = run(project, &[arguments, &["--json"]].concat());
    assert_eq!(printed.code, 0, "{arguments:?}: {} {}", printed.stdout, printed.stderr);
    printed.result()
}

/// A folder of files, and its path as text.
struct Files(Repository);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        Self(Repository::new(files))
    }

    fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    /// Each file with its bytes and the time of its last change.
    fn state(&self) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
        let mut state = BTreeMap::new();
        for entry in fs::read_dir(self.0.path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let changed = path.symlink_metadata().unwrap().modified().unwrap();
            state.insert(name, (fs::read(&path).unwrap_or_default(), changed));
        }
        state
    }

    fn names(&self) -> Vec<String> {
        self.state().into_keys().collect()
    }
}

/// The file of an entry as a person writes it.
fn entry_file(id: &str, requirement: &str, body: &str) -> String {
    format!(
        "---\nid: {id}\ntitle: Title of {id}\npriority: 50\naudience: all\nrequirement: {requirement}\n\
         categories: [Test]\n---\n\n{body}\n"
    )
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect()
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}
