//! Portable index files: made from real rows, read by our own search and by stock SQLite, with and without Postgres.

mod agreement;
mod build;
mod foreign;
mod killed;
mod offline;
mod stock;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pairofcleats::app::App;
use serde_json::{Value, json};

use crate::filters::shop::Shop;
use crate::harness::{home, result};

/// The project's own file.
fn file_of(project: &str) -> PathBuf {
    home().join("projects").join(project).join("index.sqlite")
}

/// Makes the project's file.
async fn export(app: &Arc<App>, project: &str, arguments: Value) -> Value {
    let mut all = json!({ "project_id": project });
    all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    result(app, "build_sqlite_index", all).await
}

/// The shop with its file.
async fn exported_shop(app: Arc<App>, name: &str) -> (Shop, PathBuf) {
    let shop = Shop::open(app, name).await;
    export(&shop.app, &shop.project, json!({})).await;
    let file = file_of(&shop.project);
    assert!(file.is_file());
    (shop, file)
}

/// Names of what lies beside a file.
fn beside(file: &Path) -> Vec<String> {
    let folder = std::fs::read_dir(file.parent().unwrap()).unwrap();
    let mut names: Vec<String> =
        folder.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
