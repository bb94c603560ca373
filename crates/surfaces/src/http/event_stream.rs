//! Calls answered as server-sent events: `start`, `progress`, `result` or `error`, and finally `done`; an operation may send its
//! own events instead, also as lines of JSON.
//!
//! The stream polls the call itself. A client that disconnects drops both, which cancels the call.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::Stream;
use futures::stream::unfold;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::answer;
use crate::progress::{ProgressTiming, relay_progress};
use contract::Envelope;
use gate::app::App;
use gate::tools::browse::browse;
use gate::tools::{self, Caller, EventSink, ProgressUpdate, Request, ToolSpec};

/// The maximum number of events queued for a slow client; of further progress only the latest update is kept.
const QUEUED_EVENTS_MAX: usize = 4;
/// Interval of keep-alive comments.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A tool call to answer as a stream.
pub(super) struct StreamedCall {
    /// The tool to call.
    pub(super) tool: &'static str,
    /// Its arguments.
    pub(super) arguments: Value,
    /// The result of the `start` event.
    pub(super) start: Value,
    /// Converts the tool's envelope into the format of the route.
    pub(super) shape: fn(Envelope) -> Envelope,
    /// `true` to send `progress` events.
    pub(super) progress: bool,
}

/// The result of a `progress` event.
#[derive(Serialize)]
struct ProgressEvent {
    phase: &'static str,
    message: String,
    done: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
}

/// Starts the call and returns its events.
pub(super) fn event_stream(
    app: Arc<App>,
    caller: Caller,
    streamed: StreamedCall,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (sender, receiver) = mpsc::channel(QUEUED_EVENTS_MAX);
    server_sent(sent_during(run_call(app, caller, streamed, sender), receiver, None))
}

/// Starts an operation that sends its own events, and returns these events followed by its end: `done` with its result, or
/// `error` and `done`.
pub fn operation_events(
    app: Arc<App>,
    caller: Caller,
    operation: &'static ToolSpec,
    arguments: Value,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (sender, receiver) = mpsc::channel(QUEUED_EVENTS_MAX);
    let call = run_operation(app, caller, operation, arguments, (sender, server_sent_event));
    server_sent(sent_during(call, receiver, None))
}

/// Formats an event; a numbered one uses its number as its id, which a client that lost the connection sends as `Last-Event-ID`.
fn server_sent_event(name: &'static str, envelope: &Envelope) -> Option<Event> {
    let number = envelope.result.as_ref().and_then(|content| content.get("seq")?.as_i64());
    let event = event(name, envelope);
    Some(match number {
        Some(number) => event.id(number.to_string()),
        None => event,
    })
}

/// The media type of [`operation_lines`].
pub const LINES: &str = "application/x-ndjson";

/// Like [`operation_events`], but one JSON document per line: the content of each event, and the envelope of a failure. While
/// nothing happens, an empty line is sent from time to time, so that both sides notice when the other is gone.
pub fn operation_lines(
    app: Arc<App>,
    caller: Caller,
    operation: &'static ToolSpec,
    arguments: Value,
) -> Response {
    let (sender, receiver) = mpsc::channel(QUEUED_EVENTS_MAX);
    let call = run_operation(app, caller, operation, arguments, (sender, line));
    (
        [(header::CONTENT_TYPE, LINES)],
        Body::from_stream(sent_during(call, receiver, Some(Bytes::from_static(b"\n")))),
    )
        .into_response()
}

fn line(name: &'static str, envelope: &Envelope) -> Option<Bytes> {
    let document = match name {
        "done" => return None,
        "error" => answer::json(envelope),
        _ => envelope.result.clone()?,
    };
    Some(format!("{document}\n").into())
}

