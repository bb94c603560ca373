//! Real processes: concurrent runs, killed runs and supervisors, stdio, exit codes, and keys on the command line.

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

fn parse_stdout(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: {} {}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

fn call_tool(name: &str, arguments: &Value) -> Value {
    parse_stdout(&command(&["call", name, "--args", &arguments.to_string()]).output().unwrap())
}

/// A repository with distinct texts, so that embedding it takes the real model a while.
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

fn wait_until(condition: &str, mut reached: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !reached() {
        assert!(Instant::now() < deadline, "timed out waiting for: {condition}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_killed_run_is_resumed_and_nothing_is_embedded_twice() {
    let (repository, project) = (large_repository(150), project("crash"));
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let mut killed = command(&["call", "build_index", "--args", &arguments.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let vectors = || {
        call_tool("index_status", &json!({ "project_id": project }))["result"]["vectors"]
            .as_u64()
            .unwrap_or(0)
    };
    wait_until("the first vectors", || vectors() > 0);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let state =
        || call_tool("index_status", &json!({ "project_id": project }))["result"]["jobs"][0]["state"].clone();
    wait_until("the dead run to be queued again after its lease expired", || state() == "queued");
    // Counted only now, because Postgres may still have committed what was sent before the kill.
    let before = vectors();

    let waiting = &call_tool("index_status", &json!({ "project_id": project }))["result"]["jobs"][0];
    assert!(waiting["note"].as_str().is_some_and(|note| note.contains("ended")), "{waiting:#}");
    let report = &call_tool("build_index", &arguments)["result"]["report"];
    assert!(report["notes"].to_string().contains("The process that ran it ended"), "{report:#}");
    let embedded = report["vectorsEmbedded"].as_u64().unwrap();
    let status = &call_tool("index_status", &json!({ "project_id": project }))["result"];
    assert_eq!(report["filesChanged"], 0, "committed files are not written again: {report:#}");
    assert_eq!(report["vectorsPending"], 0, "{report:#}");
    assert_eq!(status["vectors"].as_u64().unwrap(), before + embedded, "before {before}, {status:#}");
    assert!(embedded < status["vectors"].as_u64().unwrap(), "the run was killed too late for this test");
    assert_eq!(status["repositories"][0]["state"], "ready", "{status:#}");
}

#[test]
fn concurrent_processes_do_the_work_once() {
    let (repository, project) = (large_repository(40), project("two"));
    let arguments = json!({ "repoPath": repository.root(), "project_id": project }).to_string();
    let start =
        || command(&["call", "build_index", "--args", &arguments]).stdout(Stdio::piped()).spawn().unwrap();
    let (first, second) = (start(), start());
    let answers = [first, second].map(|child: Child| parse_stdout(&child.wait_with_output().unwrap()));
    for answer in &answers {
        assert_eq!(answer["ok"], true, "{answer:#}");
        assert_eq!(answer["result"]["report"]["files"], 40, "{answer:#}");
    }
    let embedded: Vec<u64> = answers
        .iter()
        .map(|answer| answer["result"]["report"]["vectorsEmbedded"].as_u64().unwrap())
        .collect();
    let status = &call_tool("index_status", &json!({ "project_id": project }))["result"];
    let attached = answers[0]["result"]["jobId"] == answers[1]["result"]["jobId"];
    let work = if attached { embedded[0] } else { embedded.iter().sum() };
    assert_eq!(status["vectors"], work, "{embedded:?} {status:#}");
}

#[test]
fn exit_codes_distinguish_failed_calls_from_refused_ones() {
    let code = |arguments: &[&str]| command(arguments).output().unwrap().status.code();
    assert_eq!(code(&["call", "check_status", "--args", "{}"]), Some(0));
    let missing = json!({ "query": "x", "project_id": project("none") }).to_string();
    assert_eq!(code(&["call", "search_code", "--args", &missing]), Some(1));
    assert_eq!(code(&["call", "search_code", "--args", r#"{"limit":5}"#]), Some(2));
    assert_eq!(code(&["call", "no_such_tool"]), Some(2));
    assert_eq!(code(&["--set", "server.port=notaport", "tools"]), Some(2));
}

#[test]
fn stdout_of_the_stdio_server_has_only_protocol_messages() {
    let mut server =
        command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut send = |message: Value| {
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    };
    send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } }));
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let initialized = next();
    assert_eq!(initialized["result"]["protocolVersion"], "2025-11-25", "{initialized:#}");
    send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    send(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
    assert_eq!(
        next()["result"]["tools"].as_array().unwrap().len(),
        crate::serving::listed_by_default().len()
    );
    send(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
        "name": "check_status", "arguments": {} } }));
    let answer = next();
    assert_eq!(answer["result"]["structuredContent"]["ok"], true, "{answer:#}");
    drop(input);
    assert!(server.wait().unwrap().success());
}

#[test]
fn keys_are_created_listed_and_revoked_on_the_command_line() {
    let run = |arguments: &[&str]| command(arguments).output().unwrap();
    let project = project("keys");
    let created =
        run(&["keys", "create", "--name", "ci", "--project", &project, "--scopes", "search,index", "--json"]);
    let created = parse_stdout(&created)["result"].clone();
    let (id, key) = (created["id"].as_str().unwrap(), created["key"].as_str().unwrap());
    assert!(key.starts_with(&format!("poc_{id}_")), "{created}");

    let listed = || {
        let keys = parse_stdout(&run(&["keys", "list", "--json"]))["result"]["keys"].clone();
        let entry = keys.as_array().unwrap().iter().find(|key| key["id"] == id).cloned();
        entry.unwrap_or_else(|| panic!("{keys:#}"))
    };
    let entry = listed();
    assert_eq!((&entry["state"], &entry["projects"]), (&json!("live"), &json!([project])), "{entry:#}");
    assert_eq!(entry["scopes"], json!(["search", "index"]));
    assert!(entry["expiresAt"].is_string(), "the default is 90 days: {entry:#}");
    let printed = run(&["keys", "list"]);
    assert!(!String::from_utf8_lossy(&printed.stdout).contains(key), "a key is shown once");

    assert!(run(&["keys", "revoke", id]).status.success());
    assert_eq!(listed()["state"], "revoked");
    let code = |arguments: &[&str]| run(arguments).status.code();
    assert_eq!(code(&["keys", "revoke", id]), Some(1), "a key is revoked only once");
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
    let refusal = run(&["keys", "create", "--name", "x"]).stderr;
    let refusal = String::from_utf8_lossy(&refusal);
    assert!(refusal.contains("--project") && refusal.contains("--all-projects"), "{refusal}");
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
    assert_eq!(parse_stdout(&answer)["ok"], true);
    let leftovers: Vec<_> =
        std::fs::read_dir(user.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
}

/// A child process that is killed on drop, even when the test fails.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The supervisor of the cluster below `home`, found by its command line.
fn supervisor_of(home: &std::path::Path) -> Option<i32> {
    // A whole part of the path: the name of one home may begin that of another.
    let root = format!("\"{}/", home.display());
    std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let is_supervisor = line.contains("postgres-supervisor") && line.contains(&root);
        is_supervisor.then(|| entry.file_name().to_str()?.parse().ok()).flatten()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_restarts_its_database_when_the_supervisor_is_killed() {
    let home = new_home("revived");
    let mut server = KilledOnDrop(
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
        let response = http().get(format!("{url}/status")).send().await;
        let Ok(answer) = response else { return false };
        answer.json::<Value>().await.is_ok_and(|status| status["result"]["status"]["database"].is_object())
    };
    let wait_until_healthy = async |condition: &str| {
        for _ in 0..600 {
            if healthy().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("timed out waiting for {condition}");
    };
    wait_until_healthy("the database").await;
    let before = supervisor_of(&home).expect("a supervisor");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(before).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    wait_until("another supervisor", || supervisor_of(&home).is_some_and(|pid| pid != before));
    wait_until_healthy("the database to be back").await;
    drop(server);
    wait_until("the cluster to be gone", || supervisor_of(&home).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_the_command_line_continues_when_the_supervisor_is_killed() {
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
        parse_stdout(&answer)["result"]["vectors"].as_u64().unwrap_or(0)
    };
    wait_until("the first vectors", || vectors() > 0);
    let kill = || {
        let supervisor = supervisor_of(&home).expect("a supervisor");
        let pid = rustix::process::Pid::from_raw(supervisor).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        wait_until("the supervisor to be gone", || supervisor_of(&home) != Some(supervisor));
    };
    kill();
    // A new process at this moment starts the cluster or waits for the process that does.
    let answer = parse_stdout(&in_home(&["call", "check_status", "--args", "{}"]).output().unwrap());
    assert_eq!(answer["ok"], true, "{answer:#}");
    kill();
    let answer = parse_stdout(&run.wait_with_output().unwrap());
    assert_eq!(answer["ok"], true, "{answer:#}");
    let report = &answer["result"]["report"];
    assert_eq!(report["vectorsPending"], 0, "{report:#}");
    assert!(report["vectorsEmbedded"].as_u64().unwrap() <= vectors(), "embedded twice: {report:#}");
    assert_eq!(vectors(), 60, "{report:#}");
}
