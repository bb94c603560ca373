//! The embedded Postgres under real processes: sharing, leaving, and every way to be killed.
//!
//! `PAIROFCLEATS_TEST_POSTGRES` names an installed Postgres (the directory with `bin/`, `lib/` and `share/`).

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test says what went wrong by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pairofcleats::config::Embedded;
use pairofcleats::contract::Fault;
use pairofcleats::postgres::embedded::{EmbeddedOptions, EmbeddedServer, ensure_running};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{ConnectOptions, Connection, Row};
use tempfile::TempDir;

/// Nothing here takes this long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// A cluster of a test, in a directory every user can pass.
struct Cluster {
    home: TempDir,
    options: EmbeddedOptions,
}

impl Cluster {
    fn new() -> Self {
        Self::in_home(0o711)
    }

    fn in_home(mode: u32) -> Self {
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
        };
        Self { home, options }
    }

    fn start(&self) -> EmbeddedServer {
        ensure_running(&self.options).unwrap()
    }

    fn data(&self) -> PathBuf {
        self.options.cluster.join("data")
    }

    /// The processes that name the cluster on their command line or work in it; zombies do neither.
    fn processes(&self) -> Vec<i32> {
        processes_of(&self.options.cluster)
    }

    fn supervisor(&self) -> i32 {
        *processes_of(&self.options.cluster)
            .iter()
            .find(|pid| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                line.split(|byte| *byte == 0).nth(1) == Some(b"postgres-supervisor".as_slice())
            })
            .unwrap()
    }

    fn postmaster(&self) -> i32 {
        postmaster_of(&self.data()).unwrap()
    }

    fn wait_until_gone(&self) {
        wait_for("all processes of the cluster to be gone", || self.processes().is_empty());
    }
}

#[expect(clippy::disallowed_methods, reason = "the tests are told where Postgres is")]
fn install() -> PathBuf {
    std::env::var_os("PAIROFCLEATS_TEST_POSTGRES")
        .map(PathBuf::from)
        .expect("PAIROFCLEATS_TEST_POSTGRES names the directory of an installed Postgres")
}

fn postmaster_of(data: &Path) -> Option<i32> {
    fs::read_to_string(data.join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
}

fn processes_of(directory: &Path) -> Vec<i32> {
    let name = directory.as_os_str().as_encoded_bytes();
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.windows(name.len()).any(|window| window == name) || works_in(*pid).starts_with(directory)
        })
        .collect()
}

fn works_in(pid: i32) -> PathBuf {
    fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default()
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// Runs one statement and returns the first column of its row, if it has one.
fn query(server: &EmbeddedServer, sql: &'static str) -> Result<Option<i64>, sqlx::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = server.connect_options().connect().await?;
        let row = sqlx::query(sql).fetch_optional(&mut connection).await?;
        connection.close().await?;
        row.map(|row| row.try_get(0)).transpose()
    })
}

fn works(server: &EmbeddedServer) -> bool {
    query(server, "SELECT 1::bigint").is_ok_and(|one| one == Some(1))
}

/// Another process that uses the cluster: this test program, running [`a_user`].
struct User {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
}

