//! The OpenAPI document: served as committed, sound, complete, and true of every answer.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use super::Served;
use crate::harness::{Repository, http, project};

const SOURCE: &str = env!("CARGO_MANIFEST_DIR");

/// The document, as it is committed.
fn document() -> Value {
    let text = fs::read_to_string(Path::new(SOURCE).join("contracts/openapi.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Path, method and operation.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
        })
        .collect()
}

/// What a reference stands for.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return value };
    let place = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} points elsewhere"));
    document.pointer(place).unwrap_or_else(|| panic!("{reference} points nowhere"))
}

fn visit(value: &Value, see: &mut impl FnMut(&Value)) {
    see(value);
    match value {
        Value::Object(fields) => fields.values().for_each(|field| visit(field, see)),
        Value::Array(items) => items.iter().for_each(|item| visit(item, see)),
        _ => {}
    }
}

#[test]
fn the_document_is_sound() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    for place in ["/info/title", "/info/version", "/info/description"] {
        assert!(document.pointer(place).is_some_and(Value::is_string), "{place}");
    }
    visit(&document, &mut |value| {
        // Under `properties` it would be a field's name.
        if value.get("$ref").is_some_and(Value::is_string) {
            resolved(&document, value);
        }
    });
    let (mut ids, mut schemas) = (BTreeSet::new(), 0);
    for (path, method, operation) in operations(&document) {
        let what = format!("{method} {path}");
        assert!(
            path.starts_with('/') && !path.contains('{'),
            "{what}: no route of the document has parameters"
        );
        assert!(["get", "post"].contains(&method), "{what}");
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{what}: its id stands twice");
        assert!(operation["summary"].is_string() && operation["tags"][0].is_string(), "{what}");
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.contains_key("200") && responses.contains_key("default"), "{what}");
        let mut contents: Vec<&Value> = Vec::new();
        for response in responses.values().map(|response| resolved(&document, response)) {
            assert!(response["description"].is_string(), "{what}");
            contents.extend(response["content"].as_object().unwrap().values());
        }
        assert_eq!(operation.get("requestBody").is_some(), method == "post", "{what}");
        if let Some(body) = operation.get("requestBody") {
            contents.extend(body["content"].as_object().unwrap().values());
        }
        for parameter in operation.get("parameters").and_then(Value::as_array).into_iter().flatten() {
            assert!(parameter["name"].is_string() && parameter["in"] == "query", "{what}: {parameter}");
            contents.push(parameter);
        }
        for content in contents {
            let schema = resolved(&document, &content["schema"]);
            assert!(jsonschema::draft202012::meta::is_valid(schema), "{what}: {schema:#}");
            schemas += 1;
        }
        for needed in operation.get("security").unwrap_or(&document["security"]).as_array().unwrap() {
            for scheme in needed.as_object().unwrap().keys() {
                assert!(document["components"]["securitySchemes"][scheme].is_object(), "{what}: {scheme}");
            }
        }
    }
    assert!(schemas > 40, "{schemas}");
}

