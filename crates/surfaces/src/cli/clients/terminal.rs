//! The rows of the client table for terminal agents.

use serde_json::json;

use super::block::{SERVER_NAME, ServerEntry, entry_text, json_block, shell_command, toml_block};
use super::location::{Install, Instructions, Location};
use super::table::PROJECT_AGENTS;
use super::{Client, Format, HttpSupport};

/// The start of the skill's file: its name, and when Claude should read the rest.
const SKILL: &str = "---\nname: pairofcleats\ndescription: Finds code by meaning and by name, and who uses it, with the MCP server \
    pairofcleats. Use it before grep or reading folder by folder.\n---\n\n";

/// Claude Code.
pub(super) const CLAUDE_CODE: Client = Client {
    id: "claude-code",
    name: "Claude Code",
    places: &[
        ("one repository, for you", "a shell in the repository"),
        ("one repository, for the team", "the same, with --scope project after add; writes .mcp.json"),
        ("every repository, for you", "a shell anywhere, with --scope user after add"),
    ],
    format: Format::Sh,
    http_support: HttpSupport::Native,
    key_note: "Claude Code expands `PAIROFCLEATS_KEY` from its environment at each start. The single quotes prevent your shell from \
        expanding it now, which would write the key to the configuration.",
    tools_max: None,
    install: Some(Install {
        signs: &[
            Location::home(".claude").moved_by("CLAUDE_CONFIG_DIR", ""),
            Location::home(".claude.json").moved_by("CLAUDE_CONFIG_DIR", ".claude.json"),
        ],
        programs: &["claude"],
        files: &[Location::home(".claude.json").moved_by("CLAUDE_CONFIG_DIR", ".claude.json")],
        project_files: &[Location::project(".mcp.json")],
        instructions: &[
            Instructions::section(
                Location::home(".claude/CLAUDE.md").moved_by("CLAUDE_CONFIG_DIR", "CLAUDE.md"),
            ),
            Instructions::file(
                Location::home(".claude/skills/pairofcleats/SKILL.md")
                    .moved_by("CLAUDE_CONFIG_DIR", "skills/pairofcleats/SKILL.md"),
                SKILL,
            ),
        ],
        project_instructions: &[
            Instructions::section(Location::project("CLAUDE.md")),
            Instructions::file(Location::project(".claude/skills/pairofcleats/SKILL.md"), SKILL),
        ],
    }),
    section: &["mcpServers"],
    list: false,
    entry: |start| json!({ "type": "stdio", "command": start.command, "args": start.args, "env": {} }),
    command: Some(|start| {
        let words = ["claude", "mcp", "add", "pairofcleats", "--", &start.command];
        shell_command(words.into_iter().chain(start.args.iter().map(String::as_str)))
    }),
    http: |server| {
        // `--header` consumes all words after it, so the name and the URL come first.
        let words = ["claude", "mcp", "add", "--transport", "http", "pairofcleats", &server.url];
        let headers = server.headers("${PAIROFCLEATS_KEY}");
        let lines: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        shell_command(words.into_iter().chain(lines.iter().flat_map(|line| ["--header", line])))
    },
};

/// Codex.
pub(super) const CODEX: Client = Client {
    id: "codex",
    name: "Codex",
    places: &[("every project", "~/.codex/config.toml"), ("one trusted project", ".codex/config.toml")],
    format: Format::Toml,
    http_support: HttpSupport::Native,
    key_note: "Codex reads the key from the environment variable `PAIROFCLEATS_KEY` and rejects a key in the file.",
    tools_max: None,
    install: Some(Install {
        signs: &[Location::home(".codex").moved_by("CODEX_HOME", "")],
        programs: &["codex"],
        files: &[Location::home(".codex/config.toml").moved_by("CODEX_HOME", "config.toml")],
        project_files: &[Location::project(".codex/config.toml")],
        instructions: &[Instructions::section(
            Location::home(".codex/AGENTS.md").moved_by("CODEX_HOME", "AGENTS.md"),
        )],
        project_instructions: PROJECT_AGENTS,
    }),
    section: &["mcp_servers"],
    list: false,
    entry: |start| json!({ "command": start.command, "args": start.args }),
    command: None,
    http: |server| {
        let (url, http_headers) = (Some(server.url.clone()), server.headers.clone());
        let bearer_token_env_var = server.key.then_some("PAIROFCLEATS_KEY");
        toml_block(
            "mcp_servers",
            &ServerEntry { url, bearer_token_env_var, http_headers, ..ServerEntry::default() },
        )
    },
};

