//! Starts what the tests need: embedded Postgres, the application, repositories on disk.
//!
//! All tests of one process share one cluster in a throw-away home, and each test works in its own projects.
//! Runtime assets are installed once per machine, into the cache folder that `test_home` names, by the same code that
//! `pairofcleats bootstrap` runs.

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use contract::Refusal;
use contract::clock::{Clock, SystemClock};
use contract::config::{self, Config, Layout, Overrides, Variant};
use embedding::{Embedder, StubEmbedder};
use gate::app::App;
use gate::module::Modules;
use gate::tools::{self, Caller, Request, Surface};
use serde_json::Value;
use store::postgres::embedded::{self, EmbeddedOptions, EmbeddedServer};
use upkeep::install::{AssetSelection, install_for_tests, test_home};

use crate::modules::MODULES;

/// The executable under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_pairofcleats");

/// Copies a program to run the copy. Another process does so: a program cannot be run while a process has it open for writing, and a
/// child that another test starts at that moment would inherit our own file.
pub(crate) fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().unwrap().success());
}

/// A home with installed assets and its own embedded cluster, shared by the tests of this process.
pub(crate) fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| new_home("shared"))
}

/// Creates a home below the target folder that links to the machine's installed assets.
pub(crate) fn new_home(name: &str) -> PathBuf {
    let cache = test_home().home().to_owned();
    install_for_tests(AssetSelection { postgres: true, embedding: true }, Variant::Auto)
        .expect("runtime assets for the tests");
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("home-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("config.toml"), TEST_CONFIG).unwrap();
    for folder in ["runtime", "models"] {
        std::os::unix::fs::symlink(cache.join(folder), home.join(folder)).unwrap();
    }
    home
}

/// A pseudo-random generator with a seed, so that a run can be repeated.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.next() % sides
    }

    /// A vector of length 1.
    pub(crate) fn unit_vector(&mut self, dimensions: usize) -> Vec<f32> {
        let components: Vec<f32> = (0..dimensions).map(|_| self.roll(2001) as f32 / 1000.0 - 1.0).collect();
        let length = components.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::EPSILON);
        components.iter().map(|x| x / length).collect()
    }
}

/// Enough connections for many tests on one cluster, and short leases, so that dead processes are noticed soon. Servers of these tests
/// leave launch runs alone: the site of a run is in the settings of one test.
const TEST_CONFIG: &str = "[embedded]\nlinger_ms = 500\nconnections_max = 300\n[indexing]\nlease_ms = 3000\n[instructions]\nmutation = true\n[launch]\nenabled = true\nrunning_max = 0\n";

/// The subsystems of the program.
pub(crate) fn modules() -> &'static Modules {
    MODULES.gate()
}

/// The shared cluster, for tests that access the database directly.
pub(crate) fn server() -> &'static EmbeddedServer {
    static SERVER: OnceLock<EmbeddedServer> = OnceLock::new();
    SERVER.get_or_init(|| cluster(home()))
}

/// Starts the cluster of a home, which runs at least until this value is dropped.
pub(crate) fn cluster(home: &Path) -> EmbeddedServer {
    let selection = AssetSelection { postgres: true, embedding: false };
    let installed = install_for_tests(selection, Variant::Auto).expect("runtime assets for the tests");
    let Config { embedded: settings, server, .. } = settings(home);
    let options = EmbeddedOptions {
        install: installed.postgres.unwrap(),
        cluster: Layout::new(home.to_owned()).cluster(),
        supervisor: PathBuf::from(PROGRAM),
        settings,
        disk_free_bytes_min: server.disk_free_bytes_min,
    };
    embedded::ensure_running(&options).unwrap()
}

pub(crate) fn settings(home: &Path) -> Config {
    let overrides = Overrides { home: Some(home.to_owned()), ..Overrides::default() };
    let mut config = config::load(&overrides).unwrap().0;
    // Several tests serve at a time.
    config.server.port = 0;
    config
}

