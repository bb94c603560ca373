//! The surfaces with the real program: stdio, HTTP and the command line.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use reqwest::StatusCode;
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::http;

fn command(home: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pairofcleats"));
    command.env("PAIROFCLEATS_HOME", home.path()).env_remove("DATABASE_URL").env("NO_COLOR", "1");
    command
}

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn run(home: &TempDir, args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command(home).args(args).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

// --- stdio, raw lines

/// A stdio session over raw lines. It reads everything that the program writes to stdout.
struct RawSession {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    _home: TempDir,
}

impl RawSession {
    fn start(flags: &[&str]) -> Self {
        let home = home();
        let mut child = command(&home)
            .args(flags)
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout, _home: home }
    }

    fn open(flags: &[&str]) -> (Self, Value) {
        let mut session = Self::start(flags);
        let initialized = session.request(
            1,
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
        );
        session.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        (session, initialized)
    }

    fn send(&mut self, message: Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The next line, which must be a JSON-RPC message.
    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let message: Value =
            serde_json::from_str(&line).unwrap_or_else(|e| panic!("not JSON ({e}): {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    fn request(&mut self, id: i64, method: &str, params: Value) -> Value {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.read();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn call(&mut self, id: i64, tool: &str, arguments: Value) -> Value {
        self.request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Closes stdin. Returns the remaining output and the exit code.
    fn close(mut self) -> (String, Option<i32>) {
        drop(self.stdin.take());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap().code())
    }
}

/// A protocol revision that a client requests, and the one of the answer.
pub(crate) const REVISIONS: [(&str, &str); 5] = [
    ("2024-11-05", "2024-11-05"),
    ("2025-03-26", "2025-03-26"),
    ("2025-06-18", "2025-06-18"),
    ("2025-11-25", "2025-11-25"),
    ("2099-01-01", "2025-11-25"),
];

#[test]
fn stdio_initializes_in_the_clients_revision_with_capabilities() {
    for (offered, answered) in REVISIONS {
        let mut session = RawSession::start(&[]);
        let initialized = session.request(
            7,
            "initialize",
            json!({ "protocolVersion": offered, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
        );
        let result = &initialized["result"];
        assert_eq!(result["protocolVersion"], answered, "offered {offered}");
        assert_eq!(result["serverInfo"]["name"], "pairofcleats");
        assert_eq!(result["capabilities"]["tools"]["listChanged"], false);
        assert!(result["capabilities"]["experimental"]["pairofcleats"]["schemaVersion"].is_string());
        assert!(result["instructions"].as_str().is_some_and(|text| text.contains("search")));
        assert_eq!(session.close(), (String::new(), Some(0)));
    }
}

#[test]
fn stdio_lists_and_calls_tools_and_refuses_invalid_calls() {
    let (mut session, _) = RawSession::open(&[]);

    let list = session.request(2, "tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    assert!(list["result"].get("nextCursor").is_none(), "one page");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let expected = crate::serving::listed_by_default();
    assert_eq!(names, expected, "in the order of the list");
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert!(tool.get("outputSchema").is_none_or(|schema| schema["type"] == "object"));
        assert_eq!(tool["_meta"]["schemaVersion"], 2);
        assert_eq!(tool["annotations"].as_object().map(serde_json::Map::len), Some(4), "four hints");
    }

    let good = session.call(3, "check_status", json!({}));
    let envelope = &good["result"]["structuredContent"];
    assert_eq!(good["result"]["isError"], false);
    assert_eq!(envelope["ok"], true);
    assert_eq!(envelope["_meta"]["requestId"], "3");
    let text = good["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), envelope);

    let unknown = session.call(4, "check_statu", json!({}));
    assert_eq!(unknown["error"]["code"], -32602);
    assert_eq!(unknown["error"]["data"]["code"], "UNKNOWN_TOOL");
    assert!(unknown["error"]["data"]["hint"].as_str().unwrap().contains("check_status"));

    let bad = session.call(5, "check_status", json!({ "nonsense": 1 }));
    assert_eq!(bad["error"]["code"], -32602);
    assert_eq!(bad["error"]["data"]["code"], "INVALID_REQUEST");
    assert_eq!(bad["error"]["data"]["details"][0]["keyword"], "additionalProperties");
    assert!(bad["error"]["message"].as_str().unwrap().contains("nonsense"));

    let (rest, code) = session.close();
    assert_eq!(
        (rest.as_str(), code),
        ("", Some(0)),
        "stdout has only answers, and the program exits cleanly"
    );
}

#[test]
fn stdio_survives_invalid_messages() {
    let (mut session, _) = RawSession::open(&[]);
    let ill_typed = session.request(2, "tools/call", json!({ "name": 5 }));
    assert_eq!(ill_typed["error"]["code"], -32602);
    assert_eq!(ill_typed["error"]["data"]["code"], "INVALID_REQUEST");
    let array = session.request(3, "tools/call", json!({ "name": "check_status", "arguments": [] }));
    assert_eq!(array["error"]["code"], -32602);
    assert_eq!(session.request(4, "no/such", json!({}))["error"]["code"], -32601);
    writeln!(session.stdin.as_mut().unwrap(), "this is not JSON").unwrap();
    let unreadable = session.read();
    assert_eq!((&unreadable["error"]["code"], unreadable.get("id")), (&json!(-32700), Some(&Value::Null)));
    session.send(
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } }),
    );
    assert!(session.request(5, "ping", json!({}))["result"].is_object());
    assert_eq!(session.close(), (String::new(), Some(0)));
}

#[test]
fn stdio_reports_violations_as_results_if_configured() {
    let (mut session, _) = RawSession::open(&["--set", "mcp.validation_errors=tool"]);
    let bad = session.call(2, "check_status", json!({ "nonsense": 1 }));
    assert_eq!(bad["result"]["isError"], true);
    assert_eq!(bad["result"]["structuredContent"]["error"]["code"], "INVALID_REQUEST");
    assert_eq!(session.call(3, "nope", json!({}))["error"]["data"]["code"], "UNKNOWN_TOOL");
}

#[test]
fn stdio_exits_cleanly_without_a_session() {
    assert_eq!(RawSession::start(&[]).close(), (String::new(), Some(0)));
}

#[tokio::test]
async fn an_sdk_client_works_over_stdio() {
    let home = home();
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_pairofcleats"));
    command.arg("mcp").env("PAIROFCLEATS_HOME", home.path()).env_remove("DATABASE_URL");
    let client = ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
    check_sdk_client(&client).await;
    client.cancel().await.unwrap();
}

async fn check_sdk_client(client: &rmcp::service::RunningService<rmcp::RoleClient, ()>) {
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), crate::serving::listed_by_default().len());
    let answer = client.call_tool(CallToolRequestParams::new("check_status")).await.unwrap();
    assert_eq!(serde_json::to_value(&answer).unwrap()["structuredContent"]["ok"], true);
    let refused = client.call_tool(CallToolRequestParams::new("nope")).await.unwrap_err();
    assert!(refused.to_string().contains("Unknown tool"), "{refused}");
}

