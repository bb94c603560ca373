//! Untrusted file names, author names and texts in the output: no control or bidirectional character reaches a terminal, and
//! each printed name still identifies its file.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::tree_gen::write_odd_names;
use crate::harness::{PROGRAM, Repository, app, home_with_few_projects, modules, project, result};
use crate::serving::TestServer;

/// A repository with odd file names, texts, branch and author.
fn repository() -> Repository {
    let repository = Repository::new(&[]);
    write_odd_names(repository.path());
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

/// Control and invisible characters of `text`, except for the colour codes that the program itself prints.
fn control_sequences(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut found = Vec::new();
    while let Some(at) = rest.find(|char: char| {
        (char.is_control() && !matches!(char, '\n' | '\t' | '\r')) || is_invisible_or_bidirectional(char)
    }) {
        let from_here = &rest[at..];
        let colour = from_here
            .strip_prefix("\u{1b}[")
            .and_then(|code| Some(&code[..=code.find(|c: char| !c.is_ascii_digit() && c != ';')?]))
            // The program prints only these codes.
            .filter(|code| ["0m", "1m", "2m", "4m", "31m", "32m", "33m", "34m", "35m", "36m"].contains(code));
        match colour {
            Some(code) => rest = &from_here[2 + code.len()..],
            None => {
                found.push(from_here.chars().take(20).collect::<String>().escape_default().to_string());
                rest = &from_here[from_here.chars().next().unwrap().len_utf8()..];
            }
        }
    }
    found
}

fn is_invisible_or_bidirectional(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

fn collect_strings<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            found.push(name);
            collect_strings(field, found);
        }),
        _ => {}
    }
}

fn assert_readable(label: &str, answer: &Value) {
    let mut found = Vec::new();
    collect_strings(answer, &mut found);
    for text in found {
        assert!(!text.contains(is_invisible_or_bidirectional), "{label}: {text:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn file_names_and_contents_send_no_control_characters_to_the_terminal() {
    let (repository, id) = (repository(), project("odd"));
    let run_program = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(repository.path()).stdin(Stdio::null());
        // Forces colours: otherwise all escape codes, also those of files, are stripped, because the output is not a terminal.
        command
            .env("CLICOLOR_FORCE", "1")
            .env("PAIROFCLEATS_HOME", home_with_few_projects())
            .env_remove("NO_COLOR");
        let output = command.output().unwrap();
        let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        let found: Vec<String> = printed.iter().flat_map(|text| control_sequences(text)).collect();
        assert!(found.is_empty(), "{arguments:?}: {found:?}\n{printed:?}");
        printed.concat()
    };
    let root = repository.root();
    run_program(&["index", ".", "--project", &id, "--stub-embeddings"]);
    let mut results = String::new();
    for number in 0..super::tree_gen::ODD_NAMES.len() {
        results += &run_program(&["search", &format!("odd_name_{number}"), "--project", &id, "--top", "5"]);
    }
    assert!(results.contains("\\u{1b}]0;title") && results.contains("\\u{202e}"), "{results}");
    for arguments in [
        &["search", "coin", "--project", &id, "--explain"][..],
        &["search", "odd", "--project", &id, "--author", "\u{1b}]0;author\u{7}"],
        &["search", "\u{1b}]0;x\u{7}", "--project", &id],
        &["index", "\u{1b}]0;x\u{7}", "--project", &id],
        &["search", "x", "--project", "\u{1b}]0;x\u{7}"],
        &["projects", "list"],
        &["sources"],
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
        run_program(arguments);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_names_are_returned_readable_and_identify_their_files() {
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
    // The name in an answer is accepted as an argument.
    let mut files = 0;
    for number in 0..super::tree_gen::ODD_NAMES.len() {
        let arguments = json!({ "query": format!("odd_name_{number}"), "project_id": id, "top": 4 });
        let found = result(&app, "search", arguments).await;
        for hit in found["hits"].as_array().unwrap() {
            let arguments = json!({ "path": hit["file"], "project_id": id });
            let file = result(&app, "show_file", arguments).await;
            assert_eq!(file["path"], hit["file"]);
            assert!(file["text"].as_str().unwrap().contains("def odd_name_"), "{file:#}");
            assert_readable("show_file", &file);
            files += 1;
        }
    }
    assert!(files >= 30, "{files}");
    // The same over MCP: lists, resources, and short texts, whose lines no file name can forge.
    let server =
        TestServer::over(crate::harness::app_with(|config| config.server.port = 0), modules().tools()).await;
    let session = server.open("/mcp", None).await;
    let send = async |method: &str, params: Value| {
        let request = crate::harness::http()
            .post(&session.url)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-session-id", &session.id)
            .header("x-pairofcleats-project", &id)
            .json(&json!({ "jsonrpc": "2.0", "id": 3, "method": method, "params": params }));
        crate::serving::last_message(request.send().await.unwrap()).await
    };
    let listed = send("resources/list", json!({})).await;
    assert_readable("resources/list", &listed);
    let resources = listed["result"]["resources"].as_array().unwrap();
    assert!(resources.len() >= 40, "{listed:#}");
    for resource in resources {
        let read = send("resources/read", json!({ "uri": resource["uri"] })).await;
        assert!(read["result"]["contents"][0]["text"].is_string(), "{}: {read:#}", resource["uri"]);
    }
    let text = short_text_of_hits(&server, &id).await;
    assert!(text.contains("\\u{1b}]0;title"), "{text}");
    assert!(
        !text.lines().any(|line| line == "1 of 1 hits" || line.starts_with("next: show_file {}")),
        "{text}"
    );
    assert!(control_sequences(&text).is_empty(), "{text:?}");
    server.stop().await;
}

/// The hits in the short text format, for agents that want to save tokens.
async fn short_text_of_hits(server: &TestServer, id: &str) -> String {
    let session = server.open("/mcp", None).await;
    let arguments = json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {
        "name": "search", "arguments": { "query": "coin", "project_id": id, "top": 100 } } });
    let request = crate::harness::http()
        .post(&session.url)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-session-id", &session.id)
        .header("x-mcp-text", "short")
        .json(&arguments);
    let answer = crate::serving::last_message(request.send().await.unwrap()).await;
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned()
}