/// Runs the program with `--json` over another home. Returns its exit status and the printed JSON.
pub(crate) fn run_json(home: &Path, arguments: &[&str]) -> (i32, Value) {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--json").env("PAIROFCLEATS_HOME", home).env_remove("DATABASE_URL");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = serde_json::from_str(&printed)
        .unwrap_or_else(|error| panic!("{error}: {printed} {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap_or(-1), answer)
}

/// An application with the shared home and the stub embedder.
pub(crate) fn app() -> Arc<App> {
    app_with(|_| {})
}

/// As [`app`], with changed settings.
pub(crate) fn app_with(change: impl FnOnce(&mut Config)) -> Arc<App> {
    stub_app_in(home(), change)
}

/// An application over another home, with its database and the stub embedder. Servers of other tests do not share its queue, so
/// a job runs with the settings of its own application.
pub(crate) fn stub_app_in(home: &Path, change: impl FnOnce(&mut Config)) -> Arc<App> {
    let mut config = settings(home);
    change(&mut config);
    Arc::new(bare_app(config, home).with_embedder(Arc::new(StubEmbedder::default())))
}

/// As [`app_with`], with other modules.
pub(crate) fn app_of(modules: &'static Modules, change: impl FnOnce(&mut Config)) -> Arc<App> {
    let mut config = settings(home());
    change(&mut config);
    let layout = Layout::new(home().to_owned());
    let app = App::new(config, layout, Arc::new(SystemClock), PathBuf::from(PROGRAM), modules);
    Arc::new(app.with_embedder(Arc::new(StubEmbedder::default())))
}

/// As [`app`], with another clock.
pub(crate) fn app_at(clock: Arc<dyn Clock>) -> Arc<App> {
    let app =
        App::new(settings(home()), Layout::new(home().to_owned()), clock, PathBuf::from(PROGRAM), modules());
    Arc::new(app.with_embedder(Arc::new(StubEmbedder::default())))
}

/// An application with the shared home and another embedder.
pub(crate) fn app_with_embedder(embedder: Arc<dyn Embedder>) -> Arc<App> {
    Arc::new(bare_app(settings(home()), home()).with_embedder(embedder))
}

/// As [`app_with_embedder`], over a home whose queue no server of another test polls: what the application requests, it executes,
/// with this embedder.
pub(crate) fn app_with_own_queue(embedder: Arc<dyn Embedder>) -> Arc<App> {
    app_with_own_queue_and(embedder, |_| {})
}

/// As [`app_with_own_queue`], with changed settings.
pub(crate) fn app_with_own_queue_and(
    embedder: Arc<dyn Embedder>,
    change: impl FnOnce(&mut Config),
) -> Arc<App> {
    let home = home_without_servers();
    let mut config = settings(home);
    change(&mut config);
    Arc::new(bare_app(config, home).with_embedder(embedder))
}

/// A home like [`home`] over which no test starts a server.
pub(crate) fn home_without_servers() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| new_home("own-queue"))
}

/// A home like [`home`] with few projects, for commands that look at all of them: those of [`home`] are a thousand in the end.
pub(crate) fn home_with_few_projects() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| new_home("few-projects"))
}

/// An application with the shared home and no embedder yet.
pub(crate) fn app_without_embedder(change: impl FnOnce(&mut Config)) -> App {
    app_without_embedder_in(home(), change)
}

/// As [`app_without_embedder`], over another home.
pub(crate) fn app_without_embedder_in(home: &Path, change: impl FnOnce(&mut Config)) -> App {
    let mut config = settings(home);
    change(&mut config);
    bare_app(config, home)
}

/// An application with the shared home and the real model.
pub(crate) fn app_with_model() -> Arc<App> {
    Arc::new(bare_app(settings(home()), home()))
}

/// An application over another home, with its assets and its database.
pub(crate) fn app_in(home: &Path, change: impl FnOnce(&mut Config)) -> Arc<App> {
    let mut config = settings(home);
    change(&mut config);
    Arc::new(bare_app(config, home))
}

