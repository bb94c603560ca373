//! `mcp-config`: the block that connects an MCP client, ready to paste.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use serde::Serialize;

use super::clients::{AGENTS, CLIENTS, Client, Format, Reach, Remote, Setup, TOOLSETS};
use super::output::{BOLD, Output, styled};
use super::session::{Exit, Ran, Session, Stopped};
use crate::surfaces::answer;
use crate::tools::{EVERY_TOOLSET, View};
use contract::config::{Server, default_home};
use contract::{ErrorCode, Fault, ProjectId};

/// In place of a client: lines for the agent itself.
const FOR_AGENTS: &str = "agents";
/// Said of every server that a client starts.
const ENVIRONMENT: &str = "Clients pass little of your environment on: what DATABASE_URL or PAIROFCLEATS_… set belongs into \
    config.toml of the data directory.";

/// Arguments of `mcp-config`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The client to connect
    #[arg(value_parser = names())]
    client: String,
    /// Reach a running server instead of starting one [default: where `serve` listens on this machine]
    #[arg(long, value_name = "URL", value_parser = server_url)]
    http: Option<Option<String>>,
    /// Send an API key, taken from where the client keeps secrets; the block never holds one
    #[arg(long, requires = "http")]
    key: bool,
    /// Project of calls that name none
    #[arg(long, value_name = "ID", value_parser = project)]
    project: Option<String>,
    /// Offer only the tools of these toolsets, with commas between, or `all` [default: search,index]
    #[arg(long, value_name = "LIST", value_parser = toolsets)]
    toolsets: Option<String>,
    /// Leave out tools that write
    #[arg(long)]
    read_only: bool,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    client: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    file: String,
    text: String,
}

/// Runs the command: the block alone on stdout, so that it can go into a file; where it belongs on stderr.
pub(super) fn run(session: &Session, args: &Args) -> Ran {
    // The grammar lets no other name than `agents` through that is not in the table.
    let Some(client) = Client::find(&args.client) else {
        return for_agents(session, args);
    };
    let installation = Installation::of(session);
    let url = match &args.http {
        Some(Some(url)) => Some(url.clone()),
        Some(None) => Some(here(&session.app.config.server)?),
        None => None,
    };
    let setup = Setup {
        reach: url.as_deref().map_or(installation.reach(), |url| Reach::Http { url, key: args.key }),
        project: args.project.as_deref(),
        toolsets: Some(args.toolsets.as_deref().unwrap_or(TOOLSETS)).filter(|list| *list != EVERY_TOOLSET),
        read_only: args.read_only,
    };
    let transport = Some(if url.is_some() { "http" } else { "stdio" });
    let shown = Shown { client: client.id, transport, file: client.file(), text: client.block(&setup) };
    if !session.output.json {
        explain(session.output, client, &setup);
    }
    Ok(print(session, shown))
}

fn for_agents(session: &Session, args: &Args) -> Ran {
    if args.http.is_some() || args.project.is_some() || args.toolsets.is_some() || args.read_only {
        let fault = Fault::new(ErrorCode::InvalidInput, "`mcp-config agents` takes no options of its own.")
            .with_hint("Name a client to make a block with them.");
        return Err(Stopped::not_run(fault));
    }
    let file = "AGENTS.md or CLAUDE.md of the repository".to_owned();
    if !session.output.json {
        session.output.note(&format!("{} {file}", styled(BOLD, "Goes into")));
    }
    Ok(print(
        session,
        Shown { client: FOR_AGENTS, transport: None, file, text: AGENTS.trim_end().to_owned() },
    ))
}

fn print(session: &Session, shown: Shown<'_>) -> Exit {
    if session.output.json {
        let result = serde_json::to_value(shown).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, result, None)).to_string());
    } else {
        session.output.line(&shown.text);
    }
    Exit::Ok
}

/// Says on stderr where the block goes and what is left to do.
fn explain(output: Output, client: &Client, setup: &Setup<'_>) {
    let verb = match client.format {
        Format::Sh => "Run in",
        Format::Json => "Merge into",
        Format::Toml => "Append to",
    };
    output.note(&styled(BOLD, &format!("{}. {verb}", client.name)));
    for (whom, place) in client.places {
        output.note(&format!("  {whom}: {place}"));
    }
    if let Some(most) = client.tools_max {
        output.note(&format!("It shows {most} tools of all its servers together; --toolsets chooses ours."));
    }
    if let Reach::Http { key, .. } = setup.reach {
        if let Remote::Bridge(why) = client.remote {
            output.note(why);
        }
        if key {
            output.note(client.key);
        }
    } else {
        output.note(ENVIRONMENT);
    }
}

