//! The MCP clients people use, in one table.
//!
//! `mcp-config`, the greeting of `quickstart` and docs/clients.md are made from it, so that what people copy is
//! written once. The shapes are those of the clients' own documentation in November 2026.

mod block;

use std::path::Path;

use block::{Entry, Server, Start, json, json_asking, shell, toml};

/// What tells an agent when to use the tools, for AGENTS.md or CLAUDE.md.
pub const AGENTS: &str = include_str!("agents.md");

/// One client.
pub struct Client {
    /// Its name on the command line.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// Where the block goes: for whom, and the file or command.
    pub places: &'static [(&'static str, &'static str)],
    /// What the block is.
    pub format: Format,
    /// How it reaches a server over HTTP.
    pub remote: Remote,
    /// Where it takes the API key from, and what that leaves to do.
    pub key: &'static str,
    /// Tools that it shows of all its servers together, where it has such a limit.
    pub tools_max: Option<usize>,
    /// The block that lets it start us.
    stdio: fn(&Start) -> String,
    /// The block that lets it reach a running server.
    http: fn(&Server) -> String,
}

/// What a block is, by the name that Markdown gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A command line.
    Sh,
    /// A JSON document, to merge into what the file holds.
    Json,
    /// TOML tables, to append to what the file holds.
    Toml,
}

/// How a client reaches a server over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remote {
    /// By itself.
    Native,
    /// Only through a program that it starts; says which, and what else there is.
    Bridge(&'static str),
}

/// The toolsets that a coding agent needs; it pays for every tool that is listed beyond them.
pub const TOOLSETS: &str = "search,index";

/// What a block is to say.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// How the server is reached.
    pub reach: Reach<'a>,
    /// Project of calls that name none.
    pub project: Option<&'a str>,
    /// The only toolsets offered, with commas between; none: all.
    pub toolsets: Option<&'a str>,
    /// Whether tools that write are left out.
    pub read_only: bool,
}

/// How a client reaches the server.
#[derive(Debug, Clone, Copy)]
pub enum Reach<'a> {
    /// It starts the program and speaks over its stdin and stdout. Clients pass hardly any environment on, so what
    /// differs from the defaults stands in the arguments.
    Stdio {
        /// The `pairofcleats` executable.
        program: &'a Path,
        /// The data directory, if it is not the default one.
        home: Option<&'a Path>,
        /// The configuration file, if it is not the data directory's.
        config: Option<&'a Path>,
    },
    /// It reaches a running server.
    Http {
        /// The URL of `/mcp`.
        url: &'a str,
        /// Whether an API key goes along.
        key: bool,
    },
}

impl Client {
    /// The row called `id`.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.id == id)
    }

    /// The text to paste. It never holds a key.
    #[must_use]
    pub fn block(&self, setup: &Setup<'_>) -> String {
        match setup.reach {
            Reach::Stdio { program, home, config } => (self.stdio)(&Start::of(program, home, config, setup)),
            Reach::Http { url, key } => (self.http)(&Server::at(url, key, setup)),
        }
    }

    /// The places in one line.
    #[must_use]
    pub fn file(&self) -> String {
        let places: Vec<String> =
            self.places.iter().map(|(whom, place)| format!("{whom}: {place}")).collect();
        places.join("; ")
    }
}

