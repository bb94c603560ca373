//! Stored rows follow the settings and the program: files are read again when these change, and an older program writes
//! nothing.

use contract::config::Config;
use serde_json::{Value, json};

use crate::harness::{Repository, app, app_with, call, project, result};
use crate::upkeep::{execute_sql, query_number, schema, stored_state};

async fn build(change: impl FnOnce(&mut Config), project: &str, repository: &Repository) -> Value {
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    result(&app_with(change), "build_index", arguments).await["report"].take()
}

/// The number of chunks whose stored text contains `word`.
async fn chunks_with(project: &str, word: &str) -> i64 {
    query_number(&format!("SELECT count(*) FROM {}.chunks WHERE content LIKE '%{word}%'", schema(project)))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_limit_applies_to_unchanged_files() {
    let id = project("limits");
    let large = format!("def drawer():\n    return '{}'\n", "coins ".repeat(60));
    let repository = Repository::new(&[("large.py", &large), ("small.py", "def vault():\n    return 7\n")]);
    let tight = |config: &mut Config| config.indexing.file_bytes_max = 100;
    assert_eq!(build(tight, &id, &repository).await["files"], 1);
    assert_eq!(chunks_with(&id, "drawer").await, 0);
    assert_eq!(build(tight, &id, &repository).await["filesChanged"], 0, "nothing changed");
    let wide = build(|_| {}, &id, &repository).await;
    assert_eq!((&wide["files"], chunks_with(&id, "drawer").await), (&json!(2), 1), "{wide:#}");
    let again = build(|_| {}, &id, &repository).await;
    assert_eq!((&again["filesChanged"], &again["vectorsEmbedded"]), (&json!(0), &json!(0)), "{again:#}");
    assert_eq!(build(tight, &id, &repository).await["files"], 1);
    assert_eq!(chunks_with(&id, "drawer").await, 0, "a file that is now too large is removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn redaction_applies_to_stored_text_once_it_is_turned_on() {
    let id = project("redaction");
    // In two parts, so that secret scanners do not report this file.
    let secret = format!("AKIA{}", "QYLPMN5HHHFPZAM2");
    let repository =
        Repository::new(&[("cloud.py", &format!("def connect():\n    return login('{secret}')\n"))]);
    build(|config| config.indexing.redact_secrets = false, &id, &repository).await;
    assert_eq!(chunks_with(&id, &secret).await, 1);
    let report = build(|_| {}, &id, &repository).await;
    assert_eq!(report["secretsRedacted"], 1, "{report:#}");
    assert_eq!((chunks_with(&id, &secret).await, chunks_with(&id, "REDACTED").await), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_program_can_read_but_not_write_a_newer_project() {
    let (app, id) = (app(), project("newer"));
    let repository = Repository::new(&[("cash.py", "def drawer():\n    return 'coins'\n")]);
    let in_project = |mut arguments: Value| {
        arguments["project_id"] = json!(id);
        arguments
    };
    let index = || call(&app, "build_index", in_project(json!({ "repoPath": repository.root() })));
    assert_eq!(index().await["ok"], true);
    let version =
        query_number(&format!("SELECT search_version::int8 FROM pairofcleats.projects WHERE id = '{id}'"))
            .await;
    let set_version = |version: i64| {
        let text = format!("UPDATE pairofcleats.projects SET search_version = {version} WHERE id = '{id}'");
        async move { execute_sql(&text).await }
    };
    set_version(version + 1).await;
    let before = stored_state(&app, &id).await;
    repository.write("cash.py", "def drawer():\n    return 'notes'\n");
    let payload = json!({ "source": "manual", "payload": [{ "title": "coins" }] });
    for (tool, arguments) in [
        ("build_index", json!({ "repoPath": repository.root() })),
        ("build_index", json!({ "repoPath": repository.root(), "wait": false })),
        ("triage_ingest", payload),
        ("clean_artifacts", json!({ "all": true })),
    ] {
        let answer = call(&app, tool, in_project(arguments)).await;
        assert_eq!(answer["error"]["code"], "ILLEGAL_STATE", "{tool}: {answer:#}");
        assert!(answer["error"]["hint"].as_str().unwrap().contains("Upgrade"), "{tool}: {answer:#}");
    }
    assert_eq!(stored_state(&app, &id).await, before);
    let found = result(&app, "search", in_project(json!({ "query": "drawer" }))).await;
    assert_eq!(found["hits"][0]["file"], "cash.py", "{found:#}");
    set_version(version).await;
    assert_eq!(index().await["ok"], true);
}
