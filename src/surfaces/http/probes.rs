//! How the server is: alive, ready, and in numbers.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::answer;
use super::guard::RequestId;
use crate::app::App;
use crate::tools::Caller;
use contract::{ErrorCode, Fault};
use platform::telemetry::older_format;
use tenancy::Scope;

/// How long the database may take to say that it is there.
const PING: Duration = Duration::from_millis(500);

/// `GET /health`. Liveness: never asks the database.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Health {
    uptime_ms: u64,
}

/// `GET /health/ready`: whether calls can be answered now.
#[derive(Serialize)]
struct Readiness {
    ready: bool,
    checks: Vec<Check>,
}

#[derive(Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Check {
    fn of(name: &'static str, outcome: Result<(), String>) -> Self {
        Self { name, ok: outcome.is_ok(), message: outcome.err() }
    }
}

pub(super) async fn health(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    let uptime = app.clock.instant().duration_since(app.started);
    let health = Health { uptime_ms: u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX) };
    answer::answered(&app, &health, id)
}

/// 200 when everything that calls need is there, else 503 with what is missing.
pub(super) async fn ready(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    let draining = if app.shutdown.is_cancelled() { Err("The server stops.".to_owned()) } else { Ok(()) };
    let checks = vec![
        Check::of("serving", draining),
        Check::of("database", database(&app).await),
        Check::of(
            "model",
            if app.has_embedder() {
                Ok(())
            } else {
                Err("The embedding model is not loaded yet.".to_owned())
            },
        ),
        Check::of("disk", disk(&app).await),
    ];
    let ready = checks.iter().all(|check| check.ok);
    let mut response = answer::answered(&app, &Readiness { ready, checks }, id);
    if !ready {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}

/// The database answers, and its control tables are this program's: a store is opened only over migrated ones.
async fn database(app: &App) -> Result<(), String> {
    let Some(store) = app.opened_store() else { return Err("The database was not reached yet.".to_owned()) };
    match tokio::time::timeout(PING, store.database().ping()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(fault)) => Err(fault.message),
        Err(_) => Err(format!("The database did not answer within {} ms.", PING.as_millis())),
    }
}

async fn disk(app: &App) -> Result<(), String> {
    app.room().require(0).await.map_err(|fault| fault.message)
}

/// `GET /metrics`: for Prometheus, as OpenMetrics where that is asked for. With keys, only for those with the scope `admin`.
pub(super) async fn metrics(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    if !caller.principal.may(Scope::Admin) {
        let fault = Fault::new(ErrorCode::Forbidden, "Metrics need a key with the scope `admin`.");
        return answer::refused(&app, StatusCode::FORBIDDEN, &fault, &id.0);
    }
    let accepts = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let (kind, text) = if accepts.contains("application/openmetrics-text") {
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", app.metrics_text())
    } else {
        ("text/plain; version=0.0.4; charset=utf-8", older_format(&app.metrics_text()))
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
