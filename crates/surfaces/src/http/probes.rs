//! Liveness, readiness and metrics.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::answer;
use super::request_parts::RequestId;
use contract::{ErrorCode, Fault};
use gate::app::App;
use gate::tools::Caller;
use platform::telemetry::to_prometheus_format;
use tenancy::Scope;

/// Timeout of the database check.
const PING_TIMEOUT: Duration = Duration::from_millis(500);

/// The result of `GET /health`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Health {
    uptime_ms: u64,
}

/// The result of `GET /health/ready`.
#[derive(Serialize)]
struct Readiness {
    ready: bool,
    checks: Vec<ReadinessCheck>,
}

#[derive(Serialize)]
struct ReadinessCheck {
    name: &'static str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl ReadinessCheck {
    fn new(name: &'static str, outcome: Result<(), String>) -> Self {
        Self { name, ok: outcome.is_ok(), message: outcome.err() }
    }
}

/// `GET /health`: liveness. Never queries the database.
pub(super) async fn health(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    let uptime = app.clock.instant().duration_since(app.started);
    let health = Health { uptime_ms: u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX) };
    answer::answered(&app, &health, id)
}

/// `GET /health/ready`: 200 if calls can be answered, else 503 with the failed checks.
pub(super) async fn ready(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    let draining =
        if app.shutdown.is_cancelled() { Err("The server is shutting down.".to_owned()) } else { Ok(()) };
    let checks = vec![
        ReadinessCheck::new("serving", draining),
        ReadinessCheck::new("database", check_database(&app).await),
        ReadinessCheck::new(
            "model",
            if app.has_embedder() {
                Ok(())
            } else {
                Err("The embedding model is not loaded yet.".to_owned())
            },
        ),
        ReadinessCheck::new("disk", check_disk(&app).await),
        ReadinessCheck::new("writers", app.writers.behind(app.clock.instant()).map_or(Ok(()), Err)),
    ];
    let ready = checks.iter().all(|check| check.ok);
    let mut response = answer::answered(&app, &Readiness { ready, checks }, id);
    if !ready {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}

/// Pings the database. An opened store implies that the control tables are migrated.
async fn check_database(app: &App) -> Result<(), String> {
    let Some(store) = app.opened_store() else {
        return Err("The database has not been reached yet.".to_owned());
    };
    match tokio::time::timeout(PING_TIMEOUT, store.database().ping()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(fault)) => Err(fault.message),
        Err(_) => Err(format!("The database did not answer within {} ms.", PING_TIMEOUT.as_millis())),
    }
}

async fn check_disk(app: &App) -> Result<(), String> {
    app.disk_space().require(0).await.map_err(|fault| fault.message)
}

/// `GET /metrics` for Prometheus, in the OpenMetrics format if the client accepts it. Needs the scope `admin`.
pub(super) async fn metrics(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    if !caller.principal.has_scope(Scope::Admin) {
        let fault = Fault::new(ErrorCode::Forbidden, "Metrics need a key with the scope `admin`.");
        return answer::refused(&app, StatusCode::FORBIDDEN, &fault, &id.0);
    }
    let accepts = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let (kind, text) = if accepts.contains("application/openmetrics-text") {
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", app.metrics_text())
    } else {
        ("text/plain; version=0.0.4; charset=utf-8", to_prometheus_format(&app.metrics_text()))
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
