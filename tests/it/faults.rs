//! Invalid input and failing environments: each gets an error code and a hint, and nothing is left incomplete.

mod changing_trees;
pub(crate) mod disk;
mod load;
mod network;
mod proxy;
mod random_kills;
pub(crate) mod server;
mod storage;
mod terminal;
pub(crate) mod tree_gen;
mod tree_git;
pub(crate) mod trees;

use serde_json::{Value, json};

use crate::harness::{Repository, app, app_with, call, error, project, result, try_call};
use contract::Refusal;

#[tokio::test(flavor = "multi_thread")]
async fn invalid_project_ids_are_validation_errors_with_the_constraint() {
    let app = app();
    for bad in ["My_Project", "-a", "a--b", &"a".repeat(51), ""] {
        let fault = error(&app, "search_code", json!({ "query": "x", "project_id": bad })).await;
        assert_eq!(fault["code"], "VALIDATION_ERROR", "{bad}");
        assert_eq!(fault["details"]["field"], "project_id");
        assert_eq!(fault["details"]["value"], bad);
        assert!(fault["details"]["constraint"].is_string());
        assert!(fault["hint"].is_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_invalid_path_has_its_error_code() {
    let repository = Repository::new(&[("a.py", "a = 1\n")]);
    let outside = Repository::new(&[("b.py", "b = 1\n")]);
    let root = repository.path().canonicalize().unwrap();
    let app = app_with(|config| config.indexing.roots = vec![root.clone()]);
    let project = project("paths");
    let file = format!("{}/a.py", repository.root());
    let missing = format!("{}/missing", repository.root());
    for (path, code) in [
        ("relative/path", "INVALID_REQUEST"),
        (missing.as_str(), "NOT_FOUND"),
        (file.as_str(), "NOT_FOUND"),
        (outside.root().as_str(), "FORBIDDEN"),
        ("/no/such/directory", "FORBIDDEN"),
        ("/proc", "FORBIDDEN"),
    ] {
        let fault =
            error(&app, "index_repository", json!({ "repo_path": path, "project_id": project })).await;
        assert_eq!(fault["code"], code, "{path}: {fault:#}");
        assert!(fault["hint"].is_string(), "{path}: {fault:#}");
    }
    let link = repository.path().join("way-out");
    std::os::unix::fs::symlink(outside.path(), &link).unwrap();
    let fault = error(
        &app,
        "index_repository",
        json!({ "repo_path": link.to_string_lossy(), "project_id": project }),
    )
    .await;
    assert_eq!(fault["code"], "FORBIDDEN", "a link that leads out of the roots: {fault:#}");
    let fault = error(&app, "search_code", json!({ "query": "x", "project_id": project })).await;
    assert_eq!(fault["code"], "NO_INDEX", "no failed call created a workspace");
}

async fn violation_message(tool: &str, arguments: Value) -> String {
    match try_call(&app(), tool, arguments).await {
        Err(refusal @ Refusal::InvalidArguments(_)) => refusal.to_fault().message,
        Err(other) => panic!("{other:?}"),
        Ok(answer) => panic!("accepted: {answer:#}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_arguments_are_refused_with_the_nearest_field() {
    assert!(
        violation_message("search", json!({ "query": "x", "repo_path": "/x" })).await.contains("repoPath")
    );
    assert!(violation_message("search", json!({})).await.contains("`query` is required"));
    for over in [json!({ "query": "x", "top": 101 }), json!({ "query": "x", "offset": 901 })] {
        let fault = error(&app(), "search", over).await;
        assert!(
            fault["code"] == "INVALID_REQUEST" && fault["message"].to_string().contains("at most"),
            "{fault}"
        );
    }
    assert!(
        violation_message("search", json!({ "query": "x", "riskTagg": "sql" })).await.contains("riskTag")
    );
    assert!(
        violation_message("search", json!({ "query": "x", "branchesMin": "3" }))
            .await
            .contains("branchesMin")
    );
    assert!(violation_message("search_code", json!({ "query": "x", "limit": 51 })).await.contains("limit"));
    assert!(violation_message("search_code", json!({ "query": "" })).await.contains("query"));
    assert!(violation_message("search_code", json!({ "query": "x".repeat(8193) })).await.contains("query"));
    let integral = json!({ "query": "x", "limit": 5.0, "project_id": project("integral") });
    assert_eq!(error(&app(), "search_code", integral).await["code"], "NO_INDEX", "5.0 is an integer");
    assert!(violation_message("search_code", json!({ "query": "x", "limit": 5.5 })).await.contains("limit"));
    let nulls = json!({ "query": "x", "limit": null, "project_id": project("nulls") });
    assert_eq!(error(&app(), "search_code", nulls).await["code"], "NO_INDEX", "null counts as absent");
}

#[tokio::test(flavor = "multi_thread")]
async fn blank_queries_and_unknown_languages_are_refused() {
    let (app, project) = (app(), project("blank"));
    let repository = Repository::new(&[("a.py", "def a():\n    return 1\n")]);
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let fault = error(&app, "search", json!({ "query": "   ", "project_id": project })).await;
    assert_eq!(fault["code"], "INVALID_REQUEST");
    let fault = error(&app, "search", json!({ "query": "a", "lang": "pyton", "project_id": project })).await;
    assert_eq!(fault["code"], "INVALID_REQUEST");
    assert!(fault.to_string().contains("python"), "{fault:#}");
    let elsewhere = Repository::new(&[]);
    let fault =
        error(&app, "search", json!({ "query": "a", "repoPath": elsewhere.root(), "project_id": project }))
            .await;
    assert_eq!(fault["code"], "NO_INDEX", "{fault:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_without_indexable_files_fails_and_leaves_nothing() {
    let (app, project) = (app(), project("empty"));
    let repository = Repository::new(&[("a.bin", "\0\0\0")]);
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let fault = error(&app, "build_index", arguments).await;
    assert_eq!(fault["code"], "INVALID_REQUEST", "{fault:#}");
    assert_eq!(fault["details"]["skipped"][0]["reason"], "binary", "{fault:#}");
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"], json!([]), "{status:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_most_files_needs_force() {
    let (app, project) = (app_with(|config| config.indexing.delete_guard_files = 3), project("loss"));
    let names: Vec<String> = (0..8).map(|n| format!("part_{n}.py")).collect();
    let repository = Repository::new(&[("keep.py", "def keep():\n    return 1\n")]);
    names.iter().for_each(|name| repository.write(name, "def part():\n    return 2\n"));
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    result(&app, "build_index", arguments.clone()).await;
    names.iter().for_each(|name| repository.remove(name));
    let fault = error(&app, "build_index", arguments.clone()).await;
    assert_eq!(fault["code"], "ILLEGAL_STATE", "{fault:#}");
    assert_eq!(result(&app, "index_status", json!({ "project_id": project })).await["files"], 9);
    let forced = json!({ "repoPath": repository.root(), "project_id": project, "force": true });
    assert_eq!(result(&app, "build_index", forced).await["report"]["filesRemoved"], 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_database_is_an_error_with_a_hint() {
    let app = app_with(|config| {
        config.database.url = Some("postgres://nobody@127.0.0.1:1/none".into());
        config.database.acquire_timeout_ms = 500;
    });
    let answer = call(&app, "search_code", json!({ "query": "x" })).await;
    assert_eq!(answer["error"]["code"], "STORAGE_UNAVAILABLE", "{answer:#}");
    assert_eq!(answer["error"]["retryable"], true);
    assert!(answer["error"]["hint"].is_string());
    assert!(!answer.to_string().contains("SELECT"), "no SQL in answers: {answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_outside_the_repository_are_not_shown() {
    let (app, project) = (app(), project("outside"));
    let outside = Repository::new(&[("hidden.txt", "planted words")]);
    let repository = Repository::new(&[("a.py", "def a():\n    return 1\n")]);
    std::os::unix::fs::symlink(outside.path().join("hidden.txt"), repository.path().join("link.txt"))
        .unwrap();
    std::os::unix::fs::symlink(outside.path(), repository.path().join("folder")).unwrap();
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    for path in
        ["../hidden.txt", "/etc/passwd", "link.txt", "folder/hidden.txt", "a.py/../../x", "missing.py"]
    {
        let answer = call(&app, "show_file", json!({ "path": path, "project_id": project })).await;
        let code = answer["error"]["code"].as_str().unwrap_or("shown");
        assert!(["INVALID_REQUEST", "FORBIDDEN", "NOT_FOUND"].contains(&code), "{path}: {answer:#}");
        assert!(!answer.to_string().contains("planted words"), "{path}: {answer:#}");
    }
    let file =
        result(&app, "show_file", json!({ "path": "a.py", "project_id": project, "startLine": 2 })).await;
    let first_line = json!({ "path": "a.py", "project_id": project, "endLine": 1 });
    assert_eq!(result(&app, "show_file", first_line).await["text"], "def a():");
    assert_eq!((&file["text"], &file["totalLines"]), (&json!("    return 1"), &json!(2)), "{file:#}");
}