/// An application with the shared home, the real model and changed settings.
pub(crate) fn app_with_model_and(change: impl FnOnce(&mut Config)) -> Arc<App> {
    app_in(home(), change)
}

fn bare_app(config: Config, home: &Path) -> App {
    App::new(config, Layout::new(home.to_owned()), Arc::new(SystemClock), PathBuf::from(PROGRAM), modules())
}

/// A new project id that no other test uses. Numbers would make all ids alike, and each would be proposed for the other.
pub(crate) fn project(name: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut hasher = std::hash::DefaultHasher::new();
    (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)).hash(&mut hasher);
    format!("{name}-{:016x}", hasher.finish())
}

/// Calls a tool and returns the envelope as JSON. Panics if the call is refused.
pub(crate) async fn call(app: &Arc<App>, tool: &str, arguments: Value) -> Value {
    match try_call(app, tool, arguments).await {
        Ok(envelope) => envelope,
        Err(refusal) => panic!("{tool} was refused: {}", refusal.to_fault()),
    }
}

/// Calls a tool and returns the envelope as JSON, or the refusal.
pub(crate) async fn try_call(app: &Arc<App>, tool: &str, arguments: Value) -> Result<Value, Refusal> {
    let envelope = tools::call(app, Request::new(tool, arguments, Caller::local(Surface::Cli))).await?;
    let envelope = serde_json::to_value(envelope).unwrap();
    crate::contracts::check_answer(tool, &envelope);
    Ok(envelope)
}

/// Calls a tool that must succeed and returns its result.
pub(crate) async fn result(app: &Arc<App>, tool: &str, arguments: Value) -> Value {
    let mut envelope = call(app, tool, arguments).await;
    assert_eq!(envelope["ok"], true, "{tool}: {envelope:#}");
    envelope["result"].take()
}

/// Calls a tool that must fail and returns the error.
pub(crate) async fn error(app: &Arc<App>, tool: &str, arguments: Value) -> Value {
    let mut envelope = call(app, tool, arguments).await;
    assert_eq!(envelope["ok"], false, "{tool}: {envelope:#}");
    envelope["error"].take()
}

/// An HTTP client. The first call installs the cryptography that every reqwest client of this process needs.
pub(crate) fn http() -> reqwest::Client {
    // reqwest is built without a cryptography provider. Later calls find it installed, which is an error that does not matter.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

/// Runs git in a repository as Ada, independent of the user's configuration.
pub(crate) fn git(repository: &Path, arguments: &[&str]) {
    git_output(repository, arguments);
}

/// As [`git`]; returns what it prints.
pub(crate) fn git_output(repository: &Path, arguments: &[&str]) -> String {
    git_as(repository, ("Ada", None), arguments)
}

/// Makes a folder a git repository whose first commit, by Ada, has all its files.
pub(crate) fn commit_all(folder: &Path) {
    git(folder, &["init", "--quiet"]);
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--message", "All files"]);
}

/// Runs git as the author `name`, at a date if one is given; returns its output.
pub(crate) fn git_as(repository: &Path, (name, date): (&str, Option<&str>), arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(repository).args(["-c", "commit.gpgSign=false"]).args(arguments);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), name).env(format!("GIT_{role}_EMAIL"), "ada@example.org");
        command.envs(date.map(|date| (format!("GIT_{role}_DATE"), date)));
    }
    let output = command.output().expect("these tests need the `git` program on the PATH");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A repository on disk, removed at the end of the test.
pub(crate) struct Repository(tempfile::TempDir);

impl Repository {
    /// Creates a repository with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            repository.write(path, text);
        }
        repository
    }

    /// Writes one file.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Removes one file.
    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.path().join(path)).unwrap();
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The canonical root, as a client sends it.
    pub(crate) fn root(&self) -> String {
        self.path().canonicalize().unwrap().to_string_lossy().into_owned()
    }
}
