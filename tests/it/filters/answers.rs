//! The output forms of an answer, callers and callees of a hit, and answers that come page by page.

use serde_json::{Value, json};

use super::corpus::corpus;
use super::shop::{IndexedProject, hit_files, index};
use crate::harness::{Repository, app, app_with, project, result};

#[tokio::test(flavor = "multi_thread")]
async fn each_output_form_shows_its_own_fields() {
    let shop = IndexedProject::shop(app(), "forms").await;
    let search = async |arguments: Value| {
        let answer = shop.search("charge_order", arguments).await;
        assert_eq!(hit_files(&answer)[0], "src/billing/charge.rs");
        answer
    };
    let compact = search(json!({})).await;
    for hit in compact["hits"].as_array().unwrap() {
        for absent in ["known", "content", "scoreBreakdown", "scoreType", "lang"] {
            assert!(hit.get(absent).is_none(), "{absent}: {hit:#}");
        }
    }
    assert!(compact["hits"][0]["snippet"].as_str().unwrap().contains("charge_order"), "{compact:#}");
    assert!(compact.get("explain").is_none() && compact.get("stats").is_none());

    let full = search(json!({ "output": "full" })).await;
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
    let returns = shop.search("path:returns", json!({ "output": "full" })).await;
    let meta = returns["hits"][0]["known"]["meta"].as_array().unwrap();
    assert!(meta.contains(&json!("audience=partners")), "{meta:#?}");

    let as_json = search(json!({ "output": "json" })).await;
    assert!(as_json["stats"]["totalMs"].is_number() && as_json["explain"]["terms"].is_array(), "{as_json:#}");
    assert_eq!(as_json["hits"][0]["known"], *known);
    for answer in [as_json, search(json!({ "explain": true })).await] {
        let explain = &answer["explain"];
        assert_eq!((&explain["within"], &explain["symbol"]), (&json!("everything"), &json!(1.0)));
        let term = &explain["terms"][0];
        assert!(term["weight"].as_f64().unwrap() > 0.0 && term["chunks"].as_u64().unwrap() > 0, "{term:#}");
        let parts = answer["hits"][0]["scoreBreakdown"].as_object().unwrap();
        for part in ["lexical", "dense", "fused", "definition", "path", "coherence", "role", "saturation"] {
            assert!(parts[part].is_number(), "{part}: {parts:#?}");
        }
        assert!(parts["definition"].as_f64().unwrap() > 0.0, "the hit defines it: {parts:#?}");
    }
}

