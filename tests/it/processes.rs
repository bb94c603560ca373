//! Real processes: two at once, a crash in the middle of a run, stdio.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{PROGRAM, Repository, home, http, new_home, project};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env("PAIROFCLEATS_HOME", home()).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: {} {}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

fn tool(name: &str, arguments: &Value) -> Value {
    json_of(&command(&["call", name, "--args", &arguments.to_string()]).output().unwrap())
}

/// A repository whose texts all differ, so that embedding it takes the real model a while.
fn large_repository(files: usize) -> Repository {
    let repository = Repository::new(&[]);
    for file in 0..files {
        let text: String = (0..12)
            .map(|n| format!("def task_{file}_{n}(value):\n    partial = value * {n} + {file}\n    return [partial] * {n}\n\n"))
            .collect();
        repository.write(&format!("pkg/module_{file}.py"), &text);
    }
    repository
}

fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(120);
    while !reached() {
        assert!(Instant::now() < give_up, "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_killed_run_is_resumed_and_nothing_is_embedded_twice() {
    let (repository, project) = (large_repository(150), project("crash"));
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let mut victim = command(&["call", "build_index", "--args", &arguments.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let vectors =
        || tool("index_status", &json!({ "project_id": project }))["result"]["vectors"].as_u64().unwrap_or(0);
    wait_until("the first vectors", || vectors() > 0);
    victim.kill().unwrap();
    victim.wait().unwrap();
    let state =
        || tool("index_status", &json!({ "project_id": project }))["result"]["jobs"][0]["state"].clone();
    wait_until("the dead run to be shown as waiting, once its lease is over", || state() == "queued");
    // Only now: the server may still have committed what it was sent before the kill.
    let before = vectors();

    let waiting = &tool("index_status", &json!({ "project_id": project }))["result"]["jobs"][0];
    assert!(waiting["note"].as_str().is_some_and(|note| note.contains("ended")), "{waiting:#}");
    let report = &tool("build_index", &arguments)["result"]["report"];
    assert!(report["notes"].to_string().contains("The process that ran it ended"), "{report:#}");
    let embedded = report["vectorsEmbedded"].as_u64().unwrap();
    let status = &tool("index_status", &json!({ "project_id": project }))["result"];
    assert_eq!(report["filesChanged"], 0, "committed files are not written again: {report:#}");
    assert_eq!(report["vectorsPending"], 0, "{report:#}");
    assert_eq!(status["vectors"].as_u64().unwrap(), before + embedded, "before {before}, {status:#}");
    assert!(embedded < status["vectors"].as_u64().unwrap(), "the kill came too late to prove anything");
    assert_eq!(status["repositories"][0]["state"], "ready", "{status:#}");
}

#[test]
fn two_processes_at_once_do_the_work_once() {
    let (repository, project) = (large_repository(40), project("two"));
    let arguments = json!({ "repoPath": repository.root(), "project_id": project }).to_string();
    let start =
        || command(&["call", "build_index", "--args", &arguments]).stdout(Stdio::piped()).spawn().unwrap();
    let (one, two) = (start(), start());
    let answers = [one, two].map(|child: Child| json_of(&child.wait_with_output().unwrap()));
    for answer in &answers {
        assert_eq!(answer["ok"], true, "{answer:#}");
        assert_eq!(answer["result"]["report"]["files"], 40, "{answer:#}");
    }
    let embedded: Vec<u64> = answers
        .iter()
        .map(|answer| answer["result"]["report"]["vectorsEmbedded"].as_u64().unwrap())
        .collect();
    let status = &tool("index_status", &json!({ "project_id": project }))["result"];
    let attached = answers[0]["result"]["jobId"] == answers[1]["result"]["jobId"];
    let work = if attached { embedded[0] } else { embedded.iter().sum() };
    assert_eq!(status["vectors"], work, "{embedded:?} {status:#}");
}

#[test]
fn exit_codes_tell_failed_from_not_run() {
    let code = |arguments: &[&str]| command(arguments).output().unwrap().status.code();
    assert_eq!(code(&["call", "check_status", "--args", "{}"]), Some(0));
    let missing = json!({ "query": "x", "project_id": project("none") }).to_string();
    assert_eq!(code(&["call", "search_code", "--args", &missing]), Some(1));
    assert_eq!(code(&["call", "search_code", "--args", r#"{"limit":5}"#]), Some(2));
    assert_eq!(code(&["call", "no_such_tool"]), Some(2));
    assert_eq!(code(&["--set", "server.port=notaport", "tools"]), Some(2));
}

#[test]
fn stdout_of_the_stdio_server_is_protocol_only() {
    let mut server =
        command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut ask = |message: Value| {
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    };
    ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } }));
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let hello = next();
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25", "{hello:#}");
    ask(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    ask(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
    assert_eq!(next()["result"]["tools"].as_array().unwrap().len(), pairofcleats::tools::LIST.len());
    ask(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
        "name": "check_status", "arguments": {} } }));
    let answer = next();
    assert_eq!(answer["result"]["structuredContent"]["ok"], true, "{answer:#}");
    drop(input);
    assert!(server.wait().unwrap().success());
}

#[test]
fn keys_are_made_listed_and_revoked_on_the_command_line() {
    let run = |arguments: &[&str]| command(arguments).output().unwrap();
    let project = project("keys");
    let made =
        run(&["keys", "create", "--name", "ci", "--project", &project, "--scopes", "search,index", "--json"]);
    let made = json_of(&made)["result"].clone();
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    assert!(key.starts_with(&format!("poc_{id}_")), "{made}");

    let listed = || {
        let keys = json_of(&run(&["keys", "list", "--json"]))["result"]["keys"].clone();
        let mine = keys.as_array().unwrap().iter().find(|key| key["id"] == id).cloned();
        mine.unwrap_or_else(|| panic!("{keys:#}"))
    };
    let mine = listed();
    assert_eq!((&mine["state"], &mine["projects"]), (&json!("live"), &json!([project])), "{mine:#}");
    assert_eq!(mine["scopes"], json!(["search", "index"]));
    assert!(mine["expiresAt"].is_string(), "90 days unless told otherwise: {mine:#}");
    let told = run(&["keys", "list"]);
    assert!(!String::from_utf8_lossy(&told.stdout).contains(key), "a key is shown once");

    assert!(run(&["keys", "revoke", id]).status.success());
    assert_eq!(listed()["state"], "revoked");
    let code = |arguments: &[&str]| run(arguments).status.code();
    assert_eq!(code(&["keys", "revoke", id]), Some(1), "only once");
    assert_eq!(code(&["keys", "revoke", "nonsense"]), Some(1));
    for wrong in [
        &["keys", "create", "--name", "x"][..],
        &["keys", "create", "--project", "a"],
        &["keys", "create", "--name", "x", "--project", "Not_One"],
        &["keys", "create", "--name", "x", "--project", "a", "--all-projects"],
        &["keys", "create", "--name", "x", "--all-projects", "--scopes", "everything"],
        &["keys", "create", "--name", "x", "--all-projects", "--expires", "soon"],
        &["keys", "create", "--name", " ", "--all-projects"],
    ] {
        assert_eq!(code(wrong), Some(2), "{wrong:?}");
    }
}

#[test]
fn the_model_runtime_leaves_nothing_in_the_users_home() {
    let user = tempfile::tempdir().unwrap();
    let repository = Repository::new(&[("a.py", "def quiet():\n    return 1\n")]);
    let arguments = json!({ "repoPath": repository.root(), "project_id": project("quiet") }).to_string();
    let answer = command(&["call", "build_index", "--args", &arguments])
        .env("HOME", user.path())
        .env_remove("XDG_CACHE_HOME")
        .env_remove("ORT_DISABLE_TELEMETRY")
        .output()
        .unwrap();
    assert_eq!(json_of(&answer)["ok"], true);
    let left: Vec<_> = std::fs::read_dir(user.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A child that does not outlive its test, also when that fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The supervisor of the cluster below `home`, found by its command line.
fn supervisor_of(home: &std::path::Path) -> Option<i32> {
    let home = home.to_string_lossy().into_owned();
    std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let ours = line.contains("postgres-supervisor") && line.contains(&home);
        ours.then(|| entry.file_name().to_str()?.parse().ok()).flatten()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_brings_its_database_back_when_the_supervisor_is_killed() {
    let home = new_home("revived");
    let mut server = Ended(
        command(&["--json", "serve", "--port", "0"])
            .env("PAIROFCLEATS_HOME", &home)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = serde_json::from_str::<Value>(&line).unwrap()["result"]["url"].as_str().unwrap().to_owned();
    let healthy = async || {
        let asked = http().get(format!("{url}/status")).send().await;
        let Ok(answer) = asked else { return false };
        answer.json::<Value>().await.is_ok_and(|status| status["result"]["status"]["database"].is_object())
    };
    let wait = async |what: &str| {
        for _ in 0..600 {
            if healthy().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("waited in vain for {what}");
    };
    wait("the database").await;
    let before = supervisor_of(&home).expect("a supervisor");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(before).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    wait_until("another supervisor", || supervisor_of(&home).is_some_and(|pid| pid != before));
    wait("the database to be back").await;
    drop(server);
    wait_until("the cluster to be gone", || supervisor_of(&home).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_the_command_line_goes_on_when_the_supervisor_is_killed() {
    let (home, repository, project) = (new_home("revived-run"), large_repository(60), project("revived"));
    let in_home = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.env("PAIROFCLEATS_HOME", &home);
        command
    };
    let arguments = json!({ "repoPath": repository.root(), "project_id": project }).to_string();
    let run = in_home(&["call", "build_index", "--args", &arguments])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = json!({ "project_id": project }).to_string();
    let vectors = || {
        let answer = in_home(&["call", "index_status", "--args", &status]).output().unwrap();
        json_of(&answer)["result"]["vectors"].as_u64().unwrap_or(0)
    };
    wait_until("the first vectors", || vectors() > 0);
    let kill = || {
        let supervisor = supervisor_of(&home).expect("a supervisor");
        let pid = rustix::process::Pid::from_raw(supervisor).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        wait_until("the supervisor to be gone", || supervisor_of(&home) != Some(supervisor));
    };
    kill();
    // Another process that comes right then starts the cluster, or waits for who does.
    let answer = json_of(&in_home(&["call", "check_status", "--args", "{}"]).output().unwrap());
    assert_eq!(answer["ok"], true, "{answer:#}");
    kill();
    let answer = json_of(&run.wait_with_output().unwrap());
    assert_eq!(answer["ok"], true, "{answer:#}");
    let report = &answer["result"]["report"];
    assert_eq!(report["vectorsPending"], 0, "{report:#}");
    assert!(report["vectorsEmbedded"].as_u64().unwrap() <= vectors(), "embedded twice: {report:#}");
    assert_eq!(vectors(), 60, "{report:#}");
}
