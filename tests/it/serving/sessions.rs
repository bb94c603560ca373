//! MCP sessions over HTTP: ownership, lifetime, and restarts of the server.

use serde_json::{Value, json};
use tenancy::{self, NewKey, Projects, Scope};

use super::{Session, TestServer, with_key};
use crate::harness::{app_with, http, modules};

async fn issue_key(server: &TestServer) -> String {
    let new = NewKey {
        name: "session".into(),
        projects: Projects::All,
        scopes: [Scope::Search].into(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    tenancy::issue_key(server.app.store().await.unwrap(), new, 0).await.unwrap().secret
}

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_belongs_to_one_principal() {
    let server = TestServer::start(|_| {}).await;
    let (key, other_key) = (issue_key(&server).await, issue_key(&server).await);
    let session = server.open("/mcp", Some(&key)).await;
    let theirs = Session { key: Some(other_key.clone()), ..session.clone() };
    let without_key = Session { key: None, ..session.clone() };
    for stolen in [&theirs, &without_key] {
        assert_eq!(stolen.post(ping()).await.status(), 404, "POST");
        let stream =
            with_key(http().get(&stolen.url), stolen.key.as_deref()).header("accept", "text/event-stream");
        assert_eq!(stream.header("mcp-session-id", &stolen.id).send().await.unwrap().status(), 404, "GET");
        let end =
            with_key(http().delete(&stolen.url), stolen.key.as_deref()).header("mcp-session-id", &stolen.id);
        assert_eq!(end.send().await.unwrap().status(), 404, "DELETE");
    }
    assert_eq!(session.post(ping()).await.status(), 200, "the session still works");
    let end = with_key(http().delete(&session.url), Some(&key)).header("mcp-session-id", &session.id);
    assert_eq!(end.send().await.unwrap().status(), 204);
    assert_eq!(session.post(ping()).await.status(), 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_survives_a_restart_and_keeps_its_owner() {
    let server = TestServer::start(|_| {}).await;
    let (key, other_key) = (issue_key(&server).await, issue_key(&server).await);
    let session = server.open("/mcp", Some(&key)).await;
    let ended = server.open("/mcp", Some(&key)).await;
    wait_until_stored(&server, &session.id).await;
    wait_until_stored(&server, &ended.id).await;
    let end = with_key(http().delete(&ended.url), Some(&key)).header("mcp-session-id", &ended.id);
    assert_eq!(end.send().await.unwrap().status(), 204);
    server.stop().await;

    let restarted = TestServer::start(|_| {}).await;
    let session = Session { url: restarted.url_of("/mcp"), ..session };
    let theirs = Session { key: Some(other_key), ..session.clone() };
    assert_eq!(theirs.post(ping()).await.status(), 404, "before its owner uses it");
    assert!(session.tools().await.contains(&"search".to_owned()), "no second initialize is needed");
    assert_eq!(theirs.post(ping()).await.status(), 404, "after");
    let ended = Session { url: restarted.url_of("/mcp"), ..ended };
    assert_eq!(ended.post(ping()).await.status(), 404, "an ended session stays ended");
    restarted.stop().await;

    let strict = TestServer::start(|config| config.server.session_idle_ms = 1).await;
    let session = Session { url: strict.url_of("/mcp"), ..session };
    assert_eq!(session.post(ping()).await.status(), 404, "idle for too long");
    strict.stop().await;
}

/// Waits until a session is stored, which happens after the answer to `initialize`.
async fn wait_until_stored(server: &TestServer, id: &str) {
    for _ in 0..600 {
        let mut transaction = server.app.store().await.unwrap().control().await.unwrap();
        let owner = store::mcp_sessions::owner(&mut transaction, id).await.unwrap();
        transaction.commit().await.unwrap();
        if owner.is_some() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the session was not stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_least_recently_used_session_is_evicted() {
    let server = TestServer::start(|config| config.server.sessions_max = 2).await;
    let (key, other_key) = (issue_key(&server).await, issue_key(&server).await);
    let theirs = server.open("/mcp", Some(&other_key)).await;
    let (first, second) = (server.open("/mcp", Some(&key)).await, server.open("/mcp", Some(&key)).await);
    assert_eq!(first.post(ping()).await.status(), 200, "now the second one is the least recently used");
    let third = server.open("/mcp", Some(&key)).await;
    assert_eq!(second.post(ping()).await.status(), 404);
    for (label, session) in [("first", first), ("third", third), ("another principal", theirs)] {
        assert_eq!(session.post(ping()).await.status(), 200, "{label}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_is_authorized_by_its_own_key() {
    let server = TestServer::start(|_| {}).await;
    let key = issue_key(&server).await;
    let session = server.open("/mcp", Some(&key)).await;
    // The same session at a server that sees the revoked key at once.
    let store = server.app.store().await.unwrap();
    let id = key.split('_').nth(1).unwrap();
    tenancy::revoke_key(store, id, 0).await.unwrap();
    let strict = TestServer::over(
        app_with(|config| {
            config.server.port = 0;
            config.access.key_cache_ms = 0;
        }),
        modules().tools(),
    )
    .await;
    let session = Session { url: strict.url_of("/mcp"), ..session };
    assert_eq!(session.post(ping()).await.status(), 401);
    strict.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_closes_open_streams() {
    let server = TestServer::start(|_| {}).await;
    let session = server.open("/mcp", None).await;
    let mut stream = http()
        .get(&session.url)
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &session.id)
        .send()
        .await
        .unwrap();
    assert_eq!(stream.status(), 200);
    let closed = async {
        server.stop().await;
        while let Ok(Some(_)) = stream.chunk().await {}
    };
    let closed = tokio::time::timeout(std::time::Duration::from_secs(60), closed).await;
    closed.expect("a minute after the stop, the server still runs or the stream is still open");
}
