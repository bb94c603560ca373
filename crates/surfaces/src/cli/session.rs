//! The context of one command: the app, the output, and tool calls that Ctrl-C cancels.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgMatches, Args, FromArgMatches};
use serde::Serialize;
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::flags::{GlobalFlags, Setting};
use super::output::Output;
use super::terminal::Terminal;
use crate::answer;
use crate::module::Modules;
use contract::clock::SystemClock;
use contract::config::{self, Log, Overrides};
use contract::{Envelope, ErrorCode, Fault, Refusal};
use gate::app::App;
use gate::app::freshness::check_revisions;
use gate::tools::browse::browse;
use gate::tools::{self, Caller, Progress, Request, Surface, ToolSpec, ToolVisibility};
use platform::telemetry;

pub(super) use super::command_result::{CommandError, CommandResult, Exit, ToolAnswer};

/// The context of every command.
pub struct Session {
    /// The application.
    pub app: Arc<App>,
    /// The modules of the program.
    pub modules: &'static Modules,
    /// The output format.
    pub output: Output,
    /// The capabilities of stdout.
    pub terminal: Terminal,
    /// The absolute path given by `--config`.
    pub config_file: Option<PathBuf>,
    /// The settings given by `--set`: their names and their values.
    pub settings: Vec<Setting>,
}

impl Session {
    /// Reads the configuration and starts logging, as a server if `serves`. Touches neither the database nor the network.
    pub(super) fn open(
        flags: &GlobalFlags,
        overrides: &Overrides,
        serves: bool,
        modules: &'static Modules,
    ) -> Result<Self, Fault> {
        let (config, layout) = config::load(overrides).map_err(|error| {
            Fault::new(ErrorCode::InvalidInput, error.to_string())
                .with_hint("Correct the setting. crates/contract/src/config/defaults.toml in the source code documents every setting.")
        })?;
        tenancy::check_root_settings(&config.indexing)?;
        tenancy::check_watch_settings(&config.freshness)?;
        mirrors::check_git_settings(&config.git)?;
        code_hosts::check_sources(&config.sources)?;
        modules.gate().check_settings(&config)?;
        check_revisions(&config.sources)?;
        let terminal = Terminal::new(flags, &config.terminal)?;
        telemetry::start_logging(&log_settings(flags, serves, &config.log));
        let program = std::env::current_exe()
            .map_err(|error| Fault::internal("The path of the running program is unknown.", error))?;
        let app = App::new(config, layout, Arc::new(SystemClock), program, modules.gate());
        let config_file = flags.config.as_deref().and_then(|file| std::path::absolute(file).ok());
        let settings = flags.set.clone();
        Ok(Self { app: Arc::new(app), modules, output: Output::new(flags), terminal, config_file, settings })
    }

    /// Returns the operator in the current directory, limited to the tools that the configuration enables.
    ///
    /// # Errors
    /// `INVALID_REQUEST` if the configuration names an unknown toolset.
    pub(super) fn caller(&self, surface: Surface) -> Result<Caller, Fault> {
        let tools = &self.app.config.tools;
        let visibility = ToolVisibility::parse(self.app.modules, &tools.toolsets.join(","), tools.read_only)?;
        Ok(Caller { directory: std::env::current_dir().ok(), visibility, ..Caller::local(surface) })
    }

    /// Calls a tool as the operator in the current directory, with every tool visible. Ctrl-C cancels the call.
    pub async fn call(&self, tool: &str, arguments: &impl Serialize, progress: Progress) -> ToolAnswer {
        let directory = std::env::current_dir().ok();
        let caller = Caller { directory, ..Caller::local(Surface::Cli) };
        self.call_as(caller, tool, arguments, progress).await
    }

    /// Like [`Session::call`], with a caller that the command chooses.
    pub(super) async fn call_as(
        &self,
        caller: Caller,
        tool: &str,
        arguments: &impl Serialize,
        progress: Progress,
    ) -> ToolAnswer {
        let arguments = serde_json::to_value(arguments).unwrap_or(Value::Null);
        let mut request = Request::new(tool, arguments, caller);
        request.progress = progress;
        let (request_id, cancel) = (request.caller.request_id.clone(), request.cancel.clone());
        self.await_or_cancel(tools::call(&self.app, request), request_id, cancel).await
    }

