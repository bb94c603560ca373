//! Databases and folders that cannot be used as they should: read-only, closed, out of connections, suspended.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

use contract::ProjectId;
use contract::config::Config;
use pairofcleats::app::App;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::disk::{SmallDisk, app_over, app_with, large, raw, wait_for};
use super::network::Watched;
use super::proxy::Proxy;
use crate::embedded::cluster::processes_of;
use crate::harness::{PROGRAM, Repository, call, cluster, error, project, result};
use crate::kills::digest_over;

/// The user that nothing belongs to.
const NOBODY: u32 = 65534;

/// The program over a home.
fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--json").env("PAIROFCLEATS_HOME", home).stdin(Stdio::null());
    command
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        panic!("{error}: {said:?}")
    })
}

fn lighthouse() -> Repository {
    Repository::new(&[("light.py", "def lighthouse(lamp):\n    return lamp.turn()\n")])
}

fn index(repository: &Repository, project: &str) -> Value {
    json!({ "repoPath": repository.root(), "project_id": project })
}

async fn close(app: Arc<App>, home: &Path) {
    app.store().await.unwrap().database().close().await;
    drop(app);
    let cluster = home.join("postgres");
    wait_for("the database to stop", async || processes_of(&cluster).is_empty()).await;
}

fn remount(disk: &SmallDisk, how: &str) {
    let status = Command::new("mount").args(["-o", how]).arg(disk.path()).status().unwrap();
    assert!(status.success(), "{how}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_home_says_so_and_searches_an_external_database() {
    let disk = SmallDisk::new(200);
    let home = disk.home("");
    let (id, repository) = (project("readonly"), lighthouse());
    let app = app_over(&home, |_| {});
    result(&app, "build_index", index(&repository, &id)).await;
    close(app, &home).await;
    remount(&disk, "remount,ro");

    // The embedded database cannot run there.
    let said = answer(&command(&home, &["search", "lighthouse", "--project", &id]).output().unwrap());
    assert_eq!(said["error"]["code"], "STORAGE_UNAVAILABLE", "{said:#}");
    assert!(said["error"]["hint"].as_str().unwrap().contains("can be written"), "{said:#}");

    // Another one can be asked and written to; what belongs below the home says why it cannot.
    let proxy = Proxy::new().await;
    let app = app_over(&home, |config| config.database.url = Some(proxy.url()));
    result(&app, "build_index", index(&repository, &id)).await;
    let found = result(&app, "search", json!({ "query": "lighthouse", "project_id": id })).await;
    assert_eq!(found["hits"][0]["file"], "light.py", "{found:#}");
    let refused = error(&app, "build_sqlite_index", json!({ "project_id": id })).await;
    assert!(refused["message"].as_str().unwrap().contains("read-only"), "{refused:#}");
    assert!(refused["hint"].is_string(), "{refused:#}");
    assert_ne!(refused["code"], "INTERNAL", "{refused:#}");
}

/// A folder with a copy of the program that everybody can run, and a home of the user.
struct Unprivileged {
    folder: tempfile::TempDir,
}

impl Unprivileged {
    fn new() -> Self {
        assert!(rustix::process::geteuid().is_root(), "this test acts as two users, so it must run as root");
        let folder = tempfile::Builder::new().prefix("nobody-test-").tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::copy(PROGRAM, folder.path().join("program")).unwrap();
        let own = Self { folder };
        let home = own.home();
        fs::create_dir(&home).unwrap();
        let cache = upkeep::assets::test_home().home().to_owned();
        for folder in ["runtime", "models"] {
            std::os::unix::fs::symlink(cache.join(folder), home.join(folder)).unwrap();
        }
        chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::write(home.join("config.toml"), "[embedded]\nlinger_ms = 200\nshared_buffers_mb = 16\n").unwrap();
        own
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
fn an_unprivileged_user_is_told_what_may_not_be_read() {
    let nobody = Unprivileged::new();
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
        answer(&nobody.run(&["call", "build_index", "--args", &arguments]))
    };
    let search = |what: &str| nobody.run(&["search", what, "--project", "mine"]);

    // A folder of the repository: the rest is indexed, and the report says what is missing.
    let built = build(&root);
    assert_eq!(built["result"]["report"]["files"], 1, "{built:#}");
    assert!(
        built["result"]["report"]["notes"].to_string().contains("`closed` could not be read"),
        "{built:#}"
    );
    // The repository itself.
    let refused = build(&closed.to_string_lossy());
    assert_eq!(refused["error"]["code"], "FORBIDDEN", "{refused:#}");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("read permission"), "{refused:#}");
    // A home that cannot be written is enough to search.
    fs::set_permissions(nobody.home(), fs::Permissions::from_mode(0o555)).unwrap();
    let found = answer(&search("lighthouse"));
    assert_eq!(found["result"]["hits"][0]["file"], "light.py", "{found:#}");
    // A home of somebody else is not taken for an empty one.
    chown(nobody.home(), Some(0), Some(0)).unwrap();
    fs::set_permissions(nobody.home(), fs::Permissions::from_mode(0o700)).unwrap();
    let output = search("lighthouse");
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success() && said.contains("cannot be read"), "{said}");
    assert!(said.contains("PAIROFCLEATS_HOME") && !said.contains("bootstrap"), "{said}");
    // Neither are settings that cannot be read: what they forbid would be allowed.
    chown(nobody.home(), Some(NOBODY), Some(NOBODY)).unwrap();
    fs::set_permissions(nobody.home().join("config.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    let output = search("lighthouse");
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && said.contains("config.toml cannot be read"), "{said}");
}

/// How the database of a home is reached as one that its operator brought.
async fn url(home: &Path) -> String {
    let mut raw = raw(home).await;
    let row =
        sqlx::query("SELECT current_setting('unix_socket_directories')").fetch_one(&mut raw).await.unwrap();
    let folder: String = row.get(0);
    format!("postgres:///pairofcleats?user=postgres&host={}", folder.replace('/', "%2F"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_whose_connections_others_took_says_so_and_serves_again() {
    let disk = SmallDisk::new(200);
    let home = disk.home("");
    let (id, repository) = (project("taken"), lighthouse());
    let own = app_over(&home, |_| {});
    result(&own, "build_index", index(&repository, &id)).await;
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
    // What has connections goes on with them.
    drop(taken.pop());
    let ask = json!({ "query": "lighthouse", "project_id": id });
    for (what, app) in [("one that never reached it", &cold), ("one that did", &warm)] {
        while let Ok(connection) = PgConnection::connect_with(&options).await {
            taken.push(connection);
        }
        let fault = error(app, "build_index", index(&repository, &id)).await;
        assert_eq!(fault["code"], "STORAGE_UNAVAILABLE", "{what}: {fault:#}");
        assert_eq!(fault["retryable"], true, "{what}: {fault:#}");
        assert!(fault["message"].as_str().unwrap().contains("no connection to spare"), "{what}: {fault:#}");
        assert!(fault["hint"].as_str().unwrap().contains("max_connections"), "{what}: {fault:#}");
    }
    drop(taken);
    for app in [&cold, &warm] {
        wait_for("an answer", async || call(app, "search", ask.clone()).await["ok"] == true).await;
        result(app, "build_index", index(&repository, &id)).await;
    }
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn suspended_database_processes_cost_a_run_their_connections_and_nothing_else() {
    let disk = SmallDisk::new(400);
    let home = disk.home("");
    let repository = large(40);
    let (whole, id) = (project("whole"), project("suspended"));
    let own = app_over(&home, |_| {});
    result(&own, "build_index", index(&repository, &whole)).await;
    let url = url(&home).await;
    let mut watching = raw(&home).await;
    let (stopping, runtime) = (url.parse::<PgConnectOptions>().unwrap(), tokio::runtime::Handle::current());
    let stopped = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&stopped);
    let embedder = Watched::new(move |call| {
        if call != 3 {
            return;
        }
        let found = runtime.block_on(async {
            let mut raw = PgConnection::connect_with(&stopping).await.unwrap();
            let text = "SELECT pid FROM pg_stat_activity WHERE application_name = 'pairofcleats write' AND client_port = -1";
            let rows = sqlx::query(text).fetch_all(&mut raw).await.unwrap();
            rows.iter().map(|row| row.get::<i32, _>(0)).collect::<Vec<_>>()
        });
        found.iter().for_each(|pid| signal(*pid, Signal::STOP));
        seen.lock().unwrap().extend(found);
    });
    let app = app_with(&home, embedder.clone(), |config| {
        config.database.url = Some(url);
        config.database.statement_timeout_ms = 2_000;
        config.database.answer_grace_ms = 500;
        config.database.first_answer_ms_max = 500;
        config.indexing.lease_ms = 30_000;
    });
    result(&app, "build_index", index(&repository, &id)).await;
    let stopped = stopped.lock().unwrap().clone();
    assert!(!stopped.is_empty(), "something was suspended");
    // They wake up, find that nobody wants what they had begun, and change nothing.
    stopped.iter().for_each(|pid| signal(*pid, Signal::CONT));
    wait_for("the woken processes to have nothing open", async || {
        let text = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY($1) AND state <> 'idle'";
        let row = sqlx::query(text).bind(&stopped).fetch_one(&mut watching).await.unwrap();
        row.get::<i64, _>(0) == 0
    })
    .await;
    assert_eq!(digest_over(&mut watching, &id).await, digest_over(&mut watching, &whole).await);
    assert!(embedder.embedded_twice().len() <= 128, "a page at most is embedded again");
}

/// A process that does not outlive its test, also when that fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a process prints until its end.
fn words(of: &mut Child) -> String {
    std::io::read_to_string(of.stdout.as_mut().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_worker_is_replaced_and_writes_nothing_when_it_wakes() {
    let disk = SmallDisk::new(900);
    let home = disk.home("");
    // The cluster stays between the runs, or whoever watches loses it.
    let _cluster = tokio::task::block_in_place(|| cluster(&home));
    let repository = large(12);
    let (whole, id) = (project("whole"), project("asleep"));
    let root = repository.root();
    let run = |id: &str| command(&home, &["index", &root, "--project", id]);
    let first = answer(&run(&whole).output().unwrap());
    assert_eq!(first["ok"], true, "{first:#}");
    let mut sleeper = Ended(run(&id).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let pid = i32::try_from(sleeper.0.id()).unwrap();
    let schema = ProjectId::parse(&id).unwrap().schema_name();
    let vectors = format!("SELECT count(*) FROM {schema}.vectors");
    let mut watching = raw(&home).await;
    let counted = async |watching: &mut PgConnection| -> i64 {
        let row = sqlx::query(AssertSqlSafe(vectors.as_str())).fetch_one(watching).await;
        row.map_or(0, |row| row.get(0))
    };
    wait_for("the first vectors", async || {
        let ended = sleeper.0.try_wait().unwrap();
        let found = counted(&mut watching).await;
        assert!(found > 0 || ended.is_none(), "it ended before them: {}", words(&mut sleeper.0));
        found > 0
    })
    .await;
    signal(pid, Signal::STOP);
    let other = answer(&run(&id).output().unwrap());
    signal(pid, Signal::CONT);
    assert_eq!(other["ok"], true, "{other:#}");
    assert!(other["result"]["report"]["notes"].to_string().contains("was cut off"), "{other:#}");
    let said = words(&mut sleeper.0);
    sleeper.0.wait().unwrap();
    // It finds that another one did the work, and answers with that one's report.
    let woken: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(woken["ok"], true, "{woken:#}");
    assert_eq!(digest_over(&mut watching, &id).await, digest_over(&mut watching, &whole).await);
}
