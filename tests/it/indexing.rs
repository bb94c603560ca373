//! Index runs: what is indexed, what is skipped, and that a second run repeats no work.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::blocked_embedder::BlockedEmbedder;
use crate::harness::{Repository, app, app_with_own_queue, call, project, result};

const GREETER: &str =
    "def greet_the_visitor(name):\n    \"\"\"Says hello.\"\"\"\n    return f'hello {name}'\n";
const LEDGER: &str = "pub fn balance_of_ledger(entries: &[i64]) -> i64 {\n    entries.iter().sum()\n}\n";

fn two_files() -> Repository {
    Repository::new(&[("greeter.py", GREETER), ("src/ledger.rs", LEDGER)])
}

async fn build(app: &std::sync::Arc<gate::app::App>, repository: &Repository, project: &str) -> Value {
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let mut answer = result(app, "build_index", arguments).await;
    assert_eq!(answer["state"], "succeeded");
    answer["report"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_repository_is_not_read_again_and_an_edit_changes_one_file() {
    let (app, repository, project) = (app(), two_files(), project("incremental"));
    let first = build(&app, &repository, &project).await;
    assert_eq!((&first["files"], &first["filesChanged"]), (&json!(2), &json!(2)), "{first:#}");
    assert!(first["vectorsEmbedded"].as_u64().unwrap() >= 2, "{first:#}");
    assert_eq!(first["vectorsPending"], 0);

    let second = build(&app, &repository, &project).await;
    assert_eq!(second["filesChanged"], 0, "{second:#}");
    assert_eq!(second["filesUnchanged"], 2);
    assert_eq!(second["vectorsEmbedded"], 0);
    assert_eq!(second["chunks"], first["chunks"]);

    repository.write("greeter.py", &GREETER.replace("hello", "good evening"));
    let third = build(&app, &repository, &project).await;
    assert_eq!((&third["filesChanged"], &third["filesUnchanged"]), (&json!(1), &json!(1)), "{third:#}");
    assert_eq!(third["vectorsEmbedded"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_reads_everything_and_embeds_nothing_again() {
    let (app, repository, project) = (app(), two_files(), project("full"));
    build(&app, &repository, &project).await;
    let full = json!({ "repoPath": repository.root(), "project_id": project, "incremental": false });
    let report = &result(&app, "build_index", full).await["report"];
    assert_eq!((&report["filesChanged"], &report["vectorsEmbedded"]), (&json!(2), &json!(0)), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_file_is_not_embedded_again() {
    let (app, repository, project) = (app(), two_files(), project("moved"));
    build(&app, &repository, &project).await;
    repository.write("lib/accounts.rs", LEDGER);
    repository.remove("src/ledger.rs");
    let report = build(&app, &repository, &project).await;
    assert_eq!((&report["filesChanged"], &report["filesRemoved"]), (&json!(1), &json!(1)), "{report:#}");
    assert_eq!(report["vectorsEmbedded"], 0, "{report:#}");

    let found =
        result(&app, "search_code", json!({ "query": "balance_of_ledger", "project_id": project })).await;
    assert_eq!(found["results"][0]["file_path"], "lib/accounts.rs");
}

#[tokio::test(flavor = "multi_thread")]
async fn touching_a_file_without_changing_it_rewrites_nothing() {
    let (app, repository, project) = (app(), two_files(), project("touched"));
    build(&app, &repository, &project).await;
    let file = std::fs::File::options().append(true).open(repository.path().join("greeter.py")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();
    let report = build(&app, &repository, &project).await;
    assert_eq!((&report["filesChanged"], &report["filesUnchanged"]), (&json!(0), &json!(2)), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn skipped_files_are_reported_with_their_reason() {
    let (app, project) = (app(), project("skipped"));
    let repository = two_files();
    repository.write(".gitignore", "ignored.py\n");
    repository.write("ignored.py", "secret_of_the_ignored = 1\n");
    repository.write("picture.bin", "a\0b\0c");
    repository.write(".env", "TOKEN=abc\n");
    repository.write("node_modules/x/index.js", "function vendored_thing() {}\n");
    std::fs::create_dir(repository.path().join(".git")).unwrap();
    let report = build(&app, &repository, &project).await;
    let reasons: Vec<&str> =
        report["skipped"].as_array().unwrap().iter().map(|s| s["reason"].as_str().unwrap()).collect();
    for reason in ["binary", "secret_file", "vendored"] {
        assert!(reasons.contains(&reason), "{reason} is not in {reasons:?}");
    }
    for word in ["secret_of_the_ignored", "vendored_thing"] {
        let found =
            result(&app, "search_code", json!({ "query": format!("\"{word}\""), "project_id": project }))
                .await;
        assert_eq!(found["total_count"], 0, "{found:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_redacted_before_they_are_stored() {
    let (app, project) = (app(), project("secrets"));
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let repository = Repository::new(&[(
        "deploy.py",
        &format!("def deploy():\n    token = '{token}'\n    return token\n"),
    )]);
    let report = build(&app, &repository, &project).await;
    assert_eq!(report["secretsRedacted"], 1, "{report:#}");
    let found = result(&app, "search_code", json!({ "query": "deploy token", "project_id": project })).await;
    let content = found["results"][0]["content"].as_str().unwrap();
    assert!(!content.contains(&token) && content.contains("[REDACTED:"), "{content}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_of_a_file_decides_what_is_a_secret_in_it() {
    let (app, project) = (app(), project("file-secrets"));
    let value = ["k9Xw2QpLr7", "Tz4VbN8mYc"].concat();
    let repository = Repository::new(&[
        ("config/app.yml", &format!("harbour:\n  api_token: {value}\n")),
        ("config/app.properties", &format!("harbour.api.token={value}\n")),
        ("harbour.sh", &format!("export HARBOUR_TOKEN={value}\n")),
        ("harbour.md", &format!("# Harbour\n\ncurl -H \"Authorization: Bearer {value}\" https://harbour\n")),
        ("harbour.py", &format!("def harbour():\n    api_token = {value}\n    return api_token\n")),
        ("credentials.rs", &format!("fn harbour() {{ connect(\"amqp://app:{value}@mq\"); }}\n")),
    ]);
    for name in ["prod.env", "kubeconfig.yaml", "credentials", ".vault-token", "terraform.tfvars"] {
        repository.write(name, &format!("harbour: {value}\n"));
    }
    let report = build(&app, &repository, &project).await;
    assert_eq!(report["secretsRedacted"], 5, "{report:#}");
    let skipped = report["skipped"].as_array().unwrap();
    let secret_files = skipped.iter().find(|entry| entry["reason"] == "secret_file").unwrap();
    assert_eq!(secret_files["count"], 5, "{report:#}");
    let found = result(&app, "search_code", json!({ "query": "harbour", "project_id": project })).await;
    let found = found["results"].as_array().unwrap();
    let with_value: Vec<&str> = found
        .iter()
        .filter(|hit| hit.to_string().contains(&value))
        .map(|hit| hit["file_path"].as_str().unwrap_or_default())
        .collect();
    // An expression in code is not a secret.
    assert_eq!(with_value, ["harbour.py"], "{found:#?}");
    assert!(found.iter().any(|hit| hit.to_string().contains("credentials.rs")), "{found:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_index_equals_a_fresh_one() {
    let (app, repository) = (app(), two_files());
    let (edited, fresh) = (project("edited"), project("fresh"));
    build(&app, &repository, &edited).await;
    repository.write("src/ledger.rs", &format!("{LEDGER}\npub fn close_ledger() {{}}\n"));
    repository.write("notes.md", "# Notes\n\nWhy the ledger balances.\n\n## More\n\nText.\n");
    repository.remove("greeter.py");
    build(&app, &repository, &edited).await;
    build(&app, &repository, &fresh).await;
    for query in ["ledger", "close", "why does it balance", "greet"] {
        let mut answers = Vec::new();
        for project in [&edited, &fresh] {
            let arguments = json!({ "query": query, "project_id": project, "limit": 50 });
            let mut found = result(&app, "search_code", arguments).await;
            let hits = found["results"].as_array_mut().unwrap();
            hits.iter_mut().for_each(|hit| drop(hit.as_object_mut().unwrap().remove("chunk_id")));
            answers.push(found["results"].take());
        }
        assert_eq!(answers[0], answers[1], "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_inside_an_indexed_repository_is_indexed_with_a_warning() {
    let (app, project, repository) = (app(), project("overlap"), two_files());
    build(&app, &repository, &project).await;
    let inner = json!({ "repoPath": format!("{}/src", repository.root()), "project_id": project });
    let warnings = call(&app, "build_index", inner).await["_meta"]["warnings"].take();
    assert_eq!(warnings[0]["code"], "repositories_overlap", "{warnings:#}");
    let message = warnings[0]["message"].as_str().unwrap();
    assert!(message.starts_with("This directory lies in the indexed repository"), "{message}");
    let outer = json!({ "repoPath": repository.root(), "project_id": project });
    let warnings = call(&app, "build_index", outer).await["_meta"]["warnings"].take();
    let message = warnings[0]["message"].as_str().unwrap();
    assert!(message.starts_with("This directory contains the indexed repository `src`"), "{message}");
}

async fn wait_for(what: &str, mut reached: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !reached().await {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn words_are_searchable_while_vectors_are_pending_and_a_warning_says_so() {
    let embedder = BlockedEmbedder::closed();
    let app = app_with_own_queue(embedder.clone());
    let (repository, project) = (two_files(), project("meanwhile"));
    let arguments = json!({ "repoPath": repository.root(), "project_id": project, "wait": false });
    let started = result(&app, "build_index", arguments.clone()).await;
    assert_eq!(started["attached"], false, "{started:#}");

    let query = json!({ "query": "balance_of_ledger", "project_id": project });
    wait_for("words to be searchable", async || {
        let answer = call(&app, "search", query.clone()).await;
        answer["result"]["hits"][0]["file"] == "src/ledger.rs"
    })
    .await;
    let answer = call(&app, "search", query.clone()).await;
    let warnings: Vec<&str> =
        answer["_meta"]["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect();
    assert!(warnings.contains(&"index_running") && warnings.contains(&"vectors_pending"), "{answer:#}");
    let joined = result(&app, "build_index", arguments).await;
    assert_eq!((&joined["attached"], &joined["jobId"]), (&json!(true), &started["jobId"]));

    embedder.set_open(true);
    let status = json!({ "project_id": project });
    wait_for("the run to end", async || {
        result(&app, "index_status", status.clone()).await["jobs"][0]["state"] == "succeeded"
    })
    .await;
    let answer = call(&app, "search", query).await;
    assert!(answer["_meta"].get("warnings").is_none(), "{answer:#}");
    assert_eq!(answer["result"]["vectors"], "exact");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_only_grows_and_ends_complete() {
    use gate::tools::{self, Caller, Progress, Request, Surface};
    let (app, repository, project) = (app(), two_files(), project("progress"));
    /// Completed units, and the total if it is known.
    type Step = (f64, Option<f64>);
    let seen: Arc<Mutex<Vec<Step>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let request = Request {
        progress: Progress::to(move |update| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).push((update.done, update.total))
        }),
        ..Request::new("build_index", arguments, Caller::local(Surface::Cli))
    };
    assert!(tools::call(&app, request).await.unwrap().ok);
    let seen = seen.lock().unwrap();
    assert!(seen.is_sorted_by_key(|(done, _)| *done), "{seen:?}");
    let (done, total) = *seen.last().unwrap();
    assert!(done > 0.0, "{seen:?}");
    assert_eq!(Some(done), total, "{seen:?}");
}
