//! MCP sessions: which tools are listed, progress, cancellation, timeouts, overload, and older transports.

use std::time::{Duration, Instant};

use futures::future::join_all;
use gate::tools::ToolSpec;
use reqwest::Response;
use serde_json::{Value, json};

use super::fixtures::{tools, wait_until, waiting};
use super::{Session, TestServer, last_message, messages, send_json, with_key};
use crate::harness::{http, modules};
use crate::surfaces::REVISIONS;

async fn server_with_fixtures() -> TestServer {
    TestServer::with_tools(tools(), |_| {}).await
}

// --- listed tools

#[tokio::test(flavor = "multi_thread")]
async fn headers_and_paths_narrow_the_listed_tools() {
    let server = TestServer::start(|_| {}).await;
    let listed = async |path: &str, headers: &[(&str, &str)]| {
        let session = server.open("/mcp", None).await;
        let mut request =
            http().post(server.url_of(path)).header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let answer =
            last_message(request.header("mcp-session-id", session.id).json(&list).send().await.unwrap())
                .await;
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = listed("/mcp", &[]).await;
    let is_listed = |tool: &&&ToolSpec| tool.effects.read_only && tool.toolset.listed_by_default();
    let read_only = modules().list_of_tools().iter().filter(is_listed);
    let read_only: Vec<String> = read_only.map(|tool| tool.name.to_owned()).collect();
    assert!(all.len() > read_only.len());
    assert_eq!(listed("/mcp/readonly", &[]).await, read_only);
    assert_eq!(listed("/mcp", &[("X-MCP-Readonly", "true")]).await, read_only);
    let search_tools = listed("/mcp/x/search", &[]).await;
    assert!(search_tools.contains(&"search".to_owned()) && !search_tools.contains(&"build_index".to_owned()));
    assert_eq!(listed("/mcp", &[("X-MCP-Toolsets", "search")]).await, search_tools);
    assert_eq!(listed("/mcp/x/search,index,artifacts,triage,admin", &[]).await, all);
    let search_and_index_tools = listed("/mcp/x/search,index", &[]).await;
    assert!(
        search_and_index_tools.contains(&"build_index".to_owned())
            && !search_and_index_tools.contains(&"triage_ingest".to_owned())
    );
    assert_eq!(
        listed("/mcp/x/index", &[("X-MCP-Toolsets", "search")]).await,
        Vec::<String>::new(),
        "path and header both narrow the list"
    );
    let read_only_index_tools = listed("/mcp/x/index/readonly", &[]).await;
    assert_eq!(read_only_index_tools, ["index_status"]);

    let session = Session { url: server.url_of("/mcp/readonly"), ..server.open("/mcp", None).await };
    let refused = session.call(3, "build_index", json!({})).await;
    assert_eq!(refused["error"]["data"]["code"], "MUTATION_DISABLED", "{refused:#}");
    let unknown =
        send_json(http().post(server.url_of("/mcp/x/serch")).json(&super::initialize_request())).await;
    assert_eq!((unknown.0.as_u16(), unknown.1["error"]["code"].as_str()), (404, Some("INVALID_REQUEST")));
    let unknown = send_json(http().get(server.url_of("/tools")).header("X-MCP-Toolsets", "serch")).await;
    assert_eq!(unknown.0, 400);
    for value in ["enabled", "y", "\u{e9}"] {
        let request = http().get(server.url_of("/tools")).header("X-MCP-Readonly", value);
        let (status, body) = send_json(request).await;
        assert_eq!(
            (status.as_u16(), &body["error"]["code"]),
            (400, &json!("INVALID_REQUEST")),
            "{value}: {body:#}"
        );
    }
    assert!(unknown.1["error"]["hint"].as_str().unwrap().contains("search, index"));
    server.stop().await;

    let read_only_server = TestServer::start(|config| config.tools.read_only = true).await;
    let relaxed =
        send_json(http().get(read_only_server.url_of("/tools")).header("X-MCP-Readonly", "false")).await;
    assert_eq!(
        relaxed.1["result"]["tools"].as_array().unwrap().len(),
        read_only.len(),
        "a header cannot relax the operator's choice"
    );
    let (status, body) = read_only_server.call(None, "build_index", json!({})).await;
    assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (403, Some("MUTATION_DISABLED")));
    read_only_server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_names_the_sessions_project() {
    let server = TestServer::start(|_| {}).await;
    let call = |project: Option<&str>| {
        let request =
            http().post(server.url_of("/tools/search")).json(&json!({ "query": "x", "project_id": project }));
        request.header("X-PairOfCleats-Project", "of-the-session")
    };
    let (_, body) = send_json(call(None)).await;
    assert_eq!(
        (&body["_meta"]["project_id"], &body["_meta"]["project_decided_by"]),
        (&json!("of-the-session"), &json!("session"))
    );
    let (_, body) = send_json(call(Some("of-the-call"))).await;
    assert_eq!(
        (&body["_meta"]["project_id"], &body["_meta"]["project_decided_by"]),
        (&json!("of-the-call"), &json!("argument"))
    );
    let bad = http()
        .post(server.url_of("/tools/search"))
        .json(&json!({ "query": "x" }))
        .header("X-PairOfCleats-Project", "Not_One");
    let (status, body) = send_json(bad).await;
    assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (400, Some("VALIDATION_ERROR")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_refused_by_the_transport_return_envelopes() {
    let server = TestServer::start(|config| config.server.body_bytes_max = 10_000).await;
    let post = || http().post(server.url_of("/mcp")).header("accept", "application/json, text/event-stream");
    let unknown = post()
        .header("mcp-session-id", "unknown-session")
        .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    let large = post().json(&json!({ "x": "y".repeat(20_000) }));
    let table = [
        ("an unknown session", unknown, 404, "NOT_FOUND"),
        ("not JSON", post().header("content-type", "text/plain").body("{}"), 415, "INVALID_REQUEST"),
        (
            "nothing accepted",
            http().post(server.url_of("/mcp")).json(&super::initialize_request()),
            406,
            "INVALID_REQUEST",
        ),
        ("an unsupported method", http().put(server.url_of("/mcp")).body("{}"), 405, "INVALID_REQUEST"),
    ];
    for (label, request, status, code) in table {
        let (got, body) = send_json(request).await;
        assert_eq!((got.as_u16(), body["error"]["code"].as_str()), (status, Some(code)), "{label}: {body}");
        assert!(
            body["error"]["hint"].is_string() && body["_meta"]["requestId"].is_string(),
            "{label}: {body}"
        );
    }
    // Invalid messages are answered as JSON-RPC errors; `malformed.rs` tests more of them.
    let broken = post().header("content-type", "application/json").body("{");
    for (label, request, status, number) in
        [("broken JSON", broken, 400, -32700), ("too large", large, 413, -32600)]
    {
        let (got, body) = send_json(request).await;
        let error = &body["error"];
        assert_eq!(
            (got.as_u16(), &error["code"], body.get("id")),
            (status, &json!(number), Some(&Value::Null)),
            "{label}"
        );
        assert_eq!(error["data"]["code"], "INVALID_REQUEST", "{label}: {body}");
    }
    server.stop().await;
}

// --- progress

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_throttled_increases_and_ends_before_the_answer() {
    let server = server_with_fixtures().await;
    let session = server.open("/mcp", None).await;
    let call = |meta: Value| {
        json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/call",
            "params": { "name": "reports", "arguments": { "steps": 50_000, "ms": 400 }, "_meta": meta } })
    };
    let started = Instant::now();
    let sent = messages(session.post(call(json!({ "progressToken": "t-1" }))).await).await;
    let seconds = started.elapsed().as_secs_f64();
    let (last, steps) = sent.split_last().unwrap();
    assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(4), &json!(false)), "{last:#}");
    let max = 4.0 * seconds + 2.0;
    assert!(
        !steps.is_empty() && f64::from(u32::try_from(steps.len()).unwrap()) <= max,
        "{} in {seconds} s",
        steps.len()
    );
    for step in steps {
        assert_eq!(step["method"], "notifications/progress");
        let params = step["params"].as_object().unwrap();
        assert!(
            params
                .keys()
                .all(|key| ["progressToken", "progress", "total", "message"].contains(&key.as_str())),
            "{params:?}"
        );
        assert_eq!(params["progressToken"], "t-1");
        assert!(
            params["message"].as_str().unwrap().starts_with("[reports][phase=count] step "),
            "{params:?}"
        );
    }
    let progress: Vec<f64> = steps.iter().map(|step| step["params"]["progress"].as_f64().unwrap()).collect();
    assert!(progress.windows(2).all(|pair| pair[0] < pair[1]), "{progress:?}");
    let silent = messages(session.post(call(json!({}))).await).await;
    assert_eq!(silent.len(), 1, "no progress without a token: {silent:?}");
    server.stop().await;
}

