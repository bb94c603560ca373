//! workflow-mcp decides the project where nothing else does, and never makes a call fail.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::ProjectId;
use contract::config;
use pairofcleats::app::App;
use pairofcleats::tools::{self, Caller, Request, Surface};
use serde_json::{Value, json};
use tenancy::{Principal, Projects, SESSION_FILE, Workflow};

use crate::harness::{Repository, app_with, call, error, project, result};
use crate::loopback::{Hand, Reply, Web, nobody};

const ACTIVE: &str = "/api/v1/projects/active";

fn settings(url: &str) -> config::Workflow {
    config::Workflow { url: Some(url.to_owned()), timeout_ms: 1000, cache_ms: 60_000 }
}

fn asking(url: &str) -> Arc<App> {
    let workflow = settings(url);
    app_with(|config| config.workflow = workflow)
}

/// The project that `_meta` names, and the rule that chose it.
async fn decided(app: &Arc<App>, arguments: Value) -> (Value, String) {
    let answer = call(app, "search_code", arguments).await;
    let meta = &answer["_meta"];
    (meta["project_id"].clone(), meta["project_decided_by"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_active_project_is_written_to_and_read_from() {
    let project = project("active");
    let web = Web::saying(json!({ "project_id": project, "name": "Active", "since": 1 })).await;
    let app = asking(&format!("{}/", web.url));
    let repository = Repository::new(&[("a.py", "def active_project():\n    return 1\n")]);
    let answer = call(&app, "index_repository", json!({ "repo_path": repository.root() })).await;
    assert_eq!(answer["ok"], true, "{answer:#}");
    assert_eq!(answer["_meta"]["project_id"], project.as_str());
    assert_eq!(answer["_meta"]["project_decided_by"], "workflow-mcp");

    let found = result(&app, "search_code", json!({ "query": "active project" })).await;
    assert_eq!(found["results"][0]["file_path"], "a.py", "{found:#}");
    assert_eq!(web.asked(), [ACTIVE], "asked once, then believed");

    let others = BTreeSet::from([ProjectId::parse("another").unwrap()]);
    let principal = Principal { projects: Projects::These(others), ..Principal::local() };
    let caller = Caller { principal: Arc::new(principal), ..Caller::local(Surface::Http) };
    let request = Request::new("search_code", json!({ "query": "active project" }), caller);
    let refused = serde_json::to_value(tools::call(&app, request).await.unwrap()).unwrap();
    assert_eq!(refused["error"]["code"], "NO_INDEX", "a project that is not the caller's: {refused:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_names_a_project_is_not_overruled_and_asks_nobody() {
    let web = Web::saying(json!({ "project_id": "active" })).await;
    let app = asking(&web.url);
    let named = project("named");
    let by_argument = decided(&app, json!({ "query": "x", "project_id": named })).await;
    assert_eq!(by_argument, (json!(named), "argument".to_owned()));
    assert_eq!(
        error(&app, "search_code", json!({ "query": "x", "project_id": "A" })).await["code"],
        "VALIDATION_ERROR"
    );

    let directory = tempfile::tempdir().unwrap();
    let text = json!({ "project_id": named }).to_string();
    std::fs::write(directory.path().join(SESSION_FILE), text).unwrap();
    let in_directory = Caller { directory: Some(directory.path().into()), ..Caller::local(Surface::Stdio) };
    let set_up = Caller { project: Some(named.clone()), ..Caller::local(Surface::Mcp) };
    for caller in [in_directory, set_up] {
        let request = Request::new("search_code", json!({ "query": "x" }), caller);
        let meta = tools::call(&app, request).await.unwrap().meta;
        assert_eq!(meta.project_id, Some(json!(named)));
        assert_eq!(meta.project_decided_by.unwrap(), "session");
    }
    assert!(web.asked().is_empty(), "{:?}", web.asked());
    assert_eq!(decided(&app, json!({ "query": "x" })).await, (json!("active"), "workflow-mcp".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_goes_wrong_is_the_default_workspace() {
    let target = Web::saying(json!({ "project_id": "elsewhere" })).await;
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
        let web = Web::start(move |_| reply()).await;
        let workflow = config::Workflow { timeout_ms: 300, ..settings(&web.url) };
        let app = app_with(|config| config.workflow = workflow);
        let outcome = decided(&app, json!({ "query": "x" })).await;
        assert_eq!(outcome, (Value::Null, "default".to_owned()), "{name}");
        assert_eq!(web.asked(), [ACTIVE], "{name}");
    }
    assert!(target.asked().is_empty(), "a redirect was followed");
    for (name, url) in
        [("refusing", nobody().await), ("no address", "not an address".into()), ("file", "file:///x".into())]
    {
        let outcome = decided(&asking(&url), json!({ "query": "x" })).await;
        assert_eq!(outcome, (Value::Null, "default".to_owned()), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_and_failures_are_believed_for_a_while() {
    let hand = Hand::new();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let web = Web::start(move |_| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Reply::Plain(503, String::new()),
        number => Reply::Json(json!({ "project_id": format!("answer-{number}") })),
    })
    .await;
    let workflow = Workflow::configured(&settings(&web.url), hand.clone()).unwrap();
    let said = async || workflow.active().await.map(|id| id.to_string());
    for _ in 0..3 {
        assert_eq!(said().await, None);
    }
    hand.advance_ms(59_999);
    assert_eq!(said().await, None);
    assert_eq!(web.asked().len(), 1, "a failure is cached as well");
    hand.advance_ms(1);
    for _ in 0..3 {
        assert_eq!(said().await.as_deref(), Some("answer-1"));
    }
    hand.advance_ms(60_000);
    assert_eq!(said().await.as_deref(), Some("answer-2"));
    assert_eq!(web.asked().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_calls_at_a_time_ask_once() {
    for reply in [Some("together"), None] {
        let web = Web::start(move |_| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            reply.map_or(Reply::Plain(500, String::new()), |id| Reply::Json(json!({ "project_id": id })))
        })
        .await;
        let app = app_with(|config| {
            config.workflow = settings(&web.url);
            // All of them at a time, and none refused because this machine is slow.
            config.queue.search_running = 20;
            config.queue.search_wait_ms = 60_000;
        });
        let calls = (0..20).map(|_| decided(&app, json!({ "query": "x" })));
        for outcome in futures::future::join_all(calls).await {
            assert_eq!(outcome.0, json!(reply));
        }
        assert_eq!(web.asked().len(), 1);
    }
}
