//! The processes that parse: what they may do, and what becomes of a run whose parsers are killed or stopped.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::faults::server::parsers_of;
use crate::harness::{PROGRAM, Repository, home, project};
use crate::kills::{assert_alike, succeed};

/// A few hundred files, so that a run takes a while.
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

/// An index run of its own process.
fn start(repository: &Repository, id: &str) -> Child {
    let mut command = Command::new(PROGRAM);
    command
        .args(["index", &repository.root(), "--project", id, "--json", "--stub-embeddings"])
        .env("PAIROFCLEATS_HOME", home());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The processes that parse for this one.
fn parsers(of: &Child) -> Vec<Pid> {
    parsers_of(of.id().cast_signed()).into_iter().filter_map(Pid::from_raw).collect()
}

/// Waits until there are parsers; none when the run ended before.
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
async fn a_parser_has_no_rights_and_no_secrets() {
    let (repository, id) = (repository(), project("parsed"));
    let mut run = start(&repository, &id);
    let found = wait_for_parsers(&mut run);
    assert!(!found.is_empty(), "nothing parses");
    let mut looked = 0;
    for pid in found.iter().cycle() {
        let read = |what: &str| {
            fs::read_to_string(format!("/proc/{}/{what}", pid.as_raw_nonzero())).unwrap_or_default()
        };
        let (status, limits) = (read("status"), read("limits"));
        if run.try_wait().unwrap().is_some() || looked == found.len() {
            break;
        }
        // It is told by the program that it runs until it is there.
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
        looked += 1;
    }
    assert!(looked > 0, "no parser was seen in its sandbox");
    assert!(run.wait().unwrap().success());
    succeed(&["projects", "delete", &id, "--yes"]);
}

/// What fuzzing found: the grammar of Kotlin repairs 900 bytes for minutes, and does not ask meanwhile whether its time is over.
#[test]
fn a_grammar_that_comes_to_no_end_costs_one_file_its_syntax() {
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
fn doctor_says_whether_parsers_are_shut_in() {
    let output =
        Command::new(PROGRAM).args(["doctor", "--json"]).env("PAIROFCLEATS_HOME", home()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("in processes that can only compute (seccomp); git history in one"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn parsers_that_are_killed_or_stopped_cost_a_run_no_more_than_time() {
    let (repository, whole, id) = (repository(), project("whole"), project("parsed"));
    succeed(&["index", &repository.root(), "--project", &whole, "--stub-embeddings"]);
    let mut run = start(&repository, &id);
    let (mut killed, mut stopped) = (0, false);
    while killed < 12 {
        let found = wait_for_parsers(&mut run);
        let Some(first) = found.first() else { break };
        // It may have ended meanwhile.
        let signal = if killed == 5 && !stopped { Signal::STOP } else { Signal::KILL };
        if kill_process(*first, signal).is_ok() {
            stopped |= signal == Signal::STOP;
            killed += 1;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(killed >= 6 && stopped, "too little was disturbed: {killed}");
    assert!(run.wait().unwrap().success(), "the run was lost with its parsers");
    // What was not read then is read now, and the rows are those of a run that nobody disturbed.
    succeed(&["index", &repository.root(), "--project", &id, "--stub-embeddings"]);
    for id in [&whole, &id] {
        // Names of chunks that are no more stay until somebody tidies up.
        succeed(&["call", "cache_gc", "--args", &serde_json::json!({ "project_id": id }).to_string()]);
    }
    assert_alike("parsers killed", &id, &whole).await;
    for id in [whole, id] {
        succeed(&["projects", "delete", &id, "--yes"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_parser_outlives_a_run_that_is_killed() {
    let (repository, id) = (repository(), project("parsed"));
    let mut run = start(&repository, &id);
    let found = wait_for_parsers(&mut run);
    assert!(!found.is_empty(), "nothing parses");
    run.kill().unwrap();
    run.wait().unwrap();
    let is_there = |pid: &Pid| {
        let line = fs::read_to_string(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        line.split('\0').nth(1) == Some("parser")
    };
    let mut looks = 0;
    while found.iter().any(is_there) {
        looks += 1;
        assert!(looks < 3000, "a parser is left");
        std::thread::sleep(Duration::from_millis(10));
    }
    succeed(&["index", &repository.root(), "--project", &id, "--stub-embeddings"]);
    succeed(&["projects", "delete", &id, "--yes"]);
}
