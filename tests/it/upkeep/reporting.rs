//! `report_artifacts` and `config_status` show correct figures, no secrets, and nothing of other projects.

use std::sync::Arc;

use contract::Fault;
use contract::ModelIdentity;
use embedding::{Embedder, StubEmbedder};
use serde_json::json;
use tenancy::Scope;

use super::{TwoProjects, call_as, execute_sql, query_number, schema, write_aged_file};
use crate::harness::{app_with, app_with_embedder, error, project, result};

#[tokio::test(flavor = "multi_thread")]
async fn the_report_agrees_with_the_database_and_the_disk() {
    let projects = TwoProjects::new().await;
    write_aged_file(&projects.app, &projects.ours, "portable/shop.sqlite", 1234, 0);
    let report = projects.result("report_artifacts", json!({})).await;
    assert_eq!(report["repositories"].as_array().unwrap().len(), 2, "{report:#}");
    let bytes: u64 = ["cash.py", "shared.py"]
        .iter()
        .map(|file| std::fs::metadata(projects.shop.path().join(file)).unwrap().len())
        .sum();
    let shop = report["repositories"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == projects.shop_name.as_str());
    assert_eq!(shop.unwrap()["bytes"], bytes, "{report:#}");
    assert_eq!(shop.unwrap()["files"], 2, "{report:#}");
    let files = json!([{ "kind": "exports", "count": 1, "bytes": 500 }, { "kind": "portable", "count": 1, "bytes": 1234 }]);
    assert_eq!(report["files"], files);
    let tables = query_number(&format!(
        "SELECT sum(pg_total_relation_size(c.oid))::int8 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = '{}' AND c.relkind = 'r'",
        schema(&projects.ours)
    ))
    .await;
    assert_eq!(report["totalBytes"], tables + 1734, "{report:#}");
    let listed_bytes: i64 = report["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["bytes"].as_i64().unwrap() + table["indexBytes"].as_i64().unwrap())
        .sum();
    assert_eq!(listed_bytes, tables);
    let vectors = query_number(&format!("SELECT count(*) FROM {}.vectors", schema(&projects.ours))).await;
    assert_eq!((report["vectors"].as_i64(), report["vectorsOrphaned"].as_i64()), (Some(vectors), Some(1)));
    assert_eq!(report["issues"], json!([]), "{report:#}");
    let database = query_number("SELECT pg_database_size(current_database())").await;
    assert!(report["machine"]["database"].as_i64().unwrap() > database / 2, "{report:#}");
    assert!(
        report["machine"]["models"].as_u64().unwrap() > 1_000_000,
        "the models are counted although they are behind a link: {report:#}"
    );
    projects.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_argument_of_the_report_has_an_effect() {
    let projects = TwoProjects::new().await;
    let only = projects.result("report_artifacts", json!({ "repoPath": projects.shop.root() })).await;
    assert_eq!(only["repositories"].as_array().unwrap().len(), 1, "{only:#}");
    assert_eq!(only["repositories"][0]["name"], projects.shop_name.as_str());
    assert_eq!(only["projects"], json!(null));
    let unknown = json!({ "repoPath": "nothing-of-that-name", "project_id": projects.ours });
    assert_eq!(error(&projects.app, "report_artifacts", unknown).await["code"], "NO_INDEX");
    let absent = json!({ "project_id": project("absent") });
    assert_eq!(error(&projects.app, "report_artifacts", absent).await["code"], "NO_INDEX");

    let all = projects.result("report_artifacts", json!({ "all": true })).await;
    let bytes_of = |answer: &serde_json::Value, id: &str| {
        let projects = answer["projects"].as_array().unwrap();
        projects.iter().find(|project| project["project_id"] == id).map(|project| project["bytes"].clone())
    };
    assert_eq!(bytes_of(&all, &projects.ours), Some(all["totalBytes"].clone()), "{all:#}");
    assert!(bytes_of(&all, &projects.theirs).is_some());
    let arguments = json!({ "project_id": projects.ours, "all": true });
    let keyed =
        call_as(&projects.app, &[&projects.ours], &[Scope::Search], "report_artifacts", arguments).await;
    assert_eq!(
        keyed["result"]["projects"].as_array().unwrap().len(),
        1,
        "other projects are not named: {keyed:#}"
    );
    assert_eq!(keyed["result"]["machine"], json!(null), "only the operator sees the machine: {keyed:#}");
    projects.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_issue_has_a_hint_and_a_command_for_its_project() {
    let projects = TwoProjects::new().await;
    let schema = schema(&projects.ours);
    let root = projects.shop.root();
    execute_sql(&format!("UPDATE {schema}.repositories SET state = 'failed' WHERE root = '{root}'")).await;
    execute_sql(&format!(
        "DELETE FROM {schema}.vectors WHERE hash IN (SELECT content_hash FROM {schema}.chunks)"
    ))
    .await;
    execute_sql(&format!("UPDATE {schema}.index_state SET terms_indexed = false, embedded_to = 0")).await;
    let report = projects.result("report_artifacts", json!({})).await;
    let issues = report["issues"].as_array().unwrap();
    assert_eq!(issues.len(), 3, "{report:#}");
    for (issue, part) in issues.iter().zip(["its last run failed", "have no vector yet", "lexical index"]) {
        assert!(issue["message"].as_str().unwrap().contains(part), "{issue:#}");
        let command = issue["command"].as_str().unwrap();
        assert!(command.ends_with(&format!("--project {}", projects.ours)), "{issue:#}");
        assert!(!issue["hint"].as_str().unwrap().is_empty());
    }
    projects.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_are_shown_without_secrets() {
    let nothing = tempfile::tempdir().unwrap();
    let app = app_with(|config| {
        config.dictionaries.dir = Some(nothing.path().to_owned());
        config.workflow.url = Some("http://user:hunter2@127.0.0.1:1/".into());
        config.server.tls_key = Some("/etc/hunter2/key.pem".into());
        config.server.tls_certificate = Some("/etc/tls/chain.pem".into());
        config.search.top_default = 7;
        config.access.insecure = true;
    });
    let projects = TwoProjects::with(app).await;
    let status = projects.result("config_status", json!({})).await;
    assert!(!status.to_string().contains("hunter2"), "{status:#}");
    assert_eq!(status["config"]["search"]["top_default"], 7);
    assert_eq!(status["config"]["workflow"]["url"], "http://…@127.0.0.1:1/");
    assert_eq!(status["config"]["server"]["tls_key"], "(set)");
    assert_eq!(
        status["config"]["server"]["tls_certificate"], "/etc/tls/chain.pem",
        "a local caller sees paths of its own machine"
    );
    assert_eq!(status["model"]["id"], "stub");
    assert_eq!(status["ownRole"], true);
    let codes: Vec<&str> = status["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["access_insecure", "dictionary_missing"], "{status:#}");
    assert!(status["assets"].as_array().unwrap().iter().any(|asset| asset["state"] == "sound"), "{status:#}");

    let arguments = json!({ "project_id": projects.ours });
    let keyed = call_as(&projects.app, &[&projects.ours], &[Scope::Admin], "config_status", arguments).await
        ["result"]
        .take();
    assert_eq!(keyed["config"]["search"]["top_default"], 7);
    for section in ["server", "workflow", "database", "access", "oauth"] {
        assert_eq!(keyed["config"][section], json!(null), "only the operator sees {section}");
    }
    assert_eq!(keyed["config"]["indexing"]["roots"], json!(null));
    assert_eq!((&keyed["assets"], &keyed["warnings"]), (&json!(null), &json!([])));
    projects.finish().await;
}

/// A model with a different identity from the one that the tests' projects are made for.
struct OtherModel(StubEmbedder, ModelIdentity);

impl Embedder for OtherModel {
    fn model(&self) -> &ModelIdentity {
        &self.1
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        self.0.embed_passages(texts, cancelled)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        self.0.embed_query(text)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_argument_of_the_status_has_an_effect_and_another_model_is_reported() {
    let projects = TwoProjects::new().await;
    let named = projects.result("config_status", json!({ "repoPath": projects.shop_name })).await;
    assert_eq!(named["repoPath"], projects.shop.root());
    assert_eq!(named["project_id"], projects.ours.as_str());
    let unknown = json!({ "repoPath": "nothing-of-that-name", "project_id": projects.ours });
    assert_eq!(error(&projects.app, "config_status", unknown).await["code"], "NO_INDEX");
    let absent = json!({ "project_id": project("absent") });
    assert_eq!(error(&projects.app, "config_status", absent).await["code"], "NO_INDEX");

    let stub = StubEmbedder::default();
    let model = ModelIdentity { id: "another".into(), hash: [9; 32], ..stub.model().clone() };
    let app_with_other_model = app_with_embedder(Arc::new(OtherModel(stub, model)));
    let status = result(&app_with_other_model, "config_status", json!({ "project_id": projects.ours })).await;
    assert_eq!(status["warnings"][0]["code"], "model_mismatch", "{status:#}");
    execute_sql(&format!("UPDATE pairofcleats.projects SET role_name = NULL WHERE id = '{}'", projects.ours))
        .await;
    let status = projects.result("config_status", json!({})).await;
    assert_eq!((&status["ownRole"], &status["warnings"][0]["code"]), (&json!(false), &json!("role_missing")));
    projects.finish().await;
}
