//! Databases and folders that are read-only, not readable, out of connections, or suspended.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

use contract::ProjectId;
use contract::config::Config;
use gate::app::App;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::disk::{SmallDisk, app_over, app_with, connect, large_repository, wait_for};
use super::network::HookedEmbedder;
use super::proxy::Proxy;
use crate::embedded::cluster::processes_of;
use crate::harness::{PROGRAM, Repository, call, cluster, error, project, result};
use crate::kills::digest_over;

/// A user that owns no files.
const NOBODY: u32 = 65534;

/// A command of the program over a home.
fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--json").env("PAIROFCLEATS_HOME", home).stdin(Stdio::null());
    command
}

fn parse_stdout(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let printed =
            [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        panic!("{error}: {printed:?}")
    })
}

fn lighthouse_repository() -> Repository {
    Repository::new(&[("light.py", "def lighthouse(lamp):\n    return lamp.turn()\n")])
}

fn index_arguments(repository: &Repository, project: &str) -> Value {
    json!({ "repoPath": repository.root(), "project_id": project })
}

async fn close(app: Arc<App>, home: &Path) {
    app.store().await.unwrap().database().close().await;
    drop(app);
    let cluster = home.join("postgres");
    wait_for("the database to stop", async || processes_of(&cluster).is_empty()).await;
}

