//! The rows of the client table. Another client is another row.
//!
//! The formats follow the clients' own documentation as of November 2026.

use serde_json::json;

use super::block::{
    SERVER_NAME, ServerEntry, entry_text, json_block, json_block_with_prompt, shell_command, toml_block,
};
use super::location::{Install, Instructions, Location};
use super::{Client, Format, HttpSupport};

/// The start of the skill's file: its name, and when Claude is to read the rest.
const SKILL: &str = "---\nname: pairofcleats\ndescription: Finds code by meaning and by name, and who uses it, with the MCP server \
    pairofcleats. Use it before grep or reading folder by folder.\n---\n\n";
/// The start of a VS Code instruction file, which applies to every file.
const VSCODE_RULE: &str =
    "---\napplyTo: '**'\ndescription: Finding code with the MCP server pairofcleats\n---\n\n";
/// The start of a rule of Continue, which applies always.
const CONTINUE_RULE: &str = "---\nname: pairofcleats\nalwaysApply: true\n---\n\n";
/// The file of instructions that most agents read in a repository.
const PROJECT_AGENTS: &[Instructions] = &[Instructions::section(Location::project("AGENTS.md"))];

/// All clients, in display order.
pub static CLIENTS: &[Client] = &[
    Client {
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
    },
    Client {
        id: "claude-desktop",
        name: "Claude Desktop",
        places: &[
            ("macOS", "~/Library/Application Support/Claude/claude_desktop_config.json"),
            ("Windows", r"%APPDATA%\Claude\claude_desktop_config.json"),
            ("Linux", "~/.config/Claude/claude_desktop_config.json"),
        ],
        format: Format::Json,
        http_support: HttpSupport::Bridge(
            "Claude Desktop starts only local programs from this file; `npx mcp-remote` (Node.js) connects it to an HTTP server. \
            Settings > Connectors cannot reach a private server: Anthropic's cloud makes those connections, which need a public \
            HTTPS address and OAuth.",
        ),
        key_note: "Replace YOUR_KEY. The file then contains the key: keep it private.",
        tools_max: None,
        install: Some(Install {
            signs: &[Location::application("Claude")],
            programs: &[],
            files: &[Location::application("Claude/claude_desktop_config.json")],
            project_files: &[],
            instructions: &[],
            project_instructions: &[],
        }),
        section: &["mcpServers"],
        list: false,
        entry: |start| json!({ "command": start.command, "args": start.args }),
        command: None,
        http: |server| {
            let (args, env) = server.mcp_remote("YOUR_KEY");
            json_block(
                "mcpServers",
                &ServerEntry { command: Some("npx".to_owned()), args, env, ..ServerEntry::default() },
            )
        },
    },
    Client {
        id: "vscode",
        name: "VS Code",
        places: &[
            ("one workspace", ".vscode/mcp.json"),
            ("every workspace", "the file that the command \"MCP: Open User Configuration\" opens"),
        ],
        format: Format::Json,
        http_support: HttpSupport::Native,
        key_note: "VS Code asks for the key when it first starts the server and stores it in its own secret storage.",
        tools_max: Some(128),
        install: Some(Install {
            signs: &[Location::application("Code/User")],
            programs: &["code"],
            files: &[Location::application("Code/User/mcp.json")],
            project_files: &[Location::project(".vscode/mcp.json")],
            instructions: &[Instructions::file(
                Location::application("Code/User/prompts/pairofcleats.instructions.md"),
                VSCODE_RULE,
            )],
            project_instructions: PROJECT_AGENTS,
        }),
        section: &["servers"],
        list: false,
        entry: |start| json!({ "type": "stdio", "command": start.command, "args": start.args }),
        command: None,
        http: |server| {
            let entry =
                ServerEntry { kind: Some("http"), ..ServerEntry::http(server, "${input:pairofcleats-key}") };
            if server.key {
                json_block_with_prompt("pairofcleats-key", "servers", &entry)
            } else {
                json_block("servers", &entry)
            }
        },
    },
    Client {
        id: "cursor",
        name: "Cursor",
        places: &[("every project", "~/.cursor/mcp.json"), ("one project", ".cursor/mcp.json")],
        format: Format::Json,
        http_support: HttpSupport::Native,
        key_note: "Cursor expands `PAIROFCLEATS_KEY` from the environment that it was started in.",
        tools_max: Some(40),
        install: Some(Install {
            signs: &[Location::home(".cursor")],
            programs: &["cursor", "cursor-agent"],
            files: &[Location::home(".cursor/mcp.json")],
            project_files: &[Location::project(".cursor/mcp.json")],
            // It keeps a user's rules in its own database.
            instructions: &[],
            project_instructions: PROJECT_AGENTS,
        }),
        section: &["mcpServers"],
        list: false,
        entry: |start| json!({ "command": start.command, "args": start.args }),
        command: None,
        http: |server| json_block("mcpServers", &ServerEntry::http(server, "${env:PAIROFCLEATS_KEY}")),
    },
    Client {
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
    },
    Client {
        id: "gemini",
        name: "Gemini CLI",
        places: &[("every project", "~/.gemini/settings.json"), ("one project", ".gemini/settings.json")],
        format: Format::Json,
        http_support: HttpSupport::Native,
        key_note: "Gemini CLI expands `PAIROFCLEATS_KEY` from its environment.",
        tools_max: None,
        install: Some(Install {
            signs: &[
                Location::home(".gemini/settings.json").moved_by("GEMINI_CLI_HOME", ".gemini/settings.json")
            ],
            programs: &["gemini"],
            files: &[
                Location::home(".gemini/settings.json").moved_by("GEMINI_CLI_HOME", ".gemini/settings.json")
            ],
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
    },
    Client {
        id: "zed",
        name: "Zed",
        places: &[
            ("macOS and Linux", "~/.config/zed/settings.json"),
            ("anywhere", "the file that the command \"zed: open settings file\" opens"),
        ],
        format: Format::Json,
        http_support: HttpSupport::Native,
        key_note: "Replace YOUR_KEY: Zed sends headers literally and expands no variables. The file then contains the key: keep it \
            private.",
        tools_max: None,
        install: Some(Install {
            signs: &[Location::config("zed")],
            programs: &["zed", "zeditor"],
            files: &[Location::config("zed/settings.json")],
            project_files: &[Location::project(".zed/settings.json")],
            // It keeps a user's rules in its own database.
            instructions: &[],
            project_instructions: PROJECT_AGENTS,
        }),
        section: &["context_servers"],
        list: false,
        entry: |start| json!({ "command": start.command, "args": start.args }),
        command: None,
        http: |server| json_block("context_servers", &ServerEntry::http(server, "YOUR_KEY")),
    },
    Client {
        id: "windsurf",
        name: "Windsurf",
        places: &[("every project", "~/.codeium/windsurf/mcp_config.json")],
        format: Format::Json,
        http_support: HttpSupport::Native,
        key_note: "Windsurf expands `PAIROFCLEATS_KEY` from the environment that it was started in.",
        tools_max: Some(100),
        install: Some(Install {
            signs: &[Location::home(".codeium/windsurf")],
            programs: &["windsurf"],
            files: &[Location::home(".codeium/windsurf/mcp_config.json")],
            project_files: &[],
            instructions: &[Instructions::section(Location::home(
                ".codeium/windsurf/memories/global_rules.md",
            ))],
            project_instructions: PROJECT_AGENTS,
        }),
        section: &["mcpServers"],
        list: false,
        entry: |start| json!({ "command": start.command, "args": start.args }),
        command: None,
        http: |server| {
            let headers = server.headers("${env:PAIROFCLEATS_KEY}");
            entry_text(
                Format::Json,
                &["mcpServers"],
                false,
                &json!({ "serverUrl": server.url, "headers": headers }),
            )
        },
    },
    Client {
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
    },
    Client {
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
    },
    Client {
        id: "continue",
        name: "Continue",
        places: &[("every project", "~/.continue/config.yaml")],
        format: Format::Yaml,
        http_support: HttpSupport::Native,
        key_note: "Continue takes `PAIROFCLEATS_KEY` from its secrets, for example from `~/.continue/.env`.",
        tools_max: None,
        install: Some(Install {
            signs: &[Location::home(".continue").moved_by("CONTINUE_GLOBAL_DIR", "")],
            programs: &["cn"],
            files: &[Location::home(".continue/config.yaml").moved_by("CONTINUE_GLOBAL_DIR", "config.yaml")],
            project_files: &[],
            instructions: &[Instructions::file(
                Location::home(".continue/rules/pairofcleats.md")
                    .moved_by("CONTINUE_GLOBAL_DIR", "rules/pairofcleats.md"),
                CONTINUE_RULE,
            )],
            project_instructions: PROJECT_AGENTS,
        }),
        section: &["mcpServers"],
        list: true,
        entry: |start| json!({ "name": SERVER_NAME, "command": start.command, "args": start.args }),
        command: None,
        http: |server| {
            let entry = json!({
                "name": SERVER_NAME,
                "type": "streamable-http",
                "url": server.url,
                "requestOptions": { "headers": server.headers("${{ secrets.PAIROFCLEATS_KEY }}") },
            });
            entry_text(Format::Yaml, &["mcpServers"], true, &entry)
        },
    },
    Client {
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
    },
    Client {
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
    },
    Client {
        id: "junie",
        name: "JetBrains Junie",
        places: &[("every project", "~/.junie/mcp/mcp.json"), ("one project", ".junie/mcp/mcp.json")],
        format: Format::Json,
        http_support: HttpSupport::Native,
        key_note: "Replace YOUR_KEY. The file then contains the key: keep it private.",
        tools_max: None,
        install: Some(Install {
            signs: &[Location::home(".junie")],
            programs: &["junie"],
            files: &[Location::home(".junie/mcp/mcp.json")],
            project_files: &[Location::project(".junie/mcp/mcp.json")],
            instructions: &[],
            project_instructions: &[Instructions::section(Location::project(".junie/AGENTS.md"))],
        }),
        section: &["mcpServers"],
        list: false,
        entry: |start| json!({ "command": start.command, "args": start.args }),
        command: None,
        http: |server| json_block("mcpServers", &ServerEntry::http(server, "YOUR_KEY")),
    },
    Client {
        id: "generic",
        name: "Most other clients",
        places: &[("see the client's documentation", "a JSON configuration with `mcpServers`")],
        format: Format::Json,
        http_support: HttpSupport::Native,
        key_note: "Replace YOUR_KEY, preferably with the mechanism for secrets in the client's documentation.",
        tools_max: None,
        install: None,
        section: &["mcpServers"],
        list: false,
        entry: |start| json!({ "command": start.command, "args": start.args }),
        command: None,
        http: |server| {
            json_block(
                "mcpServers",
                &ServerEntry { kind: Some("http"), ..ServerEntry::http(server, "YOUR_KEY") },
            )
        },
    },
];
