//! What was wrong in a call comes back once and short, with what was allowed, on every surface.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use super::{Served, answer};
use crate::harness::{PROGRAM, http};

/// The answer of each surface to a call that is refused or fails, as the text that the client reads.
async fn everywhere(served: &Served, tool: &str, arguments: &Value) -> Vec<(&'static str, String)> {
    let session = served.open("/mcp", None).await;
    let (_, over_http) = answer(http().post(served.at(&format!("/tools/{tool}"))).json(arguments)).await;
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
    let mut said = String::from_utf8(output.stdout).unwrap();
    said.push_str(&String::from_utf8(output.stderr).unwrap());
    vec![
        ("MCP", once(session.call(1, tool, arguments.clone()).await)),
        ("HTTP", over_http.to_string()),
        ("command line", said),
    ]
}

/// A tool's failure stands in an answer of MCP twice, as text and as structured content; one of them counts here.
fn once(mut answer: Value) -> String {
    let envelope = answer["result"]["structuredContent"].take();
    if envelope.is_object() { envelope.to_string() } else { answer.to_string() }
}

/// How often a run of 150 `mark`s stands in `text`.
fn quotes(text: &str, mark: &str) -> usize {
    text.matches(&mark.repeat(150)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_argument_is_shown_once_and_short() {
    let served = Served::start(|config| config.server.body_bytes_max = 8 << 20).await;
    // Not one letter: a run of it may also stand in a path.
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
        ("an array in a place of a text", "search", json!({ "query": [long] })),
    ];
    for (what, tool, arguments) in &table {
        for (surface, said) in everywhere(&served, tool, arguments).await {
            assert!(said.len() < 20_000, "{surface}, {what}: {} bytes", said.len());
            assert!(quotes(&said, "q") <= 1, "{surface}, {what}: {said}");
            assert!(!said.contains(&"q".repeat(201)), "{surface}, {what}: {said}");
        }
    }
    let unknown = "q".repeat(5000);
    let session = served.open("/mcp", None).await;
    for said in [
        once(session.call(1, &unknown, json!({})).await),
        session.ask(2, &unknown, json!({})).await.to_string(),
        session.ask(3, "prompts/get", json!({ "name": unknown })).await.to_string(),
        session.ask(4, "resources/read", json!({ "uri": format!("x:{unknown}") })).await.to_string(),
        answer(http().post(served.at(&format!("/tools/{unknown}"))).json(&json!({}))).await.1.to_string(),
        answer(http().get(served.at("/tools")).header("x-mcp-toolsets", &unknown)).await.1.to_string(),
    ] {
        assert!(said.len() < 5000 && said.contains("error"), "{said}");
        assert!(quotes(&said, "q") <= 1 && !said.contains(&"q".repeat(201)), "{said}");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_rule_says_what_was_allowed() {
    let served = Served::start(|_| {}).await;
    let session = served.open("/mcp", None).await;
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
    for (arguments, keyword, params, words) in table {
        for (surface, said) in everywhere(&served, "search", &arguments).await {
            let said: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
            let message = said["error"]["message"].as_str().unwrap();
            let details = said["error"]["data"]["details"].as_array().or(said["error"]["details"].as_array());
            let broken = details.unwrap().iter().find(|broken| broken["keyword"] == keyword);
            let broken = broken.unwrap_or_else(|| panic!("{surface}, {arguments}: {said:#}"));
            if params.is_null() {
                assert!(
                    broken["params"]["allowedValues"].as_array().is_some_and(|values| values.len() > 1),
                    "{said:#}"
                );
            } else {
                assert_eq!(broken["params"], params, "{surface}, {arguments}");
            }
            assert!(message.contains(words), "{surface}, {arguments}: {message}");
        }
    }
    let limit = session.call(1, "search_code", json!({ "query": "x", "limit": 51 })).await;
    let broken = &limit["error"]["data"]["details"][0];
    assert_eq!(
        (&broken["keyword"], &broken["params"]["limit"]),
        (&json!("maximum"), &json!(50)),
        "{limit:#}"
    );
    served.stop().await;
}
