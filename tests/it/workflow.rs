//! workflow-mcp decides the project if nothing else does, and its failures never make a call fail.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::ProjectId;
use contract::config;
use gate::app::App;
use gate::tools::{self, Caller, Request, Surface};
use serde_json::{Value, json};
use tenancy::{Principal, Projects, SESSION_FILE, Workflow};

use crate::harness::{Repository, app_with, call, error, project, result};
use crate::loopback::{FakeServer, ManualClock, Reply, refusing_url};

const ACTIVE: &str = "/api/v1/projects/active";

fn settings(url: &str) -> config::Workflow {
    config::Workflow { url: Some(url.to_owned()), timeout_ms: 1000, cache_ms: 60_000 }
}

fn app_with_workflow(url: &str) -> Arc<App> {
    let workflow = settings(url);
    app_with(|config| config.workflow = workflow)
}

/// The project in `_meta`, and the rule that chose it.
async fn decided_project(app: &Arc<App>, arguments: Value) -> (Value, String) {
    let answer = call(app, "search_code", arguments).await;
    let meta = &answer["_meta"];
    (meta["project_id"].clone(), meta["project_decided_by"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_active_project_is_used_to_write_and_to_read() {
    let project = project("active");
    let server =
        FakeServer::replying_with(json!({ "project_id": project, "name": "Active", "since": 1 })).await;
    let app = app_with_workflow(&format!("{}/", server.url));
    let repository = Repository::new(&[("a.py", "def active_project():\n    return 1\n")]);
    let answer = call(&app, "index_repository", json!({ "repo_path": repository.root() })).await;
    assert_eq!(answer["ok"], true, "{answer:#}");
    assert_eq!(answer["_meta"]["project_id"], project.as_str());
    assert_eq!(answer["_meta"]["project_decided_by"], "workflow-mcp");

    let found = result(&app, "search_code", json!({ "query": "active project" })).await;
    assert_eq!(found["results"][0]["file_path"], "a.py", "{found:#}");
    assert_eq!(server.requested_paths(), [ACTIVE], "asked once, then cached");

    let other_projects = BTreeSet::from([ProjectId::parse("another").unwrap()]);
    let principal = Principal { projects: Projects::Only(other_projects), ..Principal::local() };
    let caller = Caller { principal: Arc::new(principal), ..Caller::local(Surface::Http) };
    let request = Request::new("search_code", json!({ "query": "active project" }), caller);
    let refused = serde_json::to_value(tools::call(&app, request).await.unwrap()).unwrap();
    assert_eq!(refused["error"]["code"], "NO_INDEX", "a project that is not the caller's: {refused:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_project_wins_without_asking_workflow_mcp() {
    let server = FakeServer::replying_with(json!({ "project_id": "active" })).await;
    let app = app_with_workflow(&server.url);
    let named = project("named");
    let by_argument = decided_project(&app, json!({ "query": "x", "project_id": named })).await;
    assert_eq!(by_argument, (json!(named), "argument".to_owned()));
    assert_eq!(
        error(&app, "search_code", json!({ "query": "x", "project_id": "A" })).await["code"],
        "VALIDATION_ERROR"
    );

    let directory = tempfile::tempdir().unwrap();
    let text = json!({ "project_id": named }).to_string();
    std::fs::write(directory.path().join(SESSION_FILE), text).unwrap();
    let in_directory = Caller { directory: Some(directory.path().into()), ..Caller::local(Surface::Stdio) };
    let in_session = Caller { project: Some(named.clone()), ..Caller::local(Surface::Mcp) };
    for caller in [in_directory, in_session] {
        let request = Request::new("search_code", json!({ "query": "x" }), caller);
        let meta = tools::call(&app, request).await.unwrap().meta;
        assert_eq!(meta.project_id, Some(json!(named)));
        assert_eq!(meta.project_decided_by.unwrap(), "session");
    }
    assert!(server.requested_paths().is_empty(), "{:?}", server.requested_paths());
    assert_eq!(
        decided_project(&app, json!({ "query": "x" })).await,
        (json!("active"), "workflow-mcp".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn on_any_failure_the_default_workspace_is_used() {
    let target = FakeServer::replying_with(json!({ "project_id": "elsewhere" })).await;
    let elsewhere = target.url.clone();
    let large = json!({ "project_id": "large", "more": "x".repeat(70_000) });
    type Case = (&'static str, Box<dyn Fn() -> Reply + Send + Sync>);
    let cases: Vec<Case> = vec![
        ("null", Box::new(|| Reply::Json(json!({ "project_id": null })))),
        ("silent", Box::new(|| Reply::Silence)),
        ("dripping", Box::new(|| Reply::Drip)),
        ("endless", Box::new(|| Reply::Endless)),
        ("oversized", Box::new(move || Reply::Json(large.clone()))),
        ("redirect", Box::new(move || Reply::Redirect(elsewhere.clone()))),
        ("not found", Box::new(|| Reply::Plain(404, r#"{"project_id": "a"}"#.into()))),
        ("created", Box::new(|| Reply::Plain(201, r#"{"project_id": "a"}"#.into()))),
        ("broken", Box::new(|| Reply::Plain(500, "no".into()))),
        ("not JSON", Box::new(|| Reply::Plain(200, "<html>".into()))),
        ("cut JSON", Box::new(|| Reply::Plain(200, r#"{"project_id": "a"#.into()))),
        ("empty", Box::new(|| Reply::Plain(200, String::new()))),
        ("malformed id", Box::new(|| Reply::Json(json!({ "project_id": "Client_A" })))),
        ("empty id", Box::new(|| Reply::Json(json!({ "project_id": "" })))),
        ("number", Box::new(|| Reply::Json(json!({ "project_id": 7 })))),
        ("missing field", Box::new(|| Reply::Json(json!({ "project": "a" })))),
        ("not an object", Box::new(|| Reply::Json(json!(["a"])))),
    ];
    for (name, reply) in cases {
        let server = FakeServer::start(move |_| reply()).await;
        let workflow = config::Workflow { timeout_ms: 300, ..settings(&server.url) };
        let app = app_with(|config| config.workflow = workflow);
        let outcome = decided_project(&app, json!({ "query": "x" })).await;
        assert_eq!(outcome, (Value::Null, "default".to_owned()), "{name}");
        assert_eq!(server.requested_paths(), [ACTIVE], "{name}");
    }
    assert!(target.requested_paths().is_empty(), "a redirect was followed");
    for (name, url) in [
        ("refusing", refusing_url().await),
        ("no address", "not an address".into()),
        ("file", "file:///x".into()),
    ] {
        let outcome = decided_project(&app_with_workflow(&url), json!({ "query": "x" })).await;
        assert_eq!(outcome, (Value::Null, "default".to_owned()), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_and_failures_are_cached() {
    let clock = ManualClock::new();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let server = FakeServer::start(move |_| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Reply::Plain(503, String::new()),
        number => Reply::Json(json!({ "project_id": format!("answer-{number}") })),
    })
    .await;
    let workflow = Workflow::from_settings(&settings(&server.url), clock.clone()).unwrap();
    let active_project = async || workflow.active().await.map(|id| id.to_string());
    for _ in 0..3 {
        assert_eq!(active_project().await, None);
    }
    clock.advance_ms(59_999);
    assert_eq!(active_project().await, None);
    assert_eq!(server.requested_paths().len(), 1, "a failure is cached as well");
    clock.advance_ms(1);
    for _ in 0..3 {
        assert_eq!(active_project().await.as_deref(), Some("answer-1"));
    }
    clock.advance_ms(60_000);
    assert_eq!(active_project().await.as_deref(), Some("answer-2"));
    assert_eq!(server.requested_paths().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_calls_ask_once() {
    for reply in [Some("together"), None] {
        let server = FakeServer::start(move |_| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            reply.map_or(Reply::Plain(500, String::new()), |id| Reply::Json(json!({ "project_id": id })))
        })
        .await;
        let app = app_with(|config| {
            config.workflow = settings(&server.url);
            // All calls run at once, and none is refused on a slow machine.
            config.queue.search_running = 20;
            config.queue.search_wait_ms = 60_000;
        });
        let calls = (0..20).map(|_| decided_project(&app, json!({ "query": "x" })));
        for outcome in futures::future::join_all(calls).await {
            assert_eq!(outcome.0, json!(reply));
        }
        assert_eq!(server.requested_paths().len(), 1);
    }
}
