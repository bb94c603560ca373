//! The surfaces as clients meet them: the real program over stdio, sockets and the command line.
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

fn program(home: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pairofcleats"));
    command.env("PAIROFCLEATS_HOME", home.path()).env_remove("DATABASE_URL").env("NO_COLOR", "1");
    command
}

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn run(home: &TempDir, args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = program(home).args(args).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

// --- stdio, raw lines

/// A session over raw lines: what it reads is all that the program wrote.
struct RawSession {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    _home: TempDir,
}

impl RawSession {
    fn start(flags: &[&str]) -> Self {
        let home = home();
        let mut child = program(&home)
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
        let hello = session.ask(
            1,
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
        );
        session.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        (session, hello)
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

    fn ask(&mut self, id: i64, method: &str, params: Value) -> Value {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.read();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn call(&mut self, id: i64, tool: &str, arguments: Value) -> Value {
        self.ask(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Closes stdin; what the program still writes, and its exit code.
    fn close(mut self) -> (String, Option<i32>) {
        drop(self.stdin.take());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap().code())
    }
}

/// A revision that a client asks for, and the one that it is answered in.
pub(crate) const REVISIONS: [(&str, &str); 5] = [
    ("2024-11-05", "2024-11-05"),
    ("2025-03-26", "2025-03-26"),
    ("2025-06-18", "2025-06-18"),
    ("2025-11-25", "2025-11-25"),
    ("2099-01-01", "2025-11-25"),
];

#[test]
fn stdio_opens_in_the_clients_revision_and_with_the_capability_block() {
    for (offered, answered) in REVISIONS {
        let mut session = RawSession::start(&[]);
        let hello = session.ask(
            7,
            "initialize",
            json!({ "protocolVersion": offered, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
        );
        let result = &hello["result"];
        assert_eq!(result["protocolVersion"], answered, "offered {offered}");
        assert_eq!(result["serverInfo"]["name"], "pairofcleats");
        assert_eq!(result["capabilities"]["tools"]["listChanged"], false);
        assert!(result["capabilities"]["experimental"]["pairofcleats"]["schemaVersion"].is_string());
        assert!(result["instructions"].as_str().is_some_and(|text| text.contains("search")));
        assert_eq!(session.close(), (String::new(), Some(0)));
    }
}

#[test]
fn stdio_lists_and_calls_and_refuses() {
    let (mut session, _) = RawSession::open(&[]);

    let list = session.ask(2, "tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    assert!(list["result"].get("nextCursor").is_none(), "one page");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let expected: Vec<&str> = pairofcleats::tools::LIST.iter().map(|tool| tool.name).collect();
    assert_eq!(names, expected, "in list order");
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
    assert_eq!((rest.as_str(), code), ("", Some(0)), "nothing but answers on stdout, and a clean end");
}

#[test]
fn stdio_survives_what_is_not_the_protocol() {
    let (mut session, _) = RawSession::open(&[]);
    let ill_typed = session.ask(2, "tools/call", json!({ "name": 5 }));
    assert_eq!(ill_typed["error"]["code"], -32602);
    assert_eq!(ill_typed["error"]["data"]["code"], "INVALID_REQUEST");
    let array = session.ask(3, "tools/call", json!({ "name": "check_status", "arguments": [] }));
    assert_eq!(array["error"]["code"], -32602);
    assert_eq!(session.ask(4, "no/such", json!({}))["error"]["code"], -32601);
    writeln!(session.stdin.as_mut().unwrap(), "this is not JSON").unwrap();
    let unreadable = session.read();
    assert_eq!((&unreadable["error"]["code"], unreadable.get("id")), (&json!(-32700), Some(&Value::Null)));
    session.send(
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } }),
    );
    assert!(session.ask(5, "ping", json!({}))["result"].is_object());
    assert_eq!(session.close(), (String::new(), Some(0)));
}

#[test]
fn stdio_reports_violations_as_results_when_asked_to() {
    let (mut session, _) = RawSession::open(&["--set", "mcp.validation_errors=tool"]);
    let bad = session.call(2, "check_status", json!({ "nonsense": 1 }));
    assert_eq!(bad["result"]["isError"], true);
    assert_eq!(bad["result"]["structuredContent"]["error"]["code"], "INVALID_REQUEST");
    assert_eq!(session.call(3, "nope", json!({}))["error"]["data"]["code"], "UNKNOWN_TOOL");
}

#[test]
fn stdio_ends_well_before_it_began() {
    assert_eq!(RawSession::start(&[]).close(), (String::new(), Some(0)));
}

#[tokio::test]
async fn an_sdk_client_works_over_stdio() {
    let home = home();
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_pairofcleats"));
    command.arg("mcp").env("PAIROFCLEATS_HOME", home.path()).env_remove("DATABASE_URL");
    let client = ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
    sdk_round(&client).await;
    client.cancel().await.unwrap();
}

async fn sdk_round(client: &rmcp::service::RunningService<rmcp::RoleClient, ()>) {
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), pairofcleats::tools::LIST.len());
    let answer = client.call_tool(CallToolRequestParams::new("check_status")).await.unwrap();
    assert_eq!(serde_json::to_value(&answer).unwrap()["structuredContent"]["ok"], true);
    let refused = client.call_tool(CallToolRequestParams::new("nope")).await.unwrap_err();
    assert!(refused.to_string().contains("Unknown tool"), "{refused}");
}

// --- HTTP

/// `pairofcleats serve` on a free port.
struct Server {
    child: Child,
    url: String,
    _home: TempDir,
}

impl Server {
    fn start(flags: &[&str]) -> Self {
        let home = home();
        let mut child = program(&home)
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

    fn at(&self, path: &str) -> String {
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

async fn envelope(response: reqwest::Response) -> (StatusCode, Value) {
    let (status, named) = (response.status(), response.headers().get("x-request-id").cloned());
    let body: Value = response.json().await.unwrap();
    assert!(body["ok"].is_boolean() && body["_meta"]["ts"].is_string(), "{body}");
    assert_eq!(body["_meta"]["requestId"].as_str(), named.as_ref().and_then(|id| id.to_str().ok()), "{body}");
    (status, body)
}

#[tokio::test]
async fn http_answers_with_envelopes() {
    let server = Server::start(&[]);
    let client = http();

    let (status, body) = envelope(client.get(server.at("/health")).send().await.unwrap()).await;
    assert_eq!(status, 200);
    assert!(body["result"]["uptimeMs"].is_u64());

    let (status, body) = envelope(client.get(server.at("/status")).send().await.unwrap()).await;
    assert_eq!(status, 200);
    assert!(body["result"]["status"].is_object() && body["result"].get("repo").is_some());

    let (status, body) = envelope(client.get(server.at("/tools")).send().await.unwrap()).await;
    assert_eq!(
        (status, body["result"]["tools"][0]["inputSchema"]["type"].as_str()),
        (StatusCode::OK, Some("object"))
    );

    let named =
        client.post(server.at("/tools/check_status")).header("x-request-id", "my-id-1").json(&json!({}));
    let (status, body) = envelope(named.send().await.unwrap()).await;
    assert_eq!((status, body["_meta"]["requestId"].as_str()), (StatusCode::OK, Some("my-id-1")));

    let (status, _) = envelope(client.post(server.at("/tools/check_status")).send().await.unwrap()).await;
    assert_eq!(status, 200, "an empty body is the empty object");
}

#[tokio::test]
async fn http_refuses_with_the_right_status() {
    let server = Server::start(&["--set", "server.body_bytes_max=1000"]);
    let client = http();
    let tool = |body: &str, kind: &str| {
        client
            .post(server.at("/tools/check_status"))
            .header("content-type", kind.to_owned())
            .body(body.to_owned())
    };
    let json_type = "application/json";
    let large = format!("{{\"x\":\"{}\"}}", "y".repeat(2000));
    let table = [
        ("broken JSON", tool("{", json_type), 400, "INVALID_REQUEST"),
        ("an array", tool("[]", json_type), 400, "INVALID_REQUEST"),
        ("unknown field", tool("{\"nonsense\":1}", json_type), 400, "INVALID_REQUEST"),
        ("bad query string", client.get(server.at("/status?nonsense=1")), 400, "INVALID_REQUEST"),
        ("unknown tool", client.post(server.at("/tools/nope")).json(&json!({})), 404, "UNKNOWN_TOOL"),
        ("no such route", client.get(server.at("/nope")), 404, "NOT_FOUND"),
        ("wrong method", client.get(server.at("/search")), 405, "INVALID_REQUEST"),
        ("too large", tool(&large, json_type), 413, "INVALID_REQUEST"),
        ("not JSON", tool("{}", "text/plain"), 415, "INVALID_REQUEST"),
        ("rebound name", client.get(server.at("/health")).header("host", "evil.example"), 403, "FORBIDDEN"),
        (
            "foreign page",
            client.get(server.at("/health")).header("origin", "https://evil.example"),
            403,
            "FORBIDDEN",
        ),
        ("foreign page at MCP", client.post(server.at("/mcp")).header("origin", "null"), 403, "FORBIDDEN"),
    ];
    for (what, request, status, code) in table {
        let (got, body) = envelope(request.send().await.unwrap()).await;
        assert_eq!((got.as_u16(), body["error"]["code"].as_str()), (status, Some(code)), "{what}: {body}");
    }
    let local =
        client.get(server.at("/health")).header("origin", "http://localhost:3000").send().await.unwrap();
    assert_eq!(local.status(), 200);
}

#[tokio::test]
async fn an_sdk_client_works_over_streamable_http() {
    let mut server = Server::start(&[]);
    http();
    let transport = StreamableHttpClientTransport::from_uri(server.at("/mcp"));
    let client = ().serve(transport).await.unwrap();
    sdk_round(&client).await;
    client.cancel().await.unwrap();
    assert_eq!(server.terminate(), Some(0), "SIGTERM ends it cleanly");
}

#[tokio::test]
async fn sessions_end_with_204() {
    let server = Server::start(&[]);
    let client = http();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let accept = "application/json, text/event-stream";
    let opened = client.post(server.at("/mcp")).header("accept", accept).json(&hello).send().await.unwrap();
    assert_eq!(opened.status(), 200);
    let session = opened.headers()["mcp-session-id"].clone();
    let ended =
        client.delete(server.at("/mcp")).header("mcp-session-id", session.clone()).send().await.unwrap();
    assert_eq!(ended.status(), 204);
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    let gone = client.post(server.at("/mcp")).header("accept", accept).header("mcp-session-id", session);
    assert_eq!(gone.json(&ping).send().await.unwrap().status(), 404);
}

#[test]
fn an_open_stream_does_not_hold_the_stop_up() {
    let mut server = Server::start(&["--set", "server.drain_ms=300"]);
    let address = server.url.trim_start_matches("http://").to_owned();
    let mut half_open = std::net::TcpStream::connect(address).unwrap();
    half_open.write_all(b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{").unwrap();
    assert_eq!(server.terminate(), Some(0));
}

// --- the command line

#[test]
fn the_command_line_says_how_it_went_by_its_exit_code() {
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
        let (answer, complaint) = (!stdout.is_empty(), !stderr.is_empty());
        assert!(answer || complaint, "{args:?} says something");
        assert!(code == 0 || complaint || stdout.contains("\"ok\": false"), "{args:?}: {stdout}");
    }
}

#[test]
fn json_is_one_line_and_the_envelope() {
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
