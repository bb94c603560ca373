//! The instruction catalog: what is stored, how clients keep up with it, and what is refused.

mod applied;
mod archive;
mod catalog;
mod command_line;
mod concurrent;
mod dashboard;
mod folders;
mod gates_and_review;
mod http;
mod listed;
mod semantic;
mod stale;
mod synchronise;
mod usage;

use std::sync::Arc;

use contract::config::Config;
use gate::app::App;
use serde_json::{Value, json};

use crate::harness::{app_with, result};

/// An application whose operator allows writes, as all test applications do.
pub(crate) fn writable_app() -> Arc<App> {
    app_with(allow_writes)
}

/// An application as it is by default: writes are refused.
pub(crate) fn closed_app() -> Arc<App> {
    app_with(|config| config.instructions.mutation = false)
}

pub(crate) fn allow_writes(config: &mut Config) {
    config.instructions.mutation = true;
}

/// An entry with this id and body.
pub(crate) fn entry(id: &str, body: &str) -> Value {
    json!({ "id": id, "title": format!("Title of {id}"), "body": body, "priority": 50, "audience": "all",
        "requirement": "recommended", "categories": ["Test"] })
}

/// Imports entries; `extra` are further arguments.
pub(crate) async fn import(app: &Arc<App>, project: &str, entries: &[Value], extra: Value) -> Value {
    result(app, "instructions_import", import_arguments(project, entries, extra)).await
}

pub(crate) fn import_arguments(project: &str, entries: &[Value], extra: Value) -> Value {
    let mut arguments = json!({ "entries": entries, "project_id": project });
    for (name, value) in extra.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    arguments
}

/// The ids of the entries in a list.
pub(crate) fn ids(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

/// Waits until no index run of the project is queued or in progress.
pub(crate) async fn wait_until_indexed(app: &Arc<App>, project: &str) {
    for _ in 0..600 {
        let status = result(app, "index_status", json!({ "project_id": project })).await;
        let jobs = status["jobs"].as_array().unwrap();
        if jobs.iter().all(|job| !matches!(job["state"].as_str(), Some("queued" | "running"))) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the index run of {project} does not end");
}

/// SHA-256 as the standard tool computes it.
pub(crate) fn sha256sum(text: &str) -> String {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut child = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().split_whitespace().next().unwrap().to_owned()
}
