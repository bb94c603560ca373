//! The dashboard: a page of a module, for people on this machine.
//!
//! It has a listener of its own, with the same limits as the server's, and no keys. Therefore it listens only on loopback,
//! answers only to loopback names (a page in the browser could otherwise rebind its own name to this machine), and is read-only.

mod address;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::{Extension, Router};

use super::answer;
use super::guard::guard;
use super::listen::Listening;
use super::request_parts::RequestId;
use crate::answer as shared;
use crate::module::Modules;
use contract::config::Server;
use contract::{ErrorCode, Fault};
use gate::app::App;

pub use address::DashboardAddress;

/// Headers of every answer: it must not be stored, sniffed or embedded elsewhere, and sends no referrer.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// A bound dashboard that does not accept connections yet.
pub struct Dashboard(Listening);

impl Dashboard {
    /// Binds the first free port of `address`.
    ///
    /// # Errors
    /// `INVALID_INPUT` for a host that is not this machine's loopback; `ILLEGAL_STATE` if no port is free.
    pub async fn bind(address: &DashboardAddress) -> Result<Self, Fault> {
        let (listener, bound) = address.bind().await?;
        Ok(Self(Listening::on_loopback(listener, bound)))
    }

    /// Returns the URL of the page.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.0.address())
    }

    /// Serves the dashboard of the first of these modules that has one, until `app.shutdown` fires.
    pub async fn serve(self, app: &Arc<App>, modules: &'static Modules) {
        self.0.serve_router(app, router(app, modules)).await;
    }
}

/// State of the dashboard's guard.
#[derive(Clone)]
struct Guarded {
    app: Arc<App>,
    /// The server's settings without any names other than those of loopback.
    server: Arc<Server>,
}

fn router(app: &Arc<App>, modules: &'static Modules) -> Router {
    let server = Server {
        bind: "localhost".to_owned(),
        hosts: Vec::new(),
        cors_origins: Vec::new(),
        ..app.config.server.clone()
    };
    let guarded = Guarded { app: Arc::clone(app), server: Arc::new(server) };
    let routes = modules.iter().find_map(|module| module.dashboard);
    routes
        .map_or_else(Router::new, |routes| routes())
        .layer(from_fn_with_state(Arc::clone(app), only_get))
        .layer(from_fn_with_state(guarded, guard_dashboard))
        .layer(from_fn(add_headers))
        .with_state(Arc::clone(app))
}

async fn guard_dashboard(State(guarded): State<Guarded>, request: Request, next: Next) -> Response {
    if is_from_another_site(request.headers()) {
        let fault = Fault::new(ErrorCode::Forbidden, "Pages of other sites may not ask for the dashboard.")
            .with_hint("Type the address, or follow a link of the dashboard itself.");
        return answer::refused(
            &guarded.app,
            StatusCode::FORBIDDEN,
            &fault,
            &shared::fresh_request_id(&guarded.app),
        );
    }
    guard(&guarded.app, &guarded.server, request, next).await
}

/// Checks whether a browser says that another page caused the request. An image or a form of a foreign page sends no `Origin`,
/// and each request costs work.
fn is_from_another_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    site.is_some_and(|site| !matches!(site, b"same-origin" | b"none"))
}

async fn add_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn only_get(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    request: Request,
    next: Next,
) -> Response {
    if request.method() == Method::GET {
        return next.run(request).await;
    }
    let fault =
        Fault::new(ErrorCode::InvalidRequest, "The dashboard can only be read.").with_hint("Use GET.");
    let mut response = answer::refused(&app, StatusCode::METHOD_NOT_ALLOWED, &fault, &id.0);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET"));
    response
}
