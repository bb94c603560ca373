//! Ways to name a symbol, and names that are refused.

use serde_json::{Value, json};

use super::{Graph, candidates, places};
use crate::harness::{Repository, call, project, result};

const TILL: &str = "class Till:\n    def open(self):\n        return 1\n\n    def close(self):\n        return self.open() + self.open()\n\n\ndef use():\n    return Till().close()\n";

#[tokio::test(flavor = "multi_thread")]
async fn every_spelling_of_a_name_and_a_place_means_the_symbol() {
    let graph = Graph::new("spelled", &[("src/till.py", TILL)]).await;
    for symbol in [
        "Till.open", "Till#open", "Till::open", "`Till.open()`", "open", "def open", "method open",
        "till.py:open", "src/till.py:Till.open", "./src/till.py:open", "till.Till.open", "src/till.py:2",
        "src/till.py:2:9", "till.py:6:21",
    ] {
        let found = graph.navigate(json!({ "symbol": symbol, "relation": "definition" })).await;
        assert_eq!(places(&found["files"]), ["src/till.py:2 Till.open"], "{symbol}");
        assert_eq!(found["symbol"]["qualified"], "Till.open", "{symbol}");
    }
    // A line of the body is about the definition around it; a line with one used symbol about that.
    let at = |line: u32| json!({ "file": "src/till.py", "line": line, "relation": "definition" });
    assert_eq!(graph.navigate(at(3)).await["symbol"]["qualified"], "Till.open");
    assert_eq!(graph.navigate(at(6)).await["symbol"]["qualified"], "Till.open");
    // Several are candidates, unless the column says which.
    assert_eq!(candidates(&graph.navigate(at(10)).await).len(), 2);
    let column = json!({ "file": "src/till.py", "line": 10, "column": 12, "relation": "definition" });
    assert_eq!(graph.navigate(column).await["symbol"]["qualified"], "Till");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_of_search_is_passed_on_unchanged() {
    let graph = Graph::new("hit", &[("src/till.py", TILL)]).await;
    let search = json!({ "query": "Till.open", "project_id": graph.project });
    let hits = result(&graph.app, "search", search).await;
    let hit = hits["hits"]
        .as_array()
        .unwrap()
        .iter()
        .find(|hit| hit["name"] == "Till.open" || hit["name"] == "Till");
    let hit = hit.unwrap_or_else(|| panic!("{hits:#}"));
    let found = graph.navigate(json!({ "hit": hit, "relation": "references" })).await;
    assert_eq!(found["symbol"]["line"], hit["line"], "{found:#}");
    // Arguments beside it take precedence.
    let found = graph.navigate(json!({ "hit": hit, "symbol": "use" })).await;
    assert_eq!(found["symbol"]["qualified"], "use");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_names_no_symbol_is_refused_with_a_hint() {
    let graph = Graph::new("refused", &[("src/till.py", TILL)]).await;
    for (arguments, code, says) in [
        (json!({}), "INVALID_REQUEST", "No symbol"),
        (json!({ "line": 3 }), "INVALID_REQUEST", "No symbol"),
        (json!({ "file": "src/till.py" }), "INVALID_REQUEST", "needs a `line`"),
        (json!({ "symbol": "chunk:12" }), "INVALID_REQUEST", "chunk"),
        (json!({ "symbol": "how are coins counted" }), "INVALID_REQUEST", "not the name"),
        (json!({ "file": "../till.py", "line": 1 }), "INVALID_REQUEST", "relative"),
        (json!({ "hit": { "file": 3 } }), "INVALID_REQUEST", "hit.file"),
        (json!({ "file": "src/tull.py", "line": 1 }), "NOT_FOUND", "not in the index"),
        (json!({ "file": "src/till.py", "line": 8 }), "NOT_FOUND", "line 8"),
        (json!({ "file": "src/till.py", "line": 4_000_000_000_u32 }), "NOT_FOUND", "No symbol is known"),
    ] {
        let error = graph.error(arguments.clone()).await;
        assert_eq!(error["code"], code, "{arguments}: {error:#}");
        assert!(error["message"].as_str().unwrap().contains(says), "{arguments}: {error:#}");
        assert!(error["hint"].is_string(), "{arguments}: {error:#}");
    }
    let unknown = graph.error(json!({ "file": "src/tull.py", "line": 1 })).await;
    assert_eq!(unknown["details"]["nearest"], json!(["src/till.py"]), "{unknown:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn symbols_of_other_projects_and_repositories_stay_there() {
    let graph = Graph::new("ours", &[("ours.py", "def ours():\n    return 1\n\n\nours()\n")]).await;
    let (other, theirs) =
        (Repository::new(&[("theirs.py", "def theirs():\n    return ours()\n")]), project("theirs"));
    result(&graph.app, "build_index", json!({ "repoPath": other.root(), "project_id": theirs })).await;
    assert_eq!(graph.error(json!({ "symbol": "theirs" })).await["code"], "NOT_FOUND");
    let missing =
        call(&graph.app, "navigate", json!({ "symbol": "ours", "project_id": project("absent") })).await;
    assert_eq!(missing["error"]["code"], "NO_INDEX", "{missing:#}");
    // In one project, but in another repository.
    result(&graph.app, "build_index", json!({ "repoPath": other.root(), "project_id": graph.project })).await;
    let found = graph.navigate(json!({ "symbol": "ours", "certainty": "name" })).await;
    assert_eq!(places(&found["files"]), ["ours.py:5 -"], "{found:#}");
    assert_eq!(found["unresolved"], Value::Null, "{found:#}");
    let root = other.root();
    let within = graph.error(json!({ "symbol": "ours", "repoPath": root })).await;
    assert_eq!(within["code"], "NOT_FOUND", "{within:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_language_without_rules_of_its_own_is_resolved_inside_of_files() {
    let greet = "function greet()\n  return 1\nend\n\nfunction run()\n  return greet()\nend\n";
    let files = [("a.lua", greet), ("b.lua", "function other()\n  return greet()\nend\n")];
    let graph = Graph::new("lua", &files).await;
    let found = graph.navigate(json!({ "symbol": "greet", "relation": "callers" })).await;
    assert_eq!(places(&found["files"]), ["a.lua:6 run"], "{found:#}");
    assert_eq!(found["unresolved"]["total"], 1, "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_stays_within_max_tokens_and_pages_cover_it() {
    let calls: String =
        (0..40).map(|n| format!("def user_{n}():\n    return open_the_till({n})\n\n\n")).collect();
    let text = format!("def open_the_till(number):\n    return number\n\n\n{calls}");
    let graph = Graph::new(
        "pages",
        &[("a.py", &text), ("b.py", &format!("from a import open_the_till\n\n\n{calls}"))],
    )
    .await;
    let whole = graph.navigate(json!({ "symbol": "open_the_till", "limit": 500 })).await;
    let whole_places = places(&whole["files"]);
    assert_eq!((whole_places.len(), &whole["total"]), (81, &json!(81)), "{whole:#}");
    let (mut paged, mut offset) = (Vec::new(), json!(0));
    while offset.is_number() {
        let page = json!({ "symbol": "open_the_till", "limit": 7, "offset": offset });
        let page = graph.navigate(page).await;
        paged.extend(places(&page["files"]));
        assert_eq!(page["total"], 81);
        offset = page["nextOffset"].clone();
    }
    assert_eq!(paged, whole_places);
    for tokens_max in [300, 420, 800, 2_000] {
        let envelope =
            graph.ask(json!({ "symbol": "open_the_till", "limit": 500, "maxTokens": tokens_max })).await;
        let cost = engine::search::tokens::count(&envelope.to_string());
        assert!(cost <= tokens_max, "{cost} of {tokens_max}: {envelope}");
        let shown = places(&envelope["result"]["files"]).len();
        assert!(shown > 0 && envelope["result"]["nextOffset"] == json!(shown), "{envelope:#}");
        assert!(envelope["result"]["omitted"]["places"].as_u64().unwrap() > 0, "{envelope:#}");
    }
}
