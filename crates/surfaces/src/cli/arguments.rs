//! The grammar of the command line: all commands. The flags of a command are in the file of that command.

use std::ffi::OsString;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::flags::GlobalFlags;
use super::{
    agents, bootstrap, call, completions, doctor, grep, health, hook, index, keys, mcp, mcp_config, models,
    navigate, projects, quickstart, scip, search, serve, sources, tools, trust, watch,
};
use crate::module::{ModuleCommand, Modules};
use contract::config::Overrides;

/// Semantic code search over your repositories, for people, agents (MCP) and tools (HTTP).
#[derive(Debug, Parser)]
#[command(
    name = "pairofcleats",
    bin_name = "pairofcleats",
    version,
    no_binary_name = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(after_help = "Exit codes: 0 success, 1 the call failed, 2 the call was not run.")]
struct Root {
    #[command(flatten)]
    _global: GlobalFlags,
}

/// A command line that was parsed.
#[derive(Debug)]
pub(super) struct Cli {
    pub(super) global: GlobalFlags,
    pub(super) command: Command,
}

/// The commands; the doc comment of each is its line in `--help`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Install what is needed, then index, search and serve a repository: all in one command
    Quickstart(quickstart::QuickstartArgs),
    /// Install the runtime files: Postgres with pgvector, ONNX Runtime, the embedding model
    Bootstrap(bootstrap::BootstrapArgs),
    /// Index a repository, or refresh its index
    Index(index::IndexArgs),
    /// Index a repository now and after every change, until Ctrl-C
    Watch(watch::WatchArgs),
    /// Print or install git hooks that refresh the index
    Hook(hook::HookArgs),
    /// Search indexed code
    Search(search::SearchArgs),
    /// Print every line of indexed code that matches a regular expression
    Grep(grep::GrepArgs),
    /// List where a symbol is used
    Refs(navigate::NavigateArgs),
    /// List where a function or method is called
    Callers(navigate::NavigateArgs),
    /// List what a function or method calls
    Callees(navigate::NavigateArgs),
    /// Show where a symbol is defined
    Definition(navigate::NavigateArgs),
    /// List types that implement or derive from a type, or methods that override a method
    Implementations(navigate::NavigateArgs),
    /// Show the bases of a type or method, and what derives from it
    Hierarchy(navigate::NavigateArgs),
    /// Show what a change of a symbol reaches, step by step
    Impact(navigate::NavigateArgs),
    /// Serve HTTP and MCP on this machine until Ctrl-C
    Serve(serve::ServeArgs),
    /// Serve MCP over stdin and stdout; MCP clients start this command
    Mcp(mcp::McpArgs),
    /// Write the MCP server and its instructions into the coding agents of this machine
    Install(agents::InstallArgs),
    /// Remove what `install` wrote
    Uninstall(agents::UninstallArgs),
    /// Print the configuration that connects an MCP client
    McpConfig(mcp_config::McpConfigArgs),
    /// Call any tool and print its envelope
    Call(call::CallArgs),
    /// List the tools
    Tools(tools::ToolsArgs),
    /// List projects and their contents; delete, export or import a project, or change its model
    Projects(projects::ProjectsArgs),
    /// List or sync the code hosts whose organisations are kept indexed
    Sources(sources::SourcesArgs),
    /// List and install embedding models
    Models(models::ModelsArgs),
    /// Write what the index knows of names as a SCIP file; `index --scip` reads one
    Scip(scip::ScipArgs),
    /// Let a repository's .pairofcleats.json select the project for calls that write
    Trust(trust::TrustArgs),
    /// Create, list and revoke API keys for the server
    Keys(keys::KeysArgs),
    /// Check the installation and say how to repair it
    Doctor(doctor::DoctorArgs),
    /// Check that a running server is ready; exits with 0 if it is
    Health(health::HealthArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// A command of a module
    #[command(skip)]
    Module(ModuleCall),
}

/// A command of a module, with its arguments.
#[derive(Debug)]
pub(super) struct ModuleCall {
    pub(super) command: &'static ModuleCommand,
    pub(super) arguments: ArgMatches,
}

