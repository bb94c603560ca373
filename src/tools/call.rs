//! The one gate for every surface: known? enabled? shape? admitted? then run, time, catch, wrap.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::context::{Call, Caller, Progress};
use super::list::{LIST, find};
use super::schema::{InputSchema, nearest};
use super::spec::ToolSpec;
use crate::app::App;
use crate::contract::{Envelope, ErrorCode, Fault, Refusal, Violation};

/// One call as a surface hands it over.
pub struct Request {
    /// The tool's name.
    pub tool: String,
    /// Its arguments: an object; null counts as the empty object.
    pub arguments: Value,
    /// Who asks and from where.
    pub caller: Caller,
    /// Fires when the client cancels or leaves.
    pub cancel: CancellationToken,
    /// Where progress goes.
    pub progress: Progress,
}

impl Request {
    /// A call by `caller` that nobody cancels and whose progress nobody wants.
    #[must_use]
    pub fn new(tool: impl Into<String>, arguments: Value, caller: Caller) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            caller,
            cancel: CancellationToken::new(),
            progress: Progress::default(),
        }
    }
}

/// Runs one call. Success and failure are both an envelope; only a call that was not run is `Err`.
///
/// # Errors
/// The [`Refusal`] says why the call was not run.
pub async fn call(app: &Arc<App>, request: Request) -> Result<Envelope, Refusal> {
    let started = app.clock.instant();
    let Request { tool, arguments, caller, cancel, progress } = request;
    let spec = known(&tool)?;
    if caller.read_only && !spec.effects.read_only {
        return Err(Refusal::Disabled(format!("`{tool}` writes, and this server is read-only.")));
    }
    let arguments = shaped(spec, arguments)?;
    let admission = app.queues.admit(spec.bulkhead).await?;

    // A child token: the client's cancel reaches the tool, a timeout does not reach the client's.
    let call = Call::new(Arc::clone(app), caller, cancel.child_token(), progress);
    let outcome = run(spec, call.clone(), arguments, spec.timeout.millis(&app.config)).await;
    drop(admission);

    let meta = call.meta(started);
    Ok(match outcome {
        Ok(result) => {
            log(spec, started, app, None);
            Envelope::success(result, meta)
        }
        Err(fault) => {
            log(spec, started, app, Some(&fault));
            Envelope::failure(&fault, meta)
        }
    })
}

fn known(name: &str) -> Result<&'static ToolSpec, Refusal> {
    find(name).ok_or_else(|| Refusal::UnknownTool {
        name: name.to_owned(),
        nearest: nearest(name, LIST.iter().map(|tool| tool.name))
            .and_then(|near| LIST.iter().map(|tool| tool.name).find(|known| *known == near)),
    })
}

/// The arguments, checked against the input schema. A null field counts as absent, because many
/// clients fill optional fields that way.
fn shaped(spec: &ToolSpec, arguments: Value) -> Result<Value, Refusal> {
    let arguments = match arguments {
        Value::Null => Value::Object(Map::new()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().filter(|(_, value)| !value.is_null()).collect())
        }
        other => other,
    };
    let violations = match input_schema(spec) {
        Ok(schema) => schema.violations(&arguments),
        Err(defect) => vec![Violation {
            instance_path: String::new(),
            schema_path: "#".into(),
            keyword: "schema".into(),
            params: Value::Null,
            message: format!("The input schema of `{}` is malformed: {defect}.", spec.name),
        }],
    };
    if violations.is_empty() { Ok(arguments) } else { Err(Refusal::InvalidArguments(violations)) }
}

/// The compiled input schema of a tool; compiled once a process.
fn input_schema(spec: &ToolSpec) -> Result<&'static InputSchema, &'static str> {
    static COMPILED: OnceLock<HashMap<&'static str, Result<InputSchema, String>>> = OnceLock::new();
    let compiled = COMPILED
        .get_or_init(|| LIST.iter().map(|tool| (tool.name, InputSchema::compile((tool.input)()))).collect());
    match compiled.get(spec.name) {
        Some(Ok(schema)) => Ok(schema),
        Some(Err(defect)) => Err(defect),
        None => Err("the tool is not in the list"),
    }
}

/// Runs the tool in a task of its own, so that a panic is an answer and a dropped caller cancels it.
async fn run(spec: &ToolSpec, call: Call, arguments: Value, limit_ms: Option<u64>) -> Result<Value, Fault> {
    let cancel = call.cancel.clone();
    let _cancel_if_dropped = cancel.clone().drop_guard();
    let mut task = tokio::spawn((spec.run)(call, arguments));
    let deadline = async {
        match limit_ms {
            Some(limit) => tokio::time::sleep(Duration::from_millis(limit)).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        finished = &mut task => finished.unwrap_or_else(|error| Err(panicked(spec, error))),
        () = cancel.cancelled() => {
            stop(task).await;
            Err(Fault::new(ErrorCode::Cancelled, "The call was cancelled."))
        }
        () = deadline => {
            cancel.cancel();
            stop(task).await;
            Err(Fault::new(ErrorCode::ToolTimeout, format!("`{}` took longer than it may.", spec.name))
                .with_details(serde_json::json!({ "timeoutMs": limit_ms }))
                .with_hint("Narrow the call, or raise its limit in the `[timeouts]` section of the configuration."))
        }
    }
}

/// Gives a cancelled tool a moment to put its work down, then aborts it.
async fn stop(mut task: tokio::task::JoinHandle<Result<Value, Fault>>) {
    if tokio::time::timeout(Duration::from_secs(2), &mut task).await.is_err() {
        task.abort();
    }
}

fn panicked(spec: &ToolSpec, error: tokio::task::JoinError) -> Fault {
    Fault::internal(format!("`{}` failed unexpectedly.", spec.name), error)
        .with_details(serde_json::json!({ "cause_class": "panic" }))
}

/// The one place where a failed call is logged, and its one line where it succeeded.
fn log(spec: &ToolSpec, started: Instant, app: &App, fault: Option<&Fault>) {
    let ms = app.clock.instant().duration_since(started).as_millis();
    match fault {
        None => tracing::debug!(tool = spec.name, ms, "{} answered", spec.name),
        Some(fault) => {
            let cause = fault.source.as_deref().map(ToString::to_string);
            if fault.code == ErrorCode::Internal {
                tracing::error!(tool = spec.name, ms, code = %fault.code, cause, "{} failed: {}", spec.name, fault.message);
            } else {
                tracing::info!(tool = spec.name, ms, code = %fault.code, cause, "{} failed: {}", spec.name, fault.message);
            }
        }
    }
}
