//! The one gate for every surface: known? enabled? shape? then wait for a place, run, time, catch, wrap.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::context::{Call, Caller, Progress, ProgressUpdate};
use super::list::Toolbox;
use super::long_texts::LongTexts;
use super::next::Asked;
use super::spec::{ToolSpec, Toolset};
use super::violation;
use crate::app::{Admission, App, Bulkhead, Seat};
use contract::{ECHO_CHARS_MAX, Envelope, ErrorCode, Fault, Meta, Refusal, Violation, Warning, echo, reveal};
use store::AuditEntry;

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
    Toolbox::standard().call(app, request).await
}

impl Toolbox {
    /// Runs one call of a tool of this box; see [`call`].
    ///
    /// # Errors
    /// As [`call`].
    pub async fn call(&self, app: &Arc<App>, request: Request) -> Result<Envelope, Refusal> {
        let started = app.clock.instant();
        let Request { tool, arguments, caller, cancel, progress } = request;
        let query = arguments.get("query").and_then(Value::as_str).filter(|_| app.config.audit.queries);
        let query = query.map(|query| query.chars().take(QUERY_CHARS_MAX).collect());
        let mut record = Record { tool, query, caller: caller.clone(), started };
        let accepted = || {
            app.limits.admit(&caller.principal, started)?;
            let spec = self.enabled(&record.tool, &caller)?;
            Ok((spec, self.shaped(spec, arguments)?))
        };
        let (spec, arguments) = accepted().inspect_err(|refusal| record.refused(app, refusal))?;
        record.tool = spec.name.to_owned();
        let asked = Asked::of(spec, &arguments, &caller);

        let limit = Limit::from_now(spec.timeout.millis(&app.config));
        let running = Running::new(app);
        // A child token: the client's cancel reaches the tool, a timeout does not reach the client's.
        let cancel = cancel.child_token();
        let progress = progress.until(cancel.clone());
        let call = Call::new(Arc::clone(app), caller, cancel, progress, !spec.effects.read_only);
        // A client that leaves drops this future. The task goes on for as long as it takes to put the work down
        // and to write the call down; only then is its place free.
        let _cancel_if_dropped = call.cancel.clone().drop_guard();
        let (app, mut ending) = (Arc::clone(app), call.clone());
        let ended = tokio::spawn(async move {
            let _running = running;
            let long_texts = LongTexts::of(&arguments);
            let mut outcome = match turn(spec, &ending, limit).await {
                Turn::Come(admission) => {
                    ending.seat = Seat::of(admission);
                    let outcome = run(spec, ending.clone(), arguments, limit).await;
                    ending.seat.leave();
                    outcome
                }
                Turn::Stopped(fault) => Err(fault),
                Turn::Refused(refusal) => {
                    record.refused(&app, &refusal);
                    return Err(refusal);
                }
            };
            if outcome.as_mut().is_ok_and(reveal) {
                let message = "The repository holds invisible characters here; they are shown as \\u{…}.";
                ending.warn(Warning::new("invisible_characters", message));
            }
            let mut meta = ending.meta(started);
            if ending.caller.surface.is_local() {
                outcome = outcome.map_err(Fault::told_locally);
            }
            if let Err(fault) = &mut outcome {
                fault.reveal();
                long_texts.shorten(fault);
                // A long one stands in the message already.
                meta.repo = meta.repo.filter(|repo| repo.chars().nth(ECHO_CHARS_MAX).is_none());
            }
            record.ran(&app, spec, outcome.as_ref().err(), &meta);
            let next = asked.next(outcome.as_ref(), &meta, ending.suggested().as_deref());
            let envelope = match outcome {
                Ok(result) => Envelope::success(result, meta),
                Err(fault) => Envelope::failure(&fault, meta),
            };
            Ok(asked.finished(envelope, next))
        });
        ended.await.unwrap_or_else(|error| Ok(Envelope::failure(&panicked(spec, error), call.meta(started))))
    }

