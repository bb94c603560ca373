//! The processes that read git histories: what they may do, and what becomes of a run whose repository changes while they
//! read it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, Mode, RenameFlags, mkfifoat, renameat_with};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{PROGRAM, Repository, home, project};
use crate::kills::succeed;

const FILES: usize = 30;
/// A run that takes more polls than this hangs.
const POLLS_MAX: usize = 12_000;
const POLL_INTERVAL: Duration = Duration::from_millis(10);

fn git(at: &Path, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new("git");
    command.current_dir(at).args(["-c", "gc.auto=0"]).args(arguments);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes a repository with `commits` commits by `author`; each changes one of [`FILES`] files. Only the first commit
/// touches `first.py`, so that a walk has to go back to it. Objects are in one pack or in a file each.
fn repository(author: &str, commits: usize, packed: bool) -> Repository {
    let repository = Repository::new(&[]);
    git(repository.path(), &["init", "-q", "-b", "main"], "");
    let mut input = String::new();
    for at in 0..commits {
        let text = format!("def task_{at}(coin):\n    return coin.weigh({at})\n");
        let seconds = 1_700_000_000 + at;
        let name = if at == 0 { "first.py".to_owned() } else { format!("f{}.py", at % FILES) };
        input.push_str(&format!(
            "commit refs/heads/main\nauthor {author} <a@example.org> {seconds} +0000\ncommitter C <c@example.org> {seconds} \
             +0000\ndata 1\nx\nM 100644 inline {name}\ndata {}\n{text}\n",
            text.len()
        ));
    }
    let unpack_limit = if packed { "fastimport.unpackLimit=0" } else { "fastimport.unpackLimit=1000000" };
    git(repository.path(), &["-c", unpack_limit, "fast-import", "--quiet"], &input);
    git(repository.path(), &["reset", "-q", "--hard", "main"], "");
    if packed {
        git(repository.path(), &["repack", "-q", "-a", "-d"], "");
    }
    repository
}

/// Starts an index run in a process of its own that may read the history for one second.
fn start_run(repository: &Repository, id: &str) -> Child {
    let mut command = Command::new(PROGRAM);
    command
        .args(["index", &repository.root(), "--project", id, "--json", "--stub-embeddings"])
        .env("PAIROFCLEATS_HOME", home())
        .env("PAIROFCLEATS_INDEXING__HISTORY_MS_MAX", "1000");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits for a run, which must succeed. Returns the JSON that it prints.
fn wait_for_output(mut run: Child) -> Value {
    let mut polls = 0;
    while run.try_wait().unwrap().is_none() {
        polls += 1;
        if polls > POLLS_MAX {
            run.kill().unwrap();
            panic!("the run hangs");
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success(), "the run was lost: {}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn index(repository: &Repository, id: &str) -> Value {
    wait_for_output(start_run(repository, id))
}

/// Changes every file, so that its lines are attributed again.
fn change_every_file(repository: &Repository, round: usize) {
    for file in 0..FILES {
        let path = repository.path().join(format!("f{file}.py"));
        fs::OpenOptions::new()
            .append(true)
            .open(path)
            .unwrap()
            .write_all(format!("# {round}\n").as_bytes())
            .unwrap();
    }
}

/// Repeats `disturb` in a thread until `work` is done.
fn run_disturbed<T>(mut disturb: impl FnMut() + Send, work: impl FnOnce() -> T) -> T {
    struct DoneOnDrop<'a>(&'a AtomicBool);
    impl Drop for DoneOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                disturb();
            }
        });
        // Dropped also when the work panics.
        let _done = DoneOnDrop(&done);
        work()
    })
}

/// Swaps two directory entries atomically.
fn swap_entries(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

fn writable_pack(repository: &Repository) -> PathBuf {
    let packs = fs::read_dir(repository.path().join(".git/objects/pack")).unwrap().flatten();
    let found = packs
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "pack"));
    let pack = found.unwrap();
    fs::set_permissions(&pack, fs::Permissions::from_mode(0o644)).unwrap();
    pack
}

fn search_with_authors(id: &str) -> Value {
    succeed(&["search", "task_0 coin weigh", "--project", id, "--output", "full"])
}

/// Changes and indexes the repository until a run's notes contain one of `expected`; every run must succeed.
fn index_until_noted(repository: &Repository, id: &str, expected: &[&str]) {
    let mut all_notes = Vec::new();
    for round in 0..60 {
        change_every_file(repository, round);
        let notes = index(repository, id)["result"]["report"]["notes"].to_string();
        if expected.iter().any(|part| notes.contains(part)) {
            return;
        }
        all_notes.push(notes);
    }
    panic!("no run was disturbed: {all_notes:?}");
}

#[test]
fn a_pack_truncated_during_the_read_costs_only_the_history() {
    let (repository, id) = (repository("Ada", 2000, true), project("cut-off"));
    let pack = writable_pack(&repository);
    let bytes = fs::read(&pack).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&pack).unwrap();
    let cut = || {
        file.set_len(0).unwrap();
        std::thread::sleep(Duration::from_micros(500));
        fs::write(&pack, &bytes).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    };
    run_disturbed(cut, || index_until_noted(&repository, &id, &["truncated while they were read"]));
    fs::write(&pack, &bytes).unwrap();
    // The next run reads the history that was left out.
    let notes = index(&repository, &id)["result"]["report"]["notes"].to_string();
    assert!(!notes.contains("history"), "{notes}");
    assert!(search_with_authors(&id).to_string().contains("Ada"));
    succeed(&["projects", "delete", &id, "--yes"]);
}

