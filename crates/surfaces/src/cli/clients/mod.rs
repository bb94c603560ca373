//! The table of MCP clients.
//!
//! These are generated from it: `mcp-config`, `install`, the greeting of `quickstart` and docs/clients.md.

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
    /// Name on the command line.
    pub id: &'static str,
    /// Display name.
    pub name: &'static str,
    /// Places of the block: pairs of scope and file or command.
    pub places: &'static [(&'static str, &'static str)],
    /// The format of the block.
    pub format: Format,
    /// Means of connecting to a server over HTTP.
    pub http_support: HttpSupport,
    /// Source of the API key, and what the user has to do to provide it.
    pub key_note: &'static str,
    /// Limit on the number of tools of all its servers together, if it has one.
    pub tools_max: Option<usize>,
    /// Signs by which `install` finds the client, and the files it writes; `None` for a client that is not one program.
    pub install: Option<Install>,
    /// The keys in its configuration file that lead to the servers.
    pub section: &'static [&'static str],
    /// `true` if the servers are a list, with their name as a field.
    pub list: bool,
    /// Builds the server's entry in its configuration file.
    entry: fn(&StdioServer) -> Value,
    /// Builds the command that adds the entry, if the block is a command.
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
    /// A JSON document, to be merged into the existing file.
    Json,
    /// TOML tables, to be appended to the existing file.
    Toml,
    /// A YAML document, to be merged into the existing file.
    Yaml,
}

/// A client's means of connecting to a server over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpSupport {
    /// Directly.
    Native,
    /// Only through a local program; the text names that program and the alternatives.
    Bridge(&'static str),
}

/// The toolsets that a coding agent needs. Every additional tool costs tokens in each request.
pub const DEFAULT_TOOLSETS: &str = "search,index";

/// The options of a block.
#[derive(Debug, Clone, Copy)]
pub struct ClientSetup<'a> {
    /// The connection between the client and the server.
    pub transport: Transport<'a>,
    /// Project for calls that do not name one.
    pub project: Option<&'a str>,
    /// The toolsets to offer, separated by commas; `None` means all.
    pub toolsets: Option<&'a str>,
    /// `true` to hide tools that write.
    pub read_only: bool,
}

/// The connection between a client and the server.
#[derive(Debug, Clone, Copy)]
pub enum Transport<'a> {
    /// The client starts the program and uses its stdin and stdout. Clients pass on little of the environment, so everything
    /// that differs from the defaults is in the arguments.
    Stdio {
        /// The `pairofcleats` executable, or a program that runs it.
        program: &'a Path,
        /// The arguments before those of `pairofcleats`.
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
        /// `true` if the client sends an API key.
        key: bool,
    },
}

impl Client {
    /// Returns the client with this id.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.id == id)
    }

    /// Returns the text to paste. It never contains a key.
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

    /// Returns the entry for its configuration file; `None` for a server over HTTP.
    pub(super) fn entry(&self, setup: &ClientSetup<'_>) -> Option<Value> {
        let Transport::Stdio { program, arguments, home, config } = setup.transport else { return None };
        Some((self.entry)(&StdioServer::new(program, arguments, home, config, setup)))
    }

    /// Returns the format of its configuration file.
    #[must_use]
    pub fn file_format(&self) -> Format {
        if self.format == Format::Sh { Format::Json } else { self.format }
    }

    /// Returns all places on one line.
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
    use crate::modules::TEST_MODULES;
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

    /// Parses the block as its client does; command lines are parsed by a shell in the integration tests.
    fn parsed(client: &Client, setup: &ClientSetup<'_>) -> Option<Value> {
        let block = client.block(setup);
        match client.format {
            Format::Sh => None,
            Format::Json => Some(serde_json::from_str(&block).unwrap()),
            Format::Toml => Some(serde_json::to_value(block.parse::<toml::Table>().unwrap()).unwrap()),
            Format::Yaml => Some(serde_saphyr::from_str(&block).unwrap()),
        }
    }

    /// Returns the entry called `pairofcleats`, in whatever section it is.
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
    fn a_key_is_sent_only_if_wanted_and_is_in_no_block() {
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
    fn the_bridge_allows_plain_http_to_other_machines() {
        let desktop = Client::find("claude-desktop").unwrap();
        for (url, allowed) in [
            ("http://127.0.0.1:7171/mcp", false),
            ("http://localhost:7171/mcp", false),
            ("https://code.example.com/mcp", false),
            ("http://code.example.com/mcp", true),
        ] {
            let block = desktop.block(&setup(Transport::Http { url, key: true }));
            assert_eq!(block.contains("--allow-http"), allowed, "{url}");
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
            let listed = TEST_MODULES
                .gate()
                .list_of_tools()
                .iter()
                .filter(|tool| tool.toolset.listed_by_default())
                .count();
            assert!(client.tools_max.is_none_or(|most| listed <= most), "{}", client.id);
        }
    }

    #[test]
    fn the_agent_instructions_name_only_tools_that_exist() {
        for tool in ["search", "show_file", "build_index"] {
            assert!(
                AGENT_INSTRUCTIONS.contains(&format!("`{tool}`"))
                    && TEST_MODULES.gate().find_tool(tool).is_some(),
                "{tool}"
            );
        }
    }
}
