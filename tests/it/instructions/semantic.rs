//! Entries found by meaning, with the real model.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{allow_writes, entry, ids, import};
use crate::blocked_embedder::BlockedEmbedder;
use crate::harness::{
    Repository, app_with, app_with_model_and, app_without_embedder, call, error, project, result,
};

#[tokio::test(flavor = "multi_thread")]
async fn entries_are_found_by_meaning_and_only_where_they_belong() {
    let (app, project) = (app_with_model_and(allow_writes), project("semantic"));
    let repository = Repository::new(&[(
        "src/login.rs",
        "/// Checks the password of a user.\npub fn check_password() {}\n",
    )]);
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let entries = [
        entry("credentials", "Never write credentials into code; read them from the vault at start."),
        entry("commits", "Write commit messages in the imperative mood."),
        entry("sql", "Every database query binds its parameters."),
    ];
    import(&app, &project, &entries, json!({})).await;
    let question = "how do we treat passwords";
    let search = |semantic: bool| json!({ "q": question, "semantic": semantic, "project_id": project });
    let mut found = Value::Null;
    for _ in 0..200 {
        found = result(&app, "instructions_search", search(true)).await;
        if found["count"] != 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(ids(&found["items"])[0], "credentials", "{found:#}");
    assert!(
        found["items"][0]["score"].as_f64().is_some_and(|score| score > 0.0 && score <= 1.0),
        "{found:#}"
    );
    assert_eq!(result(&app, "instructions_search", search(false)).await["count"], 0);

    let code = result(&app, "search", json!({ "query": question, "project_id": project })).await;
    let files: Vec<&str> =
        code["hits"].as_array().unwrap().iter().map(|hit| hit["file"].as_str().unwrap()).collect();
    assert!(files.iter().all(|file| !file.starts_with("instructions/")), "{files:?}");
    let records = json!({ "query": question, "mode": "records", "meta": { "recordtype": "instruction" }, "project_id": project });
    let records = result(&app, "search", records).await;
    assert_eq!(records["hits"][0]["file"], "instructions/credentials.md", "{records:#}");

    let off = app_with(|config| config.instructions.semantic = false);
    assert_eq!(error(&off, "instructions_search", search(true)).await["code"], "CAPABILITY_MISSING");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_over_entries_is_no_warning_for_a_search_of_code() {
    let embedder = BlockedEmbedder::closed();
    let app = Arc::new(app_without_embedder(allow_writes).with_embedder(embedder.clone()));
    let project = project("entries-run");
    let repository = Repository::new(&[("src/cash.rs", "pub fn count_coins() {}\n")]);
    embedder.set_open(true);
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    embedder.set_open(false);
    import(&app, &project, &[entry("coins", "Count the coins twice.")], json!({})).await;
    let warnings = async |mode: &str| {
        let query = json!({ "query": "coins", "mode": mode, "project_id": project });
        let answer = call(&app, "search", query).await;
        let warnings = answer["_meta"]["warnings"].as_array().cloned().unwrap_or_default();
        warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut of_records = Vec::new();
    for _ in 0..200 {
        of_records = warnings("records").await;
        if of_records.contains(&"index_running".to_owned()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(of_records.contains(&"index_running".to_owned()), "{of_records:?}");
    let of_code = warnings("both").await;
    assert!(of_code.iter().all(|code| code != "index_running" && code != "vectors_pending"), "{of_code:?}");
    embedder.set_open(true);
}
