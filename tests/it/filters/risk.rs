//! The risk filters: flows within a file, flows between files, sinks without a flow, and custom rules of a repository.

use serde_json::{Value, json};

use super::shop::sorted_hit_files;
use crate::harness::{Repository, app, project, result};

const RUN: &str =
    "def run_order(request):\n    command = request.args.get('order')\n    os.system(command)\n";
const ROUTE: &str = "function route(req, res) {\n  const order = req.body;\n  storeOrder(order);\n}\n";
const STORE: &str =
    "function storeOrder(order) {\n  db.query(\"select * from orders where id = \" + order);\n}\n";
const DIGEST: &str = "import hashlib\n\ndef digest_order(order):\n    return hashlib.md5(order)\n";
const SAFE: &str = "def count_orders(orders):\n    return len(orders)\n";
const WIPE: &str = "def wipe_order(order):\n    warehouse.wipe(order)\n";

pub(crate) const FILES: &[(&str, &str)] = &[
    ("run.py", RUN),
    ("route.js", ROUTE),
    ("store.js", STORE),
    ("digest.py", DIGEST),
    ("safe.py", SAFE),
    ("wipe.py", WIPE),
];

/// A custom rule of the repository.
pub(crate) const CUSTOM_RULE: &str = r#"
[[rule]]
id = "sink.wipe"
kind = "sink"
name = "wipe"
category = "data-loss"
severity = "critical"
tags = ["irreversible"]
confidence = 0.9
languages = ["python"]
calls = ["warehouse.wipe"]
examples.python.positive = ["def f(s):\n    warehouse.wipe(s)\n"]
examples.python.negative = ["def f(s):\n    warehouse.count(s)\n"]
"#;

/// Field, value, and the files that pass.
pub(crate) const ROWS: &[(&str, &str, &[&str])] = &[
    ("risk", "command-exec", &["run.py"]),
    ("riskTag", "Irreversible", &["wipe.py"]),
    ("riskSource", "req.body", &["route.js", "store.js"]),
    ("riskSink", "wipe", &["wipe.py"]),
    ("riskSink", "sql.query", &["route.js", "store.js"]),
    ("riskCategory", "command", &["run.py"]),
    ("riskFlow", "->exec", &["run.py"]),
    ("riskFlow", "req.body->sql.query", &["route.js", "store.js"]),
    ("riskFlow", "req.body -> sql.query()", &["route.js", "store.js"]),
    ("riskSink", "wipe()", &["wipe.py"]),
];

/// Indexes `files` with the custom rules `rules` into a new project: its id, the repository, and the run's result.
pub(crate) async fn indexed(files: &[(&str, &str)], rules: &str) -> (String, Repository, Value) {
    let repository = Repository::new(files);
    repository.write(".pairofcleats/risk.toml", rules);
    let project = project("risk");
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let built = result(&app(), "build_index", arguments).await;
    (project, repository, built)
}

async fn search(project: &str, mut arguments: Value) -> Value {
    arguments["query"] = "order".into();
    arguments["project_id"] = project.into();
    arguments["top"] = 50.into();
    crate::harness::call(&app(), "search", arguments).await["result"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_risk_field_selects_exactly_its_files() {
    let (project, repository, _) = indexed(FILES, CUSTOM_RULE).await;
    let all = sorted_hit_files(&search(&project, json!({})).await);
    assert!(FILES.iter().all(|(path, _)| all.contains(&(*path).to_owned())), "{all:?}");
    let mut failures = Vec::new();
    for (field, value, expected) in ROWS {
        let found = sorted_hit_files(&search(&project, json!({ *field: value })).await);
        if found != *expected {
            failures.push(format!("{field} {value}: {found:?} instead of {expected:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");

    // Without the sink in the other file, there is no longer a flow.
    repository.write("store.js", "function storeOrder(order) {\n  remember(order);\n}\n");
    result(&app(), "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    assert!(
        sorted_hit_files(&search(&project, json!({ "riskFlow": "req.body->sql.query" })).await).is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_is_shown_with_its_evidence() {
    let (project, _repository, _) = indexed(FILES, "").await;
    let answer = search(&project, json!({ "riskFlow": "exec", "output": "full" })).await;
    let flow = &answer["hits"][0]["known"]["risk"]["flows"][0];
    assert_eq!(flow["sink"], "exec", "{answer:#}");
    assert_eq!((&flow["evidence"]["sourceLine"], &flow["evidence"]["sinkLine"]), (&json!(2), &json!(3)));
    assert_eq!(flow["evidence"]["excerpt"], "os.system(command)");
    let answer = search(&project, json!({ "riskFlow": "req.body->sql", "output": "full" })).await;
    let flow = &answer["hits"][0]["known"]["riskFromElsewhere"][0];
    assert_eq!(
        (&flow["scope"], &flow["via"]),
        (&json!("cross-file"), &json!(["route", "storeOrder"])),
        "{answer:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_custom_rules_are_ignored_and_reported() {
    let broken = CUSTOM_RULE.replace("warehouse.count(s)", "warehouse.wipe(s)");
    let (project, repository, built) = indexed(FILES, &broken).await;
    let note = built["report"]["notes"][0].as_str().unwrap().to_owned();
    assert!(note.contains("risk.toml") && note.contains("sink.wipe"), "{note}");
    assert!(sorted_hit_files(&search(&project, json!({ "riskSink": "wipe" })).await).is_empty());
    // Rules that cannot be read are reported as well.
    let rules_file = repository.path().join(".pairofcleats/risk.toml");
    std::fs::rename(&rules_file, repository.path().join("elsewhere.toml")).unwrap();
    std::os::unix::fs::symlink("../elsewhere.toml", &rules_file).unwrap();
    let index = json!({ "repoPath": repository.root(), "project_id": project });
    let built = result(&app(), "build_index", index.clone()).await;
    let note = built["report"]["notes"][0].as_str().unwrap().to_owned();
    assert!(note.contains("risk.toml") && note.contains("not a regular file"), "{note}");
    std::fs::remove_file(&rules_file).unwrap();
    // A banner that would keep a file out of the index does not keep rules from being read.
    let banner = "# This file was automatically generated by make. DO NOT EDIT.\n";
    // Once the rules are repaired, the next run reads all files again, although none of them changed.
    repository.write(".pairofcleats/risk.toml", &format!("{banner}{CUSTOM_RULE}"));
    result(&app(), "build_index", index).await;
    assert_eq!(sorted_hit_files(&search(&project, json!({ "riskSink": "wipe" })).await), ["wipe.py"]);
}