impl User {
    fn spawn(options: &EmbeddedOptions) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_user", "--ignored", "--nocapture", "--test-threads=1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let EmbeddedOptions { install, cluster, supervisor, settings } = options;
        let order = (install, cluster, supervisor, settings);
        writeln!(input, "{}", serde_json::to_string(&order).unwrap()).unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input: Some(input), output }
    }

    /// Waits for the next answer, past what the test harness prints.
    fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the other process ended");
            if let Some(answer) = line.trim().strip_prefix("user: ") {
                return answer.to_owned();
            }
        }
    }

    fn ask(&mut self, question: &str) -> String {
        writeln!(self.input.as_mut().unwrap(), "{question}").unwrap();
        self.answer()
    }

    fn leave(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
#[ignore = "the other process of these tests, started by them"]
fn a_user() {
    let mut lines = std::io::stdin().lines();
    // Started by hand (or with all ignored tests), there is nobody to serve.
    let Some(Ok(order)) = lines.next() else { return };
    let (install, cluster, supervisor, settings) = serde_json::from_str(&order).unwrap();
    let options = EmbeddedOptions { install, cluster, supervisor, settings };
    let begun = Instant::now();
    let server = ensure_running(&options).unwrap();
    println!("\nuser: up in {:?}", begun.elapsed());
    for line in lines {
        match line.unwrap().as_str() {
            "works?" => println!("user: {}", works(&server)),
            "revive" => println!("user: {}", server.revive().is_ok()),
            other => panic!("unknown question {other}"),
        }
    }
}

#[test]
fn makes_a_cluster_shares_it_and_leaves_with_the_last_user() {
    let cluster = Cluster::new();
    let begun = Instant::now();
    let first = cluster.start();
    eprintln!("cold start with initdb: {:?}", begun.elapsed());
    query(&first, "CREATE TABLE kept (id bigint PRIMARY KEY)").unwrap();
    let postmaster = cluster.postmaster();

    let mut second = User::spawn(&cluster.options);
    eprintln!("second process: {}", second.answer());
    assert_eq!(second.ask("works?"), "true");
    assert_eq!(cluster.postmaster(), postmaster, "both use one server");
    let lock = cluster.options.cluster.join("server.lock");
    let of_the_server: Vec<i32> =
        cluster.processes().into_iter().filter(|pid| works_in(*pid) == cluster.data()).collect();
    assert!(of_the_server.len() > 1, "the postmaster has children: {of_the_server:?}");
    for pid in of_the_server {
        assert_eq!(
            fs::read_link(format!("/proc/{pid}/fd/0")).unwrap(),
            lock,
            "{pid} holds the server's lock"
        );
    }

    drop(first);
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(second.ask("works?"), "true", "the server stays while somebody uses it");
    second.leave();
    cluster.wait_until_gone();
    let log = fs::read_to_string(cluster.options.cluster.join("server.log")).unwrap();
    assert!(log.contains("database system is shut down"), "{log}");

    let begun = Instant::now();
    let again = cluster.start();
    eprintln!("warm start: {:?}", begun.elapsed());
    let begun = Instant::now();
    let other = cluster.start();
    eprintln!("join: {:?}", begun.elapsed());
    assert_eq!(query(&again, "SELECT count(*) FROM kept").unwrap(), Some(0), "the data is still there");
    drop((again, other));
    cluster.wait_until_gone();
}

#[test]
fn settings_and_text_rules_are_as_designed() {
    let cluster = Cluster::new();
    let server = cluster.start();
    for (setting, value) in [
        ("listen_addresses", ""),
        ("fsync", "on"),
        ("jit", "off"),
        ("recovery_init_sync_method", "syncfs"),
        ("max_connections", "40"),
        ("max_locks_per_transaction", "256"),
        ("unix_socket_permissions", "0700"),
        ("server_encoding", "UTF8"),
    ] {
        let sql =
            format!("SELECT count(*) FROM pg_settings WHERE name = '{setting}' AND setting = '{value}'");
        assert_eq!(query(&server, sql.leak()).unwrap(), Some(1), "{setting}");
    }
    assert_eq!(query(&server, "SELECT (lower('ÄÖ') = 'äö')::int::bigint").unwrap(), Some(1));
    assert_eq!(query(&server, "SELECT ('B' < 'a')::int::bigint").unwrap(), Some(1), "order is by byte");
    let log = cluster.options.cluster.join("server.log");
    assert!(query(&server, "SELECT 'a secret value'::int::bigint").is_err());
    assert!(query(&server, "SELECT 1 / 0 AS another_secret").is_err());
    let log = fs::read_to_string(log).unwrap();
    assert!(
        log.contains("division by zero") && !log.contains("another_secret"),
        "no statement in the log: {log}"
    );
    drop(server);
    cluster.wait_until_gone();
}

#[test]
fn eight_processes_at_once_make_one_cluster() {
    let cluster = Cluster::new();
    let mut users: Vec<User> = (0..8).map(|_| User::spawn(&cluster.options)).collect();
    for user in &mut users {
        eprintln!("one of eight: {}", user.answer());
    }
    for user in &mut users {
        assert_eq!(user.ask("works?"), "true");
    }
    let log = fs::read_to_string(cluster.options.cluster.join("supervisor.log")).unwrap();
    assert_eq!(log.matches(" started").count(), 1, "{log}");
    users.into_iter().for_each(User::leave);
    cluster.wait_until_gone();
}

#[test]
fn eight_threads_at_once_make_one_cluster() {
    let cluster = Cluster::new();
    let servers: Vec<EmbeddedServer> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| cluster.start())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(servers.iter().all(works));
    drop(servers);
    cluster.wait_until_gone();
}

