//! What somebody meets who is new here: mistakes say what is wrong and what to do, pipes get plain text, explanations explain.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::{PROGRAM, Repository, app, home, http, project, result};
use crate::serving::answer;

/// A run of the program as in a shell that pipes its output: exit code, stdout, stderr.
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
async fn what_is_not_installed_says_where_it_was_looked_for_but_not_to_strangers() {
    let empty = tempfile::tempdir().unwrap();
    let shown = empty.path().to_string_lossy().into_owned();
    for args in
        [&["search", "x"][..], &["index", "."], &["call", "search", "{\"query\":\"x\"}"], &["projects"]]
    {
        let (code, stdout, stderr) = run(empty.path(), args);
        let said = format!("{stdout}{stderr}");
        assert_eq!(code, 1, "{args:?}: {said}");
        assert!(said.contains("is not installed"), "{args:?}: {said}");
        assert!(said.contains(&format!("{shown}/runtime/")), "{args:?} says where it looked: {said}");
        assert!(said.contains("pairofcleats bootstrap"), "{args:?} says what mends it: {said}");
    }
    let app = crate::harness::app_in(empty.path(), |config| config.server.port = 0);
    let served = crate::serving::Served::over(app, pairofcleats::tools::Toolbox::standard()).await;
    for (tool, arguments) in [("search", json!({ "query": "x" })), ("check_status", json!({}))] {
        let (_, body) = answer(http().post(served.at(&format!("/tools/{tool}"))).json(&arguments)).await;
        let said = body.to_string();
        assert!(said.contains("is not installed") && said.contains("pairofcleats bootstrap"), "{said}");
        assert!(!said.contains(&shown), "{said}");
    }
    served.stop().await;
}

/// A server of the same data directory that has the port already is no obstacle, and a stranger is told before any work is done.
#[tokio::test(flavor = "multi_thread")]
async fn quickstart_recognises_its_own_server_and_tells_a_stranger_at_once() {
    let (repository, project) = (Repository::new(&[("a.py", "def a():\n    pass\n")]), project("taken"));
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = stranger.local_addr().unwrap().port().to_string();
    let quickstart = |port: &str| {
        let root = repository.root();
        run(home(), &["quickstart", &root, "--project", &project, "--port", port])
    };
    let (code, stdout, stderr) = quickstart(&port);
    assert_eq!(code, 1, "{stdout}{stderr}");
    assert!(stderr.contains("in use") || stdout.contains("in use"), "{stdout}{stderr}");
    assert!(!stdout.contains("searchable"), "no work before it: {stdout}{stderr}");
    let (code, stdout, _) = run(home(), &["doctor", "--set", &format!("server.port={port}")]);
    assert!(stdout.contains("is in use"), "{code} {stdout}");
    drop(stranger);

    let mut server = Command::new(PROGRAM);
    server.args(["serve", "--port", &port, "--json"]).env("PAIROFCLEATS_HOME", home());
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
    let (_, checked, _) = run(home(), &["doctor", "--set", &format!("server.port={port}")]);
    let (_, other, _) = run(home(), &["serve", "--port", &port]);
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains(&format!("Already serving at http://127.0.0.1:{port}")), "{stdout}{stderr}");
    assert!(checked.contains("✓ server address") && checked.contains("of this data directory"), "{checked}");
    assert!(!checked.contains("Stop what listens there"), "{checked} {other}");
}

/// Mistakes in settings name the key, where it stands and what was meant; nothing of how they are read.
#[test]
fn a_misspelt_setting_is_told_with_its_file_and_the_nearest_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    let shown = file.to_string_lossy().into_owned();
    std::fs::write(&file, "[search]\ntop_defalt = 3\n").unwrap();
    let (code, _, said) = run(folder.path(), &["tools"]);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains(&format!(
            "unknown setting `search.top_defalt` in {shown}; did you mean `search.top_default`?"
        )),
        "{said}"
    );
    std::fs::write(&file, "").unwrap();
    let (_, _, said) = run(folder.path(), &["tools", "--set", "search.top_default=\"many\""]);
    assert!(said.contains("`search.top_default`: invalid type") && said.contains("--set"), "{said}");
    assert!(!said.contains("load.rs") && !said.contains("figment"), "{said}");
}