/// Gemini CLI.
pub(super) const GEMINI: Client = Client {
    id: "gemini",
    name: "Gemini CLI",
    places: &[("every project", "~/.gemini/settings.json"), ("one project", ".gemini/settings.json")],
    format: Format::Json,
    http_support: HttpSupport::Native,
    key_note: "Gemini CLI expands `PAIROFCLEATS_KEY` from its environment.",
    tools_max: None,
    install: Some(Install {
        signs: &[Location::home(".gemini/settings.json").moved_by("GEMINI_CLI_HOME", ".gemini/settings.json")],
        programs: &["gemini"],
        files: &[Location::home(".gemini/settings.json").moved_by("GEMINI_CLI_HOME", ".gemini/settings.json")],
        project_files: &[Location::project(".gemini/settings.json")],
        instructions: &[Instructions::section(
            Location::home(".gemini/GEMINI.md").moved_by("GEMINI_CLI_HOME", ".gemini/GEMINI.md"),
        )],
        project_instructions: &[Instructions::section(Location::project("GEMINI.md"))],
    }),
    section: &["mcpServers"],
    list: false,
    entry: |start| json!({ "command": start.command, "args": start.args }),
    command: None,
    http: |server| {
        // Older releases read `url` as the SSE transport; `httpUrl` means Streamable HTTP in every release.
        let ServerEntry { url, headers, .. } = ServerEntry::http(server, "${PAIROFCLEATS_KEY}");
        json_block("mcpServers", &ServerEntry { http_url: url, headers, ..ServerEntry::default() })
    },
};

/// OpenCode.
pub(super) const OPENCODE: Client = Client {
    id: "opencode",
    name: "OpenCode",
    places: &[("every project", "~/.config/opencode/opencode.json"), ("one project", "opencode.json")],
    format: Format::Json,
    http_support: HttpSupport::Native,
    key_note: "OpenCode expands `PAIROFCLEATS_KEY` from its environment.",
    tools_max: None,
    install: Some(Install {
        signs: &[Location::config("opencode").moved_by("OPENCODE_CONFIG_DIR", "")],
        programs: &["opencode"],
        files: &[
            Location::config("opencode/opencode.json").moved_by("OPENCODE_CONFIG_DIR", "opencode.json"),
            Location::config("opencode/opencode.jsonc").moved_by("OPENCODE_CONFIG_DIR", "opencode.jsonc"),
        ],
        project_files: &[Location::project("opencode.json"), Location::project("opencode.jsonc")],
        instructions: &[Instructions::section(Location::config("opencode/AGENTS.md"))],
        project_instructions: PROJECT_AGENTS,
    }),
    section: &["mcp"],
    list: false,
    entry: |start| {
        let command: Vec<&String> = std::iter::once(&start.command).chain(&start.args).collect();
        json!({ "type": "local", "command": command, "enabled": true })
    },
    command: None,
    http: |server| {
        let headers = server.headers("{env:PAIROFCLEATS_KEY}");
        let entry = json!({ "type": "remote", "url": server.url, "headers": headers, "enabled": true });
        entry_text(Format::Json, &["mcp"], false, &entry)
    },
};

