//! The first ten minutes: an answer as soon as words are searchable, while vectors are computed in the background.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{PROGRAM, Repository, app_with_model, http, new_home, project, result};

/// A repository whose files take the real model a few seconds to embed.
fn repository() -> Repository {
    repository_of(40)
}

fn repository_of(files: usize) -> Repository {
    let repository =
        Repository::new(&[("README.md", "# Tasks\n\nThis program hands out many tasks to workers.\n")]);
    for file in 0..files {
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

/// A child process that is killed at the end of a test, even of a failed one.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn envelope(output: &Output) -> Value {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout} {stderr}"))
}

fn status(home: &Path) -> Value {
    let mut answer = envelope(&program(home).args(["call", "index_status", "--json"]).output().unwrap());
    answer["result"].take()
}

fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !reached() {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn once_answers_lexically_and_leaves_the_vectors_to_a_background_process() {
    let (home, repository) = (new_home("once"), repository());
    let root = repository.root();
    let once = ["quickstart", &root, "--once", "hand out tasks", "--json"];
    let output = program(&home).args(once).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer = envelope(&output);
    assert!(output.status.success() && !answer["result"]["hits"][0].is_null(), "{answer:#}\n{stderr}");
    assert_eq!(answer["result"]["vectors"], "none", "vectors were waited for: {answer:#}");
    let warned =
        |code: &str| answer["_meta"]["warnings"].as_array().unwrap().iter().any(|w| w["code"] == code);
    assert!(warned("vectors_pending") && warned("index_running"), "{answer:#}");
    let line = stderr
        .lines()
        .find(|line| line.contains("semantic search follows"))
        .unwrap_or_else(|| panic!("{stderr}"));
    assert!(line.contains("in the background") && line.contains("vectors "), "{line}");
    // On a very busy machine there is no first vector yet, and so no estimate.
    assert!(line.contains(" left") || line.contains(" (0/"), "the estimate is missing: {line}");

    // Only the background process is working now.
    let mut index_status = status(&home);
    assert!(
        index_status["vectorsPending"].as_u64().unwrap() > 0,
        "the vectors came too early to prove anything: {index_status:#}"
    );
    wait_until("the vectors", || {
        index_status = status(&home);
        index_status["repositories"][0]["state"] == "ready"
    });
    assert_eq!(
        (&index_status["vectorsPending"], &index_status["jobs"][0]["state"]),
        (&json!(0), &json!("succeeded")),
        "{index_status:#}"
    );
    assert_eq!(
        index_status["jobs"].as_array().unwrap().len(),
        1,
        "the background process must continue the run, not start another: {index_status:#}"
    );

    // Once all vectors exist, the same command searches by vectors too and starts no background process.
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
async fn the_server_answers_while_vectors_are_computed() {
    let (home, repository) = (new_home("serving"), repository());
    let child = program(&home)
        .args(["quickstart", &repository.root(), "--port", "0", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut child = KillOnDrop(child);
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let url = ready["result"]["url"].as_str().unwrap().to_owned();
    let post = async |path: &str, body: Value| -> Value {
        let sent = http().post(format!("{url}{path}")).header("content-type", "application/json");
        serde_json::from_str(&sent.body(body.to_string()).send().await.unwrap().text().await.unwrap())
            .unwrap()
    };
    let mut index_status = post("/tools/index_status", json!({})).await["result"].take();
    assert!(
        index_status["vectorsPending"].as_u64().unwrap() > 0,
        "the server answered only after the vectors were complete: {index_status:#}"
    );
    let found = post("/search", json!({ "query": "hand out tasks" })).await;
    assert!(!found["result"]["search"]["hits"][0].is_null(), "{found:#}");
    let deadline = Instant::now() + Duration::from_secs(300);
    let mut showed_time_left = false;
    while index_status["repositories"][0]["state"] != "ready" {
        assert!(Instant::now() < deadline, "timed out waiting for the vectors: {index_status:#}");
        tokio::time::sleep(Duration::from_millis(500)).await;
        index_status = post("/tools/index_status", json!({})).await["result"].take();
        let progress = &index_status["jobs"][0]["progress"];
        showed_time_left |= progress["wordsReady"] == true && progress["secondsLeft"].is_u64();
    }
    assert!(showed_time_left, "index_status never showed the time left");
    assert_eq!(index_status["vectorsPending"], 0, "{index_status:#}");
    kill_process(Pid::from_child(&child.0), Signal::TERM).unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_run_prints_when_lexical_search_is_ready() {
    // Long enough for two lines on a fast machine: lines are at least three seconds apart.
    let (repository, project) = (repository_of(160), project("lines"));
    let home = crate::harness::home();
    let output = program(home).args(["index", &repository.root(), "--project", &project]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    let lines: Vec<&str> = stderr.lines().collect();
    let at = |part: &str| {
        lines.iter().position(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}: {stderr}"))
    };
    assert!(at("files ") < at("lexical search is ready"), "{stderr}");
    let vectors = lines.iter().filter(|line| line.contains("lexical search is ready; vectors "));
    let with_time = vectors.clone().find(|line| line.contains(" %") && line.ends_with(" left"));
    assert!(with_time.is_some(), "{stderr}");
    assert!(!stderr.contains('\u{1b}') && !stderr.contains('\r'), "{stderr:?}");
    let (_, quiet) = {
        let output = program(home)
            .args(["--quiet", "index", &repository.root(), "--project", &project])
            .output()
            .unwrap();
        (output.stdout, output.stderr)
    };
    assert_eq!(String::from_utf8_lossy(&quiet), "");

    // With `wait: "words"` the tool answers once words are searchable. Nothing has changed, so the run is already complete.
    let arguments = json!({ "repoPath": repository.root(), "project_id": project, "wait": "words" });
    let done = result(&app_with_model(), "build_index", arguments).await;
    assert_eq!(
        (&done["state"], &done["report"]["filesChanged"]),
        (&json!("succeeded"), &json!(0)),
        "{done:#}"
    );
}
