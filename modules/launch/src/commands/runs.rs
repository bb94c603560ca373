//! `start`, `status`, `list` and the other commands about runs. Each calls tools, so the gate applies its permissions.

use std::io::{IsTerminal, Read as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Value, json};

use super::run_text;
use crate::tools::{ArtifactBytes, READ_LAUNCH_ARTIFACT};
use contract::{ErrorBody, ErrorCode, Fault, escaped, escaped_line};
use gate::tools::Progress;
use surfaces::cli::shell::{
    CallProgressBar, CommandError, CommandResult, Exit, Session, StopSignal, ToolAnswer, whole_number_in,
};

/// Poll interval for a run that another process advances.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// Size limit of a configuration file.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Which project's runs.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
pub(super) struct ProjectArg {
    /// Project of the run [default: as configured, else the default workspace]
    #[arg(long, value_name = "ID")]
    #[serde(rename = "project_id", skip_serializing_if = "Option::is_none")]
    project: Option<String>,
}

/// Arguments of `launch start`.
#[derive(Debug, clap::Args)]
pub(super) struct StartArgs {
    /// Configuration of the run: a JSON file, - for stdin, or the address of a repository on GitHub or of a page of a product, which tell
    /// the configuration
    #[arg(value_name = "FILE|-|URL")]
    source: String,
    /// Site that gets the pages [default: as the configuration says, else the only one of the project]
    #[arg(long, value_name = "NAME")]
    site: Option<String>,
    /// Key under which the run is started once, however often the command runs
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Only start the run; a server, or `launch resume`, continues it
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    project: ProjectArg,
}

/// Arguments of the commands that need no more than a run, and of their tools.
#[derive(Debug, Clone, clap::Args, Serialize)]
pub(super) struct RunArgs {
    /// ID of the run
    #[serde(rename = "run_id")]
    run: String,
    #[command(flatten)]
    #[serde(flatten)]
    project: ProjectArg,
}

/// Arguments of `launch list`.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Only runs of this product
    #[arg(long, value_name = "SLUG")]
    product: Option<String>,
    /// Only runs in this state, such as READY_FOR_PR
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Most runs [default: 50]
    #[arg(long, value_name = "N", value_parser = |text: &str| whole_number_in(text, &(1..=200_u32)))]
    limit: Option<u32>,
    #[command(flatten)]
    project: ProjectArg,
}

/// Arguments of `launch artifact`.
#[derive(Debug, clap::Args)]
pub(super) struct ArtifactArgs {
    /// ID of the run
    run: String,
    /// Name of the artifact, as `launch status` lists it
    name: String,
    /// File to write [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    project: ProjectArg,
}

/// `launch start`: starts a run and, unless that is disabled, continues it until a human decision is needed.
pub(super) async fn start(session: &Session, args: StartArgs) -> CommandResult {
    let source = RunSource::of(&args.source);
    let mut arguments = serde_json::to_value(&args.project).unwrap_or_default();
    match source {
        RunSource::Config => {
            let mut config = read_config(&args.source).map_err(CommandError::not_run)?;
            if let (Some(site), Some(fields)) = (&args.site, config.as_object_mut()) {
                fields.insert("site_profile".to_owned(), site.as_str().into());
            }
            arguments["run_config"] = config;
        }
        RunSource::Repository | RunSource::Page => {
            arguments[if source == RunSource::Repository { "github_repo_url" } else { "url" }] =
                args.source.as_str().into();
            if let Some(site) = &args.site {
                arguments["site_profile"] = site.as_str().into();
            }
        }
    }
    if let Some(key) = args.key {
        arguments["idempotency_key"] = key.into();
    }
    let bar = CallProgressBar::new(session.output);
    let started = session.call(source.tool(), &arguments, bar.progress()).await;
    bar.finish();
    let run = started.envelope.result.as_ref().and_then(|result| result["run_id"].as_str());
    let Some(run) = run.filter(|_| !args.no_wait) else {
        return Ok(print_answer(session, &started, run_text::started));
    };
    session.output.print_note(&format!("Started {}", escaped_line(run)));
    let run = RunArgs { run: run.to_owned(), project: args.project };
    let finished = drive(session, &run).await;
    Ok(print_answer(session, &finished, run_text::status))
}

