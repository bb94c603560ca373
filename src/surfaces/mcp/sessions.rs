//! Sessions of Streamable HTTP: each belongs to the principal that opened it and survives a restart.
//!
//! rmcp's own sessions know no caller: whoever has the id may use one. Here a session is found only by its
//! owner; to everybody else it does not exist. What a call may do is never taken from the session, but from
//! the request that carries the call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager,
};
use rmcp::transport::streamable_http_server::session::{SessionState, SessionStore, SessionStoreError};

use super::message::again;
use super::twin::twin;
use super::unanswered::{Noted, Unanswered};
use super::wire;
use crate::app::App;
use contract::Fault;
use store::mcp_sessions;

tokio::task_local! {
    /// Whose request is being handled; set around every call into rmcp.
    pub(super) static OWNER: String;
}

/// How often the use of a session is written down.
const TOUCH: Duration = Duration::from_secs(60);

/// The sessions of one server.
pub(super) struct Sessions {
    inner: LocalSessionManager,
    app: Arc<App>,
    owned: Mutex<HashMap<SessionId, Owned>>,
}

struct Owned {
    owner: String,
    unanswered: Unanswered,
    used: Instant,
    touched: Instant,
}

impl Sessions {
    pub(super) fn new(app: &Arc<App>) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(Duration::from_millis(app.config.server.session_idle_ms));
        Self { inner, app: Arc::clone(app), owned: Mutex::default() }
    }

    /// Whether the session is the present request's; notes its use.
    fn is_mine(&self, id: &SessionId) -> bool {
        let (owner, now) = (owner(), Instant::now());
        let mut due = false;
        let mine = self.with(|owned| match owned.get_mut(id) {
            Some(session) if session.owner == owner => {
                session.used = now;
                due = now.duration_since(session.touched) >= TOUCH;
                if due {
                    session.touched = now;
                }
                true
            }
            _ => false,
        });
        if due {
            let (app, id) = (Arc::clone(&self.app), id.to_string());
            tokio::spawn(async move {
                if let Err(fault) = load(&app, &id, &owner).await {
                    tracing::debug!("the use of a session was not noted: {}", fault.message);
                }
            });
        }
        mine
    }

    /// Keeps a session that begins, and notes what is answered in it.
    fn keep<T>(&self, id: &SessionId, transport: T) -> Noted<T> {
        let (now, unanswered) = (Instant::now(), Unanswered::default());
        let noted = Noted::new(transport, unanswered.clone());
        let session = Owned { owner: owner(), unanswered, used: now, touched: now };
        self.with(|owned| owned.insert(id.clone(), session));
        noted
    }

    /// The session's requests that are not answered yet.
    fn unanswered(&self, id: &SessionId) -> Unanswered {
        self.with(|owned| owned.get(id).map(|session| session.unanswered.clone()).unwrap_or_default())
    }

    /// The session that makes place for another one of the same principal, when it has too many.
    fn surplus(&self) -> Option<SessionId> {
        let (owner, max) = (owner(), self.app.config.server.sessions_max);
        self.with(|owned| {
            let mine: Vec<_> = owned.iter().filter(|(_, session)| session.owner == owner).collect();
            let oldest = mine.iter().min_by_key(|(_, session)| session.used);
            oldest.filter(|_| mine.len() >= max).map(|(id, _)| (*id).clone())
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<SessionId, Owned>) -> T) -> T {
        act(&mut self.owned.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The event, its error with a code of the contract.
fn completed(mut event: ServerSseMessage) -> ServerSseMessage {
    if let Some(message) = &event.message
        && matches!(**message, ServerJsonRpcMessage::Error(_))
    {
        event.message = Some(Arc::new(wire::completed((**message).clone())));
    }
    event
}

fn owner() -> String {
    OWNER.try_with(Clone::clone).unwrap_or_default()
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = Noted<<LocalSessionManager as SessionManager>::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        if let Some(oldest) = self.surplus() {
            self.close_session(&oldest).await?;
            forget(&self.app, &oldest, &owner()).await;
        }
        let (id, transport) = self.inner.create_session().await?;
        let transport = self.keep(&id, transport);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await.map(wire::completed)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.is_mine(id) && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // rmcp closes sessions of its own accord, too: outside of any request.
        let owner = owner();
        let gone = self.with(|owned| match owned.get(id) {
            Some(session) if owner.is_empty() || session.owner == owner => owned.remove(id).is_some(),
            _ => false,
        });
        if gone { self.inner.close_session(id).await } else { Ok(()) }
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let unanswered = self.unanswered(id);
        let asked = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        if let Some(asked) = &asked
            && !unanswered.begin(asked)
        {
            let refused = ServerSseMessage::from_message(again(asked).sent());
            return Ok(futures::stream::iter([refused]).left_stream());
        }
        match self.inner.create_stream(id, message).await {
            Ok(stream) => Ok(stream.map(completed).right_stream()),
            Err(error) => {
                if let Some(asked) = &asked {
                    unanswered.end(asked);
                }
                Err(error)
            }
        }
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        let twin = twin(&message);
        self.inner.accept_message(id, message).await?;
        match twin {
            Some(twin) => self.inner.accept_message(id, twin).await,
            None => Ok(()),
        }
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.inner.resume(id, last_event_id).await?.map(completed))
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        Ok(match self.inner.restore_session(id.clone()).await? {
            RestoreOutcome::Restored(transport) => RestoreOutcome::Restored(self.keep(&id, transport)),
            RestoreOutcome::AlreadyPresent => RestoreOutcome::AlreadyPresent,
            _ => RestoreOutcome::NotSupported,
        })
    }
}

/// What is kept of sessions in Postgres: the client's `initialize`, which is replayed after a restart.
pub(super) struct StoredSessions(pub(super) Arc<App>);

#[async_trait::async_trait]
impl SessionStore for StoredSessions {
    /// Without a database no session is known, and the client opens another one.
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        match load(&self.0, id, &owner()).await {
            Ok(Some(state)) => Ok(Some(serde_json::from_value(state)?)),
            Ok(None) => Ok(None),
            Err(fault) => {
                tracing::debug!("a session could not be looked up: {}", fault.message);
                Ok(None)
            }
        }
    }

    /// A client that connects does not wait for the database; a session that could not be kept is only lost
    /// with the process.
    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let (app, id, owner, state) =
            (Arc::clone(&self.0), id.to_owned(), owner(), serde_json::to_value(state)?);
        tokio::spawn(async move {
            let saved = async {
                let mut door = app.store().await?.control().await?;
                mcp_sessions::delete_idle(&mut door, app.config.server.session_idle_ms).await?;
                mcp_sessions::save(&mut door, &id, &owner, &state).await?;
                door.commit().await
            };
            if let Err(fault) = saved.await {
                tracing::debug!("a session was not kept: {}", fault.message);
            }
        });
        Ok(())
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        forget(&self.0, id, &owner()).await;
        Ok(())
    }
}

async fn load(app: &App, id: &str, owner: &str) -> Result<Option<serde_json::Value>, Fault> {
    let mut door = app.store().await?.control().await?;
    let state = mcp_sessions::load(&mut door, id, owner, app.config.server.session_idle_ms).await?;
    door.commit().await?;
    Ok(state)
}

async fn forget(app: &App, id: &str, owner: &str) {
    let forgotten = async {
        let mut door = app.store().await?.control().await?;
        mcp_sessions::delete(&mut door, id, owner).await?;
        door.commit().await
    };
    if let Err(fault) = forgotten.await {
        tracing::debug!("a session was not forgotten: {}", fault.message);
    }
}