const CALLS: &[(&str, &str)] = &[
    (
        "store.py",
        "from check import check\n\n\nclass Store:\n    def open(self, path):\n        check(path)\n        return read_header(path)\n",
    ),
    ("check.py", "def check(path):\n    return path.exists()\n"),
    (
        "serve.py",
        "from store import Store\n\n\ndef serve(path):\n    store = Store()\n    store.open(path)\n    run(store)\n    run(store)\n",
    ),
    ("main.ts", "export function main(path: string) {\n  check(path);\n  serve(path);\n}\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn hits_name_their_callees_and_callers() {
    let (app, project) = (app(), project("calls"));
    let repository = Repository::new(CALLS);
    index(&app, &repository, &project).await;
    let indexed = IndexedProject::new(app, project, repository);
    for (file, calls, called_by) in [
        // A call of the same name in another language is not a caller.
        ("check.py", json!(["path.exists"]), json!(["Store.open"])),
        ("serve.py", json!(["Store", "store.open", "run"]), Value::Null),
        ("main.ts", json!(["check", "serve"]), Value::Null),
    ] {
        let found = indexed.search("path", json!({ "path": file })).await;
        let hit = &found["hits"][0];
        assert_eq!((&hit["calls"], &hit["calledBy"]), (&calls, &called_by), "{file}: {hit:#}");
    }
    // The filter matches calls, and not what is called.
    let files_of_hits = async |query: &str| hit_files(&indexed.search(query, json!({})).await);
    assert_eq!(files_of_hits("calls:check").await, ["store.py"]);
    assert_eq!(files_of_hits("calls:Store::open").await, ["serve.py"]);
}

/// The ids of all hits, read in pages of `top` by following `nextOffset`.
async fn ids_page_by_page(indexed: &IndexedProject, query: &str, top: usize) -> Vec<Value> {
    let (mut ids, mut offset) = (Vec::new(), json!(0));
    while offset.is_number() {
        let page = indexed.search(query, json!({ "top": top, "offset": offset })).await;
        let hits = page["hits"].as_array().unwrap();
        assert!(!hits.is_empty(), "{query}: the page at the announced offset {offset} is empty");
        ids.extend(hits.iter().map(|hit| hit["id"].clone()));
        offset = page["nextOffset"].clone();
        if offset.as_u64().is_some_and(|offset| offset > 900) {
            break;
        }
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_together_are_the_whole_answer() {
    let shop = IndexedProject::shop(app(), "paged").await;
    for query in ["order", "order lang:rust", "lang:rust", "receipt OR refunded", "NOT lang:go"] {
        let whole = shop.search(query, json!({})).await;
        let ids: Vec<Value> = whole["hits"].as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect();
        assert_eq!(whole["total"], ids.len(), "{query}");
        assert!(whole.get("nextOffset").is_none(), "{query}");
        assert_eq!(ids_page_by_page(&shop, query, 3).await, ids, "{query}");
    }
    let beyond = shop.search("order", json!({ "offset": 500 })).await;
    assert!(beyond["hits"].as_array().unwrap().is_empty() && beyond.get("nextOffset").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn late_pages_repeat_no_hit_and_do_not_depend_on_the_page_size() {
    let indexed = corpus(app()).await;
    for query in ["bakori mutelo dekvinpor", "bakori mutelo async:true", "visibility:private"] {
        let ids = ids_page_by_page(&indexed, query, 50).await;
        let mut distinct: Vec<_> = ids.iter().map(|id| id.as_i64().unwrap()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), ids.len(), "{query}");
        let in_smaller_pages = ids_page_by_page(&indexed, query, 30).await;
        let shared = ids.len().min(in_smaller_pages.len());
        assert!(
            shared > 90 && ids[..shared] == in_smaller_pages[..shared],
            "{query}: pages of 30 and of 50 differ"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ties_are_ordered_by_path_after_every_run() {
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
    let indexed = IndexedProject::new(app, project, repository);
    for run in 0..3 {
        for _ in 0..3 {
            for query in ["same_everywhere", "same_everywhere lang:rust", "lang:rust"] {
                let found = indexed.search(query, json!({ "ann": true })).await;
                assert_eq!(hit_files(&found), expected, "{query}, run {run}");
            }
        }
        // The first files get new rows, and so larger ids.
        indexed.repository.write(&expected[run], &format!("{text}\n"));
        let arguments = json!({ "repoPath": indexed.repository.root(), "project_id": indexed.project, "incremental": run == 1 });
        result(&indexed.app, "build_index", arguments).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ties_between_repositories_keep_their_order_after_every_run() {
    let (app, project) = (app(), project("tied-repositories"));
    let text = "pub fn same_everywhere(n: u32) -> u32 {\n    n\n}\n";
    let repositories = [Repository::new(&[("a.rs", text)]), Repository::new(&[("a.rs", text)])];
    for repository in &repositories {
        index(&app, repository, &project).await;
    }
    let [first, second] = repositories;
    let indexed = IndexedProject::new(app, project, first);
    let repositories_of_hits = async || {
        let found = indexed.search("same_everywhere", json!({ "output": "full" })).await;
        found["hits"].as_array().unwrap().iter().map(|hit| hit["repo"].clone()).collect::<Vec<_>>()
    };
    let before = repositories_of_hits().await;
    assert_eq!(before.len(), 2);
    for repository in [&indexed.repository, &second] {
        repository.write("a.rs", &format!("{text}\n"));
        index(&indexed.app, repository, &indexed.project).await;
        assert_eq!(repositories_of_hits().await, before);
    }
}
