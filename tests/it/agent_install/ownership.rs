//! Only what the program wrote is updated and removed; what others wrote, or changed, is theirs.

use std::fs;

use serde_json::json;

use super::machine::{CONFIGURATIONS, Machine};
use super::round_trip::with_comments;

const CURSOR: &str = ".cursor/mcp.json";

fn cursor(machine: &Machine, command: &[&str]) -> super::machine::Printed {
    machine.run(&[command, &["--agent", "cursor"]].concat())
}

#[test]
fn its_own_entries_are_updated_in_place() {
    let machine = Machine::with_agents();
    let before = machine.tree();
    machine.result(&["install", "--yes"]);
    let config = machine.folder().join("own.toml");
    fs::write(&config, "").unwrap();
    let config = config.to_str().unwrap();
    let updated = machine.result(&["install", "--yes", "--config", config]);
    let changes = machine.changes(&updated);
    for (agent, path, _) in CONFIGURATIONS {
        assert_eq!(changes[*path], "modify", "{agent}");
        let text = machine.read(path);
        assert_eq!(text.matches("own.toml").count(), 1, "{agent}: {text}");
        assert_eq!(text.matches("search,index").count(), 1, "{agent} has one entry: {text}");
    }
    machine.result(&["uninstall", "--yes"]);
    assert_eq!(machine.tree(), before, "the old bytes, after an update, too");
}

#[test]
fn a_strangers_entry_is_replaced_only_by_force() {
    let machine = Machine::new();
    let stranger =
        "{\n  \"mcpServers\": {\n    \"pairofcleats\": { \"command\": \"/mine\" } // mine\n  }\n}\n";
    machine.write(CURSOR, stranger);
    let printed = cursor(&machine, &["install", "--yes"]);
    assert_eq!(printed.code, 1, "{printed:?}");
    for part in ["was not written by this program; --force", "write this into the file", "\"--toolsets\""] {
        assert!(printed.stdout.contains(part), "{part}: {printed:?}");
    }
    assert_eq!(machine.read(CURSOR), stranger);
    assert_eq!(cursor(&machine, &["uninstall", "--yes"]).stdout, "Nothing is installed.\n");

    let forced = machine.result(&["install", "--yes", "--force", "--agent", "cursor"]);
    let text = machine.read(CURSOR);
    assert!(!text.contains("/mine") && text.contains("// mine"), "{text}");
    let backup = forced["files"][0]["backup"].as_str().unwrap();
    assert_eq!(fs::read_to_string(backup).unwrap(), stranger);
    assert!(backup.starts_with(machine.data().to_str().unwrap()), "not where agents look: {backup}");
    machine.result(&["uninstall", "--yes"]);
    assert_eq!(with_comments(&machine.read(CURSOR)), json!({ "mcpServers": {} }));
}

/// An entry that somebody pasted is as good as ours, but not ours.
#[test]
fn a_pasted_entry_is_left_alone() {
    let machine = Machine::new();
    let pasted = machine.run(&["mcp-config", "cursor"]).stdout;
    machine.write(CURSOR, &pasted);
    let installed = machine.result(&["install", "--yes", "--agent", "cursor"]);
    assert_eq!(installed["files"][0]["change"], "unchanged", "{installed:#}");
    assert!(installed["files"][0]["note"].as_str().unwrap().contains("not written by this program"));
    machine.result(&["uninstall", "--yes"]);
    assert_eq!(machine.read(CURSOR), pasted);
}

