//! The dashboard: a page about the catalog for people on this machine, and the names of the catalog's methods.
//!
//! It calls the gate as the local operator, and contains no rules of the catalog.

mod html;
mod load;
mod page;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::any;
use axum::{Extension, Json, Router};
use serde_json::{Value, json};

use self::load::{PageRequest, load_page, method_names};
use contract::{ErrorCode, Fault};
use gate::app::App;
use surfaces::http::routing::{RequestId, SentQuery, envelope, refused, unguessable_id};

/// The routes.
pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/", any(show_page)).route("/tools.json", any(list_methods)).fallback(no_page)
}

/// `GET /`.
async fn show_page(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    query: SentQuery,
) -> Response {
    let nonce = match unguessable_id() {
        Ok(nonce) => nonce,
        Err(error) => {
            let fault = Fault::internal("The system has no random numbers.", error);
            return refused(&app, StatusCode::INTERNAL_SERVER_ERROR, &fault, &id.0);
        }
    };
    let (status, page) = match PageRequest::read(query) {
        Ok(asked) => load_page(&app, &asked, &id.0, &nonce).await,
        Err(fault) => {
            (StatusCode::BAD_REQUEST, page::failure(&PageRequest::default(), &fault.message, &nonce))
        }
    };
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    (status, [(header::CONTENT_SECURITY_POLICY, policy)], Html(page)).into_response()
}

/// `GET /tools.json`.
async fn list_methods(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    match method_names(&app, &id.0).await {
        Ok(names) => Json::<Value>(json!({ "tools": names })).into_response(),
        Err(failed) => envelope(&failed),
    }
}

async fn no_page(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    let fault = Fault::new(ErrorCode::NotFound, "The dashboard has no such page.")
        .with_hint("GET / shows the catalog, GET /tools.json lists its methods.");
    refused(&app, StatusCode::NOT_FOUND, &fault, &id.0)
}
