//! Full disks: runs stop and say why, searches keep working, and a database that ran out of space recovers.
//!
//! Each test mounts a small in-memory file system of its own, which requires root, as in the CI container.

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
use gate::app::App;
use platform::disk_space;
use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgDatabaseError, PgSeverity};
use sqlx::{Connection, PgConnection};
use upkeep::install::{AssetSelection, install_for_tests, test_home};

use crate::embedded::cluster::processes_of;
use crate::harness::{PROGRAM, Repository, call, error, modules, project, result};
use crate::kills::digest_over;

const MIB: u64 = 1024 * 1024;
/// `server.disk_free_bytes_min` in these tests.
const FREE_BYTES_MIN: u64 = 96 * MIB;

/// A small file system, unmounted on drop.
pub(super) struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    pub(super) fn new(mib: u64) -> Self {
        // Not below the target folder: the database's user must have access to it.
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

    /// A home on the disk, with the machine's installed assets.
    pub(super) fn home(&self, settings: &str) -> PathBuf {
        let selection = AssetSelection { postgres: true, embedding: true };
        install_for_tests(selection, Variant::Auto).expect("runtime assets for the tests");
        let (home, cache) = (self.path().join("home"), test_home().home().to_owned());
        fs::create_dir(&home).unwrap();
        for folder in ["runtime", "models"] {
            std::os::unix::fs::symlink(cache.join(folder), home.join(folder)).unwrap();
        }
        let text = format!(
            "[server]\ndisk_free_bytes_min = {FREE_BYTES_MIN}\n[embedded]\nlinger_ms = 300\nshared_buffers_mb = 16\n\
             maintenance_work_mem_mb = 32\nconnections_max = 40\n[database]\nacquire_timeout_ms = 20000\n\
             [indexing]\nlease_ms = 3000\n{settings}"
        );
        fs::write(home.join("config.toml"), text).unwrap();
        home
    }

    fn free_bytes(&self) -> u64 {
        disk_space::free_bytes(self.path()).unwrap()
    }

    /// Fills the disk until only `leave` bytes are free; `None` frees everything.
    fn fill(&self, leave: Option<u64>) {
        let filler = self.path().join("filler");
        let _ = fs::remove_file(&filler);
        if let Some(leave) = leave {
            self.fill_to(leave);
        }
    }

    /// Fills the space that was freed for the database meanwhile.
    fn fill_again(&self) {
        self.fill_to(0);
    }

    fn fill_to(&self, leave: u64) {
        let mut file = File::options().create(true).append(true).open(self.path().join("filler")).unwrap();
        while self.free_bytes() > leave {
            let block = (self.free_bytes() - leave).min(MIB);
            if std::io::Write::write_all(&mut file, &vec![b'x'; usize::try_from(block).unwrap()]).is_err() {
                // Another process took the last bytes.
                break;
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazy, because the database may still run; it stops once its directory is gone.
        let _ = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
    }
}

/// An application over a home, with the stub embedder.
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
    let app = App::new(config, layout, Arc::new(SystemClock), PROGRAM.into(), modules());
    Arc::new(app.with_embedder(embedder))
}

/// Connection options of the home's database, read from its pid file.
fn connect_options(home: &Path) -> PgConnectOptions {
    let file = fs::read_to_string(home.join("postgres/data/postmaster.pid")).unwrap();
    let lines: Vec<&str> = file.lines().collect();
    PgConnectOptions::new_without_pgpass()
        .socket(lines[4])
        .port(lines[3].parse().unwrap())
        .username("postgres")
        .database("pairofcleats")
}

pub(crate) async fn connect(home: &Path) -> PgConnection {
    PgConnection::connect_with(&connect_options(home)).await.unwrap()
}

/// A repository with this many files; each hundred make a few hundred kilobytes of rows.
pub(super) fn large_repository(files: usize) -> Repository {
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

pub(super) async fn wait_for(condition: &str, mut reached: impl AsyncFnMut() -> bool) {
    for _ in 0..1200 {
        if reached().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("timed out waiting for: {condition}");
}

/// A task that searches repeatedly until it is stopped, and counts answers and failures.
struct SearchLoop {
    stop: Arc<AtomicBool>,
    answer_count: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<Vec<Value>>,
}

impl SearchLoop {
    fn start(app: &Arc<App>, project: &str) -> Self {
        let (stop, answer_count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (app, project, stopped, count) =
            (Arc::clone(app), project.to_owned(), Arc::clone(&stop), Arc::clone(&answer_count));
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
        Self { stop, answer_count, task }
    }

    async fn stop_and_count(self) -> (u64, Vec<Value>) {
        self.stop.store(true, Ordering::Release);
        let failures = self.task.await.unwrap();
        (self.answer_count.load(Ordering::Relaxed), failures)
    }
}

fn lighthouse_repository() -> Repository {
    Repository::new(&[("light.py", "def lighthouse(lamp):\n    return lamp.turn()\n")])
}

fn index_arguments(repository: &Repository, project: &str) -> Value {
    json!({ "repoPath": repository.root(), "project_id": project })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_pauses_a_run_but_no_search_and_the_run_resumes_by_itself() {
    let disk = SmallDisk::new(420);
    let home = disk.home("batch_files = 20\n");
    let app = app_over(&home, |_| {});
    app.start_background();
    let (indexed, paused, uninterrupted) = (project("before"), project("stopped"), project("uninterrupted"));
    let (small_repository, repository) = (lighthouse_repository(), large_repository(0));
    result(&app, "build_index", index_arguments(&small_repository, &indexed)).await;
    assert!(home.join("postgres/data").is_dir(), "the database is on the small disk");
    // The project exists before the disk is full, so that the run stops while it writes files.
    result(&app, "build_index", index_arguments(&repository, &paused)).await;
    grow(&repository, 300);
    result(&app, "build_index", index_arguments(&repository, &uninterrupted)).await;

    let searches = SearchLoop::start(&app, &indexed);
    disk.fill(Some(FREE_BYTES_MIN + MIB));
    let fault = error(&app, "build_index", index_arguments(&repository, &paused)).await;
    assert_eq!(
        (&fault["code"], &fault["retryable"]),
        (&json!("STORAGE_UNAVAILABLE"), &json!(true)),
        "{fault:#}"
    );
    let message = fault["message"].as_str().unwrap();
    assert!(message.contains("MiB are free") && message.contains("96 MiB are needed"), "{fault:#}");
    assert!(message.contains("waits in the queue"), "{fault:#}");
    assert!(fault["hint"].as_str().unwrap().contains("server.disk_free_bytes_min"), "{fault:#}");
    assert_eq!(fault["details"]["neededBytes"], FREE_BYTES_MIN, "{fault:#}");

    let status = result(&app, "index_status", json!({ "project_id": paused })).await;
    let job = &status["jobs"][0];
    assert_eq!(job["state"], "queued", "{status:#}");
    assert!(job["note"].as_str().unwrap().contains("disk is full"), "{status:#}");
    let files = status["files"].as_u64().unwrap();
    assert!((1..301).contains(&files), "the run stopped midway: {files} files");
    // Committed files are found; a new run is refused at once.
    let found = result(&app, "search", json!({ "query": "crane lift cargo", "project_id": paused })).await;
    assert!(!found["hits"].as_array().unwrap().is_empty(), "{found:#}");
    let second_attempt = error(&app, "build_index", index_arguments(&repository, &paused)).await;
    assert!(second_attempt["message"].as_str().unwrap().contains("MiB are free"), "{second_attempt:#}");
    let other = error(&app, "build_index", index_arguments(&small_repository, &project("other"))).await;
    assert_eq!(other["code"], "STORAGE_UNAVAILABLE", "{other:#}");

    disk.fill(None);
    let state = async || {
        let status = result(&app, "index_status", json!({ "project_id": paused })).await;
        status["jobs"][0].clone()
    };
    wait_for("the run to resume", async || state().await["state"] == "succeeded").await;
    let (answer_count, failures) = searches.stop_and_count().await;
    assert!(failures.is_empty() && answer_count > 10, "{answer_count} answers, {failures:#?}");
    let report = state().await["result"].to_string();
    let mut connection = connect(&home).await;
    let row: (i32, String) = sqlx::query_as(
        "SELECT attempt, result->>'notes' FROM pairofcleats.jobs WHERE project_id = $1 \
         ORDER BY created_at DESC LIMIT 1",
    )
    .bind(&paused)
    .fetch_one(&mut connection)
    .await
    .unwrap();
    assert!(row.0 == 1 && row.1.contains("disk is full"), "{row:?} {report}");
    assert_eq!(
        digest_over(&mut connection, &paused).await,
        digest_over(&mut connection, &uninterrupted).await
    );
}

/// Writes to the write-ahead log until the server fails for lack of space.
async fn write_wal_until_it_fails(home: &Path) -> sqlx::Error {
    let mut connection = connect(home).await;
    for _ in 0..2000 {
        let text = "SELECT pg_logical_emit_message(false, 'test', repeat('x', 1000000))";
        if let Err(error) = sqlx::query(text).execute(&mut connection).await {
            return error;
        }
    }
    panic!("the write-ahead log never ran out of space");
}

fn run_program(home: &Path, arguments: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(arguments)
        .arg("--json")
        .env("PAIROFCLEATS_HOME", home)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_disk_space_recovers_with_the_space_of_the_spare_file() {
    let disk = SmallDisk::new(420);
    let home = disk.home("");
    let spare = home.join("postgres/spare");
    let (indexed, repository) = (project("before"), lighthouse_repository());
    let app = app_over(&home, |_| {});
    app.start_background();
    result(&app, "build_index", index_arguments(&repository, &indexed)).await;
    wait_for("the spare file", async || spare.exists()).await;

    disk.fill(Some(0));
    wait_for("the first part of the spare file to be freed", async || {
        fs::metadata(&spare).unwrap().len() < 64 * MIB
    })
    .await;
    disk.fill_again();
    let broken = write_wal_until_it_fails(&home).await;
    let severity = broken.as_database_error().map(|error| error.downcast_ref::<PgDatabaseError>().severity());
    assert!(
        severity.is_none_or(|severity| severity == PgSeverity::Panic),
        "the server must have crashed: {broken}"
    );
    let search = async || call(&app, "search", json!({ "query": "lighthouse", "project_id": indexed })).await;
    wait_for("a search", async || search().await["ok"] == true).await;
    assert!(!spare.exists(), "the spare file was freed for the server");
    for _ in 0..20 {
        let answer = search().await;
        assert_eq!(answer["result"]["hits"][0]["file"], "light.py", "{answer:#}");
    }
    for (tool, arguments) in [("check_status", json!({})), ("index_status", json!({ "project_id": indexed }))]
    {
        let answer = call(&app, tool, arguments).await;
        assert_eq!(answer["ok"], true, "{tool}: {answer:#}");
    }
    let refused = error(&app, "build_index", index_arguments(&repository, &indexed)).await;
    assert!(refused["message"].as_str().unwrap().contains("MiB are free"), "{refused:#}");

    disk.fill(None);
    wait_for("a new spare file", async || spare.exists()).await;
    repository.write("new.py", "def foghorn():\n    return 'loud'\n");
    result(&app, "build_index", index_arguments(&repository, &indexed)).await;
    let found = result(&app, "search", json!({ "query": "foghorn", "project_id": indexed })).await;
    assert_eq!(found["hits"][0]["file"], "new.py", "{found:#}");

    // Also from a cold start: no server runs, the disk is full, and a client searches.
    app.shutdown.cancel();
    app.wait_stopped().await;
    app.store().await.unwrap().database().close().await;
    drop(app);
    let cluster = home.join("postgres");
    wait_for("the database to stop", async || processes_of(&cluster).is_empty()).await;
    disk.fill(Some(0));
    let output = run_program(&home, &["search", "foghorn", "--project", &indexed]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && printed.contains("new.py"),
        "{printed} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!spare.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_write_files_check_disk_space_and_leave_no_partial_files() {
    let disk = SmallDisk::new(420);
    let home = disk.home("");
    let (source, repository) = (project("files"), large_repository(20));
    let app = app_over(&home, |_| {});
    result(&app, "build_index", index_arguments(&repository, &source)).await;
    let archive = disk.path().join("archive.zip");
    let archive = archive.to_str().unwrap();
    let export = |home: &Path| run_program(home, &["projects", "export", &source, archive]);
    disk.fill(Some(FREE_BYTES_MIN - MIB));
    for (command, output) in [
        ("export", export(&home)),
        (
            "sqlite",
            run_program(
                &home,
                &["call", "build_sqlite_index", "--args", &json!({ "project_id": source }).to_string()],
            ),
        ),
    ] {
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(printed["error"]["code"], "STORAGE_UNAVAILABLE", "{command}: {printed:#}");
        assert!(
            printed["error"]["hint"].as_str().unwrap().contains("disk_free_bytes_min"),
            "{command}: {printed:#}"
        );
    }
    assert!(!Path::new(archive).exists());

    disk.fill(None);
    assert!(export(&home).status.success());
    disk.fill(Some(FREE_BYTES_MIN - MIB));
    let copy = project("copy");
    let output = run_program(&home, &["projects", "import", archive, "--project", &copy]);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["error"]["code"], "STORAGE_UNAVAILABLE", "{printed:#}");
    let triage =
        json!({ "source": "manual", "payload": [{ "stableKey": "g", "title": "t" }], "project_id": source });
    let refused = error(&app, "triage_ingest", triage).await;
    assert_eq!(refused["code"], "STORAGE_UNAVAILABLE", "{refused:#}");

    // Commands that free space are never refused.
    let freed = run_program(&home, &["projects", "delete", &source, "--yes"]);
    assert!(freed.status.success(), "{}", String::from_utf8_lossy(&freed.stdout));
    disk.fill(None);
    assert!(run_program(&home, &["projects", "import", archive, "--project", &copy]).status.success());
}
