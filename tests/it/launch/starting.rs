//! Starting runs: what configurations are refused, and that a key starts one run.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Scene, app_for, code};
use crate::harness::{call, commit_all, error, git, git_output, home, result};

/// The keywords of the violations of a refused configuration.
async fn violations(scene: &Scene, config: Value) -> Vec<String> {
    let arguments = json!({ "run_config": config, "project_id": scene.project });
    let refused = error(&scene.app, "launch_start_run", arguments).await;
    assert_eq!(code(&refused), "SCHEMA_VALIDATION_FAILED", "{refused:#}");
    assert_eq!(
        (&refused["retryable"], &refused["details"]["document"]),
        (&json!(false), &json!("run_config"))
    );
    let listed = refused["details"]["violations"].as_array().unwrap_or_else(|| panic!("{refused:#}"));
    listed.iter().map(|one| one["keyword"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_checked_before_anything_is_written() {
    let scene = Scene::new().await;
    let with = |name: &str, value: Value| {
        let mut config = scene.config("shop");
        config[name] = value;
        config
    };
    for (name, value, keyword) in [
        ("product_slug", json!("Shop Cart"), "pattern"),
        ("required_sections", json!([]), "minItems"),
        ("colour", json!("red"), "additionalProperties"),
        ("site_repo_url", json!("https://example.com/x"), "reserved"),
        ("max_fix_attempts", json!(11), "maximum"),
        ("allow_inference", json!(true), "enum"),
        ("allowed_paths", json!(["layouts"]), "allowedPaths"),
        ("allowed_paths", json!(["content/docs/../../x"]), "path"),
    ] {
        assert_eq!(violations(&scene, with(name, value)).await, [keyword], "{name}");
    }
    for (name, value, expected) in [
        ("site_profile", json!("elsewhere"), "INVALID_INPUT"),
        ("github_repo_url", json!("https://github.com/acme/none"), "REPO_NOT_FOUND"),
        ("github_ref", json!("no-such-branch"), "INVALID_INPUT"),
    ] {
        let arguments = json!({ "run_config": with(name, value), "project_id": scene.project });
        let refused = error(&scene.app, "launch_start_run", arguments).await;
        assert_eq!(code(&refused), expected, "{name}: {refused:#}");
        assert_eq!(refused["details"]["field"], name, "{refused:#}");
        assert!(refused["hint"].is_string(), "{refused:#}");
    }
    let listed = result(&scene.app, "launch_list_runs", json!({ "project_id": scene.project })).await;
    assert_eq!(listed["runs"], json!([]), "nothing was started");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_pinned_to_commits() {
    let scene = Scene::new().await;
    let run = scene.start("shop").await;
    let status = scene.status(&run).await;
    let head = git_output(scene.repository.path(), &["rev-parse", "HEAD"]);
    assert_eq!(status["repo_sha"], head.trim());
    assert_eq!(status["site_sha"], scene.site_git(&["rev-parse", "main"]).trim());
    let config: Value = serde_json::from_str(&scene.artifact(&run, "run_config.json").await).unwrap();
    assert_eq!(config["github_ref"], head.trim());
    assert_eq!(config["allowed_paths"], json!(["content/docs"]));
    // The repository is also known by its name.
    let mut by_name = scene.config("shop");
    by_name["github_repo_url"] = scene.repository.path().file_name().unwrap().to_str().unwrap().into();
    scene.start_with(by_name).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_starts_one_run() {
    let scene = Scene::new().await;
    let start = async |config: Value| {
        let arguments =
            json!({ "run_config": config, "idempotency_key": "first", "project_id": scene.project });
        call(&scene.app, "launch_start_run", arguments).await
    };
    let first = start(scene.config("shop")).await;
    let again = start(scene.config("shop")).await;
    assert_eq!(first["result"]["existing"], false, "{first:#}");
    assert_eq!(again["result"]["existing"], true, "{again:#}");
    assert_eq!(first["result"]["run_id"], again["result"]["run_id"]);
    assert_eq!(again["run_id"], first["result"]["run_id"], "the envelope names the run");
    scene.drive(first["result"]["run_id"].as_str().unwrap()).await;
    let later = start(scene.config("shop")).await;
    assert_eq!(later["result"]["state"], "READY_FOR_PR", "the state that it has now");

    let mut other = scene.config("shop");
    other["product_name"] = "Shop".into();
    other["max_fix_attempts"] = 1.into();
    let refused = start(other).await;
    let refused = &refused["error"];
    assert_eq!(code(refused), "INVALID_INPUT", "{refused:#}");
    assert_eq!(refused["details"]["existing_run_id"], first["result"]["run_id"]);
    assert_eq!(refused["details"]["differing_fields"], json!(["max_fix_attempts", "product_name"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_starts_with_one_key_make_one_run() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let other =
        app_for(home(), &scene.project, scene.site.path(), |config| config.launch.auto_advance = false);
    for round in 0..50 {
        let start = |app| {
            let arguments = json!({ "run_config": scene.config("shop"), "idempotency_key": format!("k{round}"),
                "project_id": scene.project });
            result(app, "launch_start_run", arguments)
        };
        let (one, another) = tokio::join!(start(&scene.app), start(&other));
        assert_eq!(one["run_id"], another["run_id"], "round {round}");
        let existing = BTreeSet::from([one["existing"].as_bool(), another["existing"].as_bool()]);
        assert_eq!(existing, BTreeSet::from([Some(false), Some(true)]), "round {round}");
    }
    let listed =
        result(&scene.app, "launch_list_runs", json!({ "project_id": scene.project, "limit": 200 })).await;
    assert_eq!(listed["runs"].as_array().unwrap().len(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_have_not_ended_are_limited() {
    let scene = Scene::with(|config| config.launch.runs_max = 1).await;
    let run = scene.start("shop").await;
    let arguments = json!({ "run_config": scene.config("shop"), "project_id": scene.project });
    let refused = error(&scene.app, "launch_start_run", arguments).await;
    assert_eq!((code(&refused), &refused["retryable"]), ("QUEUE_OVERLOADED", &json!(true)), "{refused:#}");
    scene.result("launch_cancel", &run).await;
    scene.start("shop").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed_by_product_and_state_page_by_page() {
    let scene = Scene::new().await;
    let mut started = Vec::new();
    for slug in ["shop", "bank", "shop-two", "shop", "shop"] {
        started.push(scene.start(slug).await);
    }
    scene.result("launch_cancel", &started[0]).await;
    let list = async |arguments: Value| {
        let mut all = json!({ "project_id": scene.project });
        for (name, value) in arguments.as_object().unwrap() {
            all[name] = value.clone();
        }
        result(&scene.app, "launch_list_runs", all).await
    };
    let ids = |listed: &Value| -> Vec<String> {
        let runs = listed["runs"].as_array().unwrap().iter();
        runs.map(|run| run["run_id"].as_str().unwrap().to_owned()).collect()
    };
    let mut pages = Vec::new();
    let mut next = list(json!({ "limit": 2 })).await;
    loop {
        pages.extend(ids(&next));
        let Some(cursor) = next.get("next_cursor").cloned() else { break };
        next = list(json!({ "limit": 2, "cursor": cursor })).await;
    }
    assert_eq!(pages, ids(&list(json!({})).await), "pages are the list");
    assert_eq!(BTreeSet::from_iter(&pages), BTreeSet::from_iter(&started));
    let of_product = ids(&list(json!({ "filter": { "product_slug": "shop" } })).await);
    assert_eq!(of_product.len(), 3);
    let cancelled = list(json!({ "filter": { "product_slug": "shop", "state": "CANCELLED" } })).await;
    assert_eq!(ids(&cancelled), [started[0].clone()]);
    assert!(
        cancelled["runs"][0]["finished_at"].is_string() && cancelled["runs"][0]["started_at"].is_string()
    );
    for wrong in [json!({ "filter": { "state": "ready" } }), json!({ "cursor": "1_x" })] {
        let mut arguments = wrong.clone();
        arguments["project_id"] = scene.project.as_str().into();
        let refused = error(&scene.app, "launch_list_runs", arguments).await;
        assert_eq!(code(&refused), "INVALID_INPUT", "{wrong}: {refused:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_names_its_commit() {
    let scene = Scene::new().await;
    git(scene.repository.path(), &["tag", "v1"]);
    let tagged = git_output(scene.repository.path(), &["rev-parse", "v1"]);
    scene.repository.write("cash.py", "def till(coins):\n    return sum(coins)\n");
    commit_all(scene.repository.path());
    let mut config = scene.config("shop");
    config["github_ref"] = "v1".into();
    let run = scene.start_with(config).await;
    assert_eq!(scene.status(&run).await["repo_sha"], tagged.trim());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_annotated_tag_names_the_commit_that_it_is_of() {
    let scene = Scene::new().await;
    let path = scene.repository.path();
    git(path, &["tag", "--annotate", "--message", "One", "v1"]);
    git(path, &["tag", "--annotate", "--message", "One again", "stable", "v1"]);
    git(path, &["tag", "--annotate", "--message", "A tree", "tree", "v1^{tree}"]);
    let tagged = git_output(path, &["rev-parse", "v1^{commit}"]);
    assert_ne!(tagged, git_output(path, &["rev-parse", "v1"]), "the tag is an object of its own");
    let named = |reference: &str| {
        let mut config = scene.config("shop");
        config["github_ref"] = reference.into();
        config
    };
    for packed in [false, true] {
        if packed {
            git(path, &["gc", "--quiet"]);
        }
        for reference in ["v1", "stable"] {
            let run = scene.start_with(named(reference)).await;
            assert_eq!(scene.status(&run).await["repo_sha"], tagged.trim(), "{reference}, packed: {packed}");
        }
    }
    let arguments = json!({ "run_config": named("tree"), "project_id": scene.project });
    let refused = error(&scene.app, "launch_start_run", arguments).await;
    assert_eq!((code(&refused), &refused["details"]["field"]), ("INVALID_INPUT", &json!("github_ref")));
}
