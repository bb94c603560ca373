//! The gate that every call passes, whatever its surface: rate limit, tool, scope, arguments; then a slot in the queue, the tool
//! under a time limit, the envelope, and the log.

use std::any::Any;
use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use super::context::{Call, Caller, Progress, ProgressUpdate};
use super::event_sink::EventSink;
use super::list::Toolbox;
use super::long_texts::LongTexts;
use super::next::AnsweredCall;
use super::spec::ToolSpec;
use super::violation;
use crate::app::{Admission, App, Bulkhead, CallSlot};
use crate::module::EndedCall;
use contract::{
    ECHO_CHARS_MAX, Envelope, ErrorCode, Fault, Meta, ProjectId, Refusal, Violation, Warning, echo,
    escape_invisible,
};
use platform::telemetry::{RunKind, join_trace};
use store::AuditEntry;

/// One call as a surface receives it.
pub struct Request {
    /// The tool's name or alias.
    pub tool: String,
    /// Its arguments: an object; null means an empty object.
    pub arguments: Value,
    /// Identity and origin of the caller.
    pub caller: Caller,
    /// Fires when the client cancels the call or disconnects.
    pub cancel: CancellationToken,
    /// Receives progress updates.
    pub progress: Progress,
    /// Receives the events of an operation that answers as a stream.
    pub events: EventSink,
}

impl Request {
    /// A call that cannot be cancelled and does not report progress.
    #[must_use]
    pub fn new(tool: impl Into<String>, arguments: Value, caller: Caller) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            caller,
            cancel: CancellationToken::new(),
            progress: Progress::default(),
            events: EventSink::default(),
        }
    }
}

/// Runs one call of a standard tool. Success and failure are both an envelope; `Err` means that the tool was not run.
///
/// # Errors
/// The [`Refusal`] says why the call was not run.
pub async fn call(app: &Arc<App>, request: Request) -> Result<Envelope, Refusal> {
    app.modules.tools().call(app, request).await
}

impl Toolbox {
    /// Runs one call of a tool in this toolbox; see [`call`].
    ///
    /// # Errors
    /// As [`call`].
    pub async fn call(&self, app: &Arc<App>, request: Request) -> Result<Envelope, Refusal> {
        let started = app.clock.instant();
        let Request { tool, arguments, caller, cancel, progress, events } = request;
        let query = audited_query(app, &arguments);
        let mut record = CallRecord { tool, query, caller: caller.clone(), started };
        let accepted = || {
            app.limits.admit(&caller.principal, started)?;
            let spec = self.find_callable(&record.tool, &app.config, &caller)?;
            Ok((spec, self.checked_arguments(spec, arguments)?))
        };
        let (spec, arguments) = accepted().inspect_err(|refusal| record.record_refusal(app, refusal))?;
        let alias =
            (record.tool != spec.name).then(|| std::mem::replace(&mut record.tool, spec.name.to_owned()));
        let mut answered = AnsweredCall::new(spec, &arguments, &caller);

        let deadline = CallDeadline::from_now(spec.time_limit(&app.config));
        let running = RunningCall::new(app);
        // A child token: cancelling the client's token cancels the tool, but a timeout does not cancel the client's token.
        let cancel = cancel.child_token();
        let progress = progress.until_cancelled(cancel.clone());
        let mut call = Call::new(Arc::clone(app), caller, cancel, progress, !spec.effects.read_only);
        call.events = events;
        warn_of_alias(&call, alias, spec);
        // If the client disconnects, this future is dropped. The task runs on until the tool has stopped and the call is
        // logged; only then is its slot free.
        let _cancel_if_dropped = call.cancel.clone().drop_guard();
        let (app, mut task_call) = (Arc::clone(app), call.clone());
        let span = span_of(spec, &call);
        let work = async move {
            let _running = running;
            let long_texts = LongTexts::collect(&arguments);
            let mut outcome = match wait_in_queue(spec, &arguments, &task_call, deadline).await {
                QueueOutcome::Admitted(admission) => {
                    task_call.slot = CallSlot::new(admission);
                    let tool = (spec.run)(task_call.clone(), arguments);
                    let outcome = supervise(spec, &task_call.cancel, tool, deadline).await;
                    task_call.slot.release();
                    outcome
                }
                QueueOutcome::Stopped(fault) => Err(fault),
                QueueOutcome::Refused(refusal) => {
                    record.record_refusal(&app, &refusal);
                    return Err(refusal);
                }
            };
            let had_invisible =
                outcome.as_mut().is_ok_and(escape_invisible) || task_call.events.had_invisible();
            if had_invisible {
                let message = "The text contains invisible characters; they are shown as \\u{…}.";
                task_call.warn(Warning::new("invisible_characters", message));
            }
            let mut meta = task_call.meta(started);
            if task_call.caller.surface.is_local() {
                outcome = outcome.map_err(Fault::for_local_caller);
            }
            if let Err(fault) = &mut outcome {
                fault.escape_invisible();
                long_texts.shorten(fault);
                // The message already quotes a long path.
                meta.repo = meta.repo.filter(|repo| repo.chars().nth(ECHO_CHARS_MAX).is_none());
            }
            record.record_result(&app, spec, outcome.as_ref().err(), &meta);
            answered.look_around(&task_call, outcome.as_ref()).await;
            let next = answered.next(&app, outcome.as_ref(), &meta, &task_call.suggestion());
            let envelope = match outcome {
                Ok(result) => Envelope::success(result, meta),
                Err(fault) => Envelope::failure(&fault, meta),
            };
            Ok(answered.with_next(envelope.with_run_id(task_call.run_id()), next))
        };
        tokio::spawn(Box::pin(work).instrument(span)).await.unwrap_or_else(|error| {
            let envelope = Envelope::failure(&panic_fault(spec, error), call.meta(started));
            Ok(envelope.with_run_id(call.run_id()))
        })
    }

