//! Conditions about definitions hold together for one definition of a chunk, in Postgres and in a portable file.

use serde_json::{Value, json};

use super::{indexed, read};
use crate::filters::shop::Shop;
use crate::harness::result;

const ACCOUNT: &str = "public class Account {\n    private int balance = opening();\n\n    public int read() {\n        return load();\n    }\n}\n";
const VAULT: &str = "public class Vault {\n    public int level = opening();\n\n    private int read() {\n        return load();\n    }\n}\n";
const SCRIPT: &str = "import os\n\nstart(os.environ['HOME'])\n\n\ndef helper(path):\n    return path\n";

const FILES: &[(&str, &str)] = &[
    ("src/main/Account.java", ACCOUNT),
    ("src/main/Vault.java", VAULT),
    ("src/script.py", SCRIPT),
    ("docs/guide.md", "# Guide\n\nNothing of interest.\n"),
];

/// What hits of both backends read, which is the same.
async fn both(shop: &Shop, query: &str) -> Vec<String> {
    let lines = |answer: &Value| answer["hits"].as_array().unwrap().iter().map(read).collect::<Vec<_>>();
    let postgres = lines(&shop.ask(query, json!({})).await);
    let file = lines(&shop.ask(query, json!({ "backend": "sqlite" })).await);
    assert_eq!(postgres, file, "{query}");
    postgres
}

#[tokio::test(flavor = "multi_thread")]
async fn one_definition_fulfils_all_that_is_asked_of_definitions() {
    let shop = indexed("together", FILES).await;
    result(&shop.app, "build_sqlite_index", json!({ "project_id": shop.project })).await;
    let account = shop.ask("path:Account.java", json!({})).await;
    assert_eq!(account["total"], 1, "one chunk holds the class, its field and its method: {account:#}");
    let table: &[(&str, &[&str])] = &[
        ("type:method visibility:private", &["src/main/Vault.java:4 method Vault.read"]),
        ("type:method visibility:public", &["src/main/Account.java:4 method Account.read"]),
        ("type:method visibility:private path:src/main", &["src/main/Vault.java:4 method Vault.read"]),
        ("type:method signature:\"private int\"", &["src/main/Vault.java:4 method Vault.read"]),
        ("type:method calls:opening", &[]),
        ("type:method visibility:private calls:load", &["src/main/Vault.java:4 method Vault.read"]),
        // One of several alternatives counts as one condition.
        (
            "type:method (visibility:private OR path:Account)",
            &["src/main/Account.java:4 method Account.read", "src/main/Vault.java:4 method Vault.read"],
        ),
        (
            "(type:method visibility:private) OR lang:markdown",
            &["docs/guide.md:1 section Guide", "src/main/Vault.java:4 method Vault.read"],
        ),
    ];
    for (query, expected) in table {
        let found = both(&shop, query).await;
        assert_eq!(found, *expected, "{query}");
    }
    // What a chunk holds outside of its definitions is a part of its own.
    assert_eq!(both(&shop, "calls:start reads:os.environ").await.len(), 1);
    assert!(both(&shop, "calls:start type:function").await.is_empty());
    // A negation is about the whole chunk, as it is alone.
    let without = both(&shop, "type:method NOT visibility:private").await;
    assert!(without.is_empty(), "{without:?}");
    assert_eq!(both(&shop, "type:method NOT calls:nothing").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_further_part_of_a_long_function_counts_with_what_it_does() {
    let lines: String = (0..400).map(|n| format!("    value_{n} = step_{n}(value)\n")).collect();
    let text = format!("def travel(value):\n{lines}    return arrive(value)\n");
    let shop = indexed("continued", &[("src/travel.py", &text)]).await;
    result(&shop.app, "build_sqlite_index", json!({ "project_id": shop.project })).await;
    let whole = shop.ask("path:travel", json!({})).await;
    assert!(whole["total"].as_u64().unwrap() > 1, "{whole:#}");
    let found = both(&shop, "calls:arrive uses:value_399").await;
    assert_eq!(found.len(), 1, "{found:?}");
}
