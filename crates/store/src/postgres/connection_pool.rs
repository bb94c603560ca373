//! A pool and what is known of its connections: how many are in use, which are too old to be believed, and how long each
//! answer may take.
//!
//! A network that goes silent is told by nobody: the socket stays open and no error comes. `sqlx` sets neither keepalive
//! nor `TCP_USER_TIMEOUT` on its sockets, so every wait here has a limit of its own, a little above the server's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPool};
use sqlx::{Connection, PgConnection, Postgres, Row};
use tokio::time::Instant;

use super::error::{is_gone, silence};
use super::guard::sql;
use super::pools::Reviver;
use contract::Fault;
use contract::config;

/// Between looks at a statement that may take long.
const LOOK: Duration = Duration::from_secs(2);
/// A server of our own that was not reached for so long is looked after.
const REVIVE_AFTER: Duration = Duration::from_millis(500);
/// How long the server may take to say why it gives no connection.
const REFUSAL_MAX: Duration = Duration::from_millis(500);
/// How often a server of our own is started again for one transaction.
const REVIVALS_MAX: usize = 2;

/// Called for each sign that the server works for its caller.
pub(super) type Told = Arc<dyn Fn() + Send + Sync>;

/// Longest waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// For the first answer of a connection that comes out of the pool.
    first_answer: Duration,
    /// For a connection, and for the first answer of a new one.
    acquire: Duration,
    /// For any other answer: what the server allows a statement, and some more.
    answer: Duration,
    /// What the server allows a statement that may take long.
    pub(super) maintenance: Duration,
    /// What comes on top of the server's limits.
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

    /// For the answer of a statement that may take long.
    pub(super) fn maintenance_answer(&self) -> Duration {
        self.maintenance + self.grace
    }
}

/// When a connection was last found dead: whatever is older is not used again, since a silent cut concerns all of them.
pub(super) struct Cut {
    base: Instant,
    /// Milliseconds since `base`.
    at: AtomicU64,
}

impl Default for Cut {
    fn default() -> Self {
        Self { base: Instant::now(), at: AtomicU64::new(0) }
    }
}

impl Cut {
    fn millis(&self, moment: Instant) -> u64 {
        // From 1: zero means that there was no cut.
        u64::try_from(moment.saturating_duration_since(self.base).as_millis()).unwrap_or(u64::MAX - 1) + 1
    }

    fn note(&self, moment: Instant) {
        self.at.fetch_max(self.millis(moment), Ordering::AcqRel);
    }

    /// Whether a connection of this age was opened after the last cut.
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
    told: Option<Told>,
}

struct Shared {
    pool: PgPool,
    name: &'static str,
    limits: Limits,
    cut: Arc<Cut>,
    in_use: AtomicUsize,
    reviver: Arc<Reviver>,
    session: Box<dyn Fn(&PgConnectOptions) -> PgConnectOptions + Send + Sync>,
}

/// A connection in use.
pub(super) struct Taken {
    /// Before the count, so that the count is never too low.
    connection: PoolConnection<Postgres>,
    _counted: Counted,
}

struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.in_use.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Taken {
    pub(super) fn connection(&mut self) -> &mut PoolConnection<Postgres> {
        &mut self.connection
    }

    /// Closes the connection instead of giving it back.
    pub(super) fn close(self) {
        drop(self.connection.detach());
    }
}

/// How long an answer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// The pool's limit for ordinary statements.
    Ordinary,
    /// As long as the server says that this backend is at work, and no longer than so.
    Watched {
        /// The backend's process id.
        backend: i32,
        /// Longest wait of all.
        max: Duration,
    },
}

impl ConnectionPool {
    pub(super) fn new(
        pool: PgPool,
        name: &'static str,
        limits: Limits,
        cut: Arc<Cut>,
        reviver: Arc<Reviver>,
        session: impl Fn(&PgConnectOptions) -> PgConnectOptions + Send + Sync + 'static,
    ) -> Self {
        let session = Box::new(session);
        let in_use = AtomicUsize::new(0);
        let shared = Arc::new(Shared { pool, name, limits, cut, in_use, reviver, session });
        Self { shared, told: None }
    }

