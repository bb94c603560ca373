//! What each form of an answer shows, who calls whom, and answers that come page by page.

use serde_json::{Value, json};

use super::corpus::corpus;
use super::shop::{Shop, index, shown};
use crate::harness::{Repository, app, app_with, project, result};

#[tokio::test(flavor = "multi_thread")]
async fn each_form_shows_what_it_promises() {
    let shop = Shop::open(app(), "forms").await;
    let ask = async |arguments: Value| {
        let answer = shop.ask("charge_order", arguments).await;
        assert_eq!(shown(&answer)[0], "src/billing/charge.rs");
        answer
    };
    let compact = ask(json!({})).await;
    for hit in compact["hits"].as_array().unwrap() {
        for absent in ["known", "content", "scoreBreakdown", "scoreType", "lang"] {
            assert!(hit.get(absent).is_none(), "{absent}: {hit:#}");
        }
    }
    assert!(compact["hits"][0]["snippet"].as_str().unwrap().contains("charge_order"), "{compact:#}");
    assert!(compact.get("explain").is_none() && compact.get("stats").is_none());

    let full = ask(json!({ "output": "full" })).await;
    let hit = &full["hits"][0];
    assert!(full.get("stats").is_none() && hit.get("scoreBreakdown").is_none(), "{full:#}");
    assert_eq!((&hit["lang"], &hit["ext"]), (&json!("rust"), &json!("rs")));
    assert!(hit["content"].as_str().unwrap().starts_with("use std::collections::HashMap;"));
    let known = &hit["known"];
    assert_eq!(known["facts"]["params"], json!(["cents", "ledger"]), "{known:#}");
    assert_eq!(known["facts"]["authors"], json!(["Ada Lovelace", "Grace Hopper"]), "{known:#}");
    assert_eq!(known["doc"], "Charges the card of an order once and remembers the receipt.");
    assert_eq!(known["controlFlow"]["branches"], 2, "{known:#}");
    let pair = json!({ "caller": "charge_order", "callee": "gateway.submit" });
    assert!(known["calls"].as_array().unwrap().contains(&pair), "{known:#}");
    let history = &known["history"];
    assert_eq!((&history["branch"], &history["lastAuthor"]), (&json!("main"), &json!("Grace Hopper")));
    assert_eq!(history["lastModified"], "2022-06-15T12:00:00Z");
    assert_eq!((&history["churn"], &history["churnCommits"]), (&json!(13), &json!(2)), "{history:#}");
    let returns = shop.ask("path:returns", json!({ "output": "full" })).await;
    let meta = returns["hits"][0]["known"]["meta"].as_array().unwrap();
    assert!(meta.contains(&json!("audience=partners")), "{meta:#?}");

    let whole = ask(json!({ "output": "json" })).await;
    assert!(whole["stats"]["totalMs"].is_number() && whole["explain"]["terms"].is_array(), "{whole:#}");
    assert_eq!(whole["hits"][0]["known"], *known);
    for answer in [whole, ask(json!({ "explain": true })).await] {
        let explain = &answer["explain"];
        assert_eq!((&explain["within"], &explain["symbol"]), (&json!("everything"), &json!(1.0)));
        let term = &explain["terms"][0];
        assert!(term["weight"].as_f64().unwrap() > 0.0 && term["chunks"].as_u64().unwrap() > 0, "{term:#}");
        let parts = answer["hits"][0]["scoreBreakdown"].as_object().unwrap();
        for part in ["lexical", "dense", "fused", "definition", "path", "coherence", "role", "saturation"] {
            assert!(parts[part].is_number(), "{part}: {parts:#?}");
        }
        assert!(parts["definition"].as_f64().unwrap() > 0.0, "it is defined here: {parts:#?}");
    }
}

