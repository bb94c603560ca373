//! Disks that are full: runs stop with their reason, searches go on, and a database that found no room comes back.
//!
//! Each test has a file system of its own, in memory and small, which it mounts: that takes root, as in CI's container.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use contract::clock::SystemClock;
use contract::config::{self, Config, Layout, Overrides, Variant};
use embedding::{Embedder, StubEmbedder};
use pairofcleats::app::App;
use platform::room;
use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgDatabaseError, PgSeverity};
use sqlx::{Connection, PgConnection};
use upkeep::assets::{self, Wanted};

use crate::embedded::cluster::processes_of;
use crate::harness::{PROGRAM, Repository, call, error, project, result};
use crate::kills::digest_over;

const MIB: u64 = 1024 * 1024;
/// What these tests want to stay free.
const LEAST: u64 = 96 * MIB;

/// A file system of the test's own, unmounted at its end.
pub(super) struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    pub(super) fn new(mib: u64) -> Self {
        // Not below the target folder: the database's user has to reach it.
        let folder = tempfile::Builder::new().prefix("disk-test-").tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m,mode=0755"), "tmpfs"])
            .arg(folder.path())
            .output()
            .expect("`mount` starts");
        assert!(
            output.status.success(),
            "this test mounts a small file system, so it must run as root with CAP_SYS_ADMIN: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Self { folder }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A home on it, with the machine's installed assets.
    pub(super) fn home(&self, settings: &str) -> PathBuf {
        let wanted = Wanted { postgres: true, embedding: true };
        assets::install_for_tests(wanted, Variant::Auto).expect("runtime assets for the tests");
        let (home, cache) = (self.path().join("home"), assets::test_home().home().to_owned());
        fs::create_dir(&home).unwrap();
        for folder in ["runtime", "models"] {
            std::os::unix::fs::symlink(cache.join(folder), home.join(folder)).unwrap();
        }
        let text = format!(
            "[server]\ndisk_free_bytes_min = {LEAST}\n[embedded]\nlinger_ms = 300\nshared_buffers_mb = 16\n\
             maintenance_work_mem_mb = 32\nconnections_max = 40\n[database]\nacquire_timeout_ms = 20000\n\
             [indexing]\nlease_ms = 3000\n{settings}"
        );
        fs::write(home.join("config.toml"), text).unwrap();
        home
    }

    fn free(&self) -> u64 {
        room::free(self.path()).unwrap()
    }

    /// Lets `bytes` be free and nothing else; none gives all room back.
    fn fill(&self, leave: Option<u64>) {
        let filler = self.path().join("filler");
        let _ = fs::remove_file(&filler);
        if let Some(leave) = leave {
            self.fill_to(leave);
        }
    }

    /// Takes what was given to the database meanwhile.
    fn fill_more(&self) {
        self.fill_to(0);
    }

    fn fill_to(&self, leave: u64) {
        let mut file = File::options().create(true).append(true).open(self.path().join("filler")).unwrap();
        while self.free() > leave {
            let block = (self.free() - leave).min(MIB);
            if std::io::Write::write_all(&mut file, &vec![b'x'; usize::try_from(block).unwrap()]).is_err() {
                // Somebody else took the last bytes.
                break;
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the database may linger. With its directory gone it ends.
        let _ = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
    }
}

/// A server over a home, with the stub embedder.
pub(super) fn app_over(home: &Path, change: impl FnOnce(&mut Config)) -> Arc<App> {
    app_with(home, Arc::new(StubEmbedder::default()), change)
}

/// The same with another embedder.
pub(super) fn app_with(
    home: &Path,
    embedder: Arc<dyn Embedder>,
    change: impl FnOnce(&mut Config),
) -> Arc<App> {
    let overrides = Overrides { home: Some(home.to_owned()), ..Overrides::default() };
    let (mut config, layout): (Config, Layout) = config::load(&overrides).unwrap();
    change(&mut config);
    let app = App::new(config, layout, Arc::new(SystemClock), PROGRAM.into());
    Arc::new(app.with_embedder(embedder))
}

/// How the home's own database is reached, by what its server says of itself.
fn options(home: &Path) -> PgConnectOptions {
    let file = fs::read_to_string(home.join("postgres/data/postmaster.pid")).unwrap();
    let lines: Vec<&str> = file.lines().collect();
    PgConnectOptions::new_without_pgpass()
        .socket(lines[4])
        .port(lines[3].parse().unwrap())
        .username("postgres")
        .database("pairofcleats")
}

pub(super) async fn raw(home: &Path) -> PgConnection {
    PgConnection::connect_with(&options(home)).await.unwrap()
}

/// A repository of so many files, a few hundred kilobytes of rows each hundred.
pub(super) fn large(files: usize) -> Repository {
    let repository = Repository::new(&[("README.md", "# Harbour\n\nShips and cargo.\n")]);
    grow(&repository, files);
    repository
}

fn grow(repository: &Repository, files: usize) {
    for file in 0..files {
        let text: String = (0..10)
            .map(|n| {
                format!(
                    "def load_{file}_{n}(cargo, crane_{file}):\n    weight = cargo.weight * {n} + {file}\n    \
                     if weight > crane_{file}.limit_{n}:\n        raise ValueError('too heavy {file} {n}')\n    \
                     return crane_{file}.lift(cargo, weight)\n\n"
                )
            })
            .collect();
        repository.write(&format!("port/quay_{file}.py"), &text);
    }
}

pub(super) async fn wait_for(what: &str, mut reached: impl AsyncFnMut() -> bool) {
    for _ in 0..1200 {
        if reached().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("waited in vain for: {what}");
}

/// Searches without a pause until it is stopped, and counts answers and failures.
struct Searching {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<Vec<Value>>,
}

impl Searching {
    fn begin(app: &Arc<App>, project: &str) -> Self {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (app, project, stopped, count) =
            (Arc::clone(app), project.to_owned(), Arc::clone(&stop), Arc::clone(&answered));
        let task = tokio::spawn(async move {
            let mut failures = Vec::new();
            while !stopped.load(Ordering::Acquire) {
                let answer =
                    call(&app, "search", json!({ "query": "lighthouse", "project_id": project })).await;
                if answer["ok"] == true
                    && answer["result"]["hits"].as_array().is_some_and(|hits| !hits.is_empty())
                {
                    count.fetch_add(1, Ordering::Relaxed);
                } else {
                    failures.push(answer);
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            failures
        });
        Self { stop, answered, task }
    }

    async fn end(self) -> (u64, Vec<Value>) {
        self.stop.store(true, Ordering::Release);
        let failures = self.task.await.unwrap();
        (self.answered.load(Ordering::Relaxed), failures)
    }
}

fn small() -> Repository {
    Repository::new(&[("light.py", "def lighthouse(lamp):\n    return lamp.turn()\n")])
}

fn index(repository: &Repository, project: &str) -> Value {
    json!({ "repoPath": repository.root(), "project_id": project })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_stops_a_run_and_no_search_and_the_run_goes_on_by_itself() {
    let disk = SmallDisk::new(420);
    let home = disk.home("batch_files = 20\n");
    let app = app_over(&home, |_| {});
    app.start_background();
    let (before, stopped, whole) = (project("before"), project("stopped"), project("whole"));
    let (first, repository) = (small(), large(0));
    result(&app, "build_index", index(&first, &before)).await;
    assert!(home.join("postgres/data").is_dir(), "the database is on the small disk");
    // What is to come has begun, so that there is something to stop in the middle of.
    result(&app, "build_index", index(&repository, &stopped)).await;
    grow(&repository, 300);
    result(&app, "build_index", index(&repository, &whole)).await;

    let searching = Searching::begin(&app, &before);
    disk.fill(Some(LEAST + MIB));
    let fault = error(&app, "build_index", index(&repository, &stopped)).await;
    assert_eq!(
        (&fault["code"], &fault["retryable"]),
        (&json!("STORAGE_UNAVAILABLE"), &json!(true)),
        "{fault:#}"
    );
    let message = fault["message"].as_str().unwrap();
    assert!(message.contains("MiB are free") && message.contains("96 MiB are needed"), "{fault:#}");
    assert!(message.contains("waits in the queue"), "{fault:#}");
    assert!(fault["hint"].as_str().unwrap().contains("server.disk_free_bytes_min"), "{fault:#}");
    assert_eq!(fault["details"]["neededBytes"], LEAST, "{fault:#}");

    let status = result(&app, "index_status", json!({ "project_id": stopped })).await;
    let job = &status["jobs"][0];
    assert_eq!(job["state"], "queued", "{status:#}");
    assert!(job["note"].as_str().unwrap().contains("want of room"), "{status:#}");
    let files = status["files"].as_u64().unwrap();
    assert!((1..301).contains(&files), "it stopped in the middle: {files} files");
    // What was committed is found, and what is asked for now is refused at once.
    let found = result(&app, "search", json!({ "query": "crane lift cargo", "project_id": stopped })).await;
    assert!(!found["hits"].as_array().unwrap().is_empty(), "{found:#}");
    let again = error(&app, "build_index", index(&repository, &stopped)).await;
    assert!(again["message"].as_str().unwrap().contains("MiB are free"), "{again:#}");
    let other = error(&app, "build_index", index(&first, &project("other"))).await;
    assert_eq!(other["code"], "STORAGE_UNAVAILABLE", "{other:#}");

    disk.fill(None);
    let state = async || {
        let status = result(&app, "index_status", json!({ "project_id": stopped })).await;
        status["jobs"][0].clone()
    };
    wait_for("the server to go on", async || state().await["state"] == "succeeded").await;
    let (answered, failures) = searching.end().await;
    assert!(failures.is_empty() && answered > 10, "{answered} answers, {failures:#?}");
    let report = state().await["result"].to_string();
    let mut raw = raw(&home).await;
    let row: (i32, String) = sqlx::query_as(
        "SELECT attempt, result->>'notes' FROM pairofcleats.jobs WHERE project_id = $1 \
         ORDER BY created_at DESC LIMIT 1",
    )
    .bind(&stopped)
    .fetch_one(&mut raw)
    .await
    .unwrap();
    assert!(row.0 == 1 && row.1.contains("want of room"), "{row:?} {report}");
    assert_eq!(digest_over(&mut raw, &stopped).await, digest_over(&mut raw, &whole).await);
}

/// Writes nothing but log until the server breaks off for want of room.
async fn write_log_until_it_breaks(home: &Path) -> sqlx::Error {
    let mut raw = raw(home).await;
    for _ in 0..2000 {
        let text = "SELECT pg_logical_emit_message(false, 'test', repeat('x', 1000000))";
        if let Err(error) = sqlx::query(text).execute(&mut raw).await {
            return error;
        }
    }
    panic!("the log always had room");
}

fn program(home: &Path, arguments: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(arguments)
        .arg("--json")
        .env("PAIROFCLEATS_HOME", home)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_found_no_room_comes_back_with_the_room_of_the_spare_file() {
    let disk = SmallDisk::new(420);
    let home = disk.home("");
    let spare = home.join("postgres/spare");
    let (before, repository) = (project("before"), small());
    let app = app_over(&home, |_| {});
    app.start_background();
    result(&app, "build_index", index(&repository, &before)).await;
    wait_for("the spare file", async || spare.exists()).await;

    disk.fill(Some(0));
    wait_for("its first part to be given", async || fs::metadata(&spare).unwrap().len() < 64 * MIB).await;
    disk.fill_more();
    let broken = write_log_until_it_breaks(&home).await;
    let severity = broken.as_database_error().map(|error| error.downcast_ref::<PgDatabaseError>().severity());
    assert!(severity.is_none_or(|severity| severity == PgSeverity::Panic), "no mere refusal: {broken}");
    let search = async || call(&app, "search", json!({ "query": "lighthouse", "project_id": before })).await;
    wait_for("a search", async || search().await["ok"] == true).await;
    assert!(!spare.exists(), "its room went to the server");
    for _ in 0..20 {
        let answer = search().await;
        assert_eq!(answer["result"]["hits"][0]["file"], "light.py", "{answer:#}");
    }
    for (tool, arguments) in [("check_status", json!({})), ("index_status", json!({ "project_id": before }))]
    {
        let answer = call(&app, tool, arguments).await;
        assert_eq!(answer["ok"], true, "{tool}: {answer:#}");
    }
    let refused = error(&app, "build_index", index(&repository, &before)).await;
    assert!(refused["message"].as_str().unwrap().contains("MiB are free"), "{refused:#}");

    disk.fill(None);
    wait_for("a new spare file", async || spare.exists()).await;
    repository.write("new.py", "def foghorn():\n    return 'loud'\n");
    result(&app, "build_index", index(&repository, &before)).await;
    let found = result(&app, "search", json!({ "query": "foghorn", "project_id": before })).await;
    assert_eq!(found["hits"][0]["file"], "new.py", "{found:#}");

    // And from a standstill: nothing runs, nothing is free, somebody searches.
    app.shutdown.cancel();
    app.stopped().await;
    app.store().await.unwrap().database().close().await;
    drop(app);
    let cluster = home.join("postgres");
    wait_for("the database to stop", async || processes_of(&cluster).is_empty()).await;
    disk.fill(Some(0));
    let output = program(&home, &["search", "foghorn", "--project", &before]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && said.contains("new.py"),
        "{said} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!spare.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_writes_files_asks_for_room_and_leaves_nothing_half_done() {
    let disk = SmallDisk::new(420);
    let home = disk.home("");
    let (of, repository) = (project("files"), large(20));
    let app = app_over(&home, |_| {});
    result(&app, "build_index", index(&repository, &of)).await;
    let archive = disk.path().join("archive.zip");
    let archive = archive.to_str().unwrap();
    let export = |home: &Path| program(home, &["projects", "export", &of, archive]);
    disk.fill(Some(LEAST - MIB));
    for (what, output) in [
        ("export", export(&home)),
        (
            "sqlite",
            program(
                &home,
                &["call", "build_sqlite_index", "--args", &json!({ "project_id": of }).to_string()],
            ),
        ),
    ] {
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["error"]["code"], "STORAGE_UNAVAILABLE", "{what}: {said:#}");
        assert!(said["error"]["hint"].as_str().unwrap().contains("disk_free_bytes_min"), "{what}: {said:#}");
    }
    assert!(!Path::new(archive).exists());

    disk.fill(None);
    assert!(export(&home).status.success());
    disk.fill(Some(LEAST - MIB));
    let copy = project("copy");
    let output = program(&home, &["projects", "import", archive, "--project", &copy]);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["error"]["code"], "STORAGE_UNAVAILABLE", "{said:#}");
    let triage =
        json!({ "source": "manual", "payload": [{ "stableKey": "g", "title": "t" }], "project_id": of });
    let refused = error(&app, "triage_ingest", triage).await;
    assert_eq!(refused["code"], "STORAGE_UNAVAILABLE", "{refused:#}");

    // What makes room is never refused.
    let freed = program(&home, &["projects", "delete", &of, "--yes"]);
    assert!(freed.status.success(), "{}", String::from_utf8_lossy(&freed.stdout));
    disk.fill(None);
    assert!(program(&home, &["projects", "import", archive, "--project", &copy]).status.success());
}