    /// Checks the arguments against the input schema and normalises them: a null field counts as absent, because many
    /// clients fill optional fields with null, `27.0` counts as the integer 27, as in JSON Schema, and the case of a
    /// value from a list of values does not count.
    pub(super) fn checked_arguments(&self, spec: &ToolSpec, arguments: Value) -> Result<Value, Refusal> {
        let mut arguments = match arguments {
            Value::Null => Value::Object(Map::new()),
            Value::Object(fields) => {
                let present = fields.into_iter().filter(|(_, value)| !value.is_null());
                Value::Object(present.map(|(name, value)| (name, integral_as_integer(value))).collect())
            }
            other => other,
        };
        let violations = match self.schema(spec) {
            Ok(schema) => {
                schema.fold_choices(&mut arguments);
                let mut violations = schema.violations(&arguments);
                if violations.is_empty() && !spec.accepts_nul {
                    violations.extend(violation::nul_violation(&arguments));
                }
                violations
            }
            Err(defect) => vec![Violation {
                instance_path: String::new(),
                schema_path: "#".into(),
                keyword: "schema".into(),
                params: Value::Null,
                message: format!("The input schema of `{}` is malformed: {defect}.", spec.name),
                value: None,
            }],
        };
        if violations.is_empty() { Ok(arguments) } else { Err(Refusal::InvalidArguments(violations)) }
    }
}

/// The fault of a malformed `project_id`, so that no tool begins its work before it is found.
fn malformed_project(arguments: &Value) -> Option<Fault> {
    let id = arguments.get("project_id").and_then(Value::as_str)?;
    ProjectId::parse(id).err().map(Fault::from)
}

/// Returns the span of a call. `call` is an id of its own, because clients number their requests alike; `queued` is the id of a job that
/// the call leaves to a worker.
fn span_of(spec: &ToolSpec, call: &Call) -> Span {
    let id = format!("{:016x}", getrandom::u64().unwrap_or_default());
    let (surface, request) = (call.caller.surface.as_str(), call.caller.request_id.as_deref());
    let queued = tracing::field::Empty;
    // Of level error, so that warnings name their call whatever `log.filter` selects.
    let span = tracing::error_span!("call", call = id, tool = spec.name, surface, request, queued);
    if let Some(parent) = &call.caller.trace_parent {
        join_trace(&span, parent);
    }
    span
}

/// The text of a query, if the audit log keeps it.
fn audited_query(app: &App, arguments: &Value) -> Option<String> {
    let query = arguments.get("query").and_then(Value::as_str).filter(|_| app.config.audit.queries);
    query.map(|query| query.chars().take(QUERY_CHARS_MAX).collect())
}

fn warn_of_alias(call: &Call, alias: Option<String>, spec: &ToolSpec) {
    let Some(alias) = alias else { return };
    let message = format!("`{alias}` is a deprecated name: use `{}` instead.", spec.name);
    call.warn(Warning::new("deprecated_alias", message));
}

