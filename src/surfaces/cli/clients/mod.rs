//! The table of MCP clients.
//!
//! `mcp-config`, the greeting of `quickstart` and docs/clients.md are generated from it. The formats follow the clients' own
//! documentation as of November 2026.

mod block;

use std::path::Path;

use block::{
    HttpServer, ServerEntry, StdioServer, json_block, json_block_with_prompt, shell_command, toml_block,
};

/// Instructions for agents on when to use the tools, for AGENTS.md or CLAUDE.md.
pub const AGENT_INSTRUCTIONS: &str = include_str!("agents.md");

/// A row of the client table.
pub struct Client {
    /// Its name on the command line.
    pub id: &'static str,
    /// Its display name.
    pub name: &'static str,
    /// Where the block goes: pairs of scope and file or command.
    pub places: &'static [(&'static str, &'static str)],
    /// The format of the block.
    pub format: Format,
    /// How it connects to a server over HTTP.
    pub http_support: HttpSupport,
    /// Where it reads the API key from, and what the user has to do for that.
    pub key_note: &'static str,
    /// Limit on the tools of all its servers together, if it has one.
    pub tools_max: Option<usize>,
    /// Formats the block that starts the server on stdio.
    stdio: fn(&StdioServer) -> String,
    /// Formats the block that connects to a running server.
    http: fn(&HttpServer) -> String,
}

/// The format of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A command line.
    Sh,
    /// A JSON document, to merge into what the file holds.
    Json,
    /// TOML tables, to append to what the file holds.
    Toml,
}

/// How a client connects to a server over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpSupport {
    /// Directly.
    Native,
    /// Only through a local program; the text names it and the alternatives.
    Bridge(&'static str),
}

/// The toolsets that a coding agent needs. Every further tool costs tokens in each of its requests.
pub const DEFAULT_TOOLSETS: &str = "search,index";

/// The options of a block.
#[derive(Debug, Clone, Copy)]
pub struct ClientSetup<'a> {
    /// How the client reaches the server.
    pub transport: Transport<'a>,
    /// Project for calls that name none.
    pub project: Option<&'a str>,
    /// The toolsets to offer, separated by commas; none means all.
    pub toolsets: Option<&'a str>,
    /// Whether to hide tools that write.
    pub read_only: bool,
}

/// How a client reaches the server.
#[derive(Debug, Clone, Copy)]
pub enum Transport<'a> {
    /// The client starts the program and uses its stdin and stdout. Clients pass on little of the environment, so everything
    /// that differs from the defaults is in the arguments.
    Stdio {
        /// The `pairofcleats` executable.
        program: &'a Path,
        /// The data directory, if it is not the default.
        home: Option<&'a Path>,
        /// The configuration file, if it is not the one in the data directory.
        config: Option<&'a Path>,
    },
    /// The client connects to a running server.
    Http {
        /// The URL of `/mcp`.
        url: &'a str,
        /// Whether the client sends an API key.
        key: bool,
    },
}

