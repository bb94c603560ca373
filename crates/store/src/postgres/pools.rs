//! Separate connection pools, so that indexing cannot starve search and provisioning waits for neither.

use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::connection_pool::{ConnectionPool, LastLoss, Limits};
use super::restarter::{RestartCallback, Restarter};
use contract::Fault;
use contract::config;

/// Connections for schema changes: one for provisioning while another creates a Postgres index.
const DDL_CONNECTIONS: u32 = 2;
/// Lifetime of a connection. The memory of a backend grows with every project it has accessed.
const LIFETIME_MAX: Duration = Duration::from_secs(20 * 60);
/// Prepared statements cached per connection. Their texts differ by project.
const STATEMENTS_KEPT: usize = 256;
/// Memory in MB for each sort or hash of a statement. High, because few such statements run at once.
const WORK_MEM_MB: u32 = 32;
/// Lets the server detect clients that vanished, so that it ends their transactions and releases their locks: after 15 s
/// without traffic it sends three probes, 5 s apart. Over a Unix socket these settings have no effect.
const SERVER_KEEPALIVE: [(&str, &str); 4] = [
    ("tcp_keepalives_idle", "15"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "30000"),
];

/// The kinds of pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// Searches and other short reads.
    Search,
    /// Indexing, and the control schema.
    Write,
    /// Provisioning, migrations and `CREATE INDEX`.
    Ddl,
}

impl Pool {
    fn name(self) -> &'static str {
        match self {
            Self::Search => "pairofcleats search",
            Self::Write => "pairofcleats write",
            Self::Ddl => "pairofcleats ddl",
        }
    }
}

#[derive(Clone)]
pub(super) struct Pools {
    search: ConnectionPool,
    write: ConnectionPool,
    ddl: ConnectionPool,
    restarter: Arc<Restarter>,
}

impl Pools {
    /// Pools that open their connections on demand.
    pub(super) fn new(
        options: &PgConnectOptions,
        settings: &config::Database,
        extension_schema: &str,
    ) -> Self {
        let (last_loss, restarter) = (Arc::new(LastLoss::default()), Arc::new(Restarter::default()));
        let pool = |kind: Pool, connections, statement_timeout_ms| {
            let (session_settings, schema) = (settings.clone(), extension_schema.to_owned());
            let session = move |options: &PgConnectOptions| {
                session_options(options, &session_settings, kind, &schema, statement_timeout_ms)
            };
            let loss = Arc::clone(&last_loss);
            let pool = PgPoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(Duration::from_millis(settings.acquire_timeout_ms))
                .max_lifetime(LIFETIME_MAX)
                // The first statement detects a dead connection; a test would cost every search a round trip.
                .test_before_acquire(false)
                .before_acquire(move |_, metadata| {
                    let usable = loss.allows(metadata.age);
                    Box::pin(async move { Ok(usable) })
                })
                .connect_lazy_with(session(options));
            let limits = Limits::new(settings, statement_timeout_ms);
            ConnectionPool::new(
                pool,
                kind.name(),
                limits,
                Arc::clone(&last_loss),
                Arc::clone(&restarter),
                session,
            )
        };
        Self {
            search: pool(Pool::Search, settings.search_connections, settings.search_statement_timeout_ms),
            write: pool(Pool::Write, settings.write_connections, settings.statement_timeout_ms),
            ddl: pool(Pool::Ddl, DDL_CONNECTIONS, settings.statement_timeout_ms),
            restarter,
        }
    }

    pub(super) fn get(&self, pool: Pool) -> &ConnectionPool {
        match pool {
            Pool::Search => &self.search,
            Pool::Write => &self.write,
            Pool::Ddl => &self.ddl,
        }
    }

    /// Sets the callback that restarts the server when it is unreachable.
    pub(super) fn set_restart_callback(&self, callback: RestartCallback) {
        // Later calls have no effect: a process has one server.
        let _ = self.restarter.callback.set(callback);
    }

    /// Restarts the embedded server if it is not running.
    pub(super) async fn restart(&self) -> Result<(), Fault> {
        if let Some(options) = self.restarter.restart().await? {
            [&self.search, &self.write, &self.ddl].iter().for_each(|pool| pool.connect_to(&options));
        }
        Ok(())
    }

    /// The same pools, which call `on_activity` after each response and while the server executes a maintenance statement.
    pub(super) fn with_on_activity(&self, on_activity: &super::connection_pool::OnActivity) -> Self {
        Self {
            search: self.search.with_on_activity(on_activity),
            write: self.write.with_on_activity(on_activity),
            ddl: self.ddl.with_on_activity(on_activity),
            restarter: Arc::clone(&self.restarter),
        }
    }

    pub(super) async fn close(&self) {
        self.search.close().await;
        self.write.close().await;
        self.ddl.close().await;
    }
}

/// Connection options with the session settings of a pool.
fn session_options(
    options: &PgConnectOptions,
    settings: &config::Database,
    pool: Pool,
    extension_schema: &str,
    statement_timeout_ms: u64,
) -> PgConnectOptions {
    let options = options
        .clone()
        .application_name(pool.name())
        .statement_cache_capacity(STATEMENTS_KEPT)
        .options([
            // Only types and operators of pgvector: tables of projects are always qualified.
            ("search_path", super::schema_name::quoted(extension_schema)),
            // A generic plan would use the HNSW index for filters that need an exact scan.
            ("plan_cache_mode", "force_custom_plan".to_owned()),
            ("jit", "off".to_owned()),
            // A filtered vector search joins on content hashes, which is several times slower on disk.
            ("work_mem", format!("{WORK_MEM_MB}MB")),
            ("statement_timeout", statement_timeout_ms.to_string()),
            ("lock_timeout", settings.lock_timeout_ms.to_string()),
            // Releases the locks of a client that does not respond any more.
            ("idle_in_transaction_session_timeout", settings.idle_in_transaction_ms_max.to_string()),
            // Without effect unless Citus is installed. SET LOCAL then reaches the project's node; schema changes set nothing.
            ("citus.propagate_set_commands", if pool == Pool::Ddl { "none" } else { "local" }.to_owned()),
        ])
        .options(SERVER_KEEPALIVE)
        .disable_statement_logging();
    if pool == Pool::Ddl { options.options([("citus.enable_schema_based_sharding", "on")]) } else { options }
}