/// Converts a float without a fraction to an integer, because serde does not read `27.0` into an integer field.
fn integral_as_integer(value: Value) -> Value {
    match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 && number.abs() < I64_FLOAT_LIMIT => {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and within range")]
            let number = number as i64;
            number.into()
        }
        _ => value,
    }
}

/// 2^63: smaller floats without a fraction fit an `i64`.
const I64_FLOAT_LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// Counts a running call until it is dropped.
struct RunningCall(Arc<App>);

impl RunningCall {
    fn new(app: &Arc<App>) -> Self {
        app.calls.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(app))
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Time limit of a call, including its time in the queue.
#[derive(Clone, Copy)]
struct CallDeadline {
    /// `None`: no limit.
    ms: Option<u64>,
    since: tokio::time::Instant,
}

impl CallDeadline {
    fn from_now(ms: Option<u64>) -> Self {
        Self { ms, since: tokio::time::Instant::now() }
    }

    /// Completes when the time limit has passed; never without one.
    async fn passed(self) {
        match self.ms {
            Some(ms) => tokio::time::sleep_until(self.since + Duration::from_millis(ms)).await,
            None => std::future::pending().await,
        }
    }

    fn timeout_fault(self, message: String) -> Fault {
        Fault::new(ErrorCode::ToolTimeout, message).with_details(serde_json::json!({ "timeoutMs": self.ms }))
    }
}

/// Result of waiting for a slot in the queue.
enum QueueOutcome {
    /// The call got a slot.
    Admitted(Admission),
    /// The call was cancelled, timed out in the queue, or names a malformed project.
    Stopped(Fault),
    /// The queue is full.
    Refused(Refusal),
}

/// Waits for a slot in the queue until the call is cancelled or times out. A call whose project id is malformed gets no slot.
async fn wait_in_queue(
    spec: &ToolSpec,
    arguments: &Value,
    call: &Call,
    deadline: CallDeadline,
) -> QueueOutcome {
    if let Some(fault) = malformed_project(arguments) {
        return QueueOutcome::Stopped(fault);
    }
    let bulkhead = spec.bulkhead_for(arguments);
    let on_wait = |others: usize| {
        call.progress.report(ProgressUpdate {
            phase: "queued",
            done: 0.0,
            total: None,
            message: format!("Waiting for a free slot; {others} other calls are waiting."),
            detail: None,
        });
    };
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => QueueOutcome::Stopped(cancelled_fault()),
        admitted = call.app.queues.admit_with_notice(bulkhead, &call.caller.principal, on_wait) => match admitted {
            Ok(admission) => QueueOutcome::Admitted(admission),
            Err(refusal) => QueueOutcome::Refused(refusal),
        },
        () = deadline.passed() => QueueOutcome::Stopped(
            deadline
                .timeout_fault(format!("`{}` timed out while waiting for a free slot.", spec.name))
                .with_hint("The server is busy: try again later, with fewer concurrent calls."),
        ),
    }
}

fn cancelled_fault() -> Fault {
    Fault::new(ErrorCode::Cancelled, "The call was cancelled.")
}

/// Polls the tool until it ends, is cancelled or exceeds its time limit. A panic becomes a fault.
async fn supervise(
    spec: &ToolSpec,
    cancel: &CancellationToken,
    tool: impl Future<Output = Result<Value, Fault>> + Send,
    deadline: CallDeadline,
) -> Result<Value, Fault> {
    // A tool that panicked is not polled again, so its broken invariants cannot be observed.
    let mut tool = pin!(AssertUnwindSafe(tool).catch_unwind());
    tokio::select! {
        biased;
        // Polled first, so that a cancelled call never succeeds.
        () = cancel.cancelled() => match tokio::time::timeout(CLEANUP_TIMEOUT, tool).await {
            // The tool's own message says what it leaves behind.
            Ok(Ok(Err(fault))) if fault.code == ErrorCode::Cancelled => Err(fault),
            _ => Err(cancelled_fault()),
        },
        finished = &mut tool => finished.unwrap_or_else(|panic| Err(panic_fault(spec, panic_message(panic.as_ref())))),
        () = deadline.passed() => {
            cancel.cancel();
            let left = match tokio::time::timeout(CLEANUP_TIMEOUT, tool).await {
                // A panic during cleanup is reported as a panic.
                Ok(Err(panic)) => return Err(panic_fault(spec, panic_message(panic.as_ref()))),
                // The tool's own message says what it leaves behind.
                Ok(Ok(Err(fault))) if fault.code == ErrorCode::Cancelled => format!(" {}", fault.message),
                _ => String::new(),
            };
            Err(deadline
                .timeout_fault(format!("`{}` timed out.{left}", spec.name))
                .with_hint("Narrow the call, or raise its time limit in the `[timeouts]` section of the configuration."))
        }
    }
}

