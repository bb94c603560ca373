//! The OpenAPI document: valid, complete, served as committed, and true of every answer.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use super::TestServer;
use crate::harness::{Repository, http, project};
use crate::tidy::files;
use crate::valid_arguments::ABSENT_RUN;

const SOURCE: &str = env!("CARGO_MANIFEST_DIR");

/// The committed document.
fn document() -> Value {
    let text = fs::read_to_string(Path::new(SOURCE).join("contracts/openapi.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Path, method and operation of every route.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
        })
        .collect()
}

/// Resolves a `$ref` inside the document.
fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return value };
    let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} points elsewhere"));
    document.pointer(pointer).unwrap_or_else(|| panic!("{reference} points nowhere"))
}

fn visit(value: &Value, callback: &mut impl FnMut(&Value)) {
    callback(value);
    match value {
        Value::Object(fields) => fields.values().for_each(|field| visit(field, callback)),
        Value::Array(items) => items.iter().for_each(|item| visit(item, callback)),
        _ => {}
    }
}

#[test]
fn the_document_is_valid() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    for pointer in ["/info/title", "/info/version", "/info/description"] {
        assert!(document.pointer(pointer).is_some_and(Value::is_string), "{pointer}");
    }
    visit(&document, &mut |value| {
        // Under `properties`, `$ref` would be the name of a field.
        if value.get("$ref").is_some_and(Value::is_string) {
            resolve(&document, value);
        }
    });
    let (mut ids, mut schemas) = (BTreeSet::new(), 0);
    for (path, method, operation) in operations(&document) {
        let label = format!("{method} {path}");
        assert!(path.starts_with('/'), "{label}");
        assert!(["get", "post"].contains(&method), "{label}");
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{label}: its id occurs twice");
        assert!(operation["summary"].is_string() && operation["tags"][0].is_string(), "{label}");
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.contains_key("200") && responses.contains_key("default"), "{label}");
        let mut contents: Vec<&Value> = Vec::new();
        for response in responses.values().map(|response| resolve(&document, response)) {
            assert!(response["description"].is_string(), "{label}");
            contents.extend(response["content"].as_object().unwrap().values());
        }
        assert_eq!(operation.get("requestBody").is_some(), method == "post", "{label}");
        if let Some(body) = operation.get("requestBody") {
            contents.extend(body["content"].as_object().unwrap().values());
        }
        for parameter in operation.get("parameters").and_then(Value::as_array).into_iter().flatten() {
            let is_in_path = path.contains(&format!("{{{}}}", parameter["name"].as_str().unwrap()));
            assert_eq!(parameter["in"], if is_in_path { "path" } else { "query" }, "{label}: {parameter}");
            assert_eq!(parameter["required"] == true, is_in_path, "{label}: {parameter}");
            contents.push(parameter);
        }
        for content in contents {
            let schema = resolve(&document, &content["schema"]);
            assert!(jsonschema::draft202012::meta::is_valid(schema), "{label}: {schema:#}");
            schemas += 1;
        }
        for needed in operation.get("security").unwrap_or(&document["security"]).as_array().unwrap() {
            for scheme in needed.as_object().unwrap().keys() {
                assert!(document["components"]["securitySchemes"][scheme].is_object(), "{label}: {scheme}");
            }
        }
    }
    assert!(schemas > 40, "{schemas}");
}

#[test]
fn every_route_is_in_the_document() {
    let all = files("crates", "rs").into_iter().chain(files("modules", "rs"));
    let tables = all.filter(|(_, source)| source.contains(": Operation::"));
    let sources: Vec<String> = tables.map(|(_, source)| source).collect();
    let rows = sources.iter().flat_map(|source| source.split("        path: \"").skip(1));
    let routes: BTreeSet<&str> = rows.map(|row| row.split('"').next().unwrap()).collect();
    assert!(routes.len() > 8, "the routes were not found in the source: {routes:?}");
    let document = document();
    let paths: BTreeSet<&str> = operations(&document)
        .into_iter()
        .map(|(path, ..)| if path.starts_with("/tools/") { "/tools/{name}" } else { path })
        .collect();
    assert_eq!(routes, paths);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_committed_document_is_served_and_shown_as_a_page() {
    let server = TestServer::start(|_| {}).await;
    let response = http().get(server.url_of("/openapi.json")).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    assert!(response.json::<Value>().await.unwrap() == document(), "contracts/openapi.json differs");
    let page = http().get(server.url_of("/docs")).send().await.unwrap();
    assert_eq!(page.status(), 200);
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    for rule in ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.split("; ").any(|part| part == rule), "{rule}: {policy}");
    }
    let text = page.text().await.unwrap();
    assert!(text.starts_with("<!doctype html>") && text.contains("openapi.json"));
    assert!(!text.contains("://"), "the page loads nothing from other hosts");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "one table of arguments")]
