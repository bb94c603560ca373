//! Security findings: what each report format becomes, what is stored and found, and what is refused.

mod decisions;
mod formats;
mod identity;
mod incomplete;
mod ingest;
mod limits;
mod packs;
mod scanners;
mod sources;

use std::process::{Command, Stdio};
use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};

use crate::harness::{PROGRAM, home, result};

/// Reports as scanners write them.
pub(super) const DEPENDABOT: &str = include_str!("reports/dependabot.json");
pub(super) const INSPECTOR: &str = include_str!("reports/inspector.json");
pub(crate) const SARIF: &str = include_str!("reports/scan.sarif");
pub(crate) const GENERIC: &str = include_str!("reports/generic.jsonl");

/// Ingests the report `text`; `extra` are further arguments.
pub(crate) async fn ingest(app: &Arc<App>, project: &str, source: &str, text: &str, extra: Value) -> Value {
    result(app, "triage_ingest", ingest_arguments(project, source, text, extra)).await
}

/// The arguments that `ingest` sends.
pub(super) fn ingest_arguments(project: &str, source: &str, text: &str, extra: Value) -> Value {
    let mut arguments = json!({ "source": source, "payload": text, "project_id": project });
    for (name, value) in extra.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    arguments
}

/// Ids of the records that pass a `meta` filter, sorted.
pub(super) async fn record_ids_with_meta(app: &Arc<App>, project: &str, meta: Value) -> Vec<String> {
    let arguments = json!({ "query": "NOT lang:rust", "mode": "records", "meta": meta, "top": 100, "project_id": project });
    let found = result(app, "search", arguments).await;
    let mut ids: Vec<String> = found["hits"].as_array().unwrap().iter().map(record_id_of_hit).collect();
    ids.sort();
    ids.dedup();
    ids
}

fn record_id_of_hit(hit: &Value) -> String {
    let file = hit["file"].as_str().unwrap();
    file.strip_prefix("triage/records/").unwrap().strip_suffix(".md").unwrap().to_owned()
}

/// The id at position `at` of `recordIds`.
pub(super) fn record_id(ingested: &Value, at: usize) -> String {
    ingested["recordIds"][at].as_str().unwrap().to_owned()
}

/// The text of a record, which must be the indexed text.
pub(super) async fn record_text(app: &Arc<App>, project: &str, id: &str) -> String {
    let path = format!("triage/records/{id}.md");
    let shown = result(app, "show_file", json!({ "path": path, "project_id": project })).await;
    assert_eq!(shown["changedSinceIndexed"], false, "{shown:#}");
    shown["text"].as_str().unwrap().to_owned()
}

/// Runs `pairofcleats triage`: exit code, stdout, stderr.
pub(super) fn run_triage(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(PROGRAM)
        .arg("triage")
        .args(arguments)
        .env("PAIROFCLEATS_HOME", home())
        .env_remove("DATABASE_URL")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}