    /// The arguments, checked against the input schema. A null field counts as absent, because many
    /// clients fill optional fields that way, and `27.0` as `27`, as JSON Schema has it.
    pub(super) fn shaped(&self, spec: &ToolSpec, arguments: Value) -> Result<Value, Refusal> {
        let arguments = match arguments {
            Value::Null => Value::Object(Map::new()),
            Value::Object(fields) => {
                let given = fields.into_iter().filter(|(_, value)| !value.is_null());
                Value::Object(given.map(|(name, value)| (name, whole(value))).collect())
            }
            other => other,
        };
        let violations = match self.schema(spec) {
            Ok(schema) => {
                let mut violations = schema.violations(&arguments);
                // What scanners report is cleaned where it is taken in.
                if violations.is_empty() && spec.toolset != Toolset::Triage {
                    violations.extend(violation::nul(&arguments));
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

/// A number without a fraction as an integer, which is what readers of integers expect.
fn whole(value: Value) -> Value {
    match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 && number.abs() < WHOLE_MAX => {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and within range")]
            let number = number as i64;
            number.into()
        }
        _ => value,
    }
}

/// 2^63: below it, a float without a fraction is an `i64`.
const WHOLE_MAX: f64 = 9_223_372_036_854_775_808.0;

/// Counts a call as running for as long as it does.
struct Running(Arc<App>);

impl Running {
    fn new(app: &Arc<App>) -> Self {
        app.calls.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(app))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}

/// How long a call may take, waiting for its turn included.
#[derive(Clone, Copy)]
struct Limit {
    /// None where there is no limit.
    ms: Option<u64>,
    since: tokio::time::Instant,
}

impl Limit {
    fn from_now(ms: Option<u64>) -> Self {
        Self { ms, since: tokio::time::Instant::now() }
    }

    /// Comes back once the time is over.
    async fn over(self) {
        match self.ms {
            Some(ms) => tokio::time::sleep_until(self.since + Duration::from_millis(ms)).await,
            None => std::future::pending().await,
        }
    }

    fn fault(self, message: String) -> Fault {
        Fault::new(ErrorCode::ToolTimeout, message).with_details(serde_json::json!({ "timeoutMs": self.ms }))
    }
}

/// What became of the wait for a place in the queue.
enum Turn {
    /// The call may run.
    Come(Admission),
    /// It was cancelled, or its time was over, before it could.
    Stopped(Fault),
    /// The queue is full.
    Refused(Refusal),
}

/// Waits for the call's turn; a cancel or the end of the call's time ends the wait at once.
async fn turn(spec: &ToolSpec, call: &Call, limit: Limit) -> Turn {
    let waits = |before: usize| {
        call.progress.report(ProgressUpdate {
            phase: "queued",
            done: 0.0,
            total: None,
            message: format!("Waiting for a free place; {before} other calls wait."),
            detail: None,
        });
    };
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => Turn::Stopped(cancelled()),
        admitted = call.app.queues.admit_telling(spec.bulkhead, &call.caller.principal, waits) => match admitted {
            Ok(admission) => Turn::Come(admission),
            Err(refusal) => Turn::Refused(refusal),
        },
        () = limit.over() => Turn::Stopped(
            limit
                .fault(format!("`{}` waited for a free place until its time was over.", spec.name))
                .with_hint("The server is busy: try again later, with fewer calls at a time."),
        ),
    }
}

fn cancelled() -> Fault {
    Fault::new(ErrorCode::Cancelled, "The call was cancelled.")
}

/// Runs the tool in a task of its own, so that a panic is an answer, until it ends, is cancelled or takes too long.
async fn run(spec: &ToolSpec, call: Call, arguments: Value, limit: Limit) -> Result<Value, Fault> {
    let cancel = call.cancel.clone();
    let mut task = tokio::spawn((spec.run)(call, arguments));
    tokio::select! {
        biased;
        // First, because a cancelled call is not answered with a success.
        () = cancel.cancelled() => match stop(task).await {
            // The tool's own words say what it leaves behind.
            Some(Ok(Err(fault))) if fault.code == ErrorCode::Cancelled => Err(fault),
            _ => Err(cancelled()),
        },
        finished = &mut task => finished.unwrap_or_else(|error| Err(panicked(spec, error))),
        () = limit.over() => {
            cancel.cancel();
            let left = match stop(task).await {
                // A defect that takes its time to come to light is told as what it is.
                Some(Err(error)) if error.is_panic() => return Err(panicked(spec, error)),
                // The tool's own words say what it leaves behind.
                Some(Ok(Err(fault))) if fault.code == ErrorCode::Cancelled => format!(" {}", fault.message),
                _ => String::new(),
            };
            Err(limit
                .fault(format!("`{}` took longer than it may.{left}", spec.name))
                .with_hint("Narrow the call, or raise its limit in the `[timeouts]` section of the configuration."))
        }
    }
}

/// Gives a cancelled tool a moment to put its work down, then aborts it; how it ended in that time.
async fn stop(
    mut task: tokio::task::JoinHandle<Result<Value, Fault>>,
) -> Option<Result<Result<Value, Fault>, tokio::task::JoinError>> {
    let ended = tokio::time::timeout(Duration::from_secs(2), &mut task).await.ok();
    if ended.is_none() {
        task.abort();
    }
    ended
}

fn panicked(spec: &ToolSpec, error: tokio::task::JoinError) -> Fault {
    Fault::internal(format!("`{}` failed unexpectedly.", spec.name), error)
        .with_details(serde_json::json!({ "cause_class": "panic" }))
}

/// What is written down of a call: one log line, the counts, the audit table. Nowhere else is a failure logged.
struct Record {
    tool: String,
    query: Option<String>,
    caller: Caller,
    started: Instant,
}

impl Record {
    /// A call that was not run.
    fn refused(&self, app: &App, refusal: &Refusal) {
        let code = refusal.code();
        tracing::debug!(tool = echo(&self.tool), %code, "a call was refused");
        app.metrics.refused(code.as_str());
        self.audit(app, code.as_str(), None);
    }

    /// A call that ran.
    fn ran(&self, app: &App, spec: &ToolSpec, fault: Option<&Fault>, meta: &Meta) {
        let took = app.clock.instant().duration_since(self.started);
        log(spec, took.as_millis(), fault);
        let outcome = fault.map_or("ok", |fault| fault.code.as_str());
        app.metrics.called(spec.name, self.caller.surface.as_str(), outcome, took);
        match spec.bulkhead {
            Bulkhead::Search => app.metrics.ran(false, outcome, took),
            Bulkhead::Index => app.metrics.ran(true, outcome, took),
            Bulkhead::None => {}
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
        if !app.audit.note(entry) {
            app.metrics.lost_audit(1);
        }
    }
}

/// Longer queries are kept by their beginning.
const QUERY_CHARS_MAX: usize = 4096;
/// Longer names are of no tool; the audit table keeps their beginning.
const TOOL_NAME_CHARS_MAX: usize = 64;

fn log(spec: &ToolSpec, ms: u128, fault: Option<&Fault>) {
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
