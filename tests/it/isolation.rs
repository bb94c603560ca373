//! Projects never see each other, whichever tool is called; first use makes exactly one workspace.

mod answers;
mod lying;
mod planted;
mod privileges;
mod together;

use serde_json::{Value, json};

use crate::harness::{Repository, app, app_with, call, project, result};
use pairofcleats::tools::LIST;

/// Arguments for each tool that would show another project's data if anything could.
fn arguments(tool: &str, project: &str, repository: &str, finding: &str) -> Option<Value> {
    Some(match tool {
        "search" => json!({ "query": "canary", "project_id": project, "output": "full", "top": 50 }),
        "search_code" => json!({ "query": "canary", "project_id": project, "limit": 50 }),
        "show_file" => json!({ "path": "canary.py", "project_id": project }),
        "index_repository" => json!({ "repo_path": repository, "project_id": project }),
        "build_index" | "index_build" => json!({ "repoPath": repository, "project_id": project }),
        "index_status" | "check_status" => json!({ "project_id": project }),
        "workspace_status" | "config_status" => json!({ "project_id": project }),
        "build_sqlite_index" | "compact_sqlite_index" => json!({ "project_id": project }),
        "report_artifacts" => json!({ "project_id": project, "repoPath": repository }),
        "cache_gc" => json!({ "project_id": project, "maxAgeDays": 0, "dryRun": true }),
        "clean_artifacts" => json!({ "project_id": project, "all": true, "dryRun": true }),
        "triage_ingest" => {
            json!({ "source": "manual", "payload": [{ "title": "canary" }], "project_id": project })
        }
        "download_dictionaries" => json!({ "lang": "", "dir": dictionaries(), "project_id": project }),
        "download_extensions" | "verify_extensions" => json!({ "provider": "pgvector" }),
        "bootstrap" => {
            json!({ "project_id": project, "repoPath": repository, "skipInstall": true, "skipDicts": true })
        }
        "download_models" => json!({ "project_id": project }),
        "triage_decision" => json!({ "finding": finding, "status": "fix", "project_id": project }),
        "triage_context_pack" => json!({ "recordId": finding, "project_id": project }),
        _ => return None,
    })
}

/// A folder of nobody's.
fn dictionaries() -> String {
    format!("{}/isolated-words-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id())
}

/// The tools this test does not cover; it stays empty.
const UNCOVERED: &[&str] = &[];

#[tokio::test(flavor = "multi_thread")]
async fn no_tool_shows_another_projects_data() {
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
    let decided =
        json!({ "finding": finding, "status": "fix", "justification": "yellow", "project_id": theirs });
    result(&app, "triage_decision", decided).await;
    for tool in LIST {
        let Some(arguments) = arguments(tool.name, &ours, &our_repository.root(), &finding) else {
            assert!(UNCOVERED.contains(&tool.name), "{} has no isolation test", tool.name);
            continue;
        };
        let text = call(&app, tool.name, arguments).await.to_string();
        assert!(!text.contains("theirs"), "{} shows the other project: {text}", tool.name);
        assert!(!text.contains("yellow"), "{} shows the other project: {text}", tool.name);
        assert!(!text.contains(&their_repository.root()), "{} shows the other project: {text}", tool.name);
    }
    let found = result(&app, "search_code", json!({ "query": "canary", "project_id": ours })).await;
    assert_eq!(found["results"][0]["file_path"], "canary.py", "the test can see its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_use_storm_makes_one_workspace() {
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
