//! MCP over HTTP with server-sent events, for clients from before revision 2025-03-26: `GET /sse` opens a stream whose first event
//! names an endpoint, `POST /messages?sessionId=…` sends messages to it, and the stream returns the answers.
//!
//! rmcp no longer supports this transport, so it is implemented here over two channels. A session and its calls end with the stream.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use futures::stream::{StreamExt, once, unfold};
use rmcp::RoleServer;
use rmcp::ServiceExt;
use rmcp::service::RxJsonRpcMessage;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::cancellation_ids::CancelBothIdTypes;
use super::channels::{CHANNEL_CAPACITY, ChannelTransport};
use super::message::{self, RefusedMessage};
use super::pending_requests::PendingTransport;
use super::server::McpServer;
use crate::answer::unguessable_id;
use contract::{ErrorCode, Fault};
use gate::app::App;
use gate::tools::{Surface, Toolbox};
use tenancy::Principal;

/// Interval of keep-alive comments.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The open streams of one server.
#[derive(Clone)]
pub struct SseMcp {
    app: Arc<App>,
    tools: &'static Toolbox,
    end: CancellationToken,
    open: OpenSessions,
}

type OpenSessions = Arc<Mutex<HashMap<String, SseSession>>>;

struct SseSession {
    owner: String,
    inbox: mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
    /// Sends refusals to the stream. Weak, so that the stream ends when the session drops its own sender.
    answers: mpsc::WeakSender<String>,
}

impl SseMcp {
    /// Creates a server without open streams; all streams end when `end` fires.
    #[must_use]
    pub fn new(app: &Arc<App>, tools: &'static Toolbox, end: CancellationToken) -> Self {
        Self { app: Arc::clone(app), tools, end, open: OpenSessions::default() }
    }

    /// Opens a stream for `principal`; its first event names the endpoint for messages.
    ///
    /// # Errors
    /// `RATE_LIMITED` if the principal already has `server.sessions_max` open streams.
    pub fn open(
        &self,
        principal: &Principal,
    ) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>> + Send + 'static>, Fault> {
        let id =
            unguessable_id().map_err(|e| Fault::internal("No random session id could be generated.", e))?;
        let (inbox, incoming) = mpsc::channel(CHANNEL_CAPACITY);
        let (outgoing, outbox) = mpsc::channel(CHANNEL_CAPACITY);
        self.register(&id, SseSession { owner: principal.id.clone(), inbox, answers: outgoing.downgrade() })?;

        let stop = self.end.child_token();
        let server = McpServer::remote(Arc::clone(&self.app), self.tools, Surface::Sse);
        let channels = ChannelTransport::new(incoming, outgoing, self.tools);
        let pending = channels.pending();
        let transport = CancelBothIdTypes::new(PendingTransport::new(channels, pending));
        let served = stop.clone();
        tokio::spawn(async move {
            match server.serve_with_ct(transport, served).await {
                Ok(session) => drop(session.waiting().await),
                Err(error) => {
                    tracing::debug!(%error, "a client disconnected before its session was initialised")
                }
            }
        });

        let first = Event::default().event("endpoint").data(format!("/messages?sessionId={id}"));
        let guard = StreamGuard { id, open: Arc::clone(&self.open), _calls: stop.drop_guard() };
        let messages = unfold((outbox, guard), |(mut outbox, guard)| async move {
            let message = outbox.recv().await?;
            Some((Ok(Event::default().event("message").data(message)), (outbox, guard)))
        });
        let events = once(async move { Ok(first) }).chain(messages);
        Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
    }

    /// Passes a message from `principal` to its session. `parts` are those of the HTTP request, which carries the caller's
    /// permissions. The refusal of an invalid message is also sent on the stream.
    ///
    /// # Errors
    /// `NOT_FOUND` if the session is not open or belongs to another principal, `INVALID_REQUEST` for an invalid message,
    /// `QUEUE_OVERLOADED` if the session's queue is full.
    pub fn accept(&self, principal: &Principal, id: &str, body: &[u8], parts: Parts) -> Result<(), Fault> {
        let mut message = match message::parse_message(body, self.tools) {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(()),
            Err(refused) => {
                self.answer_on_stream(principal, id, &refused);
                return Err(refused.fault());
            }
        };
        let admit = || self.app.admit_request(principal);
        if let Some((refused, refusal)) = message::over_limit(&message, self.tools, admit) {
            self.answer_on_stream(principal, id, &refused);
            return Err(refusal.to_fault());
        }
        message.insert_extension(parts);
        let inbox = self.with(|open| {
            open.get(id).filter(|session| session.owner == principal.id).map(|session| session.inbox.clone())
        });
        let Some(inbox) = inbox else {
            return Err(Fault::new(ErrorCode::NotFound, "The session does not exist.")
                .with_hint("Open one with GET /sse; its first event names the endpoint."));
        };
        inbox.try_send(message).map_err(|_| {
            Fault::new(ErrorCode::QueueOverloaded, "Too many messages are waiting in the session.")
                .with_hint("Read the stream, then send the message again.")
        })
    }

    /// Refuses a too long message on the stream, if the session belongs to `principal`.
    pub fn refuse_too_long(&self, principal: &Principal, id: &str, bytes_max: usize) {
        self.answer_on_stream(principal, id, &message::too_long(bytes_max, message::BODY_LIMIT));
    }

    fn answer_on_stream(&self, principal: &Principal, id: &str, refused: &RefusedMessage) {
        let answers = self.with(|open| {
            let session = open.get(id).filter(|session| session.owner == principal.id)?;
            session.answers.upgrade()
        });
        // If the stream is full the answer is dropped; the HTTP response reports the same error.
        if let Some(Err(error)) = answers.map(|answers| answers.try_send(refused.answer().to_string())) {
            tracing::debug!(%error, "an answer did not fit into the stream");
        }
    }

    fn register(&self, id: &str, session: SseSession) -> Result<(), Fault> {
        let max = self.app.config.server.sessions_max;
        self.with(|open| {
            if open.values().filter(|other| other.owner == session.owner).count() >= max {
                return Err(Fault::new(ErrorCode::RateLimited, format!("More than {max} streams are open."))
                    .with_hint("Close unused streams."));
            }
            open.insert(id.to_owned(), session);
            Ok(())
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<String, SseSession>) -> T) -> T {
        act(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Owned by the stream; dropping it removes the session and cancels its calls.
struct StreamGuard {
    id: String,
    open: OpenSessions,
    _calls: DropGuard,
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}
