//! Names and texts of strangers as people and agents get to see them: nothing in them moves a cursor, hides or reorders, and
//! every name still leads to its file.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::tree_gen::odd_names;
use crate::harness::{PROGRAM, Repository, app, home, project, result};
use crate::serving::Served;

/// A repository whose names and texts are odd, with an author to match.
fn repository() -> Repository {
    let repository = Repository::new(&[]);
    odd_names(repository.path());
    let name = "\u{1b}]0;author\u{7}\u{202e}Eve";
    for arguments in
        [&["init", "-q", "-b", "odd\u{202e}branch"][..], &["add", "-A"], &["commit", "-q", "-m", "odd"]]
    {
        let status = Command::new("git")
            .args(["-c", &format!("user.name={name}"), "-c", "user.email=eve@example.com"])
            .args(arguments)
            .current_dir(repository.path())
            .status()
            .unwrap();
        assert!(status.success(), "{arguments:?}");
    }
    repository
}

/// What a terminal would obey in `text`, once our own colours are taken out.
fn obeyed(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut found = Vec::new();
    while let Some(at) = rest
        .find(|char: char| (char.is_control() && !matches!(char, '\n' | '\t' | '\r')) || is_reordering(char))
    {
        let behind = &rest[at..];
        let colour = behind
            .strip_prefix("\u{1b}[")
            .and_then(|code| Some(&code[..=code.find(|c: char| !c.is_ascii_digit() && c != ';')?]))
            // Ours are these: what a file brings would set others, or none at all.
            .filter(|code| ["0m", "1m", "2m", "4m", "31m", "32m", "33m", "36m"].contains(code));
        match colour {
            Some(code) => rest = &behind[2 + code.len()..],
            None => {
                found.push(behind.chars().take(20).collect::<String>().escape_default().to_string());
                rest = &behind[behind.chars().next().unwrap().len_utf8()..];
            }
        }
    }
    found
}

fn is_reordering(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

fn strings<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            found.push(name);
            strings(field, found);
        }),
        _ => {}
    }
}

fn assert_readable(what: &str, answer: &Value) {
    let mut found = Vec::new();
    strings(answer, &mut found);
    for text in found {
        assert!(!text.contains(is_reordering), "{what}: {text:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_files_are_called_and_hold_commands_no_terminal() {
    let (repository, id) = (repository(), project("odd"));
    let program = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(repository.path()).stdin(Stdio::null());
        // Without this, what is no colour of ours would be taken out because nobody reads it on a terminal.
        command.env("CLICOLOR_FORCE", "1").env("PAIROFCLEATS_HOME", home()).env_remove("NO_COLOR");
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        let found: Vec<String> = said.iter().flat_map(|text| obeyed(text)).collect();
        assert!(found.is_empty(), "{arguments:?}: {found:?}\n{said:?}");
        said.concat()
    };
    let root = repository.root();
    program(&["index", ".", "--project", &id, "--stub-embeddings"]);
    let mut shown = String::new();
    for number in 0..super::tree_gen::ODD_NAMES.len() {
        shown += &program(&["search", &format!("odd_name_{number}"), "--project", &id, "--top", "5"]);
    }
    assert!(shown.contains("\\u{1b}]0;title") && shown.contains("\\u{202e}"), "{shown}");
    for arguments in [
        &["search", "coin", "--project", &id, "--explain"][..],
        &["search", "odd", "--project", &id, "--author", "\u{1b}]0;author\u{7}"],
        &["search", "\u{1b}]0;x\u{7}", "--project", &id],
        &["index", "\u{1b}]0;x\u{7}", "--project", &id],
        &["search", "x", "--project", "\u{1b}]0;x\u{7}"],
        &["projects", "list"],
        &["projects", "model", &id],
        &["status", "--project", &id],
        &[
            "call",
            "show_file",
            "--args",
            &json!({ "path": "\u{1b}]0;title\u{7}.py", "project_id": id }).to_string(),
        ],
        &["call", "\u{1b}]0;x\u{7}"],
        &["doctor"],
        &["index", &root, "--project", &id, "--stub-embeddings", "--full"],
    ] {
        program(arguments);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_names_come_back_readable_and_lead_to_their_files() {
    let (repository, id) = (repository(), project("odd"));
    let app = app();
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": id })).await;
    for (tool, arguments) in [
        ("index_status", json!({ "project_id": id })),
        ("check_status", json!({ "project_id": id })),
        ("workspace_status", json!({})),
        ("report_artifacts", json!({ "project_id": id })),
        ("search", json!({ "query": "coin", "project_id": id, "output": "full", "top": 100 })),
        ("search_code", json!({ "query": "coin", "project_id": id, "limit": 50 })),
    ] {
        assert_readable(tool, &result(&app, tool, arguments).await);
    }
    // As an answer names a file, so it can be asked for.
    let mut files = 0;
    for number in 0..super::tree_gen::ODD_NAMES.len() {
        let asked = json!({ "query": format!("odd_name_{number}"), "project_id": id, "top": 4 });
        let found = result(&app, "search", asked).await;
        for hit in found["hits"].as_array().unwrap() {
            let shown = json!({ "path": hit["file"], "project_id": id });
            let shown = result(&app, "show_file", shown).await;
            assert_eq!(shown["path"], hit["file"]);
            assert!(shown["text"].as_str().unwrap().contains("def odd_name_"), "{shown:#}");
            assert_readable("show_file", &shown);
            files += 1;
        }
    }
    assert!(files >= 30, "{files}");
    // The same over MCP: lists, resources, and texts for reading, whose lines are ours.
    let served = Served::over(
        crate::harness::app_with(|config| config.server.port = 0),
        pairofcleats::tools::Toolbox::standard(),
    )
    .await;
    let session = served.open("/mcp", None).await;
    let ask = async |method: &str, params: Value| {
        let request = crate::harness::http()
            .post(&session.url)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-session-id", &session.id)
            .header("x-pairofcleats-project", &id)
            .json(&json!({ "jsonrpc": "2.0", "id": 3, "method": method, "params": params }));
        crate::serving::message(request.send().await.unwrap()).await
    };
    let listed = ask("resources/list", json!({})).await;
    assert_readable("resources/list", &listed);
    let resources = listed["result"]["resources"].as_array().unwrap();
    assert!(resources.len() >= 40, "{listed:#}");
    for resource in resources {
        let read = ask("resources/read", json!({ "uri": resource["uri"] })).await;
        assert!(read["result"]["contents"][0]["text"].is_string(), "{}: {read:#}", resource["uri"]);
    }
    let text = short(&served, &id).await;
    assert!(text.contains("\\u{1b}]0;title"), "{text}");
    assert!(
        !text.lines().any(|line| line == "1 of 1 hits" || line.starts_with("next: show_file {}")),
        "{text}"
    );
    assert!(obeyed(&text).is_empty(), "{text:?}");
    served.stop().await;
}

/// Hits as an agent reads them that wants few tokens.
async fn short(served: &Served, id: &str) -> String {
    let session = served.open("/mcp", None).await;
    let asked = json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {
        "name": "search", "arguments": { "query": "coin", "project_id": id, "top": 100 } } });
    let request = crate::harness::http()
        .post(&session.url)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-session-id", &session.id)
        .header("x-mcp-text", "short")
        .json(&asked);
    let answer = crate::serving::message(request.send().await.unwrap()).await;
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned()
}
