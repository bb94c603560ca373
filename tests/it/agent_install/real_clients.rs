//! The agents themselves, as npm packages, list the server that was installed, and start it where their list does.
//!
//! They run without an account and, by their own switches, without the network.

use std::process::Command;
use std::time::Duration;

use platform::process::Program;

use super::machine::Machine;
use crate::clients::agent_packages;

/// Timeout of one agent.
const AGENT_TIMEOUT: Duration = Duration::from_secs(120);

/// Returns the `PATH` on which the agents find Node.js.
#[expect(clippy::disallowed_methods, reason = "an agent is started as from a shell")]
fn program_folders() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// Installs the server for an agent, and returns what the agent prints before, with it, and after it was uninstalled.
fn lists(agent: &str, command: impl Fn() -> Command) -> [String; 3] {
    let machine = Machine::new();
    let list = || {
        let mut command = command();
        command.env_clear().env("HOME", machine.home()).env("NO_COLOR", "1").env("TERM", "dumb");
        command.env("PATH", program_folders());
        for switch in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_AUTOUPDATER",
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS",
            "GEMINI_CLI_TRUST_WORKSPACE",
        ] {
            command.env(switch, "true");
        }
        command.args(["mcp", "list"]).current_dir(machine.home());
        let output = Program::from(command).run(AGENT_TIMEOUT, &|| false).unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let shown = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{agent}: {shown}");
        shown
    };
    // The agent's own first start, so that it edits a file that it has written where it writes one.
    let before = list();
    machine.result(&["install", "--yes", "--agent", agent]);
    let with = list();
    machine.result(&["uninstall", "--yes"]);
    [before, with, list()]
}

fn assert_listed(agent: &str, marks: &[&str], [before, with, after]: &[String; 3]) {
    assert!(!before.contains("pairofcleats"), "{agent}: {before}");
    for mark in marks {
        assert!(with.contains(mark), "{agent} lacks {mark}: {with}");
    }
    assert!(!after.contains("pairofcleats"), "{agent}: {after}");
}

#[test]
fn claude_code_connects_to_the_server() {
    let shown = lists("claude-code", || {
        Command::new(agent_packages().platform("@anthropic-ai/claude-code-{os}-{cpu}/claude"))
    });
    assert_listed("Claude Code", &["pairofcleats", "--toolsets search,index", "Connected"], &shown);
}

#[test]
fn codex_lists_the_server() {
    let shown = lists("codex", || agent_packages().script("@openai/codex/bin/codex.js"));
    assert_listed("Codex", &["pairofcleats", "--toolsets search,index", "enabled"], &shown);
}

#[test]
fn gemini_cli_connects_to_the_server() {
    let shown = lists("gemini", || agent_packages().script("@google/gemini-cli/bundle/gemini.js"));
    assert_listed("Gemini CLI", &["pairofcleats", "--toolsets search,index", "Connected"], &shown);
}

#[test]
fn opencode_connects_to_the_server() {
    let shown =
        lists("opencode", || Command::new(agent_packages().platform("opencode-{os}-{cpu}/bin/opencode")));
    assert_listed("OpenCode", &["pairofcleats", "--toolsets search,index", "connected"], &shown);
}
