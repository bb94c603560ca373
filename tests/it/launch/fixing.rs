//! Issues are fixed one by one, in a fixed order, and runs give up where nothing helps.

use serde_json::{Value, json};

use super::{Scene, blockers, code};

/// Starts a run whose page of docs has two sentences without a source, and continues it to its validation.
async fn faulty(scene: &Scene, slug: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut config = scene.config(slug);
    change(&mut config);
    let run = scene.start_with(config).await;
    let status = scene.drive(&run).await;
    assert_eq!(
        (&status["state"], &status["last_report_ok"]),
        (&json!("VALIDATING"), &json!(false)),
        "{status:#}"
    );
    assert_eq!(status["section_states"], json!({ "docs": "BLOCKED", "kb": "DONE" }), "{status:#}");
    assert_eq!(blockers(&status).len(), 2, "{status:#}");
    run
}

#[tokio::test(flavor = "multi_thread")]
async fn each_call_fixes_the_next_issue() {
    let scene = Scene::new().await;
    let mut fixed = Vec::new();
    for _ in 0..2 {
        let run = faulty(&scene, "faulty", |_| {}).await;
        let open = blockers(&scene.status(&run).await);
        assert!(open.iter().all(|issue| issue["code"] == "uncited_line"), "{open:?}");
        let first = scene.result("launch_fix_next", &run).await;
        assert_eq!(first["fixed_issue_id"], open[0]["issue_id"], "the first of the list: {first:#}");
        assert_eq!(
            first["applied_patch_ids"],
            json!([format!("fix-{}", open[0]["issue_id"].as_str().unwrap())])
        );
        assert_eq!((&first["state"], &first["remaining_blockers"]), (&json!("VALIDATING"), &json!(1)));
        let second = scene.result("launch_fix_next", &run).await;
        assert_eq!(second["fixed_issue_id"], open[1]["issue_id"], "{second:#}");
        assert_eq!(
            (&second["state"], &second["validation_report"]["ok"]),
            (&json!("READY_FOR_PR"), &json!(true))
        );
        let refused = scene.error("launch_fix_next", &run).await;
        assert_eq!(code(&refused), "ILLEGAL_STATE", "nothing is left to fix: {refused:#}");
        let opened = scene.result("launch_open_pr", &run).await;
        let page = scene
            .site_git(&["show", &format!("{}:content/docs/docs.md", opened["branch"].as_str().unwrap())]);
        assert!(
            page.contains("Counts coins") && !page.contains("fastest") && !page.contains("never"),
            "{page}"
        );
        fixed.push((first["fixed_issue_id"].clone(), second["fixed_issue_id"].clone()));
    }
    assert_eq!(fixed[0], fixed[1], "in the same order");
}

#[tokio::test(flavor = "multi_thread")]
async fn issues_are_fixed_without_calls_if_the_operator_wants_that() {
    let scene = Scene::with(|config| config.launch.auto_fix = true).await;
    let run = scene.ready("faulty").await;
    let status = scene.status(&run).await;
    assert_eq!((&status["fix_attempts"], &status["max_fix_attempts"]), (&json!(2), &json!(3)), "{status:#}");
}

/// Checks that a run gave up for this reason, and that it says so.
async fn assert_exhausted(scene: &Scene, run: &str, reason: &str) {
    let refused = scene.error("launch_fix_next", run).await;
    assert_eq!((code(&refused), &refused["retryable"]), ("FIX_EXHAUSTED", &json!(false)), "{refused:#}");
    assert_eq!(refused["details"]["reason"], reason, "{refused:#}");
    let status = scene.status(run).await;
    assert_eq!((&status["state"], &status["failure"]["code"]), (&json!("FAILED"), &json!("FIX_EXHAUSTED")));
    let summary = scene.artifact(run, "reports/failure_summary.md").await;
    assert!(summary.contains("FIX_EXHAUSTED") && summary.contains("content/docs/docs.md"), "{summary}");
    for tool in ["launch_fix_next", "launch_resume", "launch_validate", "launch_open_pr"] {
        let refused = scene.error(tool, run).await;
        assert_eq!(
            (code(&refused), &refused["retryable"]),
            ("ILLEGAL_STATE", &json!(false)),
            "{tool}: {refused:#}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_attempts_gives_up_at_once() {
    let scene = Scene::new().await;
    let run = faulty(&scene, "faulty", |config| config["max_fix_attempts"] = 0.into()).await;
    assert_exhausted(&scene, &run, "max_fix_attempts").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_are_counted_over_calls() {
    let scene = Scene::new().await;
    let run = faulty(&scene, "faulty", |config| config["max_fix_attempts"] = 1.into()).await;
    let first = scene.result("launch_fix_next", &run).await;
    assert_eq!(first["remaining_blockers"], 1, "{first:#}");
    assert_exhausted(&scene, &run, "max_fix_attempts").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fix_that_changes_nothing_is_the_last() {
    let scene = Scene::new().await;
    let run = faulty(&scene, "stubborn", |_| {}).await;
    assert_exhausted(&scene, &run, "no_change").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fix_that_breaks_something_else_is_the_last() {
    let scene = Scene::new().await;
    let run = faulty(&scene, "twisted", |_| {}).await;
    assert_exhausted(&scene, &run, "new_blocker").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_fails_fails_the_run() {
    let scene = Scene::new().await;
    let run = scene.start("broken").await;
    let status = scene.drive(&run).await;
    assert_eq!(
        (&status["state"], &status["failure"]["code"]),
        (&json!("FAILED"), &json!("URL_COLLISION")),
        "{status:#}"
    );
    let summary = scene.artifact(&run, "reports/failure_summary.md").await;
    assert!(summary.contains("Two pages have one address."), "{summary}");
}