#[test]
fn users_who_come_while_it_stops_get_a_server() {
    let mut cluster = Cluster::new();
    cluster.options.settings.linger_ms = 0;
    thread::scope(|scope| {
        for user in 0..3 {
            let cluster = &cluster;
            scope.spawn(move || {
                for visit in 0..8 {
                    let server = cluster.start();
                    assert!(works(&server), "user {user}, visit {visit}");
                    drop(server);
                    // Around the moment at which the supervisor looks and leaves.
                    thread::sleep(Duration::from_millis(150 + 37 * (user + visit) % 120));
                }
            });
        }
    });
    cluster.wait_until_gone();
    let log = fs::read_to_string(cluster.options.cluster.join("supervisor.log")).unwrap();
    assert!(log.matches(" started").count() > 1, "the server stopped in between: {log}");
}

#[test]
fn the_others_go_on_when_the_starter_is_killed() {
    let cluster = Cluster::new();
    let mut starter = User::spawn(&cluster.options);
    starter.answer();
    let mut other = User::spawn(&cluster.options);
    other.answer();
    starter.kill();
    thread::sleep(Duration::from_millis(1000));
    assert_eq!(other.ask("works?"), "true");
    other.kill();
    cluster.wait_until_gone();
}

#[test]
fn a_starter_killed_in_the_middle_leaves_a_cluster_that_starts() {
    let cluster = Cluster::new();
    for delay in [50, 300, 700] {
        let starter = User::spawn(&cluster.options);
        thread::sleep(Duration::from_millis(delay));
        starter.kill();
    }
    let server = cluster.start();
    assert!(works(&server));
    drop(server);
    cluster.wait_until_gone();
}

#[test]
fn postgres_dies_with_its_supervisor_and_the_next_start_recovers() {
    let cluster = Cluster::new();
    let server = cluster.start();
    query(&server, "CREATE TABLE kept (id bigint PRIMARY KEY)").unwrap();
    let postmaster = cluster.postmaster();
    kill(cluster.supervisor());
    wait_for("postgres to follow its supervisor", || cluster.processes().is_empty());

    server.revive().unwrap();
    assert_ne!(cluster.postmaster(), postmaster);
    assert_eq!(query(&server, "SELECT count(*) FROM kept").unwrap(), Some(0));

    // Not waiting for the old server to end: the new supervisor does.
    let supervisor = cluster.supervisor();
    kill(supervisor);
    wait_for("the supervisor to be gone", || !Path::new(&format!("/proc/{supervisor}")).exists());
    let newcomer = cluster.start();
    assert!(works(&newcomer) && works(&server));
    drop((server, newcomer));
    cluster.wait_until_gone();
}

#[test]
fn the_supervisor_restarts_a_killed_postgres() {
    let cluster = Cluster::new();
    let server = cluster.start();
    for _ in 0..2 {
        let postmaster = cluster.postmaster();
        kill(postmaster);
        wait_for("the server to be back", || works(&server));
        assert_ne!(cluster.postmaster(), postmaster);
    }
    drop(server);
    cluster.wait_until_gone();
}

#[test]
fn supervisor_and_postgres_killed_at_once_are_replaced() {
    let cluster = Cluster::new();
    let server = cluster.start();
    let (supervisor, postmaster) = (cluster.supervisor(), cluster.postmaster());
    kill(postmaster);
    kill(supervisor);
    wait_for("the supervisor to be gone", || !Path::new(&format!("/proc/{supervisor}")).exists());
    server.revive().unwrap();
    assert!(works(&server));
    drop(server);
    cluster.wait_until_gone();
}

#[test]
fn a_stale_pid_file_with_the_number_of_a_stranger_is_no_obstacle() {
    let cluster = Cluster::new();
    drop(cluster.start());
    cluster.wait_until_gone();
    // A live process of the server's own user, which Postgres by itself would take for a running server.
    let mut stranger = Command::new("sleep");
    stranger.arg("600");
    as_owner_of(&cluster.data(), &mut stranger);
    let mut stranger = Stranger(stranger.spawn().unwrap());
    let file = cluster.data().join("postmaster.pid");
    let text =
        format!("{}\n{}\n1\n5432\n/nowhere\n\n 1 1\nready\n", stranger.0.id(), cluster.data().display());
    fs::write(&file, text).unwrap();

    let server = cluster.start();
    assert!(works(&server));
    assert!(stranger.0.try_wait().unwrap().is_none(), "the stranger was not touched");
    drop(server);
    cluster.wait_until_gone();
}

/// A child that ends with the test, however that ends.
struct Stranger(Child);

