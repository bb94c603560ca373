//! One table of calls through every surface: the same envelope, but for when it was made and how long it took.
//!
//! Real processes with the real model: a server for the HTTP transports, one stdio server a framing, and the
//! command line, all in an empty directory, so that no directory decides anything.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use contract::{ErrorCode, ErrorInfo};
use pairofcleats::tools::LIST;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{Session, answer, hello, message};
use crate::contracts::check_answer;
use crate::harness::{PROGRAM, Repository, home, http, project};

/// The id of every call: JSON-RPC's, the header's and the flag's.
const ID: i64 = 7;

/// What may differ, because it measures or counts.
const MASKED: &[&str] = &[
    "/_meta/ts",         // when the answer was made
    "/_meta/durationMs", // how long the call took
    "/_meta/next",       // a client on standard input works in a directory, one over HTTP in none
    // How long the work took.
    "/result/latency_ms",
    "/result/stats",
    "/result/duration_seconds",
    "/result/report/seconds",
    "/result/report/lexicalSeconds",
    "/result/jobId",          // each surface's run is a job of its own
    "/result/uptimeMs",       // of the process that answers
    "/result/files/0/sha256", // of a file that says when it was made
    // Other tests work beside this one.
    "/result/machine",
    "/result/config", // each process has settings of its own
    // Each decision is a record of its own, and each pack is of its moment.
    "/result/recordId",
    "/result/path",
    "/result/pack/generatedAt",
];

