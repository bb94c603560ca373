//! A connection pool that counts connections in use, discards those that may be dead, and limits the wait for each response.
//!
//! A network that drops packets silently causes no error: the socket stays open. `sqlx` sets neither keepalive
//! nor `TCP_USER_TIMEOUT` on its sockets, so every wait here has a limit of its own, a little above the server's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPool};
use sqlx::{Connection, PgConnection, Postgres, Row};
use tokio::time::Instant;

use super::error::{is_connection_lost, no_response};
use super::restarter::Restarter;
use super::statement::sql;
use contract::Fault;
use contract::config;

/// Interval between checks whether a maintenance statement is still running.
const ACTIVITY_CHECK: Duration = Duration::from_secs(2);
/// Time without a connection after which the embedded server is restarted.
const RESTART_AFTER: Duration = Duration::from_millis(500);
/// Time limit of the connection attempt that finds out why the server refuses connections.
const REFUSAL_MAX: Duration = Duration::from_millis(500);
/// Maximum number of restarts of the embedded server for one transaction.
const RESTARTS_MAX: usize = 2;

/// Called after each response of the server, and regularly while it executes a maintenance statement.
pub(super) type OnActivity = Arc<dyn Fn() + Send + Sync>;

/// Time limits of the waits on a pool's connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// For the first response on a connection that was idle in the pool.
    first_answer: Duration,
    /// For acquiring a connection, and for the first response on a new one.
    acquire: Duration,
    /// For any other response: the statement timeout of the server plus `grace`.
    answer: Duration,
    /// The statement timeout of the server for maintenance statements.
    pub(super) maintenance: Duration,
    /// Added to the timeouts of the server, so that its own error arrives first.
    grace: Duration,
}

impl Limits {
    pub(super) fn new(settings: &config::Database, statement_timeout_ms: u64) -> Self {
        Self {
            first_answer: Duration::from_millis(settings.first_answer_ms_max),
            acquire: Duration::from_millis(settings.acquire_timeout_ms),
            answer: Duration::from_millis(statement_timeout_ms + settings.answer_grace_ms),
            maintenance: Duration::from_millis(settings.maintenance_statement_timeout_ms),
            grace: Duration::from_millis(settings.answer_grace_ms),
        }
    }

    /// Limit of the wait for the response to a maintenance statement.
    pub(super) fn maintenance_answer(&self) -> Duration {
        self.maintenance + self.grace
    }
}

/// The time when a connection was last found dead. Connections opened before that are not used again, because a network failure usually
/// affects all of them.
pub(super) struct LastLoss {
    base: Instant,
    /// Milliseconds since `base`.
    at: AtomicU64,
}

impl Default for LastLoss {
    fn default() -> Self {
        Self { base: Instant::now(), at: AtomicU64::new(0) }
    }
}

impl LastLoss {
    fn millis(&self, moment: Instant) -> u64 {
        // Starts at 1, because 0 means that no connection was lost.
        u64::try_from(moment.saturating_duration_since(self.base).as_millis()).unwrap_or(u64::MAX - 1) + 1
    }

    fn note(&self, moment: Instant) {
        self.at.fetch_max(self.millis(moment), Ordering::AcqRel);
    }

    /// Returns `true` if a connection of this age was opened after the last loss.
    pub(super) fn allows(&self, age: Duration) -> bool {
        let at = self.at.load(Ordering::Acquire);
        let now = self.millis(Instant::now());
        let born = now.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        at == 0 || born > at
    }
}

/// One of the pools. Cheap to clone.
#[derive(Clone)]
pub(super) struct ConnectionPool {
    shared: Arc<Shared>,
    on_activity: Option<OnActivity>,
}

struct Shared {
    pool: PgPool,
    name: &'static str,
    limits: Limits,
    last_loss: Arc<LastLoss>,
    in_use: AtomicUsize,
    restarter: Arc<Restarter>,
    session: Box<dyn Fn(&PgConnectOptions) -> PgConnectOptions + Send + Sync>,
}

/// A connection of the pool that is in use.
pub(super) struct CheckedOut {
    /// Declared before `_in_use`, so that it is dropped first and the count is never too low.
    connection: PoolConnection<Postgres>,
    _in_use: InUse,
}

struct InUse(Arc<Shared>);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.in_use.fetch_sub(1, Ordering::AcqRel);
    }
}

impl CheckedOut {
    pub(super) fn connection(&mut self) -> &mut PoolConnection<Postgres> {
        &mut self.connection
    }

    /// Closes the connection instead of returning it to the pool.
    pub(super) fn close(self) {
        drop(self.connection.detach());
    }
}

/// Limit on the wait for a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerTimeout {
    /// The pool's limit for ordinary statements.
    Statement,
    /// As long as `pg_stat_activity` shows this backend as active, and at most `max`.
    WhileActive {
        /// The backend's process id.
        backend: i32,
        /// Longest wait.
        max: Duration,
    },
}

