//! The routes of launch runs. Each calls a tool, or an operation that is not a tool, through the gate.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::tools::{ArtifactBytes, READ_LAUNCH_ARTIFACT, STREAM_LAUNCH_EVENTS};
use contract::{ErrorCode, Fault};
use gate::app::App;
use gate::tools::browse::browse;
use gate::tools::{Caller, Request};
use surfaces::http::routing::{
    self, LINES, Operation, RequestId, Route, SentQuery, call_tool, operation_events, operation_lines,
    refused_call, typed_arguments, unique_parameters,
};

/// The routes.
pub(crate) const ROUTES: &[Route] = &[
    Route {
        path: "/launch/runs",
        method: MethodFilter::GET,
        handler: |method| on(method, list),
        public: false,
        operation: Operation::Tool {
            id: "launchRuns",
            summary: "The launch runs of a project",
            tag: "launch",
            tool: LIST,
            result: None,
            events: false,
        },
    },
    Route {
        path: "/launch/runs/{run_id}",
        method: MethodFilter::GET,
        handler: |method| on(method, status),
        public: false,
        operation: Operation::Tool {
            id: "launchRun",
            summary: "A launch run as it is now",
            tag: "launch",
            tool: STATUS,
            result: None,
            events: false,
        },
    },
    Route {
        path: "/launch/runs/{run_id}/events",
        method: MethodFilter::GET,
        handler: |method| on(method, events),
        public: false,
        operation: Operation::Tool {
            id: "launchRunEvents",
            summary: "The log of a launch run after the event with the number `after` or in `Last-Event-ID`, as server-sent events: \
                event, with one entry each; error; done. With `follow=true`, also what happens until the run ends. With `Accept: \
                application/x-ndjson`, one entry a line",
            tag: "launch",
            tool: STATUS,
            result: None,
            events: true,
        },
    },
    Route {
        path: ARTIFACT_PATH,
        method: MethodFilter::GET,
        handler: |method| on(method, artifact),
        public: false,
        // Each artifact has its own media type.
        operation: Operation::Undocumented,
    },
];

/// The tool of `GET /launch/runs`.
const LIST: &str = "launch_list_runs";
/// The tool of `GET /launch/runs/{run_id}`.
const STATUS: &str = "launch_get_status";
/// The path of an artifact, whose name may have several parts.
const ARTIFACT_PATH: &str = "/launch/runs/{run_id}/artifacts/{*artifact_name}";

/// The header in which a reconnecting client sends the id of the last event that it has received.
const LAST_EVENT_ID: &str = "last-event-id";

/// Fields of the list's filter that are separate query parameters.
const FILTER_FIELDS: [&str; 2] = ["product_slug", "state"];

/// `GET /launch/runs`.
async fn list(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    query: SentQuery,
) -> Result<Response, Response> {
    let mut parameters = parameters(&app, &id, query)?;
    let filter: Map<String, Value> = FILTER_FIELDS
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), parameters.remove(name)?.into())))
        .collect();
    let mut arguments = typed(parameters, app.modules.find_tool(LIST).map(|tool| tool.input));
    if !filter.is_empty() {
        arguments["filter"] = filter.into();
    }
    Ok(routing::envelope(&call_tool(&app, LIST, arguments, caller).await))
}

/// `GET /launch/runs/{run_id}`.
async fn status(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    run: Result<Path<String>, PathRejection>,
    query: SentQuery,
) -> Result<Response, Response> {
    let input = app.modules.find_tool(STATUS).map(|tool| tool.input);
    let arguments = run_arguments(&app, &id, query, input, &[("run_id", from_path(run))])?;
    Ok(routing::envelope(&call_tool(&app, STATUS, arguments, caller).await))
}

/// `GET /launch/runs/{run_id}/events`. A client that lost the connection sends the number of the last event that it has received
/// in a header.
async fn events(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    run: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    query: SentQuery,
) -> Result<Response, Response> {
    let operation = STREAM_LAUNCH_EVENTS;
    let named = [("run_id", from_path(run))];
    let mut arguments = run_arguments(&app, &id, query, Some(operation.input), &named)?;
    if let Some(last) = headers.get(LAST_EVENT_ID) {
        // It was sent after the address was written, so it takes precedence. The gate refuses anything but a number.
        let last = String::from_utf8_lossy(last.as_bytes());
        arguments["after"] = last.parse::<i64>().map_or_else(|_| Value::from(&*last), Value::from);
    }
    Ok(match wants_lines(&headers) {
        true => operation_lines(app, caller, operation, arguments),
        false => operation_events(app, caller, operation, arguments).into_response(),
    })
}

