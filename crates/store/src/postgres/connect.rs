//! The connected database: checks the server, migrates the control schema and opens the connection pools.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::connection_pool::OnActivity;
use super::error::no_response;
use super::error::{OrFault, fault, permission_denied};
use super::guard::{Row, Tx};
use super::migrate::{CONTROL, newest, statements};
use super::pools::{Pool, Pools};
use super::restarter::RestartCallback;
use super::server::{self, ServerFacts};
use super::statement::{Query, sql};
use contract::config;
use contract::{ErrorCode, Fault};

/// Interval at which a task that waits for an index build permit reports activity.
const ACTIVITY_EVERY: Duration = Duration::from_secs(1);
/// The time that [`Database::close`] waits for connections that are still in use.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// A database whose server was checked and whose control schema is up to date. Cheap to clone.
#[derive(Clone)]
pub struct Database {
    pools: Pools,
    facts: Arc<ServerFacts>,
    external: bool,
    /// Permits to build an index: only one, so that provisioning always finds a connection.
    builds: Arc<Semaphore>,
    on_activity: Option<OnActivity>,
}

/// Parses `DATABASE_URL`.
///
/// # Errors
/// `INVALID_REQUEST` when it is malformed; the message does not repeat the URL, which may contain a password.
pub fn parse_url(url: &str) -> Result<PgConnectOptions, Fault> {
    url.parse::<PgConnectOptions>().or_fault()
}

