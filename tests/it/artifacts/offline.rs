//! Machines without a network: the files of the product's manifest come out of a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::clock::SystemClock;
use contract::config::Layout;
use pairofcleats::app::App;
use serde_json::{Value, json};

use super::names;
use crate::harness::{PROGRAM, app, error, result};

/// An application in a home of its own, whose Python is that.
fn app_in(home: &Path, python: &str) -> Arc<App> {
    let mut config = app().config.clone();
    config.assets.python = python.to_owned();
    // Nobody is asked what is outdated: there is no database here.
    config.database.url = Some("postgres://nobody@127.0.0.1:1/none".to_owned());
    Arc::new(App::new(config, Layout::new(home.to_owned()), Arc::new(SystemClock), PathBuf::from(PROGRAM)))
}

#[tokio::test(flavor = "multi_thread")]
async fn wheels_come_out_of_a_folder_and_force_fetches_them_anew() {
    let homes = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let connected = app_in(homes[0].path(), "python3");
    let calls = [("download_dictionaries", "en"), ("download_extensions", "sqlite-vec")];
    for (tool, _) in calls {
        result(&connected, tool, json!({})).await;
    }
    let wheels = homes[0].path().join("downloads");
    assert_eq!(names(&wheels).len(), 2, "{:?}", names(&wheels));

    let (alone, empty) = (app_in(homes[1].path(), "/no/such/python"), tempfile::tempdir().unwrap());
    let name = |said: &Value| said["downloaded"][0].get("name").unwrap_or(&said["downloaded"][0]).clone();
    for (tool, wanted) in calls {
        for arguments in [json!({}), json!({ "from": empty.path() })] {
            assert_eq!(error(&alone, tool, arguments).await["code"], "CAPABILITY_MISSING", "{tool}");
        }
        let brought = result(&alone, tool, json!({ "from": wheels })).await;
        assert_eq!(name(&brought), wanted, "{brought:#}");
        let present = result(&alone, tool, json!({})).await;
        assert_eq!(present["skipped"][0]["reason"], "present", "{present:#}");
        let anew = error(&alone, tool, json!({ "force": true })).await;
        assert_eq!(anew["code"], "CAPABILITY_MISSING", "anew means from its source: {anew:#}");
        assert_eq!(name(&result(&alone, tool, json!({ "force": true, "from": wheels })).await), wanted);
    }
    assert_eq!(names(&homes[1].path().join("dictionaries")), ["dictionaries.json", "en.txt"]);
    assert_eq!(names(&homes[1].path().join("extensions"))[0], "extensions.json");
}