/// Returns the grammar of the whole command line, with the commands of the modules at their places.
pub(super) fn grammar(modules: &'static Modules) -> clap::Command {
    let core = Command::augment_subcommands(clap::Command::default());
    let mut commands: Vec<clap::Command> = core.get_subcommands().cloned().collect();
    for added in modules.commands() {
        let before = commands.iter().position(|known| known.get_name() == added.after);
        commands.insert(before.map_or(commands.len(), |at| at + 1), (added.command)());
    }
    Root::command().subcommands(commands.into_iter().enumerate().map(|(place, command)| {
        // The help lists commands by this number, completions by their position.
        let command = command.display_order(place);
        match command.get_name() {
            mcp_config::NAME => mcp_config::with_toolsets(command, modules.gate()),
            _ => command,
        }
    }))
}

impl Cli {
    /// Parses a command line.
    pub(super) fn parse<T: Into<OsString> + Clone>(
        modules: &'static Modules,
        arguments: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        let matches = grammar(modules).try_get_matches_from(arguments)?;
        Self::read(modules, &matches).map_err(|error| error.format(&mut grammar(modules)))
    }

    fn read(modules: &'static Modules, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let call = matches.subcommand().and_then(|(name, arguments)| {
            let command = modules.commands().find(|command| (command.command)().get_name() == name)?;
            Some(ModuleCall { command, arguments: arguments.clone() })
        });
        Ok(Self {
            global: GlobalFlags::from_arg_matches(matches)?,
            command: match call {
                Some(call) => Command::Module(call),
                None => Command::from_arg_matches(matches)?,
            },
        })
    }

    /// Returns `true` if the command is a server.
    pub(super) fn serves(&self) -> bool {
        matches!(self.command, Command::Serve(_) | Command::Mcp(_))
    }

    /// Returns the settings given as flags; a command's own flags override `--set`.
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
            // Values use the configuration's syntax: a number, boolean or array; anything else is text.
            settings: settings
                .map(|(name, value)| {
                    let Ok(value) = value.parse();
                    (name, value)
                })
                .collect(),
        }
    }
}

#[cfg(test)]
impl Cli {
    /// Parses a command line with the modules of the tests.
    pub(super) fn try_parse_from<T: Into<OsString> + Clone>(
        arguments: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        Self::parse(&crate::modules::TEST_MODULES, arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::shell::{self, Exit};
    use crate::module::{Module, ModuleCommand};
    use crate::modules::{SEARCH, TEST_MODULES};

    #[test]
    fn clap_accepts_the_grammar() {
        grammar(&TEST_MODULES).debug_assert();
    }

    #[derive(Debug, clap::Args)]
    struct SampleArgs {
        #[command(subcommand)]
        _step: SampleStep,
    }

    #[derive(Debug, Subcommand)]
    enum SampleStep {
        Pack { _name: String },
    }

    static SAMPLE: Module = Module {
        commands: &[ModuleCommand {
            command: || shell::command::<SampleArgs>("sample", "A sample"),
            run: |_, _| Box::pin(async { Ok(Exit::Ok) }),
            after: "scip",
        }],
        ..Module::new(&gate::module::Module::EMPTY)
    };
    static WITH_SAMPLE: Modules = Modules::new(&[&SEARCH, &SAMPLE]);

    #[test]
    fn commands_of_modules_are_at_their_places() {
        let grammar = grammar(&WITH_SAMPLE);
        let names: Vec<&str> = grammar.get_subcommands().map(clap::Command::get_name).collect();
        let at = names.iter().position(|known| *known == "sample").unwrap();
        assert_eq!((names[at - 1], names[at + 1]), ("scip", "trust"));
        assert_eq!(names.last(), Some(&"completions"));
    }

    #[test]
    fn a_command_of_a_module_has_the_global_flags_and_its_own() {
        let cli = Cli::parse(&WITH_SAMPLE, ["sample", "pack", "f", "--json", "-v"]).unwrap();
        assert!(cli.global.json && cli.global.verbose == 1 && !cli.serves());
        let Command::Module(call) = cli.command else { panic!() };
        assert_eq!((call.command.command)().get_name(), "sample");
        assert_eq!(call.arguments.subcommand_name(), Some("pack"));
        let error = Cli::parse(&WITH_SAMPLE, ["sample", "pak"]).unwrap_err().to_string();
        assert!(error.contains("'pack'") && error.contains("pairofcleats sample"), "{error}");
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
}