fn remount(disk: &SmallDisk, options: &str) {
    let status = Command::new("mount").args(["-o", options]).arg(disk.path()).status().unwrap();
    assert!(status.success(), "{options}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_home_is_reported_and_an_external_database_still_works() {
    let disk = SmallDisk::new(200);
    let home = disk.home("");
    let (id, repository) = (project("readonly"), lighthouse_repository());
    let app = app_over(&home, |_| {});
    result(&app, "build_index", index_arguments(&repository, &id)).await;
    close(app, &home).await;
    remount(&disk, "remount,ro");

    // The embedded database cannot run in a read-only home.
    let printed =
        parse_stdout(&command(&home, &["search", "lighthouse", "--project", &id]).output().unwrap());
    assert_eq!(printed["error"]["code"], "STORAGE_UNAVAILABLE", "{printed:#}");
    assert!(printed["error"]["hint"].as_str().unwrap().contains("can be written"), "{printed:#}");

    // An external database works; only tools that write to the home fail, and say why.
    let proxy = Proxy::new().await;
    let app = app_over(&home, |config| config.database.url = Some(proxy.url()));
    result(&app, "build_index", index_arguments(&repository, &id)).await;
    let found = result(&app, "search", json!({ "query": "lighthouse", "project_id": id })).await;
    assert_eq!(found["hits"][0]["file"], "light.py", "{found:#}");
    let refused = error(&app, "build_sqlite_index", json!({ "project_id": id })).await;
    assert!(refused["message"].as_str().unwrap().contains("read-only"), "{refused:#}");
    assert!(refused["hint"].is_string(), "{refused:#}");
    assert_ne!(refused["code"], "INTERNAL", "{refused:#}");
}

/// A user without privileges: a copy of the program that every user can run, and the user's home.
struct UnprivilegedUser {
    folder: tempfile::TempDir,
}

impl UnprivilegedUser {
    fn new() -> Self {
        assert!(rustix::process::geteuid().is_root(), "this test acts as two users, so it must run as root");
        let folder = tempfile::Builder::new().prefix("nobody-test-").tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        crate::harness::copy_program(PROGRAM.as_ref(), &folder.path().join("program"));
        let user = Self { folder };
        let home = user.home();
        fs::create_dir(&home).unwrap();
        let cache = upkeep::install::test_home().home().to_owned();
        for folder in ["runtime", "models"] {
            std::os::unix::fs::symlink(cache.join(folder), home.join(folder)).unwrap();
        }
        chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::write(home.join("config.toml"), "[embedded]\nlinger_ms = 200\nshared_buffers_mb = 16\n").unwrap();
        user
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(self.folder.path().join("program"))
            .args(arguments)
            .arg("--json")
            .env("PAIROFCLEATS_HOME", self.home())
            .env("HOME", self.folder.path())
            .env("ORT_DISABLE_TELEMETRY", "1")
            .current_dir("/")
            .uid(NOBODY)
            .gid(NOBODY)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

#[test]
fn unreadable_paths_are_reported_to_an_unprivileged_user() {
    let user = UnprivilegedUser::new();
    let repository = Repository::new(&[
        ("light.py", "def lighthouse(lamp):\n    return lamp.turn()\n"),
        ("closed/secret.py", "def hidden():\n    return 1\n"),
    ]);
    fs::set_permissions(repository.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let closed = repository.path().join("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let root = repository.root();
    let build = |root: &str| {
        let arguments = json!({ "repoPath": root, "project_id": "mine", "stubEmbeddings": true }).to_string();
        parse_stdout(&user.run(&["call", "build_index", "--args", &arguments]))
    };
    let search = |query: &str| user.run(&["search", query, "--project", "mine"]);

    // A folder of the repository is not readable: the rest is indexed, and the report names the folder.
    let built = build(&root);
    assert_eq!(built["result"]["report"]["files"], 1, "{built:#}");
    assert!(
        built["result"]["report"]["notes"].to_string().contains("`closed` could not be read"),
        "{built:#}"
    );
    // The repository itself is not readable.
    let refused = build(&closed.to_string_lossy());
    assert_eq!(refused["error"]["code"], "FORBIDDEN", "{refused:#}");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("read permission"), "{refused:#}");
    // Searching does not require write access to the home.
    fs::set_permissions(user.home(), fs::Permissions::from_mode(0o555)).unwrap();
    let found = parse_stdout(&search("lighthouse"));
    assert_eq!(found["result"]["hits"][0]["file"], "light.py", "{found:#}");
    // An unreadable home of another user is not mistaken for an empty one.
    chown(user.home(), Some(0), Some(0)).unwrap();
    fs::set_permissions(user.home(), fs::Permissions::from_mode(0o700)).unwrap();
    let output = search("lighthouse");
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success() && printed.contains("cannot be read"), "{printed}");
    assert!(printed.contains("PAIROFCLEATS_HOME") && !printed.contains("bootstrap"), "{printed}");
    // Unreadable settings are an error: defaults could allow what they forbid.
    chown(user.home(), Some(NOBODY), Some(NOBODY)).unwrap();
    fs::set_permissions(user.home().join("config.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    let output = search("lighthouse");
    let printed =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && printed.contains("config.toml cannot be read"), "{printed}");
}

/// URL of a home's database, to use it as an external one.
async fn url(home: &Path) -> String {
    let mut connection = connect(home).await;
    let row = sqlx::query("SELECT current_setting('unix_socket_directories')")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let folder: String = row.get(0);
    format!("postgres:///pairofcleats?user=postgres&host={}", folder.replace('/', "%2F"))
}

#[tokio::test(flavor = "multi_thread")]
async fn exhausted_database_connections_are_reported_and_service_resumes() {
    let disk = SmallDisk::new(200);
    let home = disk.home("");
    let (id, repository) = (project("taken"), lighthouse_repository());
    let embedded_app = app_over(&home, |_| {});
    result(&embedded_app, "build_index", index_arguments(&repository, &id)).await;
    let url = url(&home).await;
    let external = |config: &mut Config| {
        config.database.url = Some(url.clone());
        config.database.acquire_timeout_ms = 1_500;
        config.indexing.database_away_ms_max = 1_000;
    };
    let (cold, warm) = (app_over(&home, external), app_over(&home, external));
    warm.store().await.unwrap();

    let mut taken: Vec<PgConnection> = Vec::new();
    let options: PgConnectOptions = url.parse().unwrap();
    while let Ok(connection) = PgConnection::connect_with(&options).await {
        taken.push(connection);
        assert!(taken.len() <= 60, "the server has a limit");
    }
    // `warm` keeps working with the connections it has.
    drop(taken.pop());
    let query = json!({ "query": "lighthouse", "project_id": id });
    for (label, app) in [("never connected", &cold), ("connected before", &warm)] {
        while let Ok(connection) = PgConnection::connect_with(&options).await {
            taken.push(connection);
        }
        let fault = error(app, "build_index", index_arguments(&repository, &id)).await;
        assert_eq!(fault["code"], "STORAGE_UNAVAILABLE", "{label}: {fault:#}");
        assert_eq!(fault["retryable"], true, "{label}: {fault:#}");
        assert!(fault["message"].as_str().unwrap().contains("no connection to spare"), "{label}: {fault:#}");
        assert!(fault["hint"].as_str().unwrap().contains("max_connections"), "{label}: {fault:#}");
    }
    drop(taken);
    for app in [&cold, &warm] {
        wait_for("an answer", async || call(app, "search", query.clone()).await["ok"] == true).await;
        result(app, "build_index", index_arguments(&repository, &id)).await;
    }
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_only_loses_its_connections_to_suspended_database_processes() {
    let disk = SmallDisk::new(400);
    let home = disk.home("");
    let repository = large_repository(40);
    let (uninterrupted, id) = (project("uninterrupted"), project("suspended"));
    let embedded_app = app_over(&home, |_| {});
    result(&embedded_app, "build_index", index_arguments(&repository, &uninterrupted)).await;
    let url = url(&home).await;
    let mut observer = connect(&home).await;
    let (options, runtime) = (url.parse::<PgConnectOptions>().unwrap(), tokio::runtime::Handle::current());
    let stopped = Arc::new(std::sync::Mutex::new(Vec::new()));
    let stopped_pids = Arc::clone(&stopped);
    let embedder = HookedEmbedder::new(move |call| {
        if call != 3 {
            return;
        }
        let found = runtime.block_on(async {
            let mut connection = PgConnection::connect_with(&options).await.unwrap();
            let text = "SELECT pid FROM pg_stat_activity WHERE application_name = 'pairofcleats write' AND client_port = -1";
            let rows = sqlx::query(text).fetch_all(&mut connection).await.unwrap();
            rows.iter().map(|row| row.get::<i32, _>(0)).collect::<Vec<_>>()
        });
        found.iter().for_each(|pid| signal(*pid, Signal::STOP));
        stopped_pids.lock().unwrap().extend(found);
    });
    let app = app_with(&home, embedder.clone(), |config| {
        config.database.url = Some(url);
        // Longer than any answer on a busy machine.
        config.database.statement_timeout_ms = 5_000;
        config.database.answer_grace_ms = 1_000;
        config.database.first_answer_ms_max = 3_000;
        config.indexing.lease_ms = 30_000;
    });
    result(&app, "build_index", index_arguments(&repository, &id)).await;
    let stopped = stopped.lock().unwrap().clone();
    assert!(!stopped.is_empty(), "at least one process was suspended");
    // Resumed, they find their clients gone and roll back.
    stopped.iter().for_each(|pid| signal(*pid, Signal::CONT));
    wait_for("the resumed processes to be idle", async || {
        let text = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY($1) AND state <> 'idle'";
        let row = sqlx::query(text).bind(&stopped).fetch_one(&mut observer).await.unwrap();
        row.get::<i64, _>(0) == 0
    })
    .await;
    assert_eq!(digest_over(&mut observer, &id).await, digest_over(&mut observer, &uninterrupted).await);
    assert!(embedder.embedded_twice().len() <= 128, "at most one batch is embedded again");
}

/// A child process that is killed on drop, even when the test fails.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads the stdout of a process until it exits.
fn read_stdout(child: &mut Child) -> String {
    std::io::read_to_string(child.stdout.as_mut().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_worker_is_replaced_and_writes_nothing_when_resumed() {
    let disk = SmallDisk::new(900);
    let home = disk.home("");
    // Keeps the cluster running between the runs, so that `observer` stays connected.
    let _cluster = tokio::task::block_in_place(|| cluster(&home));
    let repository = large_repository(12);
    let (uninterrupted, id) = (project("uninterrupted"), project("asleep"));
    let root = repository.root();
    let run = |id: &str| command(&home, &["index", &root, "--project", id]);
    let first = parse_stdout(&run(&uninterrupted).output().unwrap());
    assert_eq!(first["ok"], true, "{first:#}");
    let mut suspended = KilledOnDrop(run(&id).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let pid = i32::try_from(suspended.0.id()).unwrap();
    let schema = ProjectId::parse(&id).unwrap().schema_name();
    let vectors = format!("SELECT count(*) FROM {schema}.vectors");
    let mut observer = connect(&home).await;
    let vector_count = async |observer: &mut PgConnection| -> i64 {
        let row = sqlx::query(AssertSqlSafe(vectors.as_str())).fetch_one(observer).await;
        row.map_or(0, |row| row.get(0))
    };
    wait_for("the first vectors", async || {
        let ended = suspended.0.try_wait().unwrap();
        let found = vector_count(&mut observer).await;
        assert!(
            found > 0 || ended.is_none(),
            "the run ended before its first vectors: {}",
            read_stdout(&mut suspended.0)
        );
        found > 0
    })
    .await;
    signal(pid, Signal::STOP);
    // If it was suspended in the middle of a transaction, its rows stay locked until Postgres ends its connection.
    let mut other = Value::Null;
    wait_for("the rows that it locked to be free", async || {
        other = parse_stdout(&run(&id).output().unwrap());
        other["error"]["retryable"] != true
    })
    .await;
    signal(pid, Signal::CONT);
    assert_eq!(other["ok"], true, "{other:#}");
    assert!(
        other["result"]["report"]["notes"].to_string().contains("lost its database connection"),
        "{other:#}"
    );
    let printed = read_stdout(&mut suspended.0);
    suspended.0.wait().unwrap();
    // It finds that another process did the work, and answers with that one's report.
    let resumed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(resumed["ok"], true, "{resumed:#}");
    assert_eq!(digest_over(&mut observer, &id).await, digest_over(&mut observer, &uninterrupted).await);
}
