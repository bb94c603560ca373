//! Progress notifications: none after a cancellation, and the stages of a search over MCP and as server-sent events.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gate::tools::{self, Caller, Progress, Request, Surface};
use serde_json::{Value, json};
use tenancy::Principal;

use super::fixtures::{reported_steps, tools, wait_until};
use super::{TestServer, messages};
use crate::harness::{Repository, app, http, project, result};

#[tokio::test(flavor = "multi_thread")]
async fn no_progress_is_sent_after_a_cancellation() {
    let server = TestServer::with_tools(tools(), |config| config.mcp.progress_interval_ms = 10).await;
    let session = server.open("/mcp", None).await;
    for (id, cancel) in [
        (4, json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 4 } })),
        (5, json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5 } })),
    ] {
        let tag = format!("ignores-cancel-{id}");
        let response = session
            .post(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "ignores_cancel", "arguments": { "tag": tag, "ms": 1000 }, "_meta": { "progressToken": "t" } } }))
            .await;
        wait_until("some steps", || reported_steps(&tag).0 > 10).await;
        session.post(cancel).await;
        let sent = messages(response).await;
        let kept_reporting =
            || reported_steps(&tag).1.is_some_and(|cancelled_at| reported_steps(&tag).0 > cancelled_at + 5);
        wait_until("the tool to continue after the cancellation", kept_reporting).await;
        let cancelled_at = reported_steps(&tag).1.unwrap();
        let sent_steps: Vec<u64> = sent
            .iter()
            .filter_map(|message| message["params"]["message"].as_str()?.rsplit(' ').next()?.parse().ok())
            .collect();
        assert!(!sent_steps.is_empty(), "{sent:#?}");
        assert!(
            sent_steps.iter().all(|step| *step <= cancelled_at),
            "cancelled at {cancelled_at}: {sent_steps:?}"
        );
        let answers = sent.iter().filter(|message| message["id"] == id).count();
        assert_eq!(answers, usize::from(id == 4), "{sent:#?}");
    }
    server.stop().await;
}

const STAGES: [&str; 5] = ["understood", "lexical", "embedding", "dense", "ranked"];

fn ledger_repository() -> Repository {
    Repository::new(&[
        ("ledger.py", "def balance_of_ledger(entries):\n    return sum(entries)\n"),
        ("paint.py", "def paint_rectangle(canvas):\n    canvas.draw()\n"),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_reports_its_stages() {
    let (app, repository, project) = (app(), ledger_repository(), project("stages"));
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let stages = async |tool: &str, arguments: Value| {
        let updates = Arc::new(Mutex::new(Vec::new()));
        let mut request = Request::new(tool, arguments, Caller::local(Surface::Cli));
        let sink = Arc::clone(&updates);
        request.progress = Progress::to(move |update| sink.lock().unwrap().push(update));
        assert!(tools::call(&app, request).await.unwrap().ok);
        let updates = updates.lock().unwrap();
        assert!(updates.windows(2).all(|pair| pair[0].done < pair[1].done), "{updates:?}");
        assert!(
            updates.iter().all(|update| update.total == Some(5.0) && !update.message.is_empty()),
            "{updates:?}"
        );
        updates.iter().map(|update| update.phase).collect::<Vec<_>>()
    };
    let query = json!({ "query": "where is the balance", "project_id": project });
    assert_eq!(stages("search", query.clone()).await, STAGES);
    assert_eq!(stages("search_code", query).await, STAGES);
    let listing = json!({ "query": "type:function", "project_id": project });
    assert_eq!(
        stages("search", listing).await,
        ["understood", "ranked"],
        "a query without text retrieves no candidates"
    );
    result(&app, "build_sqlite_index", json!({ "project_id": project })).await;
    let portable = json!({ "query": "balance", "backend": "sqlite", "project_id": project });
    assert_eq!(stages("search", portable).await, STAGES);
}

/// Name and envelope of the events of a search stream.
async fn events(server: &TestServer, arguments: &Value) -> Vec<(String, Value)> {
    let response = http().post(server.url_of("/search/stream")).json(arguments).send().await.unwrap();
    let text = response.text().await.unwrap();
    let field = |event: &str, name: &str| {
        event.lines().find_map(|line| line.strip_prefix(name)).map(|text| text.trim().to_owned())
    };
    text.split("\n\n")
        .filter_map(|event| {
            let data = field(event, "data:")?;
            Some((field(event, "event:")?, serde_json::from_str(&data).unwrap()))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_a_search_receive_its_stages() {
    let (repository, project) = (ledger_repository(), project("progress"));
    let query = json!({ "query": "where is the balance", "project_id": project });
    let index = json!({ "repoPath": repository.root(), "project_id": project });
    // First without throttling, then at most once per hour.
    for (interval, max) in [(0, 5), (3_600_000, 1)] {
        let server = TestServer::start(|config| config.mcp.progress_interval_ms = interval).await;
        assert_eq!(server.call(None, "build_index", index.clone()).await.1["ok"], true);

        let events = events(&server, &query).await;
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        let steps = names.iter().filter(|name| **name == "progress").count();
        assert!((1..=max).contains(&steps), "{names:?}");
        let mut expected = vec!["start"];
        expected.extend(vec!["progress"; steps]);
        expected.extend(["result", "done"]);
        assert_eq!(names, expected);
        let sent: Vec<&Value> = events[1..=steps].iter().map(|(_, envelope)| &envelope["result"]).collect();
        for step in &sent {
            assert!(STAGES.contains(&step["phase"].as_str().unwrap()), "{step}");
            assert!(step["message"].is_string() && step["total"] == 5.0, "{step}");
        }
        assert!(sent.windows(2).all(|pair| pair[0]["done"].as_f64() < pair[1]["done"].as_f64()), "{sent:?}");
        assert!(events[steps + 1].1["result"]["search"]["hits"].is_array());

        let session = server.open("/mcp", None).await;
        let call = |meta: Value| {
            json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call",
                "params": { "name": "search", "arguments": query, "_meta": meta } })
        };
        let sent = messages(session.post(call(json!({ "progressToken": 1 }))).await).await;
        let (last, steps) = sent.split_last().unwrap();
        assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(9), &json!(false)), "{last:#}");
        assert!((1..=max).contains(&steps.len()), "{steps:#?}");
        for step in steps {
            let message = step["params"]["message"].as_str().unwrap();
            assert!(message.starts_with("[search][phase="), "{message}");
            assert_eq!(step["params"]["total"], 5.0, "{step:#}");
        }
        let silent = messages(session.post(call(json!({}))).await).await;
        assert_eq!(silent.len(), 1, "no progress without a token: {silent:#?}");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_stream_ends_its_search() {
    let server = TestServer::start(|config| {
        config.queue.search_running = 1;
        config.queue.search_wait_ms = 600_000;
        config.timeouts.search_ms = 0;
    })
    .await;
    let permit = server.app.queues.admit(gate::app::Bulkhead::Search, &Principal::local()).await.unwrap();
    let mut response =
        http().post(server.url_of("/search/stream")).json(&json!({ "query": "x" })).send().await.unwrap();
    let mut received = String::new();
    while !received.contains("queued") {
        let chunk = tokio::time::timeout(Duration::from_secs(60), response.chunk()).await.unwrap();
        received.push_str(std::str::from_utf8(&chunk.unwrap().expect("the stream is open")).unwrap());
    }
    drop(response);
    let waiting = || server.app.queues.load()[0].1;
    wait_until("the place in the queue to be free", || waiting() == 0).await;
    drop(permit);
    server.stop().await;
}
