//! `pairofcleats launch`: the commands about runs. The program has the workers of this installation, so these runs go no further than
//! those do; what runs do is tested elsewhere.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Scene, code};
use crate::harness::{PROGRAM, git, new_home, result, run_json};

/// A home whose configuration names the site of the scene.
async fn scene_in_home(name: &str) -> (std::path::PathBuf, Scene) {
    let home = new_home(name);
    let scene = Scene::in_home(&home, |_| {}).await;
    let file = home.join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let site = format!(
        "[[launch.sites]]\nname = \"docs\"\nproject = \"{}\"\nrepository = \"{}\"\nallowed_paths = [\"content/docs\"]\nforge = \"local\"\n",
        scene.project,
        scene.site.path().display()
    );
    std::fs::write(&file, text + &site).unwrap();
    (home, scene)
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_start_show_publish_and_cancel_runs() {
    let (home, scene) = scene_in_home("launch-commands").await;
    let project = scene.project.as_str();
    let launch =
        |arguments: &[&str]| run_json(&home, &[&["launch"], arguments, &["--project", project]].concat());
    let file = home.join("run.json");
    std::fs::write(&file, scene.config("shop").to_string()).unwrap();
    let start = ["start", file.to_str().unwrap(), "--key", "first", "--no-wait"];
    let (exit, started) = launch(&start);
    assert_eq!((exit, &started["result"]["state"]), (0, &json!("CREATED")), "{started:#}");
    let run = started["result"]["run_id"].as_str().unwrap();
    assert_eq!(launch(&start).1["result"]["existing"], true);

    let (exit, listed) = launch(&["list", "--product", "shop", "--state", "CREATED"]);
    assert_eq!((exit, &listed["result"]["runs"][0]["run_id"]), (0, &json!(run)), "{listed:#}");
    assert_eq!(launch(&["list", "--product", "bank"]).1["result"]["runs"], json!([]));
    let (exit, refused) = launch(&["validate", run]);
    assert_eq!((exit, code(&refused["error"])), (1, "ILLEGAL_STATE"), "{refused:#}");

    // The application of the scene has workers; the program shows and publishes what it made.
    assert_eq!(scene.drive(run).await["state"], "READY_FOR_PR");
    let (exit, status) = launch(&["status", run]);
    assert_eq!((exit, &status["result"]["status"]["state"]), (0, &json!("READY_FOR_PR")), "{status:#}");
    let (exit, watched) = launch(&["watch", run]);
    assert_eq!((exit, &watched["result"]), (0, &status["result"]), "{watched:#}");
    let (exit, validated) = launch(&["validate", run]);
    assert_eq!((exit, &validated["result"]["validation_report"]["ok"]), (0, &json!(true)), "{validated:#}");
    let plan = home.join("plan.json");
    let (exit, written) = launch(&["artifact", run, "page_plan.json", "--out", plan.to_str().unwrap()]);
    assert_eq!(exit, 0, "{written:#}");
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), scene.artifact(run, "page_plan.json").await);
    let mut printed = Command::new(PROGRAM);
    printed.args(["launch", "artifact", run, "drafts/docs.md", "--project", project]);
    let printed = printed.env("PAIROFCLEATS_HOME", &home).stdin(Stdio::null()).output().unwrap();
    assert!(String::from_utf8(printed.stdout).unwrap().starts_with("# About docs\n"));
    let (exit, missing) = launch(&["artifact", run, "none.json"]);
    assert_eq!((exit, code(&missing["error"])), (1, "INVALID_INPUT"), "{missing:#}");
    let (exit, opened) = launch(&["pr", run]);
    assert_eq!((exit, &opened["result"]["branch"]), (0, &json!(format!("launch/{run}/shop"))), "{opened:#}");
    assert_eq!(scene.published().len(), 1);

    let other: Value = scene.config("bank");
    let other =
        result(&scene.app, "launch_start_run", json!({ "run_config": other, "project_id": project })).await;
    let (exit, cancelled) = launch(&["cancel", other["run_id"].as_str().unwrap()]);
    assert_eq!((exit, &cancelled["result"]["state"]), (0, &json!("CANCELLED")), "{cancelled:#}");
    let (exit, refused) = launch(&["resume", run]);
    assert_eq!(
        (exit, code(&refused["error"])),
        (1, "ILLEGAL_STATE"),
        "a published run has ended: {refused:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_start_runs() {
    let (home, scene) = scene_in_home("launch-addresses").await;
    let origin = "https://github.com/acme/ShopKit-for-Python";
    git(scene.repository.path(), &["remote", "add", "origin", origin]);
    let start = |source: &str, more: &[&str]| {
        let flags = ["--no-wait", "--project", scene.project.as_str()];
        run_json(&home, &[&["launch", "start", source], more, &flags].concat())
    };
    let (exit, started) = start(origin, &["--site", "docs"]);
    assert_eq!((exit, &started["result"]["derived_config"]["family"]), (0, &json!("shopkit")), "{started:#}");
    let (exit, started) = start("https://docs.aspose.org/shopkit/en/python/", &[]);
    assert_eq!((exit, &started["result"]["state"]), (0, &json!("CREATED")), "{started:#}");
    let (exit, refused) = start("https://example.com/shopkit/en/python/", &[]);
    assert_eq!((exit, code(&refused["error"])), (1, "UNSUPPORTED_SITE"), "{refused:#}");
    let file = home.join("run.json");
    std::fs::write(&file, scene.config("shop").to_string()).unwrap();
    let (exit, refused) = start(file.to_str().unwrap(), &["--site", "absent"]);
    assert_eq!((exit, code(&refused["error"])), (1, "INVALID_INPUT"), "{refused:#}");
    assert_eq!(refused["error"]["details"]["field"], "site_profile", "the flag goes before the file");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_work_on_a_failed_run_fail() {
    let (home, scene) = scene_in_home("launch-failed").await;
    let launch = |arguments: &[&str]| {
        run_json(&home, &[&["launch"], arguments, &["--project", scene.project.as_str()]].concat())
    };
    let file = home.join("run.json");
    std::fs::write(&file, scene.config("broken").to_string()).unwrap();
    let start = ["start", file.to_str().unwrap(), "--key", "failing"];
    let (exit, started) = launch(&[&start[..], &["--no-wait"]].concat());
    assert_eq!(exit, 0, "{started:#}");
    let run = started["result"]["run_id"].as_str().unwrap();
    assert_eq!(scene.drive(run).await["state"], "FAILED");
    // The run ended before the command continued it: that is not a refusal, but the run failed.
    for command in [&start[..], &["watch", run]] {
        let (exit, shown) = launch(command);
        assert_eq!((exit, &shown["result"]["status"]["state"]), (1, &json!("FAILED")), "{shown:#}");
    }
    let (exit, shown) = launch(&["status", run]);
    assert_eq!((exit, &shown["result"]["status"]["state"]), (0, &json!("FAILED")), "{shown:#}");
    for command in ["resume", "fix", "pr"] {
        let (exit, refused) = launch(&[command, run]);
        assert_eq!((exit, refused["ok"].as_bool()), (1, Some(false)), "{command}: {refused:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_site_in_the_configuration_is_reported_at_the_start() {
    let home = new_home("launch-wrong-site");
    let file = home.join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let site = "[[launch.sites]]\nname = \"docs\"\nrepository = \"/srv/x\"\nallowed_paths = [\"../x\"]\nforge = \"local\"\n";
    std::fs::write(&file, text + site).unwrap();
    let (exit, refused) = run_json(&home, &["launch", "list"]);
    assert_eq!((exit, code(&refused["error"])), (2, "INVALID_INPUT"), "{refused:#}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("docs"), "{refused:#}");
}
