//! The routes. Each decodes, calls the one gate, and encodes.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, Request as HttpRequest, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;
use serde_json::{Map, Value};
use tower_http::catch_panic::CatchPanicLayer;

use super::guard::{RequestId, guard};
use super::{answer, body};
use crate::app::App;
use crate::contract::{Envelope, ErrorCode, Fault};
use crate::surfaces::{answer as shared, listing, mcp};
use crate::tools::{self, Caller, Request, Surface};

/// Every route of the server.
pub fn router(app: &Arc<App>) -> Router {
    let mcp = Router::new().route_service("/mcp", mcp::streamable(app)).layer(from_fn(no_content_on_delete));
    let panicked = Arc::clone(app);
    Router::new()
        .route("/health", get(health))
        .route("/status", get(status))
        .route("/tools", get(list))
        .route("/tools/{name}", post(tool))
        .route("/search", post(search))
        .merge(mcp)
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(CatchPanicLayer::custom(move |panic: Box<dyn Any + Send>| defect(&panicked, panic)))
        .layer(from_fn_with_state(Arc::clone(app), guard))
        .with_state(Arc::clone(app))
}

/// `GET /health` (T §7.2.1). Liveness: never asks the database.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Health {
    uptime_ms: u64,
}

/// The result of `GET /status` (T §7.2.2).
#[derive(Serialize)]
struct StatusOfRepo {
    repo: Option<String>,
    status: Value,
}

/// The result of `POST /search` (T §7.2.4).
#[derive(Serialize)]
struct SearchInRepo {
    repo: Option<String>,
    search: Value,
}

async fn health(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    let uptime = app.clock.instant().duration_since(app.started);
    answered(&app, &Health { uptime_ms: u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX) }, id)
}

async fn list(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    answered(&app, &listing::all(), id)
}

/// `check_status`, with the query string as its arguments.
async fn status(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    query: Result<Query<BTreeMap<String, String>>, QueryRejection>,
) -> Response {
    let query = match query {
        Ok(Query(query)) => query,
        Err(rejection) => {
            let fault = Fault::new(ErrorCode::InvalidRequest, rejection.body_text());
            return answer::refused(&app, StatusCode::BAD_REQUEST, &fault, &id.0);
        }
    };
    let arguments = query.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
    let envelope = call(&app, "check_status", Value::Object(arguments), id).await;
    answer::envelope(&reshaped(envelope, |repo, status| StatusOfRepo { repo, status }))
}

async fn tool(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    name: Result<Path<String>, PathRejection>,
    request: HttpRequest,
) -> Response {
    // A name that is not UTF-8 is the name of no tool.
    let name = name.map_or_else(|_| String::from("\u{fffd}"), |Path(name)| name);
    match arguments(&app, &id, request).await {
        Ok(arguments) => answer::envelope(&call(&app, &name, arguments, id).await),
        Err(response) => response,
    }
}

async fn search(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    request: HttpRequest,
) -> Response {
    match arguments(&app, &id, request).await {
        Ok(arguments) => {
            let envelope = call(&app, "search", arguments, id).await;
            answer::envelope(&reshaped(envelope, |repo, search| SearchInRepo { repo, search }))
        }
        Err(response) => response,
    }
}

async fn no_route(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    let fault = Fault::new(ErrorCode::NotFound, "There is no such route.")
        .with_hint("GET /tools lists the tools; POST /tools/{name} calls one; /mcp speaks MCP.");
    answer::refused(&app, StatusCode::NOT_FOUND, &fault, &id.0)
}

async fn no_method(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    let fault = Fault::new(ErrorCode::InvalidRequest, "The route does not answer this method.")
        .with_hint("The Allow header names the methods it answers.");
    answer::refused(&app, StatusCode::METHOD_NOT_ALLOWED, &fault, &id.0)
}

async fn arguments(app: &App, id: &RequestId, request: HttpRequest) -> Result<Value, Response> {
    body::arguments(request, app.config.server.body_bytes_max)
        .await
        .map_err(|(status, fault)| answer::refused(app, status, &fault, &id.0))
}

/// Calls a tool. When the client leaves, this future is dropped, and the gate cancels the call.
async fn call(app: &Arc<App>, tool: &str, arguments: Value, id: RequestId) -> Envelope {
    let caller = Caller { request_id: Some(id.0.clone()), ..Caller::local(Surface::Http) };
    match tools::call(app, Request::new(tool, arguments, caller)).await {
        Ok(envelope) => envelope,
        Err(refusal) => shared::refused(app, &refusal, Some(id.0)),
    }
}

/// A success with its result put into the shape of an older route.
fn reshaped<T: Serialize>(
    mut envelope: Envelope,
    shape: impl FnOnce(Option<String>, Value) -> T,
) -> Envelope {
    if let Some(result) = envelope.result.take() {
        let shaped = serde_json::to_value(shape(envelope.meta.repo.clone(), result));
        envelope.result = Some(shaped.unwrap_or_else(|_| Value::Object(Map::new())));
    }
    envelope
}

fn answered(app: &App, result: &impl Serialize, id: RequestId) -> Response {
    match serde_json::to_value(result) {
        Ok(result) => answer::envelope(&shared::succeeded(app, result, Some(id.0))),
        Err(error) => {
            let fault = Fault::internal("The answer could not be written.", error);
            answer::refused(app, StatusCode::INTERNAL_SERVER_ERROR, &fault, &id.0)
        }
    }
}

/// A panic in a route is an answer, not a broken connection.
fn defect(app: &App, panic: Box<dyn Any + Send>) -> Response {
    let cause = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let cause = cause.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!(cause, "a route failed unexpectedly");
    let fault = Fault::internal("The request failed unexpectedly.", cause);
    answer::envelope(&shared::failed(app, &fault, None))
}

/// rmcp answers the end of a session with 202, which some clients take for a failure; 204 suits all.
async fn no_content_on_delete(request: HttpRequest, next: Next) -> Response {
    let deletes = request.method() == Method::DELETE;
    let response = next.run(request).await;
    if deletes && response.status() == StatusCode::ACCEPTED {
        return StatusCode::NO_CONTENT.into_response();
    }
    response
}