/// `GET /launch/runs/{run_id}/artifacts/{artifact_name}`. A browser saves it instead of showing it, because pages that a run
/// wrote may contain what a repository wrote.
async fn artifact(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    named: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
    query: SentQuery,
) -> Result<Response, Response> {
    let (run, name) = named.map_or_else(|_| (no_text(), no_text()), |Path(named)| named);
    let operation = READ_LAUNCH_ARTIFACT;
    let file = name.rsplit('/').next().unwrap_or_default().to_owned();
    let named = [("run_id", run), ("artifact_name", name)];
    let arguments = run_arguments(&app, &id, query, Some(operation.input), &named)?;
    let request = Request::new(operation.name, arguments, caller);
    let envelope = match browse(&app, request).await {
        Ok(envelope) => envelope,
        Err(refusal) => refused_call(&app, &refusal, Some(id.0.clone())),
    };
    let Some(result) = &envelope.result else { return Ok(routing::envelope(&envelope)) };
    let read = || {
        let artifact: ArtifactBytes = serde_json::from_value(result.clone()).ok()?;
        let bytes = STANDARD.decode(&artifact.content).ok()?;
        Some((artifact, bytes))
    };
    let Some((artifact, bytes)) = read() else {
        let fault = Fault::internal("The artifact could not be read.", "its answer is malformed");
        return Err(routing::refused(&app, StatusCode::INTERNAL_SERVER_ERROR, &fault, &id.0));
    };
    Ok(routing::with_version(&headers, &artifact.sha256, || {
        file_response(&artifact.content_type, &file, bytes)
    }))
}

pub(super) fn file_response(content_type: &str, file: &str, bytes: Vec<u8>) -> Response {
    let mut response = bytes.into_response();
    let disposition = format!("attachment; filename=\"{file}\"");
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_DISPOSITION, disposition.as_str()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Checks whether the client requests lines of JSON.
fn wants_lines(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == LINES))
}

/// Returns a placeholder for a text that is not UTF-8: neither an id nor a name.
fn no_text() -> String {
    "\u{fffd}".to_owned()
}

fn from_path(part: Result<Path<String>, PathRejection>) -> String {
    part.map_or_else(|_| no_text(), |Path(part)| part)
}

fn parameters(app: &App, id: &RequestId, query: SentQuery) -> Result<BTreeMap<String, String>, Response> {
    unique_parameters(query).map_err(|fault| routing::refused(app, StatusCode::BAD_REQUEST, &fault, &id.0))
}

fn typed(parameters: BTreeMap<String, String>, input: Option<fn() -> Map<String, Value>>) -> Value {
    typed_arguments(parameters, &input.map(|input| input()).unwrap_or_default())
}

/// Returns the arguments of a call about a run: those of the query, and those in the path.
fn run_arguments(
    app: &App,
    id: &RequestId,
    query: SentQuery,
    input: Option<fn() -> Map<String, Value>>,
    named: &[(&str, String)],
) -> Result<Value, Response> {
    let parameters = parameters(app, id, query)?;
    if let Some((name, _)) = named.iter().find(|(name, _)| parameters.contains_key(*name)) {
        let message = format!("The path and the query both name a `{name}`.");
        let fault = Fault::new(ErrorCode::InvalidRequest, message).with_hint("Send it in the path only.");
        return Err(routing::refused(app, StatusCode::BAD_REQUEST, &fault, &id.0));
    }
    let mut arguments = typed(parameters, input);
    for (name, value) in named {
        arguments[*name] = value.as_str().into();
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sent_to_those_who_ask_for_them() {
        let wants = |accept: &'static str| {
            wants_lines(&HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]))
        };
        assert!(wants("application/x-ndjson") && wants("text/html, application/x-ndjson;q=0.9"));
        assert!(!wants("text/event-stream") && !wants("*/*") && !wants_lines(&HeaderMap::new()));
    }

    #[test]
    fn files_are_saved_and_not_shown() {
        let response = file_response("text/markdown", "a.md", b"<script>".to_vec());
        let header = |name| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header(header::CONTENT_TYPE), "text/markdown");
        assert_eq!(header(header::CONTENT_DISPOSITION), "attachment; filename=\"a.md\"");
        assert_eq!(header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
    }
}