#[test]
fn every_route_is_in_the_document() {
    let source = fs::read_to_string(Path::new(SOURCE).join("src/surfaces/http/routes.rs")).unwrap();
    let routes: BTreeSet<&str> =
        source.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(routes.len() > 8, "the routes are not found in the source any more: {routes:?}");
    let document = document();
    let paths: BTreeSet<&str> = operations(&document)
        .into_iter()
        .map(|(path, ..)| if path.starts_with("/tools/") { "/tools/{name}" } else { path })
        .collect();
    assert_eq!(routes, paths);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_served_as_it_is_committed_and_shown_as_a_page() {
    let served = Served::start(|_| {}).await;
    let response = http().get(served.at("/openapi.json")).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    assert!(response.json::<Value>().await.unwrap() == document(), "contracts/openapi.json is another one");
    let page = http().get(served.at("/docs")).send().await.unwrap();
    assert_eq!(page.status(), 200);
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    for rule in ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.split("; ").any(|have| have == rule), "{rule}: {policy}");
    }
    let text = page.text().await.unwrap();
    assert!(text.starts_with("<!doctype html>") && text.contains("openapi.json"));
    assert!(!text.contains("://"), "it loads nothing from elsewhere");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_what_the_document_says() {
    let served = Served::start(|_| {}).await;
    let repository = Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]);
    let (ours, document) = (project("documented"), document());
    let report = json!({ "source": "manual", "payload": [{ "title": "coins" }], "project_id": ours });
    let (_, ingested) = served.call(None, "triage_ingest", report).await;
    let finding = ingested["result"]["recordIds"][0].clone();
    let good = |path: &str| match path {
        "/tools/index_repository" => json!({ "repo_path": repository.root(), "project_id": ours }),
        "/tools/build_index" | "/tools/index_build" => {
            json!({ "repoPath": repository.root(), "project_id": ours })
        }
        "/tools/show_file" => json!({ "path": "cash.py", "project_id": ours }),
        "/tools/triage_ingest" => {
            json!({ "source": "manual", "payload": [{ "title": "coins" }], "project_id": ours })
        }
        "/tools/triage_decision" => json!({ "finding": finding, "status": "fix", "project_id": ours }),
        "/tools/triage_context_pack" => json!({ "recordId": finding, "project_id": ours }),
        "/tools/clean_artifacts" => json!({ "all": true, "dryRun": true, "project_id": ours }),
        "/tools/download_models" => json!({ "model": "all-minilm-l6-v2" }),
        "/tools/download_dictionaries" => json!({ "lang": "", "project_id": ours }),
        "/tools/download_extensions" | "/tools/verify_extensions" => json!({ "provider": "pgvector" }),
        "/tools/bootstrap" => {
            json!({ "skipInstall": true, "skipDicts": true, "repoPath": repository.root(), "project_id": ours })
        }
        path if path.contains("search") => json!({ "query": "drawer", "project_id": ours }),
        _ => json!({ "project_id": ours }),
    };
    // What reads has something to read.
    let begun = served.call(None, "build_index", good("/tools/build_index")).await;
    assert_eq!(begun.0, 200, "{:#}", begun.1);
    served.app.embedder().await.unwrap();
    for (path, method, operation) in operations(&document) {
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
        let bodies = if method == Method::POST {
            vec![Some((good(path), 200)), Some((json!({ "nonsense": 1 }), 400))]
        } else {
            vec![None]
        };
        for body in bodies {
            let what = format!("{method} {path} {body:?}");
            let mut request = http().request(method.clone(), served.at(path));
            if let Some((body, _)) = &body {
                request = request.json(body);
            }
            let response = request.send().await.unwrap();
            let status = response.status().as_u16();
            // A stream begins before it knows how it ends.
            let wanted = if path.contains("stream") { 200 } else { body.map_or(200, |(_, status)| status) };
            assert_eq!(status, wanted, "{what}");
            conforms(&document, operation, response, &what).await;
        }
    }
    served.stop().await;

    let stopped = Served::start(|config| config.server.disk_free_bytes_min = u64::MAX).await;
    let ready = http().get(stopped.at("/health/ready")).send().await.unwrap();
    assert_eq!(ready.status(), 503);
    conforms(&document, &document["paths"]["/health/ready"]["get"], ready, "not ready").await;
    stopped.stop().await;
}

/// The answer has the media type and the schema that the document promises for its status.
async fn conforms(document: &Value, operation: &Value, response: reqwest::Response, what: &str) {
    let responses = operation["responses"].as_object().unwrap();
    let promised = responses.get(response.status().as_str()).unwrap_or(&responses["default"]);
    let contents = resolved(document, promised)["content"].as_object().unwrap();
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    let Some(content) = contents.get(&kind) else { panic!("{what}: {kind} is not promised") };
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    let schema = jsonschema::validator_for(resolved(document, &content["schema"])).unwrap();
    let errors: Vec<String> = schema.iter_errors(&body).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{what}: {errors:?}\n{body:#}");
}