/// The source from which a run is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunSource {
    /// A configuration in a file.
    Config,
    /// The address of a repository.
    Repository,
    /// The address of another page, which may be that of a product.
    Page,
}

impl RunSource {
    fn of(source: &str) -> Self {
        let lower = source.to_ascii_lowercase();
        match lower.split_once("://") {
            None => Self::Config,
            Some((_, rest)) if rest.split('/').next() == Some("github.com") => Self::Repository,
            Some(_) => Self::Page,
        }
    }

    fn tool(self) -> &'static str {
        match self {
            Self::Config => "launch_start_run",
            Self::Repository => "launch_start_run_from_github_repo_url",
            Self::Page => "launch_start_run_from_product_url",
        }
    }
}

/// Prints the answer of a command that works on a run or waits for it. A failed run is a failure of the command, so that a script
/// sees it in the exit status.
fn print_answer(session: &Session, called: &ToolAnswer, render: fn(&Value) -> String) -> Exit {
    let exit = session.output.answer(called, render);
    if called.envelope.result.as_ref().is_some_and(has_failed) { Exit::Failed } else { exit }
}

/// Returns `true` if the run of an answer failed.
fn has_failed(result: &Value) -> bool {
    result["status"]["state"] == "FAILED" || result["state"] == "FAILED"
}

/// Continues a run until it needs a person or an index run.
async fn drive(session: &Session, run: &RunArgs) -> ToolAnswer {
    let mut before = None;
    loop {
        let bar = CallProgressBar::new(session.output);
        let called = session.call("launch_resume", run, bar.progress()).await;
        bar.finish();
        if let Some(result) = &called.envelope.result {
            let state = state_of(result);
            // A run whose state stays the same would be resumed forever.
            if state == before || rests(&result["status"]) {
                return called;
            }
            before = state;
            continue;
        }
        let Some(error) = &called.envelope.error else { return called };
        let obstacle = Obstacle::of(error);
        if obstacle == Obstacle::Failure {
            return called;
        }
        // While another process continues the run, keep asking until the user stops.
        if obstacle == Obstacle::Ended || !pause().await {
            return session.call("launch_get_status", run, Progress::default()).await;
        }
    }
}

/// The reason why a run was not continued.
#[derive(Debug, PartialEq, Eq)]
enum Obstacle {
    /// Another process is continuing it.
    Held,
    /// It has ended meanwhile.
    Ended,
    /// An error that the user has to see.
    Failure,
}

impl Obstacle {
    fn of(error: &ErrorBody) -> Self {
        // Only a refusal names the required state; other faults with this code concern the site or the log of the run.
        let is_refusal = error.details.as_ref().is_some_and(|details| details.get("required").is_some());
        match error.code {
            ErrorCode::IllegalState if error.retryable => Self::Held,
            ErrorCode::IllegalState if is_refusal => Self::Ended,
            _ => Self::Failure,
        }
    }
}

fn state_of(result: &Value) -> Option<String> {
    result["status"]["state"].as_str().map(str::to_owned)
}

/// Returns `true` if only people, or an index run, can make the run go on.
fn rests(status: &Value) -> bool {
    let state = status["state"].as_str().unwrap_or_default();
    matches!(state, "READY_FOR_PR" | "DONE" | "FAILED" | "CANCELLED") || status.get("pending").is_some()
}

/// Waits for one interval; returns `false` if the user wants to stop.
async fn pause() -> bool {
    let mut stop = StopSignal::install();
    tokio::select! {
        () = stop.received() => false,
        () = tokio::time::sleep(WATCH_INTERVAL) => true,
    }
}

/// `launch watch`: prints each state of a run for as long as a process advances it.
pub(super) async fn watch(session: &Session, run: &RunArgs) -> CommandResult {
    let mut before = None;
    loop {
        let called = session.call("launch_get_status", run, Progress::default()).await;
        let Some(result) = &called.envelope.result else {
            return Ok(print_answer(session, &called, run_text::status));
        };
        let state = state_of(result);
        if state != before {
            session.output.print_note(&escaped_line(state.as_deref().unwrap_or_default()));
            before = state;
        }
        let status = &result["status"];
        let is_over = matches!(status["state"].as_str(), Some("DONE" | "FAILED" | "CANCELLED"));
        let mut jobs = status["jobs"].as_array().into_iter().flatten();
        let is_held = jobs.any(|job| matches!(job["state"].as_str(), Some("queued" | "running")));
        if is_over || !(is_held || status.get("pending").is_some()) || !pause().await {
            return Ok(print_answer(session, &called, run_text::status));
        }
    }
}

