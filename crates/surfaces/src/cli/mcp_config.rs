//! `mcp-config`: prints the configuration block that connects an MCP client.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use serde::Serialize;

use super::clients::{
    AGENT_INSTRUCTIONS, CLIENTS, Client, ClientSetup, DEFAULT_TOOLSETS, Format, HttpSupport, Transport,
};
use super::output::{BOLD, Output, styled};
use super::session::{CommandError, CommandResult, Session};
use super::start_command::{StartCommand, start_command};

use contract::config::{Server, default_home, environment_variables, path_variable};
use contract::{ErrorCode, Fault, ProjectId};
use gate::module::Modules;
use gate::tools::{EVERY_TOOLSET, ToolVisibility};

/// The name of the command.
pub(super) const NAME: &str = "mcp-config";
/// The argument that prints the agent instructions instead of a client's block.
const AGENTS_ARGUMENT: &str = "agents";
/// The note for every server that a client starts itself.
const ENVIRONMENT_NOTE: &str = "Clients pass on little of your environment: put what DATABASE_URL or PAIROFCLEATS_… variables set into \
    config.toml in the data directory.";
/// Settings in the environment whose names do not start with the program's.
const OTHER_SETTINGS: [&str; 2] = ["DATABASE_URL", "ORT_DYLIB_PATH"];

/// Arguments of `mcp-config`.
#[derive(Debug, clap::Args)]
pub(super) struct McpConfigArgs {
    /// Client to connect
    #[arg(value_parser = client_names())]
    client: String,
    /// Connect to a running server instead of starting one [default: the address of `serve` on this machine]
    #[arg(long, value_name = "URL", value_parser = parse_server_url)]
    http: Option<Option<String>>,
    /// Send an API key from the client's own secret store; the block never contains a key
    #[arg(long, requires = "http")]
    key: bool,
    /// Project for calls that name none
    #[arg(long, value_name = "ID", value_parser = parse_project)]
    project: Option<String>,
    /// Offer only these toolsets, separated by commas, or `all` [default: search,index]
    // The grammar adds the parser: it needs the modules.
    #[arg(long, value_name = "LIST")]
    toolsets: Option<String>,
    /// Offer only tools that do not write
    #[arg(long)]
    read_only: bool,
}

/// Adds the parser of `--toolsets` to the grammar of the command.
pub(super) fn with_toolsets(command: clap::Command, modules: &'static Modules) -> clap::Command {
    command.mut_args(|argument| match argument.get_id().as_str() {
        "toolsets" => argument.value_parser(move |text: &str| parse_toolsets(modules, text)),
        _ => argument,
    })
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
struct ConfigBlock<'a> {
    client: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    file: String,
    text: String,
}

/// Entry point of `mcp-config`. Prints only the block on stdout, so that it can be redirected into a file; the instructions go
/// to stderr.
pub(super) fn print_mcp_config(session: &Session, args: &McpConfigArgs) -> CommandResult {
    // The argument parser accepts only the table's clients and `agents`.
    let Some(client) = Client::find(&args.client) else {
        return print_agent_instructions(session, args);
    };
    let installation = Installation::new(session);
    let url = match &args.http {
        Some(Some(url)) => Some(url.clone()),
        Some(None) => Some(local_server_url(&session.app.config.server)?),
        None => None,
    };
    let setup = ClientSetup {
        transport: url
            .as_deref()
            .map_or(installation.transport(), |url| Transport::Http { url, key: args.key }),
        project: args.project.as_deref(),
        toolsets: Some(args.toolsets.as_deref().unwrap_or(DEFAULT_TOOLSETS))
            .filter(|list| *list != EVERY_TOOLSET),
        read_only: args.read_only,
    };
    let transport = Some(if url.is_some() { "http" } else { "stdio" });
    let block = ConfigBlock { client: client.id, transport, file: client.file(), text: client.block(&setup) };
    if !session.output.json {
        print_instructions(session.output, client, &setup);
        if let Some(reason) = installation.reason().filter(|_| url.is_none()) {
            session.output.print_note(&format!("Note: {reason}."));
        }
    }
    Ok(session.print_result(&block, &format!("{}\n", block.text)))
}

