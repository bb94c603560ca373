//! MCP over stdin and stdout: one JSON message a line, nothing else on stdout (T §6.2).

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;

use super::framing::unframed;
use super::roots::Noting;
use super::server::McpServer;
use super::twin::Twinned;
use crate::app::App;
use crate::config::Transport;
use crate::contract::{ErrorCode, Fault};
use crate::tools::{Caller, Toolbox};

/// Serves one client until it closes stdin or `app.shutdown` fires; `caller` is who started us, and where.
///
/// # Errors
/// `INVALID_REQUEST` when the client does not speak the protocol, `INTERNAL` when the session breaks.
pub async fn serve_stdio(app: Arc<App>, tools: &'static Toolbox, caller: Caller) -> Result<(), Fault> {
    let (stdin, stdout) = stdio_pipes();
    let bytes_max = app.config.mcp.message_bytes_max;
    let server = McpServer::local(Arc::clone(&app), tools, caller);
    let (stop, roots) = (app.shutdown.clone(), server.roots());
    let opened = match app.config.mcp.transport {
        Transport::Lines => {
            let transport = AsyncRwTransport::new_server(stdin, stdout).with_max_line_length(bytes_max);
            server.serve_with_ct(Twinned::new(Noting::new(transport, roots)), stop).await
        }
        Transport::Legacy => {
            let (reader, writer) = unframed(stdin, stdout, bytes_max);
            let transport = AsyncRwTransport::new_server(reader, writer).with_max_line_length(bytes_max);
            server.serve_with_ct(Twinned::new(Noting::new(transport, roots)), stop).await
        }
    };
    let session = match opened {
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