#[test]
fn a_pipe_in_place_of_an_object_costs_only_the_history() {
    let (repository, id) = (repository("Ada", 500, false), project("piped"));
    // A commit that the walk reaches late.
    let commit = git(repository.path(), &["rev-parse", "main~300"], "");
    let object = repository.path().join(".git/objects").join(&commit[..2]).join(&commit[2..]);
    let pipe = repository.path().join(".git/pipe");
    mkfifoat(CWD, &pipe, Mode::RWXU).unwrap();
    let mut run = start_run(&repository, &id);
    // By now the process has checked that the object is a regular file.
    let pid = stopped_historian(&mut run);
    swap_entries(&object, &pipe);
    kill_process(pid, Signal::CONT).unwrap();
    let notes = wait_for_output(run)["result"]["report"]["notes"].to_string();
    // The process that waits at the pipe is killed; one that starts later finds the pipe.
    let expected = ["could not be read in time", "is not a regular file"];
    assert!(expected.iter().any(|part| notes.contains(part)), "{notes}");
    assert!(!Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists(), "the process still exists");
    let notes = index(&repository, &id)["result"]["report"]["notes"].to_string();
    assert!(notes.contains("is not a regular file"), "{notes}");
    swap_entries(&object, &pipe);
    let notes = index(&repository, &id)["result"]["report"]["notes"].to_string();
    assert!(!notes.contains("history"), "{notes}");
    assert!(search_with_authors(&id).to_string().contains("Ada"));
    succeed(&["projects", "delete", &id, "--yes"]);
}

#[test]
fn objects_replaced_by_a_link_add_no_authors_of_another_repository() {
    let (own, other, id) = (repository("Own", 60, true), repository("Victim", 60, true), project("linked"));
    let head = git(other.path(), &["rev-parse", "HEAD"], "");
    fs::write(own.path().join(".git/refs/heads/main"), format!("{head}\n")).unwrap();
    let (objects, link) = (own.path().join(".git/objects"), own.path().join(".git/link"));
    symlink(other.path().join(".git/objects"), &link).unwrap();
    let swap = || {
        swap_entries(&objects, &link);
        std::thread::sleep(Duration::from_micros(300));
    };
    run_disturbed(swap, || {
        for round in 0..20 {
            change_every_file(&own, round);
            index(&own, &id);
            let found = search_with_authors(&id).to_string();
            assert!(found.contains("f0.py") && !found.contains("Victim"), "round {round}: {found}");
        }
    });
    succeed(&["projects", "delete", &id, "--yes"]);
}

/// Stops the process that reads the history for a run as soon as it is confined. Returns its id.
fn stopped_historian(run: &mut Child) -> Pid {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    for _ in 0..POLLS_MAX {
        assert!(run.try_wait().unwrap().is_none(), "no process reads the history");
        let threads = fs::read_dir(format!("/proc/{}/task", run.id())).unwrap().flatten();
        let children: String =
            threads.map(|thread| read(format!("{}/children", thread.path().display()))).collect();
        for pid in children.split_whitespace() {
            let is_one = read(format!("/proc/{pid}/cmdline")).split('\0').nth(1) == Some("historian");
            if is_one && read(format!("/proc/{pid}/status")).contains("Seccomp:\t2") {
                let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
                kill_process(pid, Signal::STOP).unwrap();
                return pid;
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("no process reads the history");
}

#[test]
fn the_process_that_reads_the_history_is_confined_and_may_be_stopped_or_killed() {
    let (repository, id) = (repository("Ada", 6000, true), project("historian"));
    for (signal, expected) in [(Signal::STOP, "could not be read in time"), (Signal::KILL, "was killed")] {
        let mut run = start_run(&repository, &id);
        let pid = stopped_historian(&mut run);
        let read = |what: &str| {
            fs::read_to_string(format!("/proc/{}/{what}", pid.as_raw_nonzero())).unwrap_or_default()
        };
        let (status, limits) = (read("status"), read("limits"));
        assert_eq!(read("environ"), "", "its environment is empty");
        assert!(status.contains("NoNewPrivs:\t1"), "{status}");
        for name in ["Max data size", "Max file size", "Max core file size"] {
            let limit = limits.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            assert!(limit.contains(' ') && !limit.contains("unlimited"), "{limits}");
        }
        kill_process(pid, signal).unwrap();
        let notes = wait_for_output(run)["result"]["report"]["notes"].to_string();
        assert!(notes.contains(expected), "{notes}");
        assert!(!Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists(), "the process still exists");
    }
    // The next run reads the history that was left out.
    let notes = succeed(&["index", &repository.root(), "--project", &id, "--stub-embeddings"]);
    assert!(!notes["result"]["report"]["notes"].to_string().contains("history"), "{notes:#}");
    assert!(search_with_authors(&id).to_string().contains("Ada"));
    succeed(&["projects", "delete", &id, "--yes"]);
}

#[test]
fn a_cancelled_run_does_not_wait_for_the_history() {
    let (repository, id) = (repository("Ada", 6000, true), project("historian"));
    let mut run = start_run(&repository, &id);
    let pid = stopped_historian(&mut run);
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let mut polls = 0;
    while run.try_wait().unwrap().is_none() {
        polls += 1;
        assert!(polls < POLLS_MAX, "the run hangs");
        std::thread::sleep(POLL_INTERVAL);
    }
    let stdout = String::from_utf8(run.wait_with_output().unwrap().stdout).unwrap();
    assert!(stdout.contains("CANCELLED"), "{stdout}");
    assert!(!Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists(), "the process still exists");
    succeed(&["projects", "delete", &id, "--yes"]);
}