/// `launch status`.
pub(super) async fn status(session: &Session, run: &RunArgs) -> CommandResult {
    let called = session.call("launch_get_status", run, Progress::default()).await;
    Ok(session.output.answer(&called, run_text::status))
}

/// `launch list`.
pub(super) async fn list(session: &Session, args: &ListArgs) -> CommandResult {
    let mut filter = serde_json::Map::new();
    for (name, value) in [("product_slug", &args.product), ("state", &args.state)] {
        if let Some(value) = value {
            filter.insert(name.to_owned(), value.as_str().into());
        }
    }
    let mut arguments = serde_json::to_value(&args.project).unwrap_or_default();
    arguments["filter"] = filter.into();
    if let Some(limit) = args.limit {
        arguments["limit"] = limit.into();
    }
    let called = session.call("launch_list_runs", &arguments, Progress::default()).await;
    Ok(session.output.answer(&called, run_text::list))
}

/// `launch artifact`: writes the bytes of an artifact to a file or to stdout.
pub(super) async fn artifact(session: &Session, args: &ArtifactArgs) -> CommandResult {
    let mut arguments = serde_json::to_value(&args.project).unwrap_or_default();
    arguments["run_id"] = args.run.as_str().into();
    arguments["artifact_name"] = args.name.as_str().into();
    let called = session.browse(READ_LAUNCH_ARTIFACT, &arguments).await;
    let Some(result) = called.envelope.result.as_ref().filter(|_| !session.output.json || args.out.is_some())
    else {
        return Ok(session.output.answer(&called, |_| String::new()));
    };
    let malformed = |error: String| Fault::internal("The artifact could not be read.", error);
    let artifact: ArtifactBytes =
        serde_json::from_value(result.clone()).map_err(|error| malformed(error.to_string()))?;
    let bytes = STANDARD.decode(&artifact.content).map_err(|error| malformed(error.to_string()))?;
    match &args.out {
        Some(file) => {
            std::fs::write(file, &bytes).map_err(|error| unwritable(file, &error))?;
            let written = json!({ "file": file, "bytes": bytes.len(), "sha256": artifact.sha256 });
            let text = format!("{} bytes in {}\n", bytes.len(), escaped_line(&file.to_string_lossy()));
            Ok(session.print_result(&written, &text))
        }
        None => Ok(print_bytes(session, &bytes)),
    }
}

fn unwritable(file: &std::path::Path, error: &std::io::Error) -> Fault {
    let shown = escaped_line(&file.to_string_lossy());
    Fault::new(ErrorCode::InvalidRequest, format!("`{shown}` cannot be written: {error}."))
        .with_hint("Name a file in a folder that exists and may be written.")
}

/// Prints bytes: unchanged into a pipe, without control characters on a terminal.
fn print_bytes(session: &Session, bytes: &[u8]) -> Exit {
    let stdout = std::io::stdout();
    if stdout.is_terminal() {
        session.terminal.print(session.output, &escaped(&String::from_utf8_lossy(bytes)));
        return Exit::Ok;
    }
    let mut stdout = stdout.lock();
    // A reader that closed the pipe is not a failure of the command.
    if let Err(error) = stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        tracing::debug!(%error, "output could not be written");
    }
    Exit::Ok
}

/// `launch validate`, `fix`, `resume`, `cancel` and `pr`: calls a tool that changes a run, and prints its answer with `render`.
pub(super) async fn change(
    session: &Session,
    tool: &str,
    run: &RunArgs,
    render: fn(&Value) -> String,
) -> CommandResult {
    let bar = CallProgressBar::new(session.output);
    let called = session.call(tool, run, bar.progress()).await;
    bar.finish();
    let exit = print_answer(session, &called, render);
    // As with `launch check`, the exit status shows a script whether the pages pass.
    let report = called.envelope.result.as_ref().map(|result| &result["validation_report"]["ok"]);
    Ok(if tool == "launch_validate" && report == Some(&Value::Bool(false)) { Exit::Failed } else { exit })
}

