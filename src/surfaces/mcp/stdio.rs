//! MCP over stdin and stdout: one JSON message a line, nothing else on stdout (T §6.2).

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;

use super::server::McpServer;
use crate::app::App;
use crate::contract::{ErrorCode, Fault};

/// Serves one client until it closes stdin or `app.shutdown` fires; `directory` is where the client works.
///
/// # Errors
/// `INVALID_REQUEST` when the client does not speak the protocol, `INTERNAL` when the session breaks.
pub async fn serve_stdio(app: Arc<App>, directory: Option<PathBuf>) -> Result<(), Fault> {
    let (stdin, stdout) = stdio_pipes();
    let transport =
        AsyncRwTransport::new_server(stdin, stdout).with_max_line_length(app.config.mcp.message_bytes_max);
    let server = McpServer::new(Arc::clone(&app), directory);
    let session = match server.serve_with_ct(transport, app.shutdown.clone()).await {
        Ok(session) => session,
        // A client that leaves before it says hello, or a stop before it does, is no failure.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => {
            return Err(Fault::new(ErrorCode::InvalidRequest, "The client did not open an MCP session.")
                .with_source(error)
                .with_hint(
                    "Start this command from an MCP client; it speaks the protocol on stdin and stdout.",
                ));
        }
    };
    match session.waiting().await {
        Ok(_) => Ok(()),
        Err(error) => Err(Fault::internal("The MCP session ended unexpectedly.", error)),
    }
}
