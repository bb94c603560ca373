//! Composed and decomposed letters are one text wherever texts are compared; what is shown is as written.

use serde_json::{Value, json};

use super::Graph;
use crate::harness::{call, result};

/// `Größe`, as one character for each letter, and as letters with marks.
const COMPOSED: &str = "Gr\u{f6}\u{df}e";
const DECOMPOSED: &str = "Gro\u{308}\u{df}e";

async fn graph(name: &str) -> Graph {
    let composed = format!("class {COMPOSED}:\n    pass\n\n\ndef use():\n    return {COMPOSED}()\n");
    let decomposed = format!("# über {DECOMPOSED} x\ndef make{DECOMPOSED}():\n    return 1\n");
    Graph::new(
        name,
        &[
            ("composed/plain.py", composed.as_str()),
            ("decomposed/plain.py", decomposed.as_str()),
            ("gr\u{f6}\u{df}en/a.py", "first = 1\n"),
            ("gro\u{308}\u{df}en/b.py", "second = 2\n"),
        ],
    )
    .await
}

async fn files(graph: &Graph, mut query: Value) -> Vec<String> {
    query["project_id"] = json!(graph.project);
    query["repoPath"] = json!(graph.repository.root());
    let found = result(&graph.app, "search", query).await;
    let hits = found["hits"].as_array().into_iter().flatten();
    let lines = found["matches"]["files"].as_array().into_iter().flatten();
    let mut files: Vec<String> =
        hits.chain(lines).map(|hit| hit["file"].as_str().unwrap().to_owned()).collect();
    files.sort();
    files.dedup();
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn composed_and_decomposed_letters_are_one_text() {
    let graph = graph("letters").await;
    let both = ["composed/plain.py", "decomposed/plain.py"];
    let paths = ["gro\u{308}\u{df}en/b.py", "gr\u{f6}\u{df}en/a.py"];
    for (name, folder) in [(COMPOSED, "gr\u{f6}\u{df}en"), (DECOMPOSED, "gro\u{308}\u{df}en")] {
        for (query, expected) in [
            (json!({ "query": name, "regex": true }), both),
            (json!({ "query": format!("{name}\\b"), "regex": true }), both),
            (json!({ "query": name, "mode": "exact" }), both),
            (json!({ "query": format!("\"{name}\"") }), [both[0], both[1]]),
            (json!({ "query": format!("path:{folder}") }), paths),
            (json!({ "query": format!("path:{folder}/*.py") }), paths),
            (json!({ "query": format!("path:/{folder}\\/./") }), paths),
        ] {
            let found = files(&graph, query.clone()).await;
            // A phrase is found between word boundaries.
            let expected: Vec<&str> = match query["query"].as_str().unwrap().starts_with('"') {
                true => vec![both[0], both[1]],
                false => expected.to_vec(),
            };
            assert_eq!(found, expected, "{query}");
        }
        let found = graph.navigate(json!({ "symbol": name, "relation": "callers" })).await;
        assert_eq!(super::places(&found["files"]), ["composed/plain.py:6 use"], "{found:#}");
        let made = graph.navigate(json!({ "symbol": format!("make{name}"), "relation": "definition" })).await;
        assert_eq!(made["symbol"]["file"], "decomposed/plain.py", "{made:#}");
        let placed = graph
            .navigate(json!({ "symbol": format!("{folder}/a.py:first"), "relation": "definition" }))
            .await;
        assert_eq!(placed["symbol"]["file"], "gr\u{f6}\u{df}en/a.py", "{placed:#}");
        for file in ["a.py", "b.py"] {
            let shown = json!({ "file": format!("{folder}/{file}"), "project_id": graph.project });
            let shown = call(&graph.app, "show_file", shown).await;
            assert_eq!(shown["ok"], true, "{folder}/{file}: {shown:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_and_columns_are_those_of_the_written_text() {
    let graph = graph("letter-columns").await;
    let query = json!({ "query": format!("{COMPOSED} x"), "regex": true, "project_id": graph.project });
    let found = result(&graph.app, "search", query).await;
    let line = &found["matches"]["files"][0]["lines"][0];
    assert_eq!((line["line"].as_u64(), line["column"].as_u64()), (Some(1), Some(8)), "{found:#}");
    // The letter with its mark has two characters.
    assert_eq!(line["length"].as_u64().unwrap_or(8), 8, "{found:#}");
    assert_eq!(line["text"].as_str().unwrap(), format!("# \u{fc}ber {DECOMPOSED} x"), "{found:#}");
}