/// The connection options for an external server; `None` without `database.url`.
///
/// # Errors
/// As [`parse_url`]; `INVALID_INPUT` when `database.password_file` cannot be read or its first line is empty.
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
    /// Connects to the server, checks its version and extension, migrates the control schema and opens the pools.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when the server cannot be reached or is too old; `CAPABILITY_MISSING` or `PERMISSION_DENIED` when
    /// pgvector or the control schema cannot be installed; `ILLEGAL_STATE` when a newer version of this program wrote the
    /// control schema.
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
            Err(_late) => return Err(fault(no_response())),
        };
        for warning in &facts.warnings {
            tracing::warn!("{warning}");
        }
        // This connection is not needed any more, so a failure to close it does not matter.
        drop(connection.close().await);
        let pools = Pools::new(&options, settings, &facts.extension_schema);
        let database = Self {
            pools,
            facts: Arc::new(facts),
            external,
            builds: Arc::new(Semaphore::new(1)),
            on_activity: None,
        };
        database.migrate_control().await?;
        Ok(database)
    }

    /// A handle on the same database that calls `on_activity` after each response, and every few seconds while the server
    /// executes a maintenance statement, so that a watchdog can tell slow work from a standstill.
    #[must_use]
    pub fn with_on_activity(&self, on_activity: impl Fn() + Send + Sync + 'static) -> Self {
        let on_activity: OnActivity = Arc::new(on_activity);
        Self {
            pools: self.pools.with_on_activity(&on_activity),
            on_activity: Some(on_activity),
            ..self.clone()
        }
    }

    /// Sets the callback that restarts the server when it is unreachable, before a transaction fails.
    #[must_use]
    pub fn with_restart_callback(self, callback: RestartCallback) -> Self {
        self.pools.set_restart_callback(callback);
        self
    }

    /// Restarts the embedded server if it is not running; does nothing for an external one.
    ///
    /// # Errors
    /// The fault of the start, usually `STORAGE_UNAVAILABLE`.
    pub async fn ensure_running(&self) -> Result<(), Fault> {
        self.pools.restart().await
    }

    /// Version and capabilities of the server.
    #[must_use]
    pub fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// Returns `true` if the database is an external server rather than the embedded one.
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

    /// Begins a transaction and runs the statement `then` in the same round trip.
    ///
    /// # Errors
    /// As [`Tx::execute`]; `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub(crate) async fn begin_with(&self, pool: Pool, then: &str) -> Result<Tx, Fault> {
        Tx::begin(self.pools.get(pool), &format!("BEGIN; {then}")).await
    }

    /// Begins a read-only transaction with a snapshot of its own (`REPEATABLE READ`).
    ///
    /// # Errors
    /// As [`Database::begin`].
    pub async fn begin_read_only(&self, pool: Pool) -> Result<Tx, Fault> {
        self.begin_read_only_with(pool, "").await
    }

    /// Begins a read-only transaction and runs the statement `then` in the same round trip.
    ///
    /// # Errors
    /// As [`Database::begin_with`].
    pub(crate) async fn begin_read_only_with(&self, pool: Pool, then: &str) -> Result<Tx, Fault> {
        let how = format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {then}");
        Tx::begin(self.pools.get(pool), &how).await
    }

    /// The first row of a single statement outside of a transaction, on the search pool: one round trip.
    ///
    /// # Errors
    /// As [`Database::begin_with`].
    pub(crate) async fn first(
        &self,
        query: impl Fn() -> Query<'static> + Send,
    ) -> Result<Option<Row>, Fault> {
        Tx::first_without_transaction(self.pools.get(Pool::Search), query).await
    }

    /// Runs one statement that Postgres refuses inside of a transaction, such as VACUUM.
    ///
    /// # Errors
    /// The database's error as a fault.
    pub(crate) async fn outside_transaction(&self, statement: Query<'_>) -> Result<(), Fault> {
        Tx::run_outside(self.pools.get(Pool::Ddl), statement).await
    }

    /// Waits for the permit to build an index, which is released on drop. Reports activity while it waits.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when the database is being closed.
    pub(crate) async fn build_permit(&self) -> Result<SemaphorePermit<'_>, Fault> {
        let mut waiting = std::pin::pin!(self.builds.acquire());
        let permit = loop {
            tokio::select! {
                permit = &mut waiting => break permit,
                // Another task is building an index, so waiting for it is not a standstill.
                () = tokio::time::sleep(ACTIVITY_EVERY) => self.on_activity.iter().for_each(|report| report()),
            }
        };
        permit.map_err(|closed| {
            Fault::new(ErrorCode::StorageUnavailable, "The database is being closed.").with_source(closed)
        })
    }

    /// Checks that the server responds; for readiness probes.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when it does not.
    pub async fn ping(&self) -> Result<(), Fault> {
        self.first(|| sql("SELECT 1")).await.map(|_| ())
    }

    /// Closes every pool. Waits at most 5 s for connections in use, because a hanging one may be the reason why the process
    /// ends.
    pub async fn close(&self) {
        if tokio::time::timeout(CLOSE_MAX, self.pools.close()).await.is_err() {
            tracing::warn!("connections to the database were still in use when it was closed");
        }
    }

    /// Migrates the control schema. Checks the version before taking the lock, because every process calls this at every
    /// start and almost never finds anything to do.
    async fn migrate_control(&self) -> Result<(), Fault> {
        let target = newest(CONTROL);
        let mut tx = self.begin(Pool::Ddl).await?;
        if control_version(&mut tx).await? < target {
            tx.execute(sql(
                "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('pairofcleats:control', \
                   0))",
            ))
            .await?;
            let from = control_version(&mut tx).await?;
            for statement in statements(CONTROL, from, &[]) {
                tx.execute(sql(statement)).await.map_err(control_denied)?;
            }
            if from < target {
                let record = "INSERT INTO pairofcleats.migrations (module, version, applied_at) \
                     VALUES ('control', $1, now())";
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

/// The version of the control schema; 0 if it does not exist yet.
async fn control_version(tx: &mut Tx) -> Result<i32, Fault> {
    // Not `to_regclass`: it uses a cache that does not see another session's commit while this transaction waits for
    // the lock, so the loser of a race would try to create everything again.
    let there = sql("SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c \
           JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'pairofcleats' \
           AND c.relname = 'migrations')");
    if !tx.scalar::<bool>(there).await? {
        return Ok(0);
    }
    let version =
        sql("SELECT coalesce(max(version), 0) FROM pairofcleats.migrations WHERE module = 'control'");
    tx.scalar(version).await
}

/// The schema of the control tables.
const CONTROL_SCHEMA: &str = "pairofcleats";

fn control_denied(fault: Fault) -> Fault {
    if fault.code != ErrorCode::PermissionDenied {
        return fault;
    }
    permission_denied(
        "The database login may not create the control schema.",
        json!({ "schema_name": CONTROL_SCHEMA }),
        "Ask an administrator to grant the login of DATABASE_URL the CREATE privilege on its database.",
    )
    .with_source(fault)
}
