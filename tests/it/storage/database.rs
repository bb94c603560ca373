//! A database of its own for every test, on the cluster that the tests of this process share.

use std::sync::atomic::{AtomicU32, Ordering};

use contract::ProjectId;
use contract::config;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use store::postgres::Database;
use store::{
    self, ChunkWrite, DecidedBy, Fence, FileWrite, ModelFacts, Project, ProjectTx, Store, Versions,
    WordsWrite,
};

/// A throw-away database and a store over it.
pub(crate) struct Fresh {
    pub(crate) store: Store,
    pub(crate) options: PgConnectOptions,
    name: String,
}

fn server() -> PgConnectOptions {
    crate::harness::server().connect_options()
}

/// The versions and settings with which the repositories of these tests are stored.
pub(crate) const VERSIONS: Versions =
    Versions { chunker: 2, terms: 3, facts: 4, rules: [5; 32], dictionary: [6; 32], settings: [7; 32] };

pub(crate) fn settings() -> config::Database {
    config::Database {
        url: None,
        password_file: None,
        search_connections: 4,
        write_connections: 4,
        acquire_timeout_ms: 20_000,
        statement_timeout_ms: 30_000,
        search_statement_timeout_ms: 20_000,
        lock_timeout_ms: 10_000,
        maintenance_statement_timeout_ms: 60_000,
        answer_grace_ms: 2_000,
        first_answer_ms_max: 2_000,
        idle_in_transaction_ms_max: 60_000,
    }
}

impl Fresh {
    pub(crate) async fn new() -> Self {
        Self::with(&settings()).await
    }

    pub(crate) async fn with(settings: &config::Database) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("poc_test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut admin = PgConnection::connect_with(&server()).await.unwrap();
        run(&mut admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        run(&mut admin, &format!("CREATE DATABASE {name}")).await;
        let options = server().database(&name);
        let database = Database::connect(options.clone(), settings, true).await.unwrap();
        Self { store: Store::new(database), options, name }
    }

    /// A second store on the same database, as another process would have it.
    pub(crate) async fn another(&self) -> Store {
        Store::new(Database::connect(self.options.clone(), &settings(), true).await.unwrap())
    }

    /// The URL with which another process connects to the database.
    pub(crate) fn url(&self) -> String {
        let socket =
            self.options.get_socket().expect("a cluster on a socket").to_string_lossy().replace('/', "%2F");
        format!("postgres:///{}?user={}&host={socket}", self.name, self.options.get_username())
    }

    /// A connection outside the store's pools.
    pub(crate) async fn raw(&self) -> PgConnection {
        PgConnection::connect_with(&self.options).await.unwrap()
    }

    pub(crate) async fn project(&self, id: &str) -> Project {
        provision(&self.store, id).await
    }

    /// Closes `store` and waits until its sessions have ended: only then does Postgres add their statistics.
    pub(crate) async fn leave(&self, store: &Store) {
        store.database().close().await;
        let mut raw = self.raw().await;
        let text = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
            AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
        while number(&mut raw, text).await > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }

    /// Removes the database and its roles.
    pub(crate) async fn remove(self) {
        self.store.database().close().await;
        let mut raw = self.raw().await;
        let rows = sqlx::query("SELECT role_name FROM pairofcleats.projects WHERE role_name IS NOT NULL");
        let rows = rows.fetch_all(&mut raw).await.unwrap();
        drop(raw);
        let mut admin = PgConnection::connect_with(&server()).await.unwrap();
        run(&mut admin, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
        for row in rows {
            run(&mut admin, &format!("DROP ROLE \"{}\"", row.get::<String, _>(0))).await;
        }
    }
}

pub(crate) async fn run(connection: &mut PgConnection, text: &str) {
    sqlx::query(AssertSqlSafe(text)).execute(connection).await.unwrap_or_else(|e| panic!("{text}: {e}"));
}

pub(crate) async fn number(connection: &mut PgConnection, text: &str) -> i64 {
    sqlx::query(AssertSqlSafe(text))
        .fetch_one(connection)
        .await
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .get(0)
}

pub(crate) fn model() -> ModelFacts {
    ModelFacts { id: "stub".into(), variant: "stub".into(), hash: vec![7; 32], dimensions: 8 }
}

pub(crate) async fn provision(store: &Store, id: &str) -> Project {
    let id = ProjectId::parse(id).unwrap();
    store::provision(store, &id, DecidedBy::Argument, &model()).await.unwrap()
}

pub(crate) async fn writing(store: &Store, project: &Project) -> ProjectTx {
    ProjectTx::begin(store, project, store::Access::Write).await.unwrap()
}

pub(crate) async fn searching(store: &Store, project: &Project) -> ProjectTx {
    ProjectTx::begin(store, project, store::Access::Search).await.unwrap()
}

/// Acquires fence 1 and creates a repository.
pub(crate) async fn repository(store: &Store, project: &Project) -> (Fence, i64) {
    let mut tx = writing(store, project).await;
    store::index_state::acquire_fence(&mut tx, Fence(1)).await.unwrap();
    let id = store::repositories::ensure(&mut tx, Fence(1), "/repo", "repo", VERSIONS).await.unwrap();
    tx.commit().await.unwrap();
    (Fence(1), id)
}

pub(crate) async fn write(
    store: &Store,
    project: &Project,
    fence: Fence,
    repository: i64,
    files: &[FileWrite],
) -> store::Written {
    let mut tx = writing(store, project).await;
    let mut known = store::KnownNames::default();
    let written = store::write_batch(&mut tx, fence, repository, files, &mut known).await.unwrap();
    tx.commit().await.unwrap();
    written
}

/// A file with one chunk of one line for each text; words become terms.
pub(crate) fn file(path: &str, texts: &[&str]) -> FileWrite {
    FileWrite {
        path: path.into(),
        language: Some("rust"),
        extension: path.rsplit_once('.').map(|(_, extension)| extension.into()),
        bytes: 10,
        modified_ns: 20,
        content_hash: vec![1; 32],
        lines: u32::try_from(texts.len()).unwrap(),
        skipped: None,
        chunks: texts.iter().zip(1..).map(|(text, line)| chunk(text, line)).collect(),
        ..FileWrite::default()
    }
}

fn chunk(text: &str, line: u32) -> ChunkWrite {
    let mut terms: Vec<i32> = text.split_whitespace().map(term).collect();
    terms.sort_unstable();
    terms.dedup();
    ChunkWrite {
        start_line: line,
        end_line: line,
        kind: "function",
        name: Some(format!("Outer.{}", text.split_whitespace().next().unwrap_or_default())),
        defines: text.split_whitespace().take(2).map(str::to_owned).collect(),
        signature: None,
        content: text.into(),
        content_hash: *blake3::hash(text.as_bytes()).as_bytes(),
        words: WordsWrite { weights: vec![1.0; terms.len()], terms },
        ..ChunkWrite::default()
    }
}

pub(crate) fn term(word: &str) -> i32 {
    i32::try_from(crc32fast::hash(word.as_bytes()) % 999_999_999).unwrap() + 1
}
