//! The route handlers that call tools. Each decodes the request, calls the gate and encodes the answer.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use serde::Serialize;
use serde_json::{Map, Value};

use super::event_stream::{StreamedCall, event_stream};
use super::query::{SentQuery, typed_arguments, unique_parameters};
use super::request_parts::RequestId;
use super::route::{Operation, Route};
use super::{answer, body, etag};
use crate::{answer as shared, listing};
use contract::Envelope;
use gate::app::App;
use gate::tools::{self, Caller, Request};

/// The routes that search, and show the status of the server.
pub(crate) const ROUTES: &[Route] = &[
    Route {
        path: "/status",
        method: MethodFilter::GET,
        handler: |method| on(method, status),
        public: false,
        operation: Operation::Tool {
            id: "status",
            summary: "How the server is",
            tag: "server",
            tool: "check_status",
            result: Some("status"),
            events: false,
        },
    },
    Route {
        path: "/status/stream",
        method: MethodFilter::GET,
        handler: |method| on(method, status_stream),
        public: false,
        operation: Operation::Tool {
            id: "statusStream",
            summary: "How the server is, as server-sent events: start, result or error, done",
            tag: "server",
            tool: "check_status",
            result: Some("status"),
            events: true,
        },
    },
    Route {
        path: "/search",
        method: MethodFilter::POST,
        handler: |method| on(method, search),
        public: false,
        operation: Operation::Tool {
            id: "searchInRepo",
            summary: "Search",
            tag: "search",
            tool: "search",
            result: Some("search"),
            events: false,
        },
    },
    Route {
        path: "/search/stream",
        method: MethodFilter::POST,
        handler: |method| on(method, search_stream),
        public: false,
        operation: Operation::Tool {
            id: "searchStream",
            summary: "Search, with progress as server-sent events: start, progress, result or error, done",
            tag: "search",
            tool: "search",
            result: Some("search"),
            events: true,
        },
    },
];

/// The result of `GET /status`.
#[derive(Serialize)]
struct StatusInRepo {
    repo: Option<String>,
    status: Value,
}

/// The result of `POST /search`.
#[derive(Serialize)]
struct SearchInRepo {
    repo: Option<String>,
    search: Value,
}

/// The result of the `start` event of a stream.
#[derive(Serialize)]
struct StreamStart {
    #[serde(skip_serializing_if = "Option::is_none")]
    repo: Option<Value>,
}

/// Wraps the result as `{repo, status}`.
fn status_in_repo(envelope: Envelope) -> Envelope {
    with_result(envelope, |repo, status| StatusInRepo { repo, status })
}

/// Wraps the result as `{repo, search}`.
fn search_in_repo(envelope: Envelope) -> Envelope {
    with_result(envelope, |repo, search| SearchInRepo { repo, search })
}

/// `GET /tools`.
pub(super) async fn list_tools(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = app.admit_request(&caller.principal) {
        return answer::envelope(&shared::refused(&app, &refusal, Some(id.0)));
    }
    let tools = listing::visible_tools(&app, &caller);
    let content = serde_json::to_vec(&tools).unwrap_or_default();
    etag::tagged(&headers, &content, || answer::answered(&app, &tools, id))
}

/// Reads the arguments of a tool from the query string.
pub fn query_arguments(app: &App, id: &RequestId, tool: &str, query: SentQuery) -> Result<Value, Response> {
    let parameters = unique_parameters(query)
        .map_err(|fault| answer::refused(app, StatusCode::BAD_REQUEST, &fault, &id.0))?;
    let input = app.modules.find_tool(tool).map(|spec| (spec.input)()).unwrap_or_default();
    Ok(typed_arguments(parameters, &input))
}

/// `GET /status`.
pub(super) async fn status(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    query: SentQuery,
) -> Result<Response, Response> {
    let arguments = query_arguments(&app, &id, "check_status", query)?;
    Ok(answer::envelope(&status_in_repo(call_tool(&app, "check_status", arguments, caller).await)))
}

/// `GET /status/stream`.
pub(super) async fn status_stream(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    query: SentQuery,
) -> Result<Response, Response> {
    let arguments = query_arguments(&app, &id, "check_status", query)?;
    let start = serde_json::to_value(StreamStart { repo: Some(Value::Null) }).unwrap_or_default();
    let shape = status_in_repo;
    let streamed = StreamedCall { tool: "check_status", arguments, start, shape, progress: false };
    Ok(event_stream(app, caller, streamed).into_response())
}

/// `POST /tools/{name}`.
pub(super) async fn call_named_tool(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
    request: HttpRequest,
) -> Result<Response, Response> {
    // A name that is not UTF-8 matches no tool.
    let name = name.map_or_else(|_| String::from("\u{fffd}"), |Path(name)| name);
    let arguments = read_arguments(&app, &id, request).await?;
    Ok(answer::envelope(&call_tool(&app, &name, arguments, caller).await))
}

/// `POST /search`.
pub(super) async fn search(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    request: HttpRequest,
) -> Result<Response, Response> {
    let arguments = read_arguments(&app, &id, request).await?;
    Ok(answer::envelope(&search_in_repo(call_tool(&app, "search", arguments, caller).await)))
}

/// `POST /search/stream`.
pub(super) async fn search_stream(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    request: HttpRequest,
) -> Result<Response, Response> {
    let arguments = read_arguments(&app, &id, request).await?;
    let start = serde_json::to_value(StreamStart { repo: None }).unwrap_or_default();
    let streamed = StreamedCall { tool: "search", arguments, start, shape: search_in_repo, progress: true };
    Ok(event_stream(app, caller, streamed).into_response())
}

/// Reads the arguments of a tool from the body.
pub async fn read_arguments(app: &App, id: &RequestId, request: HttpRequest) -> Result<Value, Response> {
    body::arguments(request, app.config.server.body_bytes_max)
        .await
        .map_err(|(status, fault)| answer::refused(app, status, &fault, &id.0))
}

/// Calls a tool. If the client disconnects, axum drops this future, which cancels the call.
pub async fn call_tool(app: &Arc<App>, tool: &str, arguments: Value, caller: Caller) -> Envelope {
    let id = caller.request_id.clone();
    match tools::call(app, Request::new(tool, arguments, caller)).await {
        Ok(envelope) => envelope,
        Err(refusal) => shared::refused(app, &refusal, id),
    }
}

/// Converts the result of a successful envelope to the format of the route.
fn with_result<T: Serialize>(
    mut envelope: Envelope,
    shape: impl FnOnce(Option<String>, Value) -> T,
) -> Envelope {
    if let Some(result) = envelope.result.take() {
        let shaped = serde_json::to_value(shape(envelope.meta.repo.clone(), result));
        envelope.result = Some(shaped.unwrap_or_else(|_| Value::Object(Map::new())));
    }
    envelope
}
