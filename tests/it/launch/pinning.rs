//! A run says only what its commit has, wherever the index is by now.

use serde_json::{Value, json};

use super::{README, Scene, code, workers};
use crate::harness::{commit_all, git};
use crate::upkeep::{query_number, schema};

/// The codes of the issues of a validation.
fn codes(validated: &Value) -> Vec<&str> {
    let issues = validated["validation_report"]["issues"].as_array().unwrap().iter();
    issues.map(|issue| issue["code"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_read_of_another_commit() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let run = scene.start("shop").await;
    let planned = scene.result("launch_resume", &run).await;
    assert_eq!(planned["status"]["state"], "PLAN_READY", "{planned:#}");
    scene.repository.write("README.md", "Counts notes.\nKeeps a list of sales.\n");
    commit_all(scene.repository.path());
    scene.index().await;
    let status = scene.drive(&run).await;
    assert_eq!(
        (&status["state"], &status["failure"]["code"]),
        (&json!("FAILED"), &json!("INPUTS_MOVED")),
        "{status:#}"
    );
    assert_eq!(status["failure"]["details"]["wanted"], status["repo_sha"], "{status:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn uncommitted_edits_are_not_evidence() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    scene.repository.write("README.md", &format!("{README}Flies to the moon.\n"));
    scene.index().await;
    let run = scene.start("shop").await;
    let status = scene.drive(&run).await;
    assert_eq!(status["failure"]["code"], "NO_CLAIMS", "{status:#}");
    let facts: Value = serde_json::from_str(&scene.artifact(&run, "product_facts.json").await).unwrap();
    assert_eq!(facts["claims"], json!([]), "{facts:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_validation_over_uncommitted_edits_says_so() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    // The cited lines stay; who knows why the others changed.
    scene.repository.write("README.md", &format!("{README}Flies to the moon.\n"));
    scene.index().await;
    let edited = scene.result("launch_validate", &run).await;
    assert_eq!((&edited["state"], &edited["validation_report"]["ok"]), (&json!("VALIDATING"), &json!(false)));
    assert!(codes(&edited).contains(&"uncommitted_changes"), "{edited:#}");
    git(scene.repository.path(), &["checkout", "--quiet", "README.md"]);
    scene.index().await;
    let clean = scene.result("launch_validate", &run).await;
    assert_eq!((&clean["state"], &clean["validation_report"]["ok"]), (&json!("READY_FOR_PR"), &json!(true)));
    assert!(!codes(&clean).contains(&"uncommitted_changes"), "{clean:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_still_holds_elsewhere_is_not_proved_for_its_commit() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    // No cited line changes.
    scene.repository.write("till.py", "def till():\n    return []\n");
    commit_all(scene.repository.path());
    scene.index().await;
    let validated = scene.result("launch_validate", &run).await;
    assert_eq!((&validated["state"], codes(&validated)[0]), (&json!("VALIDATING"), "inputs_moved"));
    let refused = scene.error("launch_fix_next", &run).await;
    assert_eq!(code(&refused), "ILLEGAL_STATE", "{refused:#}");
    assert_eq!(refused["details"]["cause_class"], "INPUTS_MOVED", "{refused:#}");
    assert_eq!(scene.status(&run).await["state"], "VALIDATING", "nothing is lost");
    let pinned = scene.status(&run).await["repo_sha"].as_str().unwrap().to_owned();
    git(scene.repository.path(), &["checkout", "--quiet", &pinned]);
    scene.index().await;
    let back = scene.result("launch_validate", &run).await;
    assert_eq!((&back["state"], &back["validation_report"]["ok"]), (&json!("READY_FOR_PR"), &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gates_run_again_only_if_something_changed() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    let items = format!("{}.launch_items", schema(&scene.project));
    let count = format!("SELECT count(*) FROM {items} WHERE run_id = '{run}' AND worker = 'validate'");
    let validate = async || -> (i64, Value) {
        let mut validated = scene.result("launch_validate", &run).await;
        (query_number(&count).await, validated["validation_report"].take())
    };
    assert_eq!(query_number(&count).await, 1);
    let first = validate().await;
    assert_eq!(
        (first.0, validate().await),
        (1, first.clone()),
        "nothing changed since the run was validated"
    );
    // No cited line changes, and the commit is the same.
    scene.repository.write("notes.md", "# Notes\n");
    scene.index().await;
    let edited = validate().await;
    assert_eq!(edited.0, 2, "the index changed: {:#}", edited.1);
    assert_eq!(validate().await, edited, "and not since");
}

#[tokio::test(flavor = "multi_thread")]
async fn items_are_not_repeated_because_the_index_moves() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let run = scene.start("slow-pinned").await;
    let working = scene.begin_plan(&run, "slow-pinned").await;
    scene.repository.write("notes.md", "# Notes\n");
    scene.index().await;
    workers::finish_plan("slow-pinned");
    let planned = working.await.unwrap();
    assert_eq!(planned["result"]["status"]["state"], "PLAN_READY", "{planned:#}");
    let items = format!("{}.launch_items", schema(&scene.project));
    let repeated = format!("SELECT count(*) FROM {items} WHERE run_id = '{run}' AND attempt > 1");
    assert_eq!(query_number(&repeated).await, 0, "each item was done once");
}
