//! The HTTP API apart from its tools: probes, event streams, and clients that leave.

use std::sync::Arc;
use std::time::Duration;

use contract::ModelIdentity;
use contract::clock::SystemClock;
use contract::config::{Config, Overrides, load};
use contract::{ErrorCode, Fault, ProjectId};
use embedding::{Embedder, StubEmbedder};
use pairofcleats::app::App;
use pairofcleats::tools::Toolbox;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Served, answer};
use crate::harness::{PROGRAM, Repository, home, http, project, server};
use crate::storage::database::{number, run};

/// An application over the shared home, without an embedder, so that the first use loads the real model.
fn bare(change: impl FnOnce(&mut Config)) -> App {
    let overrides = Overrides { home: Some(home().to_owned()), ..Overrides::default() };
    let (mut config, layout) = load(&overrides).unwrap();
    config.server.port = 0;
    change(&mut config);
    App::new(config, layout, Arc::new(SystemClock), PROGRAM.into())
}

/// A project with one small repository.
async fn indexed(served: &Served) -> (String, Repository) {
    let repository = Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]);
    let project = project("http");
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let (status, body) = served.call(None, "build_index", arguments).await;
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

/// Names of the checks that fail, with the status.
async fn readiness(served: &Served) -> (StatusCode, Vec<String>) {
    let (status, body) = answer(http().get(served.at("/health/ready"))).await;
    assert_eq!(body["ok"], true, "{body:#}");
    let checks = body["result"]["checks"].as_array().unwrap();
    let names: Vec<&str> = checks.iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["serving", "database", "model", "disk"]);
    for check in checks {
        assert_eq!(check["ok"] == false, check["message"].is_string(), "what is missing is told: {check}");
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
async fn alive_is_not_ready() {
    let served = Served::over(Arc::new(bare(|_| {})), Toolbox::standard()).await;
    let alive = async || answer(http().get(served.at("/health"))).await.0;
    assert_eq!(alive().await, 200);
    assert_eq!(
        readiness(&served).await,
        (StatusCode::SERVICE_UNAVAILABLE, vec!["database".into(), "model".into()])
    );
    served.app.store().await.unwrap();
    assert_eq!(readiness(&served).await, (StatusCode::SERVICE_UNAVAILABLE, vec!["model".into()]));
    served.app.embedder().await.unwrap();
    assert_eq!(readiness(&served).await, (StatusCode::OK, vec![]));
    served.stop().await;

    let full = Served::start(|config| config.server.disk_free_bytes_min = u64::MAX).await;
    assert_eq!(readiness(&full).await.1, ["database", "disk"]);
    full.stop().await;
    let unreachable = |config: &mut Config| {
        config.database.url = Some("postgres://nobody@127.0.0.1:1/none".into());
        config.database.acquire_timeout_ms = 200;
    };
    let lost = Served::start(unreachable).await;
    assert!(lost.app.store().await.is_err());
    assert_eq!(readiness(&lost).await.1, ["database"]);
    assert_eq!(answer(http().get(lost.at("/health"))).await.0, 200, "alive all the same");
    lost.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_is_not_ready() {
    // A stopping server takes no connections; a request that had begun is still answered. Whether it had begun
    // when the stop came cannot be seen from here, so the pause before the stop grows until it had.
    for pause in [20, 100, 500, 2500] {
        let served = Served::start(|_| {}).await;
        let mut stream = TcpStream::connect(served.address()).await.unwrap();
        stream.write_all(b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\n").await.unwrap();
        tokio::time::sleep(Duration::from_millis(pause)).await;
        served.app.shutdown.cancel();
        // The server may have closed the connection.
        let _ = stream.write_all(b"\r\n").await;
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text).await;
        served.stop().await;
        if text.is_empty() {
            continue;
        }
        assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
        let body: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
        let serving = &body["result"]["checks"][0];
        assert_eq!((&serving["name"], &serving["ok"]), (&json!("serving"), &json!(false)), "{body:#}");
        return;
    }
    panic!("no request was answered while the server stopped");
}

// --- event streams

/// Names and envelopes of an event stream, to its end.
async fn events(request: RequestBuilder) -> Vec<(String, Value)> {
    let response = send(request.header("x-request-id", "e-1").header("accept-encoding", "gzip")).await;
    assert_eq!(response.status(), 200);
    assert_eq!(header(&response, "content-type"), Some("text/event-stream"));
    assert_eq!(header(&response, "content-encoding"), None, "events are not held back to be compressed");
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

/// Checks the frame around what the call came to, and gives that.
fn told(events: &[(String, Value)], start: &Value) -> (String, Value) {
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    let [first, between @ .., outcome, last] = names.as_slice() else { panic!("{names:?}") };
    assert_eq!((*first, *last), ("start", "done"), "{names:?}");
    assert!(between.iter().all(|name| *name == "progress"), "{names:?}");
    assert!(["result", "error"].contains(outcome), "{names:?}");
    assert_eq!((&events[0].1["result"], &events[events.len() - 1].1["result"]), (start, &json!({})));
    events[events.len() - 2].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_tell_start_outcome_and_done() {
    let served = Served::start(|_| {}).await;
    let (ours, _repository) = indexed(&served).await;
    let search = |arguments: Value| http().post(served.at("/search/stream")).json(&arguments);
    let found = told(&events(search(json!({ "query": "drawer", "project_id": ours }))).await, &json!({}));
    assert_eq!((found.0.as_str(), &found.1["result"]["repo"]), ("result", &Value::Null));
    assert_eq!(found.1["result"]["search"]["hits"][0]["file"], "cash.py", "{:#}", found.1);
    for (arguments, code) in [
        (json!({ "query": "x", "project_id": project("absent") }), "NO_INDEX"),
        (json!({ "query": "x", "project_id": "A" }), "VALIDATION_ERROR"),
        (json!({ "query": 5 }), "INVALID_REQUEST"),
        (json!([]), "INVALID_REQUEST"),
    ] {
        let failed = told(&events(search(arguments.clone())).await, &json!({}));
        assert_eq!(
            (failed.0.as_str(), failed.1["error"]["code"].as_str()),
            ("error", Some(code)),
            "{arguments}: {:#}",
            failed.1
        );
    }
    // What is no JSON never becomes a stream.
    let broken =
        http().post(served.at("/search/stream")).header("content-type", "application/json").body("{");
    let (status, body) = answer(broken).await;
    assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (400, Some("INVALID_REQUEST")));

    let status = |query: &str| http().get(served.at(&format!("/status/stream{query}")));
    let start = json!({ "repo": null });
    let well = told(&events(status(&format!("?project_id={ours}"))).await, &start);
    assert_eq!((well.0.as_str(), &well.1["result"]["status"]["index"]["files"]), ("result", &json!(1)));
    for (query, code) in [("?project_id=A", "VALIDATION_ERROR"), ("?nonsense=1", "INVALID_REQUEST")] {
        let failed = told(&events(status(query)).await, &start);
        assert_eq!((failed.0.as_str(), failed.1["error"]["code"].as_str()), ("error", Some(code)), "{query}");
    }
    served.stop().await;
}

// --- clients that leave

/// The stub, whose passages take until they are cancelled.
struct Stuck(StubEmbedder);

impl Embedder for Stuck {
    fn model(&self) -> &ModelIdentity {
        self.0.model()
    }

    fn embed_passages(&self, _: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        while !cancelled() {
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(Fault::new(ErrorCode::Cancelled, "Embedding was cancelled."))
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        self.0.embed_query(text)
    }
}

/// Waits until a line stands in the metrics.
async fn counted(served: &Served, line: &str) {
    let stands = || served.app.metrics_text().lines().any(|have| have == line);
    super::fixtures::until(line, stands).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_run_ends_with_the_client_that_waits_for_it() {
    let app = bare(|_| {}).with_embedder(Arc::new(Stuck(StubEmbedder::default())));
    let served = Served::over(Arc::new(app), Toolbox::standard()).await;
    let repository = Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]);
    let project = project("leaves");
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let state = async || {
        let (_, body) = served.call(None, "index_status", json!({ "project_id": project })).await;
        let job = &body["result"]["jobs"][0];
        (job["state"].clone(), job["progress"]["phase"].clone(), body)
    };
    let asked = http().post(served.at("/tools/build_index")).json(&arguments);
    let client = tokio::spawn(async move { asked.send().await.map(|response| response.status()) });
    wait("the run to embed", async || state().await.1 == "embed").await;
    client.abort();
    assert!(client.await.unwrap_err().is_cancelled(), "it had no answer yet");
    wait("the run to be given up", async || state().await.0 == "cancelled").await;
    counted(
        &served,
        "pairofcleats_tool_calls_total{tool=\"build_index\",surface=\"http\",outcome=\"CANCELLED\"} 1",
    )
    .await;
    counted(&served, "pairofcleats_index_running 0").await;
    let body = state().await.2;
    assert_eq!(body["result"]["files"], 1, "what was committed stays: {body:#}");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_ends_in_the_database_when_the_client_leaves() {
    // Nothing but the client's leaving ends a statement here.
    let served = Served::start(|config| {
        config.timeouts.search_ms = 600_000;
        config.database.search_statement_timeout_ms = 600_000;
        config.database.lock_timeout_ms = 600_000;
    })
    .await;
    for (count, path) in ["/search", "/search/stream", "/tools/search"].into_iter().enumerate() {
        let (ours, _repository) = indexed(&served).await;
        let schema = ProjectId::parse(&ours).unwrap().schema_name();
        let mut raw = PgConnection::connect_with(&server().connect_options()).await.unwrap();
        run(&mut raw, "BEGIN").await;
        run(&mut raw, &format!("LOCK TABLE {schema}.chunks IN ACCESS EXCLUSIVE MODE")).await;
        let mut looking = PgConnection::connect_with(&server().connect_options()).await.unwrap();
        let waiting = format!(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '{schema}.chunks'::regclass"
        );
        let asked = http().post(served.at(path)).json(&json!({ "query": "drawer", "project_id": ours }));
        let client = tokio::spawn(async move { asked.send().await?.bytes().await });
        while number(&mut looking, &waiting).await == 0 {
            assert!(!client.is_finished(), "{path}: {:?}", client.await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        client.abort();
        wait(&format!("the database to stop working for {path}"), async || {
            let mut looking = PgConnection::connect_with(&server().connect_options()).await.unwrap();
            number(&mut looking, &waiting).await == 0
        })
        .await;
        let line = "pairofcleats_tool_calls_total{tool=\"search\",surface=\"http\",outcome=\"CANCELLED\"}";
        counted(&served, &format!("{line} {}", count + 1)).await;
        run(&mut raw, "ROLLBACK").await;
    }
    counted(&served, "pairofcleats_search_running 0").await;
    served.stop().await;
}

/// Waits until `reached`; a test that waits in vain fails.
async fn wait(what: &str, reached: impl AsyncFn() -> bool) {
    for _ in 0..1200 {
        if reached().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("waited in vain for {what}");
}
