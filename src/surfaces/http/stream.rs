//! Answers as server-sent events: `start`, `progress`, `result` or `error`, and `done` at last.
//!
//! The call runs inside the stream: a client that leaves drops it, and the gate cancels what runs.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use futures::stream::unfold;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::app::App;
use crate::surfaces::answer;
use crate::surfaces::progress::{Pace, relay};
use crate::tools::{self, Caller, ProgressUpdate, Request};
use contract::Envelope;

/// Events that wait for a client that reads slowly; of progress, only the latest step follows them.
const WAITING_MAX: usize = 4;
/// A silent stream shows that it lives this often.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What is streamed.
pub(super) struct Streamed {
    /// The tool to call.
    pub(super) tool: &'static str,
    /// Its arguments.
    pub(super) arguments: Value,
    /// The result of the first event.
    pub(super) start: Value,
    /// Puts the tool's envelope into the shape of the route.
    pub(super) shape: fn(Envelope) -> Envelope,
    /// Whether progress is told.
    pub(super) progress: bool,
}

/// `progress`.
#[derive(Serialize)]
struct Step {
    phase: &'static str,
    message: String,
    done: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
}

/// Runs the call and tells how it goes.
pub(super) fn events(
    app: Arc<App>,
    caller: Caller,
    streamed: Streamed,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let work = run(Arc::clone(&app), caller, streamed, sender);
    // The work is polled by the stream itself, so that it ends with it.
    let events = unfold((Box::pin(work), receiver, false), |(mut work, mut receiver, mut over)| async move {
        loop {
            tokio::select! {
                biased;
                event = receiver.recv() => return event.map(|event| (Ok(event), (work, receiver, over))),
                () = &mut work, if !over => over = true,
            }
        }
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

async fn run(app: Arc<App>, caller: Caller, streamed: Streamed, events: mpsc::Sender<Event>) {
    let Streamed { tool, arguments, start, shape, progress } = streamed;
    let id = caller.request_id.clone();
    let tell = |name: &'static str, envelope: &Envelope| {
        let event = Event::default().event(name).data(answer::json(envelope).to_string());
        let events = events.clone();
        // A client that left is noticed by the stream.
        async move { drop(events.send(event).await) }
    };
    tell("start", &answer::succeeded(&app, start, id.clone())).await;
    let mut request = Request::new(tool, arguments, caller);
    let cancel = request.cancel.clone();
    let outcome = if progress {
        let work = |progress| {
            request.progress = progress;
            tools::call(&app, request)
        };
        let interval = Duration::from_millis(app.config.mcp.progress_interval_ms);
        let tell = |update: Option<ProgressUpdate>| {
            let update = update.map(step);
            let told = update.map(|step| tell("progress", &answer::succeeded(&app, step, id.clone())));
            async move {
                if let Some(told) = told {
                    told.await;
                }
            }
        };
        relay(Pace { interval, heartbeat: None }, &cancel, work, tell).await
    } else {
        tools::call(&app, request).await
    };
    let envelope = match outcome {
        Ok(envelope) => shape(envelope),
        Err(refusal) => answer::refused(&app, &refusal, id.clone()),
    };
    tell(if envelope.ok { "result" } else { "error" }, &envelope).await;
    tell("done", &answer::succeeded(&app, Value::Object(serde_json::Map::new()), id)).await;
}

fn step(update: ProgressUpdate) -> Value {
    let ProgressUpdate { phase, done, total, message, .. } = update;
    serde_json::to_value(Step { phase, message, done, total }).unwrap_or_default()
}
