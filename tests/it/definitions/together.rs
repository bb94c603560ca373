//! Several filters on definitions must pass for one and the same definition of a chunk, in Postgres and in a portable file.

use serde_json::{Value, json};

use super::{describe, index_files};
use crate::filters::shop::IndexedProject;
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

/// The hits of a query, described; Postgres and the portable file must agree.
async fn search_both(indexed: &IndexedProject, query: &str) -> Vec<String> {
    let lines = |answer: &Value| answer["hits"].as_array().unwrap().iter().map(describe).collect::<Vec<_>>();
    let postgres = lines(&indexed.search(query, json!({})).await);
    let file = lines(&indexed.search(query, json!({ "backend": "sqlite" })).await);
    assert_eq!(postgres, file, "{query}");
    postgres
}

#[tokio::test(flavor = "multi_thread")]
async fn one_definition_must_pass_all_filters_on_definitions() {
    let indexed = index_files("together", FILES).await;
    result(&indexed.app, "build_sqlite_index", json!({ "project_id": indexed.project })).await;
    let account = indexed.search("path:Account.java", json!({})).await;
    assert_eq!(account["total"], 1, "one chunk contains the class, its field and its method: {account:#}");
    let table: &[(&str, &[&str])] = &[
        ("type:method visibility:private", &["src/main/Vault.java:4 method Vault.read"]),
        ("type:method visibility:public", &["src/main/Account.java:4 method Account.read"]),
        ("type:method visibility:private path:src/main", &["src/main/Vault.java:4 method Vault.read"]),
        ("type:method signature:\"private int\"", &["src/main/Vault.java:4 method Vault.read"]),
        ("type:method calls:opening", &[]),
        ("type:method visibility:private calls:load", &["src/main/Vault.java:4 method Vault.read"]),
        // Alternatives count as one condition.
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
        let found = search_both(&indexed, query).await;
        assert_eq!(found, *expected, "{query}");
    }
    // Code outside of definitions counts as one definition.
    assert_eq!(search_both(&indexed, "calls:start reads:os.environ").await.len(), 1);
    assert!(search_both(&indexed, "calls:start type:function").await.is_empty());
    // A negation applies to the whole chunk, as it does without other filters.
    let without = search_both(&indexed, "type:method NOT visibility:private").await;
    assert!(without.is_empty(), "{without:?}");
    assert_eq!(search_both(&indexed, "type:method NOT calls:nothing").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_chunk_of_a_long_function_passes_filters_on_its_content() {
    let lines: String = (0..400).map(|n| format!("    value_{n} = step_{n}(value)\n")).collect();
    let text = format!("def travel(value):\n{lines}    return arrive(value)\n");
    let indexed = index_files("continued", &[("src/travel.py", &text)]).await;
    result(&indexed.app, "build_sqlite_index", json!({ "project_id": indexed.project })).await;
    let whole = indexed.search("path:travel", json!({})).await;
    assert!(whole["total"].as_u64().unwrap() > 1, "{whole:#}");
    let found = search_both(&indexed, "calls:arrive uses:value_399").await;
    assert_eq!(found.len(), 1, "{found:?}");
}