// --- cancellation, time limits, panics

/// Starts a call of `waits` and waits until it runs.
async fn start_waiting_call(session: &Session, id: Value, tag: &str) -> Response {
    let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": "waits", "arguments": { "tag": tag } } });
    let response = session.post(call).await;
    wait_until("the call to run", || waiting(tag) == 1).await;
    response
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_without_an_answer_whatever_the_type_of_its_id() {
    let server = server_with_fixtures().await;
    let session = server.open("/mcp", None).await;
    for (number, (id, cancelled_id)) in [
        (json!(7), json!(7)),
        (json!("a"), json!("a")),
        (json!(8), json!("8")),
        (json!("9"), json!(9)),
        (json!(0), json!(0)),
    ]
    .into_iter()
    .enumerate()
    {
        let tag = format!("cancel-{number}");
        let response = start_waiting_call(&session, id.clone(), &tag).await;
        let cancel = |id: &Value| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        assert_eq!(session.post(cancel(&json!("unknown"))).await.status(), 202, "unknown ids are ignored");
        assert_eq!(waiting(&tag), 1);
        assert_eq!(session.post(cancel(&cancelled_id)).await.status(), 202);
        assert_eq!(messages(response).await, Vec::<Value>::new(), "{id} cancelled as {cancelled_id}");
        wait_until("the call to end", || waiting(&tag) == 0).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_cancelled_by_the_older_request_gets_one_answer() {
    let server = server_with_fixtures().await;
    let session = server.open("/mcp", None).await;
    let response = start_waiting_call(&session, json!(12), "older-cancel").await;
    for _ in 0..2 {
        session
            .post(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": "12" } }))
            .await;
    }
    let sent = messages(response).await;
    assert_eq!(sent.len(), 1, "{sent:?}");
    let envelope = &sent[0]["result"]["structuredContent"];
    assert_eq!(
        (&sent[0]["result"]["isError"], &envelope["error"]["code"]),
        (&json!(true), &json!("CANCELLED"))
    );
    wait_until("the call to end", || waiting("older-cancel") == 0).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_or_panic_of_a_tool_is_answered_as_an_error() {
    let server = TestServer::with_tools(tools(), |config| config.timeouts.search_ms = 300).await;
    let session = server.open("/mcp", None).await;
    let late = session.call(1, "waits", json!({ "tag": "late" })).await;
    let error = &late["result"]["structuredContent"]["error"];
    assert_eq!(
        (&late["result"]["isError"], &error["code"], &error["details"]["timeoutMs"]),
        (&json!(true), &json!("TOOL_TIMEOUT"), &json!(300))
    );
    assert_eq!(error["retryable"], true);
    wait_until("the call to be aborted", || waiting("late") == 0).await;
    let broken = session.call(2, "panics", json!({})).await;
    let error = &broken["result"]["structuredContent"]["error"];
    assert_eq!((&broken["result"]["isError"], &error["code"]), (&json!(true), &json!("INTERNAL")));
    assert_eq!(error["details"]["cause_class"], "panic");
    assert!(!broken.to_string().contains("a defect on purpose"), "{broken}");
    assert_eq!(
        session.call(3, "echoes", json!({ "a": 1 })).await["result"]["structuredContent"]["result"],
        json!({ "a": 1 })
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_over_the_queue_limit_are_refused_at_once() {
    let server = TestServer::with_tools(tools(), |config| {
        config.queue.search_running = 3;
        config.queue.search_waiting_max = 0;
    })
    .await;
    let session = server.open("/mcp", None).await;
    let calls = (0..12).map(|id| {
        let session = session.clone();
        async move { session.call(id, "waits", json!({ "tag": "crowd", "ms": 1500 })).await }
    });
    let answers = join_all(calls).await;
    let (ran, refused): (Vec<&Value>, Vec<&Value>) =
        answers.iter().partition(|answer| answer["result"]["isError"] == false);
    assert_eq!((ran.len(), refused.len()), (3, 9), "{answers:#?}");
    for answer in refused {
        let error = &answer["error"];
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(-32001), &json!("QUEUE_OVERLOADED")),
            "{answer:#}"
        );
        assert_eq!(error["data"]["details"]["queue"]["max"], 3);
        assert!(error["message"].is_string() && error["data"]["hint"].is_string());
    }
    server.stop().await;
}

// --- the older HTTP transport

/// An open `/sse` stream.
pub(super) struct SseStream {
    response: Response,
    unread: String,
    endpoint: String,
}

impl SseStream {
    pub(super) async fn open(server: &TestServer, key: Option<&str>) -> Self {
        let response = with_key(http().get(server.url_of("/sse")), key).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let mut stream = Self { response, unread: String::new(), endpoint: String::new() };
        let (event, data) = stream.event().await;
        assert_eq!(event, "endpoint");
        stream.endpoint = server.url_of(&data);
        stream
    }

    /// The next event's name and data.
    async fn event(&mut self) -> (String, String) {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let field = |name: &str| {
                    event.lines().find_map(|line| line.strip_prefix(name)).map(|text| text.trim().to_owned())
                };
                let found = field("event:").zip(field("data:"));
                self.unread = rest.to_owned();
                if let Some(found) = found {
                    return found;
                }
                continue;
            }
            let chunk = self.response.chunk().await.unwrap().expect("the stream is open");
            self.unread.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    pub(super) async fn send(&self, key: Option<&str>, message: &Value) -> u16 {
        with_key(http().post(&self.endpoint), key).json(message).send().await.unwrap().status().as_u16()
    }

    pub(super) async fn request(&mut self, message: Value) -> Value {
        assert_eq!(self.send(None, &message).await, 202);
        let (event, data) = self.event().await;
        assert_eq!(event, "message");
        serde_json::from_str(&data).unwrap()
    }
}

fn initialize_request_in(version: &str) -> Value {
    let mut hello = super::initialize_request();
    hello["params"]["protocolVersion"] = version.into();
    hello
}

#[tokio::test(flavor = "multi_thread")]
async fn older_clients_work_over_sse_in_their_own_version() {
    let server = server_with_fixtures().await;
    for (offered, answered) in REVISIONS {
        let mut stream = SseStream::open(&server, None).await;
        let hello = stream.request(initialize_request_in(offered)).await;
        assert_eq!(hello["result"]["protocolVersion"], answered);
        assert_eq!(
            stream.send(None, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await,
            202
        );
        let echoed = stream.request(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "echoes", "arguments": { "b": 2 } } })).await;
        assert_eq!(echoed["result"]["structuredContent"]["result"], json!({ "b": 2 }));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_every_revision_work_over_streamable_http() {
    let server = server_with_fixtures().await;
    for (offered, answered) in REVISIONS {
        let post = |body: &Value| {
            http()
                .post(server.url_of("/mcp"))
                .header("accept", "application/json, text/event-stream")
                .json(body)
        };
        let opened = post(&initialize_request_in(offered)).send().await.unwrap();
        let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let hello = last_message(opened).await;
        assert_eq!(hello["result"]["protocolVersion"], answered, "offered {offered}");
        let send = |body: Value| {
            let request = post(&body).header("mcp-session-id", &session);
            // The first revision does not define this header.
            if answered == "2024-11-05" { request } else { request.header("mcp-protocol-version", answered) }
        };
        let ready = send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(ready.send().await.unwrap().status(), 202, "{offered}");
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "echoes", "arguments": { "b": 2 } } });
        let echoed = last_message(send(call).send().await.unwrap()).await;
        assert_eq!(echoed["result"]["structuredContent"]["result"], json!({ "b": 2 }), "{offered}");
        let unknown = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
        let refused = post(&unknown).header("mcp-session-id", &session);
        let refused = refused.header("mcp-protocol-version", "2099-01-01").send().await.unwrap();
        assert_eq!(refused.status(), 400, "an unknown revision");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_sse_session_belongs_to_one_principal_and_ends_with_its_stream() {
    use tenancy::{NewKey, Projects, Scope, issue_key};
    let server = TestServer::with_tools(tools(), |config| config.server.sessions_max = 2).await;
    let new = NewKey {
        name: "sse".into(),
        projects: Projects::All,
        scopes: [Scope::Search].into(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    let key = issue_key(server.app.store().await.unwrap(), new, 0).await.unwrap().secret;
    let mut stream = SseStream::open(&server, None).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 5, "method": "ping" });
    assert_eq!(stream.send(Some(&key), &ping).await, 404, "a stream of another principal");
    assert_eq!(stream.send(None, &json!({ "not": "a message" })).await, 400);
    assert_eq!(http().post(&stream.endpoint).body("{}").send().await.unwrap().status(), 415);
    stream.request(initialize_request_in("2024-11-05")).await;
    stream.send(None, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    let second = SseStream::open(&server, None).await;
    let refused = http().get(server.url_of("/sse")).send().await.unwrap();
    assert_eq!(refused.status(), 429, "the number of streams per principal is limited");
    drop(second);

    let call = json!({ "jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": { "name": "waits", "arguments": { "tag": "sse" } } });
    assert_eq!(stream.send(None, &call).await, 202);
    wait_until("the call to run", || waiting("sse") == 1).await;
    let endpoint = stream.endpoint.clone();
    drop(stream);
    wait_until("the call to end with its stream", || waiting("sse") == 0).await;
    let mut status = 202;
    for _ in 0..600 {
        status = http().post(&endpoint).json(&ping).send().await.unwrap().status().as_u16();
        if status == 404 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(status, 404, "the session ends with its stream");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sse_transport_can_be_disabled() {
    let server = TestServer::start(|config| config.server.sse = false).await;
    assert_eq!(http().get(server.url_of("/sse")).send().await.unwrap().status(), 404);
    server.stop().await;
}