impl ConnectionPool {
    pub(super) fn new(
        pool: PgPool,
        name: &'static str,
        limits: Limits,
        last_loss: Arc<LastLoss>,
        restarter: Arc<Restarter>,
        session: impl Fn(&PgConnectOptions) -> PgConnectOptions + Send + Sync + 'static,
    ) -> Self {
        let session = Box::new(session);
        let in_use = AtomicUsize::new(0);
        let shared = Arc::new(Shared { pool, name, limits, last_loss, in_use, restarter, session });
        Self { shared, on_activity: None }
    }

    pub(super) fn limits(&self) -> Limits {
        self.shared.limits
    }

    pub(super) fn with_on_activity(&self, on_activity: &OnActivity) -> Self {
        Self { shared: Arc::clone(&self.shared), on_activity: Some(Arc::clone(on_activity)) }
    }

    /// Makes the pool open its new connections with these options.
    pub(super) fn connect_to(&self, options: &PgConnectOptions) {
        self.shared.pool.set_connect_options((self.shared.session)(options));
    }

    pub(super) async fn close(&self) {
        self.shared.pool.close().await;
    }

    fn report_activity(&self) {
        if let Some(on_activity) = &self.on_activity {
            on_activity();
        }
    }

    /// Checks out a connection; restarts the embedded server if it is not running.
    async fn check_out(&self) -> Result<CheckedOut, Fault> {
        let shared = &self.shared;
        let mut restarts = 0;
        loop {
            let error: sqlx::Error = match self.acquire().await? {
                Ok(connection) => {
                    shared.in_use.fetch_add(1, Ordering::AcqRel);
                    return Ok(CheckedOut { connection, _in_use: InUse(Arc::clone(shared)) });
                }
                // The pool had spare connections, so the server refused one: find out why.
                Err(sqlx::Error::PoolTimedOut) if !self.is_busy() => self.refusal().await,
                Err(error) => error,
            };
            if !is_connection_lost(&error) || restarts == RESTARTS_MAX || !shared.restarter.is_set() {
                return Err(super::error::fault(error));
            }
            restarts += 1;
            self.restart().await.map_err(|fault| fault.with_source(error))?;
        }
    }

    /// Finds out why the server refuses connections: the pool retries until its timeout and drops the reason, so this makes
    /// one more attempt without the pool.
    async fn refusal(&self) -> sqlx::Error {
        let options = self.shared.pool.connect_options();
        match tokio::time::timeout(REFUSAL_MAX, PgConnection::connect_with(&options)).await {
            Ok(Err(error @ sqlx::Error::Database(_))) => error,
            _ => no_response(),
        }
    }

    fn is_busy(&self) -> bool {
        let max = usize::try_from(self.shared.pool.options().get_max_connections()).unwrap_or(usize::MAX);
        self.shared.in_use.load(Ordering::Acquire) >= max
    }

    /// Acquires a connection. The pool keeps trying while the server refuses connections; an embedded server is restarted
    /// meanwhile.
    async fn acquire(&self) -> Result<Result<PoolConnection<Postgres>, sqlx::Error>, Fault> {
        let mut acquiring = std::pin::pin!(self.shared.pool.acquire());
        if self.shared.restarter.is_set() {
            tokio::select! {
                taken = &mut acquiring => return Ok(taken),
                () = tokio::time::sleep(RESTART_AFTER), if !self.is_busy() => {}
            }
            if !self.is_busy() {
                let (taken, restarted) = tokio::join!(&mut acquiring, self.restart());
                if taken.is_err() {
                    restarted?;
                }
                return Ok(taken);
            }
        }
        Ok(acquiring.await)
    }

    async fn restart(&self) -> Result<(), Fault> {
        if let Some(options) = self.shared.restarter.restart().await? {
            self.connect_to(&options);
        }
        Ok(())
    }

    /// Waits for the response to a statement on a connection of this pool, for as long as `timeout` allows.
    pub(super) async fn answer<T>(
        &self,
        timeout: AnswerTimeout,
        response: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        let sent = Instant::now();
        let answer = match timeout {
            AnswerTimeout::Statement => tokio::time::timeout(self.shared.limits.answer, response)
                .await
                .unwrap_or_else(|_| Err(no_response())),
            AnswerTimeout::WhileActive { backend, max } => {
                self.answer_while_active(backend, max, response).await
            }
        };
        match &answer {
            Ok(_) => self.report_activity(),
            Err(error) if is_connection_lost(error) => self.shared.last_loss.note(sent),
            Err(_) => {}
        }
        answer
    }

