//! Words that look like a filter but are not one give a warning with the field that was probably meant.

use serde_json::{Value, json};

use crate::filters::shop::{IndexedProject, hit_files, search_warnings};
use crate::harness::{app, error};

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_field_gives_a_warning_with_the_nearest_field() {
    let shop = IndexedProject::shop(app(), "misread").await;
    for (query, word, meant) in [
        ("language:go middleware", "language:go", "lang"),
        ("typ:function order", "typ:function", "type"),
        ("order -typ:function", "typ:function", "type"),
        ("repo:gin order", "repo:gin", "repoPath"),
        ("kind:class order", "kind:class", "type"),
        ("kind: order", "kind:", "type"),
        ("symbol:order", "symbol:order", "name"),
        ("filename:charge.rs", "filename:charge.rs", "file"),
        ("extension:rs", "extension:rs", "ext"),
        ("Language:rust order", "Language:rust", "lang"),
        ("visibilty:public order", "visibilty:public", "visibility"),
        ("wobble:yes order", "wobble:yes", ""),
        // A field without a value.
        ("calls: order", "calls:", "calls"),
        ("order lang:", "lang:", "lang"),
        ("order lang:\"\"", "lang:", "lang"),
        ("chunk:abc order", "chunk:abc", "id"),
    ] {
        for tool in ["search", "search_code"] {
            let envelope =
                crate::harness::call(&shop.app, tool, json!({ "query": query, "project_id": shop.project }))
                    .await;
            let warnings = envelope["_meta"]["warnings"].as_array().cloned().unwrap_or_default();
            assert_eq!(warnings.len(), 1, "{query}: {envelope:#}");
            assert_eq!(warnings[0]["code"], "field_taken_as_words", "{query}: {warnings:#?}");
            assert_eq!(warnings[0]["details"]["word"], word, "{query}: {warnings:#?}");
            let message = warnings[0]["message"].as_str().unwrap();
            assert!(message.contains(word) && message.contains(meant), "{query}: {message}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_text_gives_no_warning() {
    let shop = IndexedProject::shop(app(), "ordinary").await;
    for query in [
        "std::vec order",
        "http://localhost:8080/order",
        "Foo::bar",
        "Foo:bar order",
        "12:30 order",
        "error: cannot open order",
        "TypeError: order is not a function",
        "note: order",
        "localhost:8080 order",
        "node:fs order",
        "report.go:12 order",
        "order:",
        "a ? b : order",
        "C:\\orders",
        "lang:rust type:function order",
        "\"language:go\" order",
        "{order:1}",
    ] {
        let warnings = search_warnings(&shop, query, json!({})).await;
        let field_warnings: Vec<&Value> =
            warnings.iter().filter(|warning| warning["code"] == "field_taken_as_words").collect();
        assert!(field_warnings.is_empty(), "{query}: {field_warnings:#?}");
    }
    let pasted = format!("{} language:go", "the order of things is lost again ".repeat(8));
    assert_eq!(search_warnings(&shop, &pasted, json!({})).await, [] as [Value; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn filter_values_are_understood_or_refused() {
    let shop = IndexedProject::shop(app(), "values-read").await;
    let all = hit_files(&shop.search("order async:true", json!({})).await);
    for value in ["yes", "on", "1", "Yes"] {
        assert_eq!(hit_files(&shop.search(&format!("order async:{value}"), json!({})).await), all, "{value}");
    }
    for query in [
        "order async:perhaps", "order branches:many", "order modifiedAfter:soon", "order type:functoin",
        "order lang:rusd",
    ] {
        let refused = error(&shop.app, "search", shop.arguments(query, json!({}))).await;
        assert_eq!(refused["code"], "INVALID_REQUEST", "{query}: {refused:#}");
        assert!(refused["hint"].is_string(), "{query}: {refused:#}");
    }
    let fault = error(&shop.app, "search", shop.arguments("order async:perhaps", json!({}))).await;
    assert!(fault["message"].as_str().unwrap().contains("perhaps"), "{fault:#}");
}
