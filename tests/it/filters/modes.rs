//! Which files each mode searches, what it shows, and which backend answers.

use serde_json::json;

use super::shop::{IndexedProject, hit_files, index, sorted_hit_files};
use crate::harness::{Repository, app, error, project};

const CODE: &[&str] = &[
    "jobs/nightly.py", "src/billing/charge.rs", "src/billing/refund.rs", "src/stock/shelf.rs",
    "src/stock/walk.rs", "tools/report.go", "trial.rs", "web/basket.ts", "web/money.ts",
];
const DOCUMENTS: &[&str] = &["docs/Shipping.md", "docs/returns.md"];
/// Code files with comments that are extracted.
const COMMENTED: &[&str] = &[
    "src/billing/charge.rs", "src/billing/refund.rs", "src/stock/shelf.rs", "src/stock/walk.rs",
    "tools/report.go", "trial.rs", "web/money.ts",
];
const RECORDS: &[&str] = &["logs/night.log"];

fn merged(parts: &[&[&'static str]]) -> Vec<&'static str> {
    let mut all = parts.concat();
    all.sort_unstable();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mode_searches_its_own_files() {
    let shop = IndexedProject::shop(app(), "modes").await;
    for (mode, admitted) in [
        ("code", merged(&[CODE])),
        ("prose", merged(&[DOCUMENTS, COMMENTED])),
        ("extracted-prose", merged(&[COMMENTED])),
        ("records", merged(&[RECORDS])),
        ("both", merged(&[CODE, DOCUMENTS])),
        ("all", merged(&[CODE, DOCUMENTS, RECORDS])),
    ] {
        let answer = shop.search("order", json!({ "mode": mode })).await;
        assert_eq!(sorted_hit_files(&answer), admitted, "{mode}");
        for hit in answer["hits"].as_array().unwrap() {
            let file = hit["file"].as_str().unwrap();
            let expected = match mode {
                "prose" | "extracted-prose" if COMMENTED.contains(&file) => "extracted-prose",
                _ if DOCUMENTS.contains(&file) => "prose",
                _ if RECORDS.contains(&file) => "records",
                _ => "code",
            };
            assert_eq!(hit["mode"].as_str().unwrap_or("code"), expected, "{mode}: {hit:#}");
        }
        // The same without search words, and with an additional filter.
        assert_eq!(
            sorted_hit_files(&shop.search("NOT lang:elixir", json!({ "mode": mode })).await),
            admitted,
            "{mode}"
        );
        let rust = shop.search("order lang:rust", json!({ "mode": mode })).await;
        let rust_files: Vec<_> = admitted.iter().copied().filter(|file| file.ends_with(".rs")).collect();
        assert_eq!(sorted_hit_files(&rust), rust_files, "{mode}");
    }
    let by_default = shop.search("order", json!({ "mode": null })).await;
    assert_eq!(by_default["hits"], shop.search("order", json!({ "mode": "both" })).await["hits"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn extracted_prose_searches_and_shows_only_comments() {
    let shop = IndexedProject::shop(app(), "comments").await;
    let search = async |query: &str| {
        let arguments = json!({ "mode": "extracted-prose", "ann": false, "output": "full", "context": 1 });
        shop.search(query, arguments).await
    };
    let found = search("remembers").await;
    assert_eq!(hit_files(&found), ["src/billing/charge.rs"]);
    let hit = &found["hits"][0];
    assert_eq!((&hit["startLine"], &hit["endLine"]), (&json!(3), &json!(3)), "{hit:#}");
    assert_eq!(hit["content"], "Charges the card of an order once and remembers the receipt.");
    assert_eq!(hit["contextBefore"], json!([""]), "{hit:#}");
    assert_eq!(hit["contextAfter"], json!(["#[tracing::instrument(skip(ledger))]"]), "{hit:#}");
    assert_eq!(hit["name"], "charge_order");

    assert_eq!(hit_files(&search("MAX_LINES").await), [] as [String; 0], "it occurs only in code");
    let prose = shop.search("MAX_LINES", json!({ "mode": "prose", "ann": false })).await;
    assert_eq!(hit_files(&prose), [] as [String; 0]);
    let code = shop.search("MAX_LINES", json!({ "mode": "code", "ann": false })).await;
    assert_eq!(hit_files(&code), ["src/billing/refund.rs"]);

    let comments = search("shortest aisles").await;
    assert_eq!(hit_files(&comments), ["src/stock/walk.rs"]);
    let content = comments["hits"][0]["content"].as_str().unwrap();
    assert!(content.starts_with("Fetches every ware") && content.contains("TODO: take the shortest way"));
    assert!(!content.contains("let aisle"), "{content}");
    assert_eq!((&comments["hits"][0]["startLine"], &comments["hits"][0]["endLine"]), (&json!(3), &json!(7)));
}

#[tokio::test(flavor = "multi_thread")]
async fn backend_and_vectors_follow_the_arguments() {
    let shop = IndexedProject::shop(app(), "backends").await;
    for backend in ["auto", "postgres"] {
        assert_eq!(shop.search("order", json!({ "backend": backend })).await["backend"], "postgres");
    }
    for (backend, code) in [("sqlite", "NO_INDEX"), ("sqlite-fts", "NO_INDEX"), ("grep", "INVALID_REQUEST")] {
        let fault = error(&shop.app, "search", shop.arguments("order", json!({ "backend": backend }))).await;
        assert_eq!(fault["code"], code, "{fault:#}");
    }
    let refused = json!({ "backend": "sqlite-fts", "ann": true });
    let fault = error(&shop.app, "search", shop.arguments("order", refused)).await;
    assert_eq!(fault["code"], "INVALID_REQUEST", "{fault:#}");
    let with = shop.search("order", json!({ "ann": true, "output": "full" })).await;
    assert_eq!((&with["vectors"], &with["hits"][0]["scoreType"]), (&json!("exact"), &json!("blend")));
    let without = shop.search("order", json!({ "ann": false, "output": "full" })).await;
    assert_eq!((&without["vectors"], &without["hits"][0]["scoreType"]), (&json!("none"), &json!("bm25")));
    let nothing = shop.search("unheardof", json!({ "ann": false })).await;
    assert_eq!(hit_files(&nothing), [] as [String; 0], "without vectors a hit must contain a query word");
}

/// More than five comments of two words or more, beside text that is not extracted: a licence header, separator lines and
/// commented-out code.
const COMMENTS: &str = "\
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
async fn all_comments_with_text_are_extracted_and_nothing_else() {
    let (app, project) = (app(), project("trailing-comments"));
    let repository = Repository::new(&[("send.rs", COMMENTS)]);
    index(&app, &repository, &project).await;
    let indexed = IndexedProject::new(app, project, repository);
    let search = async |query: &str| {
        let arguments = json!({ "mode": "extracted-prose", "ann": false, "output": "full" });
        indexed.search(query, arguments).await
    };
    for words in ["retries", "names the host", "blocks", "slow", "reads one line", "address", "late answer"] {
        assert_eq!(hit_files(&search(words).await), ["send.rs"], "{words}");
    }
    let content = search("retries twice").await["hits"][0]["content"].as_str().unwrap().to_owned();
    assert!(content.starts_with("retries twice") && content.ends_with("ignores a late answer"), "{content}");
    for absent in ["Copyright", "encode", "---", "===", "body"] {
        assert!(!content.contains(absent), "{absent}: {content}");
    }
}