/// Amp.
pub(super) const AMP: Client = Client {
    id: "amp",
    name: "Amp",
    places: &[("every project", "~/.config/amp/settings.json"), ("one project", ".amp/settings.json")],
    format: Format::Json,
    http_support: HttpSupport::Native,
    key_note: "Amp expands `PAIROFCLEATS_KEY` from its environment.",
    tools_max: None,
    install: Some(Install {
        signs: &[Location::config("amp")],
        programs: &["amp"],
        files: &[Location::config("amp/settings.json").moved_by("AMP_SETTINGS_FILE", "")],
        project_files: &[Location::project(".amp/settings.json")],
        instructions: &[Instructions::section(Location::config("amp/AGENTS.md"))],
        project_instructions: PROJECT_AGENTS,
    }),
    section: &["amp.mcpServers"],
    list: false,
    entry: |start| json!({ "command": start.command, "args": start.args }),
    command: None,
    http: |server| {
        let headers = server.headers("${PAIROFCLEATS_KEY}");
        entry_text(
            Format::Json,
            &["amp.mcpServers"],
            false,
            &json!({ "url": server.url, "headers": headers }),
        )
    },
};

/// Goose.
pub(super) const GOOSE: Client = Client {
    id: "goose",
    name: "Goose",
    places: &[("every project", "~/.config/goose/config.yaml")],
    format: Format::Yaml,
    http_support: HttpSupport::Native,
    key_note: "Goose expands `PAIROFCLEATS_KEY` from its environment or its keyring.",
    tools_max: None,
    install: Some(Install {
        signs: &[Location::config("goose")],
        programs: &["goose"],
        files: &[Location::config("goose/config.yaml")],
        project_files: &[],
        instructions: &[Instructions::section(Location::config("goose/.goosehints"))],
        project_instructions: PROJECT_AGENTS,
    }),
    section: &["extensions"],
    list: false,
    entry: |start| {
        json!({
            "type": "stdio", "name": SERVER_NAME, "description": "Code search", "enabled": true, "cmd": start.command,
            "args": start.args, "timeout": 300,
        })
    },
    command: None,
    http: |server| {
        let mut entry = json!({
            "type": "streamable_http", "name": SERVER_NAME, "description": "Code search", "enabled": true,
            "uri": server.url, "headers": server.headers("${PAIROFCLEATS_KEY}"), "timeout": 300,
        });
        if server.key {
            entry["env_keys"] = json!(["PAIROFCLEATS_KEY"]);
        }
        entry_text(Format::Yaml, &["extensions"], false, &entry)
    },
};

/// GitHub Copilot CLI.
pub(super) const COPILOT: Client = Client {
    id: "copilot",
    name: "GitHub Copilot CLI",
    places: &[("every project", "~/.copilot/mcp-config.json")],
    format: Format::Json,
    http_support: HttpSupport::Native,
    key_note: "Copilot CLI expands `PAIROFCLEATS_KEY` from its environment.",
    tools_max: None,
    install: Some(Install {
        signs: &[Location::home(".copilot").moved_by("COPILOT_HOME", "")],
        programs: &["copilot"],
        files: &[Location::home(".copilot/mcp-config.json").moved_by("COPILOT_HOME", "mcp-config.json")],
        project_files: &[Location::project(".github/mcp.json")],
        instructions: &[Instructions::section(
            Location::home(".copilot/copilot-instructions.md")
                .moved_by("COPILOT_HOME", "copilot-instructions.md"),
        )],
        project_instructions: PROJECT_AGENTS,
    }),
    section: &["mcpServers"],
    list: false,
    entry: |start| json!({ "type": "local", "command": start.command, "args": start.args, "tools": ["*"] }),
    command: None,
    http: |server| {
        let headers = server.headers("${PAIROFCLEATS_KEY}");
        let entry = json!({ "type": "http", "url": server.url, "headers": headers, "tools": ["*"] });
        entry_text(Format::Json, &["mcpServers"], false, &entry)
    },
};
