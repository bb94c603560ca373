//! Who may do what with which runs.

use gate::tools::{Caller, Surface, ToolVisibility};
use launch::legality::RunTool;
use launch::snapshot::RunSnapshot;
use serde_json::{Value, json};
use tenancy::Scope;

use super::events::log_and_snapshot;
use super::{Scene, code};
use crate::harness::{error, http, modules, result, try_call};
use crate::serving::{TestServer, issue_key, send_json, with_key};
use crate::upkeep::{query_number, schema};
use crate::valid_arguments::ABSENT_RUN;

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_subsystem_answers_nothing_and_makes_no_tables() {
    let scene = Scene::with(|config| config.launch.enabled = false).await;
    let tables = format!(
        "SELECT count(*) FROM pg_tables WHERE schemaname = '{}' AND tablename LIKE 'launch_%'",
        schema(&scene.project)
    );
    for tool in modules().list_of_tools().iter().filter(|tool| tool.toolset.name == "launch") {
        let refused = try_call(&scene.app, tool.name, json!({ "run_id": ABSENT_RUN })).await.unwrap_err();
        let fault = refused.to_fault();
        assert_eq!(fault.code.as_str(), "MUTATION_DISABLED", "{}", tool.name);
        assert!(fault.hint.is_some() && fault.message.contains("launch"), "{}: {fault}", tool.name);
    }
    assert_eq!(query_number(&tables).await, 0);
    let listed = |app: &gate::app::App| {
        let visibility = ToolVisibility::parse(modules(), "launch", false).unwrap();
        let caller = Caller { visibility, ..Caller::local(Surface::Cli) };
        modules().tools().listed(&app.config, &caller).count()
    };
    assert_eq!(listed(&scene.app), 0, "not even if it is named");
    assert_eq!(listed(&crate::harness::app()), 11);
    let by_default = Caller::local(Surface::Cli);
    let shown = crate::harness::app();
    let mut shown = modules().tools().listed(&shown.config, &by_default);
    assert!(shown.all(|tool| tool.toolset.name != "launch"), "listed only where it is named");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_another_project_are_not_found() {
    let (ours, theirs) = (Scene::new().await, Scene::new().await);
    let (run, their_run) = (ours.start("shop").await, theirs.ready("canary").await);
    let names: Vec<&str> =
        RunTool::ALL.iter().map(|tool| tool.as_str()).chain(["launch_get_status"]).collect();
    for tool in names {
        let mut answers = Vec::new();
        for (run_id, project_id) in
            [(&*their_run, &ours.project), (ABSENT_RUN, &ours.project), (&*run, &"nobody".to_owned())]
        {
            let arguments = json!({ "run_id": run_id, "project_id": project_id });
            let refused = error(&ours.app, tool, arguments).await;
            assert_eq!(code(&refused), "RUN_NOT_FOUND", "{tool} {run_id} in {project_id}: {refused:#}");
            answers.push(refused);
        }
        assert_eq!(answers[0], answers[1], "{tool}: another project's run is like none");
        let malformed = error(&ours.app, tool, json!({ "run_id": "../x", "project_id": ours.project })).await;
        assert_eq!(code(&malformed), "INVALID_INPUT", "{tool}: {malformed:#}");
    }
    let arguments =
        json!({ "run_id": their_run, "artifact_name": "page_plan.json", "project_id": ours.project });
    assert_eq!(code(&error(&ours.app, "launch_get_artifact", arguments).await), "RUN_NOT_FOUND");
    let listed = result(&ours.app, "launch_list_runs", json!({ "project_id": ours.project })).await;
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed:#}");
    assert!(!listed.to_string().contains("canary"), "{listed:#}");

    let server = TestServer::over(ours.app.clone(), modules().tools()).await;
    for path in ["", "/artifacts/page_plan.json", "/events"] {
        let url = server.url_of(&format!("/launch/runs/{their_run}{path}?project_id={}", ours.project));
        let response = http().get(url).send().await.unwrap();
        assert_eq!(response.status(), if path == "/events" { 200 } else { 404 }, "{path}");
        let text = response.text().await.unwrap();
        assert!(text.contains("RUN_NOT_FOUND") && !text.contains("canary"), "{path}: {text}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_needs_a_scope_of_its_own() {
    let scene = Scene::with(|config| config.access.required = contract::config::Required::Always).await;
    let run = scene.ready("shop").await;
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let (_, launcher) = issue_key(&scene.app, &[&scene.project], &[Scope::Launch]).await;
    let (publisher_id, publisher) = issue_key(&scene.app, &[&scene.project], &[Scope::Publish]).await;
    let (_, stranger) = issue_key(&scene.app, &["elsewhere"], &[Scope::Launch, Scope::Publish]).await;
    let call = async |key: &str, tool: &str| {
        let (_, body) = server.call(Some(key), tool, scene.arguments(&run)).await;
        body["error"]["code"].as_str().unwrap_or("ok").to_owned()
    };
    assert_eq!(call(&launcher, "launch_get_status").await, "ok");
    assert_eq!(call(&launcher, "launch_validate").await, "ok");
    assert_eq!(call(&launcher, "launch_open_pr").await, "FORBIDDEN");
    assert_eq!(call(&publisher, "launch_get_status").await, "FORBIDDEN");
    assert_eq!(call(&stranger, "launch_get_status").await, "RUN_NOT_FOUND");
    for tool in ["launch_resume", "launch_cancel", "launch_open_pr"] {
        assert_eq!(call(&stranger, tool).await, "FORBIDDEN", "{tool}");
    }
    let route = server.url_of(&format!("/launch/runs/{run}?project_id={}", scene.project));
    let (status, body) = send_json(with_key(http().get(&route), Some(&stranger))).await;
    assert_eq!((status.as_u16(), code(&body["error"])), (404, "RUN_NOT_FOUND"), "{body:#}");
    assert_eq!(call(&publisher, "launch_open_pr").await, "ok");
    assert_eq!(scene.published().len(), 1);
    // The log says who published, by the id of the key.
    let (events, stored) = log_and_snapshot(&scene, &run).await;
    for kind in ["PUBLISH_PREPARED", "PR_OPENED"] {
        let event = events.iter().find(|event| event.kind == kind).unwrap().to_json();
        assert_eq!(event["payload"]["principal"], format!("key:{publisher_id}"), "{event:#}");
    }
    assert_eq!(RunSnapshot::fold(&events).unwrap(), stored);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn routes_answer_what_the_tools_answer() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    let other = scene.start("bank").await;
    scene.result("launch_cancel", &other).await;
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let get = async |path: &str| -> Value {
        let url = server.url_of(&format!("/launch/runs{path}project_id={}", scene.project));
        http().get(url).send().await.unwrap().json().await.unwrap()
    };
    let status = get(&format!("/{run}?")).await;
    assert_eq!(status["result"]["status"], scene.status(&run).await, "{status:#}");
    assert_eq!(status["run_id"], run);
    let ids = |body: &Value| -> Vec<String> {
        let runs = body["result"]["runs"].as_array().unwrap_or_else(|| panic!("{body:#}")).iter();
        runs.map(|run| run["run_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&get("?").await).len(), 2);
    assert_eq!(ids(&get("?product_slug=bank&").await), std::slice::from_ref(&other));
    assert_eq!(ids(&get("?state=READY_FOR_PR&limit=1&").await), std::slice::from_ref(&run));
    let unknown = get("?state=ready&").await;
    assert_eq!(code(&unknown["error"]), "INVALID_INPUT", "{unknown:#}");
    let twice = get(&format!("/{run}?run_id={other}&")).await;
    assert_eq!(code(&twice["error"]), "INVALID_REQUEST", "{twice:#}");
    server.stop().await;
}
