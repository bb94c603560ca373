//! Invalid messages and messages at the wrong time: every transport answers them alike, and the session continues.

use std::process::Stdio;

use reqwest::Response;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{TestServer, initialize_request};
use crate::harness::{PROGRAM, http};

/// Maximum size of a message in these tests, in bytes.
const MESSAGE_BYTES_MAX: usize = 20_000;

/// A session on one of the transports, which can send any text.
enum McpClient {
    Stdio(StdioClient),
    Streamable { url: String, session: Option<String>, answers: Vec<Value> },
    Sse(SseClient),
}

struct StdioClient {
    framed: bool,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _child: Child,
    _home: tempfile::TempDir,
}

struct SseClient {
    endpoint: String,
    stream: Response,
    unread: String,
}

impl McpClient {
    /// A client on each transport, not yet initialized.
    async fn all(server: &TestServer) -> Vec<(&'static str, Self)> {
        let stream = http().get(server.url_of("/sse")).send().await.unwrap();
        let mut sse = SseClient { endpoint: String::new(), stream, unread: String::new() };
        sse.endpoint = server.url_of(&sse.next_data().await);
        vec![
            ("stdio", Self::Stdio(StdioClient::open(false))),
            ("stdio, Content-Length", Self::Stdio(StdioClient::open(true))),
            (
                "Streamable HTTP",
                Self::Streamable { url: server.url_of("/mcp"), session: None, answers: Vec::new() },
            ),
            ("HTTP+SSE", Self::Sse(sse)),
        ]
    }

    async fn send(&mut self, text: &str) {
        match self {
            Self::Stdio(stdio) => stdio.send(text).await,
            Self::Sse(sse) => {
                let post = http().post(&sse.endpoint).header("content-type", "application/json");
                post.body(text.to_owned()).send().await.unwrap();
            }
            Self::Streamable { url, session, answers } => {
                let mut post = http()
                    .post(url.as_str())
                    .header("accept", "application/json, text/event-stream")
                    .header("content-type", "application/json");
                if let Some(session) = session {
                    post = post.header("mcp-session-id", session.as_str());
                }
                let response = post.body(text.to_owned()).send().await.unwrap();
                if let Some(id) = response.headers().get("mcp-session-id") {
                    *session = Some(id.to_str().unwrap().to_owned());
                }
                let body = response.text().await.unwrap();
                let data = body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
                let found: Vec<&str> = data.filter(|data| !data.is_empty()).collect();
                let found = if found.is_empty() && !body.is_empty() { vec![body.as_str()] } else { found };
                answers.extend(found.into_iter().filter_map(|text| serde_json::from_str(text).ok()));
            }
        }
    }

    async fn next(&mut self) -> Value {
        let read = async {
            match self {
                Self::Stdio(stdio) => stdio.next().await,
                Self::Sse(sse) => serde_json::from_str(&sse.next_data().await).unwrap(),
                Self::Streamable { answers, .. } if answers.is_empty() => Value::Null,
                Self::Streamable { answers, .. } => answers.remove(0),
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), read).await.unwrap_or_default()
    }

    async fn request(&mut self, message: Value) -> Value {
        self.send(&message.to_string()).await;
        self.next().await
    }
}

impl StdioClient {
    fn open(framed: bool) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(PROGRAM);
        command
            .args(["mcp", "--set", &format!("mcp.message_bytes_max={MESSAGE_BYTES_MAX}")])
            .env("PAIROFCLEATS_HOME", home.path())
            .env_remove("DATABASE_URL")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        if framed {
            command.env("PAIROFCLEATS_MCP_TRANSPORT", "legacy");
        }
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { framed, input, output, _child: child, _home: home }
    }

    async fn send(&mut self, text: &str) {
        let text = if self.framed {
            format!("Content-Length: {}\r\n\r\n{text}", text.len())
        } else {
            format!("{text}\n")
        };
        self.input.write_all(text.as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).await.unwrap();
        if !self.framed {
            return serde_json::from_str(&line).unwrap_or_default();
        }
        let Some(length) = line.strip_prefix("Content-Length: ") else { return Value::Null };
        let mut body = vec![0; 2 + length.trim().parse::<usize>().unwrap()];
        self.output.read_exact(&mut body).await.unwrap();
        serde_json::from_slice(body.strip_prefix(b"\r\n").unwrap()).unwrap()
    }
}

