//! The first ten minutes: an answer as soon as words are searchable, while vectors are made behind it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{PROGRAM, Repository, app_with_model, http, new_home, project, result};

/// Texts that the real model embeds for several seconds on any machine.
fn repository() -> Repository {
    let repository =
        Repository::new(&[("README.md", "# Tasks\n\nThis program hands out many tasks to workers.\n")]);
    for file in 0..40 {
        let text: String = (0..12)
            .map(|n| {
                format!(
                    "def task_{file}_{n}(value):\n    \"\"\"Task {n} of module {file} hands out its value to workers {n} and {file}.\"\"\"\n    \
                     partial = value * {n} + {file}\n    return [partial] * {n}\n\n"
                )
            })
            .collect();
        repository.write(&format!("pkg/module_{file}.py"), &text);
    }
    repository
}

fn program(home: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .env("PAIROFCLEATS_HOME", home)
        .env_remove("DATABASE_URL")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

/// A server that a failed test does not leave behind.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn envelope(output: &Output) -> Value {
    let [answer, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    serde_json::from_str(&answer).unwrap_or_else(|problem| panic!("{problem}: {answer} {said}"))
}

fn status(home: &Path) -> Value {
    let mut answer = envelope(&program(home).args(["call", "index_status", "--json"]).output().unwrap());
    answer["result"].take()
}

fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(300);
    while !reached() {
        assert!(Instant::now() < give_up, "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn once_answers_by_words_and_leaves_the_vectors_to_a_process_of_its_own() {
    let (home, repository) = (new_home("once"), repository());
    let root = repository.root();
    let once = ["quickstart", &root, "--once", "hand out tasks", "--json"];
    let output = program(&home).args(once).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer = envelope(&output);
    assert!(output.status.success() && !answer["result"]["hits"][0].is_null(), "{answer:#}\n{said}");
    assert_eq!(answer["result"]["vectors"], "none", "vectors were waited for: {answer:#}");
    let warned =
        |code: &str| answer["_meta"]["warnings"].as_array().unwrap().iter().any(|w| w["code"] == code);
    assert!(warned("vectors_pending") && warned("index_running"), "{answer:#}");
    let line =
        said.lines().find(|line| line.contains("not by meaning yet")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains("in the background") && line.contains("vectors "), "{line}");
    // A very busy machine has no first vector yet, and so no pace.
    assert!(line.contains(" left") || line.contains(" (0/"), "no time left: {line}");

    // Nobody but the process that was left behind works now.
    let mut now = status(&home);
    assert!(now["vectorsPending"].as_u64().unwrap() > 0, "too fast to prove anything: {now:#}");
    wait_until("the vectors", || {
        now = status(&home);
        now["repositories"][0]["state"] == "ready"
    });
    assert_eq!(
        (&now["vectorsPending"], &now["jobs"][0]["state"]),
        (&json!(0), &json!("succeeded")),
        "{now:#}"
    );
    assert_eq!(now["jobs"].as_array().unwrap().len(), 1, "the run was handed over, not made anew: {now:#}");

    // With all vectors there, the same command searches by meaning, and leaves nothing behind.
    let output = program(&home).args(once).output().unwrap();
    let answer = envelope(&output);
    assert_eq!(
        (&answer["result"]["vectors"], &answer["_meta"]["warnings"]),
        (&json!("exact"), &Value::Null),
        "{answer:#}"
    );
    assert!(!String::from_utf8_lossy(&output.stderr).contains("background"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_answers_while_vectors_are_made() {
    let (home, repository) = (new_home("serving"), repository());
    let child = program(&home)
        .args(["quickstart", &repository.root(), "--port", "0", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut child = Ended(child);
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let url = ready["result"]["url"].as_str().unwrap().to_owned();
    let post = async |path: &str, body: Value| -> Value {
        let sent = http().post(format!("{url}{path}")).header("content-type", "application/json");
        serde_json::from_str(&sent.body(body.to_string()).send().await.unwrap().text().await.unwrap())
            .unwrap()
    };
    let mut now = post("/tools/index_status", json!({})).await["result"].take();
    assert!(now["vectorsPending"].as_u64().unwrap() > 0, "it served too late: {now:#}");
    let found = post("/search", json!({ "query": "hand out tasks" })).await;
    assert!(!found["result"]["search"]["hits"][0].is_null(), "{found:#}");
    let give_up = Instant::now() + Duration::from_secs(300);
    let mut told_time = false;
    while now["repositories"][0]["state"] != "ready" {
        assert!(Instant::now() < give_up, "waited in vain for the vectors: {now:#}");
        tokio::time::sleep(Duration::from_millis(500)).await;
        now = post("/tools/index_status", json!({})).await["result"].take();
        let progress = &now["jobs"][0]["progress"];
        told_time |= progress["wordsReady"] == true && progress["secondsLeft"].is_u64();
    }
    assert!(told_time, "index_status tells the time left");
    assert_eq!(now["vectorsPending"], 0, "{now:#}");
    kill_process(Pid::from_child(&child.0), Signal::TERM).unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_run_says_in_plain_lines_what_can_be_used_already() {
    let (repository, project) = (repository(), project("lines"));
    let home = crate::harness::home();
    let output = program(home).args(["index", &repository.root(), "--project", &project]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let at = |part: &str| {
        lines.iter().position(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}: {said}"))
    };
    assert!(at("files ") < at("searchable by words now"), "{said}");
    let vectors = lines.iter().filter(|line| line.contains("searchable by words now; vectors "));
    let with_time = vectors.clone().find(|line| line.contains(" %") && line.ends_with(" left"));
    assert!(with_time.is_some(), "{said}");
    assert!(!said.contains('\u{1b}') && !said.contains('\r'), "{said:?}");
    let (_, quiet) = {
        let output = program(home)
            .args(["--quiet", "index", &repository.root(), "--project", &project])
            .output()
            .unwrap();
        (output.stdout, output.stderr)
    };
    assert_eq!(String::from_utf8_lossy(&quiet), "");

    // Over every surface: an answer once words are searchable. Here nothing is left to do, so the answer is whole.
    let arguments = json!({ "repoPath": repository.root(), "project_id": project, "wait": "words" });
    let done = result(&app_with_model(), "build_index", arguments).await;
    assert_eq!(
        (&done["state"], &done["report"]["filesChanged"]),
        (&json!("succeeded"), &json!(0)),
        "{done:#}"
    );
}
