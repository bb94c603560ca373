//! What a value of a filter means, which values are refused, and what is said when an answer cannot be complete.

use serde_json::{Value, json};

use super::shop::{Shop, files, index, warnings};
use crate::harness::{Repository, app, app_with, error, project, result, try_call};

fn coded<'w>(warnings: &'w [Value], code: &str) -> &'w Value {
    let found = warnings.iter().find(|warning| warning["code"] == code);
    found.unwrap_or_else(|| panic!("{code} is not among {warnings:#?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn values_mean_what_the_table_says() {
    let shop = Shop::open(app(), "values").await;
    let ask = async |arguments: Value| files(&shop.ask("order", arguments).await);
    let all = ask(json!({})).await;

    for flag in ["async", "generator", "returns", "lint"] {
        let (with, without) = (ask(json!({ flag: true })).await, ask(json!({ flag: false })).await);
        assert!(!with.is_empty() && !without.is_empty(), "{flag}");
        assert!(!with.iter().any(|file| without.contains(file)), "{flag}: {with:?} {without:?}");
        let unknown = ["docs/Shipping.md", "docs/returns.md", "logs/night.log"];
        for file in unknown {
            assert!(
                !with.iter().chain(&without).any(|found| found == file),
                "{flag}: nothing is known of {file}"
            );
        }
        for (value, passing) in [(true, &with), (false, &without)] {
            // A negation is everything else, what is not known with it.
            let mut rest = files(&shop.ask(&format!("order NOT {flag}:{value}"), json!({})).await);
            rest.extend(passing.iter().cloned());
            rest.sort();
            assert_eq!(rest, all, "{flag}:{value}");
        }
    }

    let inside = format!("{}/src/stock", shop.main.root());
    assert_eq!(ask(json!({ "path": inside })).await.len(), 2, "an absolute path inside a repository");

    assert_eq!(ask(json!({ "path": "stock" })).await.len(), 2, "a folder's name is a part of the path");
    assert_eq!(ask(json!({ "file": "stock" })).await.len(), 0, "and none of the file's name");
    assert_eq!(ask(json!({ "path": "*.md" })).await.len(), 2, "a glob without / matches at any depth");
    assert_eq!(ask(json!({ "path": "src/*.rs" })).await.len(), 0, "a star stays in its folder");
    assert_eq!(ask(json!({ "path": "src/**/*.rs" })).await.len(), 4);
    assert_eq!(ask(json!({ "path": "/^docs\\/.*s\\.md$/" })).await, ["docs/returns.md"]);

    assert_eq!(ask(json!({ "path": "SHIPPING" })).await, ["docs/Shipping.md"]);
    for case in ["case", "caseFile"] {
        assert_eq!(ask(json!({ "path": "shipping", case: true })).await.len(), 0, "{case}");
        assert_eq!(ask(json!({ "path": "Shipping", case: true })).await, ["docs/Shipping.md"], "{case}");
    }
    assert_eq!(ask(json!({ "path": "shipping", "caseTokens": true })).await, ["docs/Shipping.md"]);

    assert_eq!(ask(json!({ "branchesMin": 0 })).await.len(), 9, "a count of 0 is known, none is not");
    assert_eq!(ask(json!({ "type": "namespace, Heading" })).await, ["docs/Shipping.md", "docs/returns.md"]);
    assert_eq!(ask(json!({ "signature": "CENTS: U64" })).await.len(), 0, "signatures have case");
    assert_eq!(ask(json!({ "calls": "Send_Mail" })).await.len(), 0, "and so have the names of calls");
    assert_eq!(ask(json!({ "throws": "STALEORDER" })).await, ["jobs/nightly.py"], "thrown names do not");
    assert_eq!(ask(json!({ "meta": { "owner": null } })).await, ["docs/returns.md"]);
    assert_eq!(ask(json!({ "meta": "title=%" })).await.len(), 0, "nothing is a wildcard");
    assert_eq!(ask(json!({ "author": "%" })).await.len(), 0);
    assert_eq!(ask(json!({ "author": "_" })).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn words_are_compared_with_case_when_asked_to() {
    let shop = Shop::open(app(), "case").await;
    let ask = async |query: &str, arguments: Value| files(&shop.ask(query, arguments).await);
    let any = ask("StaleOrder", json!({ "mode": "code" })).await;
    assert!(any.len() > 1, "the stub's vectors answer everything: {any:?}");
    for case in ["case", "caseTokens"] {
        assert_eq!(ask("StaleOrder", json!({ case: true })).await, ["jobs/nightly.py"], "{case}");
        assert_eq!(ask("staleorder", json!({ case: true })).await.len(), 0, "{case}");
        assert_eq!(ask("order \"total of an order\"", json!({ case: true })).await, ["web/money.ts"]);
        assert_eq!(ask("order \"Total of an order\"", json!({ case: true })).await.len(), 0, "{case}");
    }
    assert_eq!(ask("order \"Total of an ORDER\"", json!({ "caseFile": true })).await, ["web/money.ts"]);
    let lower = ask("order -Receipt", json!({})).await;
    let exact = ask("order -receipt", json!({ "caseTokens": true })).await;
    assert!(!lower.contains(&"web/basket.ts".to_owned()), "{lower:?}");
    assert_eq!(lower, exact, "basket and charge say both `receipt` and `Receipt`");
    let excluded = ask("order -RECEIPT", json!({ "caseTokens": true })).await;
    assert!(excluded.contains(&"web/basket.ts".to_owned()), "nothing says RECEIPT: {excluded:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_given_together_all_hold() {
    let shop = Shop::open(app(), "together").await;
    let ask = async |arguments: Value| files(&shop.ask("order", arguments).await);
    assert_eq!(
        ask(json!({ "lang": "rust", "type": "function", "visibility": "private" })).await,
        ["src/billing/refund.rs"]
    );
    assert_eq!(ask(json!({ "lang": "rust", "ext": "ts" })).await.len(), 0);
    // Of two dates the later one decides, whichever field it is given by.
    let (all_days, one_day) = (json!(100_000), json!(1));
    assert_eq!(
        ask(json!({ "modifiedAfter": "2024-01-01", "modifiedSince": all_days })).await,
        ["tools/report.go"]
    );
    assert_eq!(ask(json!({ "modifiedAfter": "2021-01-01", "modifiedSince": one_day })).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_cannot_be_are_refused() {
    let shop = Shop::open(app(), "refused").await;
    for (arguments, tells) in [
        (json!({ "lang": "rusty" }), "rust"),
        (json!({ "lang": "typscript" }), "typescript"),
        (json!({ "modifiedAfter": "last week" }), "date"),
        (json!({ "modifiedAfter": "2024-02-30" }), "date"),
        (json!({ "metaJson": "{ title: x" }), "JSON"),
        (json!({ "metaJson": { "owner": { "team": "x" } } }), "dots"),
        (json!({ "type": "thing" }), "function, method, class"),
        (json!({ "path": "/a(b/" }), "regular expression"),
        (json!({ "path": "a[b" }), "glob"),
        (json!({ "ext": "a/b" }), "extension"),
        (json!({ "author": "," }), "empty"),
    ] {
        let fault = error(&shop.app, "search", shop.arguments("order", arguments.clone())).await;
        assert_eq!(fault["code"], "INVALID_REQUEST", "{arguments}");
        assert!(fault.to_string().contains(tells), "{arguments}: {fault:#}");
        let field = arguments.as_object().unwrap().keys().next().unwrap();
        let value = &arguments[field];
        if let Some(text) = value.as_str() {
            // The question is held to the same.
            let asked = format!("order {field}:\"{text}\"");
            let fault = error(&shop.app, "search", shop.arguments(&asked, json!({}))).await;
            assert_eq!(fault["code"], "INVALID_REQUEST", "{asked}");
        }
    }
    for (field, value) in [("churnMin", json!(-1)), ("modifiedSince", json!(-0.5)), ("loopsMin", json!("x"))]
    {
        let arguments = shop.arguments("order", json!({ field: value }));
        let refusal = try_call(&shop.app, "search", arguments).await.unwrap_err().to_fault();
        assert!(refusal.to_string().contains(field), "{field}: {refusal}");
        let asked = shop.arguments(&format!("order {field}:-1"), json!({}));
        assert_eq!(error(&shop.app, "search", asked).await["code"], "INVALID_REQUEST", "{field}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_says_what_its_filters_could_not_see() {
    let shop = Shop::open(app(), "blind").await;
    // Documents throw nothing, and that is nothing to speak of.
    let said = warnings(&shop, "order", json!({ "throws": "StaleOrder" })).await;
    assert_eq!(said, [] as [Value; 0]);
    let said = warnings(&shop, "order", json!({ "async": true, "lang": "go" })).await;
    let blind = coded(&said, "fact_unknown");
    assert_eq!(blind["details"], json!({ "fields": ["async"], "languages": ["go"] }));
    assert!(blind["message"].as_str().unwrap().contains("`async`"), "{blind:#}");
    let same = warnings(&shop, "order async:true lang:go", json!({})).await;
    assert_eq!(coded(&same, "fact_unknown")["details"], blind["details"]);

    for quiet in [json!({ "path": "src" }), json!({ "lang": "rust" }), json!({ "author": "grace" })] {
        assert_eq!(warnings(&shop, "order", quiet.clone()).await, [] as [Value; 0], "{quiet}");
    }
    let said = warnings(&shop, "order", json!({ "path": "nowhere" })).await;
    coded(&said, "filter_matches_nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_branch_is_an_empty_answer_that_says_so() {
    let shop = Shop::open(app(), "branches").await;
    let only = json!({ "repoPath": shop.main.root(), "branch": "release" });
    let said = warnings(&shop, "order", only.clone()).await;
    let mismatch = coded(&said, "branch_mismatch");
    assert_eq!(mismatch["details"], json!({ "branchFilter": "release", "branchMatch": false }));
    assert_eq!(files(&shop.ask("order", only).await).len(), 0);
    let ask = async |arguments: Value| files(&shop.ask("order", arguments).await).len();
    assert_eq!(ask(json!({ "branch": "MAIN" })).await, 11);
    assert_eq!(ask(json!({ "branch": "MAIN", "case": true })).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_git_history_is_unknown_and_said_to_be() {
    let (app, project) = (app(), project("no-git"));
    let plain = Repository::new(&[("a.rs", "pub fn count_orders(n: u32) -> u32 {\n    n\n}\n")]);
    index(&app, &plain, &project).await;
    let shop = Shop::of(app.clone(), project, plain);
    for field in ["author", "chunkAuthor", "modifiedAfter", "modifiedSince", "churnMin"] {
        let value = match field {
            "modifiedAfter" => json!("2020-01-01"),
            "modifiedSince" => json!(1),
            "churnMin" => json!(0),
            _ => json!("a"),
        };
        let arguments = json!({ field: value });
        let said = warnings(&shop, "order", arguments.clone()).await;
        assert!(coded(&said, "history_unknown")["message"].as_str().unwrap().contains(field), "{said:#?}");
        assert_eq!(files(&shop.ask("order", arguments).await).len(), 0, "{field}: unknown is not 0");
    }
    let said = warnings(&shop, "order", json!({ "branch": "main" })).await;
    coded(&said, "branch_unknown");
    let found = result(&app, "search", shop.arguments("order", json!({ "output": "full" }))).await;
    assert!(found["hits"][0]["known"].get("history").is_none(), "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_that_are_not_read_are_unknown_and_said_to_be() {
    let (app, project) = (app_with(|config| config.indexing.facts = false), project("no-facts"));
    let plain = Repository::new(&[("a.rs", "pub fn count_orders(n: u32) -> u32 {\n    check(n)\n}\n")]);
    index(&app, &plain, &project).await;
    let shop = Shop::of(app, project, plain);
    let said = warnings(&shop, "order calls:check", json!({})).await;
    assert!(coded(&said, "fact_unknown")["message"].as_str().unwrap().contains("build_index"), "{said:#?}");
    assert_eq!(files(&shop.ask("order type:function lang:rust", json!({})).await), ["a.rs"]);
    assert_eq!(warnings(&shop, "order type:function", json!({})).await, [] as [Value; 0]);
}