#[test]
fn what_people_changed_stays() {
    let machine = Machine::new();
    let agents = ["--agent", "cursor", "--agent", "claude-code"];
    machine.result(&[&["install", "--yes"][..], &agents].concat());
    // A comment in the entry is a change; another layout of the file is none.
    let plain = machine.read(CURSOR);
    machine.write(CURSOR, plain.replace("\"args\"", "// mine\n\"args\""));
    assert_eq!(cursor(&machine, &["uninstall", "--yes"]).code, 1);
    machine.write(CURSOR, plain.replace([' ', '\n'], ""));
    assert_eq!(cursor(&machine, &["uninstall", "--print"]).code, 0);
    machine.write(CURSOR, &plain);
    let changed = machine.read(CURSOR).replace("search,index", "search");
    machine.write(CURSOR, &changed);
    let section = machine.read(".claude/CLAUDE.md").replace("## Finding code", "## Finding my code");
    machine.write(".claude/CLAUDE.md", &section);
    let skill = format!("{}\nMore.\n", machine.read(".claude/skills/pairofcleats/SKILL.md"));
    machine.write(".claude/skills/pairofcleats/SKILL.md", &skill);

    let config = machine.folder().join("own.toml");
    fs::write(&config, "").unwrap();
    let update = ["install", "--yes", "--config", config.to_str().unwrap()];
    let printed = machine.run(&[&update[..], &agents].concat());
    assert_eq!(printed.code, 1, "{printed:?}");
    assert_eq!(
        printed.stdout.matches("was changed after this program wrote it; --force").count(),
        3,
        "{printed:?}"
    );
    let printed = machine.run(&["uninstall", "--yes"]);
    assert_eq!(printed.code, 1, "{printed:?}");
    assert_eq!(printed.stdout.matches("remove it by hand").count(), 3, "{printed:?}");
    assert_eq!(machine.read(CURSOR), changed);
    assert_eq!(machine.read(".claude/CLAUDE.md"), section);
    assert_eq!(machine.read(".claude/skills/pairofcleats/SKILL.md"), skill);
    assert!(!machine.path(".claude.json").exists(), "what was not changed is removed");
    // Once they are removed by hand, nothing is left to say.
    for path in [CURSOR, ".claude/CLAUDE.md", ".claude/skills/pairofcleats/SKILL.md"] {
        fs::remove_file(machine.path(path)).unwrap();
    }
    assert_eq!(machine.run(&["uninstall", "--yes"]).code, 0);
    assert_eq!(machine.run(&["uninstall", "--yes"]).stdout, "Nothing is installed.\n");
}

#[test]
fn nothing_is_written_before_somebody_agrees() {
    let machine = Machine::with_agents();
    let before = machine.tree();
    for arguments in [&["install"][..], &["install", "--json"]] {
        let printed = machine.run(arguments);
        assert_eq!(printed.code, 2, "{printed:?}");
        assert!(format!("{}{}", printed.stdout, printed.stderr).contains("Add --yes"), "{printed:?}");
        assert!(printed.stdout.contains("+") && printed.stdout.contains("search,index"), "{printed:?}");
    }
    let printed = machine.run(&["install", "--print"]);
    assert_eq!(printed.code, 0, "{printed:?}");
    assert!(printed.stdout.contains("~ Codex: ~/.codex/config.toml (change)"), "{}", printed.stdout);
    assert!(printed.stdout.contains("    +[mcp_servers.pairofcleats]\n"), "{}", printed.stdout);
    assert!(!printed.stdout.contains("Bearer"), "other servers are not printed: {}", printed.stdout);
    let planned = machine.result(&["install", "--print"]);
    assert_eq!((&planned["applied"], &planned["action"]), (&json!(false), &json!("install")));
    assert!(planned["files"][0]["diff"].as_str().unwrap().contains("+"), "{planned:#}");
    assert_eq!(machine.tree(), before);
    assert!(!machine.data().join("agents/installed.json").exists());
    let installed = machine.result(&["install", "--yes"]);
    assert_eq!(installed["applied"], true);
    assert_eq!(machine.run(&["uninstall"]).code, 2);
    assert!(machine.read(".claude.json").contains("pairofcleats"));
}

#[test]
fn mistakes_are_answered_with_what_to_do() {
    let machine = Machine::new();
    let printed = machine.run(&["install", "--yes"]);
    assert_eq!(printed.code, 2, "{printed:?}");
    assert!(
        printed.stderr.contains("No agent was found") && printed.stderr.contains("--agent"),
        "{printed:?}"
    );
    let printed = machine.run(&["install", "--agent", "claud-code"]);
    assert_eq!(printed.code, 2, "{printed:?}");
    assert!(printed.stderr.contains("similar value exists: 'claude-code'"), "{printed:?}");
    assert!(!printed.stderr.contains("generic"), "{printed:?}");
    assert_eq!(machine.run(&["install", "--print", "--yes"]).code, 2);
    machine.result(&["install", "--yes", "--agent", "cursor"]);
    fs::write(machine.data().join("agents/installed.json"), "{").unwrap();
    for command in ["install", "uninstall"] {
        let printed = machine.run(&[command, "--yes", "--agent", "cursor"]);
        assert_eq!(printed.code, 1, "{printed:?}");
        assert!(printed.stderr.contains("installed.json, cannot be used"), "{printed:?}");
    }
    assert!(machine.read(CURSOR).contains("pairofcleats"));
}
