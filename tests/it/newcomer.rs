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
