//! A database that was checked, migrated and given its pools.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::connection_pool::Told;
use super::error::silence;
use super::error::{OrFault, fault};
use super::guard::{Query, Row, Tx, sql};
use super::migrate::{CONTROL, newest, statements};
use super::pools::{Pool, Pools, Revive};
use super::server::{self, ServerFacts};
use contract::config;
use contract::{ErrorCode, Fault};

/// Between signs of life of who waits for the right to build an index.
const TOLD_EVERY: Duration = Duration::from_secs(1);
/// Longest wait for connections in use when everything is closed.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// The checked database. Cheap to clone.
#[derive(Clone)]
pub struct Database {
    pools: Pools,
    facts: Arc<ServerFacts>,
    external: bool,
    /// Index builds at a time: one, so that provisioning always finds a connection.
    builds: Arc<Semaphore>,
    told: Option<Told>,
}

/// Parses `DATABASE_URL`.
///
/// # Errors
/// `INVALID_REQUEST` when it is malformed; its text is not repeated, since it holds a password.
pub fn parse_url(url: &str) -> Result<PgConnectOptions, Fault> {
    url.parse::<PgConnectOptions>().or_fault()
}

/// How the operator's own server is reached; none without `database.url`.
///
/// # Errors
/// As [`parse_url`]; `INVALID_INPUT` when `database.password_file` cannot be read.
pub fn external(settings: &config::Database) -> Result<Option<PgConnectOptions>, Fault> {
    let Some(url) = &settings.url else { return Ok(None) };
    let options = parse_url(url)?;
    let Some(file) = &settings.password_file else { return Ok(Some(options)) };
    let text = std::fs::read_to_string(file).map_err(|error| {
        Fault::new(ErrorCode::InvalidInput, "The file of database.password_file cannot be read.")
            .with_hint("Check that it exists and that the server's user may read it.")
            .with_source(error)
    })?;
    let password = text.lines().next().unwrap_or_default().trim_end();
    if password.is_empty() {
        return Err(Fault::new(ErrorCode::InvalidInput, "The file of database.password_file is empty.")
            .with_hint("Write the password into its first line."));
    }
    Ok(Some(options.password(password)))
}

impl Database {
    /// Reaches the server, checks it, brings the control schema up to date and opens pools.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when the server cannot be reached or is too old; `CAPABILITY_MISSING` or
    /// `PERMISSION_DENIED` when pgvector or the control schema cannot be had.
    pub async fn connect(
        options: PgConnectOptions,
        settings: &config::Database,
        external: bool,
    ) -> Result<Self, Fault> {
        let first = options.clone().application_name("pairofcleats check").disable_statement_logging();
        let budget = Duration::from_millis(settings.acquire_timeout_ms);
        let mut connection = match tokio::time::timeout(budget, PgConnection::connect_with(&first)).await {
            Ok(connection) => connection.or_fault()?,
            Err(late) => {
                return Err(Fault::new(ErrorCode::StorageUnavailable, "The database does not answer.")
                    .with_hint("Check host and port of DATABASE_URL and that the server runs.")
                    .with_source(late));
            }
        };
        let limit = Duration::from_millis(settings.statement_timeout_ms + settings.answer_grace_ms);
        let facts = match tokio::time::timeout(limit, server::check(&mut connection)).await {
            Ok(facts) => facts?,
            Err(_late) => return Err(fault(silence())),
        };
        for warning in &facts.warnings {
            tracing::warn!("{warning}");
        }
        // A failure to say goodbye to a connection we no longer need changes nothing.
        drop(connection.close().await);
        let pools = Pools::new(&options, settings, &facts.extension_schema);
        let database =
            Self { pools, facts: Arc::new(facts), external, builds: Arc::new(Semaphore::new(1)), told: None };
        database.migrate_control().await?;
        Ok(database)
    }

    /// The same database for one piece of work: `told` is called for each answer, and every few seconds while the server is
    /// at work on a statement that may take long.
    #[must_use]
    pub fn telling(&self, told: impl Fn() + Send + Sync + 'static) -> Self {
        let told: Told = Arc::new(told);
        Self { pools: self.pools.telling(&told), told: Some(told), ..self.clone() }
    }

    /// A server that cannot be reached is from now on started again by `revive` before a transaction fails.
    #[must_use]
    pub fn revived_by(self, revive: Revive) -> Self {
        self.pools.revived_by(revive);
        self
    }

    /// Starts a server of our own again if it is gone; without one does nothing.
    ///
    /// # Errors
    /// What the start says.
    pub async fn revive(&self) -> Result<(), Fault> {
        self.pools.revive().await
    }

