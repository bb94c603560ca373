//! MCP as clients meet it under way: which tools they see, progress, cancellation, time limits, overload, older transports.

use std::time::{Duration, Instant};

use futures::future::join_all;
use reqwest::Response;
use serde_json::{Value, json};

use super::fixtures::{tools, until, waiting};
use super::{Served, Session, answer, keyed, message, messages};
use crate::harness::http;
use crate::surfaces::REVISIONS;

async fn with_fixtures() -> Served {
    Served::with_tools(tools(), |_| {}).await
}

// --- which tools

#[tokio::test(flavor = "multi_thread")]
async fn headers_and_paths_narrow_the_tools() {
    let served = Served::start(|_| {}).await;
    let seen = async |path: &str, headers: &[(&str, &str)]| {
        let session = served.open("/mcp", None).await;
        let mut request =
            http().post(served.at(path)).header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let answer =
            message(request.header("mcp-session-id", session.id).json(&list).send().await.unwrap()).await;
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = seen("/mcp", &[]).await;
    let reading: Vec<_> = pairofcleats::tools::LIST.iter().filter(|tool| tool.effects.read_only).collect();
    let reading: Vec<String> = reading.iter().map(|tool| tool.name.to_owned()).collect();
    assert!(all.len() > reading.len());
    assert_eq!(seen("/mcp/readonly", &[]).await, reading);
    assert_eq!(seen("/mcp", &[("X-MCP-Readonly", "true")]).await, reading);
    let searching = seen("/mcp/x/search", &[]).await;
    assert!(searching.contains(&"search".to_owned()) && !searching.contains(&"build_index".to_owned()));
    assert_eq!(seen("/mcp", &[("X-MCP-Toolsets", "search")]).await, searching);
    assert_eq!(seen("/mcp/x/search,index,artifacts,triage,admin", &[]).await, all);
    let usual = seen("/mcp/x/search,index", &[]).await;
    assert!(usual.contains(&"build_index".to_owned()) && !usual.contains(&"triage_ingest".to_owned()));
    assert_eq!(
        seen("/mcp/x/index", &[("X-MCP-Toolsets", "search")]).await,
        Vec::<String>::new(),
        "both narrow"
    );
    let index_reading = seen("/mcp/x/index/readonly", &[]).await;
    assert_eq!(index_reading, ["index_status"]);

    let session = Session { url: served.at("/mcp/readonly"), ..served.open("/mcp", None).await };
    let refused = session.call(3, "build_index", json!({})).await;
    assert_eq!(refused["error"]["data"]["code"], "MUTATION_DISABLED", "{refused:#}");
    let unknown = answer(http().post(served.at("/mcp/x/serch")).json(&super::hello())).await;
    assert_eq!((unknown.0.as_u16(), unknown.1["error"]["code"].as_str()), (404, Some("INVALID_REQUEST")));
    let unknown = answer(http().get(served.at("/tools")).header("X-MCP-Toolsets", "serch")).await;
    assert_eq!(unknown.0, 400);
    assert!(unknown.1["error"]["hint"].as_str().unwrap().contains("search, index"));
    served.stop().await;

    let bounded = Served::start(|config| config.tools.read_only = true).await;
    let relaxed = answer(http().get(bounded.at("/tools")).header("X-MCP-Readonly", "false")).await;
    assert_eq!(
        relaxed.1["result"]["tools"].as_array().unwrap().len(),
        reading.len(),
        "a header cannot relax the operator's choice"
    );
    let (status, body) = bounded.call(None, "build_index", json!({})).await;
    assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (403, Some("MUTATION_DISABLED")));
    bounded.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_names_the_sessions_project() {
    let served = Served::start(|_| {}).await;
    let call = |project: Option<&str>| {
        let request =
            http().post(served.at("/tools/search")).json(&json!({ "query": "x", "project_id": project }));
        request.header("X-PairOfCleats-Project", "of-the-session")
    };
    let (_, body) = answer(call(None)).await;
    assert_eq!(
        (&body["_meta"]["project_id"], &body["_meta"]["project_decided_by"]),
        (&json!("of-the-session"), &json!("session"))
    );
    let (_, body) = answer(call(Some("of-the-call"))).await;
    assert_eq!(
        (&body["_meta"]["project_id"], &body["_meta"]["project_decided_by"]),
        (&json!("of-the-call"), &json!("argument"))
    );
    let bad = http()
        .post(served.at("/tools/search"))
        .json(&json!({ "query": "x" }))
        .header("X-PairOfCleats-Project", "Not_One");
    let (status, body) = answer(bad).await;
    assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (400, Some("VALIDATION_ERROR")));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_below_the_protocol_stands_in_the_envelope() {
    let served = Served::start(|config| config.server.body_bytes_max = 10_000).await;
    let post = || http().post(served.at("/mcp")).header("accept", "application/json, text/event-stream");
    let unknown = post()
        .header("mcp-session-id", "nobody-s")
        .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    let large = post().json(&json!({ "x": "y".repeat(20_000) }));
    let table = [
        ("an unknown session", unknown, 404, "NOT_FOUND"),
        ("no JSON", post().header("content-type", "text/plain").body("{}"), 415, "INVALID_REQUEST"),
        ("nothing accepted", http().post(served.at("/mcp")).json(&super::hello()), 406, "INVALID_REQUEST"),
        ("no method of it", http().put(served.at("/mcp")).body("{}"), 405, "INVALID_REQUEST"),
    ];
    for (what, request, status, code) in table {
        let (got, body) = answer(request).await;
        assert_eq!((got.as_u16(), body["error"]["code"].as_str()), (status, Some(code)), "{what}: {body}");
        assert!(
            body["error"]["hint"].is_string() && body["_meta"]["requestId"].is_string(),
            "{what}: {body}"
        );
    }
    // What is no message is answered as a message: `malformed.rs` has more of them.
    let broken = post().header("content-type", "application/json").body("{");
    for (what, request, status, number) in
        [("broken JSON", broken, 400, -32700), ("too large", large, 413, -32600)]
    {
        let (got, body) = answer(request).await;
        let error = &body["error"];
        assert_eq!(
            (got.as_u16(), &error["code"], body.get("id")),
            (status, &json!(number), Some(&Value::Null)),
            "{what}"
        );
        assert_eq!(error["data"]["code"], "INVALID_REQUEST", "{what}: {body}");
    }
    served.stop().await;
}

// --- progress

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_throttled_rises_and_ends_with_the_answer() {
    let served = with_fixtures().await;
    let session = served.open("/mcp", None).await;
    let call = |meta: Value| {
        json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/call",
            "params": { "name": "tells", "arguments": { "steps": 50_000, "ms": 400 }, "_meta": meta } })
    };
    let begun = Instant::now();
    let told = messages(session.post(call(json!({ "progressToken": "t-1" }))).await).await;
    let seconds = begun.elapsed().as_secs_f64();
    let (last, steps) = told.split_last().unwrap();
    assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(4), &json!(false)), "{last:#}");
    let most = 4.0 * seconds + 2.0;
    assert!(
        !steps.is_empty() && f64::from(u32::try_from(steps.len()).unwrap()) <= most,
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
        assert!(params["message"].as_str().unwrap().starts_with("[tells][phase=count] step "), "{params:?}");
    }
    let progress: Vec<f64> = steps.iter().map(|step| step["params"]["progress"].as_f64().unwrap()).collect();
    assert!(progress.windows(2).all(|pair| pair[0] < pair[1]), "{progress:?}");
    let silent = messages(session.post(call(json!({}))).await).await;
    assert_eq!(silent.len(), 1, "only with a token: {silent:?}");
    served.stop().await;
}

