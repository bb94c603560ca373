//! `search --sqlite FILE` with no Postgres at all: a home without anything installed.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::foreign::run_sqlite_script;
use super::{build_index_file, index_file, shop_with_index_file};
use crate::filters::shop::{IndexedProject, hit_files};
use crate::harness::{PROGRAM, Repository, app, app_with_model, project, result};

/// The envelope that `search --sqlite FILE` prints with the home directory `home`.
fn search(home: &Path, file: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(PROGRAM);
    // A database that cannot be reached, so that any attempt to use it fails.
    command.env("PAIROFCLEATS_HOME", home).env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
    command.args(["search", "--json", "--sqlite"]).arg(file).args(arguments);
    let output = command.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&stdout).unwrap_or_else(|error| {
        panic!("{arguments:?}: {error}: {stdout}{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// The codes of an envelope's warnings.
fn warning_codes(envelope: &Value) -> Vec<&str> {
    let all = envelope["_meta"]["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_answers_without_a_database_and_without_a_model() {
    let (shop, file) = shop_with_index_file(app(), "offline").await;
    let home = tempfile::tempdir().unwrap();
    let copy = home.path().join("carried off.sqlite");
    std::fs::copy(&file, &copy).unwrap();
    for (flags, arguments) in [
        (&["order", "--no-ann"][..], json!({ "ann": false, "mode": null, "top": null })),
        (
            &["order", "--no-ann", "--lang", "py,go", "--output", "full"],
            json!({ "ann": false, "lang": "py,go", "output": "full", "mode": null }),
        ),
        (
            &["order", "--no-ann", "--mode", "prose", "--top", "3"],
            json!({ "ann": false, "mode": "prose", "top": 3 }),
        ),
        (
            &["order", "--backend", "sqlite-fts", "--async"],
            json!({ "backend": "sqlite-fts", "async": true, "mode": null }),
        ),
    ] {
        let expected = shop.search("order", arguments).await;
        let found = search(home.path(), &copy, flags);
        assert!(!hit_files(&expected).is_empty(), "{flags:?}");
        assert_eq!(found["result"]["hits"], expected["hits"], "{flags:?}: {found:#}");
    }
    // The shop is indexed with the stub embedder, which needs no installed model.
    let with_stub = search(home.path(), &copy, &["order"]);
    assert_eq!(with_stub["result"]["vectors"], "exact", "{with_stub:#}");
    let name = shop.repository.path().file_name().unwrap().to_string_lossy().into_owned();
    let of_one = search(home.path(), &copy, &["order", "--repo", &name, "--no-ann", "--output", "full"]);
    assert!(of_one["result"]["hits"].as_array().unwrap().iter().all(|hit| hit["repo"] == name), "{of_one:#}");
    let nothing = search(home.path(), &copy, &["order", "--repo", "no-such-repository"]);
    assert_eq!(nothing["error"]["code"], "NO_INDEX", "{nothing:#}");
    let postgres = search(home.path(), &copy, &["order", "--backend", "postgres"]);
    assert_eq!(postgres["error"]["code"], "INVALID_REQUEST", "{postgres:#}");
    assert!(home.path().read_dir().unwrap().count() <= 1, "nothing was created beside the file");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installed_model_adds_dense_search_and_another_model_gives_a_warning() {
    let app = app_with_model();
    let (project, repository) = (
        project("offline-model"),
        Repository::new(&[
            ("a.py", "def refresh_session(token):\n    return renew(token)\n"),
            ("b.py", "def paint_wall(colour):\n    return brush(colour)\n"),
        ]),
    );
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let indexed = IndexedProject::new(app, project, repository);
    build_index_file(&indexed.app, &indexed.project, json!({})).await;
    let file = index_file(&indexed.project);
    let found = search(crate::harness::home(), &file, &["keep", "a", "session", "alive"]);
    assert_eq!(found["result"]["vectors"], "exact", "{found:#}");
    let expected = indexed.search("keep a session alive", json!({ "mode": null, "top": null })).await;
    assert_eq!(found["result"]["hits"], expected["hits"]);
    assert_eq!(hit_files(&expected)[0], "a.py");

    let empty_home = tempfile::tempdir().unwrap();
    let without_model = search(empty_home.path(), &file, &["refresh", "session"]);
    assert_eq!(without_model["result"]["vectors"], "none", "{without_model:#}");
    assert_eq!(warning_codes(&without_model), ["no_model"]);
    assert_eq!(hit_files(&without_model["result"])[0], "a.py");

    // The file's vectors are of a model with the same name as the installed one but another hash.
    let copy = empty_home.path().join("other.sqlite");
    std::fs::copy(&file, &copy).unwrap();
    run_sqlite_script(&copy, "UPDATE meta SET value = 'aa' WHERE key = 'modelHash'");
    let other = search(crate::harness::home(), &copy, &["refresh", "session"]);
    assert_eq!(other["result"]["vectors"], "none", "{other:#}");
    assert_eq!(warning_codes(&other), ["model_mismatch"]);
}
