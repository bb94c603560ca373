//! Whole runs: from the repository to a branch of the site.

use std::path::Path;

use launch::event::{LogHead, verify_chain};
use launch::snapshot::RunSnapshot;
use serde_json::{Value, json};

use super::events::log_and_snapshot;
use super::{OLD_PAGE, README, Scene, blockers, code, hashes, push};
use crate::harness::{commit_all, git};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_as_a_branch_whose_sentences_are_proved() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    assert!(scene.published().is_empty(), "nothing is published without a request");
    let opened = scene.result("launch_open_pr", &run).await;
    let branch = format!("launch/{run}/shop");
    assert_eq!((&opened["branch"], &opened["state"]), (&json!(branch), &json!("DONE")), "{opened:#}");
    assert_eq!(opened["pr_url"], format!("/launch/runs/{run}"));
    assert_eq!(scene.published(), std::slice::from_ref(&branch));
    assert_eq!(scene.site_git(&["rev-parse", &branch]).trim(), opened["commit_sha"]);
    // The base did not move, the diff lies within the allowed paths, and git finds no fault with the objects.
    let changed = scene.site_git(&["diff", "--name-status", "main", &branch]);
    assert_eq!(changed, "A\tcontent/docs/docs.md\nA\tcontent/docs/kb.md\n");
    scene.site_git(&["fsck", "--strict"]);
    let message = scene.site_git(&["log", "-1", "--format=%B", &branch]);
    assert!(message.contains(&format!("Launch-Run: {run}")), "{message}");
    // Each sentence with a mark cites a line that says it.
    let facts: Value = serde_json::from_str(&scene.artifact(&run, "product_facts.json").await).unwrap();
    let mut proved = 0;
    for page in ["docs", "kb"] {
        let text = scene.site_git(&["show", &format!("{branch}:content/docs/{page}.md")]);
        for line in text.lines().filter(|line| line.contains("<!-- claim_id:")) {
            let claims = facts["claims"].as_array().unwrap();
            let claim =
                claims.iter().find(|claim| line.contains(claim["claim_id"].as_str().unwrap())).unwrap();
            let cited = usize::try_from(claim["citations"][0]["start_line"].as_u64().unwrap()).unwrap();
            assert!(line.starts_with(README.lines().nth(cited - 1).unwrap()), "{line}");
            proved += 1;
        }
    }
    assert_eq!(proved, 2);
    let status = scene.status(&run).await;
    assert_eq!(status["section_states"], json!({ "docs": "DONE", "kb": "DONE" }), "{status:#}");
    assert!(blockers(&status).is_empty(), "{status:#}");
    assert!(status["finished_at"].is_string() && status["next"].as_array().unwrap().is_empty(), "{status:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_inputs_give_equal_artifacts() {
    let scene = Scene::new().await;
    let mut runs = Vec::new();
    for _ in 0..2 {
        let run = scene.ready("shop").await;
        runs.push(hashes(&scene.status(&run).await));
    }
    assert!(runs[0].contains_key("validation_report.json") && runs[0].len() > 9, "{runs:?}");
    assert_eq!(runs[0], runs[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_twice_answers_the_same() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    let first = scene.result("launch_open_pr", &run).await;
    // Even if the branch was merged and deleted meanwhile.
    git(scene.site.path(), &["branch", "--delete", "--force", first["branch"].as_str().unwrap()]);
    assert_eq!(scene.result("launch_open_pr", &run).await, first);
    assert!(scene.published().is_empty(), "nothing is published again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_an_earlier_attempt_left_is_used() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    let opened = scene.result("launch_open_pr", &run).await;
    let branch = opened["branch"].as_str().unwrap();
    // The state that a process leaves if it dies after it made the branch of another run with the same pages.
    let other = scene.ready("shop").await;
    git(scene.site.path(), &["branch", &format!("launch/{other}/shop"), branch]);
    let reused = scene.result("launch_open_pr", &other).await;
    assert_eq!(reused["commit_sha"], opened["commit_sha"], "{reused:#}");
    // A branch with different content is not ours.
    let third = scene.ready("shop").await;
    git(scene.site.path(), &["branch", &format!("launch/{third}/shop"), "main"]);
    let refused = scene.error("launch_open_pr", &third).await;
    assert_eq!(
        (code(&refused), &refused["retryable"]),
        ("COMMIT_SERVICE_ERROR", &json!(false)),
        "{refused:#}"
    );
    assert_eq!(scene.status(&third).await["state"], "READY_FOR_PR", "it may be tried again");
    git(scene.site.path(), &["branch", "--delete", "--force", &format!("launch/{third}/shop")]);
    scene.result("launch_open_pr", &third).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflicting_branch_is_reported() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    for is_packed in [false, true] {
        git(scene.site.path(), &["branch", "launch", "main"]);
        if is_packed {
            git(scene.site.path(), &["pack-refs", "--all"]);
        }
        let refused = scene.error("launch_open_pr", &run).await;
        assert_eq!(
            (code(&refused), &refused["retryable"]),
            ("COMMIT_SERVICE_ERROR", &json!(false)),
            "packed: {is_packed}: {refused:#}"
        );
        assert_eq!(refused["details"]["conflicting_branch"], "launch", "{refused:#}");
        git(scene.site.path(), &["branch", "--delete", "--force", "launch"]);
    }
    scene.result("launch_open_pr", &run).await;
    assert_eq!(scene.published().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_where_the_base_moved_to() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    push(scene.site.path(), |work| std::fs::write(work.join(OLD_PAGE), "# Old\n\nChanged.\n").unwrap());
    let head = scene.site_git(&["rev-parse", "main"]).trim().to_owned();
    let opened = scene.result("launch_open_pr", &run).await;
    let branch = opened["branch"].as_str().unwrap();
    assert_eq!(scene.site_git(&["rev-parse", &format!("{branch}^")]).trim(), head, "it follows the new head");
    let changed = scene.site_git(&["diff", "--name-status", "main", branch]);
    assert_eq!(changed, "A\tcontent/docs/docs.md\nA\tcontent/docs/kb.md\n", "what people changed stays");
    scene.site_git(&["fsck", "--strict"]);
    let (events, stored) = log_and_snapshot(&scene, &run).await;
    verify_chain(LogHead::EMPTY, &events).unwrap();
    assert_eq!(RunSnapshot::fold(&events).unwrap(), stored);
    assert_eq!(stored.created.site_sha, head);
    let rebased = events.iter().filter(|event| event.kind == "SITE_REBASED").count();
    assert_eq!(rebased, 1, "and the log says so");
    let document: Value = serde_json::from_str(&scene.artifact(&run, "pr.json").await).unwrap();
    assert_eq!(document["base_ref"], head, "{document:#}");
    assert_eq!(scene.result("launch_validate", &run).await["validation_report"]["ok"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_on_which_the_pages_do_not_fit_is_not_published_on() {
    type Change = fn(&Path);
    let cases: [(&str, Change); 3] = [
        ("content/docs/docs.md", |work| {
            std::fs::write(work.join("content/docs/docs.md"), "# Mine\n").unwrap()
        }),
        ("content/docs/Docs.md", |work| {
            std::fs::write(work.join("content/docs/Docs.md"), "# Mine\n").unwrap()
        }),
        ("content/docs", |work| {
            std::fs::remove_dir_all(work.join("content/docs")).unwrap();
            std::fs::write(work.join("content/docs"), "a file").unwrap();
        }),
    ];
    for (conflict, change) in cases {
        let scene = Scene::new().await;
        let run = scene.ready("shop").await;
        push(scene.site.path(), change);
        let refused = scene.error("launch_open_pr", &run).await;
        assert_eq!(
            (code(&refused), &refused["retryable"]),
            ("COMMIT_SERVICE_ERROR", &json!(false)),
            "{conflict}: {refused:#}"
        );
        assert!(refused["details"]["conflicts"].to_string().contains(conflict), "{conflict}: {refused:#}");
        assert!(refused["hint"].as_str().unwrap().contains("start another one"), "{refused:#}");
        assert!(scene.published().is_empty(), "{conflict}");
        assert_eq!(scene.status(&run).await["state"], "READY_FOR_PR");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_outside_of_the_allowed_paths_are_refused() {
    let scene = Scene::new().await;
    let run = scene.start("loose").await;
    let status = scene.drive(&run).await;
    assert_eq!(
        (&status["state"], &status["failure"]["code"]),
        (&json!("FAILED"), &json!("ALLOWED_PATHS_VIOLATION"))
    );
    assert_eq!(status["failure"]["details"]["path"], "content/docs-x/docs.md", "{status:#}");
    assert!(scene.published().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_on_the_way_is_refused() {
    let scene = Scene::new().await;
    push(scene.site.path(), |work| {
        std::fs::create_dir_all(work.join("layouts")).unwrap();
        std::fs::write(work.join("layouts/a.html"), "x").unwrap();
        std::os::unix::fs::symlink("../../layouts/a.html", work.join("content/docs/kb.md")).unwrap();
    });
    let run = scene.start("shop").await;
    let status = scene.drive(&run).await;
    assert_eq!(status["failure"]["code"], "ALLOWED_PATHS_VIOLATION", "{status:#}");
    assert_eq!(status["failure"]["details"]["path"], "content/docs/kb.md", "{status:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_validation_that_fails_takes_the_run_back() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    let same = scene.result("launch_validate", &run).await;
    assert_eq!((&same["state"], &same["validation_report"]["ok"]), (&json!("READY_FOR_PR"), &json!(true)));
    scene.repository.write("README.md", "Counts notes.\nKeeps a list of sales.\n");
    commit_all(scene.repository.path());
    scene.index().await;
    let validated = scene.result("launch_validate", &run).await;
    assert_eq!(validated["state"], "VALIDATING", "{validated:#}");
    let issues = validated["validation_report"]["issues"].as_array().unwrap();
    for code in ["inputs_moved", "stale_citation"] {
        assert!(issues.iter().any(|issue| issue["code"] == code), "{code}: {validated:#}");
    }
    let refused = scene.error("launch_open_pr", &run).await;
    assert_eq!(code(&refused), "ILLEGAL_STATE");
    assert_eq!(
        (&refused["details"]["current_state"], &refused["details"]["last_report_ok"]),
        (&json!("VALIDATING"), &json!(false))
    );
    assert!(scene.published().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_run_is_checked_again_without_a_change() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    scene.result("launch_open_pr", &run).await;
    let before = scene.status(&run).await;
    scene.repository.write("README.md", "Counts notes.\nKeeps a list of sales.\n");
    commit_all(scene.repository.path());
    scene.index().await;
    let checked = scene.result("launch_validate", &run).await;
    assert_eq!(
        (&checked["state"], &checked["validation_report"]["ok"]),
        (&json!("DONE"), &json!(false)),
        "{checked:#}"
    );
    let after = scene.status(&run).await;
    assert_eq!((&after["artifacts"], &after["updated_at"]), (&before["artifacts"], &before["updated_at"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_objects_of_the_site_are_reported() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    // Objects without a reference may be removed at any time.
    git(scene.site.path(), &["prune", "--expire", "now"]);
    for tool in ["launch_validate", "launch_open_pr"] {
        // A report of unchanged inputs is not made again, so the site has to look changed.
        if tool == "launch_validate" {
            scene.repository.write("notes.md", "# Notes\n");
            commit_all(scene.repository.path());
            scene.index().await;
        }
        let refused = scene.error(tool, &run).await;
        assert_eq!(
            (code(&refused), &refused["retryable"]),
            ("ILLEGAL_STATE", &json!(false)),
            "{tool}: {refused:#}"
        );
        assert_eq!(refused["details"]["worktree_missing"], true, "{tool}: {refused:#}");
    }
}