/// Every client; this is the order people see.
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
        remote: Remote::Native,
        key: "Claude Code fills in `PAIROFCLEATS_KEY` from its environment at each start; the single quotes keep your \
            shell from doing so earlier, which would write the key into the configuration.",
        tools_max: None,
        stdio: |start| {
            let words = ["claude", "mcp", "add", "pairofcleats", "--", &start.command];
            shell(words.into_iter().chain(start.args.iter().map(String::as_str)))
        },
        http: |server| {
            // `--header` takes all words that follow it, so the name and the URL come first.
            let words = ["claude", "mcp", "add", "--transport", "http", "pairofcleats", &server.url];
            let headers = server.headers("${PAIROFCLEATS_KEY}");
            let lines: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            shell(words.into_iter().chain(lines.iter().flat_map(|line| ["--header", line])))
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
        remote: Remote::Bridge(
            "Claude Desktop starts only local programs from this file; `npx mcp-remote` (Node.js) speaks HTTP for it. \
            Settings > Connectors is no way to a private server: Anthropic's cloud makes those connections, to a public \
            HTTPS address, and signs in with OAuth.",
        ),
        key: "Replace YOUR_KEY. The file then holds the key: keep it to yourself.",
        tools_max: None,
        stdio: |start| json("mcpServers", &Entry::started(start)),
        http: |server| {
            let (args, env) = server.bridge("YOUR_KEY");
            json("mcpServers", &Entry { command: Some("npx".to_owned()), args, env, ..Entry::default() })
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
        remote: Remote::Native,
        key: "VS Code asks for the key when it first starts the server and keeps it in its own secret store.",
        tools_max: Some(128),
        stdio: |start| json("servers", &Entry { kind: Some("stdio"), ..Entry::started(start) }),
        http: |server| {
            let entry = Entry { kind: Some("http"), ..Entry::at(server, "${input:pairofcleats-key}") };
            if server.key {
                json_asking("pairofcleats-key", "servers", &entry)
            } else {
                json("servers", &entry)
            }
        },
    },
    Client {
        id: "cursor",
        name: "Cursor",
        places: &[("every project", "~/.cursor/mcp.json"), ("one project", ".cursor/mcp.json")],
        format: Format::Json,
        remote: Remote::Native,
        key: "Cursor fills in `PAIROFCLEATS_KEY` from the environment that it was started in.",
        tools_max: Some(40),
        stdio: |start| json("mcpServers", &Entry::started(start)),
        http: |server| json("mcpServers", &Entry::at(server, "${env:PAIROFCLEATS_KEY}")),
    },
    Client {
        id: "codex",
        name: "Codex",
        places: &[("every project", "~/.codex/config.toml"), ("one trusted project", ".codex/config.toml")],
        format: Format::Toml,
        remote: Remote::Native,
        key: "Codex reads the key from the environment variable `PAIROFCLEATS_KEY` and refuses one in the file.",
        tools_max: None,
        stdio: |start| toml("mcp_servers", &Entry::started(start)),
        http: |server| {
            let (url, http_headers) = (Some(server.url.clone()), server.headers.clone());
            let bearer_token_env_var = server.key.then_some("PAIROFCLEATS_KEY");
            toml("mcp_servers", &Entry { url, bearer_token_env_var, http_headers, ..Entry::default() })
        },
    },
    Client {
        id: "gemini",
        name: "Gemini CLI",
        places: &[("every project", "~/.gemini/settings.json"), ("one project", ".gemini/settings.json")],
        format: Format::Json,
        remote: Remote::Native,
        key: "Gemini CLI fills in `PAIROFCLEATS_KEY` from its environment.",
        tools_max: None,
        stdio: |start| json("mcpServers", &Entry::started(start)),
        http: |server| {
            // `url` alone meant the older SSE transport for long; `httpUrl` means this one in every release.
            let Entry { url, headers, .. } = Entry::at(server, "${PAIROFCLEATS_KEY}");
            json("mcpServers", &Entry { http_url: url, headers, ..Entry::default() })
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
        remote: Remote::Native,
        key: "Replace YOUR_KEY: Zed sends headers as they stand and fills in no variables. The file then holds the key: \
            keep it to yourself.",
        tools_max: None,
        stdio: |start| json("context_servers", &Entry::started(start)),
        http: |server| json("context_servers", &Entry::at(server, "YOUR_KEY")),
    },
    Client {
        id: "generic",
        name: "Most other clients",
        places: &[("the client's documentation says where", "a JSON configuration with `mcpServers`")],
        format: Format::Json,
        remote: Remote::Native,
        key: "Replace YOUR_KEY, best by what the client's documentation offers for secrets.",
        tools_max: None,
        stdio: |start| json("mcpServers", &Entry::started(start)),
        http: |server| json("mcpServers", &Entry { kind: Some("http"), ..Entry::at(server, "YOUR_KEY") }),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const URL: &str = "https://code.example.com:8443/mcp";

    fn setup(reach: Reach<'_>) -> Setup<'_> {
        Setup { reach, project: Some("shop"), toolsets: Some("search,index"), read_only: true }
    }

    fn stdio() -> Setup<'static> {
        setup(Reach::Stdio {
            program: Path::new("/opt/my tools/pairofcleats"),
            home: Some(Path::new("/data/\"it's\"")),
            config: Some(Path::new(r"/etc/p\c.toml")),
        })
    }

    fn http(key: bool) -> Setup<'static> {
        setup(Reach::Http { url: URL, key })
    }

    /// The block as its client reads it; command lines are read by a shell in the integration tests.
    fn parsed(client: &Client, setup: &Setup<'_>) -> Option<Value> {
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
                client.key.contains("YOUR_KEY"),
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
            let block = desktop.block(&setup(Reach::Http { url, key: true }));
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
            assert!(client.tools_max.is_none_or(|most| crate::tools::LIST.len() <= most), "{}", client.id);
        }
    }

    #[test]
    fn agents_are_told_of_tools_that_exist() {
        for tool in ["search", "show_file", "build_index"] {
            assert!(AGENTS.contains(&format!("`{tool}`")) && crate::tools::find(tool).is_some(), "{tool}");
        }
    }
}
