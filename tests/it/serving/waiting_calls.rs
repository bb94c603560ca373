//! Calls that wait in a queue: cancellation ends the wait at once, the timeout includes it, and it is bounded.

use std::sync::Arc;
use std::time::Duration;

use contract::config::Config;
use gate::app::{Admission, App, Bulkhead};
use reqwest::Response;
use serde_json::{Value, json};
use tenancy::Principal;

use super::fixtures::{tools, wait_until};
use super::{Session, TestServer, messages, send_json};
use crate::harness::{Repository, http};

/// A server whose only slot for index runs is taken, and the permit that holds it.
async fn server_without_free_slot(change: impl FnOnce(&mut Config)) -> (TestServer, Admission) {
    let server = TestServer::with_tools(tools(), |config| {
        config.queue.index_running = 1;
        config.queue.search_running = 1;
        // Longer than any test takes.
        config.queue.search_wait_ms = 600_000;
        config.queue.index_wait_ms = 600_000;
        change(config);
    })
    .await;
    let permit = server.app.queues.admit(Bulkhead::Index, &Principal::local()).await.unwrap();
    (server, permit)
}

fn waiting(app: &Arc<App>) -> usize {
    let [_, (_, waiting)] = app.queues.load();
    waiting
}

fn build(repository: &Repository) -> Value {
    json!({ "repoPath": repository.root(), "project_id": "turns" })
}

/// Starts a call of `build_index` and reads its progress until it waits in the queue.
async fn start_queued_call(
    server: &TestServer,
    session: &Session,
    id: i64,
    repository: &Repository,
) -> Response {
    let mut response = session
        .post(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "build_index", "arguments": build(repository), "_meta": { "progressToken": id } } }))
        .await;
    let mut received = String::new();
    while !received.contains("[build_index][phase=queued] Waiting for a free slot") {
        let chunk = tokio::time::timeout(Duration::from_secs(60), response.chunk()).await.unwrap();
        received.push_str(std::str::from_utf8(&chunk.unwrap().expect("the stream is open")).unwrap());
    }
    assert_eq!(waiting(&server.app), 1);
    response
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_call_is_cancelled_at_once() {
    let repository = Repository::new(&[("a.py", "a = 1\n")]);
    let (server, permit) = server_without_free_slot(|_| {}).await;
    let session = server.open("/mcp", None).await;

    let response = start_queued_call(&server, &session, 5, &repository).await;
    session.post(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 5 } })).await;
    let sent = messages(response).await;
    let last = sent.last().unwrap();
    let error = &last["result"]["structuredContent"]["error"];
    assert_eq!((&last["id"], &error["code"]), (&json!(5), &json!("CANCELLED")), "{last:#}");
    assert_eq!(waiting(&server.app), 0);

    let response = start_queued_call(&server, &session, 6, &repository).await;
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 6 } });
    session.post(cancel).await;
    let sent = messages(response).await;
    assert!(
        sent.iter().all(|message| message["id"].is_null()),
        "a cancelled call is not answered: {sent:#?}"
    );
    wait_until("the place in the queue to be free", || waiting(&server.app) == 0).await;

    let url = server.url_of("/tools/build_index");
    let abandoned = tokio::spawn(http().post(url).json(&build(&repository)).send());
    wait_until("the call to wait", || waiting(&server.app) == 1).await;
    abandoned.abort();
    wait_until("the place of a disconnected client to be free", || waiting(&server.app) == 0).await;
    drop(permit);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_timeout_of_a_call_includes_the_wait() {
    let repository = Repository::new(&[("a.py", "a = 1\n")]);
    let (server, permit) = server_without_free_slot(|config| {
        config.timeouts.index_ms = 300;
        config.timeouts.search_ms = 400;
    })
    .await;
    let search_permit = server.app.queues.admit(Bulkhead::Search, &Principal::local()).await.unwrap();
    let session = server.open("/mcp", None).await;
    let search = json!({ "query": "x", "project_id": "turns" });
    for (id, tool, arguments, limit) in
        [(1, "build_index", build(&repository), 300), (2, "search", search.clone(), 400)]
    {
        let late = session.call(id, tool, arguments).await;
        let error = &late["result"]["structuredContent"]["error"];
        assert_eq!(
            (&late["result"]["isError"], &error["code"], &error["details"]["timeoutMs"]),
            (&json!(true), &json!("TOOL_TIMEOUT"), &json!(limit)),
            "{late:#}"
        );
        assert!(error["message"].as_str().unwrap().contains("waiting for a free slot"), "{error:#}");
    }
    let (status, body) = send_json(http().post(server.url_of("/search")).json(&search)).await;
    assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (504, Some("TOOL_TIMEOUT")), "{body:#}");
    assert_eq!(server.app.queues.load().map(|(_, waiting)| waiting), [0, 0]);
    drop((permit, search_permit));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_waits_forever() {
    let repository = Repository::new(&[("a.py", "a = 1\n")]);
    let (server, permit) = server_without_free_slot(|config| {
        config.queue.index_wait_ms = 200;
        config.timeouts.index_ms = 0;
    })
    .await;
    let session = server.open("/mcp", None).await;
    let refused = session.call(1, "build_index", build(&repository)).await;
    assert_eq!(refused["error"]["data"]["code"], "QUEUE_OVERLOADED", "{refused:#}");
    let (status, body) = server.call(None, "build_index", build(&repository)).await;
    assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (503, Some("QUEUE_OVERLOADED")));
    drop(permit);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_call_runs_when_a_slot_is_free() {
    let repository = Repository::new(&[("a.py", "a = 1\n")]);
    let (server, permit) = server_without_free_slot(|_| {}).await;
    let session = server.open("/mcp", None).await;
    let response = start_queued_call(&server, &session, 5, &repository).await;
    drop(permit);
    let sent = tokio::time::timeout(Duration::from_secs(60), messages(response)).await.unwrap();
    let last = sent.last().unwrap();
    assert_eq!(last["result"]["structuredContent"]["ok"], true, "{last:#}");
    server.stop().await;
}
