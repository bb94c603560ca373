//! Portable index files: built from real rows, read by our own search and by stock SQLite, with and without Postgres.

mod agreement;
mod artifacts;
mod build;
mod commit_artifacts;
mod foreign;
mod killed;
mod offline;
mod stock;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};

use crate::filters::shop::IndexedProject;
use crate::harness::{home, result};

/// The path of the project's portable file.
fn index_file(project: &str) -> PathBuf {
    home().join("projects").join(project).join("index.sqlite")
}

/// Builds the project's portable file; the result of the tool.
async fn build_index_file(app: &Arc<App>, project: &str, arguments: Value) -> Value {
    let mut all = json!({ "project_id": project });
    all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    result(app, "build_sqlite_index", all).await
}

/// The indexed shop and its portable file.
async fn shop_with_index_file(app: Arc<App>, name: &str) -> (IndexedProject, PathBuf) {
    let shop = IndexedProject::shop(app, name).await;
    build_index_file(&shop.app, &shop.project, json!({})).await;
    let file = index_file(&shop.project);
    assert!(file.is_file());
    (shop, file)
}

/// The sorted names of all files in the folder of `file`.
fn files_beside(file: &Path) -> Vec<String> {
    let folder = std::fs::read_dir(file.parent().unwrap()).unwrap();
    let mut names: Vec<String> =
        folder.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