fn print_agent_instructions(session: &Session, args: &McpConfigArgs) -> CommandResult {
    if args.http.is_some() || args.project.is_some() || args.toolsets.is_some() || args.read_only {
        let fault = Fault::new(ErrorCode::InvalidInput, "`mcp-config agents` takes no options.")
            .with_hint("Name a client to print a block with these options.");
        return Err(CommandError::not_run(fault));
    }
    let file = "AGENTS.md or CLAUDE.md in the repository".to_owned();
    if !session.output.json {
        session.output.print_note(&format!("{} {file}", styled(BOLD, "Add to")));
    }
    let text = AGENT_INSTRUCTIONS.trim_end().to_owned();
    let block = ConfigBlock { client: AGENTS_ARGUMENT, transport: None, file, text };
    Ok(session.print_result(&block, &format!("{}\n", block.text)))
}

/// Prints on stderr where the block goes and what remains to be done.
fn print_instructions(output: Output, client: &Client, setup: &ClientSetup<'_>) {
    let verb = match client.format {
        Format::Sh => "Run in",
        Format::Json | Format::Yaml => "Merge into",
        Format::Toml => "Append to",
    };
    output.print_note(&styled(BOLD, &format!("{}. {verb}", client.name)));
    for (scope, file) in client.places {
        output.print_note(&format!("  {scope}: {file}"));
    }
    if let Some(most) = client.tools_max {
        output.print_note(&format!(
            "It shows at most {most} tools of all servers together; limit ours with --toolsets."
        ));
    }
    if let Transport::Http { key, .. } = setup.transport {
        if let HttpSupport::Bridge(why) = client.http_support {
            output.print_note(why);
        }
        if key {
            output.print_note(client.key_note);
        }
    } else {
        output.print_note(ENVIRONMENT_NOTE);
    }
}

/// The way in which a client starts this installation: the program and the paths that differ from the defaults.
pub(super) struct Installation {
    start: StartCommand,
    home: Option<PathBuf>,
    config: Option<PathBuf>,
}

impl Installation {
    pub(super) fn new(session: &Session) -> Self {
        let home = session.app.layout.home();
        Self {
            start: start_command(
                &std::env::current_exe().unwrap_or_else(|_| "pairofcleats".into()),
                uv_cache().as_deref(),
            ),
            home: (home != default_home()).then(|| home.to_owned()),
            config: session.config_file.clone(),
        }
    }

    pub(super) fn transport(&self) -> Transport<'_> {
        Transport::Stdio {
            program: &self.start.command,
            arguments: self.start.arguments,
            home: self.home.as_deref(),
            config: self.config.as_deref(),
        }
    }

    /// Returns the reason why clients start a command other than the path of the running program.
    pub(super) fn reason(&self) -> Option<&'static str> {
        self.start.reason
    }

    /// Formats a command of this program for the same data directory, as a user types it.
    pub(super) fn command_line(&self, command: &str) -> String {
        let mut words = vec!["pairofcleats".to_owned()];
        if !self.start.arguments.is_empty() {
            words = vec![self.start.command.display().to_string()];
            words.extend(self.start.arguments.iter().map(|&word| word.to_owned()));
        }
        words.push(command.to_owned());
        if let Some(home) = &self.home {
            words.push(format!("--home {}", home.display()));
        }
        words.join(" ")
    }
}

/// Returns the cache of uv, if it was moved. Links are resolved, because the path of the running program has none.
fn uv_cache() -> Option<PathBuf> {
    let cache = path_variable("UV_CACHE_DIR")?;
    cache.canonicalize().ok().filter(|cache| cache != Path::new("/"))
}

/// Returns the names of the environment variables whose settings a client does not pass on. If `passes_home` is set, the data
/// directory is passed on as an argument.
pub(super) fn settings_not_passed_on(passes_home: bool) -> Vec<String> {
    let is_setting = |name: &String| match name.strip_prefix("PAIROFCLEATS_") {
        Some("HOME") => !passes_home,
        Some(setting) => setting.contains("__") || setting == "MCP_TRANSPORT",
        None => OTHER_SETTINGS.contains(&name.as_str()),
    };
    environment_variables().into_keys().filter(is_setting).collect()
}

/// Returns the URL of `/mcp` on this machine's server.
fn local_server_url(server: &Server) -> Result<String, CommandError> {
    if server.port == 0 {
        let fault = Fault::new(
            ErrorCode::InvalidInput,
            "With server.port = 0 the port is known only once the server runs.",
        )
        .with_hint("Pass the URL that `serve` prints: --http URL.");
        return Err(CommandError::not_run(fault));
    }
    let tls = server.tls_certificate.is_some();
    let bound = match server.bind.trim_start_matches('[').trim_end_matches(']') {
        "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        ipv6 if ipv6.contains(':') => format!("[{ipv6}]"),
        host => host.to_owned(),
    };
    // A certificate is valid for a host name, so prefer the configured one; without TLS the address is enough.
    let host = server.hosts.first().filter(|_| tls).unwrap_or(&bound);
    Ok(format!("{}://{host}:{}/mcp", if tls { "https" } else { "http" }, server.port))
}