    /// Like [`Session::call`], for an operation that is not a tool.
    pub async fn browse(&self, operation: &ToolSpec, arguments: &impl Serialize) -> ToolAnswer {
        let caller = Caller { directory: std::env::current_dir().ok(), ..Caller::local(Surface::Cli) };
        let arguments = serde_json::to_value(arguments).unwrap_or(Value::Null);
        let request = Request::new(operation.name, arguments, caller);
        let cancel = request.cancel.clone();
        self.await_or_cancel(browse(&self.app, request), None, cancel).await
    }

    /// Prints the result of a command that is not a tool call: its envelope with `--json`, else `text`.
    pub fn print_result(&self, result: &impl Serialize, text: &str) -> Exit {
        if self.output.json {
            let result = serde_json::to_value(result).unwrap_or_default();
            self.output.print_line(&answer::json(&answer::succeeded(&self.app, result, None)).to_string());
        } else {
            self.output.print_text(text);
        }
        Exit::Ok
    }

    async fn await_or_cancel(
        &self,
        answer: impl Future<Output = Result<Envelope, Refusal>>,
        request_id: Option<String>,
        cancel: CancellationToken,
    ) -> ToolAnswer {
        let mut stop = StopSignal::install();
        tokio::pin!(answer);
        let outcome = tokio::select! {
            outcome = &mut answer => outcome,
            () = stop.received() => {
                cancel.cancel();
                answer.await
            }
        };
        match outcome {
            Ok(envelope) => {
                let exit = if envelope.ok { Exit::Ok } else { Exit::Failed };
                ToolAnswer { envelope, exit }
            }
            Err(refusal) => {
                ToolAnswer { envelope: answer::refused(&self.app, &refusal, request_id), exit: Exit::NotRun }
            }
        }
    }
}

/// Returns the grammar of a module's command, with its line in `--help`.
#[must_use]
pub fn command<A: Args>(name: &'static str, about: &'static str) -> clap::Command {
    A::augment_args(clap::Command::default().name(name)).about(about)
}

/// Reads the arguments of a module's command from what its grammar accepted.
///
/// # Errors
/// `INTERNAL` if the grammar is that of other arguments.
pub fn parsed<A: FromArgMatches>(matches: &ArgMatches) -> Result<A, CommandError> {
    A::from_arg_matches(matches)
        .map_err(|error| CommandError::not_run(Fault::internal("The arguments could not be read.", error)))
}

/// Receives SIGINT (Ctrl-C) and SIGTERM.
pub struct StopSignal {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
}

impl StopSignal {
    /// Replaces the default action of both signals, which would end the process at once.
    #[must_use]
    pub fn install() -> Self {
        let listen =
            |kind| signal(kind).inspect_err(|error| tracing::warn!(%error, "a signal cannot be caught")).ok();
        Self { interrupt: listen(SignalKind::interrupt()), terminate: listen(SignalKind::terminate()) }
    }

    /// Waits for the next signal.
    pub async fn received(&mut self) {
        async fn next(signal: &mut Option<Signal>) {
            let caught = match signal {
                Some(signal) => signal.recv().await,
                None => None,
            };
            if caught.is_none() {
                std::future::pending().await
            }
        }
        tokio::select! {
            () = next(&mut self.interrupt) => {}
            () = next(&mut self.terminate) => {}
        }
    }
}

/// Without flags, servers log as configured, and other commands log errors only, because they print their result themselves.
/// `-q`: errors only. `-v`: servers at level debug, other commands as configured. `-vv`: everything at level debug.
fn log_settings(flags: &GlobalFlags, serves: bool, configured: &Log) -> Log {
    let filter = match (flags.verbose, serves) {
        (2.., _) | (1, true) => "debug,rmcp=error,hyper=info,h2=info".to_owned(),
        (1, false) => configured.filter.clone(),
        (0, _) if flags.quiet || !serves => "error".to_owned(),
        (0, _) => configured.filter.clone(),
    };
    let traces_url = configured.traces_url.clone().filter(|_| serves);
    Log { filter, format: configured.format, traces_url }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::arguments::Cli;

    #[test]
    fn without_flags_only_servers_log_more_than_errors() {
        let configured =
            Log { filter: "info,x=warn".into(), format: config::LogFormat::Text, traces_url: None };
        let filter = |args: &[&str]| {
            let cli = Cli::try_parse_from(args).unwrap();
            log_settings(&cli.global, cli.serves(), &configured).filter
        };
        assert_eq!(filter(&["serve"]), "info,x=warn");
        assert_eq!(filter(&["serve", "-q"]), "error");
        assert_eq!(filter(&["tools"]), "error");
        assert_eq!(filter(&["tools", "-v"]), "info,x=warn");
        assert!(filter(&["tools", "-vv"]).starts_with("debug"));
    }
}