const CALLS: &[(&str, &str)] = &[
    (
        "store.rs",
        "pub struct Store;\n\nimpl Store {\n    pub fn open(path: &Path) -> Store {\n        check(path);\n        read_header(path)\n    }\n}\n",
    ),
    ("check.rs", "pub fn check(path: &Path) -> bool {\n    path.exists()\n}\n"),
    (
        "serve.rs",
        "pub fn serve(path: &Path) {\n    let store = Store::open(path);\n    run(store);\n    run(store);\n}\n",
    ),
    ("main.py", "def main(path):\n    check(path)\n    serve(path)\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn hits_say_whom_they_call_and_who_calls_them() {
    let (app, project) = (app(), project("calls"));
    let repository = Repository::new(CALLS);
    index(&app, &repository, &project).await;
    let shop = Shop::of(app, project, repository);
    for (file, calls, called_by) in [
        ("check.rs", json!(["path.exists"]), json!(["main", "Store::open"])),
        ("serve.rs", json!(["Store.open", "run"]), json!(["main"])),
        ("main.py", json!(["check", "serve"]), Value::Null),
    ] {
        let found = shop.ask("path", json!({ "path": file })).await;
        let hit = &found["hits"][0];
        assert_eq!((&hit["calls"], &hit["calledBy"]), (&calls, &called_by), "{file}: {hit:#}");
    }
    // The filter knows both ends of a call.
    let asked = async |query: &str| shown(&shop.ask(query, json!({})).await);
    assert_eq!(asked("calls:check").await, ["check.rs", "main.py", "store.rs"]);
    assert_eq!(asked("calls:Store::open").await, ["serve.rs", "store.rs"]);
}

/// Ids in the order of pages of `top`, as `nextOffset` leads through them.
async fn paged(shop: &Shop, query: &str, top: usize) -> Vec<Value> {
    let (mut ids, mut offset) = (Vec::new(), json!(0));
    while offset.is_number() {
        let page = shop.ask(query, json!({ "top": top, "offset": offset })).await;
        let hits = page["hits"].as_array().unwrap();
        assert!(!hits.is_empty(), "{query}: a page that was promised at {offset} is empty");
        ids.extend(hits.iter().map(|hit| hit["id"].clone()));
        offset = page["nextOffset"].clone();
        if offset.as_u64().is_some_and(|offset| offset > 900) {
            break;
        }
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_put_together_are_the_whole_answer() {
    let shop = Shop::open(app(), "paged").await;
    for query in ["order", "order lang:rust", "lang:rust", "receipt OR refunded", "NOT lang:go"] {
        let whole = shop.ask(query, json!({})).await;
        let ids: Vec<Value> = whole["hits"].as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect();
        assert_eq!(whole["total"], ids.len(), "{query}");
        assert!(whole.get("nextOffset").is_none(), "{query}");
        assert_eq!(paged(&shop, query, 3).await, ids, "{query}");
    }
    let beyond = shop.ask("order", json!({ "offset": 500 })).await;
    assert!(beyond["hits"].as_array().unwrap().is_empty() && beyond.get("nextOffset").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn far_pages_show_nothing_twice_and_skip_nothing() {
    let shop = corpus(app()).await;
    for query in ["bakori mutelo dekvinpor", "bakori mutelo async:true", "visibility:private"] {
        let ids = paged(&shop, query, 50).await;
        let mut once: Vec<_> = ids.iter().map(|id| id.as_i64().unwrap()).collect();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), ids.len(), "{query}");
        let smaller = paged(&shop, query, 30).await;
        let shared = ids.len().min(smaller.len());
        assert!(shared > 90 && ids[..shared] == smaller[..shared], "{query}: pages of 30 and of 50 differ");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ties_stand_in_the_order_of_paths_after_every_run() {
    let (app, project) = (app_with(|config| config.search.filter_rows_max = 5), project("ties"));
    let repository = Repository::new(&[]);
    let text = "pub fn same_everywhere(n: u32) -> u32 {\n    n\n}\n";
    let expected: Vec<String> = (0..40).map(|n| format!("part{}/file{n:02}.rs", n % 4)).collect();
    for path in &expected {
        repository.write(path, text);
    }
    let mut expected = expected;
    expected.sort();
    index(&app, &repository, &project).await;
    let shop = Shop::of(app, project, repository);
    for run in 0..3 {
        for _ in 0..3 {
            for query in ["same_everywhere", "same_everywhere lang:rust", "lang:rust"] {
                let found = shop.ask(query, json!({ "ann": true })).await;
                assert_eq!(shown(&found), expected, "{query}, run {run}");
            }
        }
        // The first files get new rows, and so larger ids.
        shop.main.write(&expected[run], &format!("{text}\n"));
        let arguments =
            json!({ "repoPath": shop.main.root(), "project_id": shop.project, "incremental": run == 1 });
        result(&shop.app, "build_index", arguments).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ties_of_two_repositories_stand_alike_after_every_run() {
    let (app, project) = (app(), project("twins"));
    let text = "pub fn same_everywhere(n: u32) -> u32 {\n    n\n}\n";
    let twins = [Repository::new(&[("a.rs", text)]), Repository::new(&[("a.rs", text)])];
    for twin in &twins {
        index(&app, twin, &project).await;
    }
    let [first, second] = twins;
    let shop = Shop::of(app, project, first);
    let ask = async || {
        let found = shop.ask("same_everywhere", json!({ "output": "full" })).await;
        found["hits"].as_array().unwrap().iter().map(|hit| hit["repo"].clone()).collect::<Vec<_>>()
    };
    let before = ask().await;
    assert_eq!(before.len(), 2);
    for twin in [&shop.main, &second] {
        twin.write("a.rs", &format!("{text}\n"));
        index(&shop.app, twin, &shop.project).await;
        assert_eq!(ask().await, before);
    }
}
