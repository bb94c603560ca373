//! Words that look like a filter and are none: said, with the field that was probably meant.

use serde_json::{Value, json};

use crate::filters::shop::{Shop, shown, warnings};
use crate::harness::{app, error};

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_there_is_not_is_said_with_the_one_that_there_is() {
    let shop = Shop::open(app(), "misread").await;
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
            let said = envelope["_meta"]["warnings"].as_array().cloned().unwrap_or_default();
            assert_eq!(said.len(), 1, "{query}: {envelope:#}");
            assert_eq!(said[0]["code"], "field_taken_as_words", "{query}: {said:#?}");
            assert_eq!(said[0]["details"]["word"], word, "{query}: {said:#?}");
            let message = said[0]["message"].as_str().unwrap();
            assert!(message.contains(word) && message.contains(meant), "{query}: {message}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_text_is_not_warned_of() {
    let shop = Shop::open(app(), "ordinary").await;
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
        let said = warnings(&shop, query, json!({})).await;
        let about: Vec<&Value> = said.iter().filter(|one| one["code"] == "field_taken_as_words").collect();
        assert!(about.is_empty(), "{query}: {about:#?}");
    }
    let pasted = format!("{} language:go", "the order of things is lost again ".repeat(8));
    assert_eq!(warnings(&shop, &pasted, json!({})).await, [] as [Value; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_understood_or_refused() {
    let shop = Shop::open(app(), "values-read").await;
    let all = shown(&shop.ask("order async:true", json!({})).await);
    for yes in ["yes", "on", "1", "Yes"] {
        assert_eq!(shown(&shop.ask(&format!("order async:{yes}"), json!({})).await), all, "{yes}");
    }
    for wrong in [
        "order async:perhaps",
        "order branches:many",
        "order modifiedAfter:soon",
        "order type:functoin",
        "order lang:rusd",
    ] {
        let refused = error(&shop.app, "search", shop.arguments(wrong, json!({}))).await;
        assert_eq!(refused["code"], "INVALID_REQUEST", "{wrong}: {refused:#}");
        assert!(refused["hint"].is_string(), "{wrong}: {refused:#}");
    }
    let fault = error(&shop.app, "search", shop.arguments("order async:perhaps", json!({}))).await;
    assert!(fault["message"].as_str().unwrap().contains("perhaps"), "{fault:#}");
}
