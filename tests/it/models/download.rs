//! `download_models`: every argument, offline import from wheels, repair, and which project's model is the default.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use contract::config::Variant;
use gate::app::App;
use gate::tools::{self, Caller, Progress, Request, Surface};
use serde_json::{Value, json};

use super::{MINILM, both_variants, build, small_repository, wheels};
use crate::harness::{app_in, app_with_model_and, error, project, result};

/// An installation without assets.
fn app_without_assets(home: &Path) -> Arc<App> {
    app_in(home, |config| {
        // Nothing listens there, so that no index that this machine's pip knows is asked.
        config.assets.package_index = Some("http://127.0.0.1:1/".to_owned());
        config.assets.python = "no-such-python".to_owned();
        config.assets.variant = Variant::Int8;
    })
}

async fn download_one(app: &Arc<App>, arguments: Value) -> Value {
    let mut answer = result(app, "download_models", arguments).await;
    assert_eq!(answer["models"].as_array().unwrap().len(), 1, "{answer:#}");
    answer["models"][0].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn variants_are_imported_side_by_side_and_repaired() {
    let (home, from) = (tempfile::tempdir().unwrap(), wheels());
    let app = app_without_assets(home.path());
    let graph_path = |variant: &str| home.path().join(format!("models/{MINILM}-{variant}/model.onnx"));

    let updates: Arc<Mutex<Vec<(f64, String)>>> = Arc::default();
    let sink = Arc::clone(&updates);
    let request = Request {
        progress: Progress::to(move |update| sink.lock().unwrap().push((update.done, update.message))),
        ..Request::new("download_models", json!({ "from": from }), Caller::local(Surface::Cli))
    };
    assert!(tools::call(&app, request).await.unwrap().ok);
    assert!(graph_path("int8").is_file(), "the configured model in the configured variant");
    {
        let updates = updates.lock().unwrap();
        assert!(updates.iter().map(|(done, _)| *done).is_sorted(), "{updates:?}");
        assert!(updates.iter().any(|(_, message)| message.contains("converting")), "{updates:?}");
    }

    let exact = download_one(&app, json!({ "model": MINILM, "variant": "fp32", "from": from })).await;
    assert_eq!((&exact["state"], &exact["variant"]), (&json!("installed"), &json!("fp32")));
    assert_eq!((&exact["dimensions"], &exact["tokensMax"]), (&json!(384), &json!(256)));
    assert!(exact["bytes"].as_u64().unwrap() > 60_000_000, "{exact:#}");
    assert!(graph_path("int8").is_file() && graph_path("fp32").is_file());

    // Installed models need no source.
    let all = result(&app, "download_models", json!({ "model": "all" })).await;
    assert_eq!((&all["model"], &all["models"][0]["state"]), (&json!("all"), &json!("present")), "{all:#}");
    let mut bytes = fs::read(graph_path("fp32")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(graph_path("fp32"), &bytes).unwrap();
    let repaired = download_one(&app, json!({ "variant": "fp32" })).await;
    assert_eq!(repaired["state"], "repaired", "from the kept download");
    bytes[middle] ^= 1;
    assert!(fs::read(graph_path("fp32")).unwrap() == bytes);

    // `cacheDir` prepares files for another machine; our own home does not change.
    fs::remove_dir_all(graph_path("int8").parent().unwrap()).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let exported = download_one(&app, json!({ "cacheDir": elsewhere.path() })).await;
    assert_eq!(exported["state"], "installed");
    assert!(
        elsewhere.path().join(format!("{MINILM}-int8/tokenizer.json")).is_file()
            && !graph_path("int8").exists()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_models_are_named_and_paths_must_be_absolute() {
    let home = tempfile::tempdir().unwrap();
    let (app, nothing) = (app_without_assets(home.path()), tempfile::tempdir().unwrap());
    let missing = error(&app, "download_models", json!({ "from": nothing.path() })).await;
    assert_eq!(missing["code"], "CAPABILITY_MISSING");
    assert!(missing["hint"].as_str().unwrap().contains(".whl"), "{missing:#}");
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
async fn without_a_model_argument_the_projects_model_is_downloaded() {
    both_variants();
    let app = app_with_model_and(|config| config.assets.variant = Variant::Int8);
    let (exact, repository) = (project("exact"), small_repository());
    build(&app, &repository, &exact, json!({ "model": format!("{MINILM}:fp32") })).await;
    let variant = async |arguments: Value| download_one(&app, arguments).await["variant"].take();
    assert_eq!(variant(json!({})).await, "int8", "the configured variant");
    assert_eq!(variant(json!({ "project_id": exact })).await, "fp32");
    assert_eq!(variant(json!({ "project_id": exact, "variant": "int8" })).await, "int8");
    repository.write(".pairofcleats.json", &json!({ "project_id": exact }).to_string());
    assert_eq!(variant(json!({ "repoPath": repository.root() })).await, "fp32");
    let absent = error(&app, "download_models", json!({ "project_id": project("absent") })).await;
    assert_eq!(absent["code"], "NO_INDEX");
}
