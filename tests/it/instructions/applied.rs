//! Agents get the rules that hold for a task: the prompt and the resource.

use serde_json::{Value, json};

use super::{allow_writes, entry, import_arguments};
use crate::harness::project;
use crate::serving::{Session, TestServer};

fn rule(id: &str, requirement: &str, categories: &[&str]) -> Value {
    let mut entry = entry(id, &format!("The rule {id}."));
    entry["requirement"] = requirement.into();
    entry["categories"] = json!(categories);
    entry
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_has_the_rules_of_the_task_and_its_files() {
    let server = TestServer::start(allow_writes).await;
    let project = project("applied");
    let entries = [
        rule("always", "mandatory", &[]),
        rule("sql", "mandatory", &["scope:**/*.sql"]),
        rule("rust", "recommended", &["scope:src/**/*.rs"]),
        rule("other", "optional", &[]),
    ];
    let (status, body) =
        server.call(None, "instructions_import", import_arguments(&project, &entries, json!({}))).await;
    assert_eq!(status, 200, "{body:#}");
    let plain = server.open("/mcp", None).await;
    let listed = |answer: &Value, list: &str, field: &str, wanted: &str| {
        answer["result"][list].as_array().unwrap().iter().any(|item| item[field] == wanted)
    };
    let session =
        Session { url: server.url_of("/mcp/x/search,instructions"), ..server.open("/mcp", None).await };
    for (session, offered) in [(&plain, false), (&session, true)] {
        let prompts = session.request(2, "prompts/list", json!({})).await;
        assert_eq!(listed(&prompts, "prompts", "name", "apply_instructions"), offered, "{prompts:#}");
        let templates = session.request(3, "resources/templates/list", json!({})).await;
        let template = "instruction://{id}{?project}";
        assert_eq!(
            listed(&templates, "resourceTemplates", "uriTemplate", template),
            offered,
            "{templates:#}"
        );
    }
    let apply = async |extra: Value| {
        let mut arguments = json!({ "task": "Rename a column", "project": project });
        for (name, value) in extra.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        let get = json!({ "name": "apply_instructions", "arguments": arguments });
        let answer = session.request(4, "prompts/get", get).await;
        answer["result"]["messages"][0]["content"]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer:#}"))
            .to_owned()
    };
    let text = apply(json!({ "paths": "src/main.rs, docs/a.md" })).await;
    assert!(text.starts_with("Rename a column"), "{text}");
    let positions: Vec<Option<usize>> = ["`always`", "`rust`"].iter().map(|id| text.find(id)).collect();
    assert!(positions[0] < positions[1] && positions[0].is_some(), "{text}");
    assert!(!text.contains("`sql`"), "{text}");
    assert!(apply(json!({ "paths": "db/0001.sql" })).await.contains("`sql`"));
    let tight = apply(json!({ "paths": "src/main.rs", "max_tokens": "20" })).await;
    assert!(tight.contains("did not fit") && tight.contains("rust"), "{tight}");

    let uri = format!("instruction://sql?project={project}");
    let read = session.request(5, "resources/read", json!({ "uri": uri })).await;
    let contents = &read["result"]["contents"][0];
    assert_eq!(contents["mimeType"], "text/markdown", "{read:#}");
    assert!(contents["text"].as_str().unwrap().contains("The rule sql."));
    assert!(contents["_meta"]["sourceHash"].is_string());
    let missing = session
        .request(6, "resources/read", json!({ "uri": format!("instruction://none?project={project}") }))
        .await;
    assert!(missing["error"]["message"].as_str().unwrap().contains("none"), "{missing:#}");
    let complete = json!({ "ref": { "type": "ref/resource", "uri": "instruction://{id}{?project}" },
        "argument": { "name": "id", "value": "s" }, "context": { "arguments": { "project": project } } });
    let completed = session.request(7, "completion/complete", complete).await;
    assert_eq!(completed["result"]["completion"]["values"][0], "sql", "{completed:#}");
    server.stop().await;
}