// --- HTTP

/// `pairofcleats serve` on a free port; killed on drop.
struct Server {
    child: Child,
    url: String,
    _home: TempDir,
}

impl Server {
    fn start(flags: &[&str]) -> Self {
        let home = home();
        let mut child = command(&home)
            .args(["serve", "--port", "0", "--json"])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self { child, url: ready["result"]["url"].as_str().unwrap().to_owned(), _home: home }
    }

    fn url_of(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn terminate(&mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn checked_envelope(response: reqwest::Response) -> (StatusCode, Value) {
    let (status, request_id) = (response.status(), response.headers().get("x-request-id").cloned());
    let body: Value = response.json().await.unwrap();
    assert!(body["ok"].is_boolean() && body["_meta"]["ts"].is_string(), "{body}");
    assert_eq!(
        body["_meta"]["requestId"].as_str(),
        request_id.as_ref().and_then(|id| id.to_str().ok()),
        "{body}"
    );
    (status, body)
}

#[tokio::test]
async fn http_answers_with_envelopes() {
    let server = Server::start(&[]);
    let client = http();

    let (status, body) = checked_envelope(client.get(server.url_of("/health")).send().await.unwrap()).await;
    assert_eq!(status, 200);
    assert!(body["result"]["uptimeMs"].is_u64());

    let (status, body) = checked_envelope(client.get(server.url_of("/status")).send().await.unwrap()).await;
    assert_eq!(status, 200);
    assert!(body["result"]["status"].is_object() && body["result"].get("repo").is_some());

    let (status, body) = checked_envelope(client.get(server.url_of("/tools")).send().await.unwrap()).await;
    assert_eq!(
        (status, body["result"]["tools"][0]["inputSchema"]["type"].as_str()),
        (StatusCode::OK, Some("object"))
    );

    let request =
        client.post(server.url_of("/tools/check_status")).header("x-request-id", "my-id-1").json(&json!({}));
    let (status, body) = checked_envelope(request.send().await.unwrap()).await;
    assert_eq!((status, body["_meta"]["requestId"].as_str()), (StatusCode::OK, Some("my-id-1")));

    let (status, _) =
        checked_envelope(client.post(server.url_of("/tools/check_status")).send().await.unwrap()).await;
    assert_eq!(status, 200, "an empty body is the empty object");
}

#[tokio::test]
async fn http_refuses_with_the_documented_status() {
    let server = Server::start(&["--set", "server.body_bytes_max=1000"]);
    let client = http();
    let tool = |body: &str, kind: &str| {
        client
            .post(server.url_of("/tools/check_status"))
            .header("content-type", kind.to_owned())
            .body(body.to_owned())
    };
    let json_type = "application/json";
    let large = format!("{{\"x\":\"{}\"}}", "y".repeat(2000));
    let table = [
        ("broken JSON", tool("{", json_type), 400, "INVALID_REQUEST"),
        ("an array", tool("[]", json_type), 400, "INVALID_REQUEST"),
        ("unknown field", tool("{\"nonsense\":1}", json_type), 400, "INVALID_REQUEST"),
        ("bad query string", client.get(server.url_of("/status?nonsense=1")), 400, "INVALID_REQUEST"),
        ("unknown tool", client.post(server.url_of("/tools/nope")).json(&json!({})), 404, "UNKNOWN_TOOL"),
        ("no such route", client.get(server.url_of("/nope")), 404, "NOT_FOUND"),
        ("wrong method", client.get(server.url_of("/search")), 405, "INVALID_REQUEST"),
        ("too large", tool(&large, json_type), 413, "INVALID_REQUEST"),
        ("not JSON", tool("{}", "text/plain"), 415, "INVALID_REQUEST"),
        (
            "foreign host name",
            client.get(server.url_of("/health")).header("host", "evil.example"),
            403,
            "FORBIDDEN",
        ),
        (
            "foreign page",
            client.get(server.url_of("/health")).header("origin", "https://evil.example"),
            403,
            "FORBIDDEN",
        ),
        (
            "foreign page at MCP",
            client.post(server.url_of("/mcp")).header("origin", "null"),
            403,
            "FORBIDDEN",
        ),
    ];
    for (label, request, status, code) in table {
        let (got, body) = checked_envelope(request.send().await.unwrap()).await;
        assert_eq!((got.as_u16(), body["error"]["code"].as_str()), (status, Some(code)), "{label}: {body}");
    }
    let local =
        client.get(server.url_of("/health")).header("origin", "http://localhost:3000").send().await.unwrap();
    assert_eq!(local.status(), 200);
}

#[tokio::test]
async fn an_sdk_client_works_over_streamable_http() {
    let mut server = Server::start(&[]);
    http();
    let transport = StreamableHttpClientTransport::from_uri(server.url_of("/mcp"));
    let client = ().serve(transport).await.unwrap();
    check_sdk_client(&client).await;
    client.cancel().await.unwrap();
    assert_eq!(server.terminate(), Some(0), "SIGTERM stops the server cleanly");
}

#[tokio::test]
async fn deleting_a_session_is_204() {
    let server = Server::start(&[]);
    let client = http();
    let initialized = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let accept = "application/json, text/event-stream";
    let opened =
        client.post(server.url_of("/mcp")).header("accept", accept).json(&initialized).send().await.unwrap();
    assert_eq!(opened.status(), 200);
    let session = opened.headers()["mcp-session-id"].clone();
    let ended =
        client.delete(server.url_of("/mcp")).header("mcp-session-id", session.clone()).send().await.unwrap();
    assert_eq!(ended.status(), 204);
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    let gone = client.post(server.url_of("/mcp")).header("accept", accept).header("mcp-session-id", session);
    assert_eq!(gone.json(&ping).send().await.unwrap().status(), 404);
}

#[test]
fn an_unfinished_request_does_not_delay_the_stop() {
    let mut server = Server::start(&["--set", "server.drain_ms=300"]);
    let address = server.url.trim_start_matches("http://").to_owned();
    let mut half_open = std::net::TcpStream::connect(address).unwrap();
    half_open.write_all(b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{").unwrap();
    assert_eq!(server.terminate(), Some(0));
}

// --- the command line

#[test]
fn exit_codes_distinguish_success_failure_and_usage_errors() {
    let home = home();
    for (args, code) in [
        (&["--help"][..], 0),
        (&["--version"], 0),
        (&["tools"], 0),
        (&["call", "check_status"], 0),
        (&["completions", "bash"], 0),
        (&[], 2),
        (&["no-such-command"], 2),
        (&["call", "nope"], 2),
        (&["call", "check_status", "--args", "{"], 2),
        (&["call", "check_status", "--args", "{\"x\":1}"], 2),
        (&["tools", "--set", "server.prot=1"], 2),
        (&["tools", "--config", "/no/such/file"], 2),
        (&["serve", "--bind", "0.0.0.0"], 1),
    ] {
        let (got, stdout, stderr) = run(&home, args);
        assert_eq!(got, code, "{args:?}: {stdout}{stderr}");
        let (has_stdout, has_stderr) = (!stdout.is_empty(), !stderr.is_empty());
        assert!(has_stdout || has_stderr, "{args:?} printed nothing");
        assert!(code == 0 || has_stderr || stdout.contains("\"ok\": false"), "{args:?}: {stdout}");
    }
}

#[test]
fn json_output_is_the_envelope_in_one_line() {
    let home = home();
    for (args, ok) in [
        (&["call", "check_status", "--json"][..], true),
        (&["tools", "--json"], true),
        (&["call", "nope", "--json"], false),
        (&["tools", "--json", "--set", "server.prot=1"], false),
        (&["serve", "--json", "--bind", "0.0.0.0"], false),
    ] {
        let (_, stdout, _) = run(&home, args);
        assert_eq!(stdout.lines().count(), 1, "{args:?}: {stdout}");
        let envelope: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(envelope["ok"], ok, "{args:?}: {stdout}");
    }
}

#[test]
fn output_to_a_pipe_has_no_colour() {
    let home = home();
    let (_, stdout, _) = run(&home, &["tools"]);
    assert!(stdout.contains("check_status") && !stdout.contains('\u{1b}'), "{stdout:?}");
    let (_, _, stderr) = run(&home, &["serve", "--bind", "0.0.0.0"]);
    assert!(stderr.contains("hint:") && !stderr.contains('\u{1b}'), "{stderr:?}");
}
