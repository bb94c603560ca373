//! Each project is pinned to one model, which changes only on explicit confirmation.

use std::process::Stdio;
use std::sync::atomic::Ordering;

use contract::ProjectId;
use contract::config::Variant;
use serde_json::{Value, json};
use store::{self, DecidedBy, ModelFacts};

use super::{
    MINILM, ToyEmbedder, arguments, both_variants, build, build_error, search, small_repository, status,
    wait_for,
};
use crate::harness::{
    PROGRAM, app, app_with, app_with_embedder, app_with_model_and, app_with_own_queue, home, project, result,
    try_call,
};

const QUERY: &str = "how do people sign in";

#[tokio::test(flavor = "multi_thread")]
async fn projects_keep_their_own_model_whatever_the_default_is() {
    both_variants();
    let real = app_with_model_and(|config| config.assets.variant = Variant::Int8);
    let (int8_project, fp32_project, repository) = (project("quick"), project("exact"), small_repository());
    build(&real, &repository, &int8_project, json!({})).await;
    let report = build(&real, &repository, &fp32_project, json!({ "model": format!("{MINILM}:fp32") })).await;
    assert_eq!(report["vectorsEmbedded"], 3, "{report:#}");
    for (project, variant) in [(&int8_project, "int8"), (&fp32_project, "fp32")] {
        let model = status(&real, project).await["model"].take();
        assert_eq!(model, json!({ "id": MINILM, "variant": variant, "dimensions": 384 }));
    }
    // The second application's default is the stub, and only one of the two may stay loaded.
    for app in [&real, &app_with(|config| config.embedding.models_loaded_max = 1)] {
        for project in [&int8_project, &fp32_project, &int8_project] {
            assert_eq!(search(app, project, QUERY).await, ("a.py".to_owned(), true, vec![]), "{project}");
        }
        // A run that names no model, or the project's own, keeps the project's model.
        repository.write("d.py", &format!("def added_{}():\n    return 1\n", app.worker.replace('-', "_")));
        for extra in [json!({}), json!({ "model": MINILM })] {
            let report = build(app, &repository, &fp32_project, extra).await;
            assert_eq!(report["vectorsPending"], 0, "{report:#}");
        }
    }
    let unknown = build_error(&real, &repository, &fp32_project, json!({ "model": "no-such-model" })).await;
    assert_eq!(unknown["code"], "INVALID_REQUEST", "{unknown:#}");
    for bad in [json!({ "model": "m:fp16" }), json!({ "confirmReembed": true })] {
        assert_eq!(build_error(&real, &repository, &fp32_project, bad).await["code"], "INVALID_REQUEST");
    }
    let both_models = json!({ "model": MINILM, "stubEmbeddings": true });
    assert_eq!(build_error(&real, &repository, &fp32_project, both_models).await["code"], "INVALID_REQUEST");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_model_a_project_is_searched_lexically_with_a_warning() {
    let (project, repository) = (project("away"), small_repository());
    build(&app_with_embedder(ToyEmbedder::new("away", 16, true)), &repository, &project, json!({})).await;
    let elsewhere = app();
    let (first, vectors, warnings) = search(&elsewhere, &project, "paint rectangle").await;
    assert_eq!((first.as_str(), vectors, warnings), ("b.py", false, vec!["model_mismatch".to_owned()]));
    repository.write("d.py", "def newcomer():\n    return 1\n");
    let report = build(&elsewhere, &repository, &project, json!({})).await;
    assert_eq!((&report["vectorsEmbedded"], &report["vectorsPending"]), (&json!(0), &json!(1)), "{report:#}");
    assert!(report["notes"][0].as_str().unwrap().contains("away (int8) is not installed"), "{report:#}");
    assert_eq!(status(&elsewhere, &project).await["model"]["id"], "away");
}

#[tokio::test(flavor = "multi_thread")]
async fn changing_the_model_needs_confirmation_and_embeds_everything_again() {
    let (project, repository, second) = (project("change"), small_repository(), small_repository());
    second.write("only_here.py", "def only_in_the_second():\n    return 2\n");
    let before = app();
    build(&before, &repository, &project, json!({})).await;
    build(&before, &second, &project, json!({})).await;
    let after = app_with_embedder(ToyEmbedder::new("toy", 16, true));

    let refused = build_error(&after, &repository, &project, json!({ "model": "toy" })).await;
    assert_eq!((&refused["code"], &refused["details"]["vectors"]), (&json!("ILLEGAL_STATE"), &json!(4)));
    assert_eq!(refused["details"]["pinned"]["id"], "stub", "{refused:#}");
    assert!(refused["hint"].as_str().unwrap().contains("confirmReembed"), "{refused:#}");
    assert_eq!(status(&before, &project).await["model"]["id"], "stub", "nothing was changed");
    assert_eq!(search(&before, &project, "paint").await, ("b.py".to_owned(), true, vec![]));

    let confirmed = json!({ "model": "toy", "confirmReembed": true });
    let report = build(&after, &repository, &project, confirmed.clone()).await;
    // The texts of both repositories, although only one was read.
    assert_eq!((&report["vectorsEmbedded"], &report["filesUnchanged"]), (&json!(4), &json!(3)), "{report:#}");
    let now = status(&after, &project).await;
    assert_eq!(now["model"], json!({ "id": "toy", "variant": "int8", "dimensions": 16 }));
    assert_eq!((&now["vectors"], &now["vectorsPending"]), (&json!(4), &json!(0)));
    let states: Vec<&Value> = now["repositories"].as_array().unwrap().iter().map(|r| &r["state"]).collect();
    assert_eq!(states, ["ready", "ready"], "{now:#}");
    assert_eq!(search(&after, &project, "paint").await, ("b.py".to_owned(), true, vec![]));
    // Repeating the change does nothing.
    assert_eq!(build(&after, &repository, &project, confirmed).await["vectorsEmbedded"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_model_change_is_finished_by_the_next_run() {
    let (project, repository) = (project("cut"), small_repository());
    build(&app(), &repository, &project, json!({})).await;
    let toy = ToyEmbedder::new("toy", 16, false);
    let after = app_with_embedder(toy.clone());
    let id = ProjectId::parse(&project).unwrap();
    // As after a kill between the transaction and the run.
    let store = after.store().await.unwrap();
    let open = || async { tenancy::open(store, &id, DecidedBy::Argument).await.unwrap().unwrap() };
    let model_facts = ModelFacts::from(after.embedder().await.unwrap().model());
    assert!(store::change_model(store, &open().await, &model_facts).await.unwrap());
    assert!(
        !store::change_model(store, &open().await, &model_facts).await.unwrap(),
        "the project already has that model"
    );
    let (first, _, warnings) = search(&after, &project, "paint rectangle").await;
    assert_eq!(
        (first.as_str(), warnings),
        ("b.py", vec!["vectors_pending".to_owned()]),
        "lexical search answers"
    );

    // As after a kill while the run embeds: the call is aborted.
    let confirmed = json!({ "model": "toy", "confirmReembed": true });
    let running = tokio::spawn({
        let (after, arguments) = (after.clone(), arguments(&repository, &project, confirmed.clone()));
        async move { try_call(&after, "build_index", arguments).await }
    });
    wait_for("the run to embed", async || {
        status(&after, &project).await["jobs"][0]["progress"]["phase"] == "embed"
    })
    .await;
    running.abort();
    wait_for("the run to stop", async || status(&after, &project).await["jobs"][0]["state"] != "running")
        .await;
    toy.open.store(true, Ordering::Release);
    let report = build(&after, &repository, &project, confirmed).await;
    assert_eq!((&report["vectorsEmbedded"], &report["vectorsPending"]), (&json!(3), &json!(0)), "{report:#}");
    assert_eq!(search(&after, &project, "paint").await, ("b.py".to_owned(), true, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_the_old_model_writes_no_vector_after_the_change() {
    let (project, repository) = (project("fence"), small_repository());
    // Both models have the same dimension, so that the database alone would accept vectors of the wrong one.
    let (old_model, new_model) =
        (ToyEmbedder::new("former", 32, false), ToyEmbedder::new("latter", 32, false));
    let (before, after) = (app_with_own_queue(old_model.clone()), app_with_own_queue(new_model.clone()));
    let started =
        result(&before, "build_index", arguments(&repository, &project, json!({ "wait": false }))).await;
    wait_for("the old run to embed", async || {
        status(&before, &project).await["jobs"][0]["progress"]["phase"] == "embed"
    })
    .await;
    let change = tokio::spawn({
        let (after, confirmed) = (after.clone(), json!({ "model": "latter", "confirmReembed": true }));
        let arguments = arguments(&repository, &project, confirmed);
        async move { result(&after, "build_index", arguments).await }
    });
    wait_for("the change", async || status(&after, &project).await["model"]["id"] == "latter").await;
    old_model.open.store(true, Ordering::Release);
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(status(&after, &project).await["vectors"], 0, "the old model wrote no vector");
    new_model.open.store(true, Ordering::Release);
    let changed = change.await.unwrap();
    assert_eq!(changed["jobId"], started["jobId"], "the same job continued with the new model");
    assert_eq!(changed["report"]["vectorsEmbedded"], 3, "{changed:#}");
    assert_eq!(search(&after, &project, "paint").await, ("b.py".to_owned(), true, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stub_is_for_new_projects_or_after_confirmation() {
    let real = app_with_model_and(|_| {});
    let (stub_project, model_project, repository) =
        (project("tried"), project("serious"), small_repository());
    let stub = json!({ "stubEmbeddings": true });
    build(&real, &repository, &stub_project, stub.clone()).await;
    assert_eq!(status(&real, &stub_project).await["model"]["id"], "stub");
    assert_eq!(search(&real, &stub_project, "paint rectangle").await, ("b.py".to_owned(), true, vec![]));
    build(&real, &repository, &stub_project, json!({ "stubEmbeddings": false })).await;
    build(&real, &repository, &stub_project, stub.clone()).await;

    build(&real, &repository, &model_project, json!({})).await;
    let refused = build_error(&real, &repository, &model_project, stub).await;
    assert_eq!(refused["code"], "ILLEGAL_STATE", "{refused:#}");
    let confirmed = json!({ "stubEmbeddings": true, "confirmReembed": true });
    assert_eq!(build(&real, &repository, &model_project, confirmed).await["vectorsEmbedded"], 3);
    assert_eq!(status(&real, &model_project).await["model"]["id"], "stub");
}

/// Runs the program with the shared home. Returns the exit code and the envelope.
async fn cli(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = tokio::process::Command::new(PROGRAM)
        .args(["--home", home().to_str().unwrap(), "--json", "-q"])
        .args(arguments)
        .output()
        .await
        .unwrap();
    let line = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), serde_json::from_str(&line).unwrap_or(Value::Null))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_lists_models_and_resumes_a_killed_model_change() {
    both_variants();
    let (id, repository) = (project("cli"), small_repository());
    let root = repository.root();
    let (code, built) = cli(&["index", &root, "--project", &id, "--stub-embeddings", "--mode", "code"]).await;
    assert_eq!(code, Some(0), "{built:#}");
    let (code, refused) = cli(&["projects", "model", &id, MINILM, "--variant", "fp32"]).await;
    assert_eq!((code, &refused["error"]["code"]), (Some(1), &json!("ILLEGAL_STATE")), "{refused:#}");

    let change = ["projects", "model", &id, MINILM, "--variant", "fp32", "--yes"];
    let mut killed = tokio::process::Command::new(PROGRAM)
        .args(["--home", home().to_str().unwrap(), "-q"])
        .args(change)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let app = app();
    wait_for("the change", async || status(&app, &id).await["model"]["variant"] == "fp32").await;
    killed.kill().await.unwrap();
    let (code, changed) = cli(&change).await;
    assert_eq!(code, Some(0), "{changed:#}");
    assert_eq!(changed["result"]["vectorsPending"], 0, "{changed:#}");
    let now = status(&app, &id).await;
    assert_eq!((&now["vectors"], &now["vectorsPending"]), (&json!(3), &json!(0)), "{now:#}");
    assert_eq!(now["repositories"][0]["state"], "ready", "{now:#}");
    assert_eq!(search(&app, &id, QUERY).await, ("a.py".to_owned(), true, vec![]));

    let (code, back) =
        cli(&["index", &root, "--project", &id, "--model", &format!("{MINILM}:int8"), "--yes"]).await;
    assert_eq!((code, &back["result"]["report"]["vectorsEmbedded"]), (Some(0), &json!(3)), "{back:#}");
    let (_, listed) = cli(&["models"]).await;
    let models = listed["result"]["models"].as_array().unwrap();
    let int8 = models.iter().find(|model| model["id"] == MINILM && model["variant"] == "int8").unwrap();
    assert_eq!(int8["state"], "present", "{listed:#}");
    assert!(int8["projects"].as_array().unwrap().contains(&json!(id)), "{listed:#}");
    let (code, installed) = cli(&["models", "download", MINILM, "--variant", "fp32"]).await;
    assert_eq!(
        (code, &installed["result"]["models"][0]["state"]),
        (Some(0), &json!("present")),
        "{installed:#}"
    );
}
