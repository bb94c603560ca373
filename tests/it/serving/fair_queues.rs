//! Fair queues: a principal with many calls waits for its own calls, and calls that wait for a run need no slot.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gate::app::{App, Bulkhead, upkeep_job};
use serde_json::{Value, json};
use store::DecidedBy;
use tenancy::{NewKey, Principal, Projects, Scope};
use tokio_util::sync::CancellationToken;

use super::TestServer;
use super::fixtures::{tools, wait_until, waiting};
use crate::harness::{Repository, project};

/// Issues a key for all projects.
async fn issue_key(app: &App) -> String {
    let new = NewKey {
        name: "test".into(),
        projects: Projects::All,
        scopes: [Scope::Search, Scope::Index].into(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    let now = app.clock.now().as_millisecond();
    tenancy::issue_key(app.store().await.unwrap(), new, now).await.unwrap().secret
}

/// A server with `slots` slots for searches, and the sessions of two keys.
async fn server_with_two_sessions(slots: usize) -> (TestServer, super::Session, super::Session) {
    let server = TestServer::with_tools(tools(), |config| {
        config.access.required = contract::config::Required::Always;
        config.queue.search_running = slots;
        config.queue.search_waiting_max = 8;
        config.queue.search_wait_ms = 600_000;
        config.timeouts.search_ms = 0;
    })
    .await;
    let (greedy, modest) = (issue_key(&server.app).await, issue_key(&server.app).await);
    let (greedy, modest) =
        (server.open("/mcp", Some(&greedy)).await, server.open("/mcp", Some(&modest)).await);
    (server, greedy, modest)
}

/// Starts twenty calls of the tool `waits`.
fn start_many_calls(session: &super::Session, tag: &str, ms: u64) -> Vec<tokio::task::JoinHandle<Value>> {
    let call = |id: i64| {
        let (session, arguments) = (session.clone(), json!({ "tag": tag, "ms": ms }));
        tokio::spawn(async move { session.call(id, "waits", arguments).await })
    };
    (1..=20).map(call).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_with_many_calls_leaves_a_slot_to_others() {
    let (server, greedy, modest) = server_with_two_sessions(2).await;
    let calls = start_many_calls(&greedy, "much", 600_000);
    wait_until("the queue of one key to be full", || server.app.queues.load()[0] == (1, 6)).await;
    for id in 1..=5 {
        let answer = modest.call(id, "echoes", json!({ "x": id })).await;
        assert_eq!(answer["result"]["structuredContent"]["result"]["x"], id, "{answer:#}");
    }
    assert_eq!(waiting("much"), 1);
    let refused = || calls.iter().filter(|call| call.is_finished()).count();
    wait_until("calls beyond the key's share to be refused", || refused() == 20 - 1 - 6).await;
    for call in calls {
        call.abort();
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_one_slot_keys_take_turns() {
    let (server, greedy, modest) = server_with_two_sessions(1).await;
    let calls = start_many_calls(&greedy, "turns", 1000);
    wait_until("the queue of one key to be full", || server.app.queues.load()[0].1 == 6).await;
    let answer = modest.call(1, "echoes", json!({ "x": 1 })).await;
    assert_eq!(answer["result"]["structuredContent"]["result"]["x"], 1, "{answer:#}");
    assert!(server.app.queues.load()[0].1 >= 2, "the other key's calls still wait");
    for call in calls {
        call.abort();
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_for_a_run_need_no_slot() {
    let (ours, theirs) = (project("waits"), project("builds"));
    let (one, other) = (Repository::new(&[("a.py", "a = 1\n")]), Repository::new(&[("b.py", "b = 1\n")]));
    let roots = [(&ours, &one), (&theirs, &other)]
        .map(|(id, repository)| (id.clone(), vec![repository.path().canonicalize().unwrap()]));
    let server = TestServer::start(|config| {
        config.access.required = contract::config::Required::Always;
        config.indexing.project_roots = roots.into();
        config.queue.index_running = 2;
        config.queue.index_wait_ms = 600_000;
    })
    .await;
    let (a, b) = (issue_key(&server.app).await, issue_key(&server.app).await);
    let build =
        |repository: &Repository, id: &str| json!({ "repoPath": repository.root(), "project_id": id });
    let (status, body) = server.call(Some(&a), "build_index", build(&one, &ours)).await;
    assert_eq!(status, 200, "{body:#}");

    // Another exclusive job of the project makes index runs wait.
    let (app, release) = (Arc::clone(&server.app), CancellationToken::new());
    let (id, released) = (contract::ProjectId::parse(&ours).unwrap(), release.clone());
    let (started, has_started) = tokio::sync::oneshot::channel();
    let writer = tokio::spawn(async move {
        let store = app.store().await.unwrap();
        let project = tenancy::open(store, &id, DecidedBy::Argument).await.unwrap().unwrap();
        let cancel = CancellationToken::new();
        let work = |_| async move {
            started.send(()).unwrap();
            released.cancelled().await;
            Ok(())
        };
        upkeep_job::run_exclusive(&app, &project, "test", &cancel, work).await
    });
    has_started.await.unwrap();
    let (url, arguments) = (server.url_of("/tools/build_index"), build(&one, &ours));
    let waiting_calls: Vec<_> = (0..4)
        .map(|_| {
            let request = super::with_key(crate::harness::http().post(&url), Some(&a)).json(&arguments);
            tokio::spawn(super::send_json(request))
        })
        .collect();
    let calls = || server.app.calls.load(Ordering::Acquire);
    wait_until("four calls to wait without a slot", || calls() == 4 && server.app.queues.load()[1] == (0, 0))
        .await;
    let (status, body) = server.call(Some(&b), "build_index", build(&other, &theirs)).await;
    assert_eq!(status, 200, "{body:#}");
    assert_eq!(calls(), 4, "the four calls still wait");
    release.cancel();
    writer.await.unwrap().unwrap();
    for call in waiting_calls {
        let (status, body) = call.await.unwrap();
        assert_eq!(status, 200, "{body:#}");
    }
    assert_eq!(server.app.queues.load()[1], (0, 0));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn background_runs_of_a_key_wait_for_a_slot_of_that_key() {
    let names = ["greedy-1", "greedy-2", "greedy-3", "greedy-4", "modest"];
    let all = names.map(|name| (project(name), Repository::new(&[("a.py", "a = 1\n")])));
    let roots =
        all.each_ref().map(|(id, repository)| (id.clone(), vec![repository.path().canonicalize().unwrap()]));
    let server = TestServer::start(|config| {
        config.access.required = contract::config::Required::Always;
        config.indexing.project_roots = roots.into();
        config.queue.index_running = 2;
        config.queue.index_waiting_max = 4;
        config.queue.index_wait_ms = 600_000;
    })
    .await;
    let (greedy, modest) = (issue_key(&server.app).await, issue_key(&server.app).await);
    let build = async |key: &str, (id, repository): &(String, Repository), wait: bool| {
        let arguments = json!({ "repoPath": repository.root(), "project_id": id, "wait": wait });
        server.call(Some(key), "build_index", arguments).await
    };
    // A call of the first key runs all the time.
    let key_id = greedy.split('_').nth(1).unwrap();
    let principal = Principal { id: format!("key:{key_id}"), is_local: false, ..Principal::local() };
    let running = server.app.queues.admit(Bulkhead::Index, &principal).await.unwrap();
    for (at, repository) in all.iter().take(3).enumerate() {
        let (status, body) = build(&greedy, repository, false).await;
        assert_eq!(status, 200, "{body:#}");
        wait_until("one run, and others that wait", || server.app.queues.load()[1] == (1, at + 1)).await;
    }
    let (_, body) = build(&greedy, &all[3], false).await;
    assert_eq!(body["error"]["code"], "QUEUE_OVERLOADED", "three quarters of the queue: {body:#}");
    let absent = server.call(Some(&greedy), "index_status", json!({ "project_id": all[3].0 })).await.1;
    assert_eq!(absent["error"]["code"], "NO_INDEX", "a refused call creates no workspace: {absent:#}");
    let (status, body) = build(&modest, &all[4], true).await;
    assert_eq!(status, 200, "the other slot is for others: {body:#}");
    drop(running);
    wait_until("the waiting runs to end", || server.app.queues.load()[1] == (0, 0)).await;
    for (id, _) in all.iter().take(3) {
        let status = server.call(Some(&greedy), "index_status", json!({ "project_id": id })).await.1;
        assert_eq!(status["result"]["files"], 1, "{status:#}");
    }
    server.stop().await;
}
