//! Principals share the places: one that asks much waits for itself, and calls that wait for a run take no place.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pairofcleats::app::{App, upkeep_job};
use serde_json::{Value, json};
use store::DecidedBy;
use tenancy::{NewKey, Projects, Scope};
use tokio_util::sync::CancellationToken;

use super::Served;
use super::fixtures::{tools, until, waiting};
use crate::harness::{Repository, project};

/// A key for every project.
async fn key(app: &App) -> String {
    let new = NewKey {
        name: "test".into(),
        projects: Projects::All,
        scopes: [Scope::Search, Scope::Index].into(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    let now = app.clock.now().as_millisecond();
    tenancy::issue(app.store().await.unwrap(), new, now).await.unwrap().secret
}

/// A server with so many places for searches, and sessions of two keys.
async fn two_keys(places: usize) -> (Served, super::Session, super::Session) {
    let served = Served::with_tools(tools(), |config| {
        config.access.required = contract::config::Required::Always;
        config.queue.search_running = places;
        config.queue.search_waiting_max = 8;
        config.queue.search_wait_ms = 600_000;
        config.timeouts.search_ms = 0;
    })
    .await;
    let (greedy, modest) = (key(&served.app).await, key(&served.app).await);
    let (greedy, modest) =
        (served.open("/mcp", Some(&greedy)).await, served.open("/mcp", Some(&modest)).await);
    (served, greedy, modest)
}

/// Calls of the tool `waits`, many at a time.
fn ask_much(session: &super::Session, tag: &str, ms: u64) -> Vec<tokio::task::JoinHandle<Value>> {
    let call = |id: i64| {
        let (session, arguments) = (session.clone(), json!({ "tag": tag, "ms": ms }));
        tokio::spawn(async move { session.call(id, "waits", arguments).await })
    };
    (1..=20).map(call).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_asks_much_leaves_a_place_to_others() {
    let (served, greedy, modest) = two_keys(2).await;
    let calls = ask_much(&greedy, "much", 600_000);
    until("the line of one key to be full", || served.app.queues.load()[0] == (1, 6)).await;
    for id in 1..=5 {
        let answer = modest.call(id, "echoes", json!({ "x": id })).await;
        assert_eq!(answer["result"]["structuredContent"]["result"]["x"], id, "{answer:#}");
    }
    assert_eq!(waiting("much"), 1);
    let refused = || calls.iter().filter(|call| call.is_finished()).count();
    until("what is beyond its share to be refused", || refused() == 20 - 1 - 6).await;
    for call in calls {
        call.abort();
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_one_place_keys_take_turns() {
    let (served, greedy, modest) = two_keys(1).await;
    let calls = ask_much(&greedy, "turns", 1000);
    until("the line of one key to be full", || served.app.queues.load()[0].1 == 6).await;
    let answer = modest.call(1, "echoes", json!({ "x": 1 })).await;
    assert_eq!(answer["result"]["structuredContent"]["result"]["x"], 1, "{answer:#}");
    assert!(served.app.queues.load()[0].1 >= 2, "the other key's calls still wait");
    for call in calls {
        call.abort();
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_for_a_run_take_no_place() {
    let (ours, theirs) = (project("waits"), project("builds"));
    let (one, other) = (Repository::new(&[("a.py", "a = 1\n")]), Repository::new(&[("b.py", "b = 1\n")]));
    let roots = [(&ours, &one), (&theirs, &other)]
        .map(|(id, repository)| (id.clone(), vec![repository.path().canonicalize().unwrap()]));
    let served = Served::start(|config| {
        config.access.required = contract::config::Required::Always;
        config.indexing.project_roots = roots.into();
        config.queue.index_running = 2;
        config.queue.index_wait_ms = 600_000;
    })
    .await;
    let (a, b) = (key(&served.app).await, key(&served.app).await);
    let build =
        |repository: &Repository, id: &str| json!({ "repoPath": repository.root(), "project_id": id });
    let (status, body) = served.call(Some(&a), "build_index", build(&one, &ours)).await;
    assert_eq!(status, 200, "{body:#}");

    // Something else writes to the project, so that runs of it wait.
    let (app, release) = (Arc::clone(&served.app), CancellationToken::new());
    let (id, over) = (contract::ProjectId::parse(&ours).unwrap(), release.clone());
    let (begun, began) = tokio::sync::oneshot::channel();
    let writer = tokio::spawn(async move {
        let store = app.store().await.unwrap();
        let project = tenancy::open(store, &id, DecidedBy::Argument).await.unwrap().unwrap();
        let cancel = CancellationToken::new();
        let work = |_| async move {
            begun.send(()).unwrap();
            over.cancelled().await;
            Ok(())
        };
        upkeep_job::alone(&app, &project, "test", &cancel, work).await
    });
    began.await.unwrap();
    let (url, arguments) = (served.at("/tools/build_index"), build(&one, &ours));
    let waits: Vec<_> = (0..4)
        .map(|_| {
            let request = super::keyed(crate::harness::http().post(&url), Some(&a)).json(&arguments);
            tokio::spawn(super::answer(request))
        })
        .collect();
    let calls = || served.app.calls.load(Ordering::Acquire);
    until("four calls to wait without a place", || calls() == 4 && served.app.queues.load()[1] == (0, 0))
        .await;
    let (status, body) = served.call(Some(&b), "build_index", build(&other, &theirs)).await;
    assert_eq!(status, 200, "{body:#}");
    assert_eq!(calls(), 4, "they wait all the same");
    release.cancel();
    writer.await.unwrap().unwrap();
    for call in waits {
        let (status, body) = call.await.unwrap();
        assert_eq!(status, 200, "{body:#}");
    }
    assert_eq!(served.app.queues.load()[1], (0, 0));
    served.stop().await;
}
