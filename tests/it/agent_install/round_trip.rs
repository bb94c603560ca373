//! Writing into files as people have them keeps every byte of theirs, and removing restores the files.

use std::fs;
use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde_json::{Value, json};

use super::machine::{CONFIGURATIONS, INSTRUCTIONS, Machine, agents};
use crate::harness::PROGRAM;

/// The value of a configuration file.
fn parsed(path: &str, text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    match Path::new(path).extension().unwrap().to_str().unwrap() {
        "toml" => serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap(),
        "yaml" => serde_saphyr::from_str(text).unwrap(),
        _ => with_comments(text),
    }
}

/// The value of JSON with comments.
pub(super) fn with_comments(text: &str) -> Value {
    CstRootNode::parse(text, &ParseOptions::default()).unwrap().to_serde_value().unwrap()
}

/// The command line of our entry, as the agent starts it.
fn command_line(agent: &str, whole: &Value) -> Vec<String> {
    let client = agents().find(|client| client.id == agent).unwrap();
    let servers = client.section.iter().fold(whole, |value, key| &value[*key]);
    let entry = match servers {
        Value::Array(servers) => servers.iter().find(|server| server["name"] == "pairofcleats").unwrap(),
        servers => &servers["pairofcleats"],
    };
    let words = |value: &Value| -> Vec<String> {
        match value {
            Value::Array(words) => words.iter().map(|word| word.as_str().unwrap().to_owned()).collect(),
            word => vec![word.as_str().unwrap().to_owned()],
        }
    };
    let program = if entry["cmd"].is_null() { &entry["command"] } else { &entry["cmd"] };
    let args = if entry["args"].is_null() { Vec::new() } else { words(&entry["args"]) };
    [words(program), args].concat()
}

/// Checks whether `new` is `old` with text inserted in it, apart from commas and the ends of lines and of empty objects.
fn keeps_every_line(old: &str, new: &str) -> bool {
    let mut lines = new.lines().map(|line| line.replace([',', '}'], ""));
    old.lines().map(|line| line.replace([',', '}'], "")).all(|line| lines.any(|other| other.contains(&line)))
}

#[test]
fn every_agent_gets_its_entry_and_loses_nothing() {
    let machine = Machine::with_agents();
    let before = machine.tree();
    let installed = machine.result(&["install", "--yes"]);
    assert_eq!(
        installed["agents"].as_array().unwrap().len(),
        agents().count(),
        "every agent is found: {installed:#}"
    );
    let changes = machine.changes(&installed);
    let data = machine.data().display().to_string();
    for (agent, path, old) in CONFIGURATIONS {
        assert_eq!(changes[*path], "modify", "{agent}");
        let new = machine.read(path);
        let expected = [PROGRAM, "--home", &data, "mcp", "--toolsets", "search,index", "--text", "short"];
        assert_eq!(command_line(agent, &parsed(path, &new)), expected, "{agent}:\n{new}");
        // A file on one line stays that way or not, but keeps its text.
        if old.lines().count() > 1 {
            assert!(keeps_every_line(old, &new), "{agent} lost a line:\n{new}");
        }
        assert_eq!(old.contains("\r\n"), new.contains("\r\n"), "{agent}");
        assert_eq!(new.matches('\n').count(), new.lines().count() - usize::from(!new.ends_with('\n')));
    }
    for path in INSTRUCTIONS {
        let (new, old) = (machine.read(path), include_str!("files/instructions.md"));
        let section = new.strip_prefix(old).unwrap_or_else(|| panic!("{path} keeps its text: {new}"));
        assert!(
            section.starts_with("\n\n<!-- pairofcleats:begin -->\n## Finding code\n"),
            "{path}: {section}"
        );
        assert!(section.ends_with("\n<!-- pairofcleats:end -->\n"), "{path}: {section}");
    }
    let skill = machine.read(".claude/skills/pairofcleats/SKILL.md");
    assert!(skill.starts_with("---\nname: pairofcleats\ndescription: "), "{skill}");

    // Again: nothing changes.
    let once = machine.tree();
    let again = machine.result(&["install", "--yes"]);
    assert!(machine.changes(&again).values().all(|change| change == "unchanged"), "{again:#}");
    assert_eq!(machine.tree(), once);
    let printed = machine.run(&["install"]);
    assert_eq!(printed.code, 0, "there is nothing to confirm: {printed:?}");
    assert!(printed.stdout.contains("already installed"), "{printed:?}");

    machine.result(&["uninstall", "--yes"]);
    let after = machine.tree();
    for (path, bytes) in &before {
        assert_eq!(
            String::from_utf8_lossy(bytes),
            String::from_utf8_lossy(&after[path]),
            "{} has its old bytes",
            path.display()
        );
    }
    assert_eq!(after, before, "and nothing else is left");
    let nothing = machine.run(&["uninstall", "--yes"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, "Nothing is installed.\n"), "{nothing:?}");
}

