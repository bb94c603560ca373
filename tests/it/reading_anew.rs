//! What is stored follows the settings and the program: read anew when they change, never written by an older program.

use contract::config::Config;
use serde_json::{Value, json};

use crate::harness::{Repository, app, app_with, call, project, result};
use crate::upkeep::{footprint, number, run, schema};

async fn build(change: impl FnOnce(&mut Config), project: &str, repository: &Repository) -> Value {
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    result(&app_with(change), "build_index", arguments).await["report"].take()
}

/// The stored text of everything that holds `word`.
async fn stored(project: &str, word: &str) -> i64 {
    number(&format!("SELECT count(*) FROM {}.chunks WHERE content LIKE '%{word}%'", schema(project))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_limit_reaches_files_that_did_not_change() {
    let id = project("limits");
    let large = format!("def drawer():\n    return '{}'\n", "coins ".repeat(60));
    let repository = Repository::new(&[("large.py", &large), ("small.py", "def vault():\n    return 7\n")]);
    let tight = |config: &mut Config| config.indexing.file_bytes_max = 100;
    assert_eq!(build(tight, &id, &repository).await["files"], 1);
    assert_eq!(stored(&id, "drawer").await, 0);
    assert_eq!(build(tight, &id, &repository).await["filesChanged"], 0, "nothing changed");
    let wide = build(|_| {}, &id, &repository).await;
    assert_eq!((&wide["files"], stored(&id, "drawer").await), (&json!(2), 1), "{wide:#}");
    let again = build(|_| {}, &id, &repository).await;
    assert_eq!((&again["filesChanged"], &again["vectorsEmbedded"]), (&json!(0), &json!(0)), "{again:#}");
    assert_eq!(build(tight, &id, &repository).await["files"], 1);
    assert_eq!(stored(&id, "drawer").await, 0, "what is too large now is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn redaction_that_is_turned_on_reaches_what_is_stored() {
    let id = project("redaction");
    // In two parts, so that nobody takes this file for one that holds a secret.
    let secret = format!("AKIA{}", "QYLPMN5HHHFPZAM2");
    let repository =
        Repository::new(&[("cloud.py", &format!("def connect():\n    return login('{secret}')\n"))]);
    build(|config| config.indexing.redact_secrets = false, &id, &repository).await;
    assert_eq!(stored(&id, &secret).await, 1);
    let report = build(|_| {}, &id, &repository).await;
    assert_eq!(report["secretsRedacted"], 1, "{report:#}");
    assert_eq!((stored(&id, &secret).await, stored(&id, "REDACTED").await), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_program_reads_what_a_newer_one_wrote_and_leaves_it_alone() {
    let (app, id) = (app(), project("newer"));
    let repository = Repository::new(&[("cash.py", "def drawer():\n    return 'coins'\n")]);
    let of_it = |mut arguments: Value| {
        arguments["project_id"] = json!(id);
        arguments
    };
    let index = || call(&app, "build_index", of_it(json!({ "repoPath": repository.root() })));
    assert_eq!(index().await["ok"], true);
    let version =
        number(&format!("SELECT search_version::int8 FROM pairofcleats.projects WHERE id = '{id}'")).await;
    let set = |version: i64| {
        let text = format!("UPDATE pairofcleats.projects SET search_version = {version} WHERE id = '{id}'");
        async move { run(&text).await }
    };
    set(version + 1).await;
    let before = footprint(&app, &id).await;
    repository.write("cash.py", "def drawer():\n    return 'notes'\n");
    let payload = json!({ "source": "manual", "payload": [{ "title": "coins" }] });
    for (tool, arguments) in [
        ("build_index", json!({ "repoPath": repository.root() })),
        ("build_index", json!({ "repoPath": repository.root(), "wait": false })),
        ("triage_ingest", payload),
        ("clean_artifacts", json!({ "all": true })),
    ] {
        let answer = call(&app, tool, of_it(arguments)).await;
        assert_eq!(answer["error"]["code"], "ILLEGAL_STATE", "{tool}: {answer:#}");
        assert!(answer["error"]["hint"].as_str().unwrap().contains("Upgrade"), "{tool}: {answer:#}");
    }
    assert_eq!(footprint(&app, &id).await, before);
    let found = result(&app, "search", of_it(json!({ "query": "drawer" }))).await;
    assert_eq!(found["hits"][0]["file"], "cash.py", "{found:#}");
    set(version).await;
    assert_eq!(index().await["ok"], true);
}
