//! The `git` program, independent of the configuration of the machine.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Settings of every git program.
const SETTINGS: &[(&str, &str)] = &[
    // In containers, folders may belong to a user other than the one who runs the tests.
    ("safe.directory", "*"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// A git program without arguments, which sees no configuration but that of the repository, and no proxy.
pub(super) fn command(home: &Path) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_of_git = text.starts_with("GIT_") && text != "GIT_EXEC_PATH";
        if is_of_git || text.to_lowercase().ends_with("_proxy") {
            command.env_remove(&name);
        }
    }
    command.env("HOME", home).env("XDG_CONFIG_HOME", home).env("LC_ALL", "C");
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ATTR_NOSYSTEM", "1");
    command.env("GIT_TERMINAL_PROMPT", "0").env_remove("SSH_ASKPASS");
    command.env("GIT_CONFIG_COUNT", SETTINGS.len().to_string());
    for (at, (key, value)) in SETTINGS.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{at}"), key).env(format!("GIT_CONFIG_VALUE_{at}"), value);
    }
    command
}

/// Runs git in a folder. Returns what it prints, trimmed, or what it says when it fails.
pub(super) fn run(home: &Path, folder: &Path, arguments: &[&str], input: &[u8]) -> Result<String, String> {
    let mut command = command(home);
    command.current_dir(folder).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("these tests need the `git` program on the PATH");
    let written = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    if !output.status.success() {
        return Err(format!("git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    written.unwrap();
    Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}
