//! The table of MCP clients.
//!
//! `mcp-config`, `install`, the greeting of `quickstart` and docs/clients.md are generated from it.

mod block;
mod editors;
mod location;
mod table;
mod terminal;

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use block::{HttpServer, StdioServer};
pub(super) use block::{SERVER_NAME, entry_text, toml_text, yaml_text};
pub use location::{Base, Form, Install, Instructions, Location};
pub use table::CLIENTS;

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
    /// How `install` finds it and what it writes; none for a client that is not one program.
    pub install: Option<Install>,
    /// The keys of its configuration file that lead to the servers.
    pub section: &'static [&'static str],
    /// Whether the servers are a list, with their name as a field.
    pub list: bool,
    /// The server's entry in its configuration file.
    entry: fn(&StdioServer) -> Value,
    /// A command that adds the entry, if the block is a command.
    command: Option<fn(&StdioServer) -> String>,
    /// Formats the block that connects to a running server.
    http: fn(&HttpServer) -> String,
}

/// The format of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A command line.
    Sh,
    /// A JSON document, to merge into what the file holds.
    Json,
    /// TOML tables, to append to what the file holds.
    Toml,
    /// A YAML document, to merge into what the file holds.
    Yaml,
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
        /// The `pairofcleats` executable, or a program that runs it.
        program: &'a Path,
        /// What stands before the arguments of `pairofcleats`.
        arguments: &'a [&'a str],
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
            Transport::Stdio { program, arguments, home, config } => {
                let start = StdioServer::new(program, arguments, home, config, setup);
                match self.command {
                    Some(command) => command(&start),
                    None => entry_text(self.format, self.section, self.list, &(self.entry)(&start)),
                }
            }
            Transport::Http { url, key } => (self.http)(&HttpServer::new(url, key, setup)),
        }
    }

    /// The entry for its configuration file; none for a server over HTTP.
    pub(super) fn entry(&self, setup: &ClientSetup<'_>) -> Option<Value> {
        let Transport::Stdio { program, arguments, home, config } = setup.transport else { return None };
        Some((self.entry)(&StdioServer::new(program, arguments, home, config, setup)))
    }

    /// The format of its configuration file.
    #[must_use]
    pub fn file_format(&self) -> Format {
        if self.format == Format::Sh { Format::Json } else { self.format }
    }

    /// All places in one line.
    #[must_use]
    pub fn file(&self) -> String {
        let places: Vec<String> =
            self.places.iter().map(|(scope, file)| format!("{scope}: {file}")).collect();
        places.join("; ")
    }
}

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
            arguments: &[],
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
            Format::Yaml => Some(serde_saphyr::from_str(&block).unwrap()),
        }
    }

    /// The entry called `pairofcleats`, whatever section it stands in.
    fn entry(whole: &Value) -> &Value {
        let mut sections = whole.as_object().unwrap().values();
        let ours = |server: &&Value| server["name"] == "pairofcleats";
        sections
            .find_map(|section| match section {
                Value::Array(servers) => servers.iter().find(ours),
                section => section.get("pairofcleats"),
            })
            .unwrap()
    }

    #[test]
    fn every_file_block_parses_and_starts_the_program() {
        let args = [
            "--home", "/data/\"it's\"", "--config", r"/etc/p\c.toml", "mcp", "--project", "shop",
            "--toolsets", "search,index", "--text", "short", "--read-only",
        ];
        for client in CLIENTS {
            let Some(whole) = parsed(client, &stdio()) else { continue };
            let entry = entry(&whole);
            let program = if entry["cmd"].is_null() { &entry["command"] } else { &entry["cmd"] };
            let words =
                if program.is_array() { program.as_array().cloned() } else { Some(vec![program.clone()]) };
            let words = [words.unwrap(), entry["args"].as_array().cloned().unwrap_or_default()].concat();
            assert_eq!(words[0], "/opt/my tools/pairofcleats", "{}", client.id);
            assert_eq!(words[1..], args, "{}", client.id);
        }
    }

    #[test]
    fn every_file_block_parses_and_names_the_url_and_what_is_wanted() {
        for client in CLIENTS {
            for key in [false, true] {
                let Some(whole) = parsed(client, &http(key)) else { continue };
                let block = entry(&whole).to_string();
                for part in [
                    URL, "X-PairOfCleats-Project", "shop", "X-MCP-Toolsets", "search,index", "X-MCP-Text",
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
                "{PAIROFCLEATS_KEY}", "{env:PAIROFCLEATS_KEY}", "{input:pairofcleats-key}",
                "\"PAIROFCLEATS_KEY\"", "secrets.PAIROFCLEATS_KEY", "YOUR_KEY",
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
            let listed = gate::tools::LIST.iter().filter(|tool| tool.toolset.listed_by_default()).count();
            assert!(client.tools_max.is_none_or(|most| listed <= most), "{}", client.id);
        }
    }

    #[test]
    fn agents_are_told_of_tools_that_exist() {
        for tool in ["search", "show_file", "build_index"] {
            assert!(
                AGENT_INSTRUCTIONS.contains(&format!("`{tool}`")) && gate::tools::find_tool(tool).is_some(),
                "{tool}"
            );
        }
    }
}
