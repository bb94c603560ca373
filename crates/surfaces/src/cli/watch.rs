//! `watch`: indexes a repository now and after every change, until Ctrl-C.

use std::sync::Mutex;
use std::sync::PoisonError;

use super::flags::{address_or_absolute, whole_number};
use super::index::{self, BuildIndex};
use super::output::{BOLD, DIM, NOTE, PATH, styled};
use super::session::{CommandError, CommandResult, Exit, Session, StopSignal, ToolAnswer};
use crate::answer;
use contract::{ErrorCode, escaped_line};
use gate::app::freshness::{RunOutcome, WatchEvent, follow};
use tenancy::{self, AllowedRoots};

/// Arguments of `watch`.
#[derive(Debug, clap::Args)]
pub(super) struct WatchArgs {
    /// Repository to watch: a directory
    #[arg(default_value = ".", value_parser = address_or_absolute)]
    path: String,
    /// Project to index into; created on first use
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Wait until no file has changed for this long before a run, in milliseconds [default: freshness.debounce_ms, 1000]
    #[arg(long, value_name = "MS", value_parser = whole_number::<u64>)]
    debounce: Option<u64>,
}

impl WatchArgs {
    /// Returns the flags as configuration settings.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        self.debounce.map(|ms| ("freshness.debounce_ms".to_owned(), ms.to_string())).into_iter().collect()
    }
}

/// Entry point of `watch`. Exits with success on a signal, and with a failure if the first run shows that no run can succeed.
pub(super) async fn run_watch(session: &Session, args: &WatchArgs) -> CommandResult {
    tenancy::require_watchable(args.path.as_ref()).map_err(CommandError::not_run)?;
    let app = &session.app;
    let mut stop = StopSignal::install();
    let directory = std::env::current_dir().ok();
    let caller = tenancy::Session { project: None, directory: directory.as_deref() };
    let resolved = tenancy::resolve(args.project.as_deref(), caller)?;
    // Check trust now: otherwise each run would be refused separately.
    if let Some(file) = &resolved.file {
        tenancy::Trust::new(&app.layout).require(file)?;
    }
    let root = AllowedRoots::for_project(&app.config.indexing, &resolved.id).check(args.path.as_ref())?;
    let runs = WatchRuns { session, args, state: Mutex::default() };
    let watching =
        follow(app, &root, &app.shutdown, |event| print_event(session, &event), || runs.run_once());
    tokio::pin!(watching);
    let outcome = tokio::select! {
        outcome = &mut watching => outcome,
        () = stop.received() => {
            // The running index job has its own signal handler and stops at the same time.
            app.shutdown.cancel();
            watching.await
        }
    };
    outcome?;
    Ok(runs.state.lock().unwrap_or_else(PoisonError::into_inner).failed_for_good.unwrap_or(Exit::Ok))
}

/// The index runs of one `watch` command.
struct WatchRuns<'a> {
    session: &'a Session,
    args: &'a WatchArgs,
    state: Mutex<WatchState>,
}

#[derive(Default)]
struct WatchState {
    count: u64,
    /// Set if the first run failed in a way that a later run cannot repair.
    failed_for_good: Option<Exit>,
}

impl WatchRuns<'_> {
    async fn run_once(&self) -> RunOutcome {
        let first = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.count += 1;
            state.count == 1
        };
        let arguments = BuildIndex {
            repo_path: &self.args.path,
            project_id: self.args.project.as_deref(),
            ..BuildIndex::default()
        };
        let called = if first {
            index::build(self.session, &arguments).await
        } else {
            index::build_quietly(self.session, &arguments).await
        };
        self.print(&called);
        let Some(error) = &called.envelope.error else {
            return if index::joined_existing_run(&called) { RunOutcome::Joined } else { RunOutcome::Done };
        };
        if self.session.app.shutdown.is_cancelled() {
            return RunOutcome::Stop;
        }
        let permanent = matches!(error.code, ErrorCode::ValidationError | ErrorCode::Forbidden);
        if first && (permanent || called.exit == Exit::NotRun) {
            self.state.lock().unwrap_or_else(PoisonError::into_inner).failed_for_good = Some(called.exit);
            return RunOutcome::Stop;
        }
        RunOutcome::from_error(error.code, error.retryable)
    }

    /// Prints the outcome of a run: as text on stderr, or with `--json` as its envelope on stdout.
    fn print(&self, called: &ToolAnswer) {
        let output = self.session.output;
        if output.json {
            output.print_line(&answer::json(&called.envelope).to_string());
        } else if let Some(result) = &called.envelope.result {
            output.print_note(index::render(result).trim_end());
        } else {
            output.failure(&called.envelope);
        }
    }
}

fn print_event(session: &Session, event: &WatchEvent) {
    let line = match event {
        WatchEvent::Watching(1) => format!("{} 1 directory; stop: Ctrl-C", styled(BOLD, "Watching")),
        WatchEvent::Watching(directories) => {
            format!("{} {directories} directories; stop: Ctrl-C", styled(BOLD, "Watching"))
        }
        WatchEvent::Polling(why, every) => format!(
            "{} every {} s, because {}",
            styled(NOTE, "Scanning the repository"),
            every.as_secs_f64(),
            escaped_line(why)
        ),
        WatchEvent::Gone(why, every) => format!(
            "{} {} {}",
            styled(NOTE, "The repository cannot be read:"),
            escaped_line(why),
            styled(DIM, &format!("(retrying every {} s)", every.as_secs_f64()))
        ),
        WatchEvent::Back => styled(PATH, "The repository is readable again."),
    };
    session.output.print_note(&line);
}
