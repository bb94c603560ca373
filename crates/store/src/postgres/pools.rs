//! Pools apart, so that indexing cannot starve search and provisioning waits for neither.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::sync::Mutex;

use super::connection_pool::{ConnectionPool, Cut, Limits};
use contract::Fault;
use contract::config;

/// Connections for schema changes: one for provisioning while another builds an index.
const DDL_CONNECTIONS: u32 = 2;
/// A backend's memory grows with every project it has seen, so none gets old.
const LIFETIME_MAX: Duration = Duration::from_secs(20 * 60);
/// Prepared statements kept a connection; texts differ by project.
const STATEMENTS_KEPT: usize = 256;
/// Memory of one sort or hash of a statement; few run at a time.
const WORK_MEM_MB: u32 = 32;
/// How the server finds out that a client is gone without a word, so that its transaction and its locks go: after 15 s
/// without traffic it asks three times, 5 s apart. Over a Unix socket these settings have no effect.
const SERVER_KEEPALIVE: [(&str, &str); 4] = [
    ("tcp_keepalives_idle", "15"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "30000"),
];

/// Which pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// Questions.
    Search,
    /// Indexing, and the control schema.
    Write,
    /// Provisioning, migrations and index builds.
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

/// Starts a server that this process looks after if it is gone, and says how it is reached.
pub type Revive = Arc<dyn Fn() -> BoxFuture<'static, Result<PgConnectOptions, Fault>> + Send + Sync>;

#[derive(Clone)]
pub(super) struct Pools {
    search: ConnectionPool,
    write: ConnectionPool,
    ddl: ConnectionPool,
    reviver: Arc<Reviver>,
}

/// The one place that starts the server again for all pools.
#[derive(Default)]
pub(super) struct Reviver {
    revive: OnceLock<Revive>,
    /// One attempt at a time; the others find the server up.
    turn: Mutex<()>,
}

impl Reviver {
    pub(super) fn is_there(&self) -> bool {
        self.revive.get().is_some()
    }

    /// None without a server of our own.
    pub(super) async fn revive(&self) -> Result<Option<PgConnectOptions>, Fault> {
        let Some(revive) = self.revive.get() else { return Ok(None) };
        let _turn = self.turn.lock().await;
        revive().await.map(Some)
    }
}

impl Pools {
    /// Lazy pools over a server that was already reached once.
    pub(super) fn new(
        options: &PgConnectOptions,
        settings: &config::Database,
        extension_schema: &str,
    ) -> Self {
        let (cut, reviver) = (Arc::new(Cut::default()), Arc::new(Reviver::default()));
        let pool = |kind: Pool, connections, statement_timeout_ms| {
            let (settings_kept, schema) = (settings.clone(), extension_schema.to_owned());
            let session = move |options: &PgConnectOptions| {
                session(options, &settings_kept, kind, &schema, statement_timeout_ms)
            };
            let known = Arc::clone(&cut);
            let pool = PgPoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(Duration::from_millis(settings.acquire_timeout_ms))
                .max_lifetime(LIFETIME_MAX)
                // The first statement finds out ([`super::guard`]); asking before would cost each search a round trip.
                .test_before_acquire(false)
                .before_acquire(move |_, about| {
                    let usable = known.allows(about.age);
                    Box::pin(async move { Ok(usable) })
                })
                .connect_lazy_with(session(options));
            let limits = Limits::new(settings, statement_timeout_ms);
            ConnectionPool::new(pool, kind.name(), limits, Arc::clone(&cut), Arc::clone(&reviver), session)
        };
        Self {
            search: pool(Pool::Search, settings.search_connections, settings.search_statement_timeout_ms),
            write: pool(Pool::Write, settings.write_connections, settings.statement_timeout_ms),
            ddl: pool(Pool::Ddl, DDL_CONNECTIONS, settings.statement_timeout_ms),
            reviver,
        }
    }

    pub(super) fn get(&self, pool: Pool) -> &ConnectionPool {
        match pool {
            Pool::Search => &self.search,
            Pool::Write => &self.write,
            Pool::Ddl => &self.ddl,
        }
    }

    /// From now on a server that cannot be reached is started again by `revive`.
    pub(super) fn revived_by(&self, revive: Revive) {
        // Only the first one counts: a process has one server.
        let _ = self.reviver.revive.set(revive);
    }

    /// Starts the server again if it is gone.
    pub(super) async fn revive(&self) -> Result<(), Fault> {
        if let Some(options) = self.reviver.revive().await? {
            [&self.search, &self.write, &self.ddl].iter().for_each(|pool| pool.connect_to(&options));
        }
        Ok(())
    }

    /// The same pools; `told` is called for each sign that the server is at work for who uses them.
    pub(super) fn telling(&self, told: &super::connection_pool::Told) -> Self {
        Self {
            search: self.search.telling(told),
            write: self.write.telling(told),
            ddl: self.ddl.telling(told),
            reviver: Arc::clone(&self.reviver),
        }
    }

    pub(super) async fn close(&self) {
        self.search.close().await;
        self.write.close().await;
        self.ddl.close().await;
    }
}

/// Everything a connection is told when it opens, so that no statement ever has to.
fn session(
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
            // Types and operators of pgvector, and nothing that belongs to a tenant.
            ("search_path", super::schema_name::quoted(extension_schema)),
            // A cached generic plan once took HNSW for a filter that needed the exact path.
            ("plan_cache_mode", "force_custom_plan".to_owned()),
            ("jit", "off".to_owned()),
            // A filtered vector search joins on content hashes: in memory, or several times slower.
            ("work_mem", format!("{WORK_MEM_MB}MB")),
            ("statement_timeout", statement_timeout_ms.to_string()),
            ("lock_timeout", settings.lock_timeout_ms.to_string()),
            // What a client that went silent has locked is free again after this.
            ("idle_in_transaction_session_timeout", settings.idle_in_transaction_ms_max.to_string()),
            // Without Citus an inert placeholder; with it, SET LOCAL reaches the node of the project.
            ("citus.propagate_set_commands", if pool == Pool::Ddl { "none" } else { "local" }.to_owned()),
        ])
        .options(SERVER_KEEPALIVE)
        .disable_statement_logging();
    if pool == Pool::Ddl { options.options([("citus.enable_schema_based_sharding", "on")]) } else { options }
}
