//! A portable file agrees with Postgres: the same hits in the same order, with scores equal to four digits. FTS5 agrees only
//! in part.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{build_index_file, shop_with_index_file};
use crate::filters::corpus::{corpus, word};
use crate::filters::shop::{IndexedProject, hit_files};
use crate::filters::{fields, risk};
use crate::harness::{Dice, Repository, app, project, result};

/// Scores are rounded to four digits; the last of them may differ.
const SCORE_ERROR_MAX: f64 = 0.000_11;
/// Minimum share of the ten best lexical hits of Postgres that FTS5 finds as well, on average over [`QUERIES`].
const FTS_OVERLAP_MIN: f64 = 0.5;

/// Fields of hits about edges between definitions. A portable file has no edges: it knows names only.
const OF_EDGES: &[&str] = &["calledBy", "callers", "callees", "mayBeCalledBy"];

/// Hits without their scores, and without what only edges tell.
fn without_scores(hits: &Value) -> Value {
    let mut hits = hits.clone();
    for hit in hits.as_array_mut().unwrap() {
        let hit = hit.as_object_mut().unwrap();
        hit.shift_remove("score");
        hit.shift_remove("scoreBreakdown");
        OF_EDGES.iter().for_each(|field| drop(hit.shift_remove(*field)));
    }
    hits
}

fn scores(answer: &Value) -> Vec<f64> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect()
}

/// Describes the difference between the two answers, if any.
fn difference(postgres: &Value, file: &Value) -> Option<String> {
    if file["backend"] != "sqlite" || postgres["backend"] != "postgres" {
        return Some(format!("backends {} and {}", postgres["backend"], file["backend"]));
    }
    for field in ["query", "total", "nextOffset", "vectors"] {
        if postgres[field] != file[field] {
            return Some(format!("{field}: {} and {}", postgres[field], file[field]));
        }
    }
    let close = scores(postgres).iter().zip(scores(file)).all(|(a, b)| (a - b).abs() <= SCORE_ERROR_MAX);
    if without_scores(&postgres["hits"]) == without_scores(&file["hits"]) && close {
        return None;
    }
    Some(format!(
        "{:?} {:?} and {:?} {:?}",
        hit_files(postgres),
        scores(postgres),
        hit_files(file),
        scores(file)
    ))
}

