//! The rows of the client table for editors and other graphical programs.

use serde_json::json;

use super::block::{SERVER_NAME, ServerEntry, entry_text, json_block, json_block_with_prompt};
use super::location::{Install, Instructions, Location};
use super::table::PROJECT_AGENTS;
use super::{Client, Format, HttpSupport};

/// The start of a VS Code instruction file, which applies to every file.
const VSCODE_RULE: &str =
    "---\napplyTo: '**'\ndescription: Finding code with the MCP server pairofcleats\n---\n\n";
/// The start of a rule of Continue, which always applies.
const CONTINUE_RULE: &str = "---\nname: pairofcleats\nalwaysApply: true\n---\n\n";

/// Claude Desktop.
pub(super) const CLAUDE_DESKTOP: Client = Client {
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
};

/// VS Code.
pub(super) const VSCODE: Client = Client {
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
};

/// Cursor.
pub(super) const CURSOR: Client = Client {
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
        // Cursor keeps a user's rules in its own database.
        instructions: &[],
        project_instructions: PROJECT_AGENTS,
    }),
    section: &["mcpServers"],
    list: false,
    entry: |start| json!({ "command": start.command, "args": start.args }),
    command: None,
    http: |server| json_block("mcpServers", &ServerEntry::http(server, "${env:PAIROFCLEATS_KEY}")),
};

/// Zed.
pub(super) const ZED: Client = Client {
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
        // Zed keeps a user's rules in its own database.
        instructions: &[],
        project_instructions: PROJECT_AGENTS,
    }),
    section: &["context_servers"],
    list: false,
    entry: |start| json!({ "command": start.command, "args": start.args }),
    command: None,
    http: |server| json_block("context_servers", &ServerEntry::http(server, "YOUR_KEY")),
};

/// Windsurf.
pub(super) const WINDSURF: Client = Client {
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
        instructions: &[Instructions::section(Location::home(".codeium/windsurf/memories/global_rules.md"))],
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
};

/// Continue.
pub(super) const CONTINUE: Client = Client {
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
};

/// JetBrains Junie.
pub(super) const JUNIE: Client = Client {
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
};

/// Most other clients.
pub(super) const GENERIC: Client = Client {
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
        json_block("mcpServers", &ServerEntry { kind: Some("http"), ..ServerEntry::http(server, "YOUR_KEY") })
    },
};
