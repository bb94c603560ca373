//! Connections that are abandoned, unresponsive or outdated do not break the pool.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use contract::config;
use contract::{ErrorCode, Fault};
use store::postgres::{Database, Pool, parse_url, retry_stale_plan, sql};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::net::UnixStream;

use crate::storage::database::{Fresh, settings};

fn small_pools() -> config::Database {
    config::Database { search_connections: 2, write_connections: 1, acquire_timeout_ms: 3_000, ..settings() }
}

async fn select_42(database: &Database, pool: Pool) -> Result<i32, Fault> {
    let mut tx = database.begin(pool).await?;
    let number = tx.one(sql("SELECT 42")).await?.try_get(0)?;
    tx.commit().await?;
    Ok(number)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_dropped_midway_frees_its_permit() {
    let fresh = Fresh::with(&small_pools()).await;
    let database = fresh.store.database();
    for _ in 0..5 {
        let slow = || async {
            let mut tx = database.begin(Pool::Search).await?;
            tx.execute(sql("SELECT pg_sleep(60)")).await
        };
        let both = async { tokio::join!(slow(), slow()) };
        assert!(tokio::time::timeout(Duration::from_millis(50), both).await.is_err());
    }
    // Both permits are free again, and no query waits for the abandoned ones.
    let (a, b) = tokio::join!(select_42(database, Pool::Search), select_42(database, Pool::Search));
    assert_eq!((a.unwrap(), b.unwrap()), (42, 42));
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_died_while_idle_are_replaced_transparently() {
    let fresh = Fresh::with(&small_pools()).await;
    let database = fresh.store.database();
    let mut raw = fresh.raw().await;
    let kill = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity \
                WHERE application_name = 'pairofcleats search' AND datname = current_database()";
    for _ in 0..3 {
        let both = tokio::join!(select_42(database, Pool::Search), select_42(database, Pool::Search));
        assert_eq!((both.0.unwrap(), both.1.unwrap()), (42, 42));
        assert!(crate::storage::database::number(&mut raw, kill).await > 0);
        assert_eq!(select_42(database, Pool::Search).await.unwrap(), 42, "a transaction");
        crate::storage::database::number(&mut raw, kill).await;
        database.ping().await.unwrap();
    }
    drop(raw);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_transaction_is_rolled_back_before_its_connection_is_reused() {
    let fresh = Fresh::with(&small_pools()).await;
    let database = fresh.store.database();
    let mut tx = database.begin(Pool::Write).await.unwrap();
    let insert = "INSERT INTO pairofcleats.migrations (module, version, applied_at) VALUES ('x', 1, now())";
    tx.execute(sql(insert)).await.unwrap();
    tx.execute(sql("SET LOCAL statement_timeout = 1")).await.unwrap();
    drop(tx);
    let mut tx = database.begin(Pool::Write).await.unwrap();
    let row = tx.one(sql("SELECT current_setting('statement_timeout'), count(*) FROM pairofcleats.migrations WHERE module = 'x'"));
    let row = row.await.unwrap();
    assert_eq!((row.try_get::<String>(0).unwrap(), row.try_get::<i64>(1).unwrap()), ("30s".into(), 0));
    tx.commit().await.unwrap();
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_statement_leaves_the_pool_usable() {
    let fresh = Fresh::with(&small_pools()).await;
    let database = fresh.store.database();
    for _ in 0..5 {
        let mut tx = database.begin(Pool::Write).await.unwrap();
        assert_eq!(tx.execute(sql("SELECT 1 / 0")).await.unwrap_err().code, ErrorCode::Internal);
    }
    assert_eq!(select_42(database, Pool::Write).await.unwrap(), 42);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_connection_has_the_settings_of_its_pool() {
    let fresh = Fresh::new().await;
    let database = fresh.store.database();
    for (pool, timeout, application_name) in [
        (Pool::Search, "20s", "pairofcleats search"),
        (Pool::Write, "30s", "pairofcleats write"),
        (Pool::Ddl, "30s", "pairofcleats ddl"),
    ] {
        let mut tx = database.begin(pool).await.unwrap();
        for (setting, value) in [
            ("search_path", "\"extensions\""),
            ("plan_cache_mode", "force_custom_plan"),
            ("jit", "off"),
            ("lock_timeout", "10s"),
            ("statement_timeout", timeout),
            ("application_name", application_name),
        ] {
            let row = tx.one(sql("SELECT current_setting($1)").bind(setting)).await.unwrap();
            assert_eq!(row.try_get::<String>(0).unwrap(), value, "{pool:?} {setting}");
        }
        let unqualified = tx.execute(sql("SELECT 1 FROM projects")).await;
        assert!(unqualified.is_err(), "an unqualified name is an error");
    }
    let mut tx = database.begin_read_only(Pool::Search).await.unwrap();
    assert!(tx.execute(sql("DELETE FROM pairofcleats.jobs")).await.is_err(), "a search cannot write");
    drop(tx);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_plan_is_dropped_with_its_connection() {
    let fresh = Fresh::with(&small_pools()).await;
    let database = fresh.store.database();
    let mut raw = fresh.raw().await;
    crate::storage::database::run(&mut raw, "CREATE TABLE public.t AS SELECT 1 AS a").await;
    let read = || async {
        let mut tx = database.begin(Pool::Write).await?;
        let row = tx.one(sql("SELECT a FROM public.t")).await?;
        tx.commit().await?;
        Ok(if row.try_get::<i32>(0).is_ok() { "INT4" } else { "TEXT" })
    };
    assert_eq!(read().await.unwrap(), "INT4");
    crate::storage::database::run(&mut raw, "ALTER TABLE public.t ALTER a TYPE text").await;
    assert!(read().await.is_err(), "without a retry it fails once, and the connection is closed");
    assert_eq!(read().await.unwrap(), "TEXT");
    crate::storage::database::run(&mut raw, "ALTER TABLE public.t ALTER a TYPE int4 USING a::int4").await;
    assert_eq!(retry_stale_plan(read).await.unwrap(), "INT4");
    drop(raw);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn timeouts_and_unreachable_servers_have_their_own_error_codes() {
    let fresh = Fresh::new().await;
    let mut tx = fresh.store.database().begin(Pool::Search).await.unwrap();
    tx.limit_statements(Duration::from_millis(20)).await.unwrap();
    let fault = tx.execute(sql("SELECT pg_sleep(60)")).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::ToolTimeout);
    assert!(!fault.message.contains("pg_sleep"), "no SQL in messages");
    drop(tx);

    let connect = |url: &'static str| async move {
        Database::connect(parse_url(url).unwrap(), &settings(), true)
            .await
            .err()
            .map(|fault| (fault.code, fault.retryable))
    };
    let refused = connect("postgres://u@127.0.0.1:1/x").await;
    assert_eq!(refused, Some((ErrorCode::StorageUnavailable, true)));
    let missing = fresh.options.clone().database("no_such_database");
    let fault = Database::connect(missing, &settings(), true).await.err().unwrap();
    assert_eq!((fault.code, fault.retryable), (ErrorCode::StorageUnavailable, false));
    assert_eq!(parse_url("postgres://h:port/x").unwrap_err().code, ErrorCode::InvalidRequest);
    fresh.remove().await;
}

/// Forwards bytes to and from the server, or drops them all, as a dead network does.
struct Proxy {
    directory: tempfile::TempDir,
    /// Connections with a number up to this one forward nothing.
    silent_up_to: Arc<AtomicU64>,
    accepted: Arc<AtomicU64>,
}

impl Proxy {
    fn new(server: PathBuf) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        let (silent_up_to, accepted) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (silent, count) = (Arc::clone(&silent_up_to), Arc::clone(&accepted));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                let Ok(server) = UnixStream::connect(&server).await else { return };
                let ((client_read, client_write), (server_read, server_write)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(forward(client_read, server_write, number, Arc::clone(&silent)));
                tokio::spawn(forward(server_read, client_write, number, Arc::clone(&silent)));
            }
        });
        Self { directory, silent_up_to, accepted }
    }

    /// Stops forwarding for every connection that is open now; new connections work.
    fn silence(&self) {
        self.silent_up_to.store(self.accepted.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

async fn forward(
    mut from: tokio::net::unix::OwnedReadHalf,
    mut to: tokio::net::unix::OwnedWriteHalf,
    number: u64,
    silent: Arc<AtomicU64>,
) {
    let mut bytes = [0; 8192];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if number > silent.load(Ordering::SeqCst) && to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_goes_silent_costs_only_the_open_connections() {
    let fresh = Fresh::with(&small_pools()).await;
    let socket = fresh.options.get_socket().cloned().unwrap_or_else(|| fresh.options.get_host().into());
    let proxy = Proxy::new(socket.join(format!(".s.PGSQL.{}", fresh.options.get_port())));
    let options = fresh.options.clone().socket(proxy.directory.path()).port(5432);
    let database = Database::connect(options, &small_pools(), true).await.unwrap();
    let slow = || async {
        let mut tx = database.begin(Pool::Search).await?;
        tx.execute(sql("SELECT pg_sleep(60)")).await
    };
    let both = async { tokio::join!(slow(), slow()) };
    let cut_both = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        proxy.silence();
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    tokio::select! {
        _ = both => panic!("a statement ended although nothing answered it"),
        () = cut_both => {}
    }
    let (a, b) = tokio::join!(select_42(&database, Pool::Search), select_42(&database, Pool::Search));
    assert_eq!((a.unwrap(), b.unwrap()), (42, 42));
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_never_arrives_is_not_waited_for() {
    let settings = config::Database {
        statement_timeout_ms: 1_000,
        answer_grace_ms: 500,
        first_answer_ms_max: 500,
        ..small_pools()
    };
    let fresh = Fresh::with(&settings).await;
    let socket = fresh.options.get_socket().cloned().unwrap_or_else(|| fresh.options.get_host().into());
    let proxy = Proxy::new(socket.join(format!(".s.PGSQL.{}", fresh.options.get_port())));
    let options = fresh.options.clone().socket(proxy.directory.path()).port(5432);
    let settings = config::Database { write_connections: 2, ..settings };
    let database = Database::connect(options, &settings, true).await.unwrap();

    // With the timeout of maintenance, the client waits for a long statement while the server works on it.
    let mut tx = database.begin(Pool::Write).await.unwrap();
    tx.lift_timeout().await.unwrap();
    tx.execute(sql("SELECT pg_sleep(5)")).await.unwrap();
    tx.commit().await.unwrap();

    // An answer that never arrives is not waited for, whether or not the timeout was lifted.
    for lifted in [true, false] {
        let mut tx = database.begin(Pool::Write).await.unwrap();
        if lifted {
            tx.lift_timeout().await.unwrap();
        }
        proxy.silence();
        let fault = tx.execute(sql("SELECT 1")).await.unwrap_err();
        assert_eq!((fault.code, fault.retryable), (ErrorCode::StorageUnavailable, true));
        assert!(fault.message.contains("does not answer"), "{fault}");
        assert!(store::postgres::is_transient(&fault));
        let fault = tx.commit().await.unwrap_err();
        assert!(
            store::postgres::is_transient(&fault),
            "its connection is closed, not returned to the pool: {fault}"
        );
        assert_eq!(select_42(&database, Pool::Write).await.unwrap(), 42);
    }
    fresh.remove().await;
}
