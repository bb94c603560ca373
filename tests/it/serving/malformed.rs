//! What is no message of the protocol, or comes at the wrong time: each transport answers it alike, and the session goes on.

use std::process::Stdio;

use reqwest::Response;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{Served, hello};
use crate::harness::{PROGRAM, http};

/// Bytes of a message, for the sessions of this file.
const MESSAGE_BYTES_MAX: usize = 20_000;

/// A session on one of the transports, over which anything can be sent.
enum Client {
    Pipes(Pipes),
    Streamable { url: String, session: Option<String>, answers: Vec<Value> },
    Older(Older),
}

struct Pipes {
    framed: bool,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _child: Child,
    _home: tempfile::TempDir,
}

struct Older {
    endpoint: String,
    stream: Response,
    unread: String,
}

impl Client {
    /// One on each transport; none has said hello.
    async fn all(served: &Served) -> Vec<(&'static str, Self)> {
        let stream = http().get(served.at("/sse")).send().await.unwrap();
        let mut older = Older { endpoint: String::new(), stream, unread: String::new() };
        older.endpoint = served.at(&older.data().await);
        vec![
            ("stdio", Self::Pipes(Pipes::open(false))),
            ("stdio, Content-Length", Self::Pipes(Pipes::open(true))),
            (
                "Streamable HTTP",
                Self::Streamable { url: served.at("/mcp"), session: None, answers: Vec::new() },
            ),
            ("HTTP+SSE", Self::Older(older)),
        ]
    }

    async fn send(&mut self, text: &str) {
        match self {
            Self::Pipes(pipes) => pipes.send(text).await,
            Self::Older(older) => {
                let post = http().post(&older.endpoint).header("content-type", "application/json");
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
                Self::Pipes(pipes) => pipes.next().await,
                Self::Older(older) => serde_json::from_str(&older.data().await).unwrap(),
                Self::Streamable { answers, .. } if answers.is_empty() => Value::Null,
                Self::Streamable { answers, .. } => answers.remove(0),
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), read).await.unwrap_or_default()
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.send(&message.to_string()).await;
        self.next().await
    }
}

impl Pipes {
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

impl Older {
    /// The data of the next event.
    async fn data(&mut self) -> String {
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

async fn served() -> Served {
    Served::start(|config| config.server.body_bytes_max = MESSAGE_BYTES_MAX).await
}

/// That `answer` is a JSON-RPC error with this number and id and a code of the contract.
fn assert_refused(answer: &Value, number: i64, id: &Value, what: &str) {
    assert_eq!(
        (&answer["jsonrpc"], &answer["error"]["code"], answer.get("id")),
        (&json!("2.0"), &json!(number), Some(id)),
        "{what}: {answer:#}"
    );
    let code = answer["error"]["data"]["code"].as_str().unwrap_or_default();
    let known = contract::ErrorCode::ALL.iter().any(|known| known.as_str() == code);
    assert!(known, "{what}: {answer:#}");
    assert!(answer["error"]["data"]["hint"].is_string(), "{what}: {answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_error_of_the_protocol_carries_the_contracts_code() {
    let served = served().await;
    for (transport, mut client) in Client::all(&served).await {
        // Before the session is open. A notification then is nothing, and ends nothing.
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
        if let Client::Streamable { answers, .. } = &mut client {
            answers.clear();
        }
        let early = client.ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await;
        assert_refused(&early, -32600, &json!(1), transport);
        let said = early["error"]["message"].as_str().unwrap();
        assert!(said.contains("`tools/list`") && said.contains("`initialize`"), "{transport}: {said}");
        assert!(!early.to_string().contains("_meta"), "{transport}: another revision's words: {early}");
        let probe = client.ask(json!({ "jsonrpc": "2.0", "id": "p", "method": "server/discover" })).await;
        assert_refused(&probe, -32601, &json!("p"), transport);
        let wrong =
            json!({ "jsonrpc": "2.0", "id": 2, "method": "initialize", "params": { "protocolVersion": 5 } });
        let wrong = client.ask(wrong).await;
        assert_refused(&wrong, -32602, &json!(2), transport);
        assert!(!wrong.to_string().contains("_meta"), "{transport}: {wrong}");

        let opened = client.ask(hello()).await;
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
        for (at, (method, params, number)) in table.into_iter().enumerate() {
            let id = 10 + at;
            let answer =
                client.ask(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
            assert_refused(&answer, number, &json!(id), &format!("{transport} {method}"));
        }
        let ping = client.ask(json!({ "jsonrpc": "2.0", "id": 99, "method": "ping" })).await;
        assert!(ping["result"].is_object(), "{transport}: {ping:#}");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_is_answered_and_the_session_goes_on() {
    let served = served().await;
    let long = json!({ "jsonrpc": "2.0", "id": 3, "method": "ping", "x": "y".repeat(3 * MESSAGE_BYTES_MAX) })
        .to_string();
    let table = [
        ("no JSON", "this is not JSON", -32700, Value::Null),
        ("half a message", r#"{"jsonrpc":"2.0","id":1,"#, -32700, Value::Null),
        ("a batch", "[]", -32600, Value::Null),
        ("a number", "5", -32600, Value::Null),
        ("no method", r#"{"jsonrpc":"2.0","id":4}"#, -32600, json!(4)),
        ("another version", r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, json!("a")),
        ("a broken id", r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, Value::Null),
        ("too long", long.as_str(), -32600, Value::Null),
    ];
    for (transport, mut client) in Client::all(&served).await {
        for open in [false, true] {
            if open {
                let opened = client.ask(hello()).await;
                assert!(opened["result"].is_object(), "{transport}: {opened:#}");
                client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
            }
            for (what, text, number, id) in &table {
                client.send(text).await;
                assert_refused(
                    &client.next().await,
                    *number,
                    id,
                    &format!("{transport}, {what}, open: {open}"),
                );
            }
        }
        let ping = client.ask(json!({ "jsonrpc": "2.0", "id": 99, "method": "ping" })).await;
        assert_eq!((&ping["id"], ping["result"].is_object()), (&json!(99), true), "{transport}: {ping:#}");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn input_without_frames_is_answered_and_the_next_frame_is_read() {
    let mut pipes = Pipes::open(true);
    for broken in [
        "nonsense\r\n\r\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
        "Content-Length: x\r\n\r\n{}",
    ] {
        pipes.input.write_all(broken.as_bytes()).await.unwrap();
        pipes.send(&json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" }).to_string()).await;
        let answers = async { (pipes.next().await, pipes.next().await) };
        let (mut refused, mut ping) =
            tokio::time::timeout(std::time::Duration::from_secs(20), answers).await.unwrap();
        if refused.get("result").is_some() {
            std::mem::swap(&mut refused, &mut ping);
        }
        assert_refused(&refused, -32700, &Value::Null, broken);
        assert_eq!((&ping["id"], ping["result"].is_object()), (&json!(7), true), "{broken}: {ping:#}");
    }
}