async fn every_answer_conforms_to_the_document() {
    let server = TestServer::start(|_| {}).await;
    let repository = Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]);
    let (ours, document) = (project("documented"), document());
    let report = json!({ "source": "manual", "payload": [{ "title": "coins" }], "project_id": ours });
    let (_, ingested) = server.call(None, "triage_ingest", report).await;
    let finding = ingested["result"]["recordIds"][0].clone();
    let valid_arguments = |path: &str| match path {
        "/tools/index_repository" => json!({ "repo_path": repository.root(), "project_id": ours }),
        "/tools/build_index" | "/tools/index_build" => {
            json!({ "repoPath": repository.root(), "project_id": ours })
        }
        "/tools/navigate" => json!({ "symbol": "drawer", "project_id": ours }),
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
        "/tools/instructions_get" | "/tools/usage_track" => json!({ "id": "a", "project_id": ours }),
        "/tools/instructions_search" => json!({ "q": "a", "project_id": ours }),
        "/tools/instructions_import" => {
            json!({ "entries": [crate::instructions::entry("a", "A")], "project_id": ours })
        }
        "/tools/instructions_remove" => json!({ "ids": ["none"], "project_id": ours }),
        "/tools/prompt_review" => json!({ "prompt": "Do it.", "project_id": ours }),
        "/tools/usage_track_batch" => json!({ "items": [{ "id": "a" }], "project_id": ours }),
        "/tools/launch_start_run" => json!({ "run_config": {}, "project_id": ours }),
        "/tools/launch_start_run_from_product_url" => {
            json!({ "url": "https://products.aspose.org/3d/en/python/", "project_id": ours })
        }
        "/tools/launch_start_run_from_github_repo_url" => {
            json!({ "github_repo_url": "https://github.com/acme/shop", "project_id": ours })
        }
        "/tools/launch_get_artifact" => {
            json!({ "run_id": ABSENT_RUN, "artifact_name": "a", "project_id": ours })
        }
        "/tools/launch_list_runs" => json!({ "project_id": ours }),
        path if path.starts_with("/tools/launch_") => json!({ "run_id": ABSENT_RUN, "project_id": ours }),
        path if path.contains("search") => json!({ "query": "drawer", "project_id": ours }),
        _ => json!({ "project_id": ours }),
    };
    // Indexes first, so that reading tools find something.
    let built = server.call(None, "build_index", valid_arguments("/tools/build_index")).await;
    assert_eq!(built.0, 200, "{:#}", built.1);
    server.app.embedder().await.unwrap();
    let import = valid_arguments("/tools/instructions_import");
    assert_eq!(server.call(None, "instructions_import", import).await.0, 200);
    // Launch runs need a documentation site; their answers are checked against the same schemas in the tests of launch.
    let valid_status = |path: &str| match path {
        "/tools/launch_start_run" => 422,
        // Without a site.
        path if path.starts_with("/tools/launch_start_run_from_") => 400,
        "/tools/launch_list_runs" => 200,
        path if path.starts_with("/tools/launch_") || path == "/launch/runs/{run_id}" => 404,
        _ => 200,
    };
    for (path, method, operation) in operations(&document) {
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
        let bodies = if method == Method::POST {
            vec![Some((valid_arguments(path), valid_status(path))), Some((json!({ "nonsense": 1 }), 400))]
        } else {
            vec![None]
        };
        for body in bodies {
            let label = format!("{method} {path} {body:?}");
            let mut url = server.url_of(&path.replace("{id}", "a").replace("{run_id}", ABSENT_RUN));
            if path.starts_with("/instructions") && method == Method::GET {
                url = format!("{url}?project_id={ours}");
            }
            let mut request = http().request(method.clone(), url);
            if let Some((body, _)) = &body {
                request = request.json(body);
            }
            let response = request.send().await.unwrap();
            let status = response.status().as_u16();
            // A stream starts with 200 before its outcome is known.
            let is_stream = path.contains("stream") || path.ends_with("/events");
            let expected =
                if is_stream { 200 } else { body.map_or_else(|| valid_status(path), |(_, status)| status) };
            assert_eq!(status, expected, "{label}");
            assert_conforms(&document, operation, response, &label).await;
        }
    }
    server.stop().await;

    let full_disk = TestServer::start(|config| config.server.disk_free_bytes_min = u64::MAX).await;
    let ready = http().get(full_disk.url_of("/health/ready")).send().await.unwrap();
    assert_eq!(ready.status(), 503);
    assert_conforms(&document, &document["paths"]["/health/ready"]["get"], ready, "not ready").await;
    full_disk.stop().await;
}

/// Checks that the answer has the media type and the schema that the document gives for its status.
async fn assert_conforms(document: &Value, operation: &Value, response: reqwest::Response, label: &str) {
    let responses = operation["responses"].as_object().unwrap();
    let documented = responses.get(response.status().as_str()).unwrap_or(&responses["default"]);
    let contents = resolve(document, documented)["content"].as_object().unwrap();
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    let Some(content) = contents.get(&kind) else { panic!("{label}: {kind} is not documented") };
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    let schema = jsonschema::validator_for(resolve(document, &content["schema"])).unwrap();
    let errors: Vec<String> = schema.iter_errors(&body).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{label}: {errors:?}\n{body:#}");
}
