//! Answers of exact searches: counts, pages, context, limits, filters and refusals.

use std::fmt::Write;

use contract::ProjectId;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::{grep, indexed, lines, places};
use crate::filters::shop::{IndexedProject, index, search_warnings, sorted_hit_files};
use crate::harness::{self, app, app_with, call, error, result, try_call};
use crate::storage::database::{number, run};

fn codes(warnings: &[Value]) -> Vec<&str> {
    warnings.iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_count_and_continue() {
    let files: Vec<(String, String)> = (0..200)
        .map(|file| {
            let mut text = String::new();
            for line in 0..5 {
                let _ = writeln!(text, "let needle_{line} = {file};");
            }
            (format!("f{file:03}.txt"), text)
        })
        .collect();
    let given: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let bounded = indexed(
        app_with(|config| {
            (config.search.exact_matches_max, config.search.exact_counted_max) = (400, 300);
        }),
        "many-lines",
        &given,
    )
    .await;
    let first = grep(&bounded, "needle_\\d", json!({ "top": 7 })).await;
    assert_eq!((&first["total"], &first["totalRelation"]), (&json!(300), &json!("gte")));
    assert_eq!((first["nextOffset"].as_u64(), &first["hits"]), (Some(7), &json!([])));
    // A page beyond what is counted counts as far as it needs.
    let beyond = grep(&bounded, "needle_\\d", json!({ "top": 20, "offset": 310 })).await;
    assert_eq!((lines(&beyond).len(), &beyond["total"]), (20, &json!(331)));
    assert_eq!((beyond["nextOffset"].as_u64(), &beyond["totalRelation"]), (Some(330), &json!("gte")));
    let last = grep(&bounded, "needle_\\d", json!({ "top": 20, "offset": 390 })).await;
    assert_eq!((lines(&last).len(), last.get("nextOffset")), (10, None));
    assert_eq!(places(&first)[..2], ["f000.txt:1", "f000.txt:2"]);
    let second = grep(&bounded, "needle_\\d", json!({ "top": 20, "offset": 20 })).await;
    assert_eq!(
        places(&second)[4..6],
        ["f004.txt:5", "f005.txt:1"],
        "pages follow the order of paths and lines"
    );

    let whole = IndexedProject::new(app(), bounded.project, bounded.repository);
    let counted = grep(&whole, "needle_\\d", json!({ "top": 1 })).await;
    assert_eq!((&counted["total"], counted.get("totalRelation")), (&json!(1000), None));
    assert_eq!(counted["matches"]["totalFiles"], 200);
    let last = grep(&whole, "needle_\\d", json!({ "offset": 995 })).await;
    assert_eq!((lines(&last).len(), last.get("nextOffset")), (5, None));
    for refused in [
        whole.arguments("x", json!({ "regex": true, "top": 1001 })),
        whole.arguments("a\0b", json!({ "regex": true })),
    ] {
        let refusal = try_call(&whole.app, "search", refused).await.unwrap_err();
        assert_eq!(refusal.code().as_str(), "INVALID_REQUEST");
    }
    // Too many candidates to list are read file by file, in the same order.
    let scanned = app_with(|config| config.search.exact_candidates_max = 3);
    let scanned = IndexedProject::new(scanned, whole.project.clone(), whole.repository);
    for arguments in
        [json!({}), json!({ "path": "f1" }), json!({ "offset": 130, "top": 30 }), json!({ "lang": "rust" })]
    {
        let (by_file, by_chunk) = (
            grep(&scanned, "needle_\\d", arguments.clone()).await,
            result(
                &whole.app,
                "search",
                scanned.arguments("needle_\\d", {
                    let mut all = json!({ "regex": true, "top": 1000 });
                    all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
                    all
                }),
            )
            .await,
        );
        assert_eq!(
            (lines(&by_file), &by_file["total"]),
            (lines(&by_chunk), &by_chunk["total"]),
            "{arguments}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn context_crosses_the_borders_of_chunks() {
    let functions: Vec<String> = (0..30)
        .map(|at| {
            format!(
                "/// Number {at}.\npub fn number_{at}() -> usize {{\n    let value = {at};\n    value\n}}\n"
            )
        })
        .collect();
    let text = functions.join("\n\n");
    let indexed = indexed(app(), "around", &[("numbers.rs", text.as_str())]).await;
    let all: Vec<&str> = text.lines().collect();
    for (pattern, count) in
        [("number_7\\(", 3), ("number_12\\(", 9), ("Number 0\\.", 4), ("let value = 29", 5)]
    {
        let answer = grep(&indexed, pattern, json!({ "context": count })).await;
        let line = &answer["matches"]["files"][0]["lines"][0];
        let at = line["line"].as_u64().unwrap() as usize - 1;
        let before: Vec<&str> = all[at.saturating_sub(count)..at].to_vec();
        let after: Vec<&str> = all[at + 1..(at + 1 + count).min(all.len())].to_vec();
        assert_eq!(line["before"].as_array().cloned().unwrap_or_default(), before, "{pattern}");
        assert_eq!(line["after"].as_array().cloned().unwrap_or_default(), after, "{pattern}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_filter_applies() {
    let shop = IndexedProject::shop(app(), "grep-filters").await;
    let files = async |pattern: &str, arguments: Value| {
        let answer = grep(&shop, pattern, arguments).await;
        let found = answer["matches"]["files"].as_array().unwrap().clone();
        found.iter().map(|file| file["file"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (name, value, expected) in crate::filters::fields::rows() {
        let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        let mut found = files("[a-z]", json!({ name: value })).await;
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{name} {value}");
    }
    assert_eq!(files("order", json!({ "mode": "prose" })).await.len(), 2);
    assert_eq!(files("order", json!({ "mode": "records" })).await, ["logs/night.log"]);
    assert!(!files("order", json!({ "mode": "code" })).await.iter().any(|file| file.ends_with(".md")));
    let one = files("order", json!({ "repoPath": shop.repository.root() })).await;
    assert!(!one.contains(&"trial.rs".to_owned()) && one.len() > 3, "{one:?}");
    let refused =
        error(&shop.app, "search", shop.arguments("x", json!({ "regex": true, "mode": "extracted-prose" })))
            .await;
    assert!(refused["hint"].as_str().unwrap().contains("extracted-prose"));
    let answer = grep(&shop, "charge_order", json!({})).await;
    let first = &answer["matches"]["files"][0];
    assert!(first["repo"].is_string() && first["lang"] == "rust", "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn literal_text_keeps_its_white_space() {
    let indexed =
        indexed(app(), "literal", &[("a.py", "if a  == b:\n    x = [1,  2]\n    y = {'a.b': \"(c)*\"}\n")])
            .await;
    let exact = async |query: &str, arguments: Value| {
        let mut all = json!({ "mode": "exact" });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        places(&indexed.search(query, all).await)
    };
    assert_eq!(exact("a  ==", json!({})).await, ["a.py:1"]);
    assert_eq!(exact("a ==", json!({})).await, [] as [&str; 0]);
    assert_eq!(exact("    x", json!({})).await, ["a.py:2"]);
    assert_eq!(exact("  ", json!({})).await, ["a.py:1", "a.py:2", "a.py:3"]);
    assert_eq!(exact("(C)*", json!({})).await, ["a.py:3"]);
    assert_eq!(exact("(C)*", json!({ "case": true })).await, [] as [&str; 0]);
    assert_eq!(exact(":\n    x", json!({})).await, ["a.py:1"], "over the end of a line");
    assert_eq!(exact("'a.b': \"", json!({})).await, ["a.py:3"], "quotes are characters, too");
}

#[tokio::test(flavor = "multi_thread")]
async fn content_filters_combine_with_words() {
    let shop = IndexedProject::shop(app(), "content").await;
    for (query, expected) in [
        ("order content:/ledger\\.total = \\w+/", vec!["src/billing/charge.rs"]),
        ("content:\"ledger.total = \"", vec!["src/billing/charge.rs"]),
        ("content:\"ledger.total  = \"", vec![]),
        ("content:/lost: \\{reason\\}|thirty  ?days/", vec!["docs/returns.md", "src/billing/refund.rs"]),
        ("order -content:/[a-z]/", vec![]),
        (
            "(content:/LOST: /i OR content:/Ok\\(receipt\\)/) lang:rust",
            vec!["src/billing/charge.rs", "src/billing/refund.rs"],
        ),
        ("order content:/^fn /", vec!["src/billing/refund.rs"]),
    ] {
        let answer = shop.search(query, json!({})).await;
        assert_eq!(sorted_hit_files(&answer), expected, "{query}");
        let again = shop.search(answer["query"].as_str().unwrap(), json!({})).await;
        assert_eq!((&again["query"], &again["hits"]), (&answer["query"], &answer["hits"]), "{query}");
    }
    let found = shop.search("content:/State::Lost =>/", json!({})).await;
    let hit = &found["hits"][0];
    assert!(
        hit["name"] == "refund_order" && hit["snippet"].as_str().unwrap().contains("State::Lost"),
        "{hit:#}"
    );
    let as_argument = shop.search("order", json!({ "content": "/ledger\\.total = /" })).await;
    assert_eq!(sorted_hit_files(&as_argument), ["src/billing/charge.rs"]);
    let case = shop.search("content:/LEDGER/", json!({ "case": true })).await;
    assert_eq!(case["total"], 0);
    let narrow = app_with(|config| config.search.exact_candidates_max = 2);
    let refused = error(&narrow, "search", shop.arguments("content:/[a-z]/", json!({}))).await;
    assert!(
        refused["code"] == "INVALID_REQUEST" && refused["hint"].as_str().unwrap().contains("regex"),
        "{refused:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn phrases_are_exact_over_punctuation() {
    let shop = IndexedProject::shop(app(), "punctuation").await;
    for (query, expected) in [
        ("\"->\"", vec!["src/billing/charge.rs", "src/stock/shelf.rs"]),
        ("\"ledger.total = ledger.total +\"", vec!["src/billing/charge.rs"]),
        ("\"#[tracing::instrument(\"", vec!["src/billing/charge.rs"]),
        ("\"(skip(ledger))]\"", vec!["src/billing/charge.rs"]),
        ("\"::submit(cents).await?;\"", vec!["src/billing/charge.rs"]),
    ] {
        let found = sorted_hit_files(&shop.search(query, json!({ "lang": "rust" })).await);
        for file in &expected {
            assert!(found.iter().any(|found| found == file), "{query}: {found:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_between_slashes_is_a_regular_expression() {
    let shop = IndexedProject::shop(app(), "slashes").await;
    for query in ["/ledger\\.total = \\w+/", " /LEDGER\\.total = \\w+/i "] {
        let envelope = call(&shop.app, "search", shop.arguments(query, json!({}))).await;
        assert_eq!(places(&envelope["result"]).len(), 1, "{envelope:#}");
        assert_eq!(envelope["_meta"]["warnings"][0]["code"], "query_is_regex");
        assert_eq!(envelope["_meta"]["next"]["arguments"]["file"], "src/billing/charge.rs");
    }
    for (query, expected) in [
        ("/ledger\\.total = \\w+/ lang:rust", 1),
        ("path:src/billing /ledger\\.total = \\w+/", 1),
        ("lang:python /ledger\\.total = \\w+/", 0),
    ] {
        let found = shop.search(query, json!({})).await;
        assert_eq!(places(&found).len(), expected, "{query}: {found:#}");
    }
    let sensitive = shop.search("/LEDGER/", json!({ "case": true })).await;
    assert_eq!(sensitive["total"], 0);
    let refused = error(&shop.app, "search", shop.arguments("/ledger(/", json!({}))).await;
    assert_eq!(refused["code"], "INVALID_REQUEST");
    let among_words = search_warnings(&shop, "order /led\\w+/", json!({})).await;
    assert!(
        among_words.iter().any(|warning| warning["message"].as_str().unwrap().contains("content:/led")),
        "{among_words:#?}"
    );
    let words = shop.search("order", json!({ "regex": false })).await;
    assert!(words.get("matches").is_none() && words["total"].as_u64() > Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_reported() {
    let minified = format!("var needle=1;{}", "a=b;".repeat(30_000));
    let secret = "password = 'needle-Xk29fLq81mZ0'\nplain = needle\n";
    let indexed = indexed(
        app(),
        "missing",
        &[
            ("app.min.js", minified.as_str()),
            ("conf.py", secret),
            ("text.md", "# Needle\n\nOne\n\n\n\ntwo.\n"),
        ],
    )
    .await;
    let answer = grep(&indexed, "needle", json!({})).await;
    assert_eq!(answer["matches"]["notIndexed"]["files"], 1, "{answer:#}");
    assert_eq!(places(&answer), ["conf.py:2", "text.md:1"]);
    assert_eq!(
        places(&grep(&indexed, "\\[REDACTED:", json!({})).await),
        ["conf.py:1"],
        "a secret leaves a mark"
    );
    let warnings = search_warnings(&indexed, "^$", json!({ "regex": true })).await;
    assert!(codes(&warnings).contains(&"exact_blank_lines"), "{warnings:#?}");
    let warnings = search_warnings(&indexed, "(?s)One.*two", json!({ "regex": true })).await;
    assert!(codes(&warnings).contains(&"exact_within_chunks"), "{warnings:#?}");
    // A time limit of nothing stops before everything was matched.
    let hurried = app_with(|config| config.search.exact_scan_ms = 0);
    let hurried = IndexedProject::new(hurried, indexed.project, indexed.repository);
    let answer = grep(&hurried, "n.e", json!({})).await;
    assert_eq!(answer["totalRelation"], "gte");
    let warnings = search_warnings(&hurried, "n.e", json!({ "regex": true })).await;
    assert!(codes(&warnings).contains(&"exact_incomplete"), "{warnings:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_patterns_are_refused_or_bounded() {
    let text = format!("{}\n{}!\n", "a".repeat(3_000), "word ".repeat(500));
    let indexed = indexed(app(), "hostile-patterns", &[("a.txt", text.as_str())]).await;
    let classes: String = (0..2_000_u32).filter_map(|at| char::from_u32(0x4E00 + at)).collect();
    for pattern in
        ["(a+)+$", "(a|a)*b", "(\\w+\\s?)+\\d", format!("[{classes}]").as_str(), "a\\x00", "(?s).*!"]
    {
        let answer = grep(&indexed, pattern, json!({})).await;
        assert!(answer.get("totalRelation").is_none(), "{pattern}: {answer:#}");
    }
    for pattern in [
        "a(?=b)",
        "(a)\\1",
        "(",
        "a*",
        "\\w{1000}{50}",
        format!("{}a{}", "(".repeat(900), ")".repeat(900)).as_str(),
    ] {
        let refused =
            error(&indexed.app, "search", indexed.arguments(pattern, json!({ "regex": true }))).await;
        assert_eq!(refused["code"], "INVALID_REQUEST", "{pattern}: {refused:#}");
        assert!(refused["hint"].is_string(), "{pattern}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_of_an_earlier_version_are_searched_until_they_have_trigrams() {
    let indexed =
        indexed(app(), "without-grams", &[("old.rs", "fn needle() {}\n"), ("new.rs", "fn needle() {}\n")])
            .await;
    let schema = ProjectId::parse(&indexed.project).unwrap().schema_name();
    let mut raw = PgConnection::connect_with(&harness::server().connect_options()).await.unwrap();
    let old = format!("(SELECT id FROM {schema}.files WHERE path = 'old.rs')");
    run(&mut raw, &format!("DELETE FROM {schema}.grams WHERE file_id = {old}")).await;
    assert_eq!(
        places(&grep(&indexed, "needle", json!({})).await),
        ["new.rs:1"],
        "the row of a file says whether it has trigrams"
    );
    run(&mut raw, &format!("UPDATE {schema}.files SET grams_written = false WHERE path = 'old.rs'")).await;
    let both = ["new.rs:1", "old.rs:1"];
    assert_eq!(places(&grep(&indexed, "needle", json!({})).await), both);
    assert_eq!(places(&grep(&indexed, "needle", json!({ "path": "old" })).await), both[1..]);
    assert_eq!(places(&grep(&indexed, "needle", json!({ "type": "function" })).await), both);
    // The next run writes them from the stored texts, without reading the file again.
    run(&mut raw, &format!("DROP INDEX {schema}.grams_grams")).await;
    index(&indexed.app, &indexed.repository, &indexed.project).await;
    assert_eq!(places(&grep(&indexed, "needle", json!({})).await), both);
    assert_eq!(number(&mut raw, &format!("SELECT count(*) FROM {schema}.grams")).await, 2);
    assert_eq!(
        number(&mut raw, &format!("SELECT count(*) FROM {schema}.files WHERE NOT grams_written")).await,
        0
    );
    let exists = format!(
        "SELECT count(*) FROM pg_indexes WHERE schemaname = '{schema}' AND indexname = 'grams_grams'"
    );
    assert_eq!(number(&mut raw, &exists).await, 1);
}
