//! The graph follows edits: after a run, edges are those of the present texts.

use serde_json::json;

use super::Graph;

#[tokio::test(flavor = "multi_thread")]
async fn edges_are_those_of_the_present_texts() {
    let graph = Graph::new(
        "edits",
        &[
            ("till.py", "def count():\n    return 1\n"),
            ("a.py", "from till import count\n\n\ndef use():\n    return count()\n"),
            ("b.py", "from till import count\n\n\ndef other():\n    return count()\n"),
        ],
    )
    .await;
    assert_eq!(graph.places("count", "callers").await, ["a.py:5 use", "b.py:5 other"]);
    // A caller moves and another one goes.
    graph
        .repository
        .write("a.py", "from till import count\n\nX = 1\n\n\ndef use_it():\n    return count()\n");
    graph.repository.remove("b.py");
    graph.index().await;
    assert_eq!(graph.places("count", "callers").await, ["a.py:7 use_it"]);
    // The definition goes: files that did not change lose their edges, too.
    graph.repository.write("till.py", "def tally():\n    return 1\n");
    graph.index().await;
    assert_eq!(graph.error(json!({ "symbol": "till.count" })).await["code"], "NOT_FOUND");
    assert_eq!(graph.places("tally", "callers").await, Vec::<String>::new());
    // And find it again where it is now.
    graph.repository.write("till.py", "from coins import count\n");
    graph.repository.write("coins.py", "def count():\n    return 2\n");
    graph.index().await;
    assert_eq!(graph.places("count", "callers").await, ["a.py:7 use_it"]);
}
