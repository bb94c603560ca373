//! The routes. Each decodes, calls the one gate, and encodes.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{MatchedPath, Path, Query, Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;
use serde_json::{Map, Value};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::cors::CorsLayer;

use super::access::{API_KEY, Access, PROJECT, READ_ONLY, TOOLSETS, identify};
use super::guard::{RequestId, guard};
use super::oauth;
use super::stream::{Streamed, events};
use super::{answer, body, etag, mcp_routes, openapi, probes, timed_body};
use crate::app::App;
use crate::surfaces::mcp::{SESSION_ID, TEXT};
use crate::surfaces::{answer as shared, listing};
use crate::tools::{self, Caller, Request, Toolbox};
use contract::config::Server;
use contract::{Envelope, ErrorCode, Fault};
use tenancy::{Keyring, TokenVerifier};

/// How long a browser may keep what it was told about other sites.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(600);

/// Every route of the server.
pub fn router(app: &Arc<App>) -> Router {
    router_with(app, Toolbox::standard())
}

/// The same with tools of one's own on the MCP routes, for conformance tests.
pub fn router_with(app: &Arc<App>, tools: &'static Toolbox) -> Router {
    let panicked = Arc::clone(app);
    let access = Access {
        app: Arc::clone(app),
        keys: Arc::new(Keyring::new(Duration::from_millis(app.config.access.key_cache_ms))),
        tokens: tokens(app),
    };
    let routes = Router::new()
        .route("/health", get(probes::health))
        .route("/health/ready", get(probes::ready))
        .route("/metrics", get(probes::metrics))
        .route("/status", get(status))
        .route("/status/stream", get(status_stream))
        .route("/tools", get(list))
        .route("/tools/{name}", post(tool))
        .route("/search", post(search))
        .route("/search/stream", post(search_stream))
        .route("/openapi.json", get(openapi_document))
        .route("/docs", get(page))
        .route(oauth::METADATA, get(oauth::metadata))
        .route(&format!("{}/{{*resource}}", oauth::METADATA), get(oauth::metadata))
        .merge(mcp_routes::routes(app, tools))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .with_state(Arc::clone(app))
        .layer(from_fn_with_state(Arc::clone(app), timed_body::limit))
        .layer(CatchPanicLayer::custom(move |panic: Box<dyn Any + Send>| defect(&panicked, panic)))
        .layer(from_fn_with_state(access, identify))
        .layer(CompressionLayer::new());
    let routes = match cors(&app.config.server) {
        Some(cors) => routes.layer(cors),
        None => routes,
    };
    routes.layer(from_fn_with_state(Arc::clone(app), count)).layer(from_fn_with_state(Arc::clone(app), guard))
}

/// What checks access tokens. Settings that cannot be used have kept the server from listening.
fn tokens(app: &App) -> Option<Arc<TokenVerifier>> {
    TokenVerifier::configured(&app.config.oauth, Arc::clone(&app.clock)).ok().flatten().map(Arc::new)
}

/// Pages of the sites in `server.cors_origins` may call and read (Fetch standard).
fn cors(server: &Server) -> Option<CorsLayer> {
    let origins: Vec<HeaderValue> =
        server.cors_origins.iter().filter_map(|origin| origin.trim_end_matches('/').parse().ok()).collect();
    if origins.is_empty() {
        return None;
    }
    let name = HeaderName::from_static;
    Some(
        CorsLayer::new()
            .allow_origin(origins)
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            .allow_headers([
                header::CONTENT_TYPE,
                header::AUTHORIZATION,
                header::ACCEPT,
                API_KEY,
                TOOLSETS,
                READ_ONLY,
                PROJECT,
                name(SESSION_ID),
                name(TEXT),
                name("mcp-protocol-version"),
                name("mcp-method"),
                name("mcp-name"),
                name("last-event-id"),
                name("x-request-id"),
            ])
            .expose_headers([
                name(SESSION_ID),
                name("x-request-id"),
                header::RETRY_AFTER,
                header::WWW_AUTHENTICATE,
            ])
            .max_age(PREFLIGHT_MAX_AGE),
    )
}

/// The result of `GET /status`.
#[derive(Serialize)]
struct StatusOfRepo {
    repo: Option<String>,
    status: Value,
}

/// The result of `POST /search`.
#[derive(Serialize)]
struct SearchInRepo {
    repo: Option<String>,
    search: Value,
}

