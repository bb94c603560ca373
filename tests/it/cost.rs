//! What an agent pays: tokens of the tool list and of answers, and the turns it takes to get on.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use engine::search::tokens::count;
use pairofcleats::surfaces::cli::clients::{CLIENTS, Reach, Setup, TOOLSETS};
use pairofcleats::tools::{Caller, LIST, Request, Surface, View, call as gate};
use serde_json::{Value, json};

use crate::harness::{PROGRAM, Repository, app, call, home, project, result};

/// A session of the program's own MCP server on stdin and stdout.
struct Session {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    id: i64,
}

impl Session {
    fn open(flags: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .arg("mcp")
            .args(flags)
            .env("PAIROFCLEATS_HOME", home())
            .env_remove("DATABASE_URL")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut session = Self { child, stdout, id: 0 };
        session.ask(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
        );
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    }

    /// The text and the envelope of a call.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, Value) {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let text = answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{tool}: {answer}"));
        (text.to_owned(), answer["structuredContent"].clone())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn names(list: &Value) -> Vec<&str> {
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn the_lists_cost_what_is_promised() {
    let every = Session::open(&[]).ask("tools/list", json!({}));
    let usual = Session::open(&["--toolsets", TOOLSETS]).ask("tools/list", json!({}));
    let (all, few) = (count(&every.to_string()), count(&usual.to_string()));
    println!("tools/list: {all} tokens, {few} with the toolsets {TOOLSETS}");
    assert_eq!(
        names(&every),
        LIST.iter().map(|tool| tool.name).collect::<Vec<_>>(),
        "told nothing, it lists all"
    );
    assert_eq!(
        names(&usual),
        [
            "search",
            "search_code",
            "show_file",
            "index_repository",
            "build_index",
            "index_status",
            "check_status",
            "workspace_status"
        ]
    );
    assert!(all <= 8_000, "the whole list costs {all} tokens");
    assert!(few <= 3_500, "the toolsets {TOOLSETS} cost {few} tokens");
    // Every field is listed, with its type; every rule is checked.
    for (listed, tool) in every["tools"].as_array().unwrap().iter().zip(LIST) {
        let whole = (tool.input)();
        let fields =
            |schema: &Value| schema.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>());
        assert_eq!(
            fields(&listed["inputSchema"]["properties"]),
            fields(&whole["properties"]),
            "{}",
            tool.name
        );
        for (field, rule) in listed["inputSchema"]["properties"].as_object().unwrap() {
            assert!(rule["type"].is_string() || rule["type"].is_array(), "{}.{field}: {rule}", tool.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_list_leaves_out_is_still_refused() {
    let app = app();
    for (tool, arguments) in [
        ("search", json!({ "query": "" })),
        ("search", json!({ "query": "x".repeat(8_193) })),
        ("search", json!({ "query": "x", "offset": -1 })),
        ("search", json!({ "query": "x", "maxTokens": 299 })),
        ("search_code", json!({ "query": "x", "limit": 0 })),
        ("show_file", json!({ "file": "" })),
        ("show_file", json!({ "id": 0 })),
        ("triage_decision", json!({ "finding": "x".repeat(257), "status": "fix" })),
    ] {
        let request = Request::new(tool, arguments.clone(), Caller::local(Surface::Cli));
        let refusal = gate(&app, request).await.err().unwrap_or_else(|| panic!("{tool} took {arguments}"));
        assert_eq!(refusal.code().as_str(), "INVALID_REQUEST");
    }
}

#[test]
fn every_block_asks_for_the_usual_toolsets_and_short_texts() {
    for client in CLIENTS {
        for reach in [
            Reach::Stdio { program: std::path::Path::new("pairofcleats"), home: None, config: None },
            Reach::Http { url: "http://127.0.0.1:7171/mcp", key: true },
        ] {
            let home = tempfile::tempdir().unwrap();
            let flags: &[&str] = if matches!(reach, Reach::Http { .. }) { &["--http"] } else { &[] };
            let output = Command::new(PROGRAM)
                .args(["mcp-config", client.id])
                .args(flags)
                .env_clear()
                .env("PAIROFCLEATS_HOME", home.path())
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            assert!(printed.contains(TOOLSETS) && printed.contains("short"), "{}: {printed}", client.id);
            let all = Setup { reach, project: None, toolsets: None, read_only: false };
            assert!(!client.block(&all).contains(TOOLSETS));
        }
    }
}

// --- answers

/// A repository with many functions that say much the same.
fn shop() -> Repository {
    let function = |n: usize| {
        format!(
            "def count_coins_{n}(drawer, hint=None):\n    \"\"\"Counts the coins of drawer {n}.\"\"\"\n    total = 0\n    \
             for coin in drawer:\n        if coin.valid:\n            total += coin.value\n    log(\"counted\", total)\n    return total\n\n\n"
        )
    };
    let file = |from: usize| (from..from + 6).map(function).collect::<String>();
    let long = format!(
        "def tell_story():\n{}    return 1\n",
        "    say('it was a dark and stormy night')\n".repeat(300)
    );
    let repository = Repository::new(&[
        ("src/cash/drawer.py", &file(0)),
        ("src/cash/till.py", &file(6)),
        ("src/story.py", &long),
        ("README.md", "# Shop\n\nHow coins are counted in the drawers of the shop.\n"),
    ]);
    repository.write("src/hidden.py", "def count_hidden_coins():\n    return '\u{202e}\u{2066}\u{200b}'\n");
    repository
}

async fn indexed(name: &str) -> (std::sync::Arc<pairofcleats::app::App>, Repository, String) {
    let (app, repository, project) = (app(), shop(), project(name));
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    (app, repository, project)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_keeps_within_the_tokens_asked_for() {
    let (app, _repository, project) = indexed("budget").await;
    for most in [300, 311, 350, 420, 512, 640, 800, 1_100, 1_600, 2_500, 5_000, 20_000] {
        for (tool, arguments, list, place) in [
            ("search", json!({ "query": "count coins" }), "hits", "file"),
            ("search", json!({ "query": "count hidden coins", "context": 3 }), "hits", "file"),
            ("search", json!({ "query": "count coins", "output": "full" }), "hits", "file"),
            ("search", json!({ "query": "count coins", "output": "json", "top": 20 }), "hits", "file"),
            ("search", json!({ "query": "coins ".repeat(200), "top": 30 }), "hits", "file"),
            ("search_code", json!({ "query": "count coins", "limit": 20 }), "results", "file_path"),
            ("show_file", json!({ "file": "src/story.py" }), "", ""),
            ("show_file", json!({ "file": "src/hidden.py" }), "", ""),
        ] {
            let mut arguments = arguments.clone();
            (arguments["project_id"], arguments["maxTokens"]) = (json!(project), json!(most));
            let envelope = call(&app, tool, arguments.clone()).await;
            assert_eq!(envelope["ok"], true, "{envelope}");
            let (cost, result) = (count(&envelope.to_string()), &envelope["result"]);
            // The parts of a score and the times of `json` may take more than the least limits by themselves.
            let least = if arguments["output"] == "json" { 1_100 } else { 300 };
            assert!(cost <= most.max(least), "{tool} {arguments}: {cost} tokens\n{envelope:#}");
            if list.is_empty() {
                assert!(!result["text"].as_str().unwrap().is_empty(), "{envelope:#}");
                assert_eq!(result["truncated"].as_bool(), Some(result.get("omitted").is_some()));
                let shown = result["endLine"].as_u64().unwrap();
                let left_out = result["omitted"]["lines"].as_u64().unwrap_or(0);
                assert_eq!(shown + left_out, result["totalLines"].as_u64().unwrap(), "{envelope:#}");
                continue;
            }
            let shown = result[list].as_array().unwrap();
            assert!(shown[0][place].is_string(), "never without the first place: {envelope:#}");
            let unlimited = {
                let mut arguments = arguments.clone();
                arguments.as_object_mut().unwrap().remove("maxTokens");
                call(&app, tool, arguments).await["result"][list].as_array().unwrap().len()
            };
            let left_out = result["omitted"]["hits"].as_u64().unwrap_or(0);
            assert_eq!(
                shown.len() as u64 + left_out,
                unlimited as u64,
                "what is left out is said: {envelope:#}"
            );
        }
    }
    let plenty =
        call(&app, "search", json!({ "query": "count coins", "project_id": project, "maxTokens": 100_000 }));
    assert!(plenty.await["result"].get("omitted").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_is_passed_on_unchanged() {
    let (_app, _repository, project) = indexed("passed-on").await;
    tokio::task::spawn_blocking(move || {
        let mut session = Session::open(&["--project", &project]);
        for (tool, arguments, list) in [
            ("search", json!({ "query": "count coins" }), "hits"),
            ("search", json!({ "query": "count coins", "output": "full", "explain": true, "context": 1 }), "hits"),
            ("search_code", json!({ "query": "count coins" }), "results"),
        ] {
            let (text, found) = session.call(tool, arguments);
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), found, "the default text is the envelope");
            for hit in found["result"][list].as_array().unwrap() {
                let of = |name: &str, other: &str| hit.get(name).or(hit.get(other)).cloned().unwrap();
                let shown = session.call("show_file", json!({ "hit": hit })).1["result"].clone();
                assert_eq!(shown["path"], of("file", "file_path"), "{shown:#}");
                assert_eq!(shown["startLine"], of("startLine", "start_line"));
                assert_eq!(shown["endLine"], of("endLine", "end_line"));
                // Its id alone stands for the same place, and so do its file and lines.
                let by_id = session.call("show_file", json!({ "id": of("id", "chunk_id") })).1["result"].clone();
                assert_eq!(by_id, shown);
                let place = json!({ "file": shown["path"], "startLine": shown["startLine"], "endLine": shown["endLine"] });
                assert_eq!(session.call("show_file", place).1["result"], shown);
            }
        }
        // Beside a hit, own lines win; the older name of `file` is still one.
        let (_, found) = session.call("search", json!({ "query": "tell story" }));
        let hit = &found["result"]["hits"][0];
        let (_, first) = session.call("show_file", json!({ "hit": hit, "startLine": 1, "endLine": 1 }));
        assert_eq!(first["result"]["endLine"], 1, "{first:#}");
        let (_, line) = session.call("show_file", json!({ "path": "src/cash/till.py", "line": 3, "repo": null }));
        assert!(line["result"]["text"].as_str().unwrap().starts_with("def count_coins_6"), "{line:#}");
        let repo = line["result"]["repo"].clone();
        let (_, named) = session.call("show_file", json!({ "file": "README.md", "repo": repo, "endLine": 9 }));
        assert_eq!(named["ok"], true, "{named:#}");
        let (_, gone) = session.call("show_file", json!({ "id": 99_999_999 }));
        assert_eq!(gone["error"]["code"], "NOT_FOUND", "{gone:#}");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn short_texts_say_the_same_in_fewer_tokens() {
    let (_app, _repository, project) = indexed("short").await;
    tokio::task::spawn_blocking(move || {
        let mut long = Session::open(&["--project", &project]);
        let mut short = Session::open(&["--project", &project, "--text", "short"]);
        for (tool, arguments) in [
            ("search", json!({ "query": "count coins" })),
            ("show_file", json!({ "file": "src/cash/drawer.py" })),
        ] {
            let (json, envelope) = long.call(tool, arguments.clone());
            let (text, same) = short.call(tool, arguments.clone());
            assert_eq!(same["result"], envelope["result"], "structured content carries the whole answer");
            println!("{tool}: {} tokens as JSON, {} as text", count(&json), count(&text));
            assert!(count(&text) * 10 < count(&json) * 9, "{text}");
            assert!(text.contains("src/cash/drawer.py:") && text.contains("    total = 0"), "{text}");
            assert!(text.contains("\nnext: "), "{text}");
            let mut bounded = arguments.clone();
            bounded["maxTokens"] = json!(300);
            assert!(count(&short.call(tool, bounded).0) <= 300);
        }
        let (failed, _) = short.call("show_file", json!({ "file": "none.py" }));
        assert!(failed.starts_with("NOT_FOUND: "), "{failed}");
    })
    .await
    .unwrap();
}

// --- the next call

/// Makes the call that an answer names, which must be one that works.
async fn follow(app: &std::sync::Arc<pairofcleats::app::App>, after: &str, envelope: &Value) -> Value {
    let next = &envelope["_meta"]["next"];
    let tool = next["tool"].as_str().unwrap_or_else(|| panic!("{after} names no call: {envelope:#}"));
    assert!(count(&next.to_string()) <= 120, "{next}");
    let answer = call(app, tool, next["arguments"].clone()).await;
    assert_eq!(answer["ok"], true, "{after} -> {next}: {answer:#}");
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_names_a_call_that_works() {
    let (app, repository, project) = indexed("next").await;
    let root = repository.root();
    let ours = |more: Value| {
        let mut arguments = more;
        arguments["project_id"] = json!(project);
        arguments
    };
    let report =
        json!({ "source": "manual", "payload": [{ "title": "coins", "package": { "name": "coins" } }] });
    let ingested = call(&app, "triage_ingest", ours(report.clone())).await;
    let finding = ingested["result"]["recordIds"][0].clone();
    let skip = json!({ "skipInstall": true, "skipDicts": true, "skipTooling": true, "skipArtifacts": true, "skipIndex": true });
    let table = [
        ("search", json!({ "query": "count coins" }), "show_file"),
        ("search", json!({ "query": "+zzz \"nothing says this\"" }), "index_status"),
        ("search_code", json!({ "query": "count coins" }), "show_file"),
        ("search_code", json!({ "query": "\"nothing says this\"" }), "index_status"),
        ("show_file", json!({ "file": "src/cash/till.py" }), "search"),
        ("show_file", json!({ "file": "src/story.py", "maxTokens": 700 }), "show_file"),
        ("index_repository", json!({ "repo_path": root }), "search"),
        ("build_index", json!({ "repoPath": root }), "search"),
        ("build_index", json!({ "repoPath": root, "wait": false }), "index_status"),
        ("index_build", json!({ "repoPath": root }), "search"),
        ("index_status", json!({}), "search"),
        ("index_status", json!({ "repoPath": root }), "search"),
        ("check_status", json!({}), "workspace_status"),
        ("workspace_status", json!({}), "search"),
        ("triage_ingest", report, "triage_context_pack"),
        ("triage_decision", json!({ "finding": finding, "status": "fix" }), "show_file"),
        ("triage_context_pack", json!({ "recordId": finding }), "show_file"),
        ("build_sqlite_index", json!({}), "search"),
        ("compact_sqlite_index", json!({}), "search"),
        ("report_artifacts", json!({}), ""),
        ("config_status", json!({}), "check_status"),
        ("cache_gc", json!({}), "report_artifacts"),
        ("clean_artifacts", json!({ "all": true, "dryRun": true }), "report_artifacts"),
        ("bootstrap", skip, "check_status"),
        ("verify_extensions", json!({ "provider": "pgvector" }), "check_status"),
        ("download_extensions", json!({ "provider": "pgvector" }), "verify_extensions"),
    ];
    for tool in LIST.iter().map(|tool| tool.name) {
        // What fetches from outside is tried elsewhere; the harness holds each answer's next call against its schema.
        let fetches = ["download_models", "download_dictionaries"].contains(&tool);
        assert!(fetches || table.iter().any(|(name, ..)| *name == tool), "{tool}");
    }
    for (tool, arguments, next) in table {
        let arguments = if tool.ends_with("extensions") { arguments } else { ours(arguments) };
        let envelope = call(&app, tool, arguments).await;
        assert_eq!(envelope["ok"], true, "{envelope:#}");
        follow(&app, tool, &envelope).await;
        assert!(next.is_empty() || envelope["_meta"]["next"]["tool"] == next, "{tool}: {envelope:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_name_the_way_out_that_the_caller_has() {
    let (app, repository) = (app(), shop());
    let nowhere = project("nowhere");
    let none =
        call(&app, "search", json!({ "query": "x", "project_id": nowhere, "repoPath": repository.root() }))
            .await;
    let next = &none["_meta"]["next"];
    assert_eq!(
        (&next["tool"], &next["arguments"]["repoPath"], &next["arguments"]["project_id"]),
        (&json!("build_index"), &json!(repository.root()), &json!(nowhere)),
        "{none:#}"
    );
    // A client on standard input works somewhere; that is what is indexed.
    let mut caller =
        Caller { directory: Some(repository.path().to_owned()), ..Caller::local(Surface::Stdio) };
    let arguments = json!({ "query": "x", "project_id": nowhere });
    let ask = |caller: Caller| {
        let (app, arguments) = (app.clone(), arguments.clone());
        async move {
            serde_json::to_value(gate(&app, Request::new("search", arguments, caller)).await.unwrap())
                .unwrap()
        }
    };
    let here = ask(caller.clone()).await;
    assert_eq!(here["_meta"]["next"]["arguments"]["repoPath"], json!(repository.path()), "{here:#}");
    // Who may not write is not told to.
    caller.view = View::of("", true).unwrap();
    let reader = ask(caller).await;
    assert_eq!(reader["_meta"]["next"]["tool"], "workspace_status", "{reader:#}");
    follow(&app, "NO_INDEX", &reader).await;
    // What the first call said works.
    let built = follow(&app, "NO_INDEX", &none).await;
    assert!(built["result"]["jobId"].is_string(), "{built:#}");
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": nowhere })).await;
    let missing =
        call(&app, "show_file", json!({ "file": "src/tell_story.py", "project_id": nowhere })).await;
    assert_eq!(missing["error"]["code"], "NOT_FOUND");
    follow(&app, "NOT_FOUND", &missing).await;
}
