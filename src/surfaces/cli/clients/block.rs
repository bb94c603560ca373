//! Blocks as clients write them down: JSON, TOML, or a command line.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::Setup;

/// The name under which clients list us; short, because they put it before the name of each tool.
const NAME: &str = "pairofcleats";

/// The form of text results that blocks ask for: models read them, and pay for each token.
const TEXT: &str = "short";

/// How a client starts us.
pub(super) struct Start {
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

impl Start {
    pub(super) fn of(program: &Path, home: Option<&Path>, config: Option<&Path>, setup: &Setup<'_>) -> Self {
        let path = |path: &Path| path.display().to_string();
        let option = |flag: &str, value: Option<String>| value.map(|value| [flag.to_owned(), value]);
        let before = [option("--home", home.map(path)), option("--config", config.map(path))];
        let after = [
            option("--project", setup.project.map(str::to_owned)),
            option("--toolsets", setup.toolsets.map(str::to_owned)),
        ];
        let words = |options: [Option<[String; 2]>; 2]| options.into_iter().flatten().flatten();
        let text = ["--text".to_owned(), TEXT.to_owned()];
        let read_only = setup.read_only.then(|| "--read-only".to_owned());
        let args = words(before).chain(["mcp".to_owned()]).chain(words(after)).chain(text).chain(read_only);
        Self { command: path(program), args: args.collect() }
    }
}

/// How a client reaches a running server.
pub(super) struct Server {
    pub(super) url: String,
    /// Whether an API key goes along.
    pub(super) key: bool,
    /// The headers without the key.
    pub(super) headers: Pairs,
}

/// Names and values of HTTP headers or environment variables.
pub(super) type Pairs = BTreeMap<&'static str, String>;

impl Server {
    pub(super) fn at(url: &str, key: bool, setup: &Setup<'_>) -> Self {
        let wanted = [
            ("X-PairOfCleats-Project", setup.project),
            ("X-MCP-Text", Some(TEXT)),
            ("X-MCP-Toolsets", setup.toolsets),
            ("X-MCP-Readonly", setup.read_only.then_some("true")),
        ];
        let headers = wanted.into_iter().filter_map(|(name, value)| Some((name, value?.to_owned())));
        Self { url: url.to_owned(), key, headers: headers.collect() }
    }

    /// All headers; `key` is how the client writes the key's place down.
    pub(super) fn headers(&self, key: &str) -> Pairs {
        let mut headers = self.headers.clone();
        if self.key {
            headers.insert("Authorization", format!("Bearer {key}"));
        }
        headers
    }

    /// Arguments and environment of `npx mcp-remote`, which speaks HTTP for clients that cannot.
    pub(super) fn bridge(&self, key: &str) -> (Vec<String>, Pairs) {
        let mut args = vec!["-y".to_owned(), "mcp-remote".to_owned(), self.url.clone()];
        // The bridge refuses plain HTTP to other machines unless it is told that the network is trusted.
        let host = self.url.strip_prefix("http://").map(|rest| rest.split([':', '/']).next().unwrap_or(rest));
        if host.is_some_and(|host| !["localhost", "127.0.0.1"].contains(&host)) {
            args.push("--allow-http".to_owned());
        }
        // Some clients tear arguments apart at spaces, so the value that has one goes by the environment.
        let (mut headers, mut env) = (self.headers.clone(), Pairs::new());
        if self.key {
            headers.insert("Authorization", "${PAIROFCLEATS_AUTHORIZATION}".to_owned());
            env.insert("PAIROFCLEATS_AUTHORIZATION", format!("Bearer {key}"));
        }
        let lines = headers.into_iter().map(|(name, value)| format!("{name}:{value}"));
        args.extend(lines.flat_map(|line| ["--header".to_owned(), line]));
        (args, env)
    }
}

/// A server in a client's configuration: the fields that clients know, each uses a few.
#[derive(Serialize, Default)]
pub(super) struct Entry {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) args: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) env: Pairs,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    #[serde(rename = "httpUrl", skip_serializing_if = "Option::is_none")]
    pub(super) http_url: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) headers: Pairs,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bearer_token_env_var: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) http_headers: Pairs,
}

impl Entry {
    /// A server that the client starts.
    pub(super) fn started(start: &Start) -> Self {
        Self { command: Some(start.command.clone()), args: start.args.clone(), ..Self::default() }
    }

    /// A running server; `key` is how the client writes the key's place down.
    pub(super) fn at(server: &Server, key: &str) -> Self {
        Self { url: Some(server.url.clone()), headers: server.headers(key), ..Self::default() }
    }
}

/// What a client's file holds: sections of servers by name, and in VS Code what it asks the user for.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<[Input<'a>; 1]>,
    #[serde(flatten)]
    sections: BTreeMap<&'a str, BTreeMap<&'static str, &'a Entry>>,
}

/// A value that VS Code asks for once and keeps.
#[derive(Serialize)]
struct Input<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a str,
    description: &'static str,
    password: bool,
}

impl<'a> Document<'a> {
    fn of(section: &'a str, entry: &'a Entry) -> Self {
        Self { inputs: None, sections: BTreeMap::from([(section, BTreeMap::from([(NAME, entry)]))]) }
    }

    /// Texts in maps and lists always serialise.
    fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// A JSON document that holds `entry` below `section`.
pub(super) fn json(section: &str, entry: &Entry) -> String {
    Document::of(section, entry).json()
}

/// The same for VS Code, which asks for the secret `id`.
pub(super) fn json_asking(id: &str, section: &str, entry: &Entry) -> String {
    let input = Input { kind: "promptString", id, description: "API key of PairOfCleats", password: true };
    Document { inputs: Some([input]), ..Document::of(section, entry) }.json()
}

/// TOML tables that hold `entry` below `section`.
pub(super) fn toml(section: &str, entry: &Entry) -> String {
    let text = toml::to_string(&Document::of(section, entry).sections).unwrap_or_default();
    text.trim_end().to_owned()
}

/// A command line that a POSIX shell reads as exactly these words.
pub(super) fn shell<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

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
