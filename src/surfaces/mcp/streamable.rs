//! MCP over Streamable HTTP, as a service that the HTTP surface mounts at `/mcp`.

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::server::McpServer;
use crate::app::App;

/// The service behind `/mcp`.
pub type StreamableMcp = StreamableHttpService<McpServer, LocalSessionManager>;

/// The service behind `/mcp`: a session a client, ended by DELETE, by `server.session_idle_ms` without a
/// request, or by `app.shutdown`.
///
/// Host and Origin are not checked here: the HTTP surface does so for every route.
pub fn streamable(app: &Arc<App>) -> StreamableMcp {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(Duration::from_millis(app.config.server.session_idle_ms));
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_max_request_body_bytes(app.config.server.body_bytes_max)
        .with_cancellation_token(app.shutdown.child_token());
    let app = Arc::clone(app);
    StreamableHttpService::new(move || Ok(McpServer::new(Arc::clone(&app), None)), Arc::new(sessions), config)
}
