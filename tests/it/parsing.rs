//! The processes that parse: what they may do, and what becomes of a run whose parsers are killed or stopped.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::faults::server::parsers_of;
use crate::harness::{PROGRAM, Repository, home, home_with_few_projects, project};
use crate::kills::{assert_same_rows, succeed};

/// A repository of 150 files, so that a run takes a while.
fn repository() -> Repository {
    let repository = Repository::new(&[]);
    for file in 0..150 {
        let functions: String = (0..40)
            .map(|at| format!("def task_{file}_{at}(coin, other):\n    total = coin.weigh(other)\n    return [total, {at}]\n\n"))
            .collect();
        repository.write(&format!("part_{}/m{file}.py", file % 7), &functions);
    }
    repository
}

/// Starts an index run in a process of its own.
fn start_run(repository: &Repository, id: &str) -> Child {
    let mut command = Command::new(PROGRAM);
    command
        .args(["index", &repository.root(), "--project", id, "--json", "--stub-embeddings"])
        .env("PAIROFCLEATS_HOME", home());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The parser processes of a run.
fn parsers(run: &Child) -> Vec<Pid> {
    parsers_of(run.id().cast_signed()).into_iter().filter_map(Pid::from_raw).collect()
}

/// Waits until the run has parsers; empty if the run ended before.
fn wait_for_parsers(run: &mut Child) -> Vec<Pid> {
    while run.try_wait().unwrap().is_none() {
        let found = parsers(run);
        if !found.is_empty() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Vec::new()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parser_is_confined_and_has_an_empty_environment() {
    let (repository, id) = (repository(), project("parsed"));
    let mut run = start_run(&repository, &id);
    let found = wait_for_parsers(&mut run);
    assert!(!found.is_empty(), "the run has no parser");
    let mut checked = 0;
    for pid in found.iter().cycle() {
        let read = |what: &str| {
            fs::read_to_string(format!("/proc/{}/{what}", pid.as_raw_nonzero())).unwrap_or_default()
        };
        let (status, limits) = (read("status"), read("limits"));
        if run.try_wait().unwrap().is_some() || checked == found.len() {
            break;
        }
        // Wait until the process has entered its sandbox.
        if !status.contains("Seccomp:\t2") {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        }
        assert_eq!(read("environ"), "", "its environment is empty");
        assert!(status.contains("NoNewPrivs:\t1"), "{status}");
        let limit =
            |name: &str| limits.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
        assert!(!limit("Max address space").contains("unlimited"), "{limits}");
        assert!(limit("Max file size").split_whitespace().nth(3) == Some("0"), "{limits}");
        checked += 1;
    }
    assert!(checked > 0, "no parser was seen in its sandbox");
    assert!(run.wait().unwrap().success());
    succeed(&["projects", "delete", &id, "--yes"]);
}

/// Found by fuzzing: the Kotlin grammar recovers from errors in 900 bytes for minutes and does not check its time limit
/// meanwhile.
#[test]
fn a_grammar_that_does_not_terminate_costs_one_file_its_syntax() {
    let repository = Repository::new(&[("good.kt", "fun tidy(shelf: Shelf) = shelf.sort()\n")]);
    repository.write("endless.kt", include_str!("parsing/endless.kt.txt"));
    let id = project("parsed");
    succeed(&["index", &repository.root(), "--project", &id, "--stub-embeddings"]);
    for (word, path) in [("tidy", "good.kt"), ("PAGE_SIZE", "endless.kt")] {
        let found = succeed(&["search", word, "--project", &id]);
        assert!(found.to_string().contains(path), "{word}: {found:#}");
    }
    succeed(&["projects", "delete", &id, "--yes"]);
}

#[test]
fn doctor_reports_how_parsers_are_confined() {
    let output = Command::new(PROGRAM)
        .args(["doctor", "--json"])
        .env("PAIROFCLEATS_HOME", home_with_few_projects())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains(
            "in processes without access to files or the network (seccomp); git history in a process"
        ),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_and_stopped_parsers_cost_a_run_only_time() {
    let (repository, undisturbed, id) = (repository(), project("whole"), project("parsed"));
    succeed(&["index", &repository.root(), "--project", &undisturbed, "--stub-embeddings"]);
    let mut run = start_run(&repository, &id);
    let (mut killed, mut stopped) = (0, false);
    while killed < 12 {
        let found = wait_for_parsers(&mut run);
        let Some(first) = found.first() else { break };
        // The parser may have ended meanwhile.
        let signal = if killed == 5 && !stopped { Signal::STOP } else { Signal::KILL };
        if kill_process(*first, signal).is_ok() {
            stopped |= signal == Signal::STOP;
            killed += 1;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(killed >= 6 && stopped, "too few parsers were killed: {killed}");
    assert!(run.wait().unwrap().success(), "the run was lost with its parsers");
    // The next run reads what was left out, and the rows are those of an undisturbed run.
    succeed(&["index", &repository.root(), "--project", &id, "--stub-embeddings"]);
    for id in [&undisturbed, &id] {
        // Names of removed chunks stay until garbage is collected.
        succeed(&["call", "cache_gc", "--args", &serde_json::json!({ "project_id": id }).to_string()]);
    }
    assert_same_rows("parsers killed", &id, &undisturbed).await;
    for id in [undisturbed, id] {
        succeed(&["projects", "delete", &id, "--yes"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_parser_outlives_a_killed_run() {
    let (repository, id) = (repository(), project("parsed"));
    let mut run = start_run(&repository, &id);
    let found = wait_for_parsers(&mut run);
    assert!(!found.is_empty(), "the run has no parser");
    run.kill().unwrap();
    run.wait().unwrap();
    let is_parser = |pid: &Pid| {
        let line = fs::read_to_string(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        line.split('\0').nth(1) == Some("parser")
    };
    let mut polls = 0;
    while found.iter().any(is_parser) {
        polls += 1;
        assert!(polls < 3000, "a parser still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
    succeed(&["index", &repository.root(), "--project", &id, "--stub-embeddings"]);
    succeed(&["projects", "delete", &id, "--yes"]);
}