/// What this installation is started by, as clients have to start it.
pub(super) struct Installation {
    program: PathBuf,
    home: Option<PathBuf>,
    config: Option<PathBuf>,
}

impl Installation {
    pub(super) fn of(session: &Session) -> Self {
        let home = session.app.layout.home();
        Self {
            program: std::env::current_exe().unwrap_or_else(|_| "pairofcleats".into()),
            home: (home != default_home()).then(|| home.to_owned()),
            config: session.config_file.clone(),
        }
    }

    pub(super) fn reach(&self) -> Reach<'_> {
        Reach::Stdio { program: &self.program, home: self.home.as_deref(), config: self.config.as_deref() }
    }
}

/// Where `serve` is reached from this machine.
fn here(server: &Server) -> Result<String, Stopped> {
    if server.port == 0 {
        let fault = Fault::new(
            ErrorCode::InvalidInput,
            "With server.port = 0 the port is known only once it is served.",
        )
        .with_hint("Give the URL that `serve` prints: --http URL.");
        return Err(Stopped::not_run(fault));
    }
    let tls = server.tls_certificate.is_some();
    let bound = match server.bind.trim_start_matches('[').trim_end_matches(']') {
        "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        six if six.contains(':') => format!("[{six}]"),
        host => host.to_owned(),
    };
    // A certificate is for a name, which the operator has told; without one nobody minds the address.
    let host = server.hosts.first().filter(|_| tls).unwrap_or(&bound);
    Ok(format!("{}://{host}:{}/mcp", if tls { "https" } else { "http" }, server.port))
}

fn names() -> PossibleValuesParser {
    let clients = CLIENTS.iter().map(|client| PossibleValue::new(client.id).help(client.name));
    let agents =
        PossibleValue::new(FOR_AGENTS).help("Lines for AGENTS.md or CLAUDE.md: when to use which tool");
    PossibleValuesParser::new(clients.chain([agents]))
}

/// The URL of `/mcp`; a bare origin is completed.
fn server_url(text: &str) -> Result<String, String> {
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
        _ => Err("write it as http://HOST:PORT/mcp; the client's name stands before --http".to_owned()),
    }
}

fn project(text: &str) -> Result<String, String> {
    ProjectId::parse(text).map(|_| text.to_owned()).map_err(|error| error.constraint.to_owned())
}

/// A list as servers take it, without the spaces at which some clients tear arguments apart.
fn toolsets(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("name at least one".to_owned());
    }
    let known = View::of(text, false);
    known
        .map(|_| text.replace(' ', ""))
        .map_err(|fault| [fault.message, fault.hint.unwrap_or_default()].join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::config::{Overrides, load};

    #[test]
    fn urls_are_completed_and_nothing_else_passes() {
        for (given, taken) in [
            ("http://127.0.0.1:7171/mcp", "http://127.0.0.1:7171/mcp"),
            ("https://code.example.com", "https://code.example.com/mcp"),
            ("https://code.example.com/", "https://code.example.com/mcp"),
            ("https://example.com/code/mcp", "https://example.com/code/mcp"),
        ] {
            assert_eq!(server_url(given).as_deref(), Ok(taken));
        }
        for wrong in ["vscode", "http://", "ftp://x/mcp", "http://x/m cp", "http://x/\"mcp", "http://x/\nmcp"]
        {
            assert!(server_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn this_machines_server_is_reached_where_it_listens() {
        let home = tempfile::tempdir().unwrap();
        let (config, _) =
            load(&Overrides { home: Some(home.path().to_owned()), ..Overrides::default() }).unwrap();
        let mut server = config.server;
        let at = |server: &Server| here(server).map_err(|stopped| stopped.fault.message);
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
        assert!(toolsets(TOOLSETS).is_ok() && toolsets(EVERY_TOOLSET).is_ok() && project("client-a").is_ok());
        assert_eq!(toolsets("search, index").as_deref(), Ok("search,index"));
        assert!(toolsets("serach").unwrap_err().contains("The toolsets are: search"));
        assert!(toolsets(" ").is_err() && project("Client A").is_err());
    }
}