/// What was taken otherwise than it was said, or in part, is said.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_passed_over_in_silence() {
    let (app, project) = (app(), project("silence"));
    let repository = Repository::new(&[("a.py", "def first():\n    pass\n")]);
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let ask = json!({ "query": "first", "top": 0, "project_id": project });
    let answer = crate::harness::call(&app, "search", ask).await;
    assert_eq!(answer["_meta"]["warnings"][0]["code"], "top_raised", "{answer:#}");

    let name = repository.path().file_name().unwrap().to_str().unwrap();
    let again = result(&app, "build_index", json!({ "repoPath": name, "project_id": project })).await;
    assert_eq!(again["report"]["filesUnchanged"], 1, "a name is as good as a path: {again:#}");

    let items = repository.path().join("items.jsonl");
    std::fs::write(&items, "{\"findingId\":\"F-1\",\"title\":\"one\"}\n5\n[]\n").unwrap();
    let arguments =
        ["triage", "ingest", "generic", items.to_str().unwrap(), "--project", &project, "--no-index"];
    let (code, stdout, stderr) = run(home(), &arguments);
    assert_eq!(code, 1, "a script notices what was no finding: {stdout}{stderr}");
    assert!(stdout.contains("items are no findings"), "{stdout}{stderr}");

    let absent = crate::harness::project("of-nobody");
    let made = ["keys", "create", "--name", "n", "--project", &absent, "--json"];
    let (code, stdout, stderr) = run(home(), &made);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let made: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(made["result"]["projectsAbsent"], json!([absent]), "{made:#}");
    assert!(stderr.contains(&format!("There is no project {absent} yet")), "{stderr}");
}

/// A list that holds a directory which is not there is told as that, by the call and by `doctor`.
#[test]
fn a_listed_root_that_is_not_there_is_told() {
    let setting = "indexing.project_roots={client-a=[\"/no/such/root\"]}";
    let (code, stdout, stderr) =
        run(home(), &["index", "/no/such/root", "--project", "client-a", "--set", setting]);
    let said = format!("{stdout}{stderr}");
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("/no/such/root does not exist") && !said.contains("Ask the operator"), "{said}");
    let (code, stdout, _) = run(home(), &["doctor", "--set", setting]);
    assert_ne!(code, 0, "{stdout}");
    assert!(
        stdout.contains("✗ may index  /no/such/root in indexing.project_roots.client-a does not exist"),
        "{stdout}"
    );
    assert!(stdout.contains("; into client-a only from /no/such/root"), "{stdout}");
}

#[test]
fn a_wrong_path_is_a_wrong_path() {
    for args in [
        &["index", "no/such/folder"][..],
        &["index", "/no/such/folder"],
        &["call", "build_index", "{\"repoPath\":\"/no/such/folder\"}"],
        &["watch", "/no/such/folder"],
    ] {
        let (code, stdout, stderr) = run(home(), args);
        let said = format!("{stdout}{stderr}");
        assert_ne!(code, 0, "{args:?}: {said}");
        assert!(
            said.contains("no/such/folder") && !said.contains("machine where the server"),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn call_takes_its_arguments_as_json_behind_the_name() {
    let arguments = json!({ "path": "x.py", "project_id": "nowhere-to-be-found" }).to_string();
    let (code, stdout, stderr) = run(home(), &["call", "show_file", &arguments]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    let envelope: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(envelope["_meta"]["project_id"], "nowhere-to-be-found", "{envelope:#}");
    let (code, _, stderr) = run(home(), &["call", "check_status", "{\"a\":"]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("JSON") && stderr.contains("hint:"), "{stderr}");
    let (code, ..) = run(home(), &["call", "check_status", "{}", "--args", "{}"]);
    assert_eq!(code, 2, "one of them");
}

#[test]
fn a_misspelt_command_is_told_the_right_one() {
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
        let (_, stdout, stderr) = run(home(), args);
        assert!(!stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'), "{args:?}: {stdout}{stderr}");
        let (_, stdout, stderr) = run_with(home(), &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], args);
        assert!(
            !stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'),
            "NO_COLOR, {args:?}: {stdout}{stderr}"
        );
    }
    let (_, stdout, stderr) = run_with(home(), &[("CLICOLOR_FORCE", "1")], &["-vv", "call", "check_status"]);
    assert!(stderr.contains('\u{1b}'), "{stdout}{stderr}");
    // A server's log, too.
    let mut child = Command::new(PROGRAM)
        .args(["mcp", "-vv"])
        .env("PAIROFCLEATS_HOME", home())
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
async fn an_explanation_on_the_command_line_explains() {
    let (project, repository) = (
        project("explained"),
        Repository::new(&[
            ("cash.py", "def drawer(coins):\n    return sum(coins)\n"),
            ("bank.rs", "fn drawer(gold: u64) -> u64 {\n    gold\n}\n"),
        ]),
    );
    result(&app(), "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let asked =
        ["search", "drawer coins \"coins\"", "--project", &project, "--lang", "python", "--mode", "code"];
    let (code, plain, stderr) = run(home(), &asked);
    assert_eq!(code, 0, "{plain}{stderr}");
    let (code, explained, stderr) = run(home(), &[&asked[..], &["--explain"]].concat());
    assert_eq!(code, 0, "{explained}{stderr}");
    assert!(plain.contains("cash.py:1") && explained.contains("cash.py:1"), "{explained}");
    for said in [
        "question drawer coins",
        "lang = python",
        "mode = code",
        "\"coins\"",
        "terms ",
        "lexical ",
        "weighed ",
    ] {
        assert!(explained.contains(said) && !plain.contains(&format!(" {said} ")), "{said}: {explained}");
    }
    assert!(!plain.contains("lexical"), "{plain}");
}
