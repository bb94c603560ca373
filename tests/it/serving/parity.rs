//! Makes the same calls over every surface: the envelopes are equal, except for times and durations.
//!
//! Real processes with the real model: a server for the HTTP transports, a stdio server for each framing, and the command
//! line. All run in an empty directory, so that no directory determines the project.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use contract::{ErrorCode, ErrorInfo};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{Session, initialize_request, last_message, send_json};
use crate::contracts::check_answer;
use crate::harness::{PROGRAM, Repository, home, http, modules, project};
use crate::valid_arguments::{ToolSubject, failure_without_site};

/// The id of every call: in JSON-RPC, in the header and in the flag.
const ID: i64 = 7;

/// JSON pointers to values that may differ between two calls.
const VARYING_VALUES: &[&str] = &[
    "/_meta/ts",         // time of the answer
    "/_meta/durationMs", // duration of the call
    "/_meta/next",       // a stdio client has a working directory, an HTTP client has none
    // Durations.
    "/result/latency_ms", "/result/stats", "/result/duration_seconds", "/result/report/seconds",
    "/result/report/lexicalSeconds", "/result/jobId",          // each run is a separate job
    "/result/uptimeMs",       // differs by process
    "/result/files/0/sha256", // the file contains its creation time
    // Other tests use the machine at the same time.
    "/result/machine", "/result/config", // each process has its own settings
    // Each decision is a separate record, and each pack has its time.
    "/result/recordId", "/result/path", "/result/pack/generatedAt", "/result/generatedAt",
    "/result/dynamic/generatedAt", // Calls of the process.
    "/result/methods",
    // Sizes on disk: the call before takes a page of the database, or its clean-up gives one back.
    "/result/totalBytes", "/result/tables",
];

