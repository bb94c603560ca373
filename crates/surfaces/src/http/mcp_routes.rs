//! The MCP routes: `/mcp`, with variants that limit the tools, and the older `/sse` with `/messages`.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Extension, Json, Router};

use super::access::requested_tools;
use super::query::{SentQuery, unique_parameters};
use super::request_parts::RequestId;
use super::{answer, body};
use crate::answer as shared;
use crate::mcp::{SseMcp, StreamableMcp};
use contract::{ErrorCode, Fault};
use gate::app::App;
use gate::tools::{Caller, Toolbox};
use tenancy::Principal;

/// Maximum size of rmcp's error bodies that are kept, in bytes; real ones are a single line.
const REFUSAL_BYTES_MAX: usize = 4096;

/// State of the MCP routes.
#[derive(Clone)]
struct McpState {
    app: Arc<App>,
    streamable: StreamableMcp,
    sse: SseMcp,
}

/// Returns `true` if the streams of the route carry MCP messages.
pub(super) fn is_mcp(route: &str) -> bool {
    route == "/sse" || route == "/mcp" || route.starts_with("/mcp/")
}

/// Returns the routes, for example `/mcp`, `/mcp/readonly`, `/mcp/x/search,index`, `/mcp/x/search/readonly`, `/sse` and `/messages`.
pub(super) fn routes<S: Clone + Send + Sync + 'static>(app: &Arc<App>, tools: &'static Toolbox) -> Router<S> {
    let drained = app.drained();
    let mcp = McpState {
        app: Arc::clone(app),
        streamable: StreamableMcp::new(app, tools, drained.clone()),
        sse: SseMcp::new(app, tools, drained),
    };
    let streamable = Router::new()
        .route("/mcp", any(all_tools))
        .route("/mcp/readonly", any(read_only))
        .route("/mcp/x/{toolsets}", any(toolsets))
        .route("/mcp/x/{toolsets}/readonly", any(toolsets_read_only));
    let sse = Router::new().route("/sse", get(open_sse)).route("/messages", post(post_message));
    let routes = if app.config.server.sse { streamable.merge(sse) } else { streamable };
    routes.with_state(mcp)
}

async fn all_tools(
    State(mcp): State<McpState>,
    Extension(caller): Extension<Caller>,
    request: HttpRequest,
) -> Response {
    answer_mcp(&mcp, &caller, request).await
}

async fn read_only(mcp: State<McpState>, caller: Extension<Caller>, request: HttpRequest) -> Response {
    narrowed(mcp, caller, request, None, true).await
}

async fn toolsets(
    mcp: State<McpState>,
    caller: Extension<Caller>,
    Path(toolsets): Path<String>,
    request: HttpRequest,
) -> Response {
    narrowed(mcp, caller, request, Some(&toolsets), false).await
}

async fn toolsets_read_only(
    mcp: State<McpState>,
    caller: Extension<Caller>,
    Path(toolsets): Path<String>,
    request: HttpRequest,
) -> Response {
    narrowed(mcp, caller, request, Some(&toolsets), true).await
}

/// Serves `/mcp` with fewer tools.
async fn narrowed(
    State(mcp): State<McpState>,
    Extension(mut caller): Extension<Caller>,
    mut request: HttpRequest,
    toolsets: Option<&str>,
    read_only: bool,
) -> Response {
    match requested_tools(mcp.app.modules, toolsets, read_only) {
        Ok(requested) => {
            caller.visibility = caller.visibility.intersect(&requested);
            request.extensions_mut().insert(caller.clone());
            answer_mcp(&mcp, &caller, request).await
        }
        Err(fault) => {
            let id = caller.request_id.unwrap_or_default();
            answer::refused(&mcp.app, StatusCode::NOT_FOUND, &fault, &id)
        }
    }
}

