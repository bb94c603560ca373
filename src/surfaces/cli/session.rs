//! One run of the program: the app, the output, and calls that Ctrl-C cancels.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::arguments::{Cli, Command, Setting};
use super::output::Output;
use crate::app::App;
use crate::surfaces::answer;
use crate::tools::browse::browse;
use crate::tools::{self, Caller, Progress, Request, Surface, ToolSpec, View};
use contract::clock::SystemClock;
use contract::config::{self, Log};
use contract::{Envelope, ErrorCode, Fault, Refusal};
use platform::telemetry;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// It worked.
    Ok,
    /// The call ran and failed.
    Failed,
    /// It was not run: usage, configuration, refusal.
    NotRun,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::NotRun => 2,
        })
    }
}

/// Why a command stopped outside of a tool.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) fault: Fault,
    pub(super) exit: Exit,
}

impl Stopped {
    /// Nothing was run.
    pub(super) fn not_run(fault: Fault) -> Self {
        Self { fault, exit: Exit::NotRun }
    }
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        Self { fault, exit: Exit::Failed }
    }
}

/// What a command's `run` gives back.
pub(super) type Ran = Result<Exit, Stopped>;

/// A tool's answer, with the exit it means.
pub(super) struct Called {
    pub(super) envelope: Envelope,
    pub(super) exit: Exit,
}

/// What every command works with.
pub(super) struct Session {
    pub(super) app: Arc<App>,
    pub(super) output: Output,
    /// The absolute path of `--config`.
    pub(super) config_file: Option<PathBuf>,
    /// What `--set` says.
    pub(super) settings: Vec<Setting>,
}

impl Session {
    /// Reads the configuration and starts logging. Touches neither the database nor the network.
    pub(super) fn open(cli: &Cli) -> Result<Self, Fault> {
        let (config, layout) = config::load(&cli.overrides()).map_err(|error| {
            Fault::new(ErrorCode::InvalidInput, error.to_string())
                .with_hint("Correct the setting; crates/contract/src/config/defaults.toml in the sources documents every one.")
        })?;
        tenancy::check_settings(&config.indexing)?;
        telemetry::start(&log_settings(cli, &config.log));
        let program = std::env::current_exe()
            .map_err(|error| Fault::internal("The program does not find its own file.", error))?;
        let app = App::new(config, layout, Arc::new(SystemClock), program);
        let config_file = cli.global.config.as_deref().and_then(|file| std::path::absolute(file).ok());
        let settings = cli.global.set.clone();
        Ok(Self { app: Arc::new(app), output: Output::new(&cli.global), config_file, settings })
    }

    /// This machine's own user in the current directory, who sees the tools that the operator offers.
    ///
    /// # Errors
    /// `INVALID_REQUEST` when the configuration names a family of tools that there is not.
    pub(super) fn caller(&self, surface: Surface) -> Result<Caller, Fault> {
        let tools = &self.app.config.tools;
        let view = View::of(&tools.toolsets.join(","), tools.read_only)?;
        Ok(Caller { directory: std::env::current_dir().ok(), view, ..Caller::local(surface) })
    }

    /// Calls a tool as the operator in the current directory, who may use every tool; Ctrl-C cancels it.
    pub(super) async fn call(&self, tool: &str, arguments: &impl Serialize, progress: Progress) -> Called {
        let directory = std::env::current_dir().ok();
        let caller = Caller { directory, ..Caller::local(Surface::Cli) };
        self.call_as(caller, tool, arguments, progress).await
    }

    /// The same as a caller of the command's own.
    pub(super) async fn call_as(
        &self,
        caller: Caller,
        tool: &str,
        arguments: &impl Serialize,
        progress: Progress,
    ) -> Called {
        let arguments = serde_json::to_value(arguments).unwrap_or(Value::Null);
        let mut request = Request::new(tool, arguments, caller);
        request.progress = progress;
        let (request_id, cancel) = (request.caller.request_id.clone(), request.cancel.clone());
        self.answered(tools::call(&self.app, request), request_id, cancel).await
    }

    /// Runs an operation that is no tool, as [`Session::call`] runs tools.
    pub(super) async fn browse(&self, operation: &ToolSpec, arguments: &impl Serialize) -> Called {
        let caller = Caller { directory: std::env::current_dir().ok(), ..Caller::local(Surface::Cli) };
        let arguments = serde_json::to_value(arguments).unwrap_or(Value::Null);
        let request = Request::new(operation.name, arguments, caller);
        let cancel = request.cancel.clone();
        self.answered(browse(&self.app, request), None, cancel).await
    }

    async fn answered(
        &self,
        answer: impl Future<Output = Result<Envelope, Refusal>>,
        request_id: Option<String>,
        cancel: CancellationToken,
    ) -> Called {
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
                Called { envelope, exit }
            }
            Err(refusal) => {
                Called { envelope: answer::refused(&self.app, &refusal, request_id), exit: Exit::NotRun }
            }
        }
    }
}

/// Ctrl-C and SIGTERM, from the moment of [`StopSignal::install`] on.
pub(super) struct StopSignal {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
}

impl StopSignal {
    /// Takes the signals over from the system, which would end the process at once.
    pub(super) fn install() -> Self {
        let listen =
            |kind| signal(kind).inspect_err(|error| tracing::warn!(%error, "a signal cannot be caught")).ok();
        Self { interrupt: listen(SignalKind::interrupt()), terminate: listen(SignalKind::terminate()) }
    }

    /// Ends at the next of them.
    pub(super) async fn received(&mut self) {
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

/// Servers log as configured. Other commands log only errors unless `-v` asks, because a failure is
/// their answer already.
fn log_settings(cli: &Cli, configured: &Log) -> Log {
    let serves = matches!(cli.command, Command::Serve(_) | Command::Mcp(_));
    let filter = match (cli.global.verbose, serves) {
        (2.., _) | (1, true) => "debug,rmcp=error,hyper=info,h2=info".to_owned(),
        (1, false) => configured.filter.clone(),
        (0, _) if cli.global.quiet || !serves => "error".to_owned(),
        (0, _) => configured.filter.clone(),
    };
    Log { filter, format: configured.format }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn only_servers_log_without_being_asked() {
        let configured = Log { filter: "info,x=warn".into(), format: config::LogFormat::Text };
        let filter = |args: &[&str]| log_settings(&Cli::try_parse_from(args).unwrap(), &configured).filter;
        assert_eq!(filter(&["serve"]), "info,x=warn");
        assert_eq!(filter(&["serve", "-q"]), "error");
        assert_eq!(filter(&["tools"]), "error");
        assert_eq!(filter(&["tools", "-v"]), "info,x=warn");
        assert!(filter(&["tools", "-vv"]).starts_with("debug"));
    }
}