fn server_sent(
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

/// Streams what a call sends until it ends; `heartbeat` is sent while it sends nothing.
fn sent_during<T: Clone + Send + 'static>(
    call: impl Future<Output = ()> + Send + 'static,
    receiver: mpsc::Receiver<T>,
    heartbeat: Option<T>,
) -> impl Stream<Item = Result<T, Infallible>> + Send + 'static {
    // Polled by the stream rather than spawned, so that the call ends with the stream.
    let state = (Box::pin(call), receiver, heartbeat, false);
    unfold(state, |(mut call, mut receiver, heartbeat, mut done)| async move {
        loop {
            let sent = tokio::select! {
                biased;
                event = receiver.recv() => event?,
                () = &mut call, if !done => {
                    done = true;
                    continue;
                }
                () = tokio::time::sleep(KEEP_ALIVE), if heartbeat.is_some() => heartbeat.clone()?,
            };
            return Some((Ok(sent), (call, receiver, heartbeat, done)));
        }
    })
}

async fn run_call(app: Arc<App>, caller: Caller, streamed: StreamedCall, events: mpsc::Sender<Event>) {
    let StreamedCall { tool, arguments, start, shape, progress } = streamed;
    let id = caller.request_id.clone();
    let send = |name: &'static str, envelope: &Envelope| {
        let (event, events) = (event(name, envelope), events.clone());
        // A failed send means that the client disconnected, which drops this future as well.
        async move { drop(events.send(event).await) }
    };
    send("start", &answer::succeeded(&app, start, id.clone())).await;
    let mut request = Request::new(tool, arguments, caller);
    let cancel = request.cancel.clone();
    let outcome = if progress {
        let work = |progress| {
            request.progress = progress;
            tools::call(&app, request)
        };
        let interval = Duration::from_millis(app.config.mcp.progress_interval_ms);
        let send_progress = |update: Option<ProgressUpdate>| {
            let event = update.map(progress_event);
            let sent = event.map(|event| send("progress", &answer::succeeded(&app, event, id.clone())));
            async move {
                if let Some(sent) = sent {
                    sent.await;
                }
            }
        };
        relay_progress(ProgressTiming { interval, heartbeat: None }, &cancel, work, send_progress).await
    } else {
        tools::call(&app, request).await
    };
    let envelope = match outcome {
        Ok(envelope) => shape(envelope),
        Err(refusal) => answer::refused(&app, &refusal, id.clone()),
    };
    send(if envelope.ok { "result" } else { "error" }, &envelope).await;
    send("done", &answer::succeeded(&app, Value::Object(serde_json::Map::new()), id)).await;
}

/// The channel for the events of an operation, and their format; the function returns `None` for events that the format omits.
type Sink<T> = (mpsc::Sender<T>, fn(&'static str, &Envelope) -> Option<T>);

async fn run_operation<T: Send + 'static>(
    app: Arc<App>,
    caller: Caller,
    operation: &'static ToolSpec,
    arguments: Value,
    (events, form): Sink<T>,
) {
    let id = caller.request_id.clone();
    let (sink_app, sink_id, sink_events) = (Arc::clone(&app), id.clone(), events.clone());
    let sink = EventSink::to(move |name, content| {
        let event = form(name, &answer::succeeded(&sink_app, content, sink_id.clone()));
        let events = sink_events.clone();
        Box::pin(async move {
            match event {
                Some(event) => events.send(event).await.is_ok(),
                None => true,
            }
        })
    });
    let request = Request { events: sink, ..Request::new(operation.name, arguments, caller) };
    let outcome = browse(&app, request).await;
    let mut done = outcome.unwrap_or_else(|refusal| answer::refused(&app, &refusal, id.clone()));
    let mut last = Vec::new();
    if !done.ok {
        last.push(form("error", &done));
        done = answer::succeeded(&app, Value::Object(serde_json::Map::new()), id);
    }
    last.push(form("done", &done));
    for event in last.into_iter().flatten() {
        // A failed send means that the client disconnected, which drops this future as well.
        drop(events.send(event).await);
    }
}

fn event(name: &str, envelope: &Envelope) -> Event {
    Event::default().event(name).data(answer::json(envelope).to_string())
}

fn progress_event(update: ProgressUpdate) -> Value {
    let ProgressUpdate { phase, done, total, message, .. } = update;
    serde_json::to_value(ProgressEvent { phase, message, done, total }).unwrap_or_default()
}
