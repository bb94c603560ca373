//! The HTTP API apart from its tools: health probes, event streams, and clients that disconnect.

use std::sync::Arc;
use std::time::Duration;

use contract::ProjectId;
use contract::clock::SystemClock;
use contract::config::{Config, Overrides, load};
use gate::app::App;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{TestServer, send_json};
use crate::blocked_embedder::BlockedEmbedder;
use crate::harness::{PROGRAM, Repository, home, http, modules, project, server};
use crate::storage::database::{number, run};

/// An application with the shared home and without an embedder, so that the first use loads the real model.
fn app_without_embedder(change: impl FnOnce(&mut Config)) -> App {
    let overrides = Overrides { home: Some(home().to_owned()), ..Overrides::default() };
    let (mut config, layout) = load(&overrides).unwrap();
    config.server.port = 0;
    change(&mut config);
    App::new(config, layout, Arc::new(SystemClock), PROGRAM.into(), modules())
}

/// Indexes one small repository in a new project. Returns the project's id.
async fn index_small_repository(http_server: &TestServer) -> (String, Repository) {
    let repository = Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]);
    let project = project("http");
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let (status, body) = http_server.call(None, "build_index", arguments).await;
    assert_eq!(status, 200, "{body:#}");
    (project, repository)
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

async fn send(request: RequestBuilder) -> Response {
    request.send().await.unwrap()
}

// --- probes

