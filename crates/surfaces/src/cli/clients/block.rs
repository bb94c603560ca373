//! Formats the blocks of the client table as JSON, TOML or a command line.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::{ClientSetup, Format};

/// The server's name in clients; short, because clients put it before the name of each tool.
pub(in crate::cli) const SERVER_NAME: &str = "pairofcleats";

/// The text format that the blocks request: the short one, because a model pays for each token.
const TEXT_FORMAT: &str = "short";

/// The command that starts the MCP server on stdio.
pub(super) struct StdioServer {
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

impl StdioServer {
    pub(super) fn new(
        program: &Path,
        arguments: &[&str],
        home: Option<&Path>,
        config: Option<&Path>,
        setup: &ClientSetup<'_>,
    ) -> Self {
        let path = |path: &Path| path.display().to_string();
        let option = |flag: &str, value: Option<String>| value.map(|value| [flag.to_owned(), value]);
        let before = [option("--home", home.map(path)), option("--config", config.map(path))];
        let after = [
            option("--project", setup.project.map(str::to_owned)),
            option("--toolsets", setup.toolsets.map(str::to_owned)),
        ];
        let words = |options: [Option<[String; 2]>; 2]| options.into_iter().flatten().flatten();
        let text = ["--text".to_owned(), TEXT_FORMAT.to_owned()];
        let read_only = setup.read_only.then(|| "--read-only".to_owned());
        let args = arguments.iter().map(|&word| word.to_owned()).chain(words(before));
        let args = args.chain(["mcp".to_owned()]).chain(words(after)).chain(text).chain(read_only);
        Self { command: path(program), args: args.collect() }
    }
}

/// The address and headers of a running server.
pub(super) struct HttpServer {
    pub(super) url: String,
    /// `true` if the client sends an API key.
    pub(super) key: bool,
    /// The headers, except the key.
    pub(super) headers: Pairs,
}

/// Names and values of HTTP headers or environment variables.
pub(super) type Pairs = BTreeMap<&'static str, String>;

impl HttpServer {
    pub(super) fn new(url: &str, key: bool, setup: &ClientSetup<'_>) -> Self {
        let headers = [
            ("X-PairOfCleats-Project", setup.project),
            ("X-MCP-Text", Some(TEXT_FORMAT)),
            ("X-MCP-Toolsets", setup.toolsets),
            ("X-MCP-Readonly", setup.read_only.then_some("true")),
        ];
        let headers = headers.into_iter().filter_map(|(name, value)| Some((name, value?.to_owned())));
        Self { url: url.to_owned(), key, headers: headers.collect() }
    }

    /// Returns all headers; `key` is the client's placeholder for the key.
    pub(super) fn headers(&self, key: &str) -> Pairs {
        let mut headers = self.headers.clone();
        if self.key {
            headers.insert("Authorization", format!("Bearer {key}"));
        }
        headers
    }

    /// Returns the arguments and environment of `npx mcp-remote`, which connects clients without HTTP support.
    pub(super) fn mcp_remote(&self, key: &str) -> (Vec<String>, Pairs) {
        let mut args = vec!["-y".to_owned(), "mcp-remote".to_owned(), self.url.clone()];
        // `mcp-remote` refuses plain HTTP to other machines without this flag.
        let host = self.url.strip_prefix("http://").map(|rest| rest.split([':', '/']).next().unwrap_or(rest));
        if host.is_some_and(|host| !["localhost", "127.0.0.1"].contains(&host)) {
            args.push("--allow-http".to_owned());
        }
        // Some clients split arguments at spaces, so a value that contains one is passed in the environment.
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

/// The server's entry in a client's configuration. Each client uses a subset of the fields.
#[derive(Serialize, Default)]
pub(super) struct ServerEntry {
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

impl ServerEntry {
    /// Returns the entry of a running server; `key` is the client's placeholder for the key.
    pub(super) fn http(server: &HttpServer, key: &str) -> Self {
        Self { url: Some(server.url.clone()), headers: server.headers(key), ..Self::default() }
    }
}

/// A client's configuration file: sections with servers by name and, for VS Code, the values to ask the user for.
#[derive(Serialize)]
struct ConfigFile<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<[PromptedInput<'a>; 1]>,
    #[serde(flatten)]
    sections: BTreeMap<&'a str, BTreeMap<&'static str, &'a ServerEntry>>,
}

/// A value that VS Code asks for once and stores.
#[derive(Serialize)]
struct PromptedInput<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a str,
    description: &'static str,
    password: bool,
}

impl<'a> ConfigFile<'a> {
    fn new(section: &'a str, entry: &'a ServerEntry) -> Self {
        Self { inputs: None, sections: BTreeMap::from([(section, BTreeMap::from([(SERVER_NAME, entry)]))]) }
    }

    // Cannot fail: the file holds only strings in maps and lists.
    fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// Formats a document that contains only the server's entry, at its place below `section`.
pub(in crate::cli) fn entry_text(
    format: Format,
    section: &[impl AsRef<str>],
    list: bool,
    entry: &Value,
) -> String {
    match format {
        Format::Toml => toml_text(section, entry),
        Format::Yaml => yaml_text(section, list, entry),
        // Cannot fail: the keys are strings.
        Format::Json | Format::Sh => {
            serde_json::to_string_pretty(&nested(section, list, entry)).unwrap_or_default()
        }
    }
}

/// Formats TOML tables with the server's entry.
pub(in crate::cli) fn toml_text(section: &[impl AsRef<str>], entry: &Value) -> String {
    let text = toml::to_string(&nested(section, false, entry)).unwrap_or_default();
    text.trim_end().to_owned()
}

/// Formats YAML with the server's entry; without a section, only its fields.
pub(in crate::cli) fn yaml_text(section: &[impl AsRef<str>], list: bool, entry: &Value) -> String {
    let value = if section.is_empty() { entry.clone() } else { nested(section, list, entry) };
    serde_saphyr::to_string(&value).unwrap_or_default().trim_end().to_owned()
}

fn nested(section: &[impl AsRef<str>], list: bool, entry: &Value) -> Value {
    let servers = if list { json!([entry]) } else { json!({ SERVER_NAME: entry }) };
    section.iter().rev().fold(servers, |inner, key| json!({ key.as_ref(): inner }))
}

/// Formats a JSON document with `entry` under `section`.
pub(super) fn json_block(section: &str, entry: &ServerEntry) -> String {
    ConfigFile::new(section, entry).to_json()
}

/// Formats a JSON document for VS Code, which asks the user for the secret `id`.
pub(super) fn json_block_with_prompt(id: &str, section: &str, entry: &ServerEntry) -> String {
    let input =
        PromptedInput { kind: "promptString", id, description: "API key of PairOfCleats", password: true };
    ConfigFile { inputs: Some([input]), ..ConfigFile::new(section, entry) }.to_json()
}

/// Formats TOML tables with `entry` under `section`.
pub(super) fn toml_block(section: &str, entry: &ServerEntry) -> String {
    let text = toml::to_string(&ConfigFile::new(section, entry).sections).unwrap_or_default();
    text.trim_end().to_owned()
}

/// Formats a command line that a POSIX shell splits into exactly these words.
pub(super) fn shell_command<'a>(words: impl Iterator<Item = &'a str>) -> String {
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
