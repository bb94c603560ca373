//! The command line's grammar: global flags and the commands; each command's own flags stand in its file.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Parser, Subcommand};

use super::{
    bench, bootstrap, call, completions, doctor, health, hook, index, keys, mcp, mcp_config, models,
    projects, quickstart, search, serve, tools, triage, trust, watch,
};
use contract::config::Overrides;

/// Semantic code search over your repositories, for people, agents (MCP) and tools (HTTP).
#[derive(Debug, Parser)]
#[command(
    name = "pairofcleats",
    bin_name = "pairofcleats",
    version,
    no_binary_name = true,
    arg_required_else_help = true
)]
#[command(after_help = "Exit codes: 0 it worked, 1 the call failed, 2 it was not run.")]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// Flags of every command.
#[derive(Debug, clap::Args)]
pub(super) struct Global {
    /// Data directory [env: PAIROFCLEATS_HOME] [default: the platform's data directory]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global")]
    pub(super) home: Option<PathBuf>,
    /// Configuration file instead of HOME/config.toml
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global")]
    pub(super) config: Option<PathBuf>,
    /// Set one configuration value, for example `--set search.top_default=5`
    #[arg(long, global = true, value_name = "SECTION.KEY=VALUE", help_heading = "Global", value_parser = setting)]
    pub(super) set: Vec<Setting>,
    /// Print the answer's envelope as one line of JSON
    #[arg(long, global = true, help_heading = "Global")]
    pub(super) json: bool,
    /// Print no progress and no notes
    #[arg(short, long, global = true, help_heading = "Global")]
    pub(super) quiet: bool,
    /// Log more on stderr; twice for debug
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Global")]
    pub(super) verbose: u8,
}

/// One configuration value by its dotted name.
pub(super) type Setting = (String, String);

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Install what is needed, index a repository, search it and serve it: everything in one command
    Quickstart(quickstart::Args),
    /// Install the runtime files: Postgres with pgvector, ONNX Runtime, the embedding model
    Bootstrap(bootstrap::Args),
    /// Index a repository, or refresh its index
    Index(index::Args),
    /// Index a repository, and again whenever it changed, until Ctrl-C
    Watch(watch::Args),
    /// Print or install git hooks that refresh the index
    Hook(hook::Args),
    /// Search indexed code
    Search(search::Args),
    /// Serve HTTP and MCP on this machine until Ctrl-C
    Serve(serve::Args),
    /// Serve MCP on stdin and stdout; started by an MCP client
    Mcp(mcp::Args),
    /// Print the configuration that connects an MCP client
    McpConfig(mcp_config::Args),
    /// Call any tool and print its envelope
    Call(call::Args),
    /// List the tools
    Tools(tools::Args),
    /// List the projects and what they hold; delete, export, import one; give one another model
    Projects(projects::Args),
    /// List and install embedding models
    Models(models::Args),
    /// Security findings: ingest reports, decide, gather context
    Triage(triage::Args),
    /// Let a repository's .pairofcleats.json choose the project of calls that write
    Trust(trust::Args),
    /// Make, list and revoke API keys of the server
    Keys(keys::Args),
    /// Check the installation and say how to mend it
    Doctor(doctor::Args),
    /// Ask a running server whether it can answer; exits 0 if so
    Health(health::Args),
    /// Measure quality and speed on repositories with known answers
    Bench(bench::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
}

impl Cli {
    /// What the flags say about configuration; a command's own flags beat `--set`.
    pub(super) fn overrides(&self) -> Overrides {
        let own = match &self.command {
            Command::Serve(args) => args.settings(),
            Command::Mcp(args) => args.settings(),
            Command::Quickstart(args) => args.settings(),
            Command::Watch(args) => args.settings(),
            _ => Vec::new(),
        };
        let settings = self.global.set.iter().cloned().chain(own);
        Overrides {
            home: self.global.home.clone(),
            config_file: self.global.config.clone(),
            // The configuration's own value syntax: numbers, booleans, arrays, else text.
            settings: settings
                .map(|(name, value)| {
                    let Ok(value) = value.parse();
                    (name, value)
                })
                .collect(),
        }
    }
}

fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((name, value)) if name.contains('.') => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("write it as section.key=value".to_owned()),
    }
}

/// An absolute path without links, for paths that a tool gets: it does not know our directory.
pub(super) fn absolute(text: &str) -> Result<String, String> {
    let path = Path::new(text);
    // A path that does not exist is sent as it is meant, so that the tool says so.
    let path =
        path.canonicalize().or_else(|_| std::path::absolute(path)).map_err(|error| error.to_string())?;
    path.into_os_string().into_string().map_err(|_| "the path is not UTF-8".to_owned())
}

/// An indexed repository: a folder that exists as its absolute path, anything else as its name.
pub(super) fn repository(text: &str) -> Result<String, String> {
    if text.contains('/') || Path::new(text).is_dir() { absolute(text) } else { Ok(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_grammar_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn settings_are_typed_and_need_a_section() {
        let cli = Cli::try_parse_from(["tools", "--set", "search.top_default=5", "--set", "log.filter=info"]);
        let settings = cli.unwrap().overrides().settings;
        assert_eq!(serde_json::to_value(&settings[0].1).unwrap(), 5);
        assert_eq!(serde_json::to_value(&settings[1].1).unwrap(), "info");
        assert!(Cli::try_parse_from(["tools", "--set", "nonsense"]).is_err());
        assert!(Cli::try_parse_from(["tools", "--set", "port=1"]).is_err());
    }

    #[test]
    fn a_commands_own_flag_comes_last() {
        let cli = Cli::try_parse_from(["serve", "--set", "server.port=1", "--port", "2"]).unwrap();
        let settings = serde_json::to_value(cli.overrides().settings).unwrap();
        assert_eq!(settings, serde_json::json!([["server.port", 1], ["server.port", 2]]));
    }

    #[test]
    fn relative_paths_become_absolute() {
        assert!(absolute(".").unwrap().starts_with('/'));
        assert!(absolute("no/such/dir").unwrap().ends_with("/no/such/dir"));
        assert!(repository("src").unwrap().starts_with('/') && repository("./x").unwrap().starts_with('/'));
        assert_eq!(repository("no-such-folder").unwrap(), "no-such-folder");
    }
}
