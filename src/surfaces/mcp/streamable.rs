//! MCP over Streamable HTTP, as the HTTP surface mounts it at `/mcp`.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use axum::response::IntoResponse;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::message;
use super::server::McpServer;
use super::sessions::{OWNER, Sessions, StoredSessions};
use super::wire;
use crate::app::App;
use crate::tools::{Surface, Toolbox};
use tenancy::Principal;

/// The header that names a session.
pub const SESSION_ID: &str = "mcp-session-id";

/// What answers below `/mcp`.
#[derive(Clone)]
pub struct StreamableMcp {
    service: StreamableHttpService<McpServer, Sessions>,
    sessions: Arc<Sessions>,
    stored: Arc<StoredSessions>,
}

impl StreamableMcp {
    /// A session a client, ended by DELETE, by `server.session_idle_ms` without a request, or by `end`.
    ///
    /// Host, Origin and keys are not checked here: the HTTP surface does so for every route, and leaves the
    /// [`crate::tools::Caller`] among the request's extensions.
    #[must_use]
    pub fn new(app: &Arc<App>, tools: &'static Toolbox, end: CancellationToken) -> Self {
        let sessions = Arc::new(Sessions::new(app));
        let stored = Arc::new(StoredSessions(Arc::clone(app)));
        let mut config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(app.config.server.body_bytes_max)
            .with_cancellation_token(end);
        config.session_store = Some(Arc::<StoredSessions>::clone(&stored));
        let app = Arc::clone(app);
        let serve = move || Ok(McpServer::remote(Arc::clone(&app), tools, Surface::Mcp));
        let service = StreamableHttpService::new(serve, Arc::clone(&sessions), config);
        Self { service, sessions, stored }
    }

    /// The JSON-RPC answer to a body that goes no further, with its HTTP status: what is no message of the protocol is 400, and
    /// so is a request without a session that opens none.
    #[must_use]
    pub fn refusal(&self, headers: &HeaderMap, body: &[u8]) -> Option<(StatusCode, Value)> {
        let refused = match message::read(body) {
            Err(refused) => refused,
            Ok(None) => return None,
            Ok(Some(message)) if headers.contains_key(SESSION_ID) => match message::admit(&message, true) {
                message::Admission::Refused(refused) => return Some((StatusCode::OK, refused.answer())),
                _ => return None,
            },
            Ok(Some(message)) => message::without_session(&message)?,
        };
        Some((StatusCode::BAD_REQUEST, refused.answer()))
    }

    /// The body without the mark that some editors write before a text, which rmcp does not read.
    #[must_use]
    pub fn unmarked(body: Bytes) -> Bytes {
        let mark = body.len() - message::unmarked(&body).len();
        body.slice(mark..)
    }

    /// The JSON-RPC answer to a body of more than `bytes_max` bytes.
    #[must_use]
    pub fn too_long(bytes_max: usize) -> Value {
        message::too_long(bytes_max, message::BODY_LIMIT).answer()
    }

    /// A JSON answer that rmcp gave without a session; an error in it gets a code of the contract.
    #[must_use]
    pub fn completed(body: &[u8]) -> Option<Value> {
        let mut answer: Value = serde_json::from_slice(body).ok()?;
        let mut error = serde_json::from_value(answer.get("error")?.clone()).ok()?;
        wire::complete(&mut error);
        answer["error"] = serde_json::to_value(error).ok()?;
        if answer.get("id").is_none() {
            answer["id"] = Value::Null;
        }
        Some(answer)
    }

    /// Answers one request of `principal`.
    pub async fn answer(&self, principal: &Principal, request: Request<Body>) -> Response<Body> {
        OWNER.scope(principal.id.clone(), self.owned(request)).await
    }

    async fn owned(&self, request: Request<Body>) -> Response<Body> {
        let deletes = request.method() == Method::DELETE;
        if deletes && !self.knows(request.headers()).await {
            return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
        }
        let response = self.service.handle(request).await.map(Body::new);
        // rmcp answers the end of a session with 202, which some clients take for a failure; 204 suits all.
        if deletes && response.status() == StatusCode::ACCEPTED {
            return StatusCode::NO_CONTENT.into_response();
        }
        response
    }

    /// Whether the request names a session of its own principal, in memory or kept.
    async fn knows(&self, headers: &HeaderMap) -> bool {
        use rmcp::transport::streamable_http_server::session::SessionStore;
        let Some(id) = headers.get(SESSION_ID).and_then(|id| id.to_str().ok()) else { return true };
        let here = self.sessions.has_session(&id.to_owned().into()).await;
        here.unwrap_or(false) || self.stored.load(id).await.is_ok_and(|kept| kept.is_some())
    }
}
