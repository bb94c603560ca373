//! Filters and hits of `search` use resolved edges.

use serde_json::{Value, json};

use super::Graph;
use crate::harness::result;

const FILES: &[(&str, &str)] = &[
    (
        "store.py",
        "class Store:\n    def get(self, key):\n        return key\n\n\nclass Cache(Store):\n    pass\n",
    ),
    ("use.py", "from store import Store as Shelf\n\n\ndef read_shelf():\n    return Shelf().get(1)\n"),
    (
        "guess.py",
        "from time import sleep\n\n\ndef read_config(config):\n    sleep(1)\n    return config.get('a')\n",
    ),
    ("a.lua", "function greet()\n  return 1\nend\n\nfunction run()\n  return greet()\nend\n"),
];

/// The files of the hits of a query, sorted.
async fn files(graph: &Graph, query: &str) -> Vec<String> {
    let found = result(&graph.app, "search", json!({ "query": query, "project_id": graph.project })).await;
    let hits = found["hits"].as_array().unwrap();
    let mut files: Vec<String> = hits.iter().map(|hit| hit["file"].as_str().unwrap().to_owned()).collect();
    files.sort();
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_pass_resolved_edges_and_names_where_nothing_is_resolved() {
    let graph = Graph::new("edges", FILES).await;
    for (query, expected) in [
        // The definition itself and calls of another `get` do not pass.
        ("calls:get", &["use.py"][..]),
        ("calls:Store.get", &["use.py"]),
        ("calls:\"store.py:get\"", &["use.py"]),
        // Calls of a name that an import renames.
        ("calls:Store", &["use.py"]),
        ("NOT calls:get lang:python", &["guess.py", "store.py"]),
        ("calls:sleep", &["guess.py"]),
        ("calls:greet", &["a.lua"]),
        ("calledBy:read_shelf", &["store.py"]),
        ("calledBy:read_config", &[]),
        ("extends:Store", &["store.py"]),
        ("implements:Store", &["store.py"]),
        ("calls:nothing_of_that_name", &[]),
    ] {
        assert_eq!(files(&graph, query).await, expected, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_by_edges_says_how_many_chunks_have_only_the_name() {
    let graph = Graph::new("left-out", FILES).await;
    let ask = async |query: &str| {
        let arguments = json!({ "query": query, "project_id": graph.project });
        crate::harness::call(&graph.app, "search", arguments).await["_meta"]["warnings"].clone()
    };
    let warnings = ask("calls:get").await;
    let warning = &warnings[0];
    assert_eq!(warning["code"], "names_left_out", "{warnings:#}");
    assert_eq!(warning["details"], json!({ "field": "calls", "value": "get", "chunks": 1 }), "{warnings:#}");
    assert!(warning["message"].as_str().unwrap().contains("`uses` finds them"), "{warnings:#}");
    // Only what the other filters pass is left out.
    for (query, left_out) in [
        ("calls:get path:guess.py", 1),
        ("calls:get path:use.py", 0),
        ("calls:get -path:guess.py", 0),
        ("(calls:get OR lang:python)", 0),
        ("(calls:get OR path:use.py)", 1),
        ("NOT calls:get", 0),
        ("calls:get type:class", 0),
    ] {
        let warnings = ask(query).await;
        let chunks = warnings.as_array().into_iter().flatten();
        let chunks = chunks.filter(|warning| warning["code"] == "names_left_out");
        let chunks: u64 = chunks.filter_map(|warning| warning["details"]["chunks"].as_u64()).sum();
        assert_eq!(chunks, left_out, "{query}: {warnings:#}");
    }
    for query in ["calls:sleep", "calls:Store", "extends:Store", "calledBy:read_shelf"] {
        let warnings = ask(query).await;
        let said = |warning: &Value| warning["code"] == "names_left_out";
        assert!(!warnings.as_array().is_some_and(|all| all.iter().any(said)), "{query}: {warnings:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hits_show_true_callers_with_places() {
    let graph = Graph::new("hits", FILES).await;
    let search = |query: &str, output: &str| {
        let arguments = json!({ "query": query, "output": output, "project_id": graph.project });
        let app = graph.app.clone();
        async move { result(&app, "search", arguments).await }
    };
    let found = search("Store.get", "full").await;
    let hit =
        found["hits"].as_array().unwrap().iter().find(|hit| hit["name"] == "Store.get").unwrap().clone();
    assert_eq!(hit["calledBy"], json!(["read_shelf"]), "{hit:#}");
    let callers = json!([{ "name": "read_shelf", "file": "use.py", "line": 5, "certainty": "resolved" }]);
    assert_eq!(hit["callers"], callers, "{hit:#}");
    let found = search("read_shelf", "compact").await;
    let best = &found["hits"][0];
    let callees: Vec<&Value> =
        best["callees"].as_array().unwrap().iter().map(|callee| &callee["name"]).collect();
    assert_eq!(callees, ["Store", "Store.get"], "{best:#}");
    assert_eq!((&best["callees"][1]["file"], &best["callees"][1]["line"]), (&json!("store.py"), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_is_about_the_definition_that_has_the_edge() {
    let text = "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return one()\n\n\ndef four():\n    return three()\n";
    let graph = Graph::new("which", &[("numbers.py", text)]).await;
    for (query, name) in [
        ("calls:one type:function", "three"),
        ("calls:three type:function", "four"),
        ("calledBy:four type:function", "three"),
        ("calledBy:three type:function", "one"),
    ] {
        let arguments = json!({ "query": query, "project_id": graph.project });
        let found = result(&graph.app, "search", arguments).await;
        assert_eq!(found["hits"][0]["name"], name, "{query}: {found:#}");
    }
}