fn read_config(source: &str) -> Result<Value, Fault> {
    let unreadable = |error: &dyn std::fmt::Display| {
        let message = format!("The configuration cannot be read: {error}.");
        Fault::new(ErrorCode::InvalidRequest, message)
            .with_hint("Name a JSON file, or - for stdin; docs/launch.md describes the configuration.")
    };
    let mut text = String::new();
    let read = match source {
        "-" => std::io::stdin().take(CONFIG_BYTES_MAX).read_to_string(&mut text),
        file => {
            std::fs::File::open(file).and_then(|file| file.take(CONFIG_BYTES_MAX).read_to_string(&mut text))
        }
    };
    read.map_err(|error| unreadable(&error))?;
    serde_json::from_str(&text).map_err(|error| unreadable(&format_args!("it is not valid JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_rests_where_people_decide() {
        for state in ["READY_FOR_PR", "DONE", "FAILED", "CANCELLED"] {
            assert!(rests(&json!({ "state": state })), "{state}");
        }
        assert!(!rests(&json!({ "state": "PLAN_READY" })));
        assert!(rests(&json!({ "state": "CREATED", "pending": "it is not indexed yet" })));
    }

    #[test]
    fn a_failed_run_is_distinguished_from_others() {
        for result in [json!({ "status": { "state": "FAILED" } }), json!({ "state": "FAILED" })] {
            assert!(has_failed(&result), "{result}");
        }
        for result in
            [json!({ "status": { "state": "READY_FOR_PR" } }), json!({ "state": "DONE" }), json!({})]
        {
            assert!(!has_failed(&result), "{result}");
        }
    }

    #[test]
    fn only_a_refusal_is_replaced_by_the_status() {
        let obstacle = |code, retryable, details: Value| {
            let (message, details) = (String::new(), Some(details));
            Obstacle::of(&ErrorBody { code, message, retryable, hint: None, details })
        };
        let required = json!({ "required": "a state that is not terminal" });
        assert_eq!(obstacle(ErrorCode::IllegalState, true, required.clone()), Obstacle::Held);
        assert_eq!(obstacle(ErrorCode::IllegalState, false, required), Obstacle::Ended);
        let missing = json!({ "worktree_missing": true });
        assert_eq!(obstacle(ErrorCode::IllegalState, false, missing), Obstacle::Failure);
        assert_eq!(obstacle(ErrorCode::FixExhausted, false, json!({})), Obstacle::Failure);
    }

    #[test]
    fn flags_become_the_tools_arguments() {
        let project = ProjectArg { project: Some("p".to_owned()) };
        let run = RunArgs { run: "r_1".to_owned(), project };
        assert_eq!(serde_json::to_value(&run).unwrap(), json!({ "run_id": "r_1", "project_id": "p" }));
        let run = RunArgs { project: ProjectArg::default(), ..run };
        assert_eq!(serde_json::to_value(run).unwrap(), json!({ "run_id": "r_1" }));
    }

    #[test]
    fn addresses_are_distinguished_from_files() {
        for (source, expected) in [
            ("run.json", RunSource::Config),
            ("-", RunSource::Config),
            ("github.com/acme/shop", RunSource::Config),
            ("https://github.com/acme/shop", RunSource::Repository),
            ("HTTPS://GitHub.com/acme/shop", RunSource::Repository),
            ("https://docs.aspose.org/3d/en/python/", RunSource::Page),
            ("https://github.com.evil.example/acme/shop", RunSource::Page),
        ] {
            assert_eq!(RunSource::of(source), expected, "{source}");
        }
    }

    #[test]
    fn a_configuration_is_json() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "{\"a\": 1}").unwrap();
        assert_eq!(read_config(file.path().to_str().unwrap()).unwrap(), json!({ "a": 1 }));
        std::fs::write(&file, "a: 1").unwrap();
        for bad in [file.path().to_str().unwrap(), "/no/such/file"] {
            assert_eq!(read_config(bad).unwrap_err().code, ErrorCode::InvalidRequest, "{bad}");
        }
    }
}