/// What a call comes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Good,
    /// It ran and failed.
    Failed(&'static str),
    /// It was not run.
    Refused(&'static str),
}

use End::{Failed, Good, Refused};

/// One call, and what it must come to everywhere.
struct Case {
    tool: &'static str,
    arguments: Value,
    end: End,
    /// Asked where only tools that change nothing are offered.
    read_only: bool,
}

/// A folder for dictionaries that holds none.
fn words_folder() -> String {
    format!("{}/parity-words-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id())
}

/// Those about models.
fn of_models(root: &str, ours: &str, absent: &str) -> Vec<(&'static str, Value, End)> {
    let index = |more: (&str, Value)| json!({ "repoPath": root, "project_id": ours, more.0: more.1 });
    vec![
        ("download_models", json!({ "project_id": ours }), Good),
        ("download_models", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("download_models", json!({ "model": "no-such" }), Failed("INVALID_REQUEST")),
        ("download_models", json!({ "variant": "fp16" }), Refused("INVALID_REQUEST")),
        ("build_index", index(("mode", "prose".into())), Good),
        ("build_index", index(("mode", "tests".into())), Refused("INVALID_REQUEST")),
        ("build_index", index(("stubEmbeddings", true.into())), Failed("ILLEGAL_STATE")),
    ]
}

/// The calls, for a project that holds `root` and a finding, and one that does not exist.
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn table(root: &str, ours: &str, absent: &str, finding: &str) -> Vec<Case> {
    let everywhere: Vec<(&'static str, Value, End)> = vec![
        ("search", json!({ "query": "where are coins counted", "project_id": ours }), Good),
        (
            "search",
            json!({ "query": "open -shop lang:python", "output": "full", "context": 1, "explain": true, "project_id": ours }),
            Good,
        ),
        ("search", json!({ "query": "hours", "repoPath": root, "project_id": ours }), Good),
        ("search", json!({ "query": "drawer", "output": "json", "ann": false, "project_id": ours }), Good),
        ("search", json!({ "query": "nothing", "top": null, "ext": "rs", "project_id": ours }), Good),
        ("search", json!({ "query": "x", "project_id": absent }), Failed("NO_INDEX")),
        ("search", json!({ "query": "x", "project_id": "Client_A" }), Failed("VALIDATION_ERROR")),
        ("search", json!({ "query": "  ", "project_id": ours }), Failed("INVALID_REQUEST")),
        ("search", json!({ "query": "x", "lang": "pyton", "project_id": ours }), Failed("INVALID_REQUEST")),
        ("search", json!({ "query": "x", "backend": "sqlite", "project_id": ours }), Failed("NO_INDEX")),
        ("search", json!({ "query": "x", "repoPath": "/no/such", "project_id": ours }), Failed("NOT_FOUND")),
        ("search", json!({}), Refused("INVALID_REQUEST")),
        ("search", json!({ "query": 5, "top": 101, "repo_path": "/x" }), Refused("INVALID_REQUEST")),
        ("search_code", json!({ "query": "count the coins", "limit": 3, "project_id": ours }), Good),
        ("search_code", json!({ "query": "x", "project_id": absent }), Failed("NO_INDEX")),
        ("search_code", json!({ "query": "x", "project_id": "a--b" }), Failed("VALIDATION_ERROR")),
        ("search_code", json!({ "query": "x", "limit": 51 }), Refused("INVALID_REQUEST")),
        ("show_file", json!({ "path": "cash.py", "endLine": 2, "project_id": ours }), Good),
        ("show_file", json!({ "path": "none.py", "project_id": ours }), Failed("NOT_FOUND")),
        ("show_file", json!({ "path": "../cash.py", "project_id": ours }), Failed("INVALID_REQUEST")),
        ("show_file", json!({ "path": "cash.py", "startLine": 0 }), Refused("INVALID_REQUEST")),
        ("index_repository", json!({ "repo_path": root, "project_id": ours }), Good),
        ("index_repository", json!({ "repo_path": "x", "project_id": absent }), Failed("INVALID_REQUEST")),
        ("index_repository", json!({ "repo_path": root, "project_id": "-" }), Failed("VALIDATION_ERROR")),
        ("index_repository", json!({ "repoPath": root }), Refused("INVALID_REQUEST")),
        ("build_index", json!({ "repoPath": root, "incremental": false, "project_id": ours }), Good),
        ("build_index", json!({ "repoPath": "/no/such", "project_id": absent }), Failed("NOT_FOUND")),
        ("build_index", json!({ "repoPath": root, "wait": "no" }), Refused("INVALID_REQUEST")),
        ("index_build", json!({ "repoPath": root, "project_id": ours }), Good),
        ("index_build", json!({ "repoPath": root, "project_id": "A" }), Failed("VALIDATION_ERROR")),
        ("index_build", json!({ "full": true }), Refused("INVALID_REQUEST")),
        ("index_status", json!({ "project_id": ours }), Good),
        ("index_status", json!({ "repoPath": root, "project_id": ours }), Good),
        ("index_status", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("index_status", json!({ "repoPath": 1 }), Refused("INVALID_REQUEST")),
        ("build_sqlite_index", json!({ "project_id": ours, "mode": "code" }), Good),
        ("build_sqlite_index", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("build_sqlite_index", json!({ "project_id": ours, "dryRun": true }), Refused("INVALID_REQUEST")),
        ("compact_sqlite_index", json!({ "project_id": ours, "mode": "code", "dryRun": true }), Good),
        ("compact_sqlite_index", json!({ "project_id": ours }), Failed("NO_INDEX")),
        ("compact_sqlite_index", json!({ "keepBackup": 1 }), Refused("INVALID_REQUEST")),
        ("check_status", json!({ "project_id": ours }), Good),
        ("check_status", json!({ "project_id": absent }), Good),
        ("check_status", json!({ "project_id": "A" }), Failed("VALIDATION_ERROR")),
        ("check_status", json!({ "projectId": ours }), Refused("INVALID_REQUEST")),
        ("workspace_status", json!({ "project_id": ours }), Good),
        ("workspace_status", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("workspace_status", json!({ "nonsense": 1 }), Refused("INVALID_REQUEST")),
        ("report_artifacts", json!({ "project_id": ours, "repoPath": root }), Good),
        ("report_artifacts", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("report_artifacts", json!({ "all": 1 }), Refused("INVALID_REQUEST")),
        ("config_status", json!({ "project_id": ours }), Good),
        ("config_status", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("config_status", json!({ "repoPath": 1 }), Refused("INVALID_REQUEST")),
        ("cache_gc", json!({ "project_id": ours, "dryRun": true }), Good),
        ("cache_gc", json!({ "project_id": absent }), Failed("NO_INDEX")),
        ("cache_gc", json!({ "maxAgeDays": -1 }), Refused("INVALID_REQUEST")),
        ("clean_artifacts", json!({ "project_id": ours, "all": true, "dryRun": true }), Good),
        ("clean_artifacts", json!({ "project_id": ours }), Failed("INVALID_REQUEST")),
        ("clean_artifacts", json!({ "all": "yes" }), Refused("INVALID_REQUEST")),
        ("download_dictionaries", json!({ "lang": "", "dir": words_folder(), "project_id": ours }), Good),
        ("download_dictionaries", json!({ "lang": "xx" }), Failed("INVALID_REQUEST")),
        ("download_dictionaries", json!({ "languages": "en" }), Refused("INVALID_REQUEST")),
        ("download_extensions", json!({ "provider": "pgvector" }), Good),
        ("download_extensions", json!({ "provider": "pgvector", "force": true }), Failed("INVALID_REQUEST")),
        ("download_extensions", json!({ "provider": "mysql" }), Refused("INVALID_REQUEST")),
        ("verify_extensions", json!({ "provider": "pgvector" }), Good),
        ("verify_extensions", json!({ "table": "a b" }), Failed("INVALID_REQUEST")),
        ("verify_extensions", json!({ "load": "no" }), Refused("INVALID_REQUEST")),
        (
            "bootstrap",
            json!({ "project_id": ours, "skipInstall": true, "skipDicts": true, "skipTooling": true, "skipArtifacts": true, "skipIndex": true }),
            Good,
        ),
        ("bootstrap", json!({ "project_id": "A" }), Failed("VALIDATION_ERROR")),
        ("bootstrap", json!({ "install": true }), Refused("INVALID_REQUEST")),
        ("serch", json!({ "query": "x" }), Refused("UNKNOWN_TOOL")),
        ("no-such-tool", json!({}), Refused("UNKNOWN_TOOL")),
    ];
    let read_only: Vec<(&'static str, Value, End)> = vec![
        ("search", json!({ "query": "coins", "project_id": ours }), Good),
        ("build_index", json!({ "repoPath": root, "project_id": ours }), Refused("MUTATION_DISABLED")),
        ("index_repository", json!({}), Refused("MUTATION_DISABLED")),
        ("build_indx", json!({}), Refused("UNKNOWN_TOOL")),
    ];
    let everywhere =
        everywhere.into_iter().chain(of_models(root, ours, absent)).chain(triage(ours, absent, finding));
    let cases = everywhere.map(|case| (case, false));
    let cases = cases.chain(read_only.into_iter().map(|case| (case, true)));
    cases.map(|((tool, arguments, end), read_only)| Case { tool, arguments, end, read_only }).collect()
}

/// The calls of the tools for findings.
fn triage(ours: &str, absent: &str, finding: &str) -> Vec<(&'static str, Value, End)> {
    vec![
        ("triage_ingest", json!({ "source": "manual", "payload": [], "project_id": ours }), Good),
        ("triage_ingest", json!({ "source": "manual", "project_id": ours }), Failed("INVALID_REQUEST")),
        ("triage_ingest", json!({ "source": "snyk" }), Refused("INVALID_REQUEST")),
        ("triage_decision", json!({ "finding": finding, "status": "fix", "project_id": ours }), Good),
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
        ("triage_context_pack", json!({ "recordId": finding, "project_id": ours }), Good),
        ("triage_context_pack", json!({ "recordId": "x", "project_id": ours }), Failed("INVALID_REQUEST")),
        ("triage_context_pack", json!({ "id": finding }), Refused("INVALID_REQUEST")),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_is_the_same_envelope_on_every_surface() {
    let repository = Repository::new(&[
        ("cash.py", "def drawer(coins):\n    \"\"\"Counts the coins.\"\"\"\n    return sum(coins)\n"),
        ("shop.py", "from cash import drawer\n\ndef open_shop():\n    return drawer([1, 2, 5])\n"),
        ("notes.md", "# Opening hours\n\nThe shop opens at nine.\n"),
    ]);
    let (ours, absent, directory) = (project("parity"), project("absent"), tempfile::tempdir().unwrap());
    let server = Server::start(directory.path()).await;
    let root = repository.root();
    let begun = server.post("/tools/build_index", &json!({ "repoPath": root, "project_id": ours }), false);
    let (status, body) = answer(begun).await;
    assert_eq!(status, 200, "{body:#}");

    let mut clients = [server.clients(false).await, server.clients(true).await];
    let report = json!({ "source": "manual", "payload": [{ "title": "coins" }], "project_id": ours });
    let (_, ingested) = answer(server.post("/tools/triage_ingest", &report, false)).await;
    let finding = ingested["result"]["recordIds"][0].as_str().unwrap();
    let cases = table(&root, &ours, &absent, finding);
    for tool in LIST.iter().map(|tool| tool.name) {
        let ends: Vec<End> = cases.iter().filter(|case| case.tool == tool).map(|case| case.end).collect();
        assert!(ends.contains(&Good) && ends.iter().any(|end| *end != Good), "{tool} is not in the table");
    }
    let (mut complaints, mut heard) = (Vec::new(), BTreeSet::new());
    for case in &cases {
        for (surface, outcome) in everywhere(&server, case, &mut clients[usize::from(case.read_only)]).await {
            heard.insert(surface);
            if let Err(complaint) = outcome {
                complaints.push(format!("{surface}: {} {}: {complaint}", case.tool, case.arguments));
            }
        }
    }
    assert_eq!(heard.len(), 8, "every surface was asked: {heard:?}");
    assert!(complaints.is_empty(), "{} differ\n{}", complaints.len(), complaints.join("\n\n"));
}

type Compared = Vec<(&'static str, Result<(), String>)>;

/// Asks every surface and compares with what `POST /tools/{name}` says.
async fn everywhere(server: &Server<'_>, case: &Case, clients: &mut [(&'static str, Client)]) -> Compared {
    let Case { tool, arguments, end, read_only } = case;
    let (status, reference) = answer(server.post(&format!("/tools/{tool}"), arguments, *read_only)).await;
    let mut compared = vec![("http", as_expected(case, status, &reference))];
    for (name, client) in clients {
        let said = client.call(tool, arguments).await;
        compared.push((*name, same_over_mcp(*end, &reference, &said)));
    }
    let (exit, said) = server.command_line(case).await;
    let code = match end {
        Good => 0,
        Failed(_) => 1,
        Refused(_) => 2,
    };
    compared.push(("cli", expect("exit code", &code, &exit).and_then(|()| same(&reference, &said))));
    if *tool == "search" {
        let (_, said) = answer(server.post("/search", arguments, *read_only)).await;
        compared.push(("http /search", same_inside("search", &reference, said)));
    }
    if *tool == "check_status" {
        let fields = arguments.as_object().unwrap().iter();
        let query: Vec<String> =
            fields.map(|(name, value)| format!("{name}={}", value.as_str().unwrap())).collect();
        let asked = http().get(server.at(&format!("/status?{}", query.join("&"))));
        let asked = asked.header("x-request-id", ID);
        let (_, said) = answer(asked).await;
        compared.push(("http /status", same_inside("status", &reference, said)));
    }
    compared
}

// --- comparing

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, wanted: &T, got: &T) -> Result<(), String> {
    if wanted == got { Ok(()) } else { Err(format!("{what}: {got:?} instead of {wanted:?}")) }
}

fn info(code: &str) -> ErrorInfo {
    ErrorCode::ALL.iter().find(|known| known.as_str() == code).unwrap().info()
}

/// The reference itself: its code, its status, its schema.
fn as_expected(case: &Case, status: StatusCode, envelope: &Value) -> Result<(), String> {
    let code = match case.end {
        Good => None,
        Failed(code) | Refused(code) => Some(code),
    };
    let wanted = code.map_or(200, |code| info(code).http);
    if let Some(tool) = LIST.iter().find(|tool| tool.name == case.tool) {
        check_answer(tool.name, envelope);
    }
    expect("status", &wanted, &status.as_u16())
        .and_then(|()| expect("code", &code, &envelope["error"]["code"].as_str()))
        .and_then(|()| expect("request id", &Some("7"), &envelope["_meta"]["requestId"].as_str()))
        .map_err(|complaint| format!("{complaint}\n{envelope:#}"))
}

/// Equal to the last character, order of fields included, but for what is masked.
fn same(reference: &Value, said: &Value) -> Result<(), String> {
    let masked = |envelope: &Value| {
        let mut envelope = envelope.clone();
        for place in MASKED {
            if let Some(value) = envelope.pointer_mut(place) {
                *value = "…".into();
            }
        }
        format!("{envelope:#}")
    };
    let (wanted, got) = (masked(reference), masked(said));
    if wanted == got { Ok(()) } else { Err(format!("{got}\ninstead of\n{wanted}")) }
}

/// The same on a route that puts the result into a field beside the repository.
fn same_inside(field: &str, reference: &Value, mut said: Value) -> Result<(), String> {
    if said["ok"] == true {
        let fields: Vec<_> = said["result"].as_object().unwrap().keys().cloned().collect();
        expect("fields", &vec!["repo".to_owned(), field.to_owned()], &fields)?;
        expect("repo", &reference["_meta"]["repo"], &said["result"]["repo"])?;
        said["result"] = said["result"][field].take();
    }
    same(reference, &said)
}

/// A call that ran is a result with the envelope twice; one that was not run is a JSON-RPC error.
fn same_over_mcp(end: End, reference: &Value, said: &Value) -> Result<(), String> {
    expect("id", &json!(ID), &said["id"])?;
    let Refused(code) = end else {
        let result = &said["result"];
        let structured = &result["structuredContent"];
        expect("isError", &json!(end != Good), &result["isError"])?;
        expect("contents", &Some(1), &result["content"].as_array().map(Vec::len))?;
        expect("text", &Some(structured.to_string().as_str()), &result["content"][0]["text"].as_str())?;
        return same(reference, structured);
    };
    let (error, mut wanted) = (&said["error"], reference["error"].clone());
    wanted.as_object_mut().unwrap().shift_remove("retryable");
    expect("number", &info(code).json_rpc.map(i64::from), &error["code"].as_i64())?;
    expect("message", &wanted["message"], &error["message"])?;
    // What was sent stands in the answer once, so the second message may lack it.
    let mut data = error["data"].clone();
    let again = data.as_object_mut().and_then(|data| data.shift_remove("message"));
    expect(
        "a second message",
        &true,
        &again.is_some_and(|again| again.as_str().is_some_and(|text| !text.is_empty())),
    )?;
    wanted.as_object_mut().unwrap().shift_remove("message");
    expect("data", &wanted, &data)
}

// --- the surfaces

/// `pairofcleats serve`.
struct Server<'a> {
    directory: &'a Path,
    url: String,
    _child: Child,
}

fn program(directory: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.env("PAIROFCLEATS_HOME", home()).env_remove("DATABASE_URL").current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    command
}

impl<'a> Server<'a> {
    async fn start(directory: &'a Path) -> Self {
        let mut child = program(directory).args(["serve", "--port", "0", "--json"]).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self { directory, url: ready["result"]["url"].as_str().unwrap().to_owned(), _child: child }
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn post(&self, path: &str, body: &Value, read_only: bool) -> RequestBuilder {
        let request = http().post(self.at(path)).header("x-request-id", ID);
        request.header("x-mcp-readonly", read_only.to_string()).json(body)
    }

    async fn command_line(&self, case: &Case) -> (i32, Value) {
        let mut command = program(self.directory);
        command.args(["call", case.tool, "--args", &case.arguments.to_string(), "--json"]);
        command.args(["--request-id", &ID.to_string()]);
        if case.read_only {
            command.args(["--set", "tools.read_only=true"]);
        }
        let output = command.output().await.unwrap();
        (output.status.code().unwrap(), serde_json::from_slice(&output.stdout).unwrap_or_default())
    }

    /// An open session on each MCP transport.
    async fn clients(&self, read_only: bool) -> Vec<(&'static str, Client)> {
        let path = if read_only { "/mcp/readonly" } else { "/mcp" };
        vec![
            ("stdio", Client::Pipes(Pipes::open(self.directory, false, read_only).await)),
            ("stdio, Content-Length", Client::Pipes(Pipes::open(self.directory, true, read_only).await)),
            ("streamable HTTP", Client::Streamable(streamable(self.at(path)).await)),
            ("HTTP+SSE", Client::Older(Older::open(&self.url, read_only).await)),
        ]
    }
}

/// A session of Streamable HTTP at `url`, begun.
async fn streamable(url: String) -> Session {
    let begin = http().post(&url).header("accept", "application/json, text/event-stream").json(&hello());
    let response = begin.send().await.unwrap();
    let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    message(response).await;
    let session = Session { url, key: None, id };
    assert_eq!(session.post(initialized()).await.status(), 202);
    session
}

fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// An MCP session on one of the transports.
enum Client {
    Pipes(Pipes),
    Streamable(Session),
    Older(Older),
}

impl Client {
    async fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": ID, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        match self {
            Self::Pipes(pipes) => {
                pipes.send(&request).await;
                pipes.next().await
            }
            Self::Streamable(session) => message(session.post(request).await).await,
            Self::Older(older) => {
                older.send(&request).await;
                older.next().await
            }
        }
    }
}

/// stdin and stdout of `pairofcleats mcp`, by lines or by frames.
struct Pipes {
    framed: bool,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _child: Child,
}

impl Pipes {
    async fn open(directory: &Path, framed: bool, read_only: bool) -> Self {
        let mut command = program(directory);
        command.arg("mcp").args(read_only.then_some("--read-only")).stdin(Stdio::piped());
        if framed {
            command.env("PAIROFCLEATS_MCP_TRANSPORT", "legacy");
        }
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut pipes = Self { framed, input, output, _child: child };
        pipes.send(&hello()).await;
        assert!(pipes.next().await["result"].is_object());
        pipes.send(&initialized()).await;
        pipes
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
            assert!(!self.framed, "no frame: {line}");
            return serde_json::from_str(&line).unwrap();
        };
        let mut body = vec![0; 2 + length.trim().parse::<usize>().unwrap()];
        self.output.read_exact(&mut body).await.unwrap();
        serde_json::from_slice(body.strip_prefix(b"\r\n").unwrap()).unwrap()
    }
}

/// The transport of before 2025-03-26: answers come over a stream that was opened first.
struct Older {
    endpoint: String,
    read_only: bool,
    stream: Response,
    unread: String,
}

impl Older {
    async fn open(url: &str, read_only: bool) -> Self {
        let stream = http().get(format!("{url}/sse")).send().await.unwrap();
        let mut older = Self { endpoint: String::new(), read_only, stream, unread: String::new() };
        let (name, path) = older.event().await;
        assert_eq!(name, "endpoint");
        older.endpoint = format!("{url}{path}");
        older.send(&hello()).await;
        assert!(older.next().await["result"].is_object());
        older.send(&initialized()).await;
        older
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