/// The expected outcome of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Success,
    /// The call ran and failed with this code.
    Failed(&'static str),
    /// The call was refused with this code before it ran.
    Refused(&'static str),
}

use Outcome::{Failed, Refused, Success};

/// One call, and the outcome that it must have on every surface.
struct Case {
    tool: &'static str,
    arguments: Value,
    outcome: Outcome,
    /// `true` if the call is made on a surface that offers only read-only tools.
    read_only: bool,
}

/// A folder for dictionaries that does not exist.
fn dictionary_folder() -> String {
    format!("{}/parity-dictionaries-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id())
}

/// The calls of the tools that use models.
fn model_calls(root: &str, ours: &str, absent: &str) -> Vec<(&'static str, Value, Outcome)> {
    let index = |extra: (&str, Value)| json!({ "repoPath": root, "project_id": ours, extra.0: extra.1 });
    vec![
        ("download_models", json!({ "project_id": ours }), Success),
        ("download_models", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("download_models", json!({ "model": "no-such" }), Failed("INVALID_REQUEST")),
        ("download_models", json!({ "variant": "fp16" }), Refused("INVALID_REQUEST")),
        ("build_index", index(("mode", "prose".into())), Success),
        ("build_index", index(("mode", "tests".into())), Refused("INVALID_REQUEST")),
        ("build_index", index(("stubEmbeddings", true.into())), Failed("ILLEGAL_STATE")),
    ]
}

/// All calls, for a project `ours` with `root` and a finding, and a project `absent` that does not exist.
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn table(root: &str, ours: &str, absent: &str, finding: &str) -> Vec<Case> {
    let calls: Vec<(&'static str, Value, Outcome)> = vec![
        ("search", json!({ "query": "where are coins counted", "project_id": ours }), Success),
        (
            "search",
            json!({ "query": "open -shop lang:python", "output": "full", "context": 1, "explain": true, "project_id": ours }),
            Success,
        ),
        ("search", json!({ "query": "hours", "repoPath": root, "project_id": ours }), Success),
        ("search", json!({ "query": "drawer", "output": "json", "ann": false, "project_id": ours }), Success),
        ("search", json!({ "query": "nothing", "top": null, "ext": "rs", "project_id": ours }), Success),
        ("search", json!({ "query": "x", "project_id": absent }), Failed("NO_INDEX")),
        ("search", json!({ "query": "x", "project_id": "Client_A" }), Failed("VALIDATION_ERROR")),
        ("search", json!({ "query": "  ", "project_id": ours }), Failed("INVALID_REQUEST")),
        ("search", json!({ "query": "x", "lang": "pyton", "project_id": ours }), Failed("INVALID_REQUEST")),
        ("search", json!({ "query": "x", "backend": "sqlite", "project_id": ours }), Failed("NO_INDEX")),
        ("search", json!({ "query": "x", "repoPath": "/no/such", "project_id": ours }), Failed("NOT_FOUND")),
        ("search", json!({}), Refused("INVALID_REQUEST")),
        ("search", json!({ "query": 5, "top": 101, "repo_path": "/x" }), Refused("INVALID_REQUEST")),
        ("search_code", json!({ "query": "count the coins", "limit": 3, "project_id": ours }), Success),
        ("search_code", json!({ "query": "x", "project_id": absent }), Failed("NO_INDEX")),
        ("search_code", json!({ "query": "x", "project_id": "a--b" }), Failed("VALIDATION_ERROR")),
        ("search_code", json!({ "query": "x", "limit": 51 }), Refused("INVALID_REQUEST")),
        ("show_file", json!({ "path": "cash.py", "endLine": 2, "project_id": ours }), Success),
        ("show_file", json!({ "path": "none.py", "project_id": ours }), Failed("NOT_FOUND")),
        ("show_file", json!({ "path": "../cash.py", "project_id": ours }), Failed("INVALID_REQUEST")),
        ("show_file", json!({ "path": "cash.py", "startLine": 0 }), Refused("INVALID_REQUEST")),
        ("navigate", json!({ "file": "cash.py", "line": 1, "project_id": ours }), Success),
        ("navigate", json!({ "symbol": "no_such_name", "project_id": ours }), Failed("NOT_FOUND")),
        ("navigate", json!({ "symbol": "x", "project_id": absent }), Failed("NO_INDEX")),
        ("navigate", json!({ "symbol": "x", "depth": 11 }), Refused("INVALID_REQUEST")),
        ("index_repository", json!({ "repo_path": root, "project_id": ours }), Success),
        ("index_repository", json!({ "repo_path": "x", "project_id": absent }), Failed("INVALID_REQUEST")),
        ("index_repository", json!({ "repo_path": root, "project_id": "-" }), Failed("VALIDATION_ERROR")),
        ("index_repository", json!({ "repoPath": root }), Refused("INVALID_REQUEST")),
        ("build_index", json!({ "repoPath": root, "incremental": false, "project_id": ours }), Success),
        ("build_index", json!({ "repoPath": "/no/such", "project_id": absent }), Failed("NOT_FOUND")),
        ("build_index", json!({ "repoPath": root, "wait": "no" }), Refused("INVALID_REQUEST")),
        ("index_build", json!({ "repoPath": root, "project_id": ours }), Success),
        ("index_build", json!({ "repoPath": root, "project_id": "A" }), Failed("VALIDATION_ERROR")),
        ("index_build", json!({ "full": true }), Refused("INVALID_REQUEST")),
        ("index_status", json!({ "project_id": ours }), Success),
        ("index_status", json!({ "repoPath": root, "project_id": ours }), Success),
        ("index_status", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("index_status", json!({ "repoPath": 1 }), Refused("INVALID_REQUEST")),
        ("build_sqlite_index", json!({ "project_id": ours, "mode": "code" }), Success),
        ("build_sqlite_index", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("build_sqlite_index", json!({ "project_id": ours, "dryRun": true }), Refused("INVALID_REQUEST")),
        ("compact_sqlite_index", json!({ "project_id": ours, "mode": "code", "dryRun": true }), Success),
        ("compact_sqlite_index", json!({ "project_id": ours }), Failed("NO_INDEX")),
        ("compact_sqlite_index", json!({ "keepBackup": 1 }), Refused("INVALID_REQUEST")),
        ("check_status", json!({ "project_id": ours }), Success),
        ("check_status", json!({ "project_id": absent }), Success),
        ("check_status", json!({ "project_id": "A" }), Failed("VALIDATION_ERROR")),
        ("check_status", json!({ "projectId": ours }), Refused("INVALID_REQUEST")),
        ("workspace_status", json!({ "project_id": ours }), Success),
        ("workspace_status", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("workspace_status", json!({ "nonsense": 1 }), Refused("INVALID_REQUEST")),
        ("report_artifacts", json!({ "project_id": ours, "repoPath": root }), Success),
        ("report_artifacts", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("report_artifacts", json!({ "all": 1 }), Refused("INVALID_REQUEST")),
        ("config_status", json!({ "project_id": ours }), Success),
        ("config_status", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("config_status", json!({ "repoPath": 1 }), Refused("INVALID_REQUEST")),
        ("cache_gc", json!({ "project_id": ours, "dryRun": true }), Success),
        ("cache_gc", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("cache_gc", json!({ "maxAgeDays": -1 }), Refused("INVALID_REQUEST")),
        ("clean_artifacts", json!({ "project_id": ours, "all": true, "dryRun": true }), Success),
        ("clean_artifacts", json!({ "project_id": ours }), Failed("INVALID_REQUEST")),
        ("clean_artifacts", json!({ "all": "yes" }), Refused("INVALID_REQUEST")),
        (
            "download_dictionaries",
            json!({ "lang": "", "dir": dictionary_folder(), "project_id": ours }),
            Success,
        ),
        ("download_dictionaries", json!({ "lang": "xx" }), Failed("INVALID_REQUEST")),
        ("download_dictionaries", json!({ "languages": "en" }), Refused("INVALID_REQUEST")),
        ("download_extensions", json!({ "provider": "pgvector" }), Success),
        ("download_extensions", json!({ "provider": "pgvector", "force": true }), Failed("INVALID_REQUEST")),
        ("download_extensions", json!({ "provider": "mysql" }), Refused("INVALID_REQUEST")),
        ("verify_extensions", json!({ "provider": "pgvector" }), Success),
        ("verify_extensions", json!({ "table": "a b" }), Failed("INVALID_REQUEST")),
        ("verify_extensions", json!({ "load": "no" }), Refused("INVALID_REQUEST")),
        (
            "bootstrap",
            json!({ "project_id": ours, "skipInstall": true, "skipDicts": true, "skipTooling": true, "skipArtifacts": true, "skipIndex": true }),
            Success,
        ),
        ("bootstrap", json!({ "project_id": "A" }), Failed("VALIDATION_ERROR")),
        ("bootstrap", json!({ "install": true }), Refused("INVALID_REQUEST")),
        ("serch", json!({ "query": "x" }), Refused("UNKNOWN_TOOL")),
        ("no-such-tool", json!({}), Refused("UNKNOWN_TOOL")),
    ];
    let read_only: Vec<(&'static str, Value, Outcome)> = vec![
        ("search", json!({ "query": "coins", "project_id": ours }), Success),
        ("build_index", json!({ "repoPath": root, "project_id": ours }), Refused("MUTATION_DISABLED")),
        ("index_repository", json!({}), Refused("MUTATION_DISABLED")),
        ("build_indx", json!({}), Refused("UNKNOWN_TOOL")),
    ];
    let calls =
        calls.into_iter().chain(model_calls(root, ours, absent)).chain(triage_calls(ours, absent, finding));
    let cases = calls.map(|case| (case, false));
    let cases = cases.chain(read_only.into_iter().map(|case| (case, true)));
    cases
        .map(|((tool, arguments, outcome), read_only)| Case { tool, arguments, outcome, read_only })
        .collect()
}

/// The missing cases: a valid call of each tool without a call that succeeds, and a call with an unknown argument of each
/// tool without one that does not.
fn calls_of_unlisted_tools(cases: &[Case], subject: &ToolSubject<'_>) -> Vec<Case> {
    let mut missing = Vec::new();
    for tool in modules().list_of_tools().iter().map(|tool| tool.name) {
        let has = |success: bool| {
            cases.iter().any(|case| case.tool == tool && (case.outcome == Success) == success)
        };
        let arguments = subject.arguments(tool);
        if !has(false) {
            let mut arguments = arguments.clone();
            arguments["noSuchArgument"] = json!(1);
            missing.push(Case { tool, arguments, outcome: Refused("INVALID_REQUEST"), read_only: false });
        }
        if !has(true) {
            let outcome = failure_without_site(tool).map_or(Success, Failed);
            missing.push(Case { tool, arguments, outcome, read_only: false });
        }
    }
    missing
}

/// The calls of the triage tools.
fn triage_calls(ours: &str, absent: &str, finding: &str) -> Vec<(&'static str, Value, Outcome)> {
    vec![
        ("triage_ingest", json!({ "source": "manual", "payload": [], "project_id": ours }), Success),
        ("triage_ingest", json!({ "source": "manual", "project_id": ours }), Failed("INVALID_REQUEST")),
        ("triage_ingest", json!({ "source": "spreadsheet" }), Refused("INVALID_REQUEST")),
        ("triage_decision", json!({ "finding": finding, "status": "fix", "project_id": ours }), Success),
        (
            "triage_decision",
            json!({ "finding": "0".repeat(40), "status": "fix", "project_id": ours }),
            Failed("NOT_FOUND"),
        ),
        (
            "triage_decision",
            json!({ "finding": finding, "status": "fix", "project_id": absent }),
            Failed("NO_INDEX"),
        ),
        ("triage_decision", json!({ "finding": finding, "status": "maybe" }), Refused("INVALID_REQUEST")),
        ("triage_context_pack", json!({ "recordId": finding, "project_id": ours }), Success),
        ("triage_context_pack", json!({ "recordId": "x", "project_id": ours }), Failed("INVALID_REQUEST")),
        ("triage_context_pack", json!({ "id": finding }), Refused("INVALID_REQUEST")),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_returns_the_same_envelope_on_every_surface() {
    let repository = Repository::new(&[
        ("cash.py", "def drawer(coins):\n    \"\"\"Counts the coins.\"\"\"\n    return sum(coins)\n"),
        ("shop.py", "from cash import drawer\n\ndef open_shop():\n    return drawer([1, 2, 5])\n"),
        ("notes.md", "# Opening hours\n\nThe shop opens at nine.\n"),
    ]);
    let (ours, absent, directory) = (project("parity"), project("absent"), tempfile::tempdir().unwrap());
    let server = ParityServer::start(directory.path()).await;
    let root = repository.root();
    let build = server.post("/tools/build_index", &json!({ "repoPath": root, "project_id": ours }), false);
    let (status, body) = send_json(build).await;
    assert_eq!(status, 200, "{body:#}");

    let mut clients = [server.clients(false).await, server.clients(true).await];
    let report = json!({ "source": "manual", "payload": [{ "title": "coins" }], "project_id": ours });
    let (_, ingested) = send_json(server.post("/tools/triage_ingest", &report, false)).await;
    let finding = ingested["result"]["recordIds"][0].as_str().unwrap();
    // The same entry again is skipped, whichever caller gives it.
    let entry = json!({ "entries": [crate::instructions::entry("canary", "drawer")], "project_id": ours });
    send_json(server.post("/tools/instructions_import", &entry, false)).await;
    server.wait_for_index_runs(&ours).await;
    let mut cases = table(&root, &ours, &absent, finding);
    let subject = ToolSubject { project: &ours, root: &root, file: "cash.py", word: "drawer", finding };
    cases.extend(calls_of_unlisted_tools(&cases, &subject));
    let (mut differences, mut surfaces_called) = (Vec::new(), BTreeSet::new());
    for case in &cases {
        for (surface, outcome) in
            compare_surfaces(&server, case, &mut clients[usize::from(case.read_only)]).await
        {
            surfaces_called.insert(surface);
            if let Err(difference) = outcome {
                differences.push(format!("{surface}: {} {}: {difference}", case.tool, case.arguments));
            }
        }
    }
    assert_eq!(surfaces_called.len(), 8, "every surface was called: {surfaces_called:?}");
    assert!(differences.is_empty(), "{} differ\n{}", differences.len(), differences.join("\n\n"));
}

type Comparisons = Vec<(&'static str, Result<(), String>)>;

/// Makes the call on every surface and compares each answer with that of `POST /tools/{name}`.
async fn compare_surfaces(
    server: &ParityServer<'_>,
    case: &Case,
    clients: &mut [(&'static str, McpClient)],
) -> Comparisons {
    let Case { tool, arguments, outcome, read_only } = case;
    let (status, reference) = send_json(server.post(&format!("/tools/{tool}"), arguments, *read_only)).await;
    let mut comparisons = vec![("http", check_reference(case, status, &reference))];
    for (name, client) in clients {
        let answer_body = client.call(tool, arguments).await;
        comparisons.push((*name, compare_over_mcp(*outcome, &reference, &answer_body)));
    }
    let (exit, answer_body) = server.command_line(case).await;
    let code = match outcome {
        Success => 0,
        Failed(_) => 1,
        Refused(_) => 2,
    };
    comparisons.push((
        "cli",
        expect_equal("exit code", &code, &exit).and_then(|()| compare(&reference, &answer_body)),
    ));
    if *tool == "search" {
        let (_, answer_body) = send_json(server.post("/search", arguments, *read_only)).await;
        comparisons.push(("http /search", compare_nested("search", &reference, answer_body)));
    }
    if *tool == "check_status" {
        let fields = arguments.as_object().unwrap().iter();
        let query: Vec<String> =
            fields.map(|(name, value)| format!("{name}={}", value.as_str().unwrap())).collect();
        let request = http().get(server.url_of(&format!("/status?{}", query.join("&"))));
        let request = request.header("x-request-id", ID);
        let (_, answer_body) = send_json(request).await;
        comparisons.push(("http /status", compare_nested("status", &reference, answer_body)));
    }
    comparisons
}

// --- comparing

fn expect_equal<T: PartialEq + std::fmt::Debug>(label: &str, expected: &T, got: &T) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("{label}: {got:?} instead of {expected:?}")) }
}

fn info(code: &str) -> ErrorInfo {
    ErrorCode::ALL.iter().find(|known| known.as_str() == code).unwrap().info()
}

/// Checks the reference itself: its code, status and schema.
fn check_reference(case: &Case, status: StatusCode, envelope: &Value) -> Result<(), String> {
    let code = match case.outcome {
        Success => None,
        Failed(code) | Refused(code) => Some(code),
    };
    let expected = code.map_or(200, |code| info(code).http);
    if let Some(tool) = modules().list_of_tools().iter().find(|tool| tool.name == case.tool) {
        check_answer(tool.name, envelope);
    }
    expect_equal("status", &expected, &status.as_u16())
        .and_then(|()| expect_equal("code", &code, &envelope["error"]["code"].as_str()))
        .and_then(|()| expect_equal("request id", &Some("7"), &envelope["_meta"]["requestId"].as_str()))
        .map_err(|difference| format!("{difference}\n{envelope:#}"))
}

/// Compares the text of two envelopes, including the order of fields, except for the varying values.
fn compare(reference: &Value, answer_body: &Value) -> Result<(), String> {
    let without_varying_values = |envelope: &Value| {
        let mut envelope = envelope.clone();
        for pointer in VARYING_VALUES {
            if let Some(value) = envelope.pointer_mut(pointer) {
                *value = "…".into();
            }
        }
        format!("{envelope:#}")
    };
    let (expected, got) = (without_varying_values(reference), without_varying_values(answer_body));
    if expected == got { Ok(()) } else { Err(format!("{got}\ninstead of\n{expected}")) }
}

/// Compares an answer of a route that puts the result into a field beside `repo`.
fn compare_nested(field: &str, reference: &Value, mut answer_body: Value) -> Result<(), String> {
    if answer_body["ok"] == true {
        let fields: Vec<_> = answer_body["result"].as_object().unwrap().keys().cloned().collect();
        expect_equal("fields", &vec!["repo".to_owned(), field.to_owned()], &fields)?;
        expect_equal("repo", &reference["_meta"]["repo"], &answer_body["result"]["repo"])?;
        answer_body["result"] = answer_body["result"][field].take();
    }
    compare(reference, &answer_body)
}

/// Compares an MCP answer. A call that ran returns the envelope twice, as text and structured; a refused one is an error.
fn compare_over_mcp(outcome: Outcome, reference: &Value, answer_body: &Value) -> Result<(), String> {
    expect_equal("id", &json!(ID), &answer_body["id"])?;
    let Refused(code) = outcome else {
        let result = &answer_body["result"];
        let structured = &result["structuredContent"];
        expect_equal("isError", &json!(outcome != Success), &result["isError"])?;
        expect_equal("contents", &Some(1), &result["content"].as_array().map(Vec::len))?;
        expect_equal("text", &Some(structured.to_string().as_str()), &result["content"][0]["text"].as_str())?;
        return compare(reference, structured);
    };
    let (error, mut expected) = (&answer_body["error"], reference["error"].clone());
    expected.as_object_mut().unwrap().shift_remove("retryable");
    expect_equal("number", &info(code).json_rpc.map(i64::from), &error["code"].as_i64())?;
    expect_equal("message", &expected["message"], &error["message"])?;
    // The answer quotes a sent value only once, so the second message may lack it.
    let mut data = error["data"].clone();
    let again = data.as_object_mut().and_then(|data| data.shift_remove("message"));
    expect_equal(
        "a second message",
        &true,
        &again.is_some_and(|again| again.as_str().is_some_and(|text| !text.is_empty())),
    )?;
    expected.as_object_mut().unwrap().shift_remove("message");
    expect_equal("data", &expected, &data)
}

// --- the surfaces

/// A `pairofcleats serve` process.
struct ParityServer<'a> {
    directory: &'a Path,
    url: String,
    _child: Child,
}

fn command(directory: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.env("PAIROFCLEATS_HOME", home()).env_remove("DATABASE_URL").current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    command
}

impl<'a> ParityServer<'a> {
    async fn start(directory: &'a Path) -> Self {
        let mut child = command(directory).args(["serve", "--port", "0", "--json"]).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self { directory, url: ready["result"]["url"].as_str().unwrap().to_owned(), _child: child }
    }

    fn url_of(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn post(&self, path: &str, body: &Value, read_only: bool) -> RequestBuilder {
        let request = http().post(self.url_of(path)).header("x-request-id", ID);
        request.header("x-mcp-readonly", read_only.to_string()).json(body)
    }

    /// Returns when no index run of the project is queued or in progress: what a tool answers during one depends on the moment.
    async fn wait_for_index_runs(&self, project: &str) {
        for _ in 0..600 {
            let (_, status) =
                send_json(self.post("/tools/index_status", &json!({ "project_id": project }), false)).await;
            let jobs = status["result"]["jobs"].as_array().unwrap_or_else(|| panic!("{status:#}"));
            if jobs.iter().all(|job| job["state"] == "succeeded") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("an index run did not end within a minute");
    }

    async fn command_line(&self, case: &Case) -> (i32, Value) {
        let mut command = command(self.directory);
        command.args(["call", case.tool, "--args", &case.arguments.to_string(), "--json"]);
        command.args(["--request-id", &ID.to_string()]);
        if case.read_only {
            command.args(["--set", "tools.read_only=true"]);
        }
        let output = command.output().await.unwrap();
        (output.status.code().unwrap(), serde_json::from_slice(&output.stdout).unwrap_or_default())
    }

    /// An initialized session on each MCP transport.
    async fn clients(&self, read_only: bool) -> Vec<(&'static str, McpClient)> {
        let path = if read_only { "/mcp/readonly" } else { "/mcp" };
        vec![
            ("stdio", McpClient::Stdio(StdioClient::open(self.directory, false, read_only).await)),
            (
                "stdio, Content-Length",
                McpClient::Stdio(StdioClient::open(self.directory, true, read_only).await),
            ),
            ("streamable HTTP", McpClient::Streamable(open_streamable(self.url_of(path)).await)),
            ("HTTP+SSE", McpClient::Sse(SseClient::open(&self.url, read_only).await)),
        ]
    }
}

/// Initializes a Streamable HTTP session at `url`.
async fn open_streamable(url: String) -> Session {
    let begin =
        http().post(&url).header("accept", "application/json, text/event-stream").json(&initialize_request());
    let response = begin.send().await.unwrap();
    let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    last_message(response).await;
    let session = Session { url, key: None, id };
    assert_eq!(session.post(initialized_notification()).await.status(), 202);
    session
}

fn initialized_notification() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// An MCP session on one of the transports.
enum McpClient {
    Stdio(StdioClient),
    Streamable(Session),
    Sse(SseClient),
}

impl McpClient {
    async fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": ID, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        match self {
            Self::Stdio(stdio) => {
                stdio.send(&request).await;
                stdio.next().await
            }
            Self::Streamable(session) => last_message(session.post(request).await).await,
            Self::Sse(sse) => {
                sse.send(&request).await;
                sse.next().await
            }
        }
    }
}

/// A client of `pairofcleats mcp` over its stdin and stdout, by lines or with `Content-Length` frames.
struct StdioClient {
    framed: bool,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _child: Child,
}

impl StdioClient {
    async fn open(directory: &Path, framed: bool, read_only: bool) -> Self {
        let mut command = command(directory);
        command.arg("mcp").args(read_only.then_some("--read-only")).stdin(Stdio::piped());
        if framed {
            command.env("PAIROFCLEATS_MCP_TRANSPORT", "legacy");
        }
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut stdio = Self { framed, input, output, _child: child };
        stdio.send(&initialize_request()).await;
        assert!(stdio.next().await["result"].is_object());
        stdio.send(&initialized_notification()).await;
        stdio
    }

    async fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let text = if self.framed {
            format!("Content-Length: {}\r\n\r\n{body}", body.len())
        } else {
            format!("{body}\n")
        };
        self.input.write_all(text.as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).await.unwrap();
        let Some(length) = line.strip_prefix("Content-Length: ") else {
            assert!(!self.framed, "not a frame: {line}");
            return serde_json::from_str(&line).unwrap();
        };
        let mut body = vec![0; 2 + length.trim().parse::<usize>().unwrap()];
        self.output.read_exact(&mut body).await.unwrap();
        serde_json::from_slice(body.strip_prefix(b"\r\n").unwrap()).unwrap()
    }
}

/// A client of the HTTP+SSE transport from before 2025-03-26: answers arrive on a stream that is opened first.
struct SseClient {
    endpoint: String,
    read_only: bool,
    stream: Response,
    unread: String,
}

impl SseClient {
    async fn open(url: &str, read_only: bool) -> Self {
        let stream = http().get(format!("{url}/sse")).send().await.unwrap();
        let mut sse = Self { endpoint: String::new(), read_only, stream, unread: String::new() };
        let (name, path) = sse.event().await;
        assert_eq!(name, "endpoint");
        sse.endpoint = format!("{url}{path}");
        sse.send(&initialize_request()).await;
        assert!(sse.next().await["result"].is_object());
        sse.send(&initialized_notification()).await;
        sse
    }

    async fn send(&self, message: &Value) {
        let request = http().post(&self.endpoint).header("x-mcp-readonly", self.read_only.to_string());
        assert_eq!(request.json(message).send().await.unwrap().status(), 202);
    }

    async fn next(&mut self) -> Value {
        let (name, data) = self.event().await;
        assert_eq!(name, "message");
        serde_json::from_str(&data).unwrap()
    }

    /// Name and data of the next event.
    async fn event(&mut self) -> (String, String) {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let field = |name: &str| {
                    let lines = event.lines().filter_map(|line| line.strip_prefix(name));
                    lines.map(str::trim).collect::<Vec<_>>().join("\n")
                };
                let (event, rest) = ((field("event:"), field("data:")), rest.to_owned());
                self.unread = rest;
                if !event.0.is_empty() {
                    return event;
                }
                continue;
            }
            let chunk = self.stream.chunk().await.unwrap().expect("an open stream");
            self.unread.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}
