//! Calls that wait for a free place: a cancel ends the wait at once, the time limit counts it, and it has an end.

use std::sync::Arc;
use std::time::Duration;

use contract::config::Config;
use pairofcleats::app::{Admission, App, Bulkhead};
use reqwest::Response;
use serde_json::{Value, json};
use tenancy::Principal;

use super::fixtures::{tools, until};
use super::{Served, Session, answer, messages};
use crate::harness::{Repository, http};

/// A server whose one place for index runs is taken, and what holds it.
async fn busy(change: impl FnOnce(&mut Config)) -> (Served, Admission) {
    let served = Served::with_tools(tools(), |config| {
        config.queue.index_running = 1;
        config.queue.search_running = 1;
        // No test waits for these.
        config.queue.search_wait_ms = 600_000;
        config.queue.index_wait_ms = 600_000;
        change(config);
    })
    .await;
    let held = served.app.queues.admit(Bulkhead::Index, &Principal::local()).await.unwrap();
    (served, held)
}

fn waiting(app: &Arc<App>) -> usize {
    let [_, (_, waiting)] = app.queues.load();
    waiting
}

fn build(repository: &Repository) -> Value {
    json!({ "repoPath": repository.root(), "project_id": "turns" })
}

/// A call of `build_index` that waits, and has said so.
async fn queued(served: &Served, session: &Session, id: i64, repository: &Repository) -> Response {
    let mut response = session
        .post(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "build_index", "arguments": build(repository), "_meta": { "progressToken": id } } }))
        .await;
    let mut said = String::new();
    while !said.contains("[build_index][phase=queued] Waiting for a free place") {
        let chunk = tokio::time::timeout(Duration::from_secs(60), response.chunk()).await.unwrap();
        said.push_str(std::str::from_utf8(&chunk.unwrap().expect("the stream goes on")).unwrap());
    }
    assert_eq!(waiting(&served.app), 1);
    response
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_is_cancelled_at_once() {
    let repository = Repository::new(&[("a.py", "a = 1\n")]);
    let (served, held) = busy(|_| {}).await;
    let session = served.open("/mcp", None).await;

    let response = queued(&served, &session, 5, &repository).await;
    session.post(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 5 } })).await;
    let told = messages(response).await;
    let last = told.last().unwrap();
    let error = &last["result"]["structuredContent"]["error"];
    assert_eq!((&last["id"], &error["code"]), (&json!(5), &json!("CANCELLED")), "{last:#}");
    assert_eq!(waiting(&served.app), 0);

    let response = queued(&served, &session, 6, &repository).await;
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 6 } });
    session.post(cancel).await;
    let told = messages(response).await;
    assert!(told.iter().all(|message| message["id"].is_null()), "it is not answered: {told:#?}");
    until("the place in the queue to be free", || waiting(&served.app) == 0).await;

    let url = served.at("/tools/build_index");
    let left = tokio::spawn(http().post(url).json(&build(&repository)).send());
    until("the call to wait", || waiting(&served.app) == 1).await;
    left.abort();
    until("the place of a client that left to be free", || waiting(&served.app) == 0).await;
    drop(held);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calls_time_limit_counts_the_wait() {
    let repository = Repository::new(&[("a.py", "a = 1\n")]);
    let (served, held) = busy(|config| {
        config.timeouts.index_ms = 300;
        config.timeouts.search_ms = 400;
    })
    .await;
    let searching = served.app.queues.admit(Bulkhead::Search, &Principal::local()).await.unwrap();
    let session = served.open("/mcp", None).await;
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
        assert!(error["message"].as_str().unwrap().contains("waited"), "{error:#}");
    }
    let (status, body) = answer(http().post(served.at("/search")).json(&search)).await;
    assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (504, Some("TOOL_TIMEOUT")), "{body:#}");
    assert_eq!(served.app.queues.load().map(|(_, waiting)| waiting), [0, 0]);
    drop((held, searching));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_waits_for_ever() {
    let repository = Repository::new(&[("a.py", "a = 1\n")]);
    let (served, held) = busy(|config| {
        config.queue.index_wait_ms = 200;
        config.timeouts.index_ms = 0;
    })
    .await;
    let session = served.open("/mcp", None).await;
    let refused = session.call(1, "build_index", build(&repository)).await;
    assert_eq!(refused["error"]["data"]["code"], "QUEUE_OVERLOADED", "{refused:#}");
    let (status, body) = served.call(None, "build_index", build(&repository)).await;
    assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (503, Some("QUEUE_OVERLOADED")));
    drop(held);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waited_runs_when_its_turn_comes() {
    let repository = Repository::new(&[("a.py", "a = 1\n")]);
    let (served, held) = busy(|_| {}).await;
    let session = served.open("/mcp", None).await;
    let response = queued(&served, &session, 5, &repository).await;
    drop(held);
    let told = tokio::time::timeout(Duration::from_secs(60), messages(response)).await.unwrap();
    let last = told.last().unwrap();
    assert_eq!(last["result"]["structuredContent"]["ok"], true, "{last:#}");
    served.stop().await;
}
