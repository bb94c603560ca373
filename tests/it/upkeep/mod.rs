//! Upkeep: reports on storage, cleaning, garbage collection, deletion, and export and import of projects.
//!
//! Most tests keep a second project beside the one they work on and check that nothing of it changed.

mod bootstrapping;
mod cleaning;
mod collecting;
mod deleting;
mod export_import;
mod reporting;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use contract::ProjectId;
use gate::app::App;
use gate::tools::{self, Caller, Request, Surface};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tenancy::{Principal, Projects, Scope};

use crate::harness::{Repository, app, project, result, server};

/// A plain connection to the shared cluster, with all rights.
pub(crate) async fn raw() -> PgConnection {
    PgConnection::connect_with(&server().connect_options()).await.unwrap()
}

pub(crate) async fn execute_sql(text: &str) {
    sqlx::query(AssertSqlSafe(text))
        .execute(&mut raw().await)
        .await
        .unwrap_or_else(|e| panic!("{text}: {e}"));
}

pub(crate) async fn query_number(text: &str) -> i64 {
    let row = sqlx::query(AssertSqlSafe(text)).fetch_one(&mut raw().await).await;
    row.unwrap_or_else(|e| panic!("{text}: {e}")).get(0)
}

/// The schema of a project.
pub(crate) fn schema(project: &str) -> String {
    ProjectId::parse(project).unwrap().schema_name()
}

/// A project's rows, as count and hash for each table, its jobs and its files. Equal values mean that nothing changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoredState {
    rows: BTreeMap<String, (i64, i64)>,
    jobs: (i64, i64),
    files: Vec<(PathBuf, Vec<u8>)>,
}

pub(crate) async fn stored_state(app: &App, project: &str) -> StoredState {
    let mut raw = raw().await;
    let digest = async |raw: &mut PgConnection, from: String| -> (i64, i64) {
        let text = format!(
            "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0) % 1000000007), 0)::int8 FROM {from}"
        );
        let row = sqlx::query(AssertSqlSafe(text)).fetch_one(raw).await.unwrap();
        (row.get(0), row.get(1))
    };
    let tables =
        sqlx::query("SELECT tablename::text FROM pg_tables WHERE schemaname = $1").bind(schema(project));
    let tables: Vec<String> =
        tables.fetch_all(&mut raw).await.unwrap().iter().map(|row| row.get(0)).collect();
    let mut rows = BTreeMap::new();
    for table in tables {
        let from = format!("{}.{table} t", schema(project));
        rows.insert(table, digest(&mut raw, from).await);
    }
    let jobs = digest(&mut raw, format!("pairofcleats.jobs t WHERE t.project_id = '{project}'")).await;
    StoredState { rows, jobs, files: files(&app.layout.project(project)) }
}

fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

/// Writes a file of `bytes` bytes below a project's folder whose modification time is `days_old` days ago.
pub(crate) fn write_aged_file(app: &App, project: &str, path: &str, bytes: usize, days_old: u64) {
    let path = app.layout.project(project).join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, vec![b'x'; bytes]).unwrap();
    let when =
        SystemTime::UNIX_EPOCH + Duration::from_millis(app.clock.now().as_millisecond().unsigned_abs());
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(when - Duration::from_secs(days_old * 86_400)).unwrap();
}

/// One project to work on, with two repositories, and one to leave alone.
pub(crate) struct TwoProjects {
    pub(crate) app: Arc<App>,
    pub(crate) ours: String,
    pub(crate) theirs: String,
    pub(crate) shop: Repository,
    pub(crate) bank: Repository,
    pub(crate) shop_name: String,
    before: StoredState,
}

impl TwoProjects {
    pub(crate) async fn new() -> Self {
        Self::with(app()).await
    }

    pub(crate) async fn with(app: Arc<App>) -> Self {
        let shared = "def shared():\n    return 'the same text in both'\n";
        let shop = Repository::new(&[
            ("cash.py", "def drawer(coins):\n    return sum(coins)\n"),
            ("shared.py", shared),
        ]);
        let bank = Repository::new(&[
            ("vault.py", "def open_vault(code):\n    return code == 7\n"),
            ("shared.py", shared),
        ]);
        let (ours, theirs) = (project("ours"), project("theirs"));
        for project in [&ours, &theirs] {
            for repository in [&shop, &bank] {
                result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project }))
                    .await;
            }
            write_aged_file(&app, project, "exports/old.zip", 500, 90);
        }
        // A removed file leaves a vector without chunks behind.
        for project in [&ours, &theirs] {
            shop.write(
                "gone.py",
                "def vanishing_act(cape):\n    conjure_dove(cape)\n    return 'abracadabra'\n",
            );
            result(&app, "build_index", json!({ "repoPath": shop.root(), "project_id": project })).await;
            shop.remove("gone.py");
            result(&app, "build_index", json!({ "repoPath": shop.root(), "project_id": project })).await;
        }
        let before = stored_state(&app, &theirs).await;
        let shop_name = shop.path().file_name().unwrap().to_string_lossy().into_owned();
        Self { app, ours, theirs, shop, bank, shop_name, before }
    }

    /// Calls a tool on the project to work on, which must succeed.
    pub(crate) async fn result(&self, tool: &str, mut arguments: Value) -> Value {
        arguments["project_id"] = json!(self.ours);
        result(&self.app, tool, arguments).await
    }

    /// Checks that nothing of the other project changed, and removes the files of both.
    pub(crate) async fn finish(self) {
        assert_eq!(stored_state(&self.app, &self.theirs).await, self.before, "the other project was changed");
        for project in [&self.ours, &self.theirs] {
            let _ = std::fs::remove_dir_all(self.app.layout.project(project));
        }
    }
}

/// Calls a tool as an HTTP client with a key for these projects and scopes.
pub(crate) async fn call_as(
    app: &Arc<App>,
    projects: &[&str],
    scopes: &[Scope],
    tool: &str,
    arguments: Value,
) -> Value {
    let ids = projects.iter().map(|id| ProjectId::parse(id).unwrap()).collect();
    let principal = Principal {
        id: "key:test".into(),
        projects: Projects::Only(ids),
        scopes: scopes.iter().copied().collect(),
        ..Principal::anonymous()
    };
    let caller = Caller { principal: Arc::new(principal), ..Caller::local(Surface::Http) };
    let envelope = tools::call(app, Request::new(tool, arguments, caller)).await.unwrap();
    let envelope = serde_json::to_value(envelope).unwrap();
    crate::contracts::check_answer(tool, &envelope);
    envelope
}

/// The removals of one kind in an answer.
pub(crate) fn removals<'a>(answer: &'a Value, what: &str) -> Vec<&'a Value> {
    answer["removals"].as_array().unwrap().iter().filter(|removal| removal["what"] == what).collect()
}
