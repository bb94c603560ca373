//! Support for opt-in subsystems, with tools of this test: listing separate from calling, aliases, JSON-RPC methods on every
//! transport, and the run id in the envelope.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use contract::{ErrorCode, Fault, TOOLING_VERSION};
use futures::FutureExt;
use futures::future::BoxFuture;
use gate::app::{App, Bulkhead};
use gate::module::{Module, Modules};
use gate::tools::{Call, Caller, Effects, Surface, ToolSpec, Toolbox, Toolset};
use serde_json::{Map, Value, json};
use surfaces::mcp::serve_stream;
use tenancy::Scope;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::protocol::SseStream;
use super::{Session, TestServer, initialize_request, listed_by_default};
use crate::harness::{app_of, http, modules};

const fn note_tool(name: &'static str, method: &'static str, effects: Effects) -> ToolSpec {
    ToolSpec {
        name,
        title: "Note",
        description: "A fixture of the tests.",
        toolset: NOTES,
        effects,
        scope: Scope::Triage,
        bulkhead: Bulkhead::Search,
        timeout: |limits| limits.search_ms,
        method: Some(method),
        input,
        output: input,
        run,
        ..ToolSpec::BASE
    }
}

static GET: ToolSpec =
    ToolSpec { aliases: &["note_read"], ..note_tool("notes_get", "notes/get", Effects::READS) };
static PUT: ToolSpec = note_tool("notes_put", "notes/put", Effects::WRITES);

fn input() -> Map<String, Value> {
    let schema = json!({ "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"],
        "additionalProperties": false });
    schema.as_object().unwrap().clone()
}

fn run(call: Call, arguments: Value) -> BoxFuture<'static, Result<Value, Fault>> {
    async move {
        call.set_run_id("r_7");
        match arguments["id"].as_str() {
            Some("missing") => Err(Fault::new(ErrorCode::NoIndex, "There is no such note.")),
            Some("broken") => panic!("a defect on purpose"),
            _ => Ok(arguments),
        }
    }
    .boxed()
}

/// An opt-in toolset, which this setting enables.
const NOTES: Toolset = Toolset::opt_in("notes", |config| config.triage.store_raw_payload);

static NOTES_MODULE: Module =
    Module { name: "notes", toolsets: &[NOTES], tools: &[&GET, &PUT], ..Module::EMPTY };

/// The modules of the program, and the one of this test.
fn with_notes() -> &'static Modules {
    static WITH_NOTES: OnceLock<Modules> = OnceLock::new();
    WITH_NOTES.get_or_init(|| Modules::new(modules().iter().chain([&NOTES_MODULE]).collect()))
}

fn notes_app(enabled: bool) -> Arc<App> {
    app_of(with_notes(), |config| {
        (config.server.port, config.server.drain_ms) = (0, 2000);
        config.triage.store_raw_payload = enabled;
    })
}

async fn start_server(enabled: bool) -> TestServer {
    TestServer::over(notes_app(enabled), with_notes().tools()).await
}

/// A client of the server on standard input and output.
struct StdioClient {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
}

impl StdioClient {
    fn start(tools: &'static Toolbox) -> Self {
        let app = notes_app(true);
        let (client_side, server_side) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(server_side);
        let caller = Caller::local(Surface::Stdio);
        tokio::spawn(serve_stream(Arc::clone(&app), tools, caller, input, output));
        let (output, input) = tokio::io::split(client_side);
        Self { lines: BufReader::new(output).lines(), input }
    }

