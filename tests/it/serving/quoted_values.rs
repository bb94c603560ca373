//! Errors quote an invalid value at most once and shortened, and say what is allowed, on every surface.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use super::{TestServer, send_json};
use crate::harness::{PROGRAM, http};

/// The answer of each surface to a refused or failed call, as the text that the client reads.
async fn answer_texts(server: &TestServer, tool: &str, arguments: &Value) -> Vec<(&'static str, String)> {
    let session = server.open("/mcp", None).await;
    let (_, over_http) =
        send_json(http().post(server.url_of(&format!("/tools/{tool}"))).json(arguments)).await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("arguments.json");
    std::fs::write(&file, arguments.to_string()).unwrap();
    let output = Command::new(PROGRAM)
        .args(["call", tool.get(..100).unwrap_or(tool), "--json", "--args", &format!("@{}", file.display())])
        .env("PAIROFCLEATS_HOME", crate::harness::home())
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    text.push_str(&String::from_utf8(output.stderr).unwrap());
    vec![
        ("MCP", without_duplicate(session.call(1, tool, arguments.clone()).await)),
        ("HTTP", over_http.to_string()),
        ("command line", text),
    ]
}

/// An MCP answer contains a tool's failure twice, as text and as structured content. Returns only one of them.
fn without_duplicate(mut answer: Value) -> String {
    let envelope = answer["result"]["structuredContent"].take();
    if envelope.is_object() { envelope.to_string() } else { answer.to_string() }
}

/// Counts the runs of 150 copies of `mark` in `text`.
fn count_quotes(text: &str, mark: &str) -> usize {
    text.matches(&mark.repeat(150)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_argument_is_quoted_at_most_once_and_shortened() {
    let server = TestServer::start(|config| config.server.body_bytes_max = 8 << 20).await;
    // A letter that never occurs in long runs in a path.
    let long = "q".repeat(1_000_000);
    let mut many = serde_json::Map::new();
    for at in 0..5000 {
        many.insert(format!("unknown{at}"), json!(1));
    }
    let table = [
        ("a value of an enumeration", "search", json!({ "query": "x", "mode": long })),
        ("a number", "search", json!({ "query": "x", "top": long })),
        ("a query", "search", json!({ "query": long })),
        ("a text that is too long", "search_code", json!({ "query": long })),
        ("an unknown field", "search", json!({ "query": "x", long.clone(): 1 })),
        ("a project", "search", json!({ "query": "x", "project_id": long })),
        ("a path", "build_index", json!({ "repoPath": format!("/{long}") })),
        ("a shorter path", "build_index", json!({ "repoPath": format!("/{}", "q".repeat(3000)) })),
        ("a repository", "search", json!({ "query": "x", "repoPath": "q".repeat(4000) })),
        ("a file", "show_file", json!({ "path": "q".repeat(4000) })),
        ("a language", "search", json!({ "query": "x", "lang": "q".repeat(4000) })),
        ("an extension", "search", json!({ "query": "x", "ext": ["q".repeat(4000)] })),
        ("a filter", "search", json!({ "query": "x", "type": "q".repeat(4000) })),
        ("a date", "search", json!({ "query": "x", "modifiedAfter": "q".repeat(4000) })),
        ("a backend", "search", json!({ "query": "x", "backend": "q".repeat(4000) })),
        ("meta", "search", json!({ "query": "x", "metaJson": "q".repeat(4000) })),
        ("a key of an object", "search", json!({ "query": "x", "meta": { "q".repeat(4000): [[]] } })),
        ("a model", "build_index", json!({ "model": "q".repeat(4000) })),
        ("many unknown fields", "search", Value::Object(many)),
        ("an array instead of a string", "search", json!({ "query": [long] })),
    ];
    for (label, tool, arguments) in &table {
        for (surface, text) in answer_texts(&server, tool, arguments).await {
            assert!(text.len() < 24_000, "{surface}, {label}: {} bytes", text.len());
            assert!(count_quotes(&text, "q") <= 1, "{surface}, {label}: {text}");
            assert!(!text.contains(&"q".repeat(201)), "{surface}, {label}: {text}");
        }
    }
    let unknown = "q".repeat(5000);
    let session = server.open("/mcp", None).await;
    for text in [
        without_duplicate(session.call(1, &unknown, json!({})).await),
        session.request(2, &unknown, json!({})).await.to_string(),
        session.request(3, "prompts/get", json!({ "name": unknown })).await.to_string(),
        session.request(4, "resources/read", json!({ "uri": format!("x:{unknown}") })).await.to_string(),
        send_json(http().post(server.url_of(&format!("/tools/{unknown}"))).json(&json!({})))
            .await
            .1
            .to_string(),
        send_json(http().get(server.url_of("/tools")).header("x-mcp-toolsets", &unknown)).await.1.to_string(),
    ] {
        assert!(text.len() < 5000 && text.contains("error"), "{text}");
        assert!(count_quotes(&text, "q") <= 1 && !text.contains(&"q".repeat(201)), "{text}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_violation_says_what_is_allowed() {
    let server = TestServer::start(|_| {}).await;
    let session = server.open("/mcp", None).await;
    let table = [
        (json!({ "query": "x", "mode": "cod" }), "enum", json!(null), "code, prose, extracted-prose"),
        (json!({ "query": "x", "output": 5 }), "enum", json!(null), "compact"),
        (json!({ "query": "x", "top": "many" }), "type", json!({ "type": "integer" }), "an integer"),
        (json!({ "query": 5 }), "type", json!({ "type": "string" }), "a string"),
        (
            json!({ "query": "x", "offset": -1 }),
            "minimum",
            json!({ "comparison": ">=", "limit": 0 }),
            "at least 0",
        ),
        (json!({}), "required", json!({ "missingProperty": "query" }), "`query` is required"),
        (
            json!({ "query": "x", "repopath": "/" }),
            "additionalProperties",
            json!({ "additionalProperty": "repopath" }),
            "did you mean `repoPath`",
        ),
    ];
    for (arguments, keyword, params, expected_message) in table {
        for (surface, text) in answer_texts(&server, "search", &arguments).await {
            let text: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let message = text["error"]["message"].as_str().unwrap();
            let details = text["error"]["data"]["details"].as_array().or(text["error"]["details"].as_array());
            let violation = details.unwrap().iter().find(|violation| violation["keyword"] == keyword);
            let violation = violation.unwrap_or_else(|| panic!("{surface}, {arguments}: {text:#}"));
            if params.is_null() {
                assert!(
                    violation["params"]["allowedValues"].as_array().is_some_and(|values| values.len() > 1),
                    "{text:#}"
                );
            } else {
                assert_eq!(violation["params"], params, "{surface}, {arguments}");
            }
            assert!(message.contains(expected_message), "{surface}, {arguments}: {message}");
        }
    }
    let limit = session.call(1, "search_code", json!({ "query": "x", "limit": 51 })).await;
    let violation = &limit["error"]["data"]["details"][0];
    assert_eq!(
        (&violation["keyword"], &violation["params"]["limit"]),
        (&json!("maximum"), &json!(50)),
        "{limit:#}"
    );
    server.stop().await;
}
