//! The query language end to end: plain words rank, operators filter, `chunk:` finds similar chunks.

use serde_json::{Value, json};

use super::shop::{IndexedProject, hit_files, index, search_warnings, sorted_hit_files};
use crate::harness::{Repository, app, error, project};

const BASKET: &str = "web/basket.ts";
const CHARGE: &str = "src/billing/charge.rs";
const MONEY: &str = "web/money.ts";
const NIGHTLY: &str = "jobs/nightly.py";
const REFUND: &str = "src/billing/refund.rs";
const REPORT: &str = "tools/report.go";
const RETURNS: &str = "docs/returns.md";
const SHIPPING: &str = "docs/Shipping.md";
const WALK: &str = "src/stock/walk.rs";

#[tokio::test(flavor = "multi_thread")]
async fn operators_filter() {
    let shop = IndexedProject::shop(app(), "operators").await;
    for (query, expected) in [
        ("order \"thirty days\"", vec![RETURNS]),
        ("order \"THIRTY   days\"", vec![RETURNS]),
        ("order \"hirty days\"", vec![]),
        ("order \"order.paid:\"", vec![NIGHTLY]),
        ("order warehouse AND -lang:markdown", vec![WALK]),
        ("warehouse AND order", vec![SHIPPING, WALK]),
        ("thirty OR refunded", vec![RETURNS, REFUND]),
        ("(thirty OR refunded) NOT lang:markdown", vec![REFUND]),
        ("order NOT (path:src OR path:web OR path:docs) -ext:log", vec![NIGHTLY, REPORT, "trial.rs"]),
        ("receipt AND (type:class OR lang:rust)", vec![CHARGE, BASKET]),
        ("order return-type:receipt ASYNC:true", vec![CHARGE, BASKET]),
        ("order async:true async:false", vec![]),
        ("order (async:true OR generator:yes) -type:class", vec![NIGHTLY, CHARGE]),
        ("order NOT NOT lang:go", vec![REPORT]),
        ("order calls:send_mail OR calls:\"euros.toFixed\"", vec![NIGHTLY, MONEY]),
    ] {
        let answer = shop.search(query, json!({})).await;
        let mut expected = expected;
        expected.sort_unstable();
        assert_eq!(sorted_hit_files(&answer), expected, "{query}");
        let printed = answer["query"].as_str().unwrap();
        let again = shop.search(printed, json!({})).await;
        assert_eq!(again["query"], printed, "{query}");
        assert_eq!(again["hits"], answer["hits"], "{query} and {printed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_words_rank_and_exclude_nothing() {
    let shop = IndexedProject::shop(app(), "plain").await;
    let found = shop.search("refund unheardof lost", json!({})).await;
    assert_eq!(found["hits"][0]["file"], REFUND);
    assert_eq!(sorted_hit_files(&found).len(), 12, "{found:#}");
    let with = shop.search("orders warehouse -refund", json!({})).await;
    assert!(with["hits"].as_array().unwrap().iter().all(|hit| hit["file"] != REFUND));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_query_is_read_as_plain_words() {
    let shop = IndexedProject::shop(app(), "malformed").await;
    for (malformed, plain) in [
        ("order (lang:go", "order lang go"),
        ("order \"thirty days", "order thirty days"),
        ("order AND", "order and"),
        ("OR order", "or order"),
        ("chunk:1 chunk:2 order", "chunk 1 chunk 2 order"),
    ] {
        let warnings = search_warnings(&shop, malformed, json!({})).await;
        assert_eq!(warnings.len(), 1, "{malformed}: {warnings:#?}");
        assert_eq!(warnings[0]["code"], "query_malformed", "{malformed}");
        let (answer, expected) =
            (shop.search(malformed, json!({})).await, shop.search(plain, json!({})).await);
        assert_eq!(answer["query"], plain, "{malformed}");
        assert_eq!(answer["hits"], expected["hits"], "{malformed}");
        assert_eq!(sorted_hit_files(&answer).len(), 12, "{malformed} filters nothing");
    }
    // Pasted text is not a malformed query: nothing in it filters, and no warning is due.
    let pasted = format!("{} \"unclosed AND (", "refund order lost ".repeat(12));
    assert_eq!(search_warnings(&shop, &pasted, json!({})).await, [] as [Value; 0]);
    assert_eq!(shop.search(&pasted, json!({})).await["hits"][0]["file"], REFUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_without_words_list_passing_chunks_in_path_order() {
    let shop = IndexedProject::shop(app(), "listed").await;
    let answer = shop.search("lang:rust", json!({ "output": "full" })).await;
    let in_order = [CHARGE, REFUND, "src/stock/shelf.rs", WALK, "trial.rs"];
    assert_eq!(hit_files(&answer), in_order);
    assert_eq!((&answer["total"], &answer["vectors"]), (&json!(5), &json!("none")));
    for hit in answer["hits"].as_array().unwrap() {
        assert_eq!((&hit["scoreType"], &hit["score"]), (&json!("none"), &json!(1.0)), "{hit:#}");
    }
    let page = shop.search("lang:rust", json!({ "top": 2, "offset": 2 })).await;
    assert_eq!(hit_files(&page), in_order[2..4]);
    assert_eq!((&page["total"], &page["nextOffset"]), (&json!(5), &json!(4)));
    let without = shop.search("-order -lang:markdown", json!({})).await;
    assert_eq!(hit_files(&without), [] as [String; 0], "every chunk contains the word");
    assert_eq!(hit_files(&shop.search("-warehouse lang:markdown", json!({})).await), [RETURNS]);
}

const SIMILAR: &[(&str, &str)] = &[
    (
        "a.rs",
        "fn count_apples(basket: &Basket) -> usize {\n    basket.apples.iter().filter(|a| a.ripe).count()\n}\n",
    ),
    (
        "b.rs",
        "fn count_pears(basket: &Basket) -> usize {\n    basket.pears.iter().filter(|a| a.ripe).count()\n}\n",
    ),
    ("c.rs", "fn open_window(house: &mut House) {\n    house.window.open();\n}\n"),
    ("d.py", "def count_plums(basket):\n    return len([a for a in basket.plums if a.ripe])\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_query_finds_similar_chunks_and_never_the_chunk_itself() {
    let (app, project) = (app(), project("alike"));
    let repository = Repository::new(SIMILAR);
    index(&app, &repository, &project).await;
    let indexed = IndexedProject::new(app, project, repository);
    let first = indexed.search("count apples", json!({ "path": "a.rs" })).await;
    let id = first["hits"][0]["id"].as_i64().unwrap();
    for ann in [true, false] {
        let similar = indexed.search(&format!("chunk:{id}"), json!({ "ann": ann })).await;
        assert_eq!(hit_files(&similar)[0], "b.rs", "{similar:#}");
        assert!(!sorted_hit_files(&similar).contains(&"a.rs".to_owned()), "{similar:#}");
        assert_eq!(similar["query"], format!("chunk:{id}"));
    }
    let all = indexed.search(&format!("chunk:{id}"), json!({})).await;
    assert_eq!((sorted_hit_files(&all).len(), &all["vectors"]), (3, &json!("exact")));
    assert_eq!(hit_files(&indexed.search(&format!("chunk:{id} lang:python"), json!({})).await), ["d.py"]);
    assert_eq!(hit_files(&indexed.search(&format!("chunk:{id} -ripe"), json!({})).await), ["c.rs"]);
    assert_eq!(
        hit_files(&indexed.search(&format!("chunk:{id} path:a.rs"), json!({})).await),
        [] as [String; 0]
    );
    let fault = error(&indexed.app, "search", indexed.arguments("chunk:987654321", json!({}))).await;
    assert_eq!(fault["code"], "NOT_FOUND", "{fault:#}");
}
