//! The real thing, started for tests: embedded Postgres, the application, repositories on disk.
//!
//! All tests of one process share one cluster in a throw-away home; each test works in projects of
//! its own. Runtime assets are installed once a machine, into the cache folder that
//! `assets::test_home` names, by the same code that `pairofcleats bootstrap` runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use contract::Refusal;
use contract::clock::{Clock, SystemClock};
use contract::config::{self, Config, Layout, Overrides, Variant};
use embedding::{Embedder, StubEmbedder};
use pairofcleats::app::App;
use pairofcleats::tools::{self, Caller, Request, Surface};
use serde_json::Value;
use store::postgres::embedded::{self, EmbeddedOptions, EmbeddedServer};
use upkeep::assets::{self, Wanted};

/// The executable under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_pairofcleats");

/// A home with installed assets and an embedded cluster of its own, shared by the tests of this process.
pub(crate) fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| new_home("shared"))
}

/// A fresh home below the target folder whose assets are links to the machine's installed ones.
pub(crate) fn new_home(name: &str) -> PathBuf {
    let cache = assets::test_home().home().to_owned();
    assets::install_for_tests(Wanted { postgres: true, embedding: true }, Variant::Auto)
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

/// Random numbers, the same in each run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Any number.
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
        let raw: Vec<f32> = (0..dimensions).map(|_| self.roll(2001) as f32 / 1000.0 - 1.0).collect();
        let length = raw.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::EPSILON);
        raw.iter().map(|x| x / length).collect()
    }
}

/// Many tests share one cluster; waiting for a dead process to be declared dead should be short.
const TEST_CONFIG: &str = "[embedded]\nlinger_ms = 500\nconnections_max = 300\n[indexing]\nlease_ms = 3000\n";

/// The shared cluster itself, for tests below the application.
pub(crate) fn server() -> &'static EmbeddedServer {
    static SERVER: OnceLock<EmbeddedServer> = OnceLock::new();
    SERVER.get_or_init(|| cluster(home()))
}

/// The cluster of a home, which runs at least as long as this value is there.
pub(crate) fn cluster(home: &Path) -> EmbeddedServer {
    let wanted = Wanted { postgres: true, embedding: false };
    let installed = assets::install_for_tests(wanted, Variant::Auto).expect("runtime assets for the tests");
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

fn settings(home: &Path) -> Config {
    let overrides = Overrides { home: Some(home.to_owned()), ..Overrides::default() };
    config::load(&overrides).unwrap().0
}

/// Runs the program over a home of the test's own: its exit status, and the JSON that it prints.
pub(crate) fn run_json(home: &Path, arguments: &[&str]) -> (i32, Value) {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--json").env("PAIROFCLEATS_HOME", home).env_remove("DATABASE_URL");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = serde_json::from_str(&said)
        .unwrap_or_else(|error| panic!("{error}: {said} {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap_or(-1), answer)
}

/// An application over the shared home, with the stub embedder.
pub(crate) fn app() -> Arc<App> {
    app_with(|_| {})
}

/// The same with settings of its own.
pub(crate) fn app_with(change: impl FnOnce(&mut Config)) -> Arc<App> {
    let mut config = settings(home());
    change(&mut config);
    Arc::new(bare_app(config, home()).with_embedder(Arc::new(StubEmbedder::default())))
}

/// The same with a clock of its own.
pub(crate) fn app_at(clock: Arc<dyn Clock>) -> Arc<App> {
    let app = App::new(settings(home()), Layout::new(home().to_owned()), clock, PathBuf::from(PROGRAM));
    Arc::new(app.with_embedder(Arc::new(StubEmbedder::default())))
}

/// An application over the shared home with an embedder of the test's own.
pub(crate) fn app_with_embedder(embedder: Arc<dyn Embedder>) -> Arc<App> {
    Arc::new(bare_app(settings(home()), home()).with_embedder(embedder))
}

/// An application over the shared home, still without a model.
pub(crate) fn app_of(change: impl FnOnce(&mut Config)) -> App {
    let mut config = settings(home());
    change(&mut config);
    bare_app(config, home())
}

/// An application over the shared home with the real model.
pub(crate) fn app_with_model() -> Arc<App> {
    Arc::new(bare_app(settings(home()), home()))
}

/// An application over a home of the test's own, with its assets and its database.
pub(crate) fn app_in(home: &Path, change: impl FnOnce(&mut Config)) -> Arc<App> {
    let mut config = settings(home);
    change(&mut config);
    Arc::new(bare_app(config, home))
}

/// The same over the shared home, with the real model.
pub(crate) fn app_with_model_and(change: impl FnOnce(&mut Config)) -> Arc<App> {
    app_in(home(), change)
}

fn bare_app(config: Config, home: &Path) -> App {
    App::new(config, Layout::new(home.to_owned()), Arc::new(SystemClock), PathBuf::from(PROGRAM))
}

/// A project id that no other test uses.
pub(crate) fn project(name: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Calls a tool and gives the envelope as JSON.
pub(crate) async fn call(app: &Arc<App>, tool: &str, arguments: Value) -> Value {
    match try_call(app, tool, arguments).await {
        Ok(envelope) => envelope,
        Err(refusal) => panic!("{tool} was refused: {}", refusal.to_fault()),
    }
}

/// Calls a tool; a refusal is an error.
pub(crate) async fn try_call(app: &Arc<App>, tool: &str, arguments: Value) -> Result<Value, Refusal> {
    let envelope = tools::call(app, Request::new(tool, arguments, Caller::local(Surface::Cli))).await?;
    let envelope = serde_json::to_value(envelope).unwrap();
    crate::contracts::check_answer(tool, &envelope);
    Ok(envelope)
}

/// Calls a tool that must succeed and gives its result.
pub(crate) async fn result(app: &Arc<App>, tool: &str, arguments: Value) -> Value {
    let mut envelope = call(app, tool, arguments).await;
    assert_eq!(envelope["ok"], true, "{tool}: {envelope:#}");
    envelope["result"].take()
}

/// Calls a tool that must fail and gives the error.
pub(crate) async fn error(app: &Arc<App>, tool: &str, arguments: Value) -> Value {
    let mut envelope = call(app, tool, arguments).await;
    assert_eq!(envelope["ok"], false, "{tool}: {envelope:#}");
    envelope["error"].take()
}

/// An HTTP client; every other one of this process works from then on, too.
pub(crate) fn http() -> reqwest::Client {
    // reqwest is built without cryptography of its own. A second call finds it installed.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

/// A repository on disk, removed at the end of the test.
pub(crate) struct Repository(tempfile::TempDir);

impl Repository {
    /// A repository with these files.
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

    /// Its root.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Its root as the text a client sends.
    pub(crate) fn root(&self) -> String {
        self.path().canonicalize().unwrap().to_string_lossy().into_owned()
    }
}
