//! When a process dies between two steps of a run, another one ends the run: with the same artifacts, a whole log, and one branch.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use futures::stream::{StreamExt, iter};
use serde_json::{Value, json};

use super::{OLD_PAGE, Scene, app_for, drive, hashes, patiently, push};
use crate::harness::{home, result};

/// Names the run that the process below advances: home, project, site, run.
const CHILD: &str = "PAIROFCLEATS_TEST_LAUNCH_RUN";
/// Separator between these names.
const SEPARATOR: char = '\u{1f}';
/// Maximum number of deaths of a run; it has fewer steps.
const STEPS_MAX: usize = 80;
/// Runs that are killed at the same time.
pub(super) const CONCURRENT: usize = 4;

/// Advances a run to its end in a process of its own, because a failpoint ends the process. Not a test by itself.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the tests below run it in a process of its own"]
#[expect(clippy::disallowed_methods, reason = "a test passes its run on")]
async fn advance_a_run_in_a_process_of_its_own() {
    let Ok(named) = std::env::var(CHILD) else { return };
    let [home, project, site, run] = named.split(SEPARATOR).collect::<Vec<_>>()[..] else {
        panic!("{named}")
    };
    let app = app_for(Path::new(home), project, Path::new(site), |config| config.launch.auto_fix = true);
    let named = json!({ "run_id": run, "project_id": project });
    let before = result(&app, "launch_get_status", named).await["status"].take();
    if before["state"] == "DONE" {
        return;
    }
    let status = drive(&app, project, run).await;
    let is_ready = ["READY_FOR_PR", "DONE"].iter().any(|state| status["state"] == *state);
    assert!(is_ready, "{status:#}");
    patiently(&app, project, "launch_open_pr", run).await;
}

/// The command of that process.
pub(super) fn advancing(scene: &Scene, run: &str) -> Command {
    let site = scene.site.path().to_str().unwrap();
    let named = [home().to_str().unwrap(), &scene.project, site, run].join(&SEPARATOR.to_string());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--ignored",
        "--exact",
        "launch::kills::advance_a_run_in_a_process_of_its_own",
        "--nocapture",
    ]);
    command.env(CHILD, named).env_remove("PAIROFCLEATS_FAILPOINT").stdin(Stdio::null());
    command
}

