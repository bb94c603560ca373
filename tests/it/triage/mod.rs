//! Security findings: what is read of each format, what is kept, who finds it, and what is refused.

mod decisions;
mod ingest;
mod limits;
mod packs;

use std::sync::Arc;

use pairofcleats::app::App;
use serde_json::{Value, json};

use crate::harness::result;

/// Reports as scanners write them.
pub(super) const DEPENDABOT: &str = include_str!("reports/dependabot.json");
pub(super) const INSPECTOR: &str = include_str!("reports/inspector.json");
pub(crate) const SARIF: &str = include_str!("reports/scan.sarif");
pub(crate) const GENERIC: &str = include_str!("reports/generic.jsonl");

/// Ingests a report that is sent along; `more` are further arguments.
pub(crate) async fn ingest(app: &Arc<App>, project: &str, source: &str, text: &str, more: Value) -> Value {
    result(app, "triage_ingest", ingestion(project, source, text, more)).await
}

pub(super) fn ingestion(project: &str, source: &str, text: &str, more: Value) -> Value {
    let mut arguments = json!({ "source": source, "payload": text, "project_id": project });
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    arguments
}

/// Ids of the records that pass a `meta` filter, sorted.
pub(super) async fn with_meta(app: &Arc<App>, project: &str, meta: Value) -> Vec<String> {
    let arguments = json!({ "query": "NOT lang:rust", "mode": "records", "meta": meta, "top": 100, "project_id": project });
    let found = result(app, "search", arguments).await;
    let mut ids: Vec<String> = found["hits"].as_array().unwrap().iter().map(id_of).collect();
    ids.sort();
    ids.dedup();
    ids
}

fn id_of(hit: &Value) -> String {
    let file = hit["file"].as_str().unwrap();
    file.strip_prefix("triage/records/").unwrap().strip_suffix(".md").unwrap().to_owned()
}

/// The id at a place of `recordIds`.
pub(super) fn id(ingested: &Value, at: usize) -> String {
    ingested["recordIds"][at].as_str().unwrap().to_owned()
}

/// The text of a record.
pub(super) async fn text(app: &Arc<App>, project: &str, id: &str) -> String {
    let path = format!("triage/records/{id}.md");
    let shown = result(app, "show_file", json!({ "path": path, "project_id": project })).await;
    assert_eq!(shown["changedSinceIndexed"], false, "{shown:#}");
    shown["text"].as_str().unwrap().to_owned()
}
