//! A machine of its own: a home with the configuration of agents, and the program started in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use surfaces::cli::clients::{CLIENTS, Client};

use crate::harness::PROGRAM;

/// The configuration files of agents: agent, path in the home on Linux, text.
pub(super) const CONFIGURATIONS: &[(&str, &str, &str)] = &[
    ("claude-code", ".claude.json", include_str!("files/claude.json")),
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        include_str!("files/claude_desktop_config.json"),
    ),
    ("vscode", ".config/Code/User/mcp.json", include_str!("files/vscode_mcp.json")),
    ("cursor", ".cursor/mcp.json", include_str!("files/cursor_mcp.json")),
    ("codex", ".codex/config.toml", include_str!("files/codex.toml")),
    ("gemini", ".gemini/settings.json", include_str!("files/gemini_settings.json")),
    ("zed", ".config/zed/settings.json", include_str!("files/zed_settings.json")),
    ("windsurf", ".codeium/windsurf/mcp_config.json", include_str!("files/windsurf_mcp.json")),
    ("opencode", ".config/opencode/opencode.jsonc", include_str!("files/opencode.jsonc")),
    ("amp", ".config/amp/settings.json", include_str!("files/amp_settings.json")),
    ("continue", ".continue/config.yaml", include_str!("files/continue.yaml")),
    ("goose", ".config/goose/config.yaml", include_str!("files/goose.yaml")),
    ("copilot", ".copilot/mcp-config.json", include_str!("files/copilot_mcp.json")),
    ("junie", ".junie/mcp/mcp.json", include_str!("files/junie_mcp.json")),
];

/// Files of instructions that people have.
pub(super) const INSTRUCTIONS: &[&str] =
    &[".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md", ".config/goose/.goosehints"];

/// The agents that `install` knows.
pub(super) fn agents() -> impl Iterator<Item = &'static Client> {
    CLIENTS.iter().filter(|client| client.install.is_some())
}

/// A home, and the data directory of the program outside of it.
pub(super) struct Machine {
    folder: tempfile::TempDir,
}

/// Output of the program.
#[derive(Debug)]
pub(super) struct Printed {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Machine {
    /// A machine without agents.
    pub(super) fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(machine.home()).unwrap();
        machine
    }

    /// A machine with the configuration of every agent.
    pub(super) fn with_agents() -> Self {
        let machine = Self::new();
        for (_, path, text) in CONFIGURATIONS {
            machine.write(path, text);
        }
        for path in INSTRUCTIONS {
            machine.write(path, include_str!("files/instructions.md"));
        }
        machine
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The data directory of the program.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.home().join(path)
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Every file and folder of the home, with its bytes; a link with its target.
    pub(super) fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut tree = BTreeMap::new();
        let mut open = vec![self.home()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let found = path.symlink_metadata().unwrap();
                let bytes = if found.is_symlink() {
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                } else if found.is_dir() {
                    open.push(path.clone());
                    Vec::new()
                } else {
                    fs::read(&path).unwrap()
                };
                tree.insert(path, bytes);
            }
        }
        tree
    }

    /// The program with these arguments, in the home, with nothing else in its environment.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).env_clear().env("HOME", self.home()).env("PAIROFCLEATS_HOME", self.data());
        command.current_dir(self.home()).stdin(Stdio::null());
        command
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Printed {
        printed(&mut self.command(arguments))
    }

    /// Runs a command that must succeed, with `--json`; returns its result.
    pub(super) fn result(&self, arguments: &[&str]) -> Value {
        let printed = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(printed.code, 0, "{arguments:?}: {printed:?}");
        serde_json::from_str::<Value>(&printed.stdout).unwrap()["result"].take()
    }

    /// Returns what happened to each file, by its path in the home.
    pub(super) fn changes(&self, result: &Value) -> BTreeMap<String, String> {
        let files = result["files"].as_array().unwrap().iter().map(|file| {
            let path = Path::new(file["file"].as_str().unwrap());
            let path = path.strip_prefix(self.home()).unwrap_or(path);
            (path.display().to_string(), file["change"].as_str().unwrap().to_owned())
        });
        files.collect()
    }
}

pub(super) fn printed(command: &mut Command) -> Printed {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Printed {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}
