//! `clean_artifacts`: a repository goes with all that was read from it, and nothing that others need.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Two, footprint, leave, number, removals, schema};
use crate::harness::{PROGRAM, Repository, app, call, error, home, project, result};

/// Rows of a project's tables that nothing owns.
async fn strays(project: &str) -> i64 {
    let schema = schema(project);
    let mut text = format!(
        "SELECT (SELECT count(*) FROM {schema}.files f WHERE NOT EXISTS (SELECT FROM {schema}.repositories r WHERE r.id = f.repository_id)) \
         + (SELECT count(*) FROM {schema}.vectors v WHERE NOT EXISTS (SELECT FROM {schema}.chunks c WHERE c.content_hash = v.hash))"
    );
    for table in ["chunks", "lexical", "facts", "comments", "authors", "flows"] {
        text.push_str(&format!(
            " + (SELECT count(*) FROM {schema}.{table} t WHERE NOT EXISTS (SELECT FROM {schema}.files f WHERE f.id = t.file_id))"
        ));
    }
    number(&text).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_goes_and_the_other_stays() {
    let two = Two::new().await;
    let shop = format!("portable/{}.sqlite", two.shop_name);
    leave(&two.app, &two.ours, &shop, 321, 0);
    let untouched = footprint(&two.app, &two.ours).await;
    let arguments = json!({ "repoPath": two.shop.root(), "dryRun": true });
    let planned = two.result("clean_artifacts", arguments).await;
    assert_eq!(footprint(&two.app, &two.ours).await, untouched, "a dry run changed something");
    let done = two.result("clean_artifacts", json!({ "repoPath": two.shop.root() })).await;
    assert_eq!(done["removals"], planned["removals"], "{done:#}");
    assert_eq!(done["freedBytes"], planned["freedBytes"]);
    assert_eq!((&planned["dryRun"], &done["dryRun"]), (&json!(true), &json!(false)));
    assert_eq!(removals(&done, "repository")[0]["name"], two.shop_name.as_str());
    assert_eq!(removals(&done, "file")[0]["name"], shop.as_str(), "{done:#}");
    assert!(!two.app.layout.project(&two.ours).join(&shop).exists());
    assert!(two.app.layout.project(&two.ours).join("exports/old.zip").exists(), "not of this repository");
    assert_eq!(strays(&two.ours).await, 0);

    let status = two.result("index_status", json!({})).await;
    assert_eq!(status["repositories"].as_array().unwrap().len(), 1, "{status:#}");
    assert_eq!(status["vectorsPending"], 0, "text that both hold keeps its vector: {status:#}");
    let found = two.result("search", json!({ "query": "the same text in both" })).await;
    assert!(found["hits"].as_array().unwrap().iter().any(|hit| hit["file"] == "shared.py"), "{found:#}");
    let found = two.result("search", json!({ "query": "drawer coins" })).await;
    assert!(!found.to_string().contains("cash.py"), "{found:#}");

    let again = json!({ "repoPath": two.shop.root(), "project_id": two.ours });
    assert_eq!(error(&two.app, "clean_artifacts", again).await["code"], "NO_INDEX");
    let built = two.result("build_index", json!({ "repoPath": two.shop.root() })).await;
    assert_eq!(built["report"]["files"], 2, "it can be indexed again: {built:#}");
    two.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_takes_every_repository_and_leaves_the_project() {
    let two = Two::new().await;
    let planned = two.result("clean_artifacts", json!({ "all": true, "dryRun": true })).await;
    let done = two.result("clean_artifacts", json!({ "all": true })).await;
    assert_eq!(done["removals"], planned["removals"], "{done:#}");
    assert_eq!(removals(&done, "repository").len(), 2);
    assert_eq!(removals(&done, "file").len(), 1, "{done:#}");
    assert_eq!(strays(&two.ours).await, 0);
    let status = two.result("index_status", json!({})).await;
    assert_eq!((&status["files"], &status["vectors"]), (&json!(0), &json!(0)), "{status:#}");
    let left = format!("SELECT count(*) FROM {}.names", schema(&two.ours));
    assert_eq!(number(&left).await, 0);
    assert!(two.app.layout.models().exists());
    two.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_must_be_clear_what_goes() {
    let two = Two::new().await;
    let before = footprint(&two.app, &two.ours).await;
    for arguments in [json!({}), json!({ "all": false }), json!({ "all": true, "repoPath": two.shop.root() })]
    {
        let mut arguments = arguments;
        arguments["project_id"] = json!(two.ours);
        assert_eq!(error(&two.app, "clean_artifacts", arguments).await["code"], "INVALID_REQUEST");
    }
    let absent = json!({ "project_id": project("absent"), "all": true });
    assert_eq!(error(&two.app, "clean_artifacts", absent).await["code"], "NO_INDEX");
    assert_eq!(footprint(&two.app, &two.ours).await, before);
    two.end().await;
}

/// A repository with many small files.
fn many(files: usize) -> Repository {
    let repository = Repository::new(&[]);
    for file in 0..files {
        repository.write(
            &format!("m{file}.py"),
            &format!("def task_{file}(value):\n    return [value] * {file}\n"),
        );
    }
    repository
}

fn cleaner(project: &str, repository: &Repository) -> Command {
    let mut command = Command::new(PROGRAM);
    let arguments = json!({ "project_id": project, "repoPath": repository.root() }).to_string();
    command.args(["call", "clean_artifacts", "--args", &arguments, "--set", "upkeep.batch_rows=2"]);
    command.env("PAIROFCLEATS_HOME", home()).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

async fn until(what: &str, mut reached: impl AsyncFnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(120);
    while !reached().await {
        assert!(Instant::now() < give_up, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_middle_and_run_again_it_is_complete() {
    let (app, project, repository) = (app(), project("kill-clean"), many(400));
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let files = format!("SELECT count(*) FROM {}.files", schema(&project));
    let mut victim = cleaner(&project, &repository).stdout(Stdio::null()).spawn().unwrap();
    until("the first files to go", async || number(&files).await < 400).await;
    victim.kill().unwrap();
    victim.wait().unwrap();
    let left = number(&files).await;
    assert!(left > 0, "the kill came too late to prove anything");
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"][0]["state"], "failed", "{status:#}");

    let mut answer = Value::Null;
    until("the dead process's lease to run out", async || {
        answer = call(&app, "clean_artifacts", json!({ "project_id": project, "all": true })).await;
        answer["ok"] == true || {
            assert_eq!(answer["error"]["code"], "ILLEGAL_STATE", "{answer:#}");
            false
        }
    })
    .await;
    assert_eq!(number(&files).await, 0);
    assert_eq!(strays(&project).await, 0);
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"], json!([]), "{status:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_go_on_while_it_cleans() {
    let (app, project, repository) = (app(), project("busy-clean"), many(300));
    let stays = Repository::new(&[("stays.py", "def task_that_stays(value):\n    return value\n")]);
    result(&app, "build_index", json!({ "repoPath": stays.root(), "project_id": project })).await;
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let over = Arc::new(AtomicBool::new(false));
    let searching = tokio::spawn({
        let (app, project, over) = (Arc::clone(&app), project.clone(), Arc::clone(&over));
        async move {
            let mut asked = 0;
            while !over.load(Ordering::Acquire) {
                let arguments = json!({ "query": "task value", "project_id": project, "top": 20 });
                let found = result(&app, "search", arguments).await;
                assert!(!found["hits"].as_array().unwrap().is_empty(), "{found:#}");
                asked += 1;
            }
            asked
        }
    });
    let child: Child = cleaner(&project, &repository).stdout(Stdio::piped()).spawn().unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    over.store(true, Ordering::Release);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["ok"], true, "{answer:#}");
    assert!(searching.await.unwrap() > 3, "too few searches to prove anything");
}
