//! MCP over HTTP with server-sent events, as clients of before 2025-03-26 speak it: `GET /sse` opens a stream
//! that names an endpoint, `POST /messages?sessionId=…` carries the client's messages, the stream the answers.
//!
//! rmcp has no such server any more; this is its `Transport` over two channels. A session lives as long as its
//! stream, and its calls are cancelled with it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use futures::stream::{StreamExt, once, unfold};
use rmcp::RoleServer;
use rmcp::ServiceExt;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::server::McpServer;
use super::twin::Twinned;
use crate::app::App;
use crate::contract::{ErrorCode, Fault};
use crate::surfaces::answer::unguessable_id;
use crate::tenancy::Principal;
use crate::tools::{Surface, Toolbox};

/// Messages that wait on their way in or out; a client that does not read holds only itself up.
const WAITING_MAX: usize = 64;
/// Between comments that keep the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The open streams of one server.
#[derive(Clone)]
pub struct SseMcp {
    app: Arc<App>,
    tools: &'static Toolbox,
    end: CancellationToken,
    open: Open,
}

type Open = Arc<Mutex<HashMap<String, Session>>>;

struct Session {
    owner: String,
    inbox: mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
}

impl SseMcp {
    /// No streams yet; all that will be end when `end` fires.
    #[must_use]
    pub fn new(app: &Arc<App>, tools: &'static Toolbox, end: CancellationToken) -> Self {
        Self { app: Arc::clone(app), tools, end, open: Open::default() }
    }

    /// Opens a stream for `principal`; its first event names the endpoint for messages.
    ///
    /// # Errors
    /// `RATE_LIMITED` when the principal has `server.sessions_max` streams open.
    pub fn open(
        &self,
        principal: &Principal,
    ) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>> + Send + 'static>, Fault> {
        let id = unguessable_id().map_err(|e| Fault::internal("No random session id could be made.", e))?;
        let (inbox, incoming) = mpsc::channel(WAITING_MAX);
        let (outgoing, outbox) = mpsc::channel(WAITING_MAX);
        self.register(&id, Session { owner: principal.id.clone(), inbox })?;

        let stop = self.end.child_token();
        let server = McpServer::remote(Arc::clone(&self.app), self.tools, Surface::Sse);
        let transport = Twinned::new(Channels { incoming, outgoing });
        let served = stop.clone();
        tokio::spawn(async move {
            match server.serve_with_ct(transport, served).await {
                Ok(session) => drop(session.waiting().await),
                Err(error) => tracing::debug!(%error, "a client left before its session began"),
            }
        });

        let first = Event::default().event("endpoint").data(format!("/messages?sessionId={id}"));
        let leaving = Leaving { id, open: Arc::clone(&self.open), _calls: stop.drop_guard() };
        let messages = unfold((outbox, leaving), |(mut outbox, leaving)| async move {
            let message = outbox.recv().await?;
            Some((Ok(Event::default().event("message").data(message)), (outbox, leaving)))
        });
        let events = once(async move { Ok(first) }).chain(messages);
        Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
    }

    /// Hands a message of `principal` to its session. `parts` are of the request that carried it: what the
    /// call may do comes from there.
    ///
    /// # Errors
    /// `NOT_FOUND` when the session is not open or another principal's, `INVALID_REQUEST` for what is no message,
    /// `QUEUE_OVERLOADED` when the session has too many messages waiting.
    pub fn accept(&self, principal: &Principal, id: &str, body: &[u8], parts: Parts) -> Result<(), Fault> {
        let mut message: ClientJsonRpcMessage = serde_json::from_slice(body).map_err(|error| {
            Fault::new(ErrorCode::InvalidRequest, format!("The body is no JSON-RPC message: {error}."))
                .with_hint("Send one message of the protocol as a JSON object.")
        })?;
        message.insert_extension(parts);
        let inbox = self.with(|open| {
            open.get(id).filter(|session| session.owner == principal.id).map(|session| session.inbox.clone())
        });
        let Some(inbox) = inbox else {
            return Err(Fault::new(ErrorCode::NotFound, "There is no such session.")
                .with_hint("Open one with GET /sse; its first event names the endpoint."));
        };
        inbox.try_send(message).map_err(|_| {
            Fault::new(ErrorCode::QueueOverloaded, "The session has too many messages waiting.")
                .with_hint("Read the stream, and send again.")
        })
    }

    fn register(&self, id: &str, session: Session) -> Result<(), Fault> {
        let max = self.app.config.server.sessions_max;
        self.with(|open| {
            if open.values().filter(|other| other.owner == session.owner).count() >= max {
                return Err(Fault::new(ErrorCode::RateLimited, format!("More than {max} streams are open."))
                    .with_hint("Close streams that are not used any more."));
            }
            open.insert(id.to_owned(), session);
            Ok(())
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<String, Session>) -> T) -> T {
        act(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Owned by the stream: when the client leaves, its session goes and its calls are cancelled.
struct Leaving {
    id: String,
    open: Open,
    _calls: DropGuard,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// rmcp's view of a session.
struct Channels {
    incoming: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
    outgoing: mpsc::Sender<String>,
}

impl Transport<RoleServer> for Channels {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let text = serde_json::to_string(&item)?;
            outgoing.send(text).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.incoming.close();
        Ok(())
    }
}
