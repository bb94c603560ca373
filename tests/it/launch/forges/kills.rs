//! A process that dies between two steps on a forge: the next one finds what it left, and there is one branch and one pull request.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use contract::config::{ForgeKind, LaunchForge};
use serde_json::json;

use super::super::{OLD_PAGE, app_for, patiently, push};
use super::{ForgeScene, use_forge};
use crate::harness::{call, home};

/// Names the run that the process below publishes, and the settings of the forge.
const CHILD: &str = "PAIROFCLEATS_TEST_FORGE_RUN";

/// Publishes a run in a process of its own, because a failpoint ends the process. Not a test by itself.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the test below runs it in a process of its own"]
#[expect(clippy::disallowed_methods, reason = "a test passes its run on")]
async fn publish_a_run_in_a_process_of_its_own() {
    let Ok(named) = std::env::var(CHILD) else { return };
    let (home, project, site, run, forge): (String, String, String, String, LaunchForge) =
        serde_json::from_str(&named).unwrap();
    let app = app_for(Path::new(&home), &project, Path::new(&site), |config| use_forge(config, &forge));
    let opened = call(&app, "launch_open_pr", json!({ "run_id": run, "project_id": project })).await;
    assert_eq!(opened["ok"], true, "{opened:#}");
}

async fn publish_elsewhere(it: &ForgeScene, run: &str, failpoint: &str) -> Output {
    let site = it.scene.site.path().to_str().unwrap();
    let named = json!([home().to_str().unwrap(), it.scene.project, site, run, it.forge.settings()]);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--ignored",
        "--exact",
        "launch::forges::kills::publish_a_run_in_a_process_of_its_own",
        "--nocapture",
    ]);
    command.env(CHILD, named.to_string()).env("PAIROFCLEATS_FAILPOINT", failpoint).stdin(Stdio::null());
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_between_two_steps_on_a_forge_leaves_one_pull_request() {
    let of_kind: [(ForgeKind, &[&str]); 2] = [
        (
            ForgeKind::Github,
            &["launch.forge_objects", "launch.forge_commit", "launch.forge_branch", "launch.forge_pull"],
        ),
        (ForgeKind::Gitlab, &["launch.forge_branch", "launch.forge_pull"]),
    ];
    let mut visited = Vec::new();
    for (kind, failpoints) in of_kind {
        let it = ForgeScene::new(kind).await;
        for failpoint in failpoints {
            let (run, branch) = it.ready().await;
            // People push to another page before the run is published, and again after the death.
            let push_page = |text: &str| {
                push(&it.forge.repository(), |work| {
                    std::fs::write(work.join(OLD_PAGE), format!("# Old\n\n{text}\n")).unwrap()
                });
                it.fetch();
            };
            push_page(&format!("Before {failpoint}."));
            let output = publish_elsewhere(&it, &run, failpoint).await;
            assert!(
                output.status.signal().is_some(),
                "{failpoint} was not reached: {} {}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            push_page(&format!("After {failpoint}."));
            let refused = it.scene.error("launch_cancel", &run).await;
            assert_eq!(
                (&refused["code"], &refused["retryable"]),
                (&json!("ILLEGAL_STATE"), &json!(true)),
                "{failpoint}: {refused:#}"
            );
            let before = it.forge.pulls().len();
            let was_opened = it.forge.pulls().iter().any(|pull| pull.branch == branch);
            assert_eq!(was_opened, failpoint.ends_with("pull"), "{failpoint}");
            let opened = patiently(&it.scene.app, &it.scene.project, "launch_open_pr", &run).await;
            it.assert_published_once(&run, &opened);
            assert_eq!(it.forge.pulls().len(), if was_opened { before } else { before + 1 }, "{failpoint}");
            let posts = it.forge.take_requests();
            let posts =
                posts.iter().filter(|request| request.posts("/pulls") || request.posts("/merge_requests"));
            assert_eq!(posts.count(), 1, "{failpoint}: the pull request is opened once");
            visited.push(*failpoint);
        }
    }
    let all = platform::failpoints::ALL.iter().filter(|name| name.starts_with("launch.forge_"));
    for failpoint in all {
        assert!(visited.contains(failpoint), "{failpoint} belongs to no test");
    }
}
