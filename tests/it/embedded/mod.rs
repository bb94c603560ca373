//! The embedded Postgres with real processes: sharing, stopping, and processes killed at every point.

pub(crate) mod cluster;
mod damaged;
mod user;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use contract::Fault;
use store::postgres::embedded::{EmbeddedServer, ensure_running};

use self::cluster::{
    Cluster, UnrelatedProcess, answers_queries, as_owner_of, kill, processes_of, query, wait_for,
    working_directory,
};
use self::user::User;

#[test]
fn a_cluster_is_shared_and_stops_with_its_last_user() {
    let cluster = Cluster::new();
    let started = Instant::now();
    let first = cluster.start();
    eprintln!("cold start with initdb: {:?}", started.elapsed());
    query(&first, "CREATE TABLE kept (id bigint PRIMARY KEY)").unwrap();
    let postmaster = cluster.postmaster();

    let mut second = User::spawn(&cluster.options);
    eprintln!("second process: {}", second.answer());
    assert_eq!(second.send("works?"), "true");
    assert_eq!(cluster.postmaster(), postmaster, "both use one server");
    let lock = cluster.options.cluster.join("server.lock");
    let server_processes: Vec<i32> =
        cluster.processes().into_iter().filter(|pid| working_directory(*pid) == cluster.data()).collect();
    assert!(server_processes.len() > 1, "the postmaster has children: {server_processes:?}");
    for pid in server_processes {
        assert_eq!(
            fs::read_link(format!("/proc/{pid}/fd/0")).unwrap(),
            lock,
            "{pid} holds the server's lock"
        );
    }

    drop(first);
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(second.send("works?"), "true", "the server stays while it has a user");
    second.leave();
    cluster.wait_until_gone();
    let log = fs::read_to_string(cluster.options.cluster.join("server.log")).unwrap();
    assert!(log.contains("database system is shut down"), "{log}");

    let started = Instant::now();
    let again = cluster.start();
    eprintln!("warm start: {:?}", started.elapsed());
    let started = Instant::now();
    let other = cluster.start();
    eprintln!("join: {:?}", started.elapsed());
    assert_eq!(query(&again, "SELECT count(*) FROM kept").unwrap(), Some(0), "the data is still there");
    drop((again, other));
    cluster.wait_until_gone();
}

#[test]
fn settings_and_collation_are_as_designed() {
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
        assert_eq!(user.send("works?"), "true");
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
    assert!(servers.iter().all(answers_queries));
    drop(servers);
    cluster.wait_until_gone();
}

