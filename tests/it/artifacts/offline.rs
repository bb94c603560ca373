//! Machines without a network: the files of the product's manifest are read from a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::clock::SystemClock;
use contract::config::Layout;
use gate::app::App;
use serde_json::{Value, json};

use super::visible_files;
use crate::harness::{PROGRAM, app, error, modules, result};

/// An application with the home directory `home` that runs `python` as its Python.
fn app_in(home: &Path, python: &str) -> Arc<App> {
    let mut config = app().config.clone();
    config.assets.python = python.to_owned();
    if !Path::new(python).is_relative() {
        // Nothing listens there, so that no index that this machine's pip knows is asked.
        config.assets.package_index = Some("http://127.0.0.1:1/".to_owned());
    }
    // There is no database, so nothing is reported as outdated.
    config.database.url = Some("postgres://nobody@127.0.0.1:1/none".to_owned());
    Arc::new(App::new(
        config,
        Layout::new(home.to_owned()),
        Arc::new(SystemClock),
        PathBuf::from(PROGRAM),
        modules(),
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn wheels_are_read_from_a_folder_and_force_reads_them_again() {
    let homes = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let connected = app_in(homes[0].path(), "python3");
    let calls = [("download_dictionaries", "en"), ("download_extensions", "sqlite-vec")];
    for (tool, _) in calls {
        result(&connected, tool, json!({})).await;
    }
    let wheels = homes[0].path().join("downloads");
    assert_eq!(visible_files(&wheels).len(), 2, "{:?}", visible_files(&wheels));

    let (offline, empty) = (app_in(homes[1].path(), "/no/such/python"), tempfile::tempdir().unwrap());
    let name =
        |answer: &Value| answer["downloaded"][0].get("name").unwrap_or(&answer["downloaded"][0]).clone();
    for (tool, expected) in calls {
        for arguments in [json!({}), json!({ "from": empty.path() })] {
            assert_eq!(error(&offline, tool, arguments).await["code"], "CAPABILITY_MISSING", "{tool}");
        }
        let downloaded = result(&offline, tool, json!({ "from": wheels })).await;
        assert_eq!(name(&downloaded), expected, "{downloaded:#}");
        let present = result(&offline, tool, json!({})).await;
        assert_eq!(present["skipped"][0]["reason"], "present", "{present:#}");
        let forced = error(&offline, tool, json!({ "force": true })).await;
        assert_eq!(forced["code"], "CAPABILITY_MISSING", "force reads from the source again: {forced:#}");
        assert_eq!(name(&result(&offline, tool, json!({ "force": true, "from": wheels })).await), expected);
    }
    assert_eq!(visible_files(&homes[1].path().join("dictionaries")), ["dictionaries.json", "en.txt"]);
    assert_eq!(visible_files(&homes[1].path().join("extensions"))[0], "extensions.json");
}
