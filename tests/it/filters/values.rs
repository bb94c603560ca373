//! Filter values: what they match, which are refused, and which warnings an incomplete answer carries.

use serde_json::{Value, json};

use super::shop::{IndexedProject, index, search_warnings, sorted_hit_files};
use crate::harness::{Repository, app, error, home_without_servers, project, result, stub_app_in, try_call};

fn warning_with_code<'w>(warnings: &'w [Value], code: &str) -> &'w Value {
    let found = warnings.iter().find(|warning| warning["code"] == code);
    found.unwrap_or_else(|| panic!("{code} is not among {warnings:#?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn values_match_as_documented() {
    let shop = IndexedProject::shop(app(), "values").await;
    let search = async |arguments: Value| sorted_hit_files(&shop.search("order", arguments).await);
    let all = search(json!({})).await;

    for flag in ["async", "generator", "returns", "lint"] {
        let (with, without) = (search(json!({ flag: true })).await, search(json!({ flag: false })).await);
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
            // A negation matches everything else, including chunks whose value is unknown.
            let mut rest =
                sorted_hit_files(&shop.search(&format!("order NOT {flag}:{value}"), json!({})).await);
            rest.extend(passing.iter().cloned());
            rest.sort();
            assert_eq!(rest, all, "{flag}:{value}");
        }
    }

    let inside = format!("{}/src/stock", shop.repository.root());
    assert_eq!(search(json!({ "path": inside })).await.len(), 2, "an absolute path inside a repository");

    assert_eq!(search(json!({ "path": "stock" })).await.len(), 2, "a folder's name is a part of the path");
    assert_eq!(search(json!({ "file": "stock" })).await.len(), 0, "and not a part of the file's name");
    assert_eq!(search(json!({ "path": "*.md" })).await.len(), 2, "a glob without / matches at any depth");
    assert_eq!(search(json!({ "path": "src/*.rs" })).await.len(), 0, "a star stays in its folder");
    assert_eq!(search(json!({ "path": "src/**/*.rs" })).await.len(), 4);
    assert_eq!(search(json!({ "path": "/^docs\\/.*s\\.md$/" })).await, ["docs/returns.md"]);

    assert_eq!(search(json!({ "path": "SHIPPING" })).await, ["docs/Shipping.md"]);
    for case in ["case", "caseFile"] {
        assert_eq!(search(json!({ "path": "shipping", case: true })).await.len(), 0, "{case}");
        assert_eq!(search(json!({ "path": "Shipping", case: true })).await, ["docs/Shipping.md"], "{case}");
    }
    assert_eq!(search(json!({ "path": "shipping", "caseTokens": true })).await, ["docs/Shipping.md"]);

    assert_eq!(
        search(json!({ "branchesMin": 0 })).await.len(),
        9,
        "a known count of 0 passes, an unknown count does not"
    );
    assert_eq!(
        search(json!({ "type": "namespace, Heading" })).await,
        ["docs/Shipping.md", "docs/returns.md"]
    );
    assert_eq!(search(json!({ "signature": "CENTS: U64" })).await.len(), 0, "signatures are case-sensitive");
    assert_eq!(search(json!({ "calls": "Send_Mail" })).await.len(), 0, "and so are the names of calls");
    assert_eq!(
        search(json!({ "throws": "STALEORDER" })).await,
        ["jobs/nightly.py"],
        "names of thrown errors are not"
    );
    assert_eq!(search(json!({ "meta": { "owner": null } })).await, ["docs/returns.md"]);
    assert_eq!(search(json!({ "meta": "title=%" })).await.len(), 0, "% is not a wildcard");
    assert_eq!(search(json!({ "author": "%" })).await.len(), 0);
    assert_eq!(search(json!({ "author": "_" })).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn words_are_case_sensitive_on_request() {
    let shop = IndexedProject::shop(app(), "case").await;
    let search = async |query: &str, arguments: Value| sorted_hit_files(&shop.search(query, arguments).await);
    let any = search("StaleOrder", json!({ "mode": "code" })).await;
    assert!(any.len() > 1, "the stub's vectors match every chunk: {any:?}");
    for case in ["case", "caseTokens"] {
        assert_eq!(search("StaleOrder", json!({ case: true })).await, ["jobs/nightly.py"], "{case}");
        assert_eq!(search("staleorder", json!({ case: true })).await.len(), 0, "{case}");
        assert_eq!(search("order \"total of an order\"", json!({ case: true })).await, ["web/money.ts"]);
        assert_eq!(search("order \"Total of an order\"", json!({ case: true })).await.len(), 0, "{case}");
    }
    assert_eq!(search("order \"Total of an ORDER\"", json!({ "caseFile": true })).await, ["web/money.ts"]);
    let any_case = search("order -Receipt", json!({})).await;
    let exact = search("order -receipt", json!({ "caseTokens": true })).await;
    assert!(!any_case.contains(&"web/basket.ts".to_owned()), "{any_case:?}");
    assert_eq!(any_case, exact, "basket and charge contain both `receipt` and `Receipt`");
    let excluded = search("order -RECEIPT", json!({ "caseTokens": true })).await;
    assert!(excluded.contains(&"web/basket.ts".to_owned()), "RECEIPT occurs nowhere: {excluded:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_filters_must_all_hold() {
    let shop = IndexedProject::shop(app(), "together").await;
    let search = async |arguments: Value| sorted_hit_files(&shop.search("order", arguments).await);
    assert_eq!(
        search(json!({ "lang": "rust", "type": "function", "visibility": "private" })).await,
        ["src/billing/refund.rs"]
    );
    assert_eq!(search(json!({ "lang": "rust", "ext": "ts" })).await.len(), 0);
    // Of two dates the later one counts, whichever field it comes from.
    let (all_days, one_day) = (json!(100_000), json!(1));
    assert_eq!(
        search(json!({ "modifiedAfter": "2024-01-01", "modifiedSince": all_days })).await,
        ["tools/report.go"]
    );
    assert_eq!(search(json!({ "modifiedAfter": "2021-01-01", "modifiedSince": one_day })).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_values_are_refused() {
    let shop = IndexedProject::shop(app(), "refused").await;
    for (arguments, part) in [
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
        assert!(fault.to_string().contains(part), "{arguments}: {fault:#}");
        let field = arguments.as_object().unwrap().keys().next().unwrap();
        let value = &arguments[field];
        if let Some(text) = value.as_str() {
            // The same value in the query is refused as well.
            let query = format!("order {field}:\"{text}\"");
            let fault = error(&shop.app, "search", shop.arguments(&query, json!({}))).await;
            assert_eq!(fault["code"], "INVALID_REQUEST", "{query}");
        }
    }
    for (field, value) in [("churnMin", json!(-1)), ("modifiedSince", json!(-0.5)), ("loopsMin", json!("x"))]
    {
        let arguments = shop.arguments("order", json!({ field: value }));
        let refusal = try_call(&shop.app, "search", arguments).await.unwrap_err().to_fault();
        assert!(refusal.to_string().contains(field), "{field}: {refusal}");
        let arguments = shop.arguments(&format!("order {field}:-1"), json!({}));
        assert_eq!(error(&shop.app, "search", arguments).await["code"], "INVALID_REQUEST", "{field}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warning_names_facts_that_are_unknown_for_a_language() {
    let shop = IndexedProject::shop(app(), "blind").await;
    // Documents cannot throw, so no warning is due for them.
    let warnings = search_warnings(&shop, "order", json!({ "throws": "StaleOrder" })).await;
    assert_eq!(warnings, [] as [Value; 0]);
    let warnings = search_warnings(&shop, "order", json!({ "async": true, "lang": "go" })).await;
    let unknown = warning_with_code(&warnings, "fact_unknown");
    assert_eq!(unknown["details"], json!({ "fields": ["async"], "languages": ["go"] }));
    assert!(unknown["message"].as_str().unwrap().contains("`async`"), "{unknown:#}");
    let same = search_warnings(&shop, "order async:true lang:go", json!({})).await;
    assert_eq!(warning_with_code(&same, "fact_unknown")["details"], unknown["details"]);

    for arguments in [json!({ "path": "src" }), json!({ "lang": "rust" }), json!({ "author": "grace" })] {
        assert_eq!(search_warnings(&shop, "order", arguments.clone()).await, [] as [Value; 0], "{arguments}");
    }
    let warnings = search_warnings(&shop, "order", json!({ "path": "nowhere" })).await;
    warning_with_code(&warnings, "filter_matches_nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_is_not_indexed_gives_no_hits_and_a_warning() {
    let shop = IndexedProject::shop(app(), "branches").await;
    let only = json!({ "repoPath": shop.repository.root(), "branch": "release" });
    let warnings = search_warnings(&shop, "order", only.clone()).await;
    let mismatch = warning_with_code(&warnings, "branch_mismatch");
    assert_eq!(mismatch["details"], json!({ "branchFilter": "release", "branchMatch": false }));
    assert_eq!(sorted_hit_files(&shop.search("order", only).await).len(), 0);
    let search = async |arguments: Value| sorted_hit_files(&shop.search("order", arguments).await).len();
    assert_eq!(search(json!({ "branch": "MAIN" })).await, 11);
    assert_eq!(search(json!({ "branch": "MAIN", "case": true })).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_git_history_filters_on_it_match_nothing_and_warn() {
    let (app, project) = (app(), project("no-git"));
    let repository = Repository::new(&[("a.rs", "pub fn count_orders(n: u32) -> u32 {\n    n\n}\n")]);
    index(&app, &repository, &project).await;
    let indexed = IndexedProject::new(app.clone(), project, repository);
    for field in ["author", "chunkAuthor", "modifiedAfter", "modifiedSince", "churnMin"] {
        let value = match field {
            "modifiedAfter" => json!("2020-01-01"),
            "modifiedSince" => json!(1),
            "churnMin" => json!(0),
            _ => json!("a"),
        };
        let arguments = json!({ field: value });
        let warnings = search_warnings(&indexed, "order", arguments.clone()).await;
        assert!(
            warning_with_code(&warnings, "history_unknown")["message"].as_str().unwrap().contains(field),
            "{warnings:#?}"
        );
        assert_eq!(
            sorted_hit_files(&indexed.search("order", arguments).await).len(),
            0,
            "{field}: unknown is not 0"
        );
    }
    let warnings = search_warnings(&indexed, "order", json!({ "branch": "main" })).await;
    warning_with_code(&warnings, "branch_unknown");
    let found = result(&app, "search", indexed.arguments("order", json!({ "output": "full" }))).await;
    assert!(found["hits"][0]["known"].get("history").is_none(), "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_facts_filters_on_them_warn() {
    // A server of another test would run the job with its own settings.
    let app = stub_app_in(home_without_servers(), |config| config.indexing.facts = false);
    let project = project("no-facts");
    let repository = Repository::new(&[("a.rs", "pub fn count_orders(n: u32) -> u32 {\n    check(n)\n}\n")]);
    index(&app, &repository, &project).await;
    let indexed = IndexedProject::new(app, project, repository);
    let warnings = search_warnings(&indexed, "order calls:check", json!({})).await;
    assert!(
        warning_with_code(&warnings, "fact_unknown")["message"].as_str().unwrap().contains("build_index"),
        "{warnings:#?}"
    );
    assert_eq!(sorted_hit_files(&indexed.search("order type:function lang:rust", json!({})).await), ["a.rs"]);
    assert_eq!(search_warnings(&indexed, "order type:function", json!({})).await, [] as [Value; 0]);
}