impl Drop for Stranger {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn as_owner_of(path: &Path, command: &mut Command) {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    let owner = fs::metadata(path).unwrap();
    if rustix::process::geteuid().is_root() {
        command.uid(owner.uid()).gid(owner.gid());
    }
}

#[test]
fn a_half_made_data_directory_is_made_anew() {
    let cluster = Cluster::new();
    let draft = cluster.options.cluster.join("data.new");
    fs::create_dir_all(draft.join("base")).unwrap();
    fs::set_permissions(&cluster.options.cluster, fs::Permissions::from_mode(0o711)).unwrap();
    fs::write(draft.join("PG_VERSION"), "18\n").unwrap();
    let server = cluster.start();
    assert!(works(&server));
    assert!(!draft.exists());
    drop(server);
    cluster.wait_until_gone();
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let cluster = Cluster::new();
    drop(cluster.start());
    cluster.wait_until_gone();
    fs::write(cluster.data().join("PG_VERSION"), "9\n").unwrap();
    let fault: Fault = ensure_running(&cluster.options).unwrap_err();
    assert_eq!(fault.code.as_str(), "STORAGE_UNAVAILABLE");
    assert!(fault.hint.as_deref().is_some_and(|hint| hint.contains("Another Postgres version")), "{fault:?}");
    let details = fault.details.unwrap().to_string();
    assert!(details.contains("incompatible"), "{details}");
    cluster.wait_until_gone();
}

#[test]
fn deleting_the_cluster_ends_its_server() {
    let cluster = Cluster::new();
    let server = cluster.start();
    fs::remove_dir_all(&cluster.options.cluster).unwrap();
    cluster.wait_until_gone();
    drop(server);
    let anew = cluster.start();
    assert!(works(&anew));
    drop(anew);
    cluster.wait_until_gone();
}

#[test]
fn a_closed_home_works_and_is_not_opened() {
    let cluster = Cluster::in_home(0o700);
    let server = cluster.start();
    assert!(works(&server));
    let mode = fs::metadata(cluster.home.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let directory = server.directory().to_path_buf();
    assert_eq!(directory == cluster.options.cluster, !rustix::process::geteuid().is_root());
    drop(server);
    wait_for("the server to stop", || processes_of(&directory).is_empty());
    let again = cluster.start();
    assert_eq!(again.directory(), directory);
    drop(again);
    wait_for("the server to stop", || processes_of(&directory).is_empty());

    // The data of a deleted home does not come back.
    fs::remove_dir_all(&cluster.options.cluster).unwrap();
    let anew = cluster.start();
    let second = anew.directory().to_path_buf();
    assert_eq!(second != directory, rustix::process::geteuid().is_root());
    drop(anew);
    wait_for("the server to stop", || processes_of(&second).is_empty());
    for directory in [directory, second] {
        fs::remove_dir_all(directory).ok();
    }
}

#[test]
fn a_program_that_the_servers_user_cannot_reach_starts_it() {
    let mut cluster = Cluster::new();
    let closed = tempfile::Builder::new().prefix("embedded-test-").tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let program = closed.path().join("program");
    fs::copy(&cluster.options.supervisor, &program).unwrap();
    cluster.options.supervisor = program;
    let server = cluster.start();
    assert!(works(&server));
    drop(server);
    cluster.wait_until_gone();
}

#[test]
fn a_cluster_of_another_user_is_served_as_that_user() {
    if !rustix::process::geteuid().is_root() {
        // Only root can serve others; for everybody else the answer is a fault.
        let mut cluster = Cluster::new();
        cluster.options.cluster = PathBuf::from("/var/embedded-test");
        assert_eq!(ensure_running(&cluster.options).unwrap_err().code.as_str(), "STORAGE_UNAVAILABLE");
        return;
    }
    let mut cluster = Cluster::new();
    cluster.options.settings.run_as = Some("nobody".to_owned());
    drop(cluster.start());
    cluster.wait_until_gone();
    cluster.options.settings.run_as = None;
    let server = cluster.start();
    assert!(works(&server));
    drop(server);
    cluster.wait_until_gone();
}

#[test]
fn a_closed_installation_is_copied_for_the_servers_user() {
    let mut cluster = Cluster::new();
    let closed = tempfile::Builder::new().prefix("embedded-test-").tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let tree = cluster.options.install.parent().unwrap().parent().unwrap();
    let copied = Command::new("cp").arg("-r").arg(tree).arg(closed.path().join("tree")).status().unwrap();
    assert!(copied.success());
    cluster.options.install =
        closed.path().join("tree").join(cluster.options.install.strip_prefix(tree).unwrap());
    let server = cluster.start();
    query(&server, "CREATE EXTENSION vector").unwrap();
    assert_eq!(query(&server, "SELECT ('[1,2]'::vector <#> '[3,4]'::vector)::bigint").unwrap(), Some(-11));
    drop(server);
    cluster.wait_until_gone();
}