#[test]
fn files_and_folders_that_were_created_are_removed() {
    let machine = Machine::new();
    let mut command = vec!["install", "--yes"];
    for client in agents() {
        command.extend(["--agent", client.id]);
    }
    let installed = machine.result(&command);
    assert!(machine.changes(&installed).values().all(|change| change == "create"), "{installed:#}");
    for (path, bytes) in machine.tree() {
        let text = String::from_utf8(bytes).unwrap();
        assert!(path.is_dir() || text.ends_with('\n'), "{} ends with a line end: {text}", path.display());
    }
    for (agent, path, _) in CONFIGURATIONS.iter().filter(|(agent, ..)| *agent != "opencode") {
        assert_eq!(command_line(agent, &parsed(path, &machine.read(path)))[0], PROGRAM, "{agent}");
    }
    // One agent alone takes only its folders with it.
    machine.result(&["uninstall", "--yes", "--agent", "claude-desktop"]);
    assert!(!machine.path(".config/Claude").exists() && machine.path(".config/zed").exists());
    let removed = machine.result(&["uninstall", "--yes"]);
    assert!(machine.changes(&removed).values().all(|change| change == "delete"), "{removed:#}");
    assert_eq!(machine.tree().len(), 0, "{:?}", machine.tree().keys());
}

/// Agents write their files themselves, often in another layout.
#[test]
fn what_others_write_later_stays() {
    let machine = Machine::with_agents();
    machine.result(&["install", "--yes"]);
    for (_, path, _) in CONFIGURATIONS {
        let text = machine.read(path);
        let text = match Path::new(path).extension().unwrap().to_str().unwrap() {
            "toml" => format!("{text}\n[mcp_servers.later]\ncommand = \"later\"   # mine\n"),
            "yaml" => format!("{text}later: true   # mine\n"),
            _ => {
                let mut whole = parsed(path, &text);
                whole["later"] = json!({ "mine": [1, 2] });
                serde_json::to_string_pretty(&whole).unwrap()
            }
        };
        machine.write(path, text);
    }
    machine.write(".claude/CLAUDE.md", format!("{}\n# Later\n", machine.read(".claude/CLAUDE.md")));
    machine.write(".claude/skills/other/SKILL.md", "other");
    machine.result(&["uninstall", "--yes"]);
    for (agent, path, old) in CONFIGURATIONS {
        let text = machine.read(path);
        let mut whole = parsed(path, &text);
        assert!(text.contains("mine"), "{agent}: {text}");
        match *agent {
            "codex" => drop(whole["mcp_servers"].as_object_mut().unwrap().remove("later")),
            _ => drop(whole.as_object_mut().unwrap().shift_remove("later")),
        }
        let mut expected = parsed(path, old);
        if *agent == "gemini" {
            assert!(whole.get("mcpServers").is_none(), "the section was ours: {text}");
        }
        if let Some(servers) = expected.get("context_servers") {
            assert_eq!(servers, &json!({}));
            expected["context_servers"] = json!({});
        }
        assert_eq!(whole, expected, "{agent}: {text}");
    }
    let instructions = machine.read(".claude/CLAUDE.md");
    assert_eq!(instructions, format!("{}\n# Later\n", include_str!("files/instructions.md")));
    assert!(!machine.path(".claude/skills/pairofcleats").exists());
    assert_eq!(machine.read(".claude/skills/other/SKILL.md"), "other");
}

