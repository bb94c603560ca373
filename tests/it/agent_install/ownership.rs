//! Only entries that the program wrote are updated and removed; entries that others wrote or changed are left alone.

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
    assert_eq!(machine.read(CURSOR), stranger);
}

/// Entries of others: agent, file, text. Each holds a word that is not ours.
const STRANGERS: &[(&str, &str, &str)] = &[
    (
        "cursor",
        CURSOR,
        "{\n  \"mcpServers\": { \"pairofcleats\": { \"command\": \"mine\", \"env\": { \"A\": \"b\" }, } } // c\n}\n",
    ),
    (
        "cursor",
        CURSOR,
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"pairofcleats\": { \"url\": \"mine\" }\r\n\t}\r\n}\r\n",
    ),
    (
        "codex",
        ".codex/config.toml",
        "# a\n[mcp_servers.pairofcleats] # b\ncommand = \"mine\"   # c\n\n[tui]\nx = 1\n",
    ),
    ("codex", ".codex/config.toml", "mcp_servers = { pairofcleats = { command = \"mine\" } }\n"),
    (
        "goose",
        ".config/goose/config.yaml",
        "extensions:\n  pairofcleats:\n    cmd: mine   # a\n    type: stdio\nb: 1\n",
    ),
    (
        "continue",
        ".continue/config.yaml",
        "name: x\nmcpServers:\n- name: pairofcleats\n  command: mine # a\n",
    ),
    ("claude-code", ".claude/skills/pairofcleats/SKILL.md", "---\nname: pairofcleats\n---\r\nmine\n\n"),
    (
        "gemini",
        ".gemini/GEMINI.md",
        "# A\n<!-- pairofcleats:begin -->\nmine\n<!-- pairofcleats:end -->  \n\nB\n",
    ),
];

#[test]
fn what_force_replaced_comes_back() {
    for (agent, path, stranger) in STRANGERS {
        let machine = Machine::new();
        machine.write(path, stranger);
        let forced = machine.run(&["install", "--yes", "--force", "--agent", agent]);
        assert_eq!(forced.code, 0, "{forced:?}");
        assert!(!machine.read(path).contains("mine"), "{}", machine.read(path));
        // An update in between loses nothing.
        let config = machine.folder().join("own.toml");
        fs::write(&config, "").unwrap();
        machine.result(&["install", "--yes", "--agent", agent, "--config", config.to_str().unwrap()]);
        let updated = machine.read(path);
        machine.result(&["uninstall", "--yes"]);
        assert_eq!(machine.read(path), *stranger, "{agent}: after {updated}");

        machine.result(&["install", "--yes", "--force", "--agent", agent]);
        if path.ends_with("SKILL.md") {
            continue;
        }
        let text = machine.read(path);
        // Another place of the file changed: the values come back.
        let later = match path.ends_with("json") {
            true => text.replacen('{', "{\"later\": 1,", 1),
            false if path.ends_with("toml") => format!("later = 1\n{text}"),
            false => format!("{text}\nlater: 1\n"),
        };
        machine.write(path, later);
        machine.result(&["uninstall", "--yes"]);
        let restored = machine.read(path);
        for part in ["mine", "later"] {
            assert!(restored.contains(part), "{agent}: {restored}");
        }
        assert!(!restored.contains("search,index"), "{agent}: {restored}");
    }
}

/// Programs that read plain JSON refuse a comma without a value after it.
#[test]
fn no_comma_is_left_over() {
    for (text, section) in [
        ("{\"mcpServers\":{}}", "\"mcpServers\":{"),
        ("{\n  \"mcpServers\": {\n  }\n}\n", "\"mcpServers\": {"),
        ("{}", "\"mcpServers\": {"),
    ] {
        let machine = Machine::new();
        machine.write(CURSOR, text);
        machine.result(&["install", "--yes", "--agent", "cursor"]);
        // This comes before all inserted text, so removing exactly the inserted text would be possible, but wrong.
        let edited = machine.read(CURSOR).replace(section, &format!("{section}\"m\":{{}},"));
        machine.write(CURSOR, edited);
        machine.result(&["uninstall", "--yes"]);
        let left: serde_json::Value = serde_json::from_str(&machine.read(CURSOR))
            .unwrap_or_else(|error| panic!("{error}: {}", machine.read(CURSOR)));
        assert_eq!(left, json!({ "mcpServers": { "m": {} } }));
    }
}

