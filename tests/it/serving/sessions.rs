//! MCP sessions over HTTP: whose they are, how long they live, what a restart does to them.

use std::sync::Arc;

use pairofcleats::tools::Toolbox;
use serde_json::{Value, json};
use tenancy::{self, NewKey, Projects, Scope};

use super::{Served, Session, keyed};
use crate::harness::{app_with, http};

async fn key(served: &Served) -> String {
    let new = NewKey {
        name: "session".into(),
        projects: Projects::All,
        scopes: [Scope::Search].into(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    tenancy::issue(served.app.store().await.unwrap(), new, 0).await.unwrap().secret
}

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_its_owners_alone() {
    let served = Served::start(|_| {}).await;
    let (one, two) = (key(&served).await, key(&served).await);
    let session = served.open("/mcp", Some(&one)).await;
    let theirs = Session { key: Some(two.clone()), ..session.clone() };
    let nobodys = Session { key: None, ..session.clone() };
    for other in [&theirs, &nobodys] {
        assert_eq!(other.post(ping()).await.status(), 404, "POST");
        let stream =
            keyed(http().get(&other.url), other.key.as_deref()).header("accept", "text/event-stream");
        assert_eq!(stream.header("mcp-session-id", &other.id).send().await.unwrap().status(), 404, "GET");
        let end = keyed(http().delete(&other.url), other.key.as_deref()).header("mcp-session-id", &other.id);
        assert_eq!(end.send().await.unwrap().status(), 404, "DELETE");
    }
    assert_eq!(session.post(ping()).await.status(), 200, "it lives on");
    let end = keyed(http().delete(&session.url), Some(&one)).header("mcp-session-id", &session.id);
    assert_eq!(end.send().await.unwrap().status(), 204);
    assert_eq!(session.post(ping()).await.status(), 404);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_survives_a_restart_and_stays_its_owners() {
    let served = Served::start(|_| {}).await;
    let (one, two) = (key(&served).await, key(&served).await);
    let session = served.open("/mcp", Some(&one)).await;
    let ended = served.open("/mcp", Some(&one)).await;
    kept(&served, &session.id).await;
    kept(&served, &ended.id).await;
    let end = keyed(http().delete(&ended.url), Some(&one)).header("mcp-session-id", &ended.id);
    assert_eq!(end.send().await.unwrap().status(), 204);
    served.stop().await;

    let again = Served::start(|_| {}).await;
    let session = Session { url: again.at("/mcp"), ..session };
    let theirs = Session { key: Some(two), ..session.clone() };
    assert_eq!(theirs.post(ping()).await.status(), 404, "before its owner came back");
    assert!(session.tools().await.contains(&"search".to_owned()), "without another initialize");
    assert_eq!(theirs.post(ping()).await.status(), 404, "after");
    let ended = Session { url: again.at("/mcp"), ..ended };
    assert_eq!(ended.post(ping()).await.status(), 404, "what was ended stays ended");
    again.stop().await;

    let strict = Served::start(|config| config.server.session_idle_ms = 1).await;
    let session = Session { url: strict.at("/mcp"), ..session };
    assert_eq!(session.post(ping()).await.status(), 404, "idle for too long");
    strict.stop().await;
}

/// Sessions are kept behind the answer to `initialize`; waits until that is done.
async fn kept(served: &Served, id: &str) {
    for _ in 0..600 {
        let mut door = served.app.store().await.unwrap().control().await.unwrap();
        let owner = store::mcp_sessions::owner(&mut door, id).await.unwrap();
        door.commit().await.unwrap();
        if owner.is_some() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the session was not kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_unused_longest_makes_place() {
    let served = Served::start(|config| config.server.sessions_max = 2).await;
    let (one, two) = (key(&served).await, key(&served).await);
    let theirs = served.open("/mcp", Some(&two)).await;
    let (first, second) = (served.open("/mcp", Some(&one)).await, served.open("/mcp", Some(&one)).await);
    assert_eq!(first.post(ping()).await.status(), 200, "now the second was unused longer");
    let third = served.open("/mcp", Some(&one)).await;
    assert_eq!(second.post(ping()).await.status(), 404);
    for (what, session) in [("first", first), ("third", third), ("another principal's", theirs)] {
        assert_eq!(session.post(ping()).await.status(), 200, "{what}");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_call_may_do_comes_from_its_own_request() {
    let served = Served::start(|_| {}).await;
    let all = key(&served).await;
    let session = served.open("/mcp", Some(&all)).await;
    // The same session, its owner's key by now revoked in the server's eyes.
    let store = served.app.store().await.unwrap();
    let id = all.split('_').nth(1).unwrap();
    tenancy::revoke(store, id, 0).await.unwrap();
    let strict = Served::over(
        app_with(|config| {
            config.server.port = 0;
            config.access.key_cache_ms = 0;
        }),
        Toolbox::standard(),
    )
    .await;
    let session = Session { url: strict.at("/mcp"), ..session };
    assert_eq!(session.post(ping()).await.status(), 401);
    strict.stop().await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_open_streams() {
    let served = Served::start(|_| {}).await;
    let session = served.open("/mcp", None).await;
    let mut stream = http()
        .get(&session.url)
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &session.id)
        .send()
        .await
        .unwrap();
    assert_eq!(stream.status(), 200);
    let app = Arc::clone(&served.app);
    served.stop().await;
    assert!(app.shutdown.is_cancelled());
    while let Ok(Some(_)) = stream.chunk().await {}
}
