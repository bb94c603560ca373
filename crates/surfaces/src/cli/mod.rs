//! The command line: for people, with readable output, and for scripts, with `--json`.
//!
//! Each command is one file with its arguments and its entry function. Exit codes: 0 success, 1 the call failed,
//! 2 the call was not run (usage, configuration, refusal).

mod arguments;
mod command_result;
mod flags;
mod session;
mod start_command;

pub mod clients;
pub mod shell;

mod answer_style;
mod background_run;
mod cancellable;
mod code_colours;
mod explanation;
mod filter_args;
mod hits;
mod hyperlinks;
mod install;
mod output;
mod pager;
mod places;
mod progress_bar;
mod prompt;
mod terminal;

mod agents;
mod artifact;
mod bootstrap;
mod call;
mod completions;
mod dashboard;
mod doctor;
mod grep;
mod health;
mod hook;
mod index;
mod keys;
mod mcp;
mod mcp_config;
mod models;
mod navigate;
mod project_model;
mod projects;
mod quickstart;
mod rebuild;
mod scip;
mod search;
mod serve;
mod sources;
mod tools;
mod trust;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use crate::module::Modules;
use arguments::{Cli, Command, grammar};
use contract::{ErrorCode, Fault};
use output::Output;
use platform::telemetry;
use session::{Exit, Session};

/// The time that the process waits at exit for busy blocking threads.
const THREAD_SHUTDOWN_MAX: Duration = Duration::from_secs(1);
/// The time that the process waits at exit for a model that is loading or embedding: exiting during either would crash.
const MODEL_SHUTDOWN_MAX: Duration = Duration::from_secs(20);

/// Runs the command line `arguments` (without the program's name), with the commands of these modules too.
#[must_use]
pub fn run(arguments: Vec<OsString>, modules: &'static Modules) -> ExitCode {
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let cli = match Cli::parse(modules, arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // clap reports help and version as errors too, but prints them on stdout.
            let exit = if error.use_stderr() { Exit::NotRun } else { Exit::Ok };
            if wants_json && error.use_stderr() {
                return Output { json: true, quiet: true }.fault(&usage_fault(&error), exit).into();
            }
            return error.print().map_or(ExitCode::FAILURE, |()| exit.into());
        }
    };
    if let Command::Completions(args) = &cli.command {
        return completions::print_completions(args, grammar(modules)).into();
    }
    terminal::choose_colours(cli.global.color);
    let output = Output::new(&cli.global);
    let session = match Session::open(&cli.global, &cli.overrides(), cli.serves(), modules) {
        Ok(session) => session,
        Err(fault) => return output.fault(&fault, Exit::NotRun).into(),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let fault = Fault::internal("The program could not start its worker threads.", error);
            return output.fault(&fault, Exit::NotRun).into();
        }
    };
    let exit = runtime.block_on(dispatch(session, cli.command));
    runtime.shutdown_timeout(THREAD_SHUTDOWN_MAX);
    embedding::close(MODEL_SHUTDOWN_MAX);
    telemetry::send_remaining_spans();
    exit.into()
}

/// Returns the fault for a command line that clap rejects, for `--json`.
fn usage_fault(error: &clap::Error) -> Fault {
    let text = error.render().to_string();
    // The error and clap's suggestion come first; the usage that follows belongs in the hint.
    let message = text.split("\nUsage:").next().unwrap_or_default().trim().trim_start_matches("error: ");
    let message =
        message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    Fault::new(ErrorCode::InvalidRequest, message)
        .with_hint("`pairofcleats --help` lists the commands; each command has its own --help.")
}

async fn dispatch(session: Session, command: Command) -> Exit {
    let result = match command {
        Command::Quickstart(args) => quickstart::run_quickstart(&session, args).await,
        Command::Bootstrap(args) => bootstrap::run_bootstrap(&session, args).await,
        Command::Index(args) => index::run_index(&session, &args).await,
        Command::Watch(args) => watch::run_watch(&session, &args).await,
        Command::Hook(args) => hook::print_or_install_hooks(&session, args).await,
        Command::Health(args) => health::check_health(&session, args).await,
        Command::Grep(args) => grep::run_grep(&session, &args).await,
        Command::Search(args) => search::run_search(&session, &args).await,
        Command::Refs(args) => navigate::run_navigate(&session, &args, "references").await,
        Command::Callers(args) => navigate::run_navigate(&session, &args, "callers").await,
        Command::Callees(args) => navigate::run_navigate(&session, &args, "callees").await,
        Command::Definition(args) => navigate::run_navigate(&session, &args, "definition").await,
        Command::Implementations(args) => navigate::run_navigate(&session, &args, "implementations").await,
        Command::Hierarchy(args) => navigate::run_navigate(&session, &args, "hierarchy").await,
        Command::Impact(args) => navigate::run_navigate(&session, &args, "impact").await,
        Command::Serve(args) => serve::run_serve(&session, &args).await,
        Command::Mcp(args) => mcp::serve_mcp(&session, args).await,
        Command::Install(args) => agents::install_into_agents(&session, args).await,
        Command::Uninstall(args) => agents::uninstall_from_agents(&session, args).await,
        Command::McpConfig(args) => mcp_config::print_mcp_config(&session, &args),
        Command::Call(args) => call::call_tool(&session, &args).await,
        Command::Tools(_) => tools::list_tools(&session),
        Command::Scip(args) => scip::run_scip(&session, args).await,
        Command::Trust(args) => trust::trust_session_file(&session, args).await,
        Command::Keys(args) => keys::manage_keys(&session, args).await,
        Command::Projects(args) => projects::manage_projects(&session, args).await,
        Command::Sources(args) => sources::manage_sources(&session, args).await,
        Command::Models(args) => models::manage_models(&session, args).await,
        Command::Doctor(args) => doctor::run_doctor(&session, &args).await,
        Command::Completions(args) => Ok(completions::print_completions(&args, grammar(session.modules))),
        Command::Module(call) => (call.command.run)(&session, &call.arguments).await,
    };
    session.app.finish_command().await;
    result.unwrap_or_else(|error| session.output.fault(&error.fault, error.exit))
}
