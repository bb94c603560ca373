//! The query language end to end: what ranks, what gates, and what is like a chunk.

use serde_json::{Value, json};

use super::shop::{Shop, files, index, shown, warnings};
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
async fn operators_gate() {
    let shop = Shop::open(app(), "operators").await;
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
        let answer = shop.ask(query, json!({})).await;
        let mut expected = expected;
        expected.sort_unstable();
        assert_eq!(files(&answer), expected, "{query}");
        let printed = answer["query"].as_str().unwrap();
        let again = shop.ask(printed, json!({})).await;
        assert_eq!(again["query"], printed, "{query}");
        assert_eq!(again["hits"], answer["hits"], "{query} and {printed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_words_rank_and_leave_nothing_out() {
    let shop = Shop::open(app(), "plain").await;
    let found = shop.ask("refund unheardof lost", json!({})).await;
    assert_eq!(found["hits"][0]["file"], REFUND);
    assert_eq!(files(&found).len(), 12, "{found:#}");
    let with = shop.ask("orders warehouse -refund", json!({})).await;
    assert!(with["hits"].as_array().unwrap().iter().all(|hit| hit["file"] != REFUND));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_question_is_read_as_plain_words() {
    let shop = Shop::open(app(), "malformed").await;
    for (malformed, plain) in [
        ("order (lang:go", "order lang go"),
        ("order \"thirty days", "order thirty days"),
        ("order AND", "order and"),
        ("OR order", "or order"),
        ("chunk:1 chunk:2 order", "chunk 1 chunk 2 order"),
    ] {
        let said = warnings(&shop, malformed, json!({})).await;
        assert_eq!(said.len(), 1, "{malformed}: {said:#?}");
        assert_eq!(said[0]["code"], "query_malformed", "{malformed}");
        let (asked, expected) = (shop.ask(malformed, json!({})).await, shop.ask(plain, json!({})).await);
        assert_eq!(asked["query"], plain, "{malformed}");
        assert_eq!(asked["hits"], expected["hits"], "{malformed}");
        assert_eq!(files(&asked).len(), 12, "nothing gates in {malformed}");
    }
    // Pasted text is no malformed question; nothing in it gates, and nothing needs to be said.
    let pasted = format!("{} \"unclosed AND (", "refund order lost ".repeat(12));
    assert_eq!(warnings(&shop, &pasted, json!({})).await, [] as [Value; 0]);
    assert_eq!(shop.ask(&pasted, json!({})).await["hits"][0]["file"], REFUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_alone_list_what_passes_in_the_order_of_paths() {
    let shop = Shop::open(app(), "listed").await;
    let answer = shop.ask("lang:rust", json!({ "output": "full" })).await;
    let in_order = [CHARGE, REFUND, "src/stock/shelf.rs", WALK, "trial.rs"];
    assert_eq!(shown(&answer), in_order);
    assert_eq!((&answer["total"], &answer["vectors"]), (&json!(5), &json!("none")));
    for hit in answer["hits"].as_array().unwrap() {
        assert_eq!((&hit["scoreType"], &hit["score"]), (&json!("none"), &json!(1.0)), "{hit:#}");
    }
    let page = shop.ask("lang:rust", json!({ "top": 2, "offset": 2 })).await;
    assert_eq!(shown(&page), in_order[2..4]);
    assert_eq!((&page["total"], &page["nextOffset"]), (&json!(5), &json!(4)));
    let without = shop.ask("-order -lang:markdown", json!({})).await;
    assert_eq!(shown(&without), [] as [String; 0], "every chunk says it");
    assert_eq!(shown(&shop.ask("-warehouse lang:markdown", json!({})).await), [RETURNS]);
}

const ALIKE: &[(&str, &str)] = &[
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
async fn a_chunk_finds_its_like_and_never_itself() {
    let (app, project) = (app(), project("alike"));
    let repository = Repository::new(ALIKE);
    index(&app, &repository, &project).await;
    let shop = Shop::of(app, project, repository);
    let first = shop.ask("count apples", json!({ "path": "a.rs" })).await;
    let id = first["hits"][0]["id"].as_i64().unwrap();
    for ann in [true, false] {
        let like = shop.ask(&format!("chunk:{id}"), json!({ "ann": ann })).await;
        assert_eq!(shown(&like)[0], "b.rs", "{like:#}");
        assert!(!files(&like).contains(&"a.rs".to_owned()), "{like:#}");
        assert_eq!(like["query"], format!("chunk:{id}"));
    }
    let all = shop.ask(&format!("chunk:{id}"), json!({})).await;
    assert_eq!((files(&all).len(), &all["vectors"]), (3, &json!("exact")));
    assert_eq!(shown(&shop.ask(&format!("chunk:{id} lang:python"), json!({})).await), ["d.py"]);
    assert_eq!(shown(&shop.ask(&format!("chunk:{id} -ripe"), json!({})).await), ["c.rs"]);
    assert_eq!(shown(&shop.ask(&format!("chunk:{id} path:a.rs"), json!({})).await), [] as [String; 0]);
    let fault = error(&shop.app, "search", shop.arguments("chunk:987654321", json!({}))).await;
    assert_eq!(fault["code"], "NOT_FOUND", "{fault:#}");
}
