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
/// Long enough for any run here; one that takes longer hangs.
const LOOKS_MAX: usize = 12_000;
const LOOK: Duration = Duration::from_millis(10);

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

/// A repository of some files, each changed once in a while by `author`, in `commits` commits, and one that only the first
/// has, so that a walk comes to it; a file for each object, or one pack.
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
    let least = if packed { "fastimport.unpackLimit=0" } else { "fastimport.unpackLimit=1000000" };
    git(repository.path(), &["-c", least, "fast-import", "--quiet"], &input);
    git(repository.path(), &["reset", "-q", "--hard", "main"], "");
    if packed {
        git(repository.path(), &["repack", "-q", "-a", "-d"], "");
    }
    repository
}

/// An index run of its own process, with little time for the history.
fn start(repository: &Repository, id: &str) -> Child {
    let mut command = Command::new(PROGRAM);
    command
        .args(["index", &repository.root(), "--project", id, "--json", "--stub-embeddings"])
        .env("PAIROFCLEATS_HOME", home())
        .env("PAIROFCLEATS_INDEXING__HISTORY_MS_MAX", "1000");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// What a run says at its end, which it comes to.
fn end(mut run: Child) -> Value {
    let mut looks = 0;
    while run.try_wait().unwrap().is_none() {
        looks += 1;
        if looks > LOOKS_MAX {
            run.kill().unwrap();
            panic!("the run hangs");
        }
        std::thread::sleep(LOOK);
    }
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success(), "the run was lost: {}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn index(repository: &Repository, id: &str) -> Value {
    end(start(repository, id))
}

/// Changes every file, so that its lines are attributed anew.
fn touch(repository: &Repository, round: usize) {
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

/// Does something over and over while something else is done.
fn meanwhile<T>(mut disturb: impl FnMut() + Send, work: impl FnOnce() -> T) -> T {
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                disturb();
            }
        });
        // Also where the work fails.
        let _over = Over(&over);
        work()
    })
}

/// Two names change places.
fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

fn pack(repository: &Repository) -> PathBuf {
    let packs = fs::read_dir(repository.path().join(".git/objects/pack")).unwrap().flatten();
    let found =
        packs.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "pack"));
    let pack = found.unwrap();
    fs::set_permissions(&pack, fs::Permissions::from_mode(0o644)).unwrap();
    pack
}

fn authors(id: &str) -> Value {
    succeed(&["search", "task_0 coin weigh", "--project", id, "--output", "full"])
}

/// Until a run of the repository, which is changed before each, has said this; none may be lost.
fn rounds_until_told(repository: &Repository, id: &str, told: &[&str]) {
    let mut answers = Vec::new();
    for round in 0..60 {
        touch(repository, round);
        let answer = index(repository, id)["result"]["report"]["notes"].to_string();
        if told.iter().any(|told| answer.contains(told)) {
            return;
        }
        answers.push(answer);
    }
    panic!("nothing was disturbed: {answers:?}");
}

#[test]
fn a_pack_that_is_cut_off_while_it_is_read_costs_its_history() {
    let (repository, id) = (repository("Ada", 2000, true), project("cut-off"));
    let pack = pack(&repository);
    let bytes = fs::read(&pack).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&pack).unwrap();
    let cut = || {
        file.set_len(0).unwrap();
        std::thread::sleep(Duration::from_micros(500));
        fs::write(&pack, &bytes).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    };
    meanwhile(cut, || rounds_until_told(&repository, &id, &["cut off while they were read"]));
    fs::write(&pack, &bytes).unwrap();
    // The next run reads what was left out.
    let told = index(&repository, &id)["result"]["report"]["notes"].to_string();
    assert!(!told.contains("history"), "{told}");
    assert!(authors(&id).to_string().contains("Ada"));
    succeed(&["projects", "delete", &id, "--yes"]);
}

