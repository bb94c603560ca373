//! No tool returns another project's data, and the first use of a project makes exactly one workspace.

mod answers;
mod concurrent;
mod privileges;
mod tenants;
mod wrong_lookups;

use serde_json::json;

use crate::harness::{Repository, app, app_with, call, modules, project, result};
use crate::valid_arguments::ToolSubject;

#[tokio::test(flavor = "multi_thread")]
async fn no_tool_returns_another_projects_data() {
    let app = app();
    let (ours, theirs) = (project("ours"), project("theirs"));
    let our_repository = Repository::new(&[("canary.py", "def canary_of_ours():\n    return 'blue'\n")]);
    let their_repository =
        Repository::new(&[("canary.py", "def canary_of_theirs():\n    return 'yellow'\n")]);
    for (project, repository) in [(&ours, &our_repository), (&theirs, &their_repository)] {
        result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    }
    // A finding of the same id in both, and a decision about theirs.
    let mut finding = String::new();
    for (project, colour) in [(&ours, "blue"), (&theirs, "yellow")] {
        let report = json!([{ "stableKey": "canary", "title": format!("canary is {colour}"), "package": { "name": "canary" } }]);
        let ingested = json!({ "source": "manual", "payload": report, "project_id": project });
        let ingested = result(&app, "triage_ingest", ingested).await;
        ingested["recordIds"][0].as_str().unwrap().clone_into(&mut finding);
    }
    let decision =
        json!({ "finding": finding, "status": "fix", "justification": "yellow", "project_id": theirs });
    result(&app, "triage_decision", decision).await;
    for (project, colour) in [(&ours, "blue"), (&theirs, "yellow")] {
        let entry = crate::instructions::entry("canary", &format!("The canary is {colour}."));
        crate::instructions::import(&app, project, &[entry], json!({})).await;
    }
    let root = our_repository.root();
    let subject =
        ToolSubject { project: &ours, root: &root, file: "canary.py", word: "canary", finding: &finding };
    for tool in modules().list_of_tools() {
        let text = call(&app, tool.name, subject.arguments(tool.name)).await.to_string();
        assert!(!text.contains("theirs"), "{} shows the other project: {text}", tool.name);
        assert!(!text.contains("yellow"), "{} shows the other project: {text}", tool.name);
        assert!(!text.contains(&their_repository.root()), "{} shows the other project: {text}", tool.name);
    }
    let found = result(&app, "search_code", json!({ "query": "canary", "project_id": ours })).await;
    assert_eq!(found["results"][0]["file_path"], "canary.py", "the project sees its own data");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_first_uses_make_one_workspace() {
    let (app, other) = (app(), app_with(|config| config.queue.index_running = 64));
    let project = project("storm");
    let repository = Repository::new(&[("a.py", "def storm():\n    return 1\n")]);
    let calls = (0..24).map(|number| {
        let app = if number % 2 == 0 { &app } else { &other };
        result(app, "index_repository", json!({ "repo_path": repository.root(), "project_id": project }))
    });
    let answers = futures::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer["repository_id"] == answers[0]["repository_id"]));
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"].as_array().unwrap().len(), 1, "{status:#}");
    assert_eq!(status["chunks"], 1, "{status:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn searching_makes_no_workspace() {
    let (app, project) = (app(), project("typo"));
    let error =
        crate::harness::error(&app, "search_code", json!({ "query": "x", "project_id": project })).await;
    assert_eq!(error["code"], "NO_INDEX");
    assert!(error["hint"].as_str().unwrap().contains("build_index"), "{error:#}");
    let status = result(&app, "workspace_status", json!({})).await;
    assert!(!status.to_string().contains(&project), "{status:#}");
}
