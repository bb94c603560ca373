//! The first contact with the program: mistakes are answered with what is wrong and what to do, and pipes get plain text.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::{
    PROGRAM, Repository, app, home, home_with_few_projects, http, modules, project, result,
};
use crate::serving::send_json;

/// Runs the program with its output piped, and with further environment variables: exit code, stdout, stderr.
fn run_with(home: &Path, env: &[(&str, &str)], args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(PROGRAM);
    command.args(args).env("PAIROFCLEATS_HOME", home).env_remove("DATABASE_URL").env_remove("NO_COLOR");
    command.env("TERM", "xterm-256color").envs(env.iter().copied());
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

fn run(home: &Path, args: &[&str]) -> (i32, String, String) {
    run_with(home, &[], args)
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_assets_are_reported_with_their_path_to_local_callers_only() {
    let empty = tempfile::tempdir().unwrap();
    let folder_path = empty.path().to_string_lossy().into_owned();
    for args in
        [&["search", "x"][..], &["index", "."], &["call", "search", "{\"query\":\"x\"}"], &["projects"]]
    {
        let (code, stdout, stderr) = run(empty.path(), args);
        let output = format!("{stdout}{stderr}");
        assert_eq!(code, 1, "{args:?}: {output}");
        assert!(output.contains("is not installed"), "{args:?}: {output}");
        assert!(
            output.contains(&format!("{folder_path}/runtime/")),
            "{args:?} must say where it looked: {output}"
        );
        assert!(output.contains("pairofcleats bootstrap"), "{args:?} must say how to install it: {output}");
    }
    let app = crate::harness::app_in(empty.path(), |config| config.server.port = 0);
    let served = crate::serving::TestServer::over(app, modules().tools()).await;
    for (tool, arguments) in [("search", json!({ "query": "x" })), ("check_status", json!({}))] {
        let (_, body) =
            send_json(http().post(served.url_of(&format!("/tools/{tool}"))).json(&arguments)).await;
        let output = body.to_string();
        assert!(output.contains("is not installed") && output.contains("pairofcleats bootstrap"), "{output}");
        assert!(!output.contains(&folder_path), "{output}");
    }
    served.stop().await;
}

/// Quickstart uses a server of the same data directory that already listens on the port. If another program does, quickstart
/// fails before it does any work.
#[tokio::test(flavor = "multi_thread")]
async fn quickstart_uses_its_own_server_and_refuses_the_port_of_another_program() {
    let (repository, project) = (Repository::new(&[("a.py", "def a():\n    pass\n")]), project("taken"));
    let other_program = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other_program.local_addr().unwrap().port().to_string();
    let quickstart = |port: &str| {
        let root = repository.root();
        run(home_with_few_projects(), &["quickstart", &root, "--project", &project, "--port", port])
    };
    let (code, stdout, stderr) = quickstart(&port);
    assert_eq!(code, 1, "{stdout}{stderr}");
    assert!(stderr.contains("in use") || stdout.contains("in use"), "{stdout}{stderr}");
    assert!(!stdout.contains("searchable"), "it must fail before it indexes: {stdout}{stderr}");
    let (code, stdout, _) =
        run(home_with_few_projects(), &["doctor", "--set", &format!("server.port={port}")]);
    assert!(stdout.contains("is in use"), "{code} {stdout}");
    drop(other_program);

    let mut server = Command::new(PROGRAM);
    server.args(["serve", "--port", &port, "--json"]).env("PAIROFCLEATS_HOME", home_with_few_projects());
    let mut server = server
        .env_remove("DATABASE_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(server.stdout.take().unwrap()), &mut line)
        .unwrap();
    let (code, stdout, stderr) = quickstart(&port);
    let (_, checked, _) = run(home_with_few_projects(), &["doctor", "--set", &format!("server.port={port}")]);
    let (second_code, second_stdout, second_stderr) =
        run(home_with_few_projects(), &["serve", "--port", &port]);
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains(&format!("Already serving at http://127.0.0.1:{port}")), "{stdout}{stderr}");
    assert!(checked.contains("✓ server address") && checked.contains("for this data directory"), "{checked}");
    assert!(!checked.contains("Stop the program that uses it"), "{checked}");
    let second = format!("{second_stdout}{second_stderr}");
    assert!(second_code == 1 && second.contains("is in use"), "a second server: {second_code} {second}");
}

/// A mistake in the settings is reported with the key, its file and the nearest key, but without internals of the loader.
#[test]
fn a_misspelt_setting_is_reported_with_its_file_and_the_nearest_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    let folder_path = file.to_string_lossy().into_owned();
    std::fs::write(&file, "[search]\ntop_defalt = 3\n").unwrap();
    let (code, _, output) = run(folder.path(), &["tools"]);
    assert_eq!(code, 2, "{output}");
    assert!(
        output.contains(&format!(
            "unknown setting `search.top_defalt` in {folder_path}; did you mean `search.top_default`?"
        )),
        "{output}"
    );
    std::fs::write(&file, "").unwrap();
    let (_, _, output) = run(folder.path(), &["tools", "--set", "search.top_default=\"many\""]);
    assert!(output.contains("`search.top_default`: \"many\" is not a whole number"), "{output}");
    assert!(output.contains("--set"), "{output}");
    assert!(!output.contains("load.rs") && !output.contains("figment"), "{output}");
}

/// Arguments that are corrected, items that are rejected and projects that do not exist are reported.
#[tokio::test(flavor = "multi_thread")]
async fn corrected_arguments_and_rejected_items_are_reported() {
    let (app, project) = (app(), project("silence"));
    let repository = Repository::new(&[("a.py", "def first():\n    pass\n")]);
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let arguments = json!({ "query": "first", "top": 0, "project_id": project });
    let answer = crate::harness::call(&app, "search", arguments).await;
    assert_eq!(answer["_meta"]["warnings"][0]["code"], "top_raised", "{answer:#}");

    let name = repository.path().file_name().unwrap().to_str().unwrap();
    let again = result(&app, "build_index", json!({ "repoPath": name, "project_id": project })).await;
    assert_eq!(
        again["report"]["filesUnchanged"], 1,
        "a repository may be given by name instead of by path: {again:#}"
    );

    let items = repository.path().join("items.jsonl");
    std::fs::write(&items, "{\"findingId\":\"F-1\",\"title\":\"one\"}\n5\n[]\n").unwrap();
    let arguments =
        ["triage", "ingest", "generic", items.to_str().unwrap(), "--project", &project, "--no-index"];
    let (code, stdout, stderr) = run(home(), &arguments);
    assert_eq!(code, 1, "the exit code must show that items were rejected: {stdout}{stderr}");
    assert!(stdout.contains("items were rejected"), "{stdout}{stderr}");

    let absent = crate::harness::project("not-created");
    let create = ["keys", "create", "--name", "n", "--project", &absent, "--json"];
    let (code, stdout, stderr) = run(home(), &create);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let created: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(created["result"]["projectsAbsent"], json!([absent]), "{created:#}");
    assert!(stderr.contains(&format!("Not yet created: {absent}.")), "{stderr}");
}

/// A permitted root that does not exist is reported as missing, by `index` and by `doctor`.
#[test]
fn a_permitted_root_that_does_not_exist_is_reported() {
    let setting = "indexing.project_roots={client-a=[\"/no/such/root\"]}";
    let (code, stdout, stderr) =
        run(home_with_few_projects(), &["index", "/no/such/root", "--project", "client-a", "--set", setting]);
    let output = format!("{stdout}{stderr}");
    assert_eq!(code, 1, "{output}");
    assert!(
        output.contains("/no/such/root does not exist") && !output.contains("Ask the operator"),
        "{output}"
    );
    let (code, stdout, _) = run(home_with_few_projects(), &["doctor", "--set", setting]);
    assert_ne!(code, 0, "{stdout}");
    assert!(
        stdout.contains("✗ may index  /no/such/root in indexing.project_roots.client-a does not exist"),
        "{stdout}"
    );
    assert!(stdout.contains("; into client-a only from /no/such/root"), "{stdout}");
}

#[test]
fn a_path_that_does_not_exist_is_named_in_the_error() {
    for args in [
        &["index", "no/such/folder"][..],
        &["index", "/no/such/folder"],
        &["call", "build_index", "{\"repoPath\":\"/no/such/folder\"}"],
        &["watch", "/no/such/folder"],
    ] {
        let (code, stdout, stderr) = run(home(), args);
        let output = format!("{stdout}{stderr}");
        assert_ne!(code, 0, "{args:?}: {output}");
        assert!(
            output.contains("no/such/folder") && !output.contains("machine where the server"),
            "{args:?}: {output}"
        );
    }
}

#[test]
fn call_accepts_its_arguments_as_json_after_the_tool_name() {
    let arguments = json!({ "path": "x.py", "project_id": "nowhere-to-be-found" }).to_string();
    let (code, stdout, stderr) = run(home(), &["call", "show_file", &arguments]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    let envelope: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(envelope["_meta"]["project_id"], "nowhere-to-be-found", "{envelope:#}");
    let (code, _, stderr) = run(home(), &["call", "check_status", "{\"a\":"]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("JSON") && stderr.contains("hint:"), "{stderr}");
    let (code, ..) = run(home(), &["call", "check_status", "{}", "--args", "{}"]);
    assert_eq!(code, 2, "the arguments were given twice");
}

#[test]
fn a_misspelt_command_suggests_the_right_one() {
    for (wrong, right) in [("serch", "search"), ("idnex", "index"), ("quikstart", "quickstart")] {
        let (code, _, stderr) = run(home(), &[wrong]);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(wrong) && stderr.contains(&format!("'{right}'")), "{stderr}");
        let (code, stdout, _) = run(home(), &[wrong, "--json"]);
        let envelope: Value =
            serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
        assert_eq!((code, &envelope["error"]["code"]), (2, &json!("INVALID_REQUEST")), "{envelope:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pipes_get_no_colour_unless_it_is_forced() {
    let commands: &[&[&str]] = &[
        &["tools"],
        &["doctor"],
        &["-vv", "tools"],
        &["-vv", "call", "check_status"],
        &["-vv", "search", "x", "--project", "nowhere-to-be-found"],
        &["serve", "--bind", "nowhere"],
        &["--help"],
        &["serch"],
        &["models"],
    ];
    for args in commands {
        let (_, stdout, stderr) = run(home_with_few_projects(), args);
        assert!(!stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'), "{args:?}: {stdout}{stderr}");
        let (_, stdout, stderr) =
            run_with(home_with_few_projects(), &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], args);
        assert!(
            !stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'),
            "NO_COLOR, {args:?}: {stdout}{stderr}"
        );
    }
    let (_, stdout, stderr) =
        run_with(home_with_few_projects(), &[("CLICOLOR_FORCE", "1")], &["-vv", "call", "check_status"]);
    assert!(stderr.contains('\u{1b}'), "{stdout}{stderr}");
    // The log of a server has no colour either.
    let mut child = Command::new(PROGRAM)
        .args(["mcp", "-vv"])
        .env("PAIROFCLEATS_HOME", home_with_few_projects())
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert!(!output.stderr.contains(&0x1b), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_prints_query_filters_terms_and_weights() {
    let (project, repository) = (
        project("explained"),
        Repository::new(&[
            ("cash.py", "def drawer(coins):\n    return sum(coins)\n"),
            ("bank.rs", "fn drawer(gold: u64) -> u64 {\n    gold\n}\n"),
        ]),
    );
    result(&app(), "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let search =
        ["search", "drawer coins \"coins\"", "--project", &project, "--lang", "python", "--mode", "code"];
    let (code, plain, stderr) = run(home(), &search);
    assert_eq!(code, 0, "{plain}{stderr}");
    let (code, explained, stderr) = run(home(), &[&search[..], &["--explain"]].concat());
    assert_eq!(code, 0, "{explained}{stderr}");
    assert!(plain.contains("cash.py:1") && explained.contains("cash.py:1"), "{explained}");
    for part in
        ["query drawer coins", "lang = python", "mode = code", "\"coins\"", "terms ", "lexical ", "weights "]
    {
        assert!(explained.contains(part) && !plain.contains(part), "{part}: {explained}\n{plain}");
    }
}