/// Files as the libraries do not expect them: marks, line ends, no line end, nothing at all, comments in odd places.
#[test]
fn odd_files_keep_their_bytes() {
    let files: &[(&str, &str, &str)] = &[
        ("cursor", ".cursor/mcp.json", ""),
        ("cursor", ".cursor/mcp.json", "\n"),
        ("cursor", ".cursor/mcp.json", "{}"),
        ("cursor", ".cursor/mcp.json", "{ }\n"),
        ("cursor", ".cursor/mcp.json", "// only a comment\n{}\n// and one more"),
        ("cursor", ".cursor/mcp.json", "\u{feff}{\r\n\t\"a\": 1\r\n}\r\n"),
        ("cursor", ".cursor/mcp.json", "{\n  \"a\": 1, // one\n  \"b\": [1, 2,], /* two */\n}\n"),
        ("cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": {\n    // nothing yet\n  }\n}\n"),
        ("cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": { \"a\": {} } // a\n  /* b */\n}"),
        ("cursor", ".cursor/mcp.json", "{ \"mcpServers\": { \"a\": { \"command\": \"ü\" }, }, }"),
        ("codex", ".codex/config.toml", ""),
        ("codex", ".codex/config.toml", "# only a comment"),
        ("codex", ".codex/config.toml", "model = \"x\"\r\n\r\n[a]\r\nb = 1 # c\r\n"),
        (
            "codex",
            ".codex/config.toml",
            "mcp_servers = { a = { command = \"b\" } }   # inline\nmodel = \"x\"\n",
        ),
        ("codex", ".codex/config.toml", "mcp_servers.a.command = \"b\" # dotted\n\n[z]\ny = 1"),
        ("codex", ".codex/config.toml", "[mcp_servers]\n# none\n\n[tui]\nx = 1\n"),
        ("goose", ".config/goose/config.yaml", ""),
        ("goose", ".config/goose/config.yaml", "# only a comment\n"),
        ("goose", ".config/goose/config.yaml", "extensions:   # none yet\nGOOSE_MODE: auto\n"),
        ("goose", ".config/goose/config.yaml", "extensions:\n    a:\n        type: builtin\n    # end"),
        ("goose", ".config/goose/config.yaml", "a: |\n  extensions:\n    b: c\nd: &x [1, 2]\ne: *x"),
        ("cursor", ".cursor/mcp.json", "{ \"mcpServers\": [] }"),
        ("cursor", ".cursor/mcp.json", "{ \"a\": [1,],\n  \"mcpServers\": null /* b */\n}\n"),
        ("zed", ".config/zed/settings.json", "{ \"context_servers\": [ ], \"a\": 1 }"),
        ("codex", ".codex/config.toml", "mcp_servers = [] # none\n"),
        ("goose", ".config/goose/config.yaml", "extensions: {}\nGOOSE_MODE: auto\n"),
        ("goose", ".config/goose/config.yaml", "a: 1\nextensions: ~   # none"),
        ("goose", ".config/goose/config.yaml", "extensions: [ ]\n"),
        ("continue", ".continue/config.yaml", "name: x\nmcpServers: []\nb: 1\n"),
        ("continue", ".continue/config.yaml", "name: x\nmcpServers: {}   # none\n"),
        ("continue", ".continue/config.yaml", "name: x\nmcpServers:\n- name: a\n  command: b # c\n"),
        ("continue", ".continue/config.yaml", "name: x\r\nmcpServers:\r\n  - name: a\r\n    command: b\r\n"),
        ("gemini", ".gemini/GEMINI.md", "one\r\ntwo"),
        ("gemini", ".gemini/GEMINI.md", "mixed\r\nends\n\n\n"),
    ];
    for (agent, path, old) in files {
        let machine = Machine::new();
        machine.write(path, old);
        let printed = machine.run(&["install", "--yes", "--agent", agent]);
        assert_eq!(printed.code, 0, "{old:?}: {printed:?}");
        let new = machine.read(path);
        assert!(new.contains("pairofcleats") && new.len() > old.len(), "{old:?}: {new}");
        if !path.ends_with(".md") {
            assert_eq!(command_line(agent, &parsed(path, &new))[0], PROGRAM, "{old:?}: {new}");
        }
        if old.contains("\r\n") && !old.starts_with("mixed") {
            assert_eq!(new.matches('\n').count(), new.matches("\r\n").count(), "{old:?}: {new:?}");
        }
        let printed = machine.run(&["uninstall", "--yes"]);
        assert_eq!(printed.code, 0, "{old:?}: {printed:?}");
        assert_eq!(machine.read(path), *old);
    }
}

#[test]
fn variables_that_move_the_folders_of_agents_are_followed() {
    let machine = Machine::new();
    let moved = machine.folder().join("moved");
    let at = |name: &str| moved.join(name);
    for folder in ["claude", "codex", "xdg/zed", "copilot", "gemini/.gemini"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::write(at("gemini/.gemini/settings.json"), "{}").unwrap();
    let run = |command: &str| {
        let mut command = machine.command(&[command, "--yes", "--json"]);
        command.env("CLAUDE_CONFIG_DIR", at("claude")).env("CODEX_HOME", at("codex"));
        command.env("XDG_CONFIG_HOME", at("xdg")).env("COPILOT_HOME", at("copilot"));
        super::machine::printed(command.env("GEMINI_CLI_HOME", at("gemini")))
    };
    let printed = run("install");
    assert_eq!(printed.code, 0, "{printed:?}");
    for file in [
        "claude/.claude.json",
        "claude/CLAUDE.md",
        "claude/skills/pairofcleats/SKILL.md",
        "codex/config.toml",
        "codex/AGENTS.md",
        "xdg/zed/settings.json",
        "copilot/mcp-config.json",
        "gemini/.gemini/settings.json",
        "gemini/.gemini/GEMINI.md",
    ] {
        assert!(fs::read_to_string(at(file)).is_ok_and(|text| text.contains("pairofcleats")), "{file}");
    }
    assert_eq!(machine.tree().len(), 0, "nothing in the home");
    // Uninstalling follows the record, wherever the variables point now.
    assert_eq!(machine.run(&["uninstall", "--yes"]).code, 0);
    assert!(!at("codex/config.toml").exists() && !at("claude/skills").exists());
    assert_eq!(fs::read_to_string(at("gemini/.gemini/settings.json")).unwrap(), "{}");
}

#[test]
fn a_repository_gets_shared_files_without_paths_of_this_machine() {
    let machine = Machine::new();
    machine.write("shop/.git/HEAD", "ref: refs/heads/main\n");
    machine.write("shop/src/main.rs", "fn main() {}\n");
    machine.write("shop/AGENTS.md", "# Shop\n");
    let run = |arguments: &[&str]| {
        super::machine::printed(machine.command(arguments).current_dir(machine.path("shop/src")))
    };
    let before = machine.tree();
    let agents = ["--agent", "claude-code", "--agent", "cursor", "--agent", "codex"];
    let install = [&["install", "--scope", "project", "--yes"][..], &agents].concat();
    let printed = run(&install);
    assert_eq!(printed.code, 0, "{printed:?}");
    for path in ["shop/.mcp.json", "shop/.cursor/mcp.json", "shop/.codex/config.toml"] {
        let text = machine.read(path);
        assert!(text.contains("\"pairofcleats\"") && !text.contains("--home"), "{path}: {text}");
    }
    let instructions = machine.read("shop/AGENTS.md");
    assert_eq!(instructions.matches("pairofcleats:begin").count(), 1, "agents share it: {instructions}");

    // A text that others still need stays.
    let printed = run(&["uninstall", "--agent", "codex", "--yes"]);
    assert!(printed.stdout.contains("cursor uses it, too"), "{printed:?}");
    assert_eq!(machine.read("shop/AGENTS.md"), instructions);
    assert!(!machine.path("shop/.codex").exists());
    assert_eq!(run(&["uninstall", "--scope", "user", "--yes"]).stdout, "Nothing is installed.\n");
    assert_eq!(run(&["uninstall", "--scope", "project", "--yes"]).code, 0);
    assert_eq!(machine.tree(), before);
}
