//! The command line: for people, with readable output, and for scripts, with `--json`.
//!
//! A command is one file with its arguments and its `run`. Exit codes: 0 it worked, 1 the call failed,
//! 2 it was not run (usage, configuration, refusal).

mod arguments;
mod session;

pub mod clients;

mod bars;
mod behind;
mod filter_args;
mod hits;
mod install;
mod output;

mod bench;
mod bootstrap;
mod call;
mod completions;
mod doctor;
mod health;
mod hook;
mod index;
mod keys;
mod mcp;
mod mcp_config;
mod models;
mod project_model;
mod projects;
mod quickstart;
mod rebuild;
mod search;
mod serve;
mod tools;
mod triage;
mod trust;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use arguments::{Cli, Command};
use contract::{ErrorCode, Fault};
use output::Output;
use session::{Exit, Session};

/// How long blocking threads that are still busy may hold the process up at its end.
const THREADS_END_MAX: Duration = Duration::from_secs(1);
/// How long a model that is being loaded, or a text that is being embedded, may: a process that ended meanwhile would crash.
const MODEL_ENDS_MAX: Duration = Duration::from_secs(20);

/// Runs the command line `arguments` (without the program's name).
#[must_use]
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors and go to stdout; clap knows which is which.
            let exit = if error.use_stderr() { Exit::NotRun } else { Exit::Ok };
            if wants_json && error.use_stderr() {
                return Output { json: true, quiet: true }.fault(&misused(&error), exit).into();
            }
            return error.print().map_or(ExitCode::FAILURE, |()| exit.into());
        }
    };
    if let Command::Completions(args) = &cli.command {
        return completions::run(args).into();
    }
    let output = Output::new(&cli.global);
    let session = match Session::open(&cli) {
        Ok(session) => session,
        Err(fault) => return output.fault(&fault, Exit::NotRun).into(),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let fault = Fault::internal("The program could not start its threads.", error);
            return output.fault(&fault, Exit::NotRun).into();
        }
    };
    let exit = runtime.block_on(dispatch(session, cli.command));
    runtime.shutdown_timeout(THREADS_END_MAX);
    embedding::close(MODEL_ENDS_MAX);
    exit.into()
}

/// A command line that cannot be read, for a script.
fn misused(error: &clap::Error) -> Fault {
    let text = error.render().to_string();
    // Behind what is wrong and the nearest right word come the usage and a pointer to the help.
    let said = text.split("\nUsage:").next().unwrap_or_default().trim().trim_start_matches("error: ");
    let said = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    Fault::new(ErrorCode::InvalidRequest, said)
        .with_hint("`pairofcleats --help` lists the commands, and each has a --help.")
}

async fn dispatch(session: Session, command: Command) -> Exit {
    let ran = match command {
        Command::Quickstart(args) => quickstart::run(&session, args).await,
        Command::Bootstrap(args) => bootstrap::run(&session, args).await,
        Command::Index(args) => index::run(&session, &args).await,
        Command::Watch(args) => watch::run(&session, &args).await,
        Command::Hook(args) => hook::run(&session, args).await,
        Command::Health(args) => health::run(&session, args).await,
        Command::Search(args) => search::run(&session, &args).await,
        Command::Serve(_) => serve::run(&session).await,
        Command::Mcp(args) => mcp::run(&session, args).await,
        Command::McpConfig(args) => mcp_config::run(&session, &args),
        Command::Call(args) => call::run(&session, &args).await,
        Command::Tools(_) => tools::run(&session),
        Command::Triage(args) => triage::run(&session, &args).await,
        Command::Trust(args) => trust::run(&session, args).await,
        Command::Keys(args) => keys::run(&session, args).await,
        Command::Projects(args) => projects::run(&session, args).await,
        Command::Models(args) => models::run(&session, args).await,
        Command::Bench(args) => bench::run(&session, args).await,
        Command::Doctor(args) => doctor::run(&session, &args).await,
        Command::Completions(args) => Ok(completions::run(&args)),
    };
    ran.unwrap_or_else(|stopped| session.output.fault(&stopped.fault, stopped.exit))
}
