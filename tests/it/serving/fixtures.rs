//! Tools that the product does not have: slow ones, broken ones, ones that tell a lot.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use contract::Fault;
use futures::future::BoxFuture;
use pairofcleats::app::Bulkhead;
use pairofcleats::tools::{Call, Effects, ProgressUpdate, TimeoutClass, ToolSpec, Toolbox, Toolset};
use serde_json::{Map, Value, json};
use tenancy::Scope;

/// Calls of [`WAITS`] that run now, by the `tag` of their arguments.
static WAITING: Mutex<Option<HashMap<String, usize>>> = Mutex::new(None);

/// How many calls of the tool `waits` run with this tag.
pub(crate) fn waiting(tag: &str) -> usize {
    WAITING.lock().unwrap().as_ref().and_then(|running| running.get(tag)).copied().unwrap_or(0)
}

fn count(tag: &str, change: fn(&mut usize)) {
    change(WAITING.lock().unwrap().get_or_insert_default().entry(tag.to_owned()).or_default());
}

/// The product's tools and these.
pub(crate) fn tools() -> &'static Toolbox {
    static TOOLS: OnceLock<Toolbox> = OnceLock::new();
    TOOLS.get_or_init(|| Toolbox::with(&[&ECHOES, &WAITS, &PANICS, &TELLS, &MUTTERS]))
}

const fn tool(
    name: &'static str,
    run: fn(Call, Value) -> BoxFuture<'static, Result<Value, Fault>>,
) -> ToolSpec {
    ToolSpec {
        name,
        title: "Fixture",
        description: "A fixture of the tests.",
        toolset: Toolset::Search,
        effects: Effects::READS,
        scope: Scope::Search,
        bulkhead: Bulkhead::Search,
        timeout: TimeoutClass::Search,
        input: any_object,
        output: any_object,
        run,
    }
}

fn any_object() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), json!("object"))])
}

/// Answers at once.
static ECHOES: ToolSpec = tool("echoes", |_, arguments| Box::pin(async move { Ok(arguments) }));

/// Runs until it is cancelled, or `ms` are over.
static WAITS: ToolSpec = tool("waits", |call, arguments| Box::pin(waits(call, arguments)));

/// Panics.
static PANICS: ToolSpec = tool("panics", |_, _| Box::pin(async { panic!("a defect of the test's own") }));

/// Reports `steps` steps of progress, as fast as it can, then waits `ms`.
static TELLS: ToolSpec = tool("tells", |call, arguments| Box::pin(tells(call, arguments)));

/// Reports a step every 10 ms for `ms`, also after it was cancelled.
static MUTTERS: ToolSpec = tool("mutters", |call, arguments| Box::pin(mutters(call, arguments)));

/// Steps that calls of [`MUTTERS`] reported, by tag, and the step at which each had seen its cancel.
static MUTTERED: Mutex<Option<HashMap<String, Muttered>>> = Mutex::new(None);

/// Steps reported, and the step at which the cancel was seen.
pub(crate) type Muttered = (u64, Option<u64>);

/// How many steps the tool `mutters` reported with this tag, and at which it saw that it was cancelled.
pub(crate) fn muttered(tag: &str) -> Muttered {
    MUTTERED.lock().unwrap().as_ref().and_then(|calls| calls.get(tag)).copied().unwrap_or_default()
}

async fn mutters(call: Call, arguments: Value) -> Result<Value, Fault> {
    let tag = arguments["tag"].as_str().unwrap_or_default().to_owned();
    for step in 1..=arguments["ms"].as_u64().unwrap_or(0) / 10 {
        let cancelled = call.cancel.is_cancelled();
        {
            let mut calls = MUTTERED.lock().unwrap();
            let seen = calls.get_or_insert_default().entry(tag.clone()).or_default();
            seen.0 = step;
            if cancelled && seen.1.is_none() {
                seen.1 = Some(step);
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

/// One call of [`WAITS`], counted for as long as it runs.
struct Waiting(String);

impl Drop for Waiting {
    fn drop(&mut self) {
        count(&self.0, |running| *running -= 1);
    }
}

async fn waits(call: Call, arguments: Value) -> Result<Value, Fault> {
    let tag = arguments["tag"].as_str().unwrap_or_default().to_owned();
    count(&tag, |running| *running += 1);
    let _waiting = Waiting(tag);
    let limit = Duration::from_millis(arguments["ms"].as_u64().unwrap_or(600_000));
    tokio::select! {
        () = call.cancel.cancelled() => Ok(json!({ "cancelled": true })),
        () = tokio::time::sleep(limit) => Ok(json!({ "waited": true })),
    }
}

async fn tells(call: Call, arguments: Value) -> Result<Value, Fault> {
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
    Ok(json!({ "told": steps }))
}

/// Waits until `reached`; a test that waits in vain fails.
pub(crate) async fn until(what: &str, mut reached: impl FnMut() -> bool) {
    for _ in 0..1200 {
        if reached() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("waited in vain for {what}");
}