    /// What the server is.
    #[must_use]
    pub fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// Whether the operator brought this database; false: the embedded one.
    #[must_use]
    pub fn is_external(&self) -> bool {
        self.external
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub async fn begin(&self, pool: Pool) -> Result<Tx, Fault> {
        Tx::begin(self.pools.get(pool), "BEGIN").await
    }

    /// The same with a statement right behind, which costs no further round trip.
    ///
    /// # Errors
    /// As [`Tx::execute`]; `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub async fn begin_with(&self, pool: Pool, then: &str) -> Result<Tx, Fault> {
        Tx::begin(self.pools.get(pool), &format!("BEGIN; {then}")).await
    }

    /// Begins a transaction that the server keeps from writing.
    ///
    /// # Errors
    /// As [`Database::begin`].
    pub async fn begin_read_only(&self, pool: Pool) -> Result<Tx, Fault> {
        self.begin_read_only_with(pool, "").await
    }

    /// The same, `then` as with [`Database::begin_with`].
    ///
    /// # Errors
    /// As [`Database::begin_with`].
    pub async fn begin_read_only_with(&self, pool: Pool, then: &str) -> Result<Tx, Fault> {
        let how = format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {then}");
        Tx::begin(self.pools.get(pool), &how).await
    }

    /// The first row of one statement outside of a transaction, on the pool of questions.
    ///
    /// # Errors
    /// As [`Database::begin_with`].
    pub async fn glance(&self, query: impl Fn() -> Query<'static> + Send) -> Result<Option<Row>, Fault> {
        Tx::glance(self.pools.get(Pool::Search), query).await
    }

    /// Runs one statement that the server takes outside of transactions only, such as VACUUM.
    ///
    /// # Errors
    /// The database's error as a fault.
    pub async fn outside_transaction(&self, statement: Query<'_>) -> Result<(), Fault> {
        Tx::outside(self.pools.get(Pool::Ddl), statement).await
    }

    /// Waits for the right to build an index; released when dropped.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when the database is being closed.
    pub async fn build_permit(&self) -> Result<SemaphorePermit<'_>, Fault> {
        let mut waiting = std::pin::pin!(self.builds.acquire());
        let permit = loop {
            tokio::select! {
                permit = &mut waiting => break permit,
                // Who has it is at work, so that waiting for it is no standstill.
                () = tokio::time::sleep(TOLD_EVERY) => self.told.iter().for_each(|told| told()),
            }
        };
        permit.map_err(|closed| {
            Fault::new(ErrorCode::StorageUnavailable, "The database is being closed.").with_source(closed)
        })
    }

    /// Whether the server answers; for readiness probes.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when it does not.
    pub async fn ping(&self) -> Result<(), Fault> {
        self.glance(|| sql("SELECT 1")).await.map(|_| ())
    }

    /// Closes every pool. Waits for connections in use, but not for ever: the process may be ending
    /// because one of them hangs.
    pub async fn close(&self) {
        if tokio::time::timeout(CLOSE_MAX, self.pools.close()).await.is_err() {
            tracing::warn!("connections to the database were still in use when it was closed");
        }
    }

    /// Looks first without a lock: every process asks at every start, and almost never finds work.
    async fn migrate_control(&self) -> Result<(), Fault> {
        let target = newest(CONTROL);
        let mut tx = self.begin(Pool::Ddl).await?;
        if control_version(&mut tx).await? < target {
            tx.execute(sql(
                "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('pairofcleats:control', 0))",
            ))
            .await?;
            let from = control_version(&mut tx).await?;
            for statement in statements(CONTROL, from, &[]) {
                tx.execute(sql(statement)).await.map_err(control_denied)?;
            }
            if from < target {
                let record = "INSERT INTO pairofcleats.migrations (module, version, applied_at) VALUES ('control', $1, now())";
                tx.execute(sql(record).bind(target)).await?;
            }
        }
        if control_version(&mut tx).await? > target {
            return Err(Fault::new(
                ErrorCode::IllegalState,
                "The database was written by a newer version of this program.",
            )
            .with_hint("Upgrade this installation, or use another database."));
        }
        tx.commit().await
    }
}

/// 0 when there is no control schema yet.
async fn control_version(tx: &mut Tx) -> Result<i32, Fault> {
    // Not `to_regclass`: it answers from a cache that another session's commit does not reach while this
    // transaction waits for the lock, so the loser of a race would create everything again.
    let there = sql("SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
         ON n.oid = c.relnamespace WHERE n.nspname = 'pairofcleats' AND c.relname = 'migrations')");
    if !tx.one(there).await?.try_get::<bool>(0)? {
        return Ok(0);
    }
    let version =
        sql("SELECT coalesce(max(version), 0) FROM pairofcleats.migrations WHERE module = 'control'");
    tx.one(version).await?.try_get(0)
}

fn control_denied(fault: Fault) -> Fault {
    if fault.code != ErrorCode::PermissionDenied {
        return fault;
    }
    Fault::new(ErrorCode::PermissionDenied, "The database login may not create the control schema.")
        .with_hint(
            "Ask an administrator to grant the login of DATABASE_URL the CREATE privilege on its database.",
        )
        .with_source(fault)
}
