//! Each project has its own model; another one comes only when somebody says so twice.

use std::process::Stdio;
use std::sync::atomic::Ordering;

use contract::ProjectId;
use contract::config::Variant;
use serde_json::{Value, json};
use store::{self, DecidedBy, ModelFacts};

use super::{MINILM, Toy, arguments, ask, both_variants, build, build_error, shop, status, wait_for};
use crate::harness::{
    PROGRAM, app, app_with, app_with_embedder, app_with_model_and, home, project, result, try_call,
};

const QUESTION: &str = "how do people sign in";

#[tokio::test(flavor = "multi_thread")]
async fn projects_of_two_variants_are_searched_side_by_side_whatever_the_default_is() {
    both_variants();
    let real = app_with_model_and(|config| config.assets.variant = Variant::Int8);
    let (quick, exact, repository) = (project("quick"), project("exact"), shop());
    build(&real, &repository, &quick, json!({})).await;
    let report = build(&real, &repository, &exact, json!({ "model": format!("{MINILM}:fp32") })).await;
    assert_eq!(report["vectorsEmbedded"], 3, "{report:#}");
    for (project, variant) in [(&quick, "int8"), (&exact, "fp32")] {
        let model = status(&real, project).await["model"].take();
        assert_eq!(model, json!({ "id": MINILM, "variant": variant, "dimensions": 384 }));
    }
    // The second application's default is the stub, and only one of the two may stay loaded.
    for app in [&real, &app_with(|config| config.embedding.models_loaded_max = 1)] {
        for project in [&quick, &exact, &quick] {
            assert_eq!(ask(app, project, QUESTION).await, ("a.py".to_owned(), true, vec![]), "{project}");
        }
        // A run that names no model, or the one it has, goes on with it.
        repository.write("d.py", &format!("def added_{}():\n    return 1\n", app.worker.replace('-', "_")));
        for more in [json!({}), json!({ "model": MINILM })] {
            let report = build(app, &repository, &exact, more).await;
            assert_eq!(report["vectorsPending"], 0, "{report:#}");
        }
    }
    let unknown = build_error(&real, &repository, &exact, json!({ "model": "no-such-model" })).await;
    assert_eq!(unknown["code"], "INVALID_REQUEST", "{unknown:#}");
    for bad in [json!({ "model": "m:fp16" }), json!({ "confirmReembed": true })] {
        assert_eq!(build_error(&real, &repository, &exact, bad).await["code"], "INVALID_REQUEST");
    }
    let twice = json!({ "model": MINILM, "stubEmbeddings": true });
    assert_eq!(build_error(&real, &repository, &exact, twice).await["code"], "INVALID_REQUEST");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_not_installed_costs_the_vectors_and_is_said() {
    let (project, repository) = (project("away"), shop());
    build(&app_with_embedder(Toy::new("away", 16, true)), &repository, &project, json!({})).await;
    let elsewhere = app();
    let (first, vectors, warnings) = ask(&elsewhere, &project, "paint rectangle").await;
    assert_eq!((first.as_str(), vectors, warnings), ("b.py", false, vec!["model_mismatch".to_owned()]));
    repository.write("d.py", "def newcomer():\n    return 1\n");
    let report = build(&elsewhere, &repository, &project, json!({})).await;
    assert_eq!((&report["vectorsEmbedded"], &report["vectorsPending"]), (&json!(0), &json!(1)), "{report:#}");
    assert!(report["notes"][0].as_str().unwrap().contains("away (int8) is not installed"), "{report:#}");
    assert_eq!(status(&elsewhere, &project).await["model"]["id"], "away");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_comes_only_with_a_confirmation_and_embeds_everything() {
    let (project, repository, second) = (project("change"), shop(), shop());
    second.write("only_here.py", "def only_in_the_second():\n    return 2\n");
    let before = app();
    build(&before, &repository, &project, json!({})).await;
    build(&before, &second, &project, json!({})).await;
    let after = app_with_embedder(Toy::new("toy", 16, true));

    let refused = build_error(&after, &repository, &project, json!({ "model": "toy" })).await;
    assert_eq!((&refused["code"], &refused["details"]["vectors"]), (&json!("ILLEGAL_STATE"), &json!(4)));
    assert_eq!(refused["details"]["pinned"]["id"], "stub", "{refused:#}");
    assert!(refused["hint"].as_str().unwrap().contains("confirmReembed"), "{refused:#}");
    assert_eq!(status(&before, &project).await["model"]["id"], "stub", "nothing was changed");
    assert_eq!(ask(&before, &project, "paint").await, ("b.py".to_owned(), true, vec![]));

    let confirmed = json!({ "model": "toy", "confirmReembed": true });
    let report = build(&after, &repository, &project, confirmed.clone()).await;
    // The texts of both repositories, though one was read.
    assert_eq!((&report["vectorsEmbedded"], &report["filesUnchanged"]), (&json!(4), &json!(3)), "{report:#}");
    let now = status(&after, &project).await;
    assert_eq!(now["model"], json!({ "id": "toy", "variant": "int8", "dimensions": 16 }));
    assert_eq!((&now["vectors"], &now["vectorsPending"]), (&json!(4), &json!(0)));
    let states: Vec<&Value> = now["repositories"].as_array().unwrap().iter().map(|r| &r["state"]).collect();
    assert_eq!(states, ["ready", "ready"], "{now:#}");
    assert_eq!(ask(&after, &project, "paint").await, ("b.py".to_owned(), true, vec![]));
    // Once more changes nothing.
    assert_eq!(build(&after, &repository, &project, confirmed).await["vectorsEmbedded"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_was_cut_off_is_finished_by_the_next_run() {
    let (project, repository) = (project("cut"), shop());
    build(&app(), &repository, &project, json!({})).await;
    let toy = Toy::new("toy", 16, false);
    let after = app_with_embedder(toy.clone());
    let id = ProjectId::parse(&project).unwrap();
    // As after a kill between the transaction and the run.
    let store = after.store().await.unwrap();
    let open = || async { tenancy::open(store, &id, DecidedBy::Argument).await.unwrap().unwrap() };
    let facts = ModelFacts::of(after.embedder().await.unwrap().model());
    assert!(store::repin(store, &open().await, &facts).await.unwrap());
    assert!(!store::repin(store, &open().await, &facts).await.unwrap(), "it has that model already");
    let (first, _, warnings) = ask(&after, &project, "paint rectangle").await;
    assert_eq!((first.as_str(), warnings), ("b.py", vec!["vectors_pending".to_owned()]), "words answer");

    // As after a kill while it embeds: the call is given up.
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
    assert_eq!(ask(&after, &project, "paint").await, ("b.py".to_owned(), true, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_the_former_model_writes_no_vector_after_the_change() {
    let (project, repository) = (project("fence"), shop());
    // Vectors of one length, so that the database itself would take the wrong ones.
    let (former, latter) = (Toy::new("former", 32, false), Toy::new("latter", 32, false));
    let (before, after) = (app_with_embedder(former.clone()), app_with_embedder(latter.clone()));
    let begun =
        result(&before, "build_index", arguments(&repository, &project, json!({ "wait": false }))).await;
    wait_for("the former run to embed", async || {
        status(&before, &project).await["jobs"][0]["progress"]["phase"] == "embed"
    })
    .await;
    let change = tokio::spawn({
        let (after, confirmed) = (after.clone(), json!({ "model": "latter", "confirmReembed": true }));
        let arguments = arguments(&repository, &project, confirmed);
        async move { result(&after, "build_index", arguments).await }
    });
    wait_for("the change", async || status(&after, &project).await["model"]["id"] == "latter").await;
    former.open.store(true, Ordering::Release);
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(status(&after, &project).await["vectors"], 0, "the former model wrote");
    latter.open.store(true, Ordering::Release);
    let changed = change.await.unwrap();
    assert_eq!(changed["jobId"], begun["jobId"], "the run went over to the new model");
    assert_eq!(changed["report"]["vectorsEmbedded"], 3, "{changed:#}");
    assert_eq!(ask(&after, &project, "paint").await, ("b.py".to_owned(), true, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stub_is_for_new_projects_and_for_those_who_say_so_twice() {
    let real = app_with_model_and(|_| {});
    let (tried, serious, repository) = (project("tried"), project("serious"), shop());
    let stub = json!({ "stubEmbeddings": true });
    build(&real, &repository, &tried, stub.clone()).await;
    assert_eq!(status(&real, &tried).await["model"]["id"], "stub");
    assert_eq!(ask(&real, &tried, "paint rectangle").await, ("b.py".to_owned(), true, vec![]));
    build(&real, &repository, &tried, json!({ "stubEmbeddings": false })).await;
    build(&real, &repository, &tried, stub.clone()).await;

    build(&real, &repository, &serious, json!({})).await;
    let refused = build_error(&real, &repository, &serious, stub).await;
    assert_eq!(refused["code"], "ILLEGAL_STATE", "{refused:#}");
    let confirmed = json!({ "stubEmbeddings": true, "confirmReembed": true });
    assert_eq!(build(&real, &repository, &serious, confirmed).await["vectorsEmbedded"], 3);
    assert_eq!(status(&real, &serious).await["model"]["id"], "stub");
}

/// Runs the program over the shared home; gives the exit code and the envelope.
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
async fn the_command_line_lists_models_and_changes_a_projects_model_even_after_a_kill() {
    both_variants();
    let (id, repository) = (project("cli"), shop());
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
    assert_eq!(ask(&app, &id, QUESTION).await, ("a.py".to_owned(), true, vec![]));

    let (code, back) =
        cli(&["index", &root, "--project", &id, "--model", &format!("{MINILM}:int8"), "--yes"]).await;
    assert_eq!((code, &back["result"]["report"]["vectorsEmbedded"]), (Some(0), &json!(3)), "{back:#}");
    let (_, listed) = cli(&["models"]).await;
    let models = listed["result"]["models"].as_array().unwrap();
    let int8 = models.iter().find(|model| model["id"] == MINILM && model["variant"] == "int8").unwrap();
    assert_eq!(int8["state"], "present", "{listed:#}");
    assert!(int8["projects"].as_array().unwrap().contains(&json!(id)), "{listed:#}");
    let (code, there) = cli(&["models", "download", MINILM, "--variant", "fp32"]).await;
    assert_eq!((code, &there["result"]["models"][0]["state"]), (Some(0), &json!("present")), "{there:#}");
}
