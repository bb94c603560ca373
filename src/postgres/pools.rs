//! Pools apart, so that indexing cannot starve search and provisioning waits for neither.

use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use crate::config;

/// Connections for schema changes: one for provisioning while another builds an index.
const DDL_CONNECTIONS: u32 = 2;
/// A backend's memory grows with every project it has seen, so none gets old.
const LIFETIME_MAX: Duration = Duration::from_secs(20 * 60);
/// Prepared statements kept a connection; texts differ by project.
const STATEMENTS_KEPT: usize = 256;
/// Memory of one sort or hash of a statement; few run at a time.
const WORK_MEM_MB: u32 = 32;
/// An abandoned open transaction holds back vacuum for everybody.
const IDLE_IN_TRANSACTION_MAX_MS: u64 = 60_000;

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

#[derive(Clone)]
pub(super) struct Pools {
    search: PgPool,
    write: PgPool,
    ddl: PgPool,
}

impl Pools {
    /// Lazy pools over a server that was already reached once.
    pub(super) fn new(
        options: &PgConnectOptions,
        settings: &config::Database,
        extension_schema: &str,
    ) -> Self {
        let pool = |kind, connections, statement_timeout_ms| {
            let options = session(options, settings, kind, extension_schema, statement_timeout_ms);
            PgPoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(Duration::from_millis(settings.acquire_timeout_ms))
                .max_lifetime(LIFETIME_MAX)
                // The first statement finds out ([`super::guard`]); asking before would cost each search a round trip.
                .test_before_acquire(false)
                .connect_lazy_with(options)
        };
        Self {
            search: pool(Pool::Search, settings.search_connections, settings.search_statement_timeout_ms),
            write: pool(Pool::Write, settings.write_connections, settings.statement_timeout_ms),
            ddl: pool(Pool::Ddl, DDL_CONNECTIONS, settings.statement_timeout_ms),
        }
    }

    pub(super) fn get(&self, pool: Pool) -> &PgPool {
        match pool {
            Pool::Search => &self.search,
            Pool::Write => &self.write,
            Pool::Ddl => &self.ddl,
        }
    }

    pub(super) async fn close(&self) {
        self.search.close().await;
        self.write.close().await;
        self.ddl.close().await;
    }
}

/// Everything a connection is told when it opens, so that no statement ever has to (storage.md, rules 1, 4).
fn session(
    options: &PgConnectOptions,
    settings: &config::Database,
    pool: Pool,
    extension_schema: &str,
    statement_timeout_ms: u64,
) -> PgConnectOptions {
    let name = match pool {
        Pool::Search => "pairofcleats search",
        Pool::Write => "pairofcleats write",
        Pool::Ddl => "pairofcleats ddl",
    };
    let options = options
        .clone()
        .application_name(name)
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
            ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_MAX_MS.to_string()),
            // Without Citus an inert placeholder; with it, SET LOCAL reaches the node of the project.
            ("citus.propagate_set_commands", if pool == Pool::Ddl { "none" } else { "local" }.to_owned()),
        ])
        .disable_statement_logging();
    if pool == Pool::Ddl { options.options([("citus.enable_schema_based_sharding", "on")]) } else { options }
}