/// The result of a stream's first event.
#[derive(Serialize)]
struct Start {
    #[serde(skip_serializing_if = "Option::is_none")]
    repo: Option<Value>,
}

fn status_of_repo(envelope: Envelope) -> Envelope {
    reshaped(envelope, |repo, status| StatusOfRepo { repo, status })
}

fn search_in_repo(envelope: Envelope) -> Envelope {
    reshaped(envelope, |repo, search| SearchInRepo { repo, search })
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    let tools = listing::visible(&caller);
    let content = serde_json::to_vec(&tools).unwrap_or_default();
    etag::tagged(&headers, &content, || answer::answered(&app, &tools, id))
}

async fn openapi_document(headers: HeaderMap) -> Response {
    let document = openapi::text();
    let json = [(header::CONTENT_TYPE, "application/json")];
    etag::tagged(&headers, document.as_bytes(), || (json, document).into_response())
}

/// Its scripts and styles stand in it; nothing else may be loaded.
async fn page() -> Response {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(openapi::PAGE)).into_response()
}

type StatusQuery = Result<Query<BTreeMap<String, String>>, QueryRejection>;

/// The arguments of `check_status` in a query string.
fn status_arguments(app: &App, id: &RequestId, query: StatusQuery) -> Result<Value, Response> {
    match query {
        Ok(Query(query)) => {
            Ok(Value::Object(query.into_iter().map(|(name, value)| (name, Value::String(value))).collect()))
        }
        Err(rejection) => {
            let fault = Fault::new(ErrorCode::InvalidRequest, rejection.body_text());
            Err(answer::refused(app, StatusCode::BAD_REQUEST, &fault, &id.0))
        }
    }
}

async fn status(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    query: StatusQuery,
) -> Response {
    match status_arguments(&app, &id, query) {
        Ok(arguments) => {
            answer::envelope(&status_of_repo(call(&app, "check_status", arguments, caller).await))
        }
        Err(response) => response,
    }
}

async fn status_stream(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    query: StatusQuery,
) -> Response {
    match status_arguments(&app, &id, query) {
        Ok(arguments) => {
            let start = serde_json::to_value(Start { repo: Some(Value::Null) }).unwrap_or_default();
            let shape = status_of_repo;
            let streamed = Streamed { tool: "check_status", arguments, start, shape, progress: false };
            events(app, caller, streamed).into_response()
        }
        Err(response) => response,
    }
}

async fn tool(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
    request: HttpRequest,
) -> Response {
    // A name that is not UTF-8 is the name of no tool.
    let name = name.map_or_else(|_| String::from("\u{fffd}"), |Path(name)| name);
    match arguments(&app, &id, request).await {
        Ok(arguments) => answer::envelope(&call(&app, &name, arguments, caller).await),
        Err(response) => response,
    }
}

async fn search(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    request: HttpRequest,
) -> Response {
    match arguments(&app, &id, request).await {
        Ok(arguments) => answer::envelope(&search_in_repo(call(&app, "search", arguments, caller).await)),
        Err(response) => response,
    }
}

async fn search_stream(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    request: HttpRequest,
) -> Response {
    match arguments(&app, &id, request).await {
        Ok(arguments) => {
            let start = serde_json::to_value(Start { repo: None }).unwrap_or_default();
            let streamed =
                Streamed { tool: "search", arguments, start, shape: search_in_repo, progress: true };
            events(app, caller, streamed).into_response()
        }
        Err(response) => response,
    }
}

/// Counts the answer under the pattern of its route.
async fn count(State(app): State<Arc<App>>, request: HttpRequest, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    app.metrics.answered(route, response.status().as_u16());
    response
}

async fn no_route(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    let fault = Fault::new(ErrorCode::NotFound, "There is no such route.").with_hint(
        "GET /openapi.json describes the routes; POST /tools/{name} calls a tool; /mcp speaks MCP.",
    );
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
async fn call(app: &Arc<App>, tool: &str, arguments: Value, caller: Caller) -> Envelope {
    let id = caller.request_id.clone();
    match tools::call(app, Request::new(tool, arguments, caller)).await {
        Ok(envelope) => envelope,
        Err(refusal) => shared::refused(app, &refusal, id),
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

/// A panic in a route is an answer, not a broken connection.
fn defect(app: &App, panic: Box<dyn Any + Send>) -> Response {
    let cause = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let cause = cause.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!(cause, "a route failed unexpectedly");
    let fault = Fault::internal("The request failed unexpectedly.", cause);
    answer::envelope(&shared::failed(app, &fault, None))
}