#[test]
fn users_who_arrive_while_the_server_stops_get_a_server() {
    let mut cluster = Cluster::new();
    cluster.options.settings.linger_ms = 0;
    thread::scope(|scope| {
        for user in 0..3 {
            let cluster = &cluster;
            scope.spawn(move || {
                for visit in 0..8 {
                    let server = cluster.start();
                    assert!(answers_queries(&server), "user {user}, visit {visit}");
                    drop(server);
                    // Around the moment at which the supervisor finds no users and exits.
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
fn other_users_keep_working_when_the_starter_is_killed() {
    let cluster = Cluster::new();
    let mut starter = User::spawn(&cluster.options);
    starter.answer();
    let mut other = User::spawn(&cluster.options);
    other.answer();
    starter.kill();
    thread::sleep(Duration::from_millis(1000));
    assert_eq!(other.send("works?"), "true");
    other.kill();
    cluster.wait_until_gone();
}

#[test]
fn a_starter_killed_during_the_start_leaves_a_cluster_that_starts() {
    let cluster = Cluster::new();
    for delay in [50, 300, 700] {
        let starter = User::spawn(&cluster.options);
        thread::sleep(Duration::from_millis(delay));
        starter.kill();
    }
    let server = cluster.start();
    assert!(answers_queries(&server));
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

    server.restart_if_stopped().unwrap();
    assert_ne!(cluster.postmaster(), postmaster);
    assert_eq!(query(&server, "SELECT count(*) FROM kept").unwrap(), Some(0));

    // The test does not wait for the old server to stop: that is the new supervisor's task.
    let supervisor = cluster.supervisor();
    kill(supervisor);
    wait_for("the supervisor to be gone", || !Path::new(&format!("/proc/{supervisor}")).exists());
    let newcomer = cluster.start();
    assert!(answers_queries(&newcomer) && answers_queries(&server));
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
        wait_for("the server to be back", || answers_queries(&server));
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
    server.restart_if_stopped().unwrap();
    assert!(answers_queries(&server));
    drop(server);
    cluster.wait_until_gone();
}

#[test]
fn a_stale_pid_file_with_the_pid_of_another_process_does_not_prevent_a_start() {
    let cluster = Cluster::new();
    drop(cluster.start());
    cluster.wait_until_gone();
    // A live process of the server's user. Postgres alone would mistake it for a running server.
    let mut unrelated = Command::new("sleep");
    unrelated.arg("600");
    as_owner_of(&cluster.data(), &mut unrelated);
    let mut unrelated = UnrelatedProcess(unrelated.spawn().unwrap());
    let file = cluster.data().join("postmaster.pid");
    let text =
        format!("{}\n{}\n1\n5432\n/nowhere\n\n 1 1\nready\n", unrelated.0.id(), cluster.data().display());
    fs::write(&file, text).unwrap();

    let server = cluster.start();
    assert!(answers_queries(&server));
    assert!(unrelated.0.try_wait().unwrap().is_none(), "the other process was not killed");
    drop(server);
    cluster.wait_until_gone();
}

#[test]
fn an_incomplete_data_directory_is_created_again() {
    let cluster = Cluster::new();
    let draft = cluster.options.cluster.join("data.new");
    fs::create_dir_all(draft.join("base")).unwrap();
    fs::set_permissions(&cluster.options.cluster, fs::Permissions::from_mode(0o711)).unwrap();
    fs::write(draft.join("PG_VERSION"), "18\n").unwrap();
    let server = cluster.start();
    assert!(answers_queries(&server));
    assert!(!draft.exists());
    drop(server);
    cluster.wait_until_gone();
}

#[test]
fn a_server_that_cannot_start_reports_why() {
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
    let restarted = cluster.start();
    assert!(answers_queries(&restarted));
    drop(restarted);
    cluster.wait_until_gone();
}

#[test]
fn a_home_closed_to_others_works_and_stays_closed() {
    let cluster = Cluster::in_home(0o700);
    let server = cluster.start();
    assert!(answers_queries(&server));
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

    // A new cluster at the same path does not reuse the data of the deleted one.
    fs::remove_dir_all(&cluster.options.cluster).unwrap();
    let restarted = cluster.start();
    let second = restarted.directory().to_path_buf();
    assert_eq!(second != directory, rustix::process::geteuid().is_root());
    drop(restarted);
    wait_for("the server to stop", || processes_of(&second).is_empty());
    for directory in [directory, second] {
        fs::remove_dir_all(directory).ok();
    }
}

#[test]
fn a_program_that_the_servers_user_cannot_access_starts_the_server() {
    let mut cluster = Cluster::new();
    let closed = tempfile::Builder::new().prefix("embedded-test-").tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let program = closed.path().join("program");
    crate::harness::copy_program(&cluster.options.supervisor, &program);
    cluster.options.supervisor = program;
    let server = cluster.start();
    assert!(answers_queries(&server));
    drop(server);
    cluster.wait_until_gone();
}

#[test]
fn a_cluster_owned_by_another_user_is_run_as_that_user() {
    if !rustix::process::geteuid().is_root() {
        // Only root can run it for another user; everyone else gets a fault.
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
    assert!(answers_queries(&server));
    drop(server);
    cluster.wait_until_gone();
}

#[test]
fn an_installation_that_the_servers_user_cannot_access_is_copied() {
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