/// The values of others' servers may be tokens, and what is printed is pasted into reports.
#[test]
fn values_of_other_servers_are_not_printed() {
    let files = [
        ("cursor", CURSOR, "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"env\":{\"TOKEN\":\"s3cret\"}}}}"),
        (
            "cursor",
            CURSOR,
            "{\n  \"mcpServers\": {\n    \"a\": { \"env\": { \"TOKEN\": \"s3cret\" } }\n  }\n}\n",
        ),
        ("codex", ".codex/config.toml", "[mcp_servers.a.env]\nTOKEN = \"s3cret\""),
        ("goose", ".config/goose/config.yaml", "extensions:\n  a:\n    envs:\n      TOKEN: s3cret\n"),
        ("continue", ".continue/config.yaml", "name: x\nmcpServers:\n- name: a\n  apiKey: s3cret\n"),
        ("gemini", ".gemini/GEMINI.md", "My token is s3cret."),
    ];
    for (agent, path, text) in files {
        let machine = Machine::new();
        machine.write(path, text);
        let agent = ["--agent", agent];
        for command in [
            &["install", "--print"][..],
            &["install", "--yes"],
            &["uninstall", "--print"],
            &["uninstall", "--yes"],
        ] {
            for format in [&[][..], &["--json"]] {
                let printed = machine.run(&[command, &agent, format].concat());
                assert_eq!(printed.code, 0, "{printed:?}");
                let shown = format!("{}{}", printed.stdout, printed.stderr);
                assert!(!shown.contains("s3cret"), "{command:?}: {shown}");
                if command[1] == "--print" {
                    assert!(shown.contains("pairofcleats"), "our text is shown: {shown}");
                }
            }
        }
        assert_eq!(machine.read(path), text);
    }
}

#[test]
fn what_the_agents_still_lack_is_reported_at_the_end() {
    let machine = Machine::new();
    let install = ["install", "--yes", "--agent", "cursor"];
    let printed = machine.run(&install);
    let bootstrap = format!("pairofcleats bootstrap --home {}", machine.data().display());
    let last = printed.stdout.lines().last().unwrap();
    assert!(last.contains("Not installed yet") && last.contains(&bootstrap), "{printed:?}");
    let with_settings = |arguments: &[&str]| {
        let mut command = machine.command(arguments);
        command
            .env("DATABASE_URL", "postgres://u:s3cret@localhost/x")
            .env("PAIROFCLEATS_SEARCH__TOP_DEFAULT", "5");
        super::machine::printed(&mut command)
    };
    let printed = with_settings(&install);
    let last = printed.stdout.lines().last().unwrap();
    for part in ["DATABASE_URL, PAIROFCLEATS_SEARCH__TOP_DEFAULT", "config.toml"] {
        assert!(last.contains(part), "{part}: {printed:?}");
    }
    assert!(!printed.stdout.contains("s3cret") && !last.contains("PAIROFCLEATS_HOME"), "{printed:?}");
    let shared = with_settings(&["install", "--print", "--scope", "project", "--agent", "cursor"]);
    assert!(
        shared.stdout.contains("PAIROFCLEATS_HOME"),
        "entries of a repository name no data directory: {shared:?}"
    );
}

#[test]
fn a_text_that_several_agents_get_is_shown_once() {
    let machine = Machine::with_agents();
    let printed = machine.run(&["install", "--print"]);
    assert_eq!(printed.stdout.matches("+## Finding code").count(), 1, "{}", printed.stdout);
    assert!(
        printed.stdout.contains("… the same lines as above for ~/.claude/CLAUDE.md"),
        "{}",
        printed.stdout
    );
    let planned = machine.result(&["install", "--print"]).to_string();
    assert!(planned.matches("+## Finding code").count() > 2, "JSON has each file's own");
}

/// A program that `uvx` started lies in a cache that may be pruned.
#[test]
fn a_program_in_a_cache_is_started_by_what_put_it_there() {
    let machine = Machine::new();
    let cached = machine.folder().join("cache/uv/archive-v0/x/bin/pairofcleats");
    fs::create_dir_all(cached.parent().unwrap()).unwrap();
    crate::harness::copy_program(crate::harness::PROGRAM.as_ref(), &cached);
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&cached);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", machine.home())
            .env("PAIROFCLEATS_HOME", machine.data());
        super::machine::printed(command.current_dir(machine.home()))
    };
    let printed = run(&["install", "--yes", "--agent", "cursor"]);
    assert!(printed.stdout.contains("`uvx pairofcleats`"), "{printed:?}");
    let entry = &with_comments(&machine.read(CURSOR))["mcpServers"]["pairofcleats"];
    assert_eq!((&entry["command"], &entry["args"][0]), (&json!("uvx"), &json!("pairofcleats")));
    assert!(printed.stdout.contains("uvx pairofcleats bootstrap"), "{printed:?}");
    let block = run(&["mcp-config", "cursor"]);
    assert_eq!(with_comments(&block.stdout)["mcpServers"]["pairofcleats"], *entry);
    assert!(block.stderr.contains("`uvx pairofcleats`"), "{block:?}");
}

/// An entry that the user pasted works as well as ours, but we do not own it.
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
    // A comment in the entry is a change; another layout of the file is not.
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
    // Once they are removed by hand, there is nothing left to report.
    for path in [CURSOR, ".claude/CLAUDE.md", ".claude/skills/pairofcleats/SKILL.md"] {
        fs::remove_file(machine.path(path)).unwrap();
    }
    assert_eq!(machine.run(&["uninstall", "--yes"]).code, 0);
    assert_eq!(machine.run(&["uninstall", "--yes"]).stdout, "Nothing is installed.\n");
}

#[test]
fn nothing_is_written_before_the_user_agrees() {
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
