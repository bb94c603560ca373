//! MCP as routes: `/mcp`, narrowed by its path where one follows, and the older `/sse` with `/messages`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query, Request as HttpRequest, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Extension, Json, Router};

use super::guard::RequestId;
use super::{answer, body};
use crate::app::App;
use crate::surfaces::answer as shared;
use crate::surfaces::mcp::{SseMcp, StreamableMcp};
use crate::tools::{Caller, Toolbox, View};
use contract::{ErrorCode, Fault};

/// Refusals are a line.
const REFUSAL_BYTES_MAX: usize = 4096;

/// What these routes share.
#[derive(Clone)]
struct Mounted {
    app: Arc<App>,
    streamable: StreamableMcp,
    sse: SseMcp,
}

/// `/mcp`, `/mcp/readonly`, `/mcp/x/search,index`, `/mcp/x/search/readonly`; `/sse` and `/messages`.
pub(super) fn routes<S: Clone + Send + Sync + 'static>(app: &Arc<App>, tools: &'static Toolbox) -> Router<S> {
    let drained = app.drained();
    let mounted = Mounted {
        app: Arc::clone(app),
        streamable: StreamableMcp::new(app, tools, drained.clone()),
        sse: SseMcp::new(app, tools, drained),
    };
    let mcp = Router::new()
        .route("/mcp", any(whole))
        .route("/mcp/readonly", any(read_only))
        .route("/mcp/x/{toolsets}", any(toolsets))
        .route("/mcp/x/{toolsets}/readonly", any(toolsets_read_only));
    let older = Router::new().route("/sse", get(open)).route("/messages", post(message));
    let routes = if app.config.server.sse { mcp.merge(older) } else { mcp };
    routes.with_state(mounted)
}

async fn whole(
    State(mounted): State<Mounted>,
    Extension(caller): Extension<Caller>,
    request: HttpRequest,
) -> Response {
    answered(&mounted, &caller, request).await
}

async fn read_only(mounted: State<Mounted>, caller: Extension<Caller>, request: HttpRequest) -> Response {
    narrowed(mounted, caller, request, "", true).await
}

async fn toolsets(
    mounted: State<Mounted>,
    caller: Extension<Caller>,
    Path(toolsets): Path<String>,
    request: HttpRequest,
) -> Response {
    narrowed(mounted, caller, request, &toolsets, false).await
}

async fn toolsets_read_only(
    mounted: State<Mounted>,
    caller: Extension<Caller>,
    Path(toolsets): Path<String>,
    request: HttpRequest,
) -> Response {
    narrowed(mounted, caller, request, &toolsets, true).await
}

/// `/mcp` for a caller who sees fewer tools.
async fn narrowed(
    State(mounted): State<Mounted>,
    Extension(mut caller): Extension<Caller>,
    mut request: HttpRequest,
    toolsets: &str,
    read_only: bool,
) -> Response {
    match View::of(toolsets, read_only) {
        Ok(view) => {
            caller.view = caller.view.narrowed(&view);
            request.extensions_mut().insert(caller.clone());
            answered(&mounted, &caller, request).await
        }
        Err(fault) => {
            let id = caller.request_id.unwrap_or_default();
            answer::refused(&mounted.app, StatusCode::NOT_FOUND, &fault, &id)
        }
    }
}

/// The protocol's answer. A body that is no message is refused as a message of the protocol; what rmcp refuses below it, in
/// plain text, stands in the envelope as on every other route.
async fn answered(mounted: &Mounted, caller: &Caller, request: HttpRequest) -> Response {
    let id = caller.request_id.clone().unwrap_or_default();
    let request = if request.method() == Method::POST {
        match received(mounted, &id, request).await {
            Ok(request) => request,
            Err(response) => return *response,
        }
    } else {
        request
    };
    let response = mounted.streamable.answer(&caller.principal, request).await;
    let status = response.status();
    if status.is_success() {
        return response;
    }
    let is_json = |kind: &HeaderValue| kind.as_bytes().starts_with(b"application/json");
    if response.headers().get(header::CONTENT_TYPE).is_some_and(is_json) {
        let (mut head, body) = response.into_parts();
        let body = to_bytes(body, REFUSAL_BYTES_MAX).await.unwrap_or_default();
        head.headers.remove(header::CONTENT_LENGTH);
        return match StreamableMcp::completed(&body) {
            Some(answer) => Response::from_parts(head, Body::from(answer.to_string())),
            None => Response::from_parts(head, Body::from(body)),
        };
    }
    let text = to_bytes(response.into_body(), REFUSAL_BYTES_MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    let (code, hint) = match status {
        StatusCode::NOT_FOUND => (ErrorCode::NotFound, "Open another session with `initialize`."),
        StatusCode::INTERNAL_SERVER_ERROR => (ErrorCode::Internal, "Look at the server's log."),
        _ => (
            ErrorCode::InvalidRequest,
            "Speak MCP here: one JSON-RPC message, `Accept: application/json, text/event-stream`.",
        ),
    };
    let message = if text.is_empty() { format!("The request was refused: {status}.") } else { text };
    answer::refused(&mounted.app, status, &Fault::new(code, message).with_hint(hint), &id)
}

/// The request with its body, read and bounded; or the answer to what is no message.
async fn received(mounted: &Mounted, id: &str, request: HttpRequest) -> Result<HttpRequest, Box<Response>> {
    let bytes_max = mounted.app.config.server.body_bytes_max;
    let (parts, body) = request.into_parts();
    let whole = HttpRequest::from_parts(parts.clone(), body);
    let bytes = match body::json_bytes(whole, bytes_max).await {
        Ok(bytes) => bytes,
        Err((status @ StatusCode::PAYLOAD_TOO_LARGE, _)) => {
            return Err(Box::new((status, Json(StreamableMcp::too_long(bytes_max))).into_response()));
        }
        Err((status, fault)) => return Err(Box::new(answer::refused(&mounted.app, status, &fault, id))),
    };
    match mounted.streamable.refusal(&parts.headers, &bytes) {
        Some((status, refused)) => Err(Box::new((status, Json(refused)).into_response())),
        None => Ok(HttpRequest::from_parts(parts, Body::from(StreamableMcp::unmarked(bytes)))),
    }
}

async fn open(State(mounted): State<Mounted>, Extension(caller): Extension<Caller>) -> Response {
    match mounted.sse.open(&caller.principal) {
        Ok(stream) => stream.into_response(),
        Err(fault) => answer::envelope(&failed(&mounted, &fault, caller.request_id)),
    }
}

async fn message(
    State(mounted): State<Mounted>,
    Extension(RequestId(id)): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<BTreeMap<String, String>>,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    let request = HttpRequest::from_parts(parts.clone(), body);
    let bytes_max = mounted.app.config.server.body_bytes_max;
    let session = query.get("sessionId").map_or("", String::as_str);
    let message = match body::json_bytes(request, bytes_max).await {
        Ok(message) => message,
        Err((status, fault)) => {
            if status == StatusCode::PAYLOAD_TOO_LARGE {
                mounted.sse.refuse_too_long(&caller.principal, session, bytes_max);
            }
            return answer::refused(&mounted.app, status, &fault, &id);
        }
    };
    match mounted.sse.accept(&caller.principal, session, &message, parts) {
        Ok(()) => (StatusCode::ACCEPTED, "Accepted").into_response(),
        Err(fault) => answer::envelope(&failed(&mounted, &fault, Some(id))),
    }
}

fn failed(mounted: &Mounted, fault: &Fault, id: Option<String>) -> contract::Envelope {
    shared::failed(&mounted.app, fault, id)
}
