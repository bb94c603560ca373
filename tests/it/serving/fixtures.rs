//! Tools for tests: slow ones, one that panics, and ones that report much progress.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use contract::Fault;
use futures::future::BoxFuture;
use gate::app::Bulkhead;
use gate::tools::{Call, Effects, ProgressUpdate, ToolSpec, Toolbox, Toolset};
use serde_json::{Map, Value, json};
use tenancy::Scope;

use crate::harness::modules;

/// Running calls of [`WAITS`], by the `tag` argument.
static WAITING: Mutex<Option<HashMap<String, usize>>> = Mutex::new(None);

/// Returns the number of running calls of the tool `waits` with this tag.
pub(crate) fn waiting(tag: &str) -> usize {
    WAITING.lock().unwrap().as_ref().and_then(|running| running.get(tag)).copied().unwrap_or(0)
}

fn change_count(tag: &str, change: fn(&mut usize)) {
    change(WAITING.lock().unwrap().get_or_insert_default().entry(tag.to_owned()).or_default());
}

/// The product's tools and these ones.
pub(crate) fn tools() -> &'static Toolbox {
    static TOOLS: OnceLock<Toolbox> = OnceLock::new();
    TOOLS.get_or_init(|| modules().tools_and(&[&ECHOES, &WAITS, &PANICS, &REPORTS, &IGNORES_CANCEL]))
}

const fn tool(
    name: &'static str,
    run: fn(Call, Value) -> BoxFuture<'static, Result<Value, Fault>>,
) -> ToolSpec {
    ToolSpec {
        name,
        title: "Fixture",
        description: "A fixture of the tests.",
        toolset: Toolset::SEARCH,
        effects: Effects::READS,
        scope: Scope::Search,
        bulkhead: Bulkhead::Search,
        timeout: |limits| limits.search_ms,
        input: any_object,
        output: any_object,
        run,
        ..ToolSpec::BASE
    }
}

fn any_object() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), json!("object"))])
}

/// Returns its arguments.
static ECHOES: ToolSpec = tool("echoes", |_, arguments| Box::pin(async move { Ok(arguments) }));

/// Runs until it is cancelled or `ms` have passed.
static WAITS: ToolSpec = tool("waits", |call, arguments| Box::pin(waits(call, arguments)));

/// Panics.
static PANICS: ToolSpec = tool("panics", |_, _| Box::pin(async { panic!("a defect on purpose") }));

/// Reports `steps` steps of progress as fast as it can, then waits `ms`.
static REPORTS: ToolSpec = tool("reports", |call, arguments| Box::pin(reports(call, arguments)));

/// Reports a step every 10 ms for `ms`, even after it was cancelled.
static IGNORES_CANCEL: ToolSpec =
    tool("ignores_cancel", |call, arguments| Box::pin(ignores_cancel(call, arguments)));

/// Steps that calls of [`IGNORES_CANCEL`] reported, by tag.
static REPORTED_STEPS: Mutex<Option<HashMap<String, ReportedSteps>>> = Mutex::new(None);

/// Number of steps reported, and the step at which the cancellation was noticed.
pub(crate) type ReportedSteps = (u64, Option<u64>);

/// Steps that the tool `ignores_cancel` reported with this tag.
pub(crate) fn reported_steps(tag: &str) -> ReportedSteps {
    REPORTED_STEPS.lock().unwrap().as_ref().and_then(|calls| calls.get(tag)).copied().unwrap_or_default()
}

async fn ignores_cancel(call: Call, arguments: Value) -> Result<Value, Fault> {
    let tag = arguments["tag"].as_str().unwrap_or_default().to_owned();
    for step in 1..=arguments["ms"].as_u64().unwrap_or(0) / 10 {
        let cancelled = call.cancel.is_cancelled();
        {
            let mut calls = REPORTED_STEPS.lock().unwrap();
            let steps = calls.get_or_insert_default().entry(tag.clone()).or_default();
            steps.0 = step;
            if cancelled && steps.1.is_none() {
                steps.1 = Some(step);
            }
        }
        call.progress.report(ProgressUpdate {
            phase: "count",
            done: f64::from(u32::try_from(step).unwrap()),
            total: None,
            message: format!("step {step}"),
            detail: None,
        });
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(json!({}))
}

/// A call of [`WAITS`]; counted until dropped.
struct RunningCall(String);

impl Drop for RunningCall {
    fn drop(&mut self) {
        change_count(&self.0, |running| *running -= 1);
    }
}

async fn waits(call: Call, arguments: Value) -> Result<Value, Fault> {
    let tag = arguments["tag"].as_str().unwrap_or_default().to_owned();
    change_count(&tag, |running| *running += 1);
    let _running = RunningCall(tag);
    let limit = Duration::from_millis(arguments["ms"].as_u64().unwrap_or(600_000));
    tokio::select! {
        () = call.cancel.cancelled() => Ok(json!({ "cancelled": true })),
        () = tokio::time::sleep(limit) => Ok(json!({ "waited": true })),
    }
}

async fn reports(call: Call, arguments: Value) -> Result<Value, Fault> {
    let steps = arguments["steps"].as_u64().unwrap_or(0);
    for step in 0..steps {
        call.progress.report(ProgressUpdate {
            phase: "count",
            done: f64::from(u32::try_from(step).unwrap()),
            total: Some(f64::from(u32::try_from(steps).unwrap())),
            message: format!("step {step}"),
            detail: None,
        });
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0))).await;
    Ok(json!({ "reported": steps }))
}

/// Waits for a condition, for at most a minute.
pub(crate) async fn wait_until(condition: &str, mut reached: impl FnMut() -> bool) {
    for _ in 0..1200 {
        if reached() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("timed out waiting for {condition}");
}
