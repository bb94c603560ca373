//! Streams end with the key that opened them.

use std::time::Duration;

use contract::config::Required;
use reqwest::Response;
use serde_json::json;
use tenancy::Scope;

use super::access::{issue_key, issue_key_with};
use super::fixtures::{tools, waiting};
use super::{ACCEPT, TestServer, with_key};
use crate::harness::http;

/// Longer than a stream lives after its key has ended, and far shorter than it would live otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

async fn start() -> TestServer {
    TestServer::with_tools(tools(), |config| {
        config.access.required = Required::Always;
        config.access.key_cache_ms = 100;
        config.timeouts.search_ms = 600_000;
        config.queue.search_running = 1;
        config.queue.search_wait_ms = 600_000;
    })
    .await
}

/// Reads the rest of a stream that ends.
async fn rest(stream: Response) -> String {
    tokio::time::timeout(PATIENCE, stream.text()).await.expect("the stream stayed open").unwrap()
}

async fn revoke(server: &TestServer, id: &str) {
    tenancy::revoke_key(server.app.store().await.unwrap(), id, 0).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_mcp_end_with_their_key() {
    let server = start().await;
    let (id, key) = issue_key(&server.app, &[], &[Scope::Search]).await;
    let (_, other) = issue_key(&server.app, &[], &[Scope::Search]).await;
    let session = server.open("/mcp", Some(&key)).await;
    let listen = async |key: &str, session: &super::Session| {
        let request = with_key(http().get(&session.url), Some(key)).header("accept", "text/event-stream");
        request.header("mcp-session-id", &session.id).send().await.unwrap()
    };
    let theirs = server.open("/mcp", Some(&other)).await;
    let (stream, mut stays) = (listen(&key, &session).await, listen(&other, &theirs).await);
    assert!(stream.status() == 200 && stays.status() == 200);
    let legacy = with_key(http().get(server.url_of("/sse")), Some(&key)).send().await.unwrap();
    assert_eq!(legacy.status(), 200);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "waits", "arguments": { "tag": "ended-key", "ms": 600_000 } } });
    let answer = with_key(http().post(&session.url), Some(&key))
        .header("accept", ACCEPT)
        .header("mcp-session-id", &session.id)
        .json(&call)
        .send()
        .await
        .unwrap();
    revoke(&server, &id).await;
    for stream in [stream, legacy, answer] {
        assert!(!rest(stream).await.contains("\"result\""));
    }
    // The stream of another key continues: it sends comments from time to time, and does not end.
    let more = tokio::time::timeout(Duration::from_secs(1), async {
        while stays.chunk().await.unwrap().is_some() {}
    });
    assert!(more.await.is_err(), "the stream of another key ended");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_an_answer_says_why_it_ends_and_what_it_did_is_cancelled() {
    let server = start().await;
    let (id, key) = issue_key(&server.app, &[], &[Scope::Search]).await;
    // A search that waits for the only slot.
    let (_, holder) = issue_key(&server.app, &[], &[Scope::Search]).await;
    let session = server.open("/mcp", Some(&holder)).await;
    let holds = json!({ "tag": "holds-the-slot", "ms": 600_000 });
    tokio::spawn(async move { session.call(1, "waits", holds).await });
    super::fixtures::wait_until("the slot to be held", || waiting("holds-the-slot") > 0).await;
    let stream = with_key(http().post(server.url_of("/search/stream")), Some(&key));
    let stream = stream.json(&json!({ "query": "x", "project_id": "nowhere" })).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    revoke(&server, &id).await;
    let text = rest(stream).await;
    let last: Vec<&str> = text.lines().filter(|line| line.starts_with("event: ")).collect();
    assert!(last.ends_with(&["event: error", "event: done"]), "{text}");
    server.app.shutdown.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_expires_ends_its_stream() {
    let server = start().await;
    let soon = server.app.clock.now().as_millisecond() + 4_000;
    let (_, key) =
        issue_key_with(&server.app, &[], &[Scope::Search], |new| new.expires_ms = Some(soon)).await;
    let session = server.open("/mcp", Some(&key)).await;
    let stream = with_key(http().get(&session.url), Some(&key))
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &session.id)
        .send()
        .await
        .unwrap();
    assert_eq!(stream.status(), 200);
    rest(stream).await;
    assert_eq!(session.post(json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" })).await.status(), 401);
    server.stop().await;
}
