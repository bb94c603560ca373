//! A run whose repository is not indexed at its commit waits without holding a job, and goes on by itself.

use serde_json::json;

use super::{Scene, code};
use crate::harness::{commit_all, error, git, git_output, new_home};
use crate::models::wait_for;
use crate::upkeep::query_number;

/// Commits something that is not indexed.
fn commit_more(scene: &Scene) -> String {
    scene.repository.write("till.py", "def till():\n    return []\n");
    commit_all(scene.repository.path());
    git_output(scene.repository.path(), &["rev-parse", "HEAD"]).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_for_the_index_and_goes_on_with_it() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let head = commit_more(&scene);
    let mut config = scene.config("shop");
    config["github_ref"] = head.as_str().into();
    let run = scene.start_with(config).await;
    let waiting = scene.result("launch_resume", &run).await["status"].take();
    assert_eq!(waiting["state"], "CREATED", "{waiting:#}");
    assert!(waiting["pending"].as_str().is_some_and(|reason| reason.contains(&head)), "{waiting:#}");
    let held = format!(
        "SELECT count(*) FROM pairofcleats.jobs WHERE subject = '{run}' AND state IN ('queued', 'running')"
    );
    assert_eq!(query_number(&held).await, 0, "it holds no job while it waits");
    scene.index().await;
    let status = scene.drive(&run).await;
    assert_eq!(status["state"], "READY_FOR_PR", "{status:#}");
    assert_eq!((&status["repo_sha"], status.get("pending")), (&json!(head), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_is_not_checked_out_is_no_input() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let mut config = scene.config("shop");
    config["github_ref"] = "0123456789012345678901234567890123456789".into();
    let arguments = json!({ "run_config": config, "project_id": scene.project });
    let refused = error(&scene.app, "launch_start_run", arguments).await;
    assert_eq!(code(&refused), "INVALID_INPUT", "{refused:#}");
    assert_eq!(refused["details"]["field"], "github_ref", "{refused:#}");
    // A commit that was checked out when the run was started, and is not when the run comes to it.
    let first = git_output(scene.repository.path(), &["rev-parse", "HEAD"]);
    let mut config = scene.config("shop");
    config["github_ref"] = commit_more(&scene).into();
    let run = scene.start_with(config).await;
    git(scene.repository.path(), &["checkout", "--quiet", first.trim()]);
    let status = scene.drive(&run).await;
    assert_eq!(
        (&status["state"], &status["failure"]["code"]),
        (&json!("FAILED"), &json!("INPUTS_MOVED")),
        "{status:#}"
    );
    let live = format!(
        "SELECT count(*) FROM pairofcleats.jobs WHERE project_id = '{}' AND kind = 'index' AND state IN ('queued', 'running')",
        scene.project
    );
    assert_eq!(query_number(&live).await, 0, "starting runs has nothing indexed that is not checked out");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_indexes_and_advances_at_the_same_time() {
    // A database of its own, so that no server of another test takes the jobs.
    let home = new_home("launch-server");
    let scene = Scene::in_home(&home, |config| config.launch.running_max = 2).await;
    scene.app.start_background();
    let head = commit_more(&scene);
    let mut config = scene.config("shop");
    config["github_ref"] = head.as_str().into();
    let waiting = scene.start_with(config).await;
    let ready = scene.start("shop").await;
    wait_for("the run that waits for the index", async || {
        let status = scene.status(&waiting).await;
        assert_ne!(status["state"], "FAILED", "{status:#}");
        status["state"] == "READY_FOR_PR"
    })
    .await;
    // The second run is pinned to the commit that was indexed first, so it may have become impossible.
    wait_for("the run of the first commit", async || {
        let status = scene.status(&ready).await;
        if status["state"] == "FAILED" {
            assert_eq!(status["failure"]["code"], "INPUTS_MOVED", "{status:#}");
        }
        ["READY_FOR_PR", "FAILED"].iter().any(|state| status["state"] == *state)
    })
    .await;
    scene.app.shutdown.cancel();
    scene.app.wait_stopped().await;
}