#[test]
fn a_pipe_in_place_of_an_object_costs_the_time_of_a_history() {
    let (repository, id) = (repository("Ada", 500, false), project("piped"));
    // One that the walk comes to late.
    let commit = git(repository.path(), &["rev-parse", "main~300"], "");
    let object = repository.path().join(".git/objects").join(&commit[..2]).join(&commit[2..]);
    let pipe = repository.path().join(".git/pipe");
    mkfifoat(CWD, &pipe, Mode::RWXU).unwrap();
    let mut run = start(&repository, &id);
    // What it is was checked by now.
    let pid = stopped_historian(&mut run);
    exchange(&object, &pipe);
    kill_process(pid, Signal::CONT).unwrap();
    let notes = end(run)["result"]["report"]["notes"].to_string();
    // The process that waits at the pipe is given up; one that is started after finds the pipe.
    let told = ["could not be read in its time", "is not a regular file"];
    assert!(told.iter().any(|told| notes.contains(told)), "{notes}");
    assert!(!Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists(), "it is left");
    let notes = index(&repository, &id)["result"]["report"]["notes"].to_string();
    assert!(notes.contains("is not a regular file"), "{notes}");
    exchange(&object, &pipe);
    let notes = index(&repository, &id)["result"]["report"]["notes"].to_string();
    assert!(!notes.contains("history"), "{notes}");
    assert!(authors(&id).to_string().contains("Ada"));
    succeed(&["projects", "delete", &id, "--yes"]);
}

#[test]
fn objects_that_become_a_link_bring_no_authors_along() {
    let (own, other, id) = (repository("Own", 60, true), repository("Victim", 60, true), project("linked"));
    let head = git(other.path(), &["rev-parse", "HEAD"], "");
    fs::write(own.path().join(".git/refs/heads/main"), format!("{head}\n")).unwrap();
    let (objects, link) = (own.path().join(".git/objects"), own.path().join(".git/link"));
    symlink(other.path().join(".git/objects"), &link).unwrap();
    let swap = || {
        exchange(&objects, &link);
        std::thread::sleep(Duration::from_micros(300));
    };
    meanwhile(swap, || {
        for round in 0..20 {
            touch(&own, round);
            index(&own, &id);
            let found = authors(&id).to_string();
            assert!(found.contains("f0.py") && !found.contains("Victim"), "round {round}: {found}");
        }
    });
    succeed(&["projects", "delete", &id, "--yes"]);
}

/// The process that reads the history for a run, stopped once it is confined.
fn stopped_historian(run: &mut Child) -> Pid {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    for _ in 0..LOOKS_MAX {
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
fn a_historian_has_no_secrets_and_may_be_stopped_or_killed() {
    let (repository, id) = (repository("Ada", 6000, true), project("historian"));
    for (signal, told) in [(Signal::STOP, "could not be read in its time"), (Signal::KILL, "was ended")] {
        let mut run = start(&repository, &id);
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
        let notes = end(run)["result"]["report"]["notes"].to_string();
        assert!(notes.contains(told), "{notes}");
        assert!(!Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists(), "it is left");
    }
    // What was not read then is read now.
    let notes = succeed(&["index", &repository.root(), "--project", &id, "--stub-embeddings"]);
    assert!(!notes["result"]["report"]["notes"].to_string().contains("history"), "{notes:#}");
    assert!(authors(&id).to_string().contains("Ada"));
    succeed(&["projects", "delete", &id, "--yes"]);
}

#[test]
fn a_run_that_is_cancelled_does_not_wait_for_its_history() {
    let (repository, id) = (repository("Ada", 6000, true), project("historian"));
    let mut run = start(&repository, &id);
    let pid = stopped_historian(&mut run);
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let mut looks = 0;
    while run.try_wait().unwrap().is_none() {
        looks += 1;
        assert!(looks < LOOKS_MAX, "the run hangs");
        std::thread::sleep(LOOK);
    }
    let told = String::from_utf8(run.wait_with_output().unwrap().stdout).unwrap();
    assert!(told.contains("CANCELLED"), "{told}");
    assert!(!Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists(), "it is left");
    succeed(&["projects", "delete", &id, "--yes"]);
}