impl SseClient {
    /// The data of the next event.
    async fn next_data(&mut self) -> String {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let data = event
                    .lines()
                    .find_map(|line| line.strip_prefix("data:"))
                    .map(|text| text.trim().to_owned());
                self.unread = rest.to_owned();
                match data {
                    Some(data) => return data,
                    None => continue,
                }
            }
            let chunk = self.stream.chunk().await.unwrap().expect("an open stream");
            self.unread.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

async fn start_server() -> TestServer {
    TestServer::start(|config| config.server.body_bytes_max = MESSAGE_BYTES_MAX).await
}

/// Checks that `answer` is a JSON-RPC error with this number and id and a code of the contract.
fn assert_refused(answer: &Value, number: i64, id: &Value, label: &str) {
    assert_eq!(
        (&answer["jsonrpc"], &answer["error"]["code"], answer.get("id")),
        (&json!("2.0"), &json!(number), Some(id)),
        "{label}: {answer:#}"
    );
    let code = answer["error"]["data"]["code"].as_str().unwrap_or_default();
    let known = contract::ErrorCode::ALL.iter().any(|known| known.as_str() == code);
    assert!(known, "{label}: {answer:#}");
    assert!(answer["error"]["data"]["hint"].is_string(), "{label}: {answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_protocol_error_carries_a_contract_code() {
    let server = start_server().await;
    for (transport, mut client) in McpClient::all(&server).await {
        // Before the session is initialized. A notification is ignored then and does not end the session.
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
        if let McpClient::Streamable { answers, .. } = &mut client {
            answers.clear();
        }
        let early = client.request(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await;
        assert_refused(&early, -32600, &json!(1), transport);
        let message = early["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("`tools/list`") && message.contains("`initialize`"),
            "{transport}: {message}"
        );
        assert!(
            !early.to_string().contains("_meta"),
            "{transport}: mentions a field of another revision: {early}"
        );
        let probe = client.request(json!({ "jsonrpc": "2.0", "id": "p", "method": "server/discover" })).await;
        assert_refused(&probe, -32601, &json!("p"), transport);
        let wrong =
            json!({ "jsonrpc": "2.0", "id": 2, "method": "initialize", "params": { "protocolVersion": 5 } });
        let wrong = client.request(wrong).await;
        assert_refused(&wrong, -32602, &json!(2), transport);
        assert!(!wrong.to_string().contains("_meta"), "{transport}: {wrong}");

        let opened = client.request(initialize_request()).await;
        assert!(opened["result"]["protocolVersion"].is_string(), "{transport}: {opened:#}");
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        let table = [
            ("no/such", json!({}), -32601),
            ("server/discover", json!({}), -32601),
            ("logging/setLevel", json!({ "level": "info" }), -32601),
            ("resources/subscribe", json!({ "uri": "x" }), -32601),
            ("tools/call", json!({ "name": 5 }), -32602),
            ("tools/call", json!([1]), -32602),
            ("prompts/get", json!("x"), -32602),
            ("no/such", json!([1]), -32601),
            ("tools/call", json!({ "name": "nope" }), -32602),
            ("prompts/get", json!({ "name": "nope" }), -32602),
            ("resources/read", json!({ "uri": "nope:" }), -32602),
            (
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "nope" }, "argument": { "name": "a", "value": "" } }),
                -32602,
            ),
        ];
        for (index, (method, params, number)) in table.into_iter().enumerate() {
            let id = 10 + index;
            let answer = client
                .request(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
                .await;
            assert_refused(&answer, number, &json!(id), &format!("{transport} {method}"));
        }
        let ping = client.request(json!({ "jsonrpc": "2.0", "id": 99, "method": "ping" })).await;
        assert!(ping["result"].is_object(), "{transport}: {ping:#}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_messages_are_answered_and_the_session_continues() {
    let server = start_server().await;
    let long = json!({ "jsonrpc": "2.0", "id": 3, "method": "ping", "x": "y".repeat(3 * MESSAGE_BYTES_MAX) })
        .to_string();
    let table = [
        ("not JSON", "this is not JSON", -32700, Value::Null),
        ("half a message", r#"{"jsonrpc":"2.0","id":1,"#, -32700, Value::Null),
        ("a batch", "[]", -32600, Value::Null),
        ("a number", "5", -32600, Value::Null),
        ("no method", r#"{"jsonrpc":"2.0","id":4}"#, -32600, json!(4)),
        ("another version", r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, json!("a")),
        ("a broken id", r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, Value::Null),
        ("too long", long.as_str(), -32600, Value::Null),
    ];
    for (transport, mut client) in McpClient::all(&server).await {
        for open in [false, true] {
            if open {
                let opened = client.request(initialize_request()).await;
                assert!(opened["result"].is_object(), "{transport}: {opened:#}");
                client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
            }
            for (label, text, number, id) in &table {
                client.send(text).await;
                assert_refused(
                    &client.next().await,
                    *number,
                    id,
                    &format!("{transport}, {label}, open: {open}"),
                );
            }
        }
        let ping = client.request(json!({ "jsonrpc": "2.0", "id": 99, "method": "ping" })).await;
        assert_eq!((&ping["id"], ping["result"].is_object()), (&json!(99), true), "{transport}: {ping:#}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unframed_input_is_answered_and_the_next_frame_is_read() {
    let mut stdio = StdioClient::open(true);
    for broken in [
        "nonsense\r\n\r\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
        "Content-Length: x\r\n\r\n{}",
    ] {
        stdio.input.write_all(broken.as_bytes()).await.unwrap();
        stdio.send(&json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" }).to_string()).await;
        let answers = async { (stdio.next().await, stdio.next().await) };
        let (mut refused, mut ping) =
            tokio::time::timeout(std::time::Duration::from_secs(20), answers).await.unwrap();
        // The two answers may come in either order.
        if refused.get("result").is_some() {
            std::mem::swap(&mut refused, &mut ping);
        }
        assert_refused(&refused, -32700, &Value::Null, broken);
        assert_eq!((&ping["id"], ping["result"].is_object()), (&json!(7), true), "{broken}: {ping:#}");
    }
}
