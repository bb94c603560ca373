//! Surfaces that list the tools of the catalog, and calls of these tools.

use gate::tools::Surface;
use serde_json::{Value, json};

use super::{allow_writes, entry, import_arguments};
use crate::harness::{modules, project};
use crate::serving::TestServer;

#[test]
fn only_callers_who_name_the_toolset_see_it() {
    let config = contract::config::fuzzing::defaults();
    let names = |toolsets: &str| -> Vec<&str> {
        let visibility = gate::tools::ToolVisibility::parse(modules(), toolsets, false).unwrap();
        let caller = gate::tools::Caller { visibility, ..gate::tools::Caller::local(Surface::Stdio) };
        modules().tools().listed(config, &caller).map(|tool| tool.name).collect()
    };
    let catalog: Vec<&str> = modules()
        .list_of_tools()
        .iter()
        .filter(|tool| tool.toolset.name == "instructions")
        .map(|tool| tool.name)
        .collect();
    assert_eq!(catalog.len(), 19);
    assert_eq!(names("instructions"), catalog);
    assert!(names("").iter().all(|name| !catalog.contains(name)));
    assert_eq!(names("default,instructions").len(), names("").len() + catalog.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_call_gives_the_same_result() {
    let server = TestServer::start(allow_writes).await;
    let project = project("listed-ways");
    let imported = server
        .call(None, "instructions_import", import_arguments(&project, &[entry("a", "A")], json!({})))
        .await;
    assert_eq!(imported.1["result"]["imported"], 1, "{imported:?}");
    let session = server.open("/mcp", None).await;
    for (tool, method, arguments) in [
        ("instructions_list", "instructions/list", json!({})),
        ("instructions_get", "instructions/get", json!({ "id": "a" })),
        ("instructions_get", "instructions/get", json!({ "id": "nope" })),
        ("instructions_search", "instructions/search", json!({ "q": "title" })),
        ("instructions_export", "instructions/export", json!({ "ids": ["a"] })),
        ("instructions_diff", "instructions/diff", json!({ "known": [] })),
        ("instructions_checksums", "instructions/checksums", json!({ "prefixBits": 4 })),
        ("integrity_verify", "integrity/verify", json!({})),
        ("gates_evaluate", "gates/evaluate", json!({})),
        ("usage_hotset", "usage/hotset", json!({ "limit": 3 })),
        ("prompt_review", "prompt/review", json!({ "prompt": "Do stuff." })),
    ] {
        let mut arguments = arguments;
        arguments["project_id"] = project.clone().into();
        let posted = server.call(None, tool, arguments.clone()).await.1["result"].clone();
        assert!(posted.is_object(), "{tool}");
        let called = session.request(3, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
        assert_eq!(called["result"]["structuredContent"]["result"], posted, "{tool}");
        let bare = session.request(4, method, arguments.clone()).await;
        assert_eq!(bare["result"], posted, "{method}");
        let action = method.strip_prefix("instructions/");
        if let Some(action) = action {
            arguments["action"] = action.into();
            let dispatched = session.request(5, "instructions/dispatch", arguments).await;
            assert_eq!(dispatched["result"], posted, "{method} dispatched");
        }
    }
    let refused = session.request(6, "instructions/get", json!({})).await["error"].clone();
    assert_eq!(refused["code"], -32602);
    assert!(refused["message"].as_str().unwrap().contains("`id`"), "{refused:#}");
    assert_eq!(refused["data"]["errors"], refused["data"]["details"]);
    assert!(refused["data"]["errors"][0]["instancePath"].is_string());
    for (method, params) in
        [("instructions/nope", json!({})), ("instructions/dispatch", json!({ "action": "batch" }))]
    {
        let unknown = session.request(7, method, params).await["error"].clone();
        assert_eq!(
            (&unknown["code"], &unknown["data"]["code"]),
            (&json!(-32601), &json!("UNKNOWN_TOOL")),
            "{method}"
        );
        assert!(unknown["data"].get("nearby").is_none());
    }
    for method in ["shutdown", "exit"] {
        assert_eq!(
            session.request(8, method, json!({})).await["error"]["code"],
            -32601,
            "{method} over HTTP"
        );
    }
    server.stop().await;

    let verbose = TestServer::start(|config| config.log.filter = "debug".to_owned()).await;
    let session = verbose.open("/mcp", None).await;
    let unknown = session.request(3, "instructions/gett", json!({})).await;
    assert_eq!(unknown["error"]["data"]["nearby"][0], "instructions/get", "{unknown:#}");
    verbose.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_registry_says_what_is_disabled() {
    let (open, closed) = (
        TestServer::start(allow_writes).await,
        TestServer::start(|config| config.instructions.mutation = false).await,
    );
    let registry = |answer: (reqwest::StatusCode, Value)| answer.1["result"].clone();
    let of_open = registry(open.call(None, "meta_tools", json!({})).await);
    let of_closed = registry(closed.call(None, "meta_tools", json!({})).await);
    assert_eq!(of_open["stable"], of_closed["stable"], "neither time nor settings");
    assert_eq!(
        (&of_open["dynamic"]["disabled"], &of_open["dynamic"]["mutationEnabled"]),
        (&json!([]), &json!(true))
    );
    let disabled: Vec<&str> = of_closed["dynamic"]["disabled"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["method"].as_str().unwrap())
        .collect();
    let writing = [
        "instructions/import", "instructions/remove", "instructions/repair", "instructions/reload",
        "usage/flush",
    ];
    assert_eq!(disabled, writing);
    let import =
        of_closed["tools"].as_array().unwrap().iter().find(|row| row["method"] == "instructions/import");
    assert_eq!(
        import,
        Some(
            &json!({ "method": "instructions/import", "stable": false, "mutation": true, "disabled": true })
        )
    );
    assert_eq!(of_open["mcp"]["registryVersion"], "2025-08-01");
    assert_eq!(of_open["mcp"]["tools"].as_array().map(Vec::len), Some(19));
    open.stop().await;
    closed.stop().await;
}
