//! `search --sqlite FILE` with no Postgres at all: a home without anything installed.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::foreign::by_stock;
use super::{export, exported_shop, file_of};
use crate::filters::shop::{Shop, shown};
use crate::harness::{PROGRAM, Repository, app, app_with_model, project, result};

/// The envelope of `search order --sqlite FILE` in a home of its own.
fn search(home: &Path, file: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(PROGRAM);
    // A database that cannot be reached: whoever tries fails.
    command.env("PAIROFCLEATS_HOME", home).env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
    command.args(["search", "--json", "--sqlite"]).arg(file).args(arguments);
    let output = command.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&stdout).unwrap_or_else(|error| {
        panic!("{arguments:?}: {error}: {stdout}{}", String::from_utf8_lossy(&output.stderr))
    })
}

fn warnings(envelope: &Value) -> Vec<&str> {
    let all = envelope["_meta"]["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_answers_without_a_database_and_without_a_model() {
    let (shop, file) = exported_shop(app(), "offline").await;
    let home = tempfile::tempdir().unwrap();
    let moved = home.path().join("carried off.sqlite");
    std::fs::copy(&file, &moved).unwrap();
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
        let expected = shop.ask("order", arguments).await;
        let found = search(home.path(), &moved, flags);
        assert!(!shown(&expected).is_empty(), "{flags:?}");
        assert_eq!(found["result"]["hits"], expected["hits"], "{flags:?}: {found:#}");
    }
    // The vectors of words' hashes, with which the shop is indexed, need nothing installed.
    let with_stub = search(home.path(), &moved, &["order"]);
    assert_eq!(with_stub["result"]["vectors"], "exact", "{with_stub:#}");
    let name = shop.main.path().file_name().unwrap().to_string_lossy().into_owned();
    let of_one = search(home.path(), &moved, &["order", "--repo", &name, "--no-ann", "--output", "full"]);
    assert!(of_one["result"]["hits"].as_array().unwrap().iter().all(|hit| hit["repo"] == name), "{of_one:#}");
    let nothing = search(home.path(), &moved, &["order", "--repo", "no-such-repository"]);
    assert_eq!(nothing["error"]["code"], "NO_INDEX", "{nothing:#}");
    let postgres = search(home.path(), &moved, &["order", "--backend", "postgres"]);
    assert_eq!(postgres["error"]["code"], "INVALID_REQUEST", "{postgres:#}");
    assert!(home.path().read_dir().unwrap().count() <= 1, "nothing was made beside the file");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_model_meaning_counts_and_another_model_is_said() {
    let app = app_with_model();
    let (project, repository) = (
        project("offline-model"),
        Repository::new(&[
            ("a.py", "def refresh_session(token):\n    return renew(token)\n"),
            ("b.py", "def paint_wall(colour):\n    return brush(colour)\n"),
        ]),
    );
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let shop = Shop::of(app, project, repository);
    export(&shop.app, &shop.project, json!({})).await;
    let file = file_of(&shop.project);
    let found = search(crate::harness::home(), &file, &["keep", "a", "session", "alive"]);
    assert_eq!(found["result"]["vectors"], "exact", "{found:#}");
    let expected = shop.ask("keep a session alive", json!({ "mode": null, "top": null })).await;
    assert_eq!(found["result"]["hits"], expected["hits"]);
    assert_eq!(shown(&expected)[0], "a.py");

    let bare = tempfile::tempdir().unwrap();
    let without_model = search(bare.path(), &file, &["refresh", "session"]);
    assert_eq!(without_model["result"]["vectors"], "none", "{without_model:#}");
    assert_eq!(warnings(&without_model), ["no_model"]);
    assert_eq!(shown(&without_model["result"])[0], "a.py");

    // A model of the same name that is not the one that is installed.
    let moved = bare.path().join("other.sqlite");
    std::fs::copy(&file, &moved).unwrap();
    by_stock(&moved, "UPDATE meta SET value = 'aa' WHERE key = 'modelHash'");
    let other = search(crate::harness::home(), &moved, &["refresh", "session"]);
    assert_eq!(other["result"]["vectors"], "none", "{other:#}");
    assert_eq!(warnings(&other), ["model_mismatch"]);
}
