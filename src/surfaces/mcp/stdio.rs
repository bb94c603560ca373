//! MCP over stdin and stdout: one JSON message a line, nothing else on stdout.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{RxJsonRpcMessage, ServerInitializeError};
use rmcp::transport::io::stdio_pipes;
use rmcp::{RoleServer, ServiceExt};
use tokio::io::{AsyncBufRead, AsyncWrite, BufReader};
use tokio::sync::mpsc;

use super::channels::{Channels, WAITING_MAX};
use super::framing::{self, Frame, Frames, Framing};
use super::message;
use super::roots::Noting;
use super::server::McpServer;
use super::twin::Twinned;
use super::unanswered::Noted;
use crate::app::App;
use crate::tools::{Caller, Toolbox};
use contract::config::Transport;
use contract::{ErrorCode, Fault};

/// How long answers may take to be read after the session ended.
const WRITING_MAX: Duration = Duration::from_secs(5);
/// The setting that bounds a message, as answers name it.
const LIMIT: &str = "mcp.message_bytes_max";

/// Serves one client until it closes stdin or `app.shutdown` fires; `caller` is who started us, and where.
///
/// # Errors
/// `INVALID_REQUEST` when the client does not speak the protocol, `INTERNAL` when the session breaks.
pub async fn serve_stdio(app: Arc<App>, tools: &'static Toolbox, caller: Caller) -> Result<(), Fault> {
    let (stdin, stdout) = stdio_pipes();
    let framing = match app.config.mcp.transport {
        Transport::Lines => Framing::Lines,
        Transport::Legacy => Framing::Headers,
    };
    let (inbox, incoming) = mpsc::channel(WAITING_MAX);
    let (outgoing, outbox) = mpsc::channel(WAITING_MAX);
    let bytes_max = app.config.mcp.message_bytes_max;
    let frames = Frames::new(BufReader::new(stdin), framing, bytes_max);
    let reading = tokio::spawn(read_all(frames, bytes_max, inbox, outgoing.clone()));
    let writing = tokio::spawn(write_all(outbox, stdout, framing));
    let stop = app.shutdown.clone();
    let server = McpServer::local(app, tools, caller);
    let channels = Channels::new(incoming, outgoing);
    let unanswered = channels.unanswered();
    let channels = Noting::new(Noted::new(channels, unanswered), server.roots());
    let ended = match server.serve_with_ct(Twinned::new(channels), stop).await {
        Ok(session) => match session.waiting().await {
            Ok(_) => Ok(()),
            Err(error) => Err(Fault::internal("The MCP session ended unexpectedly.", error)),
        },
        // A client that leaves before it says hello, or a stop before it does, is no failure.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(Fault::new(ErrorCode::InvalidRequest, "The client did not open an MCP session.")
            .with_source(error)
            .with_hint("Start this command from an MCP client; it speaks the protocol on stdin and stdout.")),
    };
    // It may wait for input that never comes, and holds the way to the writer open.
    reading.abort();
    if tokio::time::timeout(WRITING_MAX, writing).await.is_err() {
        tracing::debug!("the client does not read its last answers");
    }
    ended
}

/// Hands messages to the session, and answers what is none, until the input or the session ends.
async fn read_all(
    mut frames: Frames<impl AsyncBufRead + Unpin>,
    bytes_max: usize,
    inbox: mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
    outgoing: mpsc::Sender<String>,
) {
    loop {
        let read = match frames.next().await {
            Ok(Some(Frame::Message(bytes))) => message::read(&bytes),
            Ok(Some(Frame::TooLong)) => Err(message::too_long(bytes_max, LIMIT)),
            Ok(Some(Frame::Unframed(why))) => Err(message::unframed(why)),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "the client's input cannot be read");
                return;
            }
        };
        let handed_on = match read {
            Ok(None) => true,
            Ok(Some(message)) => inbox.send(message).await.is_ok(),
            Err(refused) => outgoing.send(refused.answer().to_string()).await.is_ok(),
        };
        if !handed_on {
            return;
        }
    }
}

/// Writes what goes out, until nobody can send any more or the client has gone.
async fn write_all(
    mut outbox: mpsc::Receiver<String>,
    mut output: impl AsyncWrite + Unpin,
    framing: Framing,
) -> io::Result<()> {
    while let Some(message) = outbox.recv().await {
        framing::write(&mut output, framing, &message)
            .await
            .inspect_err(|error| tracing::debug!(%error, "the client does not read any more"))?;
    }
    Ok(())
}
