//! A throw-away cluster, and functions that inspect its processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use contract::config::Embedded;
use contract::config::Variant;
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{ConnectOptions, Connection, Row};
use store::postgres::embedded::{EmbeddedOptions, EmbeddedServer, ensure_running};
use tempfile::TempDir;
use upkeep::install::{AssetSelection, install_for_tests};

/// Upper bound of every wait; longer means that something is broken.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// The cluster of one test, in a directory that every user can traverse.
pub(crate) struct Cluster {
    pub(crate) home: TempDir,
    pub(crate) options: EmbeddedOptions,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self::in_home(0o711)
    }

    pub(crate) fn in_home(mode: u32) -> Self {
        let home = tempfile::Builder::new().prefix("embedded-test-").tempdir().unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(mode)).unwrap();
        let options = EmbeddedOptions {
            install: install(),
            cluster: home.path().join("postgres"),
            supervisor: env!("CARGO_BIN_EXE_pairofcleats").into(),
            settings: Embedded {
                run_as: None,
                linger_ms: 300,
                start_timeout_ms: 60_000,
                shared_buffers_mb: 16,
                maintenance_work_mem_mb: 32,
                connections_max: 40,
            },
            disk_free_bytes_min: 64 << 20,
        };
        Self { home, options }
    }

    pub(crate) fn start(&self) -> EmbeddedServer {
        ensure_running(&self.options).unwrap()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.options.cluster.join("data")
    }

    /// The processes that name the cluster on their command line or work in it; zombies do neither.
    pub(crate) fn processes(&self) -> Vec<i32> {
        processes_of(&self.options.cluster)
    }

    pub(crate) fn supervisor(&self) -> i32 {
        *processes_of(&self.options.cluster)
            .iter()
            .find(|pid| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                line.split(|byte| *byte == 0).nth(1) == Some(b"postgres-supervisor".as_slice())
            })
            .unwrap()
    }

    pub(crate) fn postmaster(&self) -> i32 {
        postmaster_of(&self.data()).unwrap()
    }

    pub(crate) fn wait_until_gone(&self) {
        wait_for("all processes of the cluster to be gone", || self.processes().is_empty());
    }
}

fn install() -> PathBuf {
    let selection = AssetSelection { postgres: true, embedding: false };
    install_for_tests(selection, Variant::Auto).unwrap().postgres.unwrap()
}

fn postmaster_of(data: &Path) -> Option<i32> {
    fs::read_to_string(data.join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
}

pub(crate) fn processes_of(directory: &Path) -> Vec<i32> {
    let name = directory.as_os_str().as_encoded_bytes();
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.windows(name.len()).any(|window| window == name)
                || working_directory(*pid).starts_with(directory)
        })
        .collect()
}

pub(crate) fn working_directory(pid: i32) -> PathBuf {
    fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default()
}

pub(crate) fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < WAIT_TIMEOUT, "timed out waiting for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// Runs one statement and returns the first column of its row, if it has one.
pub(crate) fn query(server: &EmbeddedServer, sql: &'static str) -> Result<Option<i64>, sqlx::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = server.connect_options().connect().await?;
        let row = sqlx::query(sql).fetch_optional(&mut connection).await?;
        connection.close().await?;
        row.map(|row| row.try_get(0)).transpose()
    })
}

pub(crate) fn answers_queries(server: &EmbeddedServer) -> bool {
    query(server, "SELECT 1::bigint").is_ok_and(|one| one == Some(1))
}

/// If this process is root, runs `command` as the owner of `path`.
pub(crate) fn as_owner_of(path: &Path, command: &mut Command) {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    let owner = fs::metadata(path).unwrap();
    if rustix::process::geteuid().is_root() {
        command.uid(owner.uid()).gid(owner.gid());
    }
}

/// An unrelated process that is killed on drop.
pub(crate) struct UnrelatedProcess(pub(crate) Child);

impl Drop for UnrelatedProcess {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
