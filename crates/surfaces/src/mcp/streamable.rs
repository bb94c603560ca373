//! MCP over Streamable HTTP; the HTTP surface mounts it at `/mcp`.

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
use super::sessions::{OWNER, OwnedSessions, StoredSessions};
use super::wire;
use gate::app::App;
use gate::tools::{Surface, Toolbox};
use tenancy::Principal;

/// The header with the session id.
pub const SESSION_ID: &str = "mcp-session-id";

/// The handler of `/mcp`.
#[derive(Clone)]
pub struct StreamableMcp {
    service: StreamableHttpService<McpServer, OwnedSessions>,
    sessions: Arc<OwnedSessions>,
    stored: Arc<StoredSessions>,
    tools: &'static Toolbox,
}

impl StreamableMcp {
    /// Creates the handler. Sessions end with DELETE, after `server.session_idle_ms` without a request, or when `end` fires.
    ///
    /// Host, Origin and keys are not checked here: the HTTP surface does that for every route and stores the
    /// [`gate::tools::Caller`] in the request's extensions.
    #[must_use]
    pub fn new(app: &Arc<App>, tools: &'static Toolbox, end: CancellationToken) -> Self {
        let sessions = Arc::new(OwnedSessions::new(app));
        let stored = Arc::new(StoredSessions(Arc::clone(app)));
        let mut config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(app.config.server.body_bytes_max)
            .with_cancellation_token(end);
        config.session_store = Some(Arc::<StoredSessions>::clone(&stored));
        let app = Arc::clone(app);
        let serve = move || Ok(McpServer::remote(Arc::clone(&app), tools, Surface::Mcp));
        let service = StreamableHttpService::new(serve, Arc::clone(&sessions), config);
        Self { service, sessions, stored, tools }
    }

    /// Returns the status and JSON-RPC error for a body that is refused: 400 for an invalid message and for a request without a
    /// session that does not open one, 200 for a request with a session whose method is not served. A request that exceeds its
    /// principal's limit is refused with 200 in a session, and with 429 if it would open one.
    #[must_use]
    pub fn refusal(
        &self,
        principal: &Principal,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Option<(StatusCode, Value)> {
        let has_session = headers.contains_key(SESSION_ID);
        let message = match message::parse_message(body, self.tools) {
            Err(refused) => return Some((StatusCode::BAD_REQUEST, refused.answer())),
            Ok(message) => message?,
        };
        let refused = match has_session {
            true => match message::admit(&message, true, self.tools) {
                message::MessageDisposition::Refused(refused) => Some((StatusCode::OK, refused)),
                _ => None,
            },
            false => message::without_session(&message, self.tools)
                .map(|refused| (StatusCode::BAD_REQUEST, refused)),
        };
        let too_many = if has_session { StatusCode::OK } else { StatusCode::TOO_MANY_REQUESTS };
        let app = &self.stored.0;
        let refused = refused.or_else(|| {
            let (over, _) = message::over_limit(&message, self.tools, || app.admit_request(principal))?;
            Some((too_many, over))
        });
        refused.map(|(status, refused)| (status, refused.answer()))
    }

    /// Removes the byte order mark, which rmcp does not accept.
    #[must_use]
    pub fn without_byte_order_mark(body: Bytes) -> Bytes {
        let mark = body.len() - message::without_byte_order_mark(&body).len();
        body.slice(mark..)
    }

    /// Returns the JSON-RPC error for a body of more than `bytes_max` bytes.
    #[must_use]
    pub fn too_long(bytes_max: usize) -> Value {
        message::too_long(bytes_max, message::BODY_LIMIT).answer()
    }

    /// Adds an error code of the contract to an error that rmcp produced outside of a session; `None` if there is no error.
    #[must_use]
    pub fn with_error_code(body: &[u8]) -> Option<Value> {
        let mut answer: Value = serde_json::from_slice(body).ok()?;
        let mut error = serde_json::from_value(answer.get("error")?.clone()).ok()?;
        wire::add_error_code(&mut error);
        answer["error"] = serde_json::to_value(error).ok()?;
        if answer.get("id").is_none() {
            answer["id"] = Value::Null;
        }
        Some(answer)
    }

    /// Answers a request from `principal`.
    pub async fn answer(&self, principal: &Principal, request: Request<Body>) -> Response<Body> {
        OWNER.scope(principal.id.clone(), self.answer_as_owner(request)).await
    }

    async fn answer_as_owner(&self, request: Request<Body>) -> Response<Body> {
        let deletes = request.method() == Method::DELETE;
        if deletes && !self.has_session(request.headers()).await {
            return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
        }
        let response = self.service.handle(request).await.map(Body::new);
        // Some clients treat rmcp's status 202 for DELETE as a failure; all accept 204.
        if deletes && response.status() == StatusCode::ACCEPTED {
            return StatusCode::NO_CONTENT.into_response();
        }
        response
    }

    /// Checks whether the request names a session of its own principal, in memory or stored. The HTTP surface has already refused
    /// ids that are not text.
    async fn has_session(&self, headers: &HeaderMap) -> bool {
        use rmcp::transport::streamable_http_server::session::SessionStore;
        let Some(id) = headers.get(SESSION_ID).and_then(|id| id.to_str().ok()) else { return true };
        let here = self.sessions.has_session(&id.to_owned().into()).await;
        here.unwrap_or(false) || self.stored.load(id).await.is_ok_and(|kept| kept.is_some())
    }
}
