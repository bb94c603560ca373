//! Ready-to-paste configuration of MCP clients.
//!
//! Clients start us with hardly any environment, so everything that differs from the defaults stands in
//! the arguments.

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};

/// How a client starts us and where it reaches a running server.
pub(super) struct Connection<'a> {
    /// The `pairofcleats` executable.
    pub(super) program: &'a Path,
    /// The data directory, if it is not the default one.
    pub(super) home: Option<&'a Path>,
    /// The URL of `/mcp`.
    pub(super) mcp_url: &'a str,
}

/// One block to paste.
#[derive(Debug)]
pub(super) struct Snippet {
    /// Which client, and where it goes.
    pub(super) title: &'static str,
    /// The text to paste.
    pub(super) text: String,
}

/// A server entry of a client's JSON configuration.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    Stdio {
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        kind: Option<&'static str>,
        command: String,
        args: Vec<String>,
    },
    Http {
        #[serde(rename = "type")]
        kind: &'static str,
        url: String,
    },
}

impl Connection<'_> {
    /// The blocks, stdio before HTTP.
    pub(super) fn snippets(&self) -> Vec<Snippet> {
        let (command, args) = (self.program.display().to_string(), self.arguments());
        let words: Vec<String> = std::iter::once(&command).chain(&args).map(|word| quoted(word)).collect();
        let stdio = |kind| Entry::Stdio { kind, command: command.clone(), args: args.clone() };
        let http = Entry::Http { kind: "http", url: self.mcp_url.to_owned() };
        vec![
            Snippet {
                title: "Claude Code, started by the client",
                text: format!("claude mcp add pairofcleats -- {}", words.join(" ")),
            },
            Snippet {
                title: "Claude Code, this running server",
                text: format!("claude mcp add --transport http pairofcleats {}", self.mcp_url),
            },
            Snippet {
                title: "Most clients (mcpServers in their JSON configuration)",
                text: block("mcpServers", &stdio(None)),
            },
            Snippet { title: "VS Code (.vscode/mcp.json)", text: block("servers", &stdio(Some("stdio"))) },
            Snippet { title: "VS Code, this running server", text: block("servers", &http) },
        ]
    }

    fn arguments(&self) -> Vec<String> {
        let home = self.home.map(|home| ["--home".to_owned(), home.display().to_string()]);
        home.into_iter().flatten().chain(["mcp".to_owned()]).collect()
    }
}

fn block(section: &str, entry: &Entry) -> String {
    let entry = serde_json::to_value(entry).unwrap_or_default();
    let servers = Map::from_iter([("pairofcleats".to_owned(), entry)]);
    let whole = Map::from_iter([(section.to_owned(), Value::Object(servers))]);
    format!("{:#}", Value::Object(whole))
}

/// A word as a POSIX shell takes it literally.
fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./:=@%+,".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_blocks_parse_and_name_the_program() {
        let connection = Connection {
            program: Path::new("/opt/my tools/pairofcleats"),
            home: Some(Path::new("/data/\"x\"")),
            mcp_url: "http://127.0.0.1:7171/mcp",
        };
        let snippets = connection.snippets();
        let blocks: Vec<Value> =
            snippets.iter().filter_map(|snippet| serde_json::from_str(&snippet.text).ok()).collect();
        assert_eq!(blocks.len(), 3, "all but the two command lines are JSON");
        let stdio = &blocks[0]["mcpServers"]["pairofcleats"];
        assert_eq!(stdio["command"], "/opt/my tools/pairofcleats");
        assert_eq!(stdio["args"], serde_json::json!(["--home", "/data/\"x\"", "mcp"]));
        assert_eq!(blocks[2]["servers"]["pairofcleats"]["url"], "http://127.0.0.1:7171/mcp");
        assert!(snippets[0].text.contains("-- '/opt/my tools/pairofcleats' --home '/data/\"x\"' mcp"));
    }

    #[test]
    fn shell_words_are_literal() {
        for (word, shown) in [
            ("/usr/bin/x", "/usr/bin/x"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$x", "'$x'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