    pub(super) fn limits(&self) -> Limits {
        self.shared.limits
    }

    pub(super) fn telling(&self, told: &Told) -> Self {
        Self { shared: Arc::clone(&self.shared), told: Some(Arc::clone(told)) }
    }

    /// New connections go there.
    pub(super) fn connect_to(&self, options: &PgConnectOptions) {
        self.shared.pool.set_connect_options((self.shared.session)(options));
    }

    pub(super) async fn close(&self) {
        self.shared.pool.close().await;
    }

    fn tell(&self) {
        if let Some(told) = &self.told {
            told();
        }
    }

    /// A connection; a server of our own that is gone is started again for it.
    async fn take(&self) -> Result<Taken, Fault> {
        let shared = &self.shared;
        let mut revivals = 0;
        loop {
            let fault: sqlx::Error = match self.acquire().await? {
                Ok(connection) => {
                    shared.in_use.fetch_add(1, Ordering::AcqRel);
                    return Ok(Taken { connection, _counted: Counted(Arc::clone(shared)) });
                }
                // Nobody else uses the pool's connections, so it was none to be had.
                Err(sqlx::Error::PoolTimedOut) if !self.is_busy() => self.refusal().await,
                Err(error) => error,
            };
            if !is_gone(&fault) || revivals == REVIVALS_MAX || !shared.reviver.is_there() {
                return Err(super::error::fault(fault));
            }
            revivals += 1;
            self.revive().await.map_err(|why| why.with_source(fault))?;
        }
    }

    /// Why no connection was to be had: the pool tries again until its time is over and keeps the reason to itself, so that the
    /// server is asked once more.
    async fn refusal(&self) -> sqlx::Error {
        let options = self.shared.pool.connect_options();
        match tokio::time::timeout(REFUSAL_MAX, PgConnection::connect_with(&options)).await {
            Ok(Err(error @ sqlx::Error::Database(_))) => error,
            _ => silence(),
        }
    }

    fn is_busy(&self) -> bool {
        let max = usize::try_from(self.shared.pool.options().get_max_connections()).unwrap_or(usize::MAX);
        self.shared.in_use.load(Ordering::Acquire) >= max
    }

    /// The pool waits for a server that refuses connections; one of our own is looked after meanwhile.
    async fn acquire(&self) -> Result<Result<PoolConnection<Postgres>, sqlx::Error>, Fault> {
        let mut acquiring = std::pin::pin!(self.shared.pool.acquire());
        if self.shared.reviver.is_there() {
            tokio::select! {
                taken = &mut acquiring => return Ok(taken),
                () = tokio::time::sleep(REVIVE_AFTER), if !self.is_busy() => {}
            }
            if !self.is_busy() {
                let (taken, revived) = tokio::join!(&mut acquiring, self.revive());
                if taken.is_err() {
                    revived?;
                }
                return Ok(taken);
            }
        }
        Ok(acquiring.await)
    }

    async fn revive(&self) -> Result<(), Fault> {
        if let Some(options) = self.shared.reviver.revive().await? {
            self.connect_to(&options);
        }
        Ok(())
    }

    /// What comes of `said`, the next thing said over a connection of this pool, if it comes in time.
    pub(super) async fn answer<T>(
        &self,
        patience: Patience,
        said: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        let sent = Instant::now();
        let answer = match patience {
            Patience::Ordinary => {
                tokio::time::timeout(self.shared.limits.answer, said).await.unwrap_or_else(|_| Err(silence()))
            }
            Patience::Watched { backend, max } => self.watched(backend, max, said).await,
        };
        match &answer {
            Ok(_) => self.tell(),
            Err(error) if is_gone(error) => self.shared.cut.note(sent),
            Err(_) => {}
        }
        answer
    }

