//! `clean_artifacts` removes a repository and everything read from it, and nothing that other repositories need.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{TwoProjects, query_number, removals, schema, stored_state, write_aged_file};
use crate::harness::{PROGRAM, Repository, app, call, error, home, project, result};

/// The number of rows in a project's tables whose file, repository or chunk does not exist.
async fn orphaned_rows(project: &str) -> i64 {
    let schema = schema(project);
    let mut text = format!(
        "SELECT (SELECT count(*) FROM {schema}.files f WHERE NOT EXISTS (SELECT FROM {schema}.repositories r WHERE r.id = f.repository_id)) \
         + (SELECT count(*) FROM {schema}.vectors v WHERE NOT EXISTS (SELECT FROM {schema}.chunks c WHERE c.content_hash = v.hash))"
    );
    for table in ["chunks", "lexical", "facts", "comments", "authors", "line_history", "flows"] {
        text.push_str(&format!(
            " + (SELECT count(*) FROM {schema}.{table} t WHERE NOT EXISTS (SELECT FROM {schema}.files f WHERE f.id = t.file_id))"
        ));
    }
    query_number(&text).await
}

#[tokio::test(flavor = "multi_thread")]
async fn cleaning_one_repository_keeps_the_other() {
    let projects = TwoProjects::new().await;
    let shop = format!("portable/{}.sqlite", projects.shop_name);
    write_aged_file(&projects.app, &projects.ours, &shop, 321, 0);
    let untouched = stored_state(&projects.app, &projects.ours).await;
    let arguments = json!({ "repoPath": projects.shop.root(), "dryRun": true });
    let planned = projects.result("clean_artifacts", arguments).await;
    assert_eq!(stored_state(&projects.app, &projects.ours).await, untouched, "a dry run changed something");
    let done = projects.result("clean_artifacts", json!({ "repoPath": projects.shop.root() })).await;
    assert_eq!(done["removals"], planned["removals"], "{done:#}");
    assert_eq!(done["freedBytes"], planned["freedBytes"]);
    assert_eq!((&planned["dryRun"], &done["dryRun"]), (&json!(true), &json!(false)));
    assert_eq!(removals(&done, "repository")[0]["name"], projects.shop_name.as_str());
    assert_eq!(removals(&done, "file")[0]["name"], shop.as_str(), "{done:#}");
    assert!(!projects.app.layout.project(&projects.ours).join(&shop).exists());
    assert!(
        projects.app.layout.project(&projects.ours).join("exports/old.zip").exists(),
        "it does not belong to this repository"
    );
    assert_eq!(orphaned_rows(&projects.ours).await, 0);

    let status = projects.result("index_status", json!({})).await;
    assert_eq!(status["repositories"].as_array().unwrap().len(), 1, "{status:#}");
    assert_eq!(status["vectorsPending"], 0, "text that is in both keeps its vector: {status:#}");
    let found = projects.result("search", json!({ "query": "the same text in both" })).await;
    assert!(found["hits"].as_array().unwrap().iter().any(|hit| hit["file"] == "shared.py"), "{found:#}");
    let found = projects.result("search", json!({ "query": "drawer coins" })).await;
    assert!(!found.to_string().contains("cash.py"), "{found:#}");

    let again = json!({ "repoPath": projects.shop.root(), "project_id": projects.ours });
    assert_eq!(error(&projects.app, "clean_artifacts", again).await["code"], "NO_INDEX");
    let built = projects.result("build_index", json!({ "repoPath": projects.shop.root() })).await;
    assert_eq!(built["report"]["files"], 2, "it can be indexed again: {built:#}");
    projects.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cleaning_all_removes_every_repository_and_keeps_the_project() {
    let projects = TwoProjects::new().await;
    let planned = projects.result("clean_artifacts", json!({ "all": true, "dryRun": true })).await;
    let done = projects.result("clean_artifacts", json!({ "all": true })).await;
    assert_eq!(done["removals"], planned["removals"], "{done:#}");
    assert_eq!(removals(&done, "repository").len(), 2);
    assert_eq!(removals(&done, "file").len(), 1, "{done:#}");
    assert_eq!(orphaned_rows(&projects.ours).await, 0);
    let status = projects.result("index_status", json!({})).await;
    assert_eq!((&status["files"], &status["vectors"]), (&json!(0), &json!(0)), "{status:#}");
    let left = format!("SELECT count(*) FROM {}.names", schema(&projects.ours));
    assert_eq!(query_number(&left).await, 0);
    assert!(projects.app.layout.models().exists());
    projects.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cleaning_needs_either_a_repository_or_all() {
    let projects = TwoProjects::new().await;
    let before = stored_state(&projects.app, &projects.ours).await;
    for arguments in
        [json!({}), json!({ "all": false }), json!({ "all": true, "repoPath": projects.shop.root() })]
    {
        let mut arguments = arguments;
        arguments["project_id"] = json!(projects.ours);
        assert_eq!(error(&projects.app, "clean_artifacts", arguments).await["code"], "INVALID_REQUEST");
    }
    let absent = json!({ "project_id": project("absent"), "all": true });
    assert_eq!(error(&projects.app, "clean_artifacts", absent).await["code"], "NO_INDEX");
    assert_eq!(stored_state(&projects.app, &projects.ours).await, before);
    projects.finish().await;
}

/// A repository with many small files.
fn repository_with_files(files: usize) -> Repository {
    let repository = Repository::new(&[]);
    for file in 0..files {
        repository.write(
            &format!("m{file}.py"),
            &format!("def task_{file}(value):\n    return [value] * {file}\n"),
        );
    }
    repository
}

fn clean_command(project: &str, repository: &Repository) -> Command {
    let mut command = Command::new(PROGRAM);
    let arguments = json!({ "project_id": project, "repoPath": repository.root() }).to_string();
    command.args(["call", "clean_artifacts", "--args", &arguments, "--set", "upkeep.batch_rows=2"]);
    command.env("PAIROFCLEATS_HOME", home()).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

async fn wait_for(what: &str, mut reached: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !reached().await {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_cleaning_is_completed_by_the_next_one() {
    let (app, project, repository) = (app(), project("kill-clean"), repository_with_files(400));
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let files = format!("SELECT count(*) FROM {}.files", schema(&project));
    let mut victim = clean_command(&project, &repository).stdout(Stdio::null()).spawn().unwrap();
    wait_for("the first files to be removed", async || query_number(&files).await < 400).await;
    victim.kill().unwrap();
    victim.wait().unwrap();
    let left = query_number(&files).await;
    assert!(left > 0, "the kill came too late to prove anything");
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"][0]["state"], "failed", "{status:#}");

    let mut answer = Value::Null;
    wait_for("the lease of the dead process to expire", async || {
        answer = call(&app, "clean_artifacts", json!({ "project_id": project, "all": true })).await;
        answer["ok"] == true || {
            assert_eq!(answer["error"]["code"], "ILLEGAL_STATE", "{answer:#}");
            false
        }
    })
    .await;
    assert_eq!(query_number(&files).await, 0);
    assert_eq!(orphaned_rows(&project).await, 0);
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"], json!([]), "{status:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_succeed_during_a_cleaning() {
    let (app, project, repository) = (app(), project("busy-clean"), repository_with_files(300));
    let other = Repository::new(&[("stays.py", "def task_that_stays(value):\n    return value\n")]);
    result(&app, "build_index", json!({ "repoPath": other.root(), "project_id": project })).await;
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let cleaned = Arc::new(AtomicBool::new(false));
    let searching = tokio::spawn({
        let (app, project, cleaned) = (Arc::clone(&app), project.clone(), Arc::clone(&cleaned));
        async move {
            let mut searches = 0;
            while !cleaned.load(Ordering::Acquire) {
                let arguments = json!({ "query": "task value", "project_id": project, "top": 20 });
                let found = result(&app, "search", arguments).await;
                assert!(!found["hits"].as_array().unwrap().is_empty(), "{found:#}");
                searches += 1;
            }
            searches
        }
    });
    let child: Child = clean_command(&project, &repository).stdout(Stdio::piped()).spawn().unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    cleaned.store(true, Ordering::Release);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["ok"], true, "{answer:#}");
    assert!(searching.await.unwrap() > 3, "too few searches to prove anything");
}
