//! MCP over HTTP with server-sent events, as clients of before 2025-03-26 speak it: `GET /sse` opens a stream
//! that names an endpoint, `POST /messages?sessionId=…` carries the client's messages, the stream the answers.
//!
//! rmcp has no such server any more; this is its `Transport` over two channels. A session lives as long as its
//! stream, and its calls are cancelled with it.

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

use super::channels::{Channels, WAITING_MAX};
use super::message::{self, Refused};
use super::server::McpServer;
use super::twin::Twinned;
use super::unanswered::Noted;
use crate::app::App;
use crate::surfaces::answer::unguessable_id;
use crate::tools::{Surface, Toolbox};
use contract::{ErrorCode, Fault};
use tenancy::Principal;

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
    /// To the stream, for what never becomes a message. Weak: the stream ends with the session.
    answers: mpsc::WeakSender<String>,
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
        self.register(&id, Session { owner: principal.id.clone(), inbox, answers: outgoing.downgrade() })?;

        let stop = self.end.child_token();
        let server = McpServer::remote(Arc::clone(&self.app), self.tools, Surface::Sse);
        let channels = Channels::new(incoming, outgoing);
        let unanswered = channels.unanswered();
        let transport = Twinned::new(Noted::new(channels, unanswered));
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
    /// call may do comes from there. What cannot be read is answered on the stream, too.
    ///
    /// # Errors
    /// `NOT_FOUND` when the session is not open or another principal's, `INVALID_REQUEST` for what is no message,
    /// `QUEUE_OVERLOADED` when the session has too many messages waiting.
    pub fn accept(&self, principal: &Principal, id: &str, body: &[u8], parts: Parts) -> Result<(), Fault> {
        let mut message = match message::read(body) {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(()),
            Err(refused) => {
                self.tell(principal, id, &refused);
                return Err(refused.fault());
            }
        };
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

    /// Answers a message of more than `bytes_max` bytes on the stream, if the session is `principal`'s.
    pub fn refuse_too_long(&self, principal: &Principal, id: &str, bytes_max: usize) {
        self.tell(principal, id, &message::too_long(bytes_max, message::BODY_LIMIT));
    }

    fn tell(&self, principal: &Principal, id: &str, refused: &Refused) {
        let answers = self.with(|open| {
            let session = open.get(id).filter(|session| session.owner == principal.id)?;
            session.answers.upgrade()
        });
        // A client that does not read its stream misses the answer; the response to its request says the same.
        if let Some(Err(error)) = answers.map(|answers| answers.try_send(refused.answer().to_string())) {
            tracing::debug!(%error, "an answer did not fit into the stream");
        }
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