    /// Waits for a response while another connection shows that the backend is active. Once it is not, or that connection
    /// fails, waits only as long as for an ordinary statement.
    async fn answer_while_active<T>(
        &self,
        backend: i32,
        max: Duration,
        response: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        let mut response = std::pin::pin!(response);
        let sent = Instant::now();
        let mut inactive_since: Option<Instant> = None;
        loop {
            let is_active = async {
                tokio::time::sleep(ACTIVITY_CHECK).await;
                self.is_backend_active(backend).await
            };
            let is_working = tokio::select! {
                answer = &mut response => return answer,
                is_active = is_active => is_active.unwrap_or(false),
            };
            if is_working {
                inactive_since = None;
                self.report_activity();
            } else if inactive_since.get_or_insert_with(Instant::now).elapsed() >= self.shared.limits.answer {
                return Err(no_response());
            }
            if sent.elapsed() >= max {
                return Err(no_response());
            }
        }
    }

    async fn is_backend_active(&self, backend: i32) -> Result<bool, sqlx::Error> {
        let query = sql("SELECT coalesce(state = 'active', false) AS is_active \
             FROM pg_catalog.pg_stat_activity \
             WHERE pid = $1");
        let checked = async {
            let mut other = self.shared.pool.acquire().await?;
            let row = query.bind(backend).fetch_optional(&mut other).await;
            match row {
                Ok(row) => row.map_or(Ok(false), |row| row.try_get("is_active")),
                Err(error) => {
                    drop(other.detach());
                    Err(error)
                }
            }
        };
        tokio::time::timeout(self.shared.limits.acquire, checked).await.unwrap_or_else(|_| Err(no_response()))
    }

    /// Terminates the backend of a closed connection, which may still execute a statement and would keep its locks until then.
    pub(super) fn end_backend(&self, backend: i32) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (shared, name) = (Arc::clone(&self.shared), self.shared.name);
        let end = sql("SELECT pg_catalog.pg_terminate_backend(pid) \
             FROM pg_catalog.pg_stat_activity \
             WHERE pid = $1 AND usename = session_user AND application_name = $2");
        runtime.spawn(async move {
            let ended = async {
                let mut other = shared.pool.acquire().await?;
                let ended = end.bind(backend).bind(name).execute(&mut other).await;
                if ended.is_err() {
                    drop(other.detach());
                }
                ended
            };
            match tokio::time::timeout(shared.limits.answer, ended).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    tracing::debug!(%error, "the backend of a closed connection was not terminated")
                }
                Err(_) => tracing::debug!("the backend of a closed connection was not terminated in time"),
            }
        });
    }

    /// Starts the check-out of a connection whose first statement also tests it.
    pub(super) fn first_answer(&self) -> FirstAnswer<'_> {
        FirstAnswer {
            pool: self,
            attempts_left: self.shared.pool.options().get_max_connections(),
            is_new: false,
        }
    }
}

/// Detects dead pooled connections with the first statement on them, which saves the round trip of a separate test. If the
/// connection turns out to be dead, all connections of its age are discarded, and the next attempt uses a new one.
pub(super) struct FirstAnswer<'a> {
    pool: &'a ConnectionPool,
    /// Attempts left: as many as the pool has connections, so that the last one uses a new connection.
    attempts_left: u32,
    /// `true` if the next connection is a new one.
    is_new: bool,
}

impl FirstAnswer<'_> {
    pub(super) async fn connection(&self) -> Result<CheckedOut, Fault> {
        self.pool.check_out().await
    }

    /// The response to the first statement on a connection; `None` if the connection was dead.
    pub(super) async fn answer_if_alive<T>(
        &mut self,
        response: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<Option<T>, sqlx::Error> {
        let limits = self.pool.shared.limits;
        let timeout = if self.is_new { limits.acquire } else { limits.first_answer.min(limits.acquire) };
        let sent = Instant::now();
        let answer = match tokio::time::timeout(timeout, response).await {
            Ok(answer) => answer,
            // Try again on a new connection; if that does not respond either, the server is unreachable.
            Err(_late) if !self.is_new => Err(no_response()),
            Err(_late) => return Err(no_response()),
        };
        match answer {
            Err(error) if is_connection_lost(&error) && self.attempts_left > 0 => {
                self.pool.shared.last_loss.note(sent);
                self.attempts_left -= 1;
                self.is_new = true;
                Ok(None)
            }
            Ok(answer) => {
                self.pool.report_activity();
                Ok(Some(answer))
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_connections_opened_after_a_loss_are_used() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let last_loss = LastLoss { base: now - 100 * second, at: AtomicU64::new(0) };
        assert!(last_loss.allows(3600 * second), "no connection was lost");
        last_loss.note(now - 10 * second);
        assert!(last_loss.allows(5 * second));
        assert!(!last_loss.allows(20 * second));
        last_loss.note(now - 50 * second);
        assert!(!last_loss.allows(20 * second), "an older loss that is noticed later");
    }
}