// --- cancellation, time limits, panics

/// A call of `waits` that runs.
async fn running(session: &Session, id: Value, tag: &str) -> Response {
    let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": "waits", "arguments": { "tag": tag } } });
    let response = session.post(call).await;
    until("the call to run", || waiting(tag) == 1).await;
    response
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_without_an_answer_whatever_the_type_of_its_id() {
    let served = with_fixtures().await;
    let session = served.open("/mcp", None).await;
    for (at, (id, named)) in [
        (json!(7), json!(7)),
        (json!("a"), json!("a")),
        (json!(8), json!("8")),
        (json!("9"), json!(9)),
        (json!(0), json!(0)),
    ]
    .into_iter()
    .enumerate()
    {
        let tag = format!("cancel-{at}");
        let response = running(&session, id.clone(), &tag).await;
        let cancel = |id: &Value| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        assert_eq!(session.post(cancel(&json!("of no call"))).await.status(), 202, "unknown ids are ignored");
        assert_eq!(waiting(&tag), 1);
        assert_eq!(session.post(cancel(&named)).await.status(), 202);
        assert_eq!(messages(response).await, Vec::<Value>::new(), "{id} cancelled as {named}");
        until("the call to end", || waiting(&tag) == 0).await;
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_cancel_request_gets_exactly_one_answer() {
    let served = with_fixtures().await;
    let session = served.open("/mcp", None).await;
    let response = running(&session, json!(12), "older-cancel").await;
    for _ in 0..2 {
        session
            .post(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": "12" } }))
            .await;
    }
    let told = messages(response).await;
    assert_eq!(told.len(), 1, "{told:?}");
    let envelope = &told[0]["result"]["structuredContent"];
    assert_eq!(
        (&told[0]["result"]["isError"], &envelope["error"]["code"]),
        (&json!(true), &json!("CANCELLED"))
    );
    until("the call to end", || waiting("older-cancel") == 0).await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_takes_too_long_or_panics_is_an_answer() {
    let served = Served::with_tools(tools(), |config| config.timeouts.search_ms = 300).await;
    let session = served.open("/mcp", None).await;
    let late = session.call(1, "waits", json!({ "tag": "late" })).await;
    let error = &late["result"]["structuredContent"]["error"];
    assert_eq!(
        (&late["result"]["isError"], &error["code"], &error["details"]["timeoutMs"]),
        (&json!(true), &json!("TOOL_TIMEOUT"), &json!(300))
    );
    assert_eq!(error["retryable"], true);
    until("the work to be aborted", || waiting("late") == 0).await;
    let broken = session.call(2, "panics", json!({})).await;
    let error = &broken["result"]["structuredContent"]["error"];
    assert_eq!((&broken["result"]["isError"], &error["code"]), (&json!(true), &json!("INTERNAL")));
    assert_eq!(error["details"]["cause_class"], "panic");
    assert!(!broken.to_string().contains("a defect of the test's own"), "{broken}");
    assert_eq!(
        session.call(3, "echoes", json!({ "a": 1 })).await["result"]["structuredContent"]["result"],
        json!({ "a": 1 })
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_the_limit_twelve_calls_are_told_at_once() {
    let served = Served::with_tools(tools(), |config| {
        config.queue.search_running = 3;
        config.queue.search_waiting_max = 0;
    })
    .await;
    let session = served.open("/mcp", None).await;
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
    served.stop().await;
}

// --- the older HTTP transport

/// An open stream of `/sse`.
struct Stream {
    response: Response,
    unread: String,
    endpoint: String,
}

impl Stream {
    async fn open(served: &Served, key: Option<&str>) -> Self {
        let response = keyed(http().get(served.at("/sse")), key).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let mut stream = Self { response, unread: String::new(), endpoint: String::new() };
        let (event, data) = stream.event().await;
        assert_eq!(event, "endpoint");
        stream.endpoint = served.at(&data);
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
            let chunk = self.response.chunk().await.unwrap().expect("the stream goes on");
            self.unread.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    async fn send(&self, key: Option<&str>, message: &Value) -> u16 {
        keyed(http().post(&self.endpoint), key).json(message).send().await.unwrap().status().as_u16()
    }

    async fn ask(&mut self, message: Value) -> Value {
        assert_eq!(self.send(None, &message).await, 202);
        let (event, data) = self.event().await;
        assert_eq!(event, "message");
        serde_json::from_str(&data).unwrap()
    }
}

fn older_hello(version: &str) -> Value {
    let mut hello = super::hello();
    hello["params"]["protocolVersion"] = version.into();
    hello
}

#[tokio::test(flavor = "multi_thread")]
async fn older_clients_work_over_sse_in_their_own_version() {
    let served = with_fixtures().await;
    for (offered, answered) in REVISIONS {
        let mut stream = Stream::open(&served, None).await;
        let hello = stream.ask(older_hello(offered)).await;
        assert_eq!(hello["result"]["protocolVersion"], answered);
        assert_eq!(
            stream.send(None, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await,
            202
        );
        let echoed = stream.ask(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "echoes", "arguments": { "b": 2 } } })).await;
        assert_eq!(echoed["result"]["structuredContent"]["result"], json!({ "b": 2 }));
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_every_revision_work_over_streamable_http() {
    let served = with_fixtures().await;
    for (offered, answered) in REVISIONS {
        let post = |body: &Value| {
            http().post(served.at("/mcp")).header("accept", "application/json, text/event-stream").json(body)
        };
        let opened = post(&older_hello(offered)).send().await.unwrap();
        let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let hello = message(opened).await;
        assert_eq!(hello["result"]["protocolVersion"], answered, "offered {offered}");
        let send = |body: Value| {
            let request = post(&body).header("mcp-session-id", &session);
            // The first revision knows no such header.
            if answered == "2024-11-05" { request } else { request.header("mcp-protocol-version", answered) }
        };
        let ready = send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(ready.send().await.unwrap().status(), 202, "{offered}");
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "echoes", "arguments": { "b": 2 } } });
        let echoed = message(send(call).send().await.unwrap()).await;
        assert_eq!(echoed["result"]["structuredContent"]["result"], json!({ "b": 2 }), "{offered}");
        let unknown = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
        let refused = post(&unknown).header("mcp-session-id", &session);
        let refused = refused.header("mcp-protocol-version", "2099-01-01").send().await.unwrap();
        assert_eq!(refused.status(), 400, "a revision that there is not");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_sse_session_is_its_owners_and_ends_with_its_stream() {
    use tenancy::{NewKey, Projects, Scope, issue};
    let served = Served::with_tools(tools(), |config| config.server.sessions_max = 2).await;
    let new = NewKey {
        name: "sse".into(),
        projects: Projects::All,
        scopes: [Scope::Search].into(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    let key = issue(served.app.store().await.unwrap(), new, 0).await.unwrap().secret;
    let mut stream = Stream::open(&served, None).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 5, "method": "ping" });
    assert_eq!(stream.send(Some(&key), &ping).await, 404, "another principal's");
    assert_eq!(stream.send(None, &json!({ "not": "a message" })).await, 400);
    assert_eq!(http().post(&stream.endpoint).body("{}").send().await.unwrap().status(), 415);
    stream.ask(older_hello("2024-11-05")).await;
    stream.send(None, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    let second = Stream::open(&served, None).await;
    let refused = http().get(served.at("/sse")).send().await.unwrap();
    assert_eq!(refused.status(), 429, "a principal has a limit of streams");
    drop(second);

    let call = json!({ "jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": { "name": "waits", "arguments": { "tag": "sse" } } });
    assert_eq!(stream.send(None, &call).await, 202);
    until("the call to run", || waiting("sse") == 1).await;
    let endpoint = stream.endpoint.clone();
    drop(stream);
    until("the call to end with its stream", || waiting("sse") == 0).await;
    let mut gone = 202;
    for _ in 0..600 {
        gone = http().post(&endpoint).json(&ping).send().await.unwrap().status().as_u16();
        if gone == 404 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(gone, 404);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_transport_can_be_switched_off() {
    let served = Served::start(|config| config.server.sse = false).await;
    assert_eq!(http().get(served.at("/sse")).send().await.unwrap().status(), 404);
    served.stop().await;
}
