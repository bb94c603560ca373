//! Runs and what they wrote as resources of MCP: listed where the toolset is named, read through the same gate as the tools.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use platform::sha256;
use serde_json::{Value, json};

use super::{Scene, workers};
use crate::serving::{Session, TestServer};
use crate::valid_arguments::ABSENT_RUN;

use crate::harness::modules;

const TEMPLATES: [&str; 2] = ["launch://{run_id}", "launch://{run_id}/{+artifact}"];

/// A session that names the toolset.
async fn open(server: &TestServer) -> Session {
    Session { url: server.url_of("/mcp/x/search,launch"), ..server.open("/mcp", None).await }
}

/// Reads a resource of a project.
async fn read(session: &Session, project: &str, named: &str) -> Value {
    let uri = format!("launch://{named}?project={project}");
    let mut answer = session.request(5, "resources/read", json!({ "uri": uri })).await;
    match answer["result"]["contents"].as_array() {
        Some(contents) => {
            assert_eq!((contents.len(), &contents[0]["uri"]), (1, &json!(uri)), "{answer:#}");
            contents[0].clone()
        }
        None => answer["error"].take(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_are_listed_where_the_toolset_is_named() {
    let scene = Scene::new().await;
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let (plain, named) = (server.open("/mcp", None).await, open(&server).await);
    for (session, offered) in [(&plain, false), (&named, true)] {
        let listed = session.request(3, "resources/templates/list", json!({})).await;
        let listed = listed["result"]["resourceTemplates"].as_array().unwrap().clone();
        for template in TEMPLATES {
            let is_listed = listed.iter().any(|one| one["uriTemplate"] == template);
            assert_eq!(is_listed, offered, "{template}: {listed:#?}");
        }
    }
    let reference = json!({ "type": "ref/resource", "uri": TEMPLATES[1] });
    let complete = json!({ "ref": reference, "argument": { "name": "artifact", "value": "p" } });
    let completed = named.request(4, "completion/complete", complete).await;
    assert_eq!(completed["result"]["completion"]["values"], json!([]), "{completed:#}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_and_its_artifacts_are_read_as_the_tools_answer_them() {
    let scene = Scene::new().await;
    let run = scene.ready("bulky").await;
    scene.result("launch_open_pr", &run).await;
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let session = open(&server).await;
    let status = read(&session, &scene.project, &run).await;
    assert_eq!(status["mimeType"], "application/json", "{status:#}");
    let status: Value = serde_json::from_str(status["text"].as_str().unwrap()).unwrap();
    assert_eq!(status, scene.status(&run).await);

    let plan = read(&session, &scene.project, &format!("{run}/page_plan.json")).await;
    assert_eq!(plan["text"], scene.artifact(&run, "page_plan.json").await, "{plan:#}");
    assert_eq!((&plan["mimeType"], &plan["_meta"]["truncated"]), (&json!("application/json"), &json!(false)));
    let evidence = read(&session, &scene.project, &format!("{run}/evidence.zip")).await;
    let bytes = STANDARD.decode(evidence["blob"].as_str().unwrap_or_else(|| panic!("{evidence:#}"))).unwrap();
    assert_eq!(evidence["mimeType"], "application/zip");
    if evidence["_meta"]["truncated"] == false {
        assert_eq!(evidence["_meta"]["sha256"], sha256::digest_hex(&bytes));
    }

    // A long one is cut, and says where to go on.
    let bulk = read(&session, &scene.project, &format!("{run}/bulk.md")).await;
    let (whole, part) = (workers::bulk(), bulk["text"].as_str().unwrap());
    assert!(part.len() <= 262_144 && whole.starts_with(part), "{} bytes", part.len());
    let meta = &bulk["_meta"];
    assert_eq!((&meta["truncated"], &meta["nextOffset"]), (&json!(true), &json!(part.len())), "{meta:#}");
    assert_eq!(
        (&meta["bytes"], &meta["sha256"]),
        (&json!(whole.len()), &json!(sha256::digest_hex(whole.as_bytes())))
    );
    assert!(meta["hint"].as_str().unwrap().contains("launch_get_artifact"), "{meta:#}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_or_not_a_name_is_refused_as_by_the_tools() {
    let (ours, theirs) = (Scene::new().await, Scene::new().await);
    let (run, their_run) = (ours.start("shop").await, theirs.ready("canary").await);
    let server = TestServer::over(ours.app.clone(), modules().tools()).await;
    let session = open(&server).await;
    for named in [their_run.clone(), format!("{their_run}/page_plan.json"), ABSENT_RUN.to_owned()] {
        let refused = read(&session, &ours.project, &named).await;
        assert_eq!(
            (&refused["code"], &refused["data"]["code"]),
            (&json!(-32002), &json!("RUN_NOT_FOUND")),
            "{named}: {refused:#}"
        );
        assert!(!refused.to_string().contains("canary"), "{refused:#}");
    }
    for name in ["../x", "%2e%2e/x", "none.json", "/etc/passwd"] {
        let refused = read(&session, &ours.project, &format!("{run}/{name}")).await;
        assert_eq!(
            (&refused["code"], &refused["data"]["code"]),
            (&json!(-32602), &json!("INVALID_INPUT")),
            "{name}: {refused:#}"
        );
        let known = &refused["data"]["details"]["available_artifacts"];
        assert_eq!(*known, json!(["run_config.json"]), "{name}: {refused:#}");
    }
    for named in ["", "nonsense", "..", "%zz"] {
        let refused = read(&session, &ours.project, named).await;
        assert_eq!(refused["code"], -32602, "{named}: {refused:#}");
    }
    server.stop().await;
}
