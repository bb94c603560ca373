//! The routes that belong to no module, and the router of all routes with its middleware. The OpenAPI document and the list of public
//! routes are derived from the tables of routes; the MCP routes, whose protocol defines its own format, are in [`mcp_routes`].

use std::any::Any;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Extension;
use axum::Router;
use axum::extract::{MatchedPath, Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use serde_json::Value;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::cors::CorsLayer;

use super::access::{Access, identify};
use super::guard::guard_request;
use super::pages::{self, PAGES};
use super::request_parts::{API_KEY, PROJECT, READ_ONLY, RequestId, TOOLSETS};
use super::route::{Operation, Route, RouteTable};
use super::{answer, etag, mcp_routes, oauth, openapi, probes, timed_body, tool_routes, webhooks};
use crate::answer as shared;
use crate::mcp::{SESSION_ID, TEXT};
use crate::module::Modules;
use contract::config::Server;
use contract::{ErrorCode, Fault};
use gate::app::App;
use gate::tools::Toolbox;
use tenancy::{Keyring, SignInClient, TokenVerifier};

const GET: MethodFilter = MethodFilter::GET;
const POST: MethodFilter = MethodFilter::POST;

/// The routes of the server itself, without those of MCP. Public routes must not depend on the caller: the probes and the documents
/// that describe how a client gets a key.
static ROUTES: &[Route] = &[
    Route {
        path: "/health",
        method: GET,
        handler: |method| on(method, probes::health),
        public: true,
        operation: Operation::Server {
            id: "health",
            summary: "Whether the server is alive",
            answer: openapi::health_answer,
        },
    },
    Route {
        path: "/health/ready",
        method: GET,
        handler: |method| on(method, probes::ready),
        public: true,
        operation: Operation::Server {
            id: "ready",
            summary: "Whether calls can be answered; 503 if not",
            answer: openapi::readiness_answer,
        },
    },
    Route {
        path: "/metrics",
        method: GET,
        handler: |method| on(method, probes::metrics),
        public: false,
        operation: Operation::Server {
            id: "metrics",
            summary: "Counts for Prometheus; needs the scope admin",
            answer: openapi::metrics_answer,
        },
    },
    Route {
        path: "/tools",
        method: GET,
        handler: |method| on(method, tool_routes::list_tools),
        public: false,
        operation: Operation::Server {
            id: "tools",
            summary: "The tools that the caller may call, with their schemas",
            answer: openapi::any_object_answer,
        },
    },
    Route {
        path: "/openapi.json",
        method: GET,
        handler: |method| on(method, openapi_document),
        public: true,
        operation: Operation::Server {
            id: "openapi",
            summary: "This document",
            answer: openapi::document_answer,
        },
    },
    Route {
        path: "/docs",
        method: GET,
        handler: |method| on(method, openapi_page),
        public: true,
        operation: Operation::Server {
            id: "docs",
            summary: "This document as a page",
            answer: openapi::page_answer,
        },
    },
    Route {
        path: webhooks::PATH,
        method: POST,
        handler: |method| on(method, webhooks::git),
        // It is protected by a secret of its own.
        public: true,
        // Each host has its own format.
        operation: Operation::Undocumented,
    },
    Route {
        path: "/tools/{name}",
        method: POST,
        handler: |method| on(method, tool_routes::call_named_tool),
        public: false,
        operation: Operation::EachTool,
    },
    Route {
        path: oauth::METADATA_PATH,
        method: GET,
        handler: |method| on(method, oauth::metadata),
        public: true,
        operation: Operation::Undocumented,
    },
    Route {
        path: oauth::METADATA_OF_RESOURCE_PATH,
        method: GET,
        handler: |method| on(method, oauth::metadata),
        public: true,
        operation: Operation::Undocumented,
    },
];

/// The time for which a browser may cache the answer to a CORS preflight request.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(600);

/// Builds the router of the server.
pub fn router(app: &Arc<App>, modules: &'static Modules) -> Router {
    router_with(app, modules, modules.gate().tools())
}

/// Builds the router with other tools on the MCP routes, for conformance tests.
pub fn router_with(app: &Arc<App>, modules: &'static Modules, tools: &'static Toolbox) -> Router {
    let panicked = Arc::clone(app);
    let table = Arc::new(table(modules));
    let access = Access {
        app: Arc::clone(app),
        modules,
        routes: Arc::clone(&table),
        keys: Arc::new(Keyring::new(Duration::from_millis(app.config.access.key_cache_ms))),
        tokens: token_verifier(app),
        sign_in: SignInClient::from_settings(&app.config.oauth).ok().flatten().map(Arc::new),
        sessions: Arc::new(pages::Sessions::new(shared::unguessable_id().ok().as_deref())),
    };
    let mut routes = Router::new();
    for route in table.routes.iter().chain(&table.pages) {
        routes = routes.route(route.path, (route.handler)(route.method));
    }
    let routes = routes
        .merge(mcp_routes::routes(app, tools))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .with_state(Arc::clone(app))
        .layer(from_fn_with_state(Arc::clone(app), timed_body::limit_body_time))
        .layer(CatchPanicLayer::custom(move |panic: Box<dyn Any + Send>| panic_response(&panicked, panic)))
        .layer(Extension(access.clone()))
        .layer(from_fn_with_state(access, identify))
        .layer(from_fn_with_state(table, pages::add_headers))
        .layer(CompressionLayer::new());
    let routes = match cors_layer(&app.config.server) {
        Some(cors) => routes.layer(cors),
        None => routes,
    };
    routes
        .layer(from_fn_with_state(Arc::clone(app), count_answer))
        .layer(from_fn_with_state(Arc::clone(app), guard_request))
}

/// Creates the verifier of access tokens, if OAuth is configured. `listen` has already rejected invalid settings.
fn token_verifier(app: &App) -> Option<Arc<TokenVerifier>> {
    TokenVerifier::from_settings(&app.config.oauth, Arc::clone(&app.clock)).ok().flatten().map(Arc::new)
}

/// Lets pages of the origins in `server.cors_origins` call the server and read the answers.
fn cors_layer(server: &Server) -> Option<CorsLayer> {
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

/// Returns the routes and pages of a server with these modules.
fn table(modules: &Modules) -> RouteTable {
    RouteTable {
        routes: ROUTES.iter().chain(modules.routes()).collect(),
        pages: PAGES.iter().chain(modules.pages()).collect(),
        document: OnceLock::new(),
    }
}

/// Returns the OpenAPI document of a server with these modules.
#[must_use]
pub fn document(modules: &'static Modules) -> Value {
    openapi::document(table(modules).routes, modules.gate())
}

/// `GET /openapi.json`.
async fn openapi_document(Extension(access): Extension<Access>, headers: HeaderMap) -> Response {
    let document = access.routes.document.get_or_init(|| document(access.modules).to_string()).as_str();
    let json = [(header::CONTENT_TYPE, "application/json")];
    etag::tagged(&headers, document.as_bytes(), || (json, document.to_owned()).into_response())
}

/// `GET /docs`. Scripts and styles are inline; the policy forbids loading anything else.
async fn openapi_page() -> Response {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(openapi::PAGE)).into_response()
}

/// Counts the answer under the path of its route.
async fn count_answer(State(app): State<Arc<App>>, request: HttpRequest, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    app.metrics.record_http_request(route, response.status().as_u16());
    response
}

async fn no_route(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(access): Extension<Access>,
    request: HttpRequest,
) -> Response {
    let is_get = matches!(*request.method(), Method::GET | Method::HEAD);
    // A request for a public path may be anonymous, and gets the same answer as any other client.
    if is_get && !access.routes.is_public(request.uri().path()) && pages::is_browser(request.headers()) {
        return pages::no_page(&app, request, StatusCode::NOT_FOUND).await;
    }
    let fault = Fault::new(ErrorCode::NotFound, "The route does not exist.").with_hint(
        "GET /openapi.json describes the routes; POST /tools/{name} calls a tool; /mcp serves MCP.",
    );
    answer::refused(&app, StatusCode::NOT_FOUND, &fault, &id.0)
}

async fn no_method(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(access): Extension<Access>,
    request: HttpRequest,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    if route.is_some_and(|route| access.routes.is_page(route)) && pages::is_browser(request.headers()) {
        return pages::no_page(&app, request, StatusCode::METHOD_NOT_ALLOWED).await;
    }
    let fault = Fault::new(ErrorCode::InvalidRequest, "The route does not support this method.")
        .with_hint("The Allow header lists the supported methods.");
    answer::refused(&app, StatusCode::METHOD_NOT_ALLOWED, &fault, &id.0)
}

/// Answers a panic in a handler with an envelope instead of closing the connection.
fn panic_response(app: &App, panic: Box<dyn Any + Send>) -> Response {
    let cause = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let cause = cause.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!(cause, "a route failed unexpectedly");
    let fault = Fault::internal("The request failed unexpectedly.", cause);
    answer::envelope(&shared::failed(app, &fault, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::TEST_MODULES;

    #[test]
    fn probes_and_signing_in_need_no_key() {
        let table = table(&TEST_MODULES);
        for path in ["/health", "/sign-in", "/.well-known/other", webhooks::PATH] {
            assert!(table.is_public(path), "{path}");
        }
        for path in ["/search", "/", "/status", "/repositories", "/nothing"] {
            assert!(!table.is_public(path), "{path}");
        }
        assert!(table.has_forms("/sign-in") && !table.is_page("/sign-in"));
        assert!(table.is_page("/repositories") && !table.has_forms("/status"));
    }
}