impl Client {
    /// The client with this id.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.id == id)
    }

    /// The text to paste. It never contains a key.
    #[must_use]
    pub fn block(&self, setup: &ClientSetup<'_>) -> String {
        match setup.transport {
            Transport::Stdio { program, home, config } => {
                (self.stdio)(&StdioServer::new(program, home, config, setup))
            }
            Transport::Http { url, key } => (self.http)(&HttpServer::new(url, key, setup)),
        }
    }

    /// All places in one line.
    #[must_use]
    pub fn file(&self) -> String {
        let places: Vec<String> =
            self.places.iter().map(|(scope, file)| format!("{scope}: {file}")).collect();
        places.join("; ")
    }
}

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
        stdio: |start| {
            let words = ["claude", "mcp", "add", "pairofcleats", "--", &start.command];
            shell_command(words.into_iter().chain(start.args.iter().map(String::as_str)))
        },
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
        stdio: |start| json_block("mcpServers", &ServerEntry::stdio(start)),
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
        stdio: |start| {
            json_block("servers", &ServerEntry { kind: Some("stdio"), ..ServerEntry::stdio(start) })
        },
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
        stdio: |start| json_block("mcpServers", &ServerEntry::stdio(start)),
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
        stdio: |start| toml_block("mcp_servers", &ServerEntry::stdio(start)),
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
        stdio: |start| json_block("mcpServers", &ServerEntry::stdio(start)),
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
        stdio: |start| json_block("context_servers", &ServerEntry::stdio(start)),
        http: |server| json_block("context_servers", &ServerEntry::http(server, "YOUR_KEY")),
    },
    Client {
        id: "generic",
        name: "Most other clients",
        places: &[("see the client's documentation", "a JSON configuration with `mcpServers`")],
        format: Format::Json,
        http_support: HttpSupport::Native,
        key_note: "Replace YOUR_KEY, preferably with the mechanism for secrets in the client's documentation.",
        tools_max: None,
        stdio: |start| json_block("mcpServers", &ServerEntry::stdio(start)),
        http: |server| {
            json_block(
                "mcpServers",
                &ServerEntry { kind: Some("http"), ..ServerEntry::http(server, "YOUR_KEY") },
            )
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const URL: &str = "https://code.example.com:8443/mcp";

    fn setup(reach: Transport<'_>) -> ClientSetup<'_> {
        ClientSetup {
            transport: reach,
            project: Some("shop"),
            toolsets: Some("search,index"),
            read_only: true,
        }
    }

    fn stdio() -> ClientSetup<'static> {
        setup(Transport::Stdio {
            program: Path::new("/opt/my tools/pairofcleats"),
            home: Some(Path::new("/data/\"it's\"")),
            config: Some(Path::new(r"/etc/p\c.toml")),
        })
    }

    fn http(key: bool) -> ClientSetup<'static> {
        setup(Transport::Http { url: URL, key })
    }

    /// The block as its client reads it; command lines are read by a shell in the integration tests.
    fn parsed(client: &Client, setup: &ClientSetup<'_>) -> Option<Value> {
        let block = client.block(setup);
        match client.format {
            Format::Sh => None,
            Format::Json => Some(serde_json::from_str(&block).unwrap()),
            Format::Toml => Some(serde_json::to_value(block.parse::<toml::Table>().unwrap()).unwrap()),
        }
    }

    /// The entry called `pairofcleats`, whatever section it stands in.
    fn entry(whole: &Value) -> &Value {
        let mut sections = whole.as_object().unwrap().values();
        sections.find_map(|section| section.get("pairofcleats")).unwrap()
    }

    #[test]
    fn every_file_block_parses_and_starts_the_program() {
        let args = [
            "--home",
            "/data/\"it's\"",
            "--config",
            r"/etc/p\c.toml",
            "mcp",
            "--project",
            "shop",
            "--toolsets",
            "search,index",
            "--text",
            "short",
            "--read-only",
        ];
        for client in CLIENTS {
            let Some(whole) = parsed(client, &stdio()) else { continue };
            assert_eq!(entry(&whole)["command"], "/opt/my tools/pairofcleats", "{}", client.id);
            assert_eq!(entry(&whole)["args"], serde_json::json!(args), "{}", client.id);
        }
    }

    #[test]
    fn every_file_block_parses_and_names_the_url_and_what_is_wanted() {
        for client in CLIENTS {
            for key in [false, true] {
                let Some(whole) = parsed(client, &http(key)) else { continue };
                let block = entry(&whole).to_string();
                for part in [
                    URL,
                    "X-PairOfCleats-Project",
                    "shop",
                    "X-MCP-Toolsets",
                    "search,index",
                    "X-MCP-Text",
                    "X-MCP-Readonly",
                ] {
                    assert!(block.contains(part), "{} lacks {part}: {block}", client.id);
                }
            }
        }
    }

    #[test]
    fn a_key_is_sent_only_if_wanted_and_stands_in_no_block() {
        for client in CLIENTS {
            let without = client.block(&http(false));
            for word in ["Bearer", "Authorization", "KEY", "pairofcleats-key", "inputs"] {
                assert!(!without.contains(word), "{}: {without}", client.id);
            }
            let with = client.block(&http(true));
            let places = [
                "{PAIROFCLEATS_KEY}",
                "{env:PAIROFCLEATS_KEY}",
                "{input:pairofcleats-key}",
                "\"PAIROFCLEATS_KEY\"",
                "YOUR_KEY",
            ];
            assert!(places.iter().any(|place| with.contains(place)), "{}: {with}", client.id);
            assert_eq!(
                with.contains("YOUR_KEY"),
                client.key_note.contains("YOUR_KEY"),
                "{} says what to do",
                client.id
            );
        }
    }

    #[test]
    fn vscode_asks_for_the_key_that_it_sends() {
        let whole = parsed(Client::find("vscode").unwrap(), &http(true)).unwrap();
        assert_eq!(whole["inputs"][0]["password"], true);
        let reference = format!("Bearer ${{input:{}}}", whole["inputs"][0]["id"].as_str().unwrap());
        assert_eq!(entry(&whole)["headers"]["Authorization"], reference.as_str());
    }

    #[test]
    fn the_bridge_is_told_about_plain_http_to_other_machines() {
        let desktop = Client::find("claude-desktop").unwrap();
        for (url, told) in [
            ("http://127.0.0.1:7171/mcp", false),
            ("http://localhost:7171/mcp", false),
            ("https://code.example.com/mcp", false),
            ("http://code.example.com/mcp", true),
        ] {
            let block = desktop.block(&setup(Transport::Http { url, key: true }));
            assert_eq!(block.contains("--allow-http"), told, "{url}");
        }
        let whole = parsed(desktop, &http(true)).unwrap();
        let args = entry(&whole)["args"].as_array().unwrap();
        assert!(
            args.iter().all(|arg| !arg.as_str().unwrap().contains(' ')),
            "clients tear at spaces: {args:?}"
        );
        assert_eq!(entry(&whole)["env"]["PAIROFCLEATS_AUTHORIZATION"], "Bearer YOUR_KEY");
    }

    #[test]
    fn ids_are_unique_and_no_client_shows_fewer_tools_than_there_are() {
        for (at, client) in CLIENTS.iter().enumerate() {
            assert!(CLIENTS[..at].iter().all(|other| other.id != client.id), "{}", client.id);
            let listed = crate::tools::LIST.iter().filter(|tool| tool.toolset.listed_by_default()).count();
            assert!(client.tools_max.is_none_or(|most| listed <= most), "{}", client.id);
        }
    }

    #[test]
    fn agents_are_told_of_tools_that_exist() {
        for tool in ["search", "show_file", "build_index"] {
            assert!(
                AGENT_INSTRUCTIONS.contains(&format!("`{tool}`")) && crate::tools::find_tool(tool).is_some(),
                "{tool}"
            );
        }
    }
}