fn client_names() -> PossibleValuesParser {
    let clients = CLIENTS.iter().map(|client| PossibleValue::new(client.id).help(client.name));
    let agents = PossibleValue::new(AGENTS_ARGUMENT)
        .help("Instructions for AGENTS.md or CLAUDE.md: when to use which tool");
    PossibleValuesParser::new(clients.chain([agents]))
}

/// Parses the URL of `/mcp`; appends the path to a bare origin.
fn parse_server_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let plain = |char: char| char.is_ascii_graphic() && !"\"'\\<>`".contains(char);
    match rest {
        Some(rest) if !rest.is_empty() && rest.chars().all(plain) => {
            let origin = text.trim_end_matches('/');
            Ok(if rest.trim_end_matches('/').contains('/') {
                text.to_owned()
            } else {
                format!("{origin}/mcp")
            })
        }
        _ => Err("write it as http://HOST:PORT/mcp; the client's name goes before --http".to_owned()),
    }
}

fn parse_project(text: &str) -> Result<String, String> {
    ProjectId::parse(text).map(|_| text.to_owned()).map_err(|error| error.constraint.to_owned())
}

/// Checks a list of toolsets and removes its spaces, because some clients split arguments at spaces.
fn parse_toolsets(modules: &Modules, text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("name at least one".to_owned());
    }
    ToolVisibility::parse(modules, text, false)
        .map(|_| text.replace(' ', ""))
        .map_err(|fault| [fault.message, fault.hint.unwrap_or_default()].join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::TEST_MODULES;
    use contract::config::{Overrides, load};

    #[test]
    fn urls_are_completed_and_nothing_else_passes() {
        for (given, taken) in [
            ("http://127.0.0.1:7171/mcp", "http://127.0.0.1:7171/mcp"),
            ("https://code.example.com", "https://code.example.com/mcp"),
            ("https://code.example.com/", "https://code.example.com/mcp"),
            ("https://example.com/code/mcp", "https://example.com/code/mcp"),
        ] {
            assert_eq!(parse_server_url(given).as_deref(), Ok(taken));
        }
        for wrong in ["vscode", "http://", "ftp://x/mcp", "http://x/m cp", "http://x/\"mcp", "http://x/\nmcp"]
        {
            assert!(parse_server_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn this_machines_server_is_reached_where_it_listens() {
        let home = tempfile::tempdir().unwrap();
        let (config, _) =
            load(&Overrides { home: Some(home.path().to_owned()), ..Overrides::default() }).unwrap();
        let mut server = config.server;
        let at = |server: &Server| local_server_url(server).map_err(|stopped| stopped.fault.message);
        for (bind, url) in [
            ("127.0.0.1", "http://127.0.0.1:81/mcp"),
            ("localhost", "http://localhost:81/mcp"),
            ("0.0.0.0", "http://127.0.0.1:81/mcp"),
            ("::", "http://[::1]:81/mcp"),
            ("[::1]", "http://[::1]:81/mcp"),
            ("::1", "http://[::1]:81/mcp"),
        ] {
            (server.bind, server.port) = (bind.to_owned(), 81);
            assert_eq!(at(&server).as_deref(), Ok(url), "{bind}");
        }
        (server.tls_certificate, server.bind) = (Some("/c.pem".into()), "0.0.0.0".to_owned());
        assert_eq!(at(&server).as_deref(), Ok("https://127.0.0.1:81/mcp"));
        server.hosts = vec!["code.example.com".to_owned()];
        assert_eq!(at(&server).as_deref(), Ok("https://code.example.com:81/mcp"));
        server.port = 0;
        assert!(at(&server).is_err());
    }

    #[test]
    fn lists_and_ids_are_checked_before_they_are_written_down() {
        let parse_toolsets = |text: &str| super::parse_toolsets(TEST_MODULES.gate(), text);
        assert!(
            parse_toolsets(DEFAULT_TOOLSETS).is_ok()
                && parse_toolsets(EVERY_TOOLSET).is_ok()
                && parse_project("client-a").is_ok()
        );
        assert_eq!(parse_toolsets("search, index").as_deref(), Ok("search,index"));
        assert!(parse_toolsets("serach").unwrap_err().contains("The toolsets are: search"));
        assert!(parse_toolsets(" ").is_err() && parse_project("Client A").is_err());
    }
}