/// Answers an MCP request. A body that is not a JSON-RPC message gets a JSON-RPC error; the plain-text errors of rmcp's transport
/// are converted into the envelope of all other routes.
async fn answer_mcp(mcp: &McpState, caller: &Caller, request: HttpRequest) -> Response {
    let id = caller.request_id.clone().unwrap_or_default();
    let request = if request.method() == Method::POST {
        match read_message(mcp, &caller.principal, &id, request).await {
            Ok(request) => request,
            Err(response) => return *response,
        }
    } else {
        request
    };
    let response = mcp.streamable.answer(&caller.principal, request).await;
    let status = response.status();
    if status.is_success() {
        return response;
    }
    let is_json = |kind: &HeaderValue| kind.as_bytes().starts_with(b"application/json");
    let (mut head, body) = response.into_parts();
    // A longer body repeats what the client sent, so the general message below replaces it.
    let body = to_bytes(body, REFUSAL_BYTES_MAX).await.unwrap_or_default();
    if !body.is_empty() && head.headers.get(header::CONTENT_TYPE).is_some_and(is_json) {
        head.headers.remove(header::CONTENT_LENGTH);
        return match StreamableMcp::with_error_code(&body) {
            Some(answer) => Response::from_parts(head, Body::from(answer.to_string())),
            None => Response::from_parts(head, Body::from(body)),
        };
    }
    let text = String::from_utf8_lossy(&body).trim().to_owned();
    let (code, hint) = match status {
        StatusCode::NOT_FOUND => (ErrorCode::NotFound, "Open a new session with `initialize`."),
        StatusCode::INTERNAL_SERVER_ERROR => (ErrorCode::Internal, "See the server's log."),
        _ => (
            ErrorCode::InvalidRequest,
            "Send one JSON-RPC message of MCP, with `Accept: application/json, text/event-stream`.",
        ),
    };
    let message = if text.is_empty() { format!("The request was refused: {status}.") } else { text };
    answer::refused(&mcp.app, status, &Fault::new(code, message).with_hint(hint), &id)
}

/// Reads the bounded body; returns the error response if it is not a JSON-RPC message.
async fn read_message(
    mcp: &McpState,
    principal: &Principal,
    id: &str,
    request: HttpRequest,
) -> Result<HttpRequest, Box<Response>> {
    let bytes_max = mcp.app.config.server.body_bytes_max;
    let (parts, body) = request.into_parts();
    let request = HttpRequest::from_parts(parts.clone(), body);
    let bytes = match body::json_bytes(request, bytes_max).await {
        Ok(bytes) => bytes,
        Err((status @ StatusCode::PAYLOAD_TOO_LARGE, _)) => {
            return Err(Box::new((status, Json(StreamableMcp::too_long(bytes_max))).into_response()));
        }
        Err((status, fault)) => return Err(Box::new(answer::refused(&mcp.app, status, &fault, id))),
    };
    match mcp.streamable.refusal(principal, &parts.headers, &bytes) {
        Some((status, refused)) => Err(Box::new((status, Json(refused)).into_response())),
        None => Ok(HttpRequest::from_parts(parts, Body::from(StreamableMcp::without_byte_order_mark(bytes)))),
    }
}

async fn open_sse(State(mcp): State<McpState>, Extension(caller): Extension<Caller>) -> Response {
    match mcp.sse.open(&caller.principal) {
        Ok(stream) => stream.into_response(),
        Err(fault) => answer::envelope(&failed(&mcp, &fault, caller.request_id)),
    }
}

async fn post_message(
    State(mcp): State<McpState>,
    Extension(RequestId(id)): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    query: SentQuery,
    request: HttpRequest,
) -> Response {
    let parameters = match unique_parameters(query) {
        Ok(parameters) => parameters,
        Err(fault) => return answer::refused(&mcp.app, StatusCode::BAD_REQUEST, &fault, &id),
    };
    let (parts, body) = request.into_parts();
    let request = HttpRequest::from_parts(parts.clone(), body);
    let bytes_max = mcp.app.config.server.body_bytes_max;
    let session = parameters.get("sessionId").map_or("", String::as_str);
    let message = match body::json_bytes(request, bytes_max).await {
        Ok(message) => message,
        Err((status, fault)) => {
            if status == StatusCode::PAYLOAD_TOO_LARGE {
                mcp.sse.refuse_too_long(&caller.principal, session, bytes_max);
            }
            return answer::refused(&mcp.app, status, &fault, &id);
        }
    };
    match mcp.sse.accept(&caller.principal, session, &message, parts) {
        Ok(()) => (StatusCode::ACCEPTED, "Accepted").into_response(),
        Err(fault) => answer::envelope(&failed(&mcp, &fault, Some(id))),
    }
}

fn failed(mcp: &McpState, fault: &Fault, id: Option<String>) -> contract::Envelope {
    shared::failed(&mcp.app, fault, id)
}
