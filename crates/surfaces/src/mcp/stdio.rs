//! MCP over stdin and stdout. stdout carries only protocol messages.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{RxJsonRpcMessage, ServerInitializeError};
use rmcp::transport::io::stdio_pipes;
use rmcp::{RoleServer, ServiceExt};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, BufReader};
use tokio::sync::mpsc;

use super::cancellation_ids::CancelBothIdTypes;
use super::channels::{CHANNEL_CAPACITY, ChannelTransport};
use super::framing::{self, Frame, Frames, Framing};
use super::message;
use super::pending_requests::PendingTransport;
use super::roots::RootsTransport;
use super::server::McpServer;
use contract::config::Transport;
use contract::{ErrorCode, Fault};
use gate::app::App;
use gate::tools::{Caller, Toolbox};

/// The time that the process waits for the client to read the last answers.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// The setting that limits a message, for error messages.
const MESSAGE_LIMIT_SETTING: &str = "mcp.message_bytes_max";

/// Serves one client until it closes stdin or `app.shutdown` fires. `caller` is the user who started the process.
///
/// # Errors
/// `INVALID_REQUEST` if the client does not initialise a session, `INTERNAL` if the session fails.
pub async fn serve_stdio(app: Arc<App>, tools: &'static Toolbox, caller: Caller) -> Result<(), Fault> {
    let (stdin, stdout) = stdio_pipes();
    serve_stream(app, tools, caller, stdin, stdout).await
}

/// Serves one client over any stream.
///
/// # Errors
/// The same as of [`serve_stdio`].
pub async fn serve_stream(
    app: Arc<App>,
    tools: &'static Toolbox,
    caller: Caller,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Fault> {
    let framing = match app.config.mcp.transport {
        Transport::Lines => Framing::Lines,
        Transport::Legacy => Framing::Headers,
    };
    let (inbox, incoming) = mpsc::channel(CHANNEL_CAPACITY);
    let (outgoing, outbox) = mpsc::channel(CHANNEL_CAPACITY);
    let bytes_max = app.config.mcp.message_bytes_max;
    let frames = Frames::new(BufReader::new(input), framing, bytes_max);
    let reading = tokio::spawn(read_messages(frames, bytes_max, tools, inbox, outgoing.clone()));
    let writing = tokio::spawn(write_messages(outbox, output, framing));
    let stop = app.shutdown.clone();
    let server = McpServer::local(app, tools, caller);
    let channels = ChannelTransport::new(incoming, outgoing, tools);
    let pending = channels.pending();
    let channels = RootsTransport::new(PendingTransport::new(channels, pending), server.roots());
    let ended = match server.serve_with_ct(CancelBothIdTypes::new(channels), stop).await {
        Ok(session) => match session.waiting().await {
            Ok(_) => Ok(()),
            Err(error) => Err(Fault::internal("The MCP session ended unexpectedly.", error)),
        },
        // A client that disconnects before `initialize` is not a failure, nor is a shutdown.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => {
            Err(Fault::new(ErrorCode::InvalidRequest, "The client did not initialise an MCP session.")
                .with_source(error)
                .with_hint("Start this command from an MCP client; it expects MCP messages on stdin."))
        }
    };
    // The reader may be blocked on stdin, and its sender keeps the writer alive.
    reading.abort();
    if tokio::time::timeout(FLUSH_TIMEOUT, writing).await.is_err() {
        tracing::debug!("the client did not read the last answers");
    }
    ended
}

/// Passes messages to the session and answers invalid ones, until the input or the session ends.
async fn read_messages(
    mut frames: Frames<impl AsyncBufRead + Unpin>,
    bytes_max: usize,
    tools: &'static Toolbox,
    inbox: mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
    outgoing: mpsc::Sender<String>,
) {
    loop {
        let read = match frames.next().await {
            Ok(Some(Frame::Message(bytes))) => message::parse_message(&bytes, tools),
            Ok(Some(Frame::TooLong)) => Err(message::too_long(bytes_max, MESSAGE_LIMIT_SETTING)),
            Ok(Some(Frame::Unframed(why))) => Err(message::unframed(why)),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "the client's input could not be read");
                return;
            }
        };
        let delivered = match read {
            Ok(None) => true,
            Ok(Some(message)) => inbox.send(message).await.is_ok(),
            Err(refused) => outgoing.send(refused.answer().to_string()).await.is_ok(),
        };
        if !delivered {
            return;
        }
    }
}

/// Writes the outgoing messages until all senders are dropped or the client closes its end.
async fn write_messages(
    mut outbox: mpsc::Receiver<String>,
    mut output: impl AsyncWrite + Unpin,
    framing: Framing,
) -> io::Result<()> {
    while let Some(message) = outbox.recv().await {
        framing::write_message(&mut output, framing, &message)
            .await
            .inspect_err(|error| tracing::debug!(%error, "the client closed its input"))?;
    }
    Ok(())
}
