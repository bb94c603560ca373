//! What each mode admits and shows, and which backends answer.

use serde_json::json;

use super::shop::index;
use super::shop::{Shop, files, shown};
use crate::harness::{Repository, app, error, project};

const CODE: &[&str] = &[
    "jobs/nightly.py",
    "src/billing/charge.rs",
    "src/billing/refund.rs",
    "src/stock/shelf.rs",
    "src/stock/walk.rs",
    "tools/report.go",
    "trial.rs",
    "web/basket.ts",
    "web/money.ts",
];
const DOCUMENTS: &[&str] = &["docs/Shipping.md", "docs/returns.md"];
/// Code whose comments say something.
const COMMENTED: &[&str] = &[
    "src/billing/charge.rs",
    "src/billing/refund.rs",
    "src/stock/shelf.rs",
    "src/stock/walk.rs",
    "tools/report.go",
    "trial.rs",
    "web/money.ts",
];
const RECORDS: &[&str] = &["logs/night.log"];

fn together(parts: &[&[&'static str]]) -> Vec<&'static str> {
    let mut all = parts.concat();
    all.sort_unstable();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mode_admits_its_own() {
    let shop = Shop::open(app(), "modes").await;
    for (mode, admitted) in [
        ("code", together(&[CODE])),
        ("prose", together(&[DOCUMENTS, COMMENTED])),
        ("extracted-prose", together(&[COMMENTED])),
        ("records", together(&[RECORDS])),
        ("both", together(&[CODE, DOCUMENTS])),
        ("all", together(&[CODE, DOCUMENTS, RECORDS])),
    ] {
        let answer = shop.ask("order", json!({ "mode": mode })).await;
        assert_eq!(files(&answer), admitted, "{mode}");
        for hit in answer["hits"].as_array().unwrap() {
            let file = hit["file"].as_str().unwrap();
            let said = match mode {
                "prose" | "extracted-prose" if COMMENTED.contains(&file) => "extracted-prose",
                _ if DOCUMENTS.contains(&file) => "prose",
                _ if RECORDS.contains(&file) => "records",
                _ => "code",
            };
            assert_eq!(hit["mode"].as_str().unwrap_or("code"), said, "{mode}: {hit:#}");
        }
        // The same without words, and with a filter on top.
        assert_eq!(files(&shop.ask("NOT lang:elixir", json!({ "mode": mode })).await), admitted, "{mode}");
        let rust = shop.ask("order lang:rust", json!({ "mode": mode })).await;
        let expected: Vec<_> = admitted.iter().copied().filter(|file| file.ends_with(".rs")).collect();
        assert_eq!(files(&rust), expected, "{mode}");
    }
    let usual = shop.ask("order", json!({ "mode": null })).await;
    assert_eq!(usual["hits"], shop.ask("order", json!({ "mode": "both" })).await["hits"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn extracted_prose_shows_and_asks_comments_alone() {
    let shop = Shop::open(app(), "comments").await;
    let ask = async |query: &str| {
        let arguments = json!({ "mode": "extracted-prose", "ann": false, "output": "full", "context": 1 });
        shop.ask(query, arguments).await
    };
    let found = ask("remembers").await;
    assert_eq!(shown(&found), ["src/billing/charge.rs"]);
    let hit = &found["hits"][0];
    assert_eq!((&hit["startLine"], &hit["endLine"]), (&json!(3), &json!(3)), "{hit:#}");
    assert_eq!(hit["content"], "Charges the card of an order once and remembers the receipt.");
    assert_eq!(hit["contextBefore"], json!([""]), "{hit:#}");
    assert_eq!(hit["contextAfter"], json!(["#[tracing::instrument(skip(ledger))]"]), "{hit:#}");
    assert_eq!(hit["name"], "charge_order");

    assert_eq!(shown(&ask("MAX_LINES").await), [] as [String; 0], "that stands in the code alone");
    let prose = shop.ask("MAX_LINES", json!({ "mode": "prose", "ann": false })).await;
    assert_eq!(shown(&prose), [] as [String; 0]);
    let code = shop.ask("MAX_LINES", json!({ "mode": "code", "ann": false })).await;
    assert_eq!(shown(&code), ["src/billing/refund.rs"]);

    let remarks = ask("shortest aisles").await;
    assert_eq!(shown(&remarks), ["src/stock/walk.rs"]);
    let content = remarks["hits"][0]["content"].as_str().unwrap();
    assert!(content.starts_with("Fetches every ware") && content.contains("TODO: take the shortest way"));
    assert!(!content.contains("let aisle"), "{content}");
    assert_eq!((&remarks["hits"][0]["startLine"], &remarks["hits"][0]["endLine"]), (&json!(3), &json!(7)));
}

#[tokio::test(flavor = "multi_thread")]
async fn backends_and_vectors_are_as_asked() {
    let shop = Shop::open(app(), "backends").await;
    for backend in ["auto", "postgres"] {
        assert_eq!(shop.ask("order", json!({ "backend": backend })).await["backend"], "postgres");
    }
    for (backend, code) in [("sqlite", "NO_INDEX"), ("sqlite-fts", "NO_INDEX"), ("grep", "INVALID_REQUEST")] {
        let fault = error(&shop.app, "search", shop.arguments("order", json!({ "backend": backend }))).await;
        assert_eq!(fault["code"], code, "{fault:#}");
    }
    let refused = json!({ "backend": "sqlite-fts", "ann": true });
    let fault = error(&shop.app, "search", shop.arguments("order", refused)).await;
    assert_eq!(fault["code"], "INVALID_REQUEST", "{fault:#}");
    let with = shop.ask("order", json!({ "ann": true, "output": "full" })).await;
    assert_eq!((&with["vectors"], &with["hits"][0]["scoreType"]), (&json!("exact"), &json!("blend")));
    let without = shop.ask("order", json!({ "ann": false, "output": "full" })).await;
    assert_eq!((&without["vectors"], &without["hits"][0]["scoreType"]), (&json!("none"), &json!("bm25")));
    let nothing = shop.ask("unheardof", json!({ "ann": false })).await;
    assert_eq!(shown(&nothing), [] as [String; 0], "without vectors a word must be said");
}

/// Remarks of two words and more than five of them, beside what says nothing.
const REMARKS: &str = "\
// Copyright 2020 by the authors.

// ------------------------------

pub fn send(mail: &Mail) {
    connect(); // retries twice
    // =========== body ===========
    greet(mail); // names the host
    // let old = encode(mail);
    write(mail); // never blocks
    flush(mail); // may be slow
    check(mail); // reads one line
    log(mail); // without the address
    close(); // ignores a late answer
}
";

#[tokio::test(flavor = "multi_thread")]
async fn all_remarks_are_found_and_nothing_else() {
    let (app, project) = (app(), project("remarks"));
    let repository = Repository::new(&[("send.rs", REMARKS)]);
    index(&app, &repository, &project).await;
    let shop = Shop::of(app, project, repository);
    let ask = async |query: &str| {
        let arguments = json!({ "mode": "extracted-prose", "ann": false, "output": "full" });
        shop.ask(query, arguments).await
    };
    for said in ["retries", "names the host", "blocks", "slow", "reads one line", "address", "late answer"] {
        assert_eq!(shown(&ask(said).await), ["send.rs"], "{said}");
    }
    let content = ask("retries twice").await["hits"][0]["content"].as_str().unwrap().to_owned();
    assert!(content.starts_with("retries twice") && content.ends_with("ignores a late answer"), "{content}");
    for unsaid in ["Copyright", "encode", "---", "===", "body"] {
        assert!(!content.contains(unsaid), "{unsaid}: {content}");
    }
}