/// Runs that process until it ends: by itself, or at a failpoint.
pub(super) async fn advance_elsewhere(scene: &Scene, run: &str, failpoint: Option<&str>) -> Output {
    let mut command = advancing(scene, run);
    command.envs(failpoint.map(|failpoint| ("PAIROFCLEATS_FAILPOINT", failpoint)));
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

/// Name and hash of each artifact that two runs with equal inputs have in common.
pub(super) async fn artifacts(scene: &Scene, run: &str) -> BTreeMap<String, Value> {
    let status = scene.status(run).await;
    assert_eq!(status["state"], "DONE", "{status:#}");
    let mut artifacts = hashes(&status);
    artifacts.retain(|name, _| !["evidence.zip", "pr.json"].contains(&name.as_str()));
    artifacts
}

/// Kills a new run at a failpoint, completes it in this process, and compares it with an uninterrupted one. Returns `false` if the run
/// ended before it reached the failpoint.
async fn killed_at(scene: &Scene, failpoint: &str, uninterrupted: &BTreeMap<String, Value>) -> bool {
    let run = scene.start("faulty").await;
    let output = advance_elsewhere(scene, &run, Some(failpoint)).await;
    let died = output.status.signal().is_some();
    assert!(
        died || output.status.success(),
        "{failpoint}: {} {}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if scene.status(&run).await["state"] != "DONE" {
        let status = scene.drive(&run).await;
        assert!(
            ["READY_FOR_PR", "DONE"].iter().any(|state| status["state"] == *state),
            "{failpoint}: {status:#}"
        );
        patiently(&scene.app, &scene.project, "launch_open_pr", &run).await;
    }
    assert_eq!(&artifacts(scene, &run).await, uninterrupted, "{failpoint}");
    let branch = format!("launch/{run}/faulty");
    let of_run = scene.published().into_iter().filter(|name| name.contains(&run)).collect::<Vec<_>>();
    assert_eq!(of_run, [branch], "{failpoint}: one branch");
    // Opening a run checks nothing; validating a published run, as each job does, reads all of it.
    let checked = patiently(&scene.app, &scene.project, "launch_validate", &run).await;
    assert_eq!(checked["validation_report"]["ok"], true, "{failpoint}");
    died
}

/// Kills runs at each visit of a failpoint, until they end before it.
async fn killed_at_each(scene: &Scene, name: &str, uninterrupted: &BTreeMap<String, Value>) -> usize {
    let visits = iter(1..=STEPS_MAX).map(|visit| {
        let failpoint = format!("{name}:{visit}");
        async move { killed_at(scene, &failpoint, uninterrupted).await }
    });
    // In order, so that those after the last visit are the first that live.
    visits.buffered(CONCURRENT).take_while(|died| std::future::ready(*died)).count().await
}

pub(super) async fn scene_and_uninterrupted() -> (Scene, BTreeMap<String, Value>) {
    let scene = Scene::with(|config| {
        config.launch.auto_fix = true;
        config.launch.auto_advance = false;
    })
    .await;
    let run = scene.start("faulty").await;
    scene.drive(&run).await;
    scene.drive(&run).await;
    scene.drive(&run).await;
    scene.result("launch_open_pr", &run).await;
    let uninterrupted = artifacts(&scene, &run).await;
    assert!(uninterrupted.len() > 12, "{uninterrupted:?}");
    (scene, uninterrupted)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_survives_a_death_after_each_of_its_transactions() {
    let (scene, uninterrupted) = scene_and_uninterrupted().await;
    let deaths = killed_at_each(&scene, "launch.committed", &uninterrupted).await;
    assert!((30..STEPS_MAX).contains(&deaths), "{deaths}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_survives_a_death_at_every_other_failpoint() {
    let (scene, uninterrupted) = scene_and_uninterrupted().await;
    for name in platform::failpoints::ALL.iter().filter(|name| name.starts_with("launch.")) {
        // The run is started in this process; another is visited above; those of forges are visited in `forges::kills`.
        if matches!(*name, "launch.created" | "launch.committed") || name.starts_with("launch.forge_") {
            continue;
        }
        for visit in [1, 4] {
            let died = killed_at(&scene, &format!("{name}:{visit}"), &uninterrupted).await;
            // A run is claimed and published fewer times.
            assert!(died || visit > 1, "{name} was not reached");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_while_the_base_moves_leaves_one_branch() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let mut visits = 0;
    for name in [
        "launch.before_write", "launch.before_commit", "launch.committed", "launch.objects_written",
        "launch.branch_created",
    ] {
        for visit in 1..=STEPS_MAX {
            let run = scene.ready("shop").await;
            push(scene.site.path(), |work| {
                std::fs::write(work.join(OLD_PAGE), format!("# Old\n\n{name} {visit}\n")).unwrap()
            });
            let output = advance_elsewhere(&scene, &run, Some(&format!("{name}:{visit}"))).await;
            let died = output.status.signal().is_some();
            // People push again before the run goes on.
            push(scene.site.path(), |work| {
                std::fs::write(work.join(OLD_PAGE), format!("# Old\n\nLater {visit}\n")).unwrap()
            });
            let opened = patiently(&scene.app, &scene.project, "launch_open_pr", &run).await;
            assert_eq!(opened["state"], "DONE", "{name}:{visit}: {opened:#}");
            let of_run: Vec<String> =
                scene.published().into_iter().filter(|name| name.contains(&run)).collect();
            assert_eq!(of_run, [format!("launch/{run}/shop")], "{name}:{visit}");
            let changed = scene.site_git(&["diff", "--name-only", &format!("{}^", of_run[0]), &of_run[0]]);
            assert_eq!(changed, "content/docs/docs.md\ncontent/docs/kb.md\n", "{name}:{visit}");
            let checked = patiently(&scene.app, &scene.project, "launch_validate", &run).await;
            assert_eq!(checked["validation_report"]["ok"], true, "{name}:{visit}");
            if !died {
                break;
            }
            visits += 1;
        }
    }
    assert!(visits >= 14, "{visits}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_being_published_is_not_cancelled() {
    let scene = Scene::with(|config| {
        config.launch.auto_fix = true;
        config.launch.auto_advance = false;
    })
    .await;
    for (failpoint, branches) in [("launch.objects_written:1", 0), ("launch.branch_created:1", 1)] {
        let run = scene.start("shop").await;
        let output = advance_elsewhere(&scene, &run, Some(failpoint)).await;
        assert!(output.status.signal().is_some(), "{failpoint} was not reached");
        let of_run = || scene.published().into_iter().filter(|name| name.contains(&run)).count();
        assert_eq!(of_run(), branches, "{failpoint}");
        let refused = scene.error("launch_cancel", &run).await;
        assert_eq!(
            (&refused["code"], &refused["retryable"]),
            (&json!("ILLEGAL_STATE"), &json!(true)),
            "{failpoint}: {refused:#}"
        );
        let opened = patiently(&scene.app, &scene.project, "launch_open_pr", &run).await;
        assert_eq!((&opened["state"], of_run()), (&json!("DONE"), 1), "{failpoint}: {opened:#}");
    }
}