/// The answers of Postgres and of the portable file to the same search.
async fn search_both(indexed: &IndexedProject, query: &str, mut arguments: Value) -> (Value, Value) {
    let postgres = indexed.search(query, arguments.clone()).await;
    arguments["backend"] = json!("sqlite");
    (postgres, indexed.search(query, arguments).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_filter_selects_the_same_chunks() {
    let (shop, _) = shop_with_index_file(app(), "agree-filters").await;
    let mut differences = Vec::new();
    // `calledBy` is decided by edges, which a portable file does not carry.
    for (name, value, files) in fields::rows().into_iter().filter(|(name, ..)| *name != "calledBy") {
        for ann in [true, false] {
            let (postgres, file) = search_both(&shop, "order", json!({ name: value, "ann": ann })).await;
            // Without vectors a hit must contain a query word, so there may be none.
            assert!(!ann || hit_files(&postgres).is_empty() == files.is_empty(), "{name} {value}");
            differences.extend(
                difference(&postgres, &file).map(|difference| format!("{name} {value}: {difference}")),
            );
        }
    }
    for query in [
        "order -charge",
        "order NOT lang:rust",
        "order (lang:go OR lang:python)",
        "\"the receipt\" order",
        "order \"ledger.total = ledger\"",
        "NOT lang:elixir",
        "order type:function async:false",
        "order NOT author:ada",
        "order NOT churn:1",
        "order returns:false -branch",
        "order lint:false",
    ] {
        for arguments in [json!({}), json!({ "case": true }), json!({ "caseTokens": true, "ann": false })] {
            let (postgres, file) = search_both(&shop, query, arguments.clone()).await;
            differences.extend(
                difference(&postgres, &file).map(|difference| format!("{query} {arguments}: {difference}")),
            );
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn risk_filters_select_the_same_chunks() {
    let (project, repository, _) = risk::indexed(risk::FILES, risk::CUSTOM_RULE).await;
    let indexed = IndexedProject::new(app(), project, repository);
    build_index_file(&indexed.app, &indexed.project, json!({})).await;
    let mut differences = Vec::new();
    for (name, value, _) in risk::ROWS {
        let (postgres, file) =
            search_both(&indexed, "order", json!({ *name: value, "output": "full" })).await;
        assert!(!hit_files(&postgres).is_empty(), "{name}");
        differences
            .extend(difference(&postgres, &file).map(|difference| format!("{name} {value}: {difference}")));
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn modes_outputs_pages_and_repositories_agree() {
    let (shop, _) = shop_with_index_file(app(), "agree-shapes").await;
    let mut differences = Vec::new();
    for mode in ["code", "prose", "extracted-prose", "records", "both", "all"] {
        for query in ["order", "where is an order charged", "Shelf", "NOT lang:elixir"] {
            for output in ["compact", "full", "json"] {
                let arguments = json!({ "mode": mode, "output": output, "context": 2, "explain": true });
                let (postgres, file) = search_both(&shop, query, arguments).await;
                differences.extend(
                    difference(&postgres, &file)
                        .map(|difference| format!("{mode} {query} {output}: {difference}")),
                );
                assert_eq!(postgres["explain"]["terms"], file["explain"]["terms"]);
            }
        }
    }
    for arguments in [
        json!({ "top": 2, "offset": 3 }),
        json!({ "repoPath": shop.repository.root() }),
        json!({ "top": 1, "ann": false }),
    ] {
        let (postgres, file) = search_both(&shop, "order", arguments.clone()).await;
        assert!(!hit_files(&postgres).is_empty());
        differences
            .extend(difference(&postgres, &file).map(|difference| format!("{arguments}: {difference}")));
    }
    let first = shop.search("order", json!({ "top": 1 })).await["hits"][0]["id"].clone();
    let (postgres, file) = search_both(&shop, &format!("chunk:{first}"), json!({})).await;
    differences.extend(difference(&postgres, &file).map(|difference| format!("chunk query: {difference}")));
    assert!(differences.is_empty(), "{differences:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ten_best_hits_of_a_large_corpus_agree() {
    let indexed = corpus(app()).await;
    build_index_file(&indexed.app, &indexed.project, json!({})).await;
    let mut dice = Dice(99);
    let mut differences = Vec::new();
    for round in 0..40 {
        let words: Vec<String> = (0..=round % 5).map(|_| word(&mut dice)).collect();
        let query = words.join(" ");
        for arguments in [
            json!({ "top": 10 }),
            json!({ "top": 10, "ann": false }),
            json!({ "top": 10, "path": format!("part_{}", round % 7) }),
            json!({ "top": 10, "async": true }),
        ] {
            let (postgres, file) = search_both(&indexed, &query, arguments.clone()).await;
            // Postgres may stop counting after the first page.
            let (mut postgres, mut file) = (postgres, file);
            for answer in [&mut postgres, &mut file] {
                answer["total"] = json!(0);
                answer["nextOffset"] = json!(0);
            }
            differences.extend(
                difference(&postgres, &file).map(|difference| format!("{query} {arguments}: {difference}")),
            );
        }
    }
    assert!(
        differences.is_empty(),
        "{} differ: {:#?}",
        differences.len(),
        &differences[..differences.len().min(4)]
    );
}

/// Queries about this program's own source code.
const QUERIES: &[&str] = &[
    "where are secrets redacted",
    "how is a file split into chunks",
    "bm25 weights of terms",
    "what happens when the lease is lost",
    "parse a regular expression filter",
    "embedding of a question with a cache",
    "fence token check before writing",
    "walk a repository with ignore rules",
    "document frequencies are rebuilt",
    "hnsw index is made after the first load",
    "who may use a project",
    "api key hash and scopes",
    "rank candidates by definition",
    "snippet of a hit",
    "git blame authors of lines",
    "untrusted input reaches a sink",
    "embedded postgres supervisor",
    "progress of an index run",
    "download and verify an asset",
    "queue overloaded",
    "RepositoryRow",
    "ProjectTx::begin",
    "candidates_exact",
    "SearchRequest",
];

#[tokio::test(flavor = "multi_thread")]
async fn fts5_finds_half_of_the_ten_best_lexical_hits() {
    let app = app();
    let (repository, project) = (Repository::new(&[]), project("agree-fts"));
    let folders =
        ["crates", "modules"].map(|name| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name));
    let copied: usize = folders.iter().map(|sources| copy_sources(sources, sources, &repository)).sum();
    assert!(copied > 100, "only {copied} source files were found");
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let indexed = IndexedProject::new(app, project, repository);
    build_index_file(&indexed.app, &indexed.project, json!({})).await;
    let mut overlap = 0.0;
    for query in QUERIES {
        let ids = async |backend: &str| -> HashSet<i64> {
            let mut arguments = json!({ "top": 10, "backend": backend });
            if backend != "sqlite-fts" {
                arguments["ann"] = json!(false);
            }
            let answer = indexed.search(query, arguments).await;
            assert_eq!((&answer["backend"], &answer["vectors"]), (&json!(backend), &json!("none")));
            answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_i64().unwrap()).collect()
        };
        let (postgres, exact, fts) = (ids("postgres").await, ids("sqlite").await, ids("sqlite-fts").await);
        assert_eq!(postgres, exact, "{query}");
        assert!(!postgres.is_empty(), "{query}");
        overlap += f64::from(u32::try_from(postgres.intersection(&fts).count()).unwrap())
            / f64::from(u32::try_from(postgres.len()).unwrap());
    }
    let overlap = overlap / f64::from(u32::try_from(QUERIES.len()).unwrap());
    println!("overlap@10 of sqlite-fts with the lexical hits of Postgres: {overlap:.3}");
    assert!(overlap >= FTS_OVERLAP_MIN, "{overlap}");
}

fn copy_sources(root: &std::path::Path, folder: &std::path::Path, into: &Repository) -> usize {
    let mut copied = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            copied += copy_sources(root, &path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            into.write(&name, &std::fs::read_to_string(&path).unwrap());
            copied += 1;
        }
    }
    copied
}
