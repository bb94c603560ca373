//! MCP as routes: `/mcp`, narrowed by its path where one follows, and the older `/sse` with `/messages`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::Router;
use axum::extract::{Path, Query, Request as HttpRequest, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};

use super::guard::RequestId;
use super::{answer, body};
use crate::app::App;
use crate::contract::Fault;
use crate::surfaces::answer as shared;
use crate::surfaces::mcp::{SseMcp, StreamableMcp};
use crate::tools::{Caller, Toolbox, View};

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
    mounted.streamable.answer(&caller.principal, request).await
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
            let principal = Arc::clone(&caller.principal);
            request.extensions_mut().insert(caller);
            mounted.streamable.answer(&principal, request).await
        }
        Err(fault) => {
            let id = caller.request_id.unwrap_or_default();
            answer::refused(&mounted.app, StatusCode::NOT_FOUND, &fault, &id)
        }
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
    let message = match body::json_bytes(request, mounted.app.config.server.body_bytes_max).await {
        Ok(message) => message,
        Err((status, fault)) => return answer::refused(&mounted.app, status, &fault, &id),
    };
    let session = query.get("sessionId").map_or("", String::as_str);
    match mounted.sse.accept(&caller.principal, session, &message, parts) {
        Ok(()) => (StatusCode::ACCEPTED, "Accepted").into_response(),
        Err(fault) => answer::envelope(&failed(&mounted, &fault, Some(id))),
    }
}

fn failed(mounted: &Mounted, fault: &Fault, id: Option<String>) -> crate::contract::Envelope {
    shared::failed(&mounted.app, fault, id)
}