    async fn open(tools: &'static Toolbox) -> Self {
        let mut client = Self::start(tools);
        client.request(initialize_request()).await;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Sends a message and returns the answer's line as it was written.
    async fn request_line(&mut self, message: Value) -> String {
        self.send(&message).await;
        self.lines.next_line().await.unwrap().unwrap()
    }

    async fn request(&mut self, message: Value) -> Value {
        serde_json::from_str(&self.request_line(message).await).unwrap()
    }
}

/// One client of each transport.
enum McpClient {
    Stdio(StdioClient),
    Streamable(Session),
    Sse(SseStream),
}

impl McpClient {
    async fn request(&mut self, method: &str, params: Option<Value>) -> Value {
        let mut request = json!({ "jsonrpc": "2.0", "id": 3, "method": method });
        if let Some(params) = params {
            request["params"] = params;
        }
        match self {
            Self::Stdio(client) => client.request(request).await,
            Self::Streamable(session) => super::last_message(session.post(request).await).await,
            Self::Sse(stream) => stream.request(request).await,
        }
    }
}

async fn clients(server: &TestServer) -> [(&'static str, McpClient); 3] {
    let mut stream = SseStream::open(server, None).await;
    let mut older_request = initialize_request();
    older_request["params"]["protocolVersion"] = "2024-11-05".into();
    stream.request(older_request).await;
    stream.send(None, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    [
        ("stdio", McpClient::Stdio(StdioClient::open(with_notes().tools()).await)),
        ("streamable", McpClient::Streamable(server.open("/mcp", None).await)),
        ("sse", McpClient::Sse(stream)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn methods_answer_bare_results_on_every_transport() {
    let server = start_server(true).await;
    for (transport, mut client) in clients(&server).await {
        let meta = json!({ "id": "a", "_meta": { "progressToken": 1 } });
        for params in [json!({ "id": "a" }), meta] {
            let answer = client.request("notes/get", Some(params)).await;
            assert_eq!(answer["result"], json!({ "id": "a" }), "{transport}: {answer:#}");
        }
        let call = json!({ "name": "notes_get", "arguments": { "id": "a" } });
        let called = client.request("tools/call", Some(call)).await;
        let envelope = &called["result"]["structuredContent"];
        assert_eq!(
            (&envelope["result"], &envelope["run_id"]),
            (&json!({ "id": "a" }), &json!("r_7")),
            "{transport}: {called:#}"
        );
        for (method, params, number, code) in [
            ("notes/get", Some(json!({})), -32602, "INVALID_REQUEST"),
            ("notes/get", None, -32602, "INVALID_REQUEST"),
            ("notes/get", Some(json!({ "id": "missing" })), -32603, "NO_INDEX"),
            ("notes/get", Some(json!({ "id": "broken" })), -32603, "INTERNAL"),
            ("notes/nope", Some(json!({})), -32601, "UNKNOWN_TOOL"),
        ] {
            let answer = client.request(method, params).await;
            let (error, data) = (&answer["error"], &answer["error"]["data"]);
            assert_eq!(error["code"], number, "{transport}: {answer:#}");
            assert_eq!(
                (&data["code"], &data["method"]),
                (&json!(code), &json!(method)),
                "{transport}: {answer:#}"
            );
            if number == -32602 {
                assert!(error["message"].as_str().unwrap().contains("`id`"), "{transport}: {answer:#}");
                assert_eq!(data["errors"], data["details"], "{transport}: {answer:#}");
                assert_eq!(data["errors"][0]["keyword"], "required", "{transport}: {answer:#}");
                assert!(data["errors"][0]["instancePath"].is_string(), "{transport}: {answer:#}");
            }
        }
        // A method outside the families of our methods gets the protocol's own error.
        let other = client.request("no/such", None).await;
        assert_eq!(
            (&other["error"]["code"], &other["error"]["data"]["code"]),
            (&json!(-32601), &json!("NOT_FOUND")),
            "{transport}: {other:#}"
        );
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn methods_pass_the_admission_gate() {
    let server = start_server(true).await;
    let session = Session { url: server.url_of("/mcp/x/notes/readonly"), ..server.open("/mcp", None).await };
    let refused = session.request(4, "notes/put", json!({ "id": "a" })).await;
    assert_eq!(refused["error"]["code"], -32002, "{refused:#}");
    assert_eq!(refused["error"]["data"]["code"], "MUTATION_DISABLED", "{refused:#}");
    assert_eq!(session.request(5, "notes/get", json!({ "id": "a" })).await["result"], json!({ "id": "a" }));
    server.stop().await;

    // Before the session is initialized, our methods are refused like those of the protocol. Afterwards, parameters must be an
    // object.
    let mut client = StdioClient::start(with_notes().tools());
    let early = client.request(json!({ "jsonrpc": "2.0", "id": 1, "method": "notes/get" })).await;
    assert_eq!(early["error"]["data"]["code"], "ILLEGAL_STATE", "{early:#}");
    let unknown = client.request(json!({ "jsonrpc": "2.0", "id": 2, "method": "notes/nope" })).await;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown:#}");
    client.request(initialize_request()).await;
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    let list =
        client.request(json!({ "jsonrpc": "2.0", "id": 3, "method": "notes/get", "params": ["a"] })).await;
    assert_eq!((&list["error"]["code"], &list["id"]), (&json!(-32602), &json!(3)), "{list:#}");
    assert_eq!(list["error"]["data"]["errors"][0]["keyword"], "type", "{list:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opt_in_toolset_is_callable_by_all_and_listed_only_when_named() {
    let enabled = start_server(true).await;
    let session = enabled.open("/mcp", None).await;
    let at_path = |path: &str| Session { url: enabled.url_of(path), ..session.clone() };
    assert_eq!(
        at_path("/mcp").tools().await,
        listed_by_default(),
        "an opt-in toolset is not listed by default"
    );
    assert_eq!(at_path("/mcp/x/notes").tools().await, ["notes_get", "notes_put"]);
    let all: Vec<&str> = with_notes().list_of_tools().iter().map(|tool| tool.name).collect();
    assert_eq!(at_path("/mcp/x/all").tools().await, all);
    assert!(!at_path("/mcp/x/search").tools().await.contains(&"notes_get".to_owned()));

    let called = at_path("/mcp").call(3, "notes_get", json!({ "id": "a" })).await;
    assert_eq!(called["result"]["structuredContent"]["result"]["id"], "a", "{called:#}");
    assert!(called["result"]["structuredContent"]["_meta"].get("warnings").is_none(), "{called:#}");
    let by_alias = at_path("/mcp").call(4, "note_read", json!({ "id": "a" })).await;
    let by_alias = &by_alias["result"]["structuredContent"];
    assert_eq!(
        (&by_alias["result"]["id"], &by_alias["_meta"]["warnings"][0]["code"]),
        (&json!("a"), &json!("deprecated_alias")),
        "{by_alias:#}"
    );
    let narrowed = at_path("/mcp/x/search").call(5, "notes_get", json!({ "id": "a" })).await;
    assert_eq!(narrowed["error"]["data"]["code"], "MUTATION_DISABLED", "{narrowed:#}");
    enabled.stop().await;

    let disabled = start_server(false).await;
    let session = disabled.open("/mcp", None).await;
    let named = Session { url: disabled.url_of("/mcp/x/notes"), ..session.clone() };
    assert_eq!(named.tools().await, Vec::<String>::new(), "not listed even when named");
    for name in ["notes_get", "note_read"] {
        let refused = session.call(3, name, json!({ "id": "a" })).await;
        assert_eq!(refused["error"]["data"]["code"], "MUTATION_DISABLED", "{refused:#}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("not enabled"), "{refused:#}");
    }
    disabled.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_run_id_is_in_the_envelope_of_results_and_errors() {
    let server = start_server(true).await;
    let session = server.open("/mcp", None).await;
    for (id, ok) in [("a", true), ("missing", false), ("broken", false)] {
        let answer = session.call(3, "notes_get", json!({ "id": id })).await;
        let envelope = &answer["result"]["structuredContent"];
        assert_eq!((&envelope["ok"], &envelope["run_id"]), (&json!(ok), &json!("r_7")), "{answer:#}");
    }
    let other = session.call(4, "check_status", json!({})).await;
    assert!(other["result"]["structuredContent"].get("run_id").is_none(), "{other:#}");
    server.stop().await;
}

/// The bytes of `tools/list` for a client that names no toolset equal `tools-list.json`. Only the version may differ between
/// releases.
#[tokio::test(flavor = "multi_thread")]
async fn the_default_tool_list_equals_the_committed_one() {
    let request = || json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let line = StdioClient::open(modules().tools()).await.request_line(request()).await;
    let masked = line.replace(&format!("\"{TOOLING_VERSION}\""), "\"VERSION\"");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/serving/tools-list.json");
    if crate::contracts::updating() {
        std::fs::write(&path, format!("{masked}\n")).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == format!("{masked}\n"),
        "tools/list differs; if the contract changed, run UPDATE_CONTRACTS=1 cargo test --test it -- the_default_tool_list"
    );
    assert_eq!(
        serde_json::from_str::<Value>(&masked).unwrap()["result"]["tools"].as_array().unwrap().len(),
        listed_by_default().len()
    );

    let server = TestServer::start(|_| {}).await;
    let session = server.open("/mcp", None).await;
    let request = http()
        .post(&session.url)
        .header("accept", super::ACCEPT)
        .header("mcp-session-id", &session.id)
        .json(&request());
    let text = request.send().await.unwrap().text().await.unwrap();
    assert!(text.lines().any(|sent| sent.strip_prefix("data: ") == Some(line.as_str())), "{text}");
    server.stop().await;
}
