//! `download_models`: every field, offline from wheels, mending, and who may call it.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use contract::config::Variant;
use pairofcleats::app::App;
use pairofcleats::tools::{self, Caller, Progress, Request, Surface};
use serde_json::{Value, json};

use super::{MINILM, both_variants, build, shop, wheels};
use crate::harness::{app_in, app_with_model_and, error, project, result};

/// An installation without anything.
fn empty(home: &Path) -> Arc<App> {
    app_in(home, |config| {
        config.assets.python = "no-such-python".to_owned();
        config.assets.variant = Variant::Int8;
    })
}

async fn one(app: &Arc<App>, arguments: Value) -> Value {
    let mut answer = result(app, "download_models", arguments).await;
    assert_eq!(answer["models"].as_array().unwrap().len(), 1, "{answer:#}");
    answer["models"][0].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_imported_side_by_side_and_mended() {
    let (home, from) = (tempfile::tempdir().unwrap(), wheels());
    let app = empty(home.path());
    let graph = |variant: &str| home.path().join(format!("models/{MINILM}-{variant}/model.onnx"));

    let seen: Arc<Mutex<Vec<(f64, String)>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let request = Request {
        progress: Progress::to(move |update| sink.lock().unwrap().push((update.done, update.message))),
        ..Request::new("download_models", json!({ "from": from }), Caller::local(Surface::Cli))
    };
    assert!(tools::call(&app, request).await.unwrap().ok);
    assert!(graph("int8").is_file(), "the configured model in the configured variant");
    {
        let seen = seen.lock().unwrap();
        assert!(seen.iter().map(|(done, _)| *done).is_sorted(), "{seen:?}");
        assert!(seen.iter().any(|(_, message)| message.contains("converting")), "{seen:?}");
    }

    let exact = one(&app, json!({ "model": MINILM, "variant": "fp32", "from": from })).await;
    assert_eq!((&exact["state"], &exact["variant"]), (&json!("installed"), &json!("fp32")));
    assert_eq!((&exact["dimensions"], &exact["tokensMax"]), (&json!(384), &json!(256)));
    assert!(exact["bytes"].as_u64().unwrap() > 60_000_000, "{exact:#}");
    assert!(graph("int8").is_file() && graph("fp32").is_file());

    // What is there needs no source.
    let all = result(&app, "download_models", json!({ "model": "all" })).await;
    assert_eq!((&all["model"], &all["models"][0]["state"]), (&json!("all"), &json!("present")), "{all:#}");
    let mut bytes = fs::read(graph("fp32")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(graph("fp32"), &bytes).unwrap();
    let mended = one(&app, json!({ "variant": "fp32" })).await;
    assert_eq!(mended["state"], "repaired", "from the kept download");
    bytes[middle] ^= 1;
    assert!(fs::read(graph("fp32")).unwrap() == bytes);

    // For another machine: nothing here changes.
    fs::remove_dir_all(graph("int8").parent().unwrap()).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let brought = one(&app, json!({ "cacheDir": elsewhere.path() })).await;
    assert_eq!(brought["state"], "installed");
    assert!(
        elsewhere.path().join(format!("{MINILM}-int8/tokenizer.json")).is_file() && !graph("int8").exists()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_had_is_named_and_paths_are_whole() {
    let home = tempfile::tempdir().unwrap();
    let (app, nothing) = (empty(home.path()), tempfile::tempdir().unwrap());
    let lacking = error(&app, "download_models", json!({ "from": nothing.path() })).await;
    assert_eq!(lacking["code"], "CAPABILITY_MISSING");
    assert!(lacking["hint"].as_str().unwrap().contains(".whl"), "{lacking:#}");
    let unknown = error(&app, "download_models", json!({ "model": "gpt" })).await;
    assert_eq!(unknown["code"], "INVALID_REQUEST");
    assert!(unknown["hint"].as_str().unwrap().contains(MINILM), "{unknown:#}");
    for field in ["from", "cacheDir", "repoPath"] {
        let refused = error(&app, "download_models", json!({ field: "relative/folder" })).await;
        assert_eq!(refused["code"], "INVALID_REQUEST", "{refused:#}");
        assert!(refused["message"].as_str().unwrap().contains(field), "{refused:#}");
    }
    let altered = tempfile::tempdir().unwrap();
    for wheel in fs::read_dir(wheels()).unwrap().flatten() {
        if wheel.path().extension().is_some_and(|e| e == "whl") {
            fs::write(altered.path().join(wheel.file_name()), "another file").unwrap();
        }
    }
    let wrong = error(&app, "download_models", json!({ "from": altered.path() })).await;
    assert_eq!(wrong["code"], "DOWNLOAD_VERIFY_FAILED", "{wrong:#}");
    assert!(!home.path().join("models").exists(), "nothing was installed");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_the_projects_one_is_meant() {
    both_variants();
    let app = app_with_model_and(|config| config.assets.variant = Variant::Int8);
    let (exact, repository) = (project("exact"), shop());
    build(&app, &repository, &exact, json!({ "model": format!("{MINILM}:fp32") })).await;
    let variant = async |arguments: Value| one(&app, arguments).await["variant"].take();
    assert_eq!(variant(json!({})).await, "int8", "the configured one");
    assert_eq!(variant(json!({ "project_id": exact })).await, "fp32");
    assert_eq!(variant(json!({ "project_id": exact, "variant": "int8" })).await, "int8");
    repository.write(".pairofcleats.json", &json!({ "project_id": exact }).to_string());
    assert_eq!(variant(json!({ "repoPath": repository.root() })).await, "fp32");
    let absent = error(&app, "download_models", json!({ "project_id": project("absent") })).await;
    assert_eq!(absent["code"], "NO_INDEX");
}