/// The status of the readiness probe, and the names of the failing checks.
async fn readiness(http_server: &TestServer) -> (StatusCode, Vec<String>) {
    let (status, body) = send_json(http().get(http_server.url_of("/health/ready"))).await;
    assert_eq!(body["ok"], true, "{body:#}");
    let checks = body["result"]["checks"].as_array().unwrap();
    let names: Vec<&str> = checks.iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["serving", "database", "model", "disk", "writers"]);
    for check in checks {
        assert_eq!(
            check["ok"] == false,
            check["message"].is_string(),
            "a failing check has a message: {check}"
        );
    }
    let failing: Vec<String> = checks
        .iter()
        .filter(|check| check["ok"] == false)
        .map(|check| check["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(body["result"]["ready"], failing.is_empty());
    (status, failing)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_alive_before_it_is_ready() {
    let http_server = TestServer::over(Arc::new(app_without_embedder(|_| {})), modules().tools()).await;
    let alive = async || send_json(http().get(http_server.url_of("/health"))).await.0;
    assert_eq!(alive().await, 200);
    assert_eq!(
        readiness(&http_server).await,
        (StatusCode::SERVICE_UNAVAILABLE, vec!["database".into(), "model".into()])
    );
    http_server.app.store().await.unwrap();
    assert_eq!(readiness(&http_server).await, (StatusCode::SERVICE_UNAVAILABLE, vec!["model".into()]));
    http_server.app.embedder().await.unwrap();
    assert_eq!(readiness(&http_server).await, (StatusCode::OK, vec![]));
    http_server.stop().await;

    let full_disk = TestServer::start(|config| config.server.disk_free_bytes_min = u64::MAX).await;
    assert_eq!(readiness(&full_disk).await.1, ["database", "disk"]);
    full_disk.stop().await;
    let unreachable = |config: &mut Config| {
        config.database.url = Some("postgres://nobody@127.0.0.1:1/none".into());
        config.database.acquire_timeout_ms = 200;
    };
    let without_database = TestServer::start(unreachable).await;
    assert!(without_database.app.store().await.is_err());
    assert_eq!(readiness(&without_database).await.1, ["database"]);
    assert_eq!(send_json(http().get(without_database.url_of("/health"))).await.0, 200, "still alive");
    without_database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_is_not_ready() {
    // A stopping server accepts no connections but answers requests that it has started to read. Whether it had started
    // before the stop is not observable here, so the pause before the stop grows until it had.
    for pause in [20, 100, 500, 2500] {
        let http_server = TestServer::start(|_| {}).await;
        let mut stream = TcpStream::connect(http_server.address()).await.unwrap();
        stream.write_all(b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\n").await.unwrap();
        tokio::time::sleep(Duration::from_millis(pause)).await;
        http_server.app.shutdown.cancel();
        // The server may have closed the connection already.
        let _ = stream.write_all(b"\r\n").await;
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text).await;
        http_server.stop().await;
        if text.is_empty() {
            continue;
        }
        assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
        let body: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
        let serving_check = &body["result"]["checks"][0];
        assert_eq!(
            (&serving_check["name"], &serving_check["ok"]),
            (&json!("serving"), &json!(false)),
            "{body:#}"
        );
        return;
    }
    panic!("no request was answered while the server stopped");
}

// --- event streams

/// Names and envelopes of all events of a stream.
async fn events(request: RequestBuilder) -> Vec<(String, Value)> {
    let response = send(request.header("x-request-id", "e-1").header("accept-encoding", "gzip")).await;
    assert_eq!(response.status(), 200);
    assert_eq!(header(&response, "content-type"), Some("text/event-stream"));
    assert_eq!(header(&response, "content-encoding"), None, "compression would delay events");
    let text = response.text().await.unwrap();
    let blocks = text.split("\n\n").filter(|block| !block.is_empty() && !block.starts_with(':'));
    let events: Vec<(String, Value)> = blocks
        .map(|block| {
            let field = |name| block.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
            (field("event:").to_owned(), serde_json::from_str(field("data:")).unwrap())
        })
        .collect();
    for (name, envelope) in &events {
        assert_eq!(envelope["ok"], name != "error", "{name}: {envelope:#}");
        assert_eq!(envelope["_meta"]["requestId"], "e-1");
        assert!(envelope["_meta"]["ts"].is_string());
    }
    events
}

/// Checks the sequence `start`, `progress`…, `result` or `error`, `done`. Returns the result or error event.
fn outcome_event(events: &[(String, Value)], start: &Value) -> (String, Value) {
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    let [first, between @ .., outcome, last] = names.as_slice() else { panic!("{names:?}") };
    assert_eq!((*first, *last), ("start", "done"), "{names:?}");
    assert!(between.iter().all(|name| *name == "progress"), "{names:?}");
    assert!(["result", "error"].contains(outcome), "{names:?}");
    assert_eq!((&events[0].1["result"], &events[events.len() - 1].1["result"]), (start, &json!({})));
    events[events.len() - 2].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_send_start_outcome_and_done() {
    let http_server = TestServer::start(|_| {}).await;
    let (ours, _repository) = index_small_repository(&http_server).await;
    let search = |arguments: Value| http().post(http_server.url_of("/search/stream")).json(&arguments);
    let found =
        outcome_event(&events(search(json!({ "query": "drawer", "project_id": ours }))).await, &json!({}));
    assert_eq!((found.0.as_str(), &found.1["result"]["repo"]), ("result", &Value::Null));
    assert_eq!(found.1["result"]["search"]["hits"][0]["file"], "cash.py", "{:#}", found.1);
    for (arguments, code) in [
        (json!({ "query": "x", "project_id": project("absent") }), "NO_INDEX"),
        (json!({ "query": "x", "project_id": "A" }), "VALIDATION_ERROR"),
        (json!({ "query": 5 }), "INVALID_REQUEST"),
        (json!([]), "INVALID_REQUEST"),
    ] {
        let failed = outcome_event(&events(search(arguments.clone())).await, &json!({}));
        assert_eq!(
            (failed.0.as_str(), failed.1["error"]["code"].as_str()),
            ("error", Some(code)),
            "{arguments}: {:#}",
            failed.1
        );
    }
    // An invalid JSON body is refused before the stream starts.
    let broken = http()
        .post(http_server.url_of("/search/stream"))
        .header("content-type", "application/json")
        .body("{");
    let (status, body) = send_json(broken).await;
    assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (400, Some("INVALID_REQUEST")));

    let status = |query: &str| http().get(http_server.url_of(&format!("/status/stream{query}")));
    let start = json!({ "repo": null });
    let result = outcome_event(&events(status(&format!("?project_id={ours}"))).await, &start);
    assert_eq!((result.0.as_str(), &result.1["result"]["status"]["index"]["files"]), ("result", &json!(1)));
    for (query, code) in [("?project_id=A", "VALIDATION_ERROR"), ("?nonsense=1", "INVALID_REQUEST")] {
        let failed = outcome_event(&events(status(query)).await, &start);
        assert_eq!((failed.0.as_str(), failed.1["error"]["code"].as_str()), ("error", Some(code)), "{query}");
    }
    http_server.stop().await;
}

// --- clients that disconnect

/// Waits until the metrics contain a line.
async fn wait_for_metric(http_server: &TestServer, line: &str) {
    let is_there = || http_server.app.metrics_text().lines().any(|metric| metric == line);
    super::fixtures::wait_until(line, is_there).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_run_is_cancelled_when_its_client_disconnects() {
    let app = app_without_embedder(|_| {}).with_embedder(BlockedEmbedder::closed());
    let http_server = TestServer::over(Arc::new(app), modules().tools()).await;
    let repository = Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]);
    let project = project("leaves");
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let state = async || {
        let (_, body) = http_server.call(None, "index_status", json!({ "project_id": project })).await;
        let job = &body["result"]["jobs"][0];
        (job["state"].clone(), job["progress"]["phase"].clone(), body)
    };
    let request = http().post(http_server.url_of("/tools/build_index")).json(&arguments);
    let client = tokio::spawn(async move { request.send().await.map(|response| response.status()) });
    wait_for("the run to embed", async || state().await.1 == "embed").await;
    client.abort();
    assert!(client.await.unwrap_err().is_cancelled(), "the client had no answer yet");
    wait_for("the run to be cancelled", async || state().await.0 == "cancelled").await;
    wait_for_metric(
        &http_server,
        "pairofcleats_tool_calls_total{tool=\"build_index\",surface=\"http\",outcome=\"CANCELLED\"} 1",
    )
    .await;
    wait_for_metric(&http_server, "pairofcleats_index_running 0").await;
    let body = state().await.2;
    assert_eq!(body["result"]["files"], 1, "committed files stay: {body:#}");
    http_server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_statement_is_cancelled_when_the_client_disconnects() {
    // Timeouts are long, so that only the disconnect ends the statement.
    let http_server = TestServer::start(|config| {
        config.timeouts.search_ms = 600_000;
        config.database.search_statement_timeout_ms = 600_000;
        config.database.lock_timeout_ms = 600_000;
    })
    .await;
    for (count, path) in ["/search", "/search/stream", "/tools/search"].into_iter().enumerate() {
        let (ours, _repository) = index_small_repository(&http_server).await;
        let schema = ProjectId::parse(&ours).unwrap().schema_name();
        let mut connection = PgConnection::connect_with(&server().connect_options()).await.unwrap();
        run(&mut connection, "BEGIN").await;
        run(&mut connection, &format!("LOCK TABLE {schema}.chunks IN ACCESS EXCLUSIVE MODE")).await;
        let mut observer = PgConnection::connect_with(&server().connect_options()).await.unwrap();
        let waiting = format!(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '{schema}.chunks'::regclass"
        );
        let request =
            http().post(http_server.url_of(path)).json(&json!({ "query": "drawer", "project_id": ours }));
        let client = tokio::spawn(async move { request.send().await?.bytes().await });
        while number(&mut observer, &waiting).await == 0 {
            assert!(!client.is_finished(), "{path}: {:?}", client.await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        client.abort();
        wait_for(&format!("the database to stop working for {path}"), async || {
            let mut observer = PgConnection::connect_with(&server().connect_options()).await.unwrap();
            number(&mut observer, &waiting).await == 0
        })
        .await;
        let line = "pairofcleats_tool_calls_total{tool=\"search\",surface=\"http\",outcome=\"CANCELLED\"}";
        wait_for_metric(&http_server, &format!("{line} {}", count + 1)).await;
        run(&mut connection, "ROLLBACK").await;
    }
    wait_for_metric(&http_server, "pairofcleats_search_running 0").await;
    http_server.stop().await;
}

/// Waits for a condition, for at most a minute.
async fn wait_for(condition: &str, reached: impl AsyncFn() -> bool) {
    for _ in 0..1200 {
        if reached().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("timed out waiting for {condition}");
}