/// The time that a cancelled tool may clean up before its future is dropped. Clients wait this long after a timeout, so it is short.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(2);

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("the panic has no message").to_owned()
}

fn panic_fault(spec: &ToolSpec, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Fault {
    Fault::internal(format!("`{}` failed unexpectedly.", spec.name), cause)
        .with_details(serde_json::json!({ "cause_class": "panic" }))
}

/// Records a call in the log, the metrics and the audit table. Failures are logged only here, so that each appears once.
struct CallRecord {
    tool: String,
    query: Option<String>,
    caller: Caller,
    started: Instant,
}

impl CallRecord {
    /// Records a call that was not run.
    fn record_refusal(&self, app: &App, refusal: &Refusal) {
        let code = refusal.code();
        tracing::debug!(tool = echo(&self.tool), %code, "a call was refused");
        app.metrics.record_refusal(code.as_str());
        self.audit(app, code.as_str(), None);
    }

    /// Records a call that ran or was stopped in the queue.
    fn record_result(&self, app: &App, spec: &ToolSpec, fault: Option<&Fault>, meta: &Meta) {
        let took = app.clock.instant().duration_since(self.started);
        log_result(spec, took.as_millis(), fault);
        let outcome = fault.map_or("ok", |fault| fault.code.as_str());
        app.metrics.record_call(spec.name, self.caller.surface.as_str(), outcome, took);
        match spec.bulkhead {
            Bulkhead::Search => app.metrics.record_run(RunKind::Search, outcome, took),
            Bulkhead::Index => app.metrics.record_run(RunKind::Index, outcome, took),
            Bulkhead::Launch | Bulkhead::None => {}
        }
        let project = meta.project_id.as_ref().map_or("default", |id| id.as_str().unwrap_or("default"));
        let module = app.modules.with_toolset(spec.toolset);
        if let Some(call_ended) = module.and_then(|module| module.call_ended) {
            call_ended(app, &EndedCall { tool: spec, project, outcome, ms: took.as_secs_f64() * 1e3 });
        }
        self.audit(app, outcome, meta.project_id.as_ref());
    }

    fn audit(&self, app: &App, outcome: &'static str, project: Option<&Value>) {
        let now = app.clock.now();
        let took = app.clock.instant().duration_since(self.started);
        let entry = AuditEntry {
            at_ms: now.as_millisecond(),
            principal: self.caller.principal.id.clone(),
            name: self.caller.principal.name.clone(),
            surface: self.caller.surface.as_str(),
            tool: self.tool.chars().take(TOOL_NAME_CHARS_MAX).collect(),
            project_id: project.map(|id| id.as_str().unwrap_or("default").to_owned()),
            outcome,
            duration_ms: took.as_secs_f64() * 1e3,
            request_id: self.caller.request_id.clone(),
            query: self.query.clone(),
        };
        app.audit.record(app, entry);
    }
}

/// The audit table stores at most this much of a query.
const QUERY_CHARS_MAX: usize = 4096;
/// The audit table stores at most this much of a tool's name; no tool has a longer one.
const TOOL_NAME_CHARS_MAX: usize = 64;

fn log_result(spec: &ToolSpec, ms: u128, fault: Option<&Fault>) {
    match fault {
        None => tracing::debug!(tool = spec.name, ms, "{} answered", spec.name),
        Some(fault) => {
            let cause = fault.source.as_deref().map(ToString::to_string);
            let code = fault.code;
            // The message of a wrong argument quotes it, and logs contain no queries.
            if matches!(
                code,
                ErrorCode::InvalidRequest | ErrorCode::InvalidInput | ErrorCode::ValidationError
            ) {
                tracing::info!(tool = spec.name, ms, %code, cause, "{} refused its arguments", spec.name);
            } else if code == ErrorCode::Internal {
                tracing::error!(tool = spec.name, ms, code = %fault.code, cause, "{} failed: {}", spec.name, fault.message);
            } else {
                tracing::info!(tool = spec.name, ms, code = %fault.code, cause, "{} failed: {}", spec.name, fault.message);
            }
        }
    }
}
