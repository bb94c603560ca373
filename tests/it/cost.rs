//! The cost of this server for an agent: the tokens of the tool list and of answers. The next call that an answer suggests saves a turn.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use contract::ProjectId;
use engine::search::tokens::count;
use gate::tools::{Caller, Request, Surface, ToolSpec, ToolVisibility, call as call_tool};
use serde_json::{Value, json};
use surfaces::cli::clients::{CLIENTS, ClientSetup, DEFAULT_TOOLSETS, Transport};
use tenancy::{Principal, Projects};

use crate::harness::{PROGRAM, Repository, app, call, home, modules, project, result};
use crate::valid_arguments::{ToolSubject, failure_without_site};

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
        session.request(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
        );
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
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
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
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
fn tool_lists_stay_within_their_token_budgets() {
    let full_list = Session::open(&[]).request("tools/list", json!({}));
    let default_list = Session::open(&["--toolsets", DEFAULT_TOOLSETS]).request("tools/list", json!({}));
    let (all, by_default) = (count(&full_list.to_string()), count(&default_list.to_string()));
    println!("tools/list: {all} tokens, {by_default} with the toolsets {DEFAULT_TOOLSETS}");
    assert_eq!(
        names(&full_list),
        crate::serving::listed_by_default(),
        "without flags, all toolsets but the opt-in ones are listed"
    );
    let is_selected = |tool: &&&ToolSpec| DEFAULT_TOOLSETS.split(',').any(|name| name == tool.toolset.name);
    assert_eq!(DEFAULT_TOOLSETS, "search,index");
    // A narrowed list leaves out the deprecated name.
    let selected = modules()
        .list_of_tools()
        .iter()
        .filter(is_selected)
        .map(|tool| tool.name)
        .filter(|name| *name != "index_build");
    assert_eq!(names(&default_list), selected.collect::<Vec<_>>());
    assert!(all <= 8_000, "the whole list costs {all} tokens");
    assert!(by_default <= 3_500, "the toolsets {DEFAULT_TOOLSETS} cost {by_default} tokens");
    // The list has every argument with its type. The rules on values are not listed, but enforced.
    for (listed, tool) in full_list["tools"]
        .as_array()
        .unwrap()
        .iter()
        .zip(modules().list_of_tools().iter().filter(|tool| tool.toolset.listed_by_default()))
    {
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
async fn rules_that_a_tool_list_omits_are_still_enforced() {
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
        let refusal =
            call_tool(&app, request).await.err().unwrap_or_else(|| panic!("{tool} accepted {arguments}"));
        assert_eq!(refusal.code().as_str(), "INVALID_REQUEST");
    }
}

#[test]
fn every_client_setup_requests_the_default_toolsets_and_short_texts() {
    for client in CLIENTS {
        for transport in [
            Transport::Stdio {
                program: std::path::Path::new("pairofcleats"),
                arguments: &[],
                home: None,
                config: None,
            },
            Transport::Http { url: "http://127.0.0.1:7171/mcp", key: true },
        ] {
            let home = tempfile::tempdir().unwrap();
            let flags: &[&str] = if matches!(transport, Transport::Http { .. }) { &["--http"] } else { &[] };
            let output = Command::new(PROGRAM)
                .args(["mcp-config", client.id])
                .args(flags)
                .env_clear()
                .env("PAIROFCLEATS_HOME", home.path())
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            assert!(
                printed.contains(DEFAULT_TOOLSETS) && printed.contains("short"),
                "{}: {printed}",
                client.id
            );
            let with_every_toolset =
                ClientSetup { transport, project: None, toolsets: None, read_only: false };
            assert!(!client.block(&with_every_toolset).contains(DEFAULT_TOOLSETS));
        }
    }
}

// --- tokens of answers

/// A repository with many similar functions.
fn repository_with_similar_functions() -> Repository {
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

async fn indexed(name: &str) -> (std::sync::Arc<gate::app::App>, Repository, String) {
    let (app, repository, project) = (app(), repository_with_similar_functions(), project(name));
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    (app, repository, project)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_stays_within_max_tokens() {
    let (app, _repository, project) = indexed("budget").await;
    for tokens_max in [300, 311, 350, 420, 512, 640, 800, 1_100, 1_600, 2_500, 5_000, 20_000] {
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
            (arguments["project_id"], arguments["maxTokens"]) = (json!(project), json!(tokens_max));
            let envelope = call(&app, tool, arguments.clone()).await;
            assert_eq!(envelope["ok"], true, "{envelope}");
            let (cost, result) = (count(&envelope.to_string()), &envelope["result"]);
            // With the output `json`, score parts and timings alone may exceed the smallest budgets.
            let least = if arguments["output"] == "json" { 1_100 } else { 300 };
            assert!(cost <= tokens_max.max(least), "{tool} {arguments}: {cost} tokens\n{envelope:#}");
            if list.is_empty() {
                assert!(!result["text"].as_str().unwrap().is_empty(), "{envelope:#}");
                assert_eq!(result["truncated"].as_bool(), Some(result.get("omitted").is_some()));
                let shown = result["endLine"].as_u64().unwrap();
                let left_out = result["omitted"]["lines"].as_u64().unwrap_or(0);
                assert_eq!(shown + left_out, result["totalLines"].as_u64().unwrap(), "{envelope:#}");
                continue;
            }
            let shown = result[list].as_array().unwrap();
            assert!(shown[0][place].is_string(), "the first hit must have a location: {envelope:#}");
            let unlimited = {
                let mut arguments = arguments.clone();
                arguments.as_object_mut().unwrap().remove("maxTokens");
                call(&app, tool, arguments).await["result"][list].as_array().unwrap().len()
            };
            let left_out = result["omitted"]["hits"].as_u64().unwrap_or(0);
            assert_eq!(
                shown.len() as u64 + left_out,
                unlimited as u64,
                "the number of omitted hits is wrong: {envelope:#}"
            );
        }
    }
    let plenty =
        call(&app, "search", json!({ "query": "count coins", "project_id": project, "maxTokens": 100_000 }));
    assert!(plenty.await["result"].get("omitted").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn show_file_accepts_a_hit_unchanged() {
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
                let field = |name: &str, other: &str| hit.get(name).or(hit.get(other)).cloned().unwrap();
                let shown = session.call("show_file", json!({ "hit": hit })).1["result"].clone();
                assert_eq!(shown["path"], field("file", "file_path"), "{shown:#}");
                assert_eq!(shown["startLine"], field("startLine", "start_line"));
                assert_eq!(shown["endLine"], field("endLine", "end_line"));
                // Its id alone, or its file and lines, show the same text.
                let by_id = session.call("show_file", json!({ "id": field("id", "chunk_id") })).1["result"].clone();
                assert_eq!(by_id, shown);
                let place = json!({ "file": shown["path"], "startLine": shown["startLine"], "endLine": shown["endLine"] });
                assert_eq!(session.call("show_file", place).1["result"], shown);
            }
        }
        // Explicit lines override those of a hit. `path`, the older name of `file`, still works.
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
async fn short_texts_carry_the_answer_in_fewer_tokens() {
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

/// Makes the next call that an answer suggests, which must succeed; `after` names the answer in messages.
async fn follow(app: &std::sync::Arc<gate::app::App>, after: &str, envelope: &Value) -> Value {
    let next = &envelope["_meta"]["next"];
    let tool = next["tool"].as_str().unwrap_or_else(|| panic!("{after} suggests no call: {envelope:#}"));
    assert!(count(&next.to_string()) <= 120, "{next}");
    let answer = call(app, tool, next["arguments"].clone()).await;
    assert_eq!(answer["ok"], true, "{after} -> {next}: {answer:#}");
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_before_a_shown_end_are_proposed() {
    let (app, _repository, project) = indexed("lines-before").await;
    let whole = call(&app, "show_file", json!({ "file": "src/story.py", "project_id": project })).await;
    let end = whole["result"]["totalLines"].as_u64().unwrap() - 5;
    let arguments = json!({ "file": "src/story.py", "project_id": project, "startLine": 1, "endLine": end,
        "line": end, "maxTokens": 600 });
    let envelope = call(&app, "show_file", arguments).await;
    let result = &envelope["result"];
    assert_eq!(result["endLine"], end, "{envelope:#}");
    let start = result["startLine"].as_u64().unwrap();
    assert!(start > 1, "{envelope:#}");
    let proposed = &envelope["_meta"]["next"]["arguments"];
    assert_eq!(
        (&proposed["startLine"], &proposed["endLine"]),
        (&json!(1), &json!(start - 1)),
        "{envelope:#}"
    );
    follow(&app, "show_file", &envelope).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn suggested_next_calls_work() {
    let (app, repository, project) = indexed("next").await;
    let root = repository.root();
    let in_project = |extra: Value| {
        let mut arguments = extra;
        arguments["project_id"] = json!(project);
        arguments
    };
    let report =
        json!({ "source": "manual", "payload": [{ "title": "coins", "package": { "name": "coins" } }] });
    let ingested = call(&app, "triage_ingest", in_project(report.clone())).await;
    let finding = ingested["result"]["recordIds"][0].clone();
    let skip_all = json!({ "skipInstall": true, "skipDicts": true, "skipTooling": true, "skipArtifacts": true, "skipIndex": true });
    let table = [
        ("search", json!({ "query": "count coins" }), "show_file"),
        ("search", json!({ "query": "+zzz \"nothing says this\"" }), "index_status"),
        ("search_code", json!({ "query": "count coins" }), "show_file"),
        ("search_code", json!({ "query": "\"nothing says this\"" }), "index_status"),
        ("show_file", json!({ "file": "src/cash/till.py" }), "navigate"),
        ("navigate", json!({ "symbol": "count_coins_7", "relation": "definition" }), "navigate"),
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
        ("triage_decision", json!({ "finding": finding.clone(), "status": "fix" }), "show_file"),
        ("triage_context_pack", json!({ "recordId": finding.clone() }), "show_file"),
        ("build_sqlite_index", json!({}), "search"),
        ("compact_sqlite_index", json!({}), "search"),
        ("report_artifacts", json!({}), ""),
        ("config_status", json!({}), "check_status"),
        ("cache_gc", json!({}), "report_artifacts"),
        ("clean_artifacts", json!({ "all": true, "dryRun": true }), "report_artifacts"),
        ("bootstrap", skip_all, "check_status"),
        ("verify_extensions", json!({ "provider": "pgvector" }), "check_status"),
        ("download_extensions", json!({ "provider": "pgvector" }), "verify_extensions"),
    ];
    // The download tools are tested elsewhere; the harness validates the next call of each answer against its schema.
    // Launch runs need a documentation site.
    let is_elsewhere = |tool: &str| tool.starts_with("download_") || failure_without_site(tool).is_some();
    let has_row = |tool: &str| is_elsewhere(tool) || table.iter().any(|(name, ..)| *name == tool);
    let finding = finding.as_str().unwrap();
    let subject =
        ToolSubject { project: &project, root: &root, file: "src/story.py", word: "coins", finding };
    for tool in modules().list_of_tools().iter().map(|tool| tool.name).filter(|tool| !has_row(tool)) {
        let envelope = call(&app, tool, subject.arguments(tool)).await;
        assert_eq!(envelope["ok"], true, "{tool}: {envelope:#}");
        if envelope["_meta"]["next"].is_object() {
            follow(&app, tool, &envelope).await;
        }
    }
    for (tool, arguments, next) in table {
        let arguments = if tool.ends_with("extensions") { arguments } else { in_project(arguments) };
        let envelope = call(&app, tool, arguments).await;
        assert_eq!(envelope["ok"], true, "{envelope:#}");
        follow(&app, tool, &envelope).await;
        assert!(next.is_empty() || envelope["_meta"]["next"]["tool"] == next, "{tool}: {envelope:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_suggest_a_call_that_the_caller_may_make() {
    let (app, repository) = (app(), repository_with_similar_functions());
    let absent = project("absent");
    let none =
        call(&app, "search", json!({ "query": "x", "project_id": absent, "repoPath": repository.root() }))
            .await;
    let next = &none["_meta"]["next"];
    assert_eq!(
        (&next["tool"], &next["arguments"]["repoPath"], &next["arguments"]["project_id"]),
        (&json!("build_index"), &json!(repository.root()), &json!(absent)),
        "{none:#}"
    );
    // A client over stdio has a working directory, which the call suggests to index.
    let mut caller =
        Caller { directory: Some(repository.path().to_owned()), ..Caller::local(Surface::Stdio) };
    let arguments = json!({ "query": "x", "project_id": absent });
    let search_as = |caller: Caller| {
        let (app, arguments) = (app.clone(), arguments.clone());
        async move {
            serde_json::to_value(call_tool(&app, Request::new("search", arguments, caller)).await.unwrap())
                .unwrap()
        }
    };
    let from_directory = search_as(caller.clone()).await;
    assert_eq!(
        from_directory["_meta"]["next"]["arguments"]["repoPath"],
        json!(repository.path()),
        "{from_directory:#}"
    );
    // A read-only caller is not advised to write.
    caller.visibility = ToolVisibility::parse(modules(), "", true).unwrap();
    let reader = search_as(caller).await;
    assert_eq!(reader["_meta"]["next"]["tool"], "workspace_status", "{reader:#}");
    follow(&app, "NO_INDEX", &reader).await;
    // The call that the first failure suggested works.
    let built = follow(&app, "NO_INDEX", &none).await;
    assert!(built["result"]["jobId"].is_string(), "{built:#}");
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": absent })).await;
    let missing = call(&app, "show_file", json!({ "file": "src/tell_story.py", "project_id": absent })).await;
    assert_eq!(missing["error"]["code"], "NOT_FOUND");
    follow(&app, "NOT_FOUND", &missing).await;
}

/// If the project of a call does not exist, the hint is the same call in the project that has the repository, not a first run.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_project_leads_to_the_one_that_has_the_repository() {
    let (app, repository, has_it) = indexed("has-it").await;
    let wrong = project("wrong");
    let directory = repository.path().join("src/cash");
    let as_caller = async |directory: Option<&std::path::Path>, projects: Projects, arguments: Value| {
        let principal = Arc::new(Principal { projects, ..Principal::local() });
        let directory = directory.map(std::path::Path::to_owned);
        let caller = Caller { principal, directory, ..Caller::local(Surface::Stdio) };
        let envelope = call_tool(&app, Request::new("search", arguments, caller)).await.unwrap();
        let envelope = serde_json::to_value(envelope).unwrap();
        assert_eq!(envelope["error"]["code"], "NO_INDEX", "{envelope:#}");
        envelope
    };
    let named = json!({ "query": "count coins", "project_id": wrong, "repoPath": repository.root() });
    let unnamed = json!({ "query": "count coins", "project_id": wrong });
    for (directory, arguments) in [(None, &named), (Some(directory.as_path()), &unnamed)] {
        let envelope = as_caller(directory, Projects::All, arguments.clone()).await;
        let next = &envelope["_meta"]["next"];
        let mut expected = arguments.clone();
        expected["project_id"] = json!(has_it);
        assert_eq!((&next["tool"], &next["arguments"]), (&json!("search"), &expected), "{envelope:#}");
        let answer = follow(&app, "NO_INDEX", &envelope).await;
        assert!(!answer["result"]["hits"].as_array().unwrap().is_empty(), "{answer:#}");
        // To who may not use that project, it does not exist.
        let others = Projects::Only(BTreeSet::from([ProjectId::parse(&wrong).unwrap()]));
        let envelope = as_caller(directory, others, arguments.clone()).await;
        assert!(!envelope.to_string().contains(&has_it), "{envelope:#}");
        let next = &envelope["_meta"]["next"];
        assert_eq!(
            (&next["tool"], &next["arguments"]["project_id"]),
            (&json!("build_index"), &json!(wrong)),
            "{envelope:#}"
        );
    }
    // A similar name comes first.
    let misspelt = format!("{}x", has_it);
    let envelope = as_caller(None, Projects::All, json!({ "query": "x", "project_id": misspelt })).await;
    assert_eq!(envelope["_meta"]["next"]["arguments"]["project_id"], json!(has_it), "{envelope:#}");
}