    /// Waits while the server says over another connection that it is at work; once it does not, or cannot be asked, only for
    /// as long as an ordinary answer may take.
    async fn watched<T>(
        &self,
        backend: i32,
        max: Duration,
        said: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        let mut said = std::pin::pin!(said);
        let sent = Instant::now();
        let mut doubtful: Option<Instant> = None;
        loop {
            let looked = async {
                tokio::time::sleep(LOOK).await;
                self.is_at_work(backend).await
            };
            let at_work = tokio::select! {
                answer = &mut said => return answer,
                looked = looked => looked.unwrap_or(false),
            };
            if at_work {
                doubtful = None;
                self.tell();
            } else if doubtful.get_or_insert_with(Instant::now).elapsed() >= self.shared.limits.answer {
                return Err(silence());
            }
            if sent.elapsed() >= max {
                return Err(silence());
            }
        }
    }

    async fn is_at_work(&self, backend: i32) -> Result<bool, sqlx::Error> {
        let look =
            sql("SELECT coalesce(state = 'active', false) FROM pg_catalog.pg_stat_activity WHERE pid = $1");
        let asked = async {
            let mut other = self.shared.pool.acquire().await?;
            let row = look.bind(backend).fetch_optional(&mut *other).await;
            match row {
                Ok(row) => row.map_or(Ok(false), |row| row.try_get(0)),
                Err(error) => {
                    drop(other.detach());
                    Err(error)
                }
            }
        };
        tokio::time::timeout(self.shared.limits.acquire, asked).await.unwrap_or_else(|_| Err(silence()))
    }

    /// Ends a backend that may still be at work for a connection that was closed: until then it keeps its locks.
    pub(super) fn end_backend(&self, backend: i32) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (shared, name) = (Arc::clone(&self.shared), self.shared.name);
        runtime.spawn(async move {
            let end = sql("SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
                WHERE pid = $1 AND usename = session_user AND application_name = $2");
            let ended = async {
                let mut other = shared.pool.acquire().await?;
                let ended = end.bind(backend).bind(name).execute(&mut *other).await;
                if ended.is_err() {
                    drop(other.detach());
                }
                ended
            };
            match tokio::time::timeout(shared.limits.answer, ended).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::debug!(%error, "a statement that nobody waits for was not ended"),
                Err(_) => tracing::debug!("a statement that nobody waits for was not ended in time"),
            }
        });
    }

    /// To say the first thing over a connection.
    pub(super) fn attempts(&self) -> Attempts<'_> {
        Attempts { pool: self, left: self.shared.pool.options().get_max_connections(), proven: false }
    }
}

/// A pooled connection may have died unnoticed. The first thing said over it finds out, so that none has to be sent only to
/// ask; then all that are as old are given up, and the next connection is a new one.
pub(super) struct Attempts<'a> {
    pool: &'a ConnectionPool,
    /// More than can be idle, so that one of them is new.
    left: u32,
    /// Whether the next connection is new.
    proven: bool,
}

impl Attempts<'_> {
    pub(super) async fn connection(&self) -> Result<Taken, Fault> {
        self.pool.take().await
    }

    /// What the server answers to the first thing said; none when the connection was dead.
    pub(super) async fn answered<T>(
        &mut self,
        said: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<Option<T>, sqlx::Error> {
        let limits = self.pool.shared.limits;
        let patience = if self.proven { limits.acquire } else { limits.first_answer.min(limits.acquire) };
        let sent = Instant::now();
        let answer = match tokio::time::timeout(patience, said).await {
            Ok(answer) => answer,
            // Once more over a new connection; if that says nothing either, nobody is there.
            Err(_late) if !self.proven => Err(silence()),
            Err(_late) => return Err(silence()),
        };
        match answer {
            Err(error) if is_gone(&error) && self.left > 0 => {
                self.pool.shared.cut.note(sent);
                self.left -= 1;
                self.proven = true;
                Ok(None)
            }
            Ok(answer) => {
                self.pool.tell();
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
    fn only_what_was_opened_after_a_cut_is_used() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let cut = Cut { base: now - 100 * second, at: AtomicU64::new(0) };
        assert!(cut.allows(3600 * second), "no cut was noticed");
        cut.note(now - 10 * second);
        assert!(cut.allows(5 * second));
        assert!(!cut.allows(20 * second));
        cut.note(now - 50 * second);
        assert!(!cut.allows(20 * second), "an older cut that is noticed later");
    }
}
