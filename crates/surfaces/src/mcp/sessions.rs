//! Sessions of Streamable HTTP: each belongs to the principal that opened it and survives a restart.
//!
//! rmcp's sessions can be used by anyone who knows the id. Here only the owner finds a session; for everyone else it does not exist.
//! The permissions of a call always come from its own request, never from the session.

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

use super::cancellation_ids::with_other_id_type;
use super::message::duplicate_id;
use super::pending_requests::{PendingRequests, PendingTransport};
use super::wire;
use contract::Fault;
use gate::app::App;
use store::mcp_sessions;

tokio::task_local! {
    /// The id of the principal of the current request; set around every call into rmcp.
    pub(super) static OWNER: String;
}

/// Shortest time between two database records of the use of a session.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// The sessions of one server.
pub(super) struct OwnedSessions {
    inner: LocalSessionManager,
    app: Arc<App>,
    owned: Mutex<HashMap<SessionId, OwnedSession>>,
}

struct OwnedSession {
    owner: String,
    pending: PendingRequests,
    used_at: Instant,
    /// The time when a use was last recorded in the database.
    use_recorded_at: Instant,
}

impl OwnedSessions {
    pub(super) fn new(app: &Arc<App>) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(Duration::from_millis(app.config.server.session_idle_ms));
        Self { inner, app: Arc::clone(app), owned: Mutex::default() }
    }

    /// Checks whether the session belongs to the principal of the current request; records its use.
    fn is_owned(&self, id: &SessionId) -> bool {
        let (owner, now) = (owner(), Instant::now());
        let mut due = false;
        let mine = self.with(|owned| match owned.get_mut(id) {
            Some(session) if session.owner == owner => {
                session.used_at = now;
                due = now.duration_since(session.use_recorded_at) >= TOUCH_INTERVAL;
                if due {
                    session.use_recorded_at = now;
                }
                true
            }
            _ => false,
        });
        if due {
            // In the background, so that the request does not wait for the database.
            let (app, id) = (Arc::clone(&self.app), id.to_string());
            tokio::spawn(async move {
                // Loading a stored session records its use.
                if let Err(fault) = load_stored(&app, &id, &owner).await {
                    tracing::debug!("the use of a session was not recorded: {}", fault.message);
                }
            });
        }
        mine
    }

    /// Adds a new session and tracks its pending requests.
    fn add<T>(&self, id: &SessionId, transport: T) -> PendingTransport<T> {
        let (now, pending) = (Instant::now(), PendingRequests::default());
        let tracked = PendingTransport::new(transport, pending.clone());
        let session = OwnedSession { owner: owner(), pending, used_at: now, use_recorded_at: now };
        self.with(|owned| owned.insert(id.clone(), session));
        tracked
    }

    /// Returns the session's pending requests.
    fn pending(&self, id: &SessionId) -> PendingRequests {
        self.with(|owned| owned.get(id).map(|session| session.pending.clone()).unwrap_or_default())
    }

    /// Returns the session to close before the current principal opens another one: the least recently used, if the maximum is reached.
    fn session_to_evict(&self) -> Option<SessionId> {
        let (owner, max) = (owner(), self.app.config.server.sessions_max);
        self.with(|owned| {
            let mine: Vec<_> = owned.iter().filter(|(_, session)| session.owner == owner).collect();
            let least_recent = mine.iter().min_by_key(|(_, session)| session.used_at);
            least_recent.filter(|_| mine.len() >= max).map(|(id, _)| (*id).clone())
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<SessionId, OwnedSession>) -> T) -> T {
        act(&mut self.owned.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Adds an error code of the contract to an error event.
fn with_error_code(mut event: ServerSseMessage) -> ServerSseMessage {
    if let Some(message) = &event.message
        && matches!(**message, ServerJsonRpcMessage::Error(_))
    {
        event.message = Some(Arc::new(wire::with_error_code((**message).clone())));
    }
    event
}

/// Returns the id of the principal of the current request; empty outside of a request.
fn owner() -> String {
    OWNER.try_with(Clone::clone).unwrap_or_default()
}

impl SessionManager for OwnedSessions {
    type Error = LocalSessionManagerError;
    type Transport = PendingTransport<<LocalSessionManager as SessionManager>::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        if let Some(least_recent) = self.session_to_evict() {
            self.close_session(&least_recent).await?;
            delete_stored(&self.app, &least_recent, &owner()).await;
        }
        let (id, transport) = self.inner.create_session().await?;
        let transport = self.add(&id, transport);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await.map(wire::with_error_code)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.is_owned(id) && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // rmcp also closes sessions outside of any request; then there is no principal.
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
        let pending = self.pending(id);
        let request_id = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        if let Some(id) = &request_id
            && !pending.begin(id)
        {
            let refused = ServerSseMessage::from_message(duplicate_id(id).into_message());
            return Ok(futures::stream::iter([refused]).left_stream());
        }
        match self.inner.create_stream(id, message).await {
            Ok(stream) => Ok(stream.map(with_error_code).right_stream()),
            Err(error) => {
                if let Some(id) = &request_id {
                    pending.end(id);
                }
                Err(error)
            }
        }
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        let other = with_other_id_type(&message);
        self.inner.accept_message(id, message).await?;
        match other {
            Some(other) => self.inner.accept_message(id, other).await,
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
        Ok(self.inner.resume(id, last_event_id).await?.map(with_error_code))
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        Ok(match self.inner.restore_session(id.clone()).await? {
            RestoreOutcome::Restored(transport) => RestoreOutcome::Restored(self.add(&id, transport)),
            RestoreOutcome::AlreadyPresent => RestoreOutcome::AlreadyPresent,
            _ => RestoreOutcome::NotSupported,
        })
    }
}

/// The sessions in Postgres: stores the client's `initialize`, which is replayed after a restart.
pub(super) struct StoredSessions(pub(super) Arc<App>);

#[async_trait::async_trait]
impl SessionStore for StoredSessions {
    /// Finds no session if the database is unavailable; the client then opens a new one.
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        match load_stored(&self.0, id, &owner()).await {
            Ok(Some(state)) => Ok(Some(serde_json::from_value(state)?)),
            Ok(None) => Ok(None),
            Err(fault) => {
                tracing::debug!("a session could not be looked up: {}", fault.message);
                Ok(None)
            }
        }
    }

    /// Stores in the background, so that a connecting client does not wait for the database. A session that could not be stored ends
    /// with the process.
    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let (app, id, owner, state) =
            (Arc::clone(&self.0), id.to_owned(), owner(), serde_json::to_value(state)?);
        tokio::spawn(async move {
            let saved = async {
                let mut tx = app.store().await?.control().await?;
                mcp_sessions::delete_idle(&mut tx, app.config.server.session_idle_ms).await?;
                mcp_sessions::save(&mut tx, &id, &owner, &state).await?;
                tx.commit().await
            };
            if let Err(fault) = saved.await {
                tracing::debug!("a session was not stored: {}", fault.message);
            }
        });
        Ok(())
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        delete_stored(&self.0, id, &owner()).await;
        Ok(())
    }
}

async fn load_stored(app: &App, id: &str, owner: &str) -> Result<Option<serde_json::Value>, Fault> {
    let mut tx = app.store().await?.control().await?;
    let state = mcp_sessions::load(&mut tx, id, owner, app.config.server.session_idle_ms).await?;
    tx.commit().await?;
    Ok(state)
}

async fn delete_stored(app: &App, id: &str, owner: &str) {
    let forgotten = async {
        let mut tx = app.store().await?.control().await?;
        mcp_sessions::delete(&mut tx, id, owner).await?;
        tx.commit().await
    };
    if let Err(fault) = forgotten.await {
        tracing::debug!("a stored session was not deleted: {}", fault.message);
    }
}
