//! The bound within which a file agrees with Postgres: the same hits in the same order, scores alike to four digits; and how
//! far FTS5 does.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{export, exported_shop};
use crate::filters::corpus::{corpus, word};
use crate::filters::shop::{Shop, shown};
use crate::filters::{effect, risk};
use crate::harness::{Dice, Repository, app, project, result};

/// Scores are rounded to four digits; the last of them may differ.
const SCORE_ERROR_MAX: f64 = 0.000_11;
/// Share of the ten best that FTS5 has in common with Postgres' words, on average over [`QUESTIONS`].
const FTS_OVERLAP_MIN: f64 = 0.5;

/// Everything but scores, which are compared apart.
fn without_scores(hits: &Value) -> Value {
    let mut hits = hits.clone();
    for hit in hits.as_array_mut().unwrap() {
        let hit = hit.as_object_mut().unwrap();
        hit.shift_remove("score");
        hit.shift_remove("scoreBreakdown");
    }
    hits
}

fn scores(answer: &Value) -> Vec<f64> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect()
}

/// What differs between the two answers, if anything.
fn difference(postgres: &Value, file: &Value) -> Option<String> {
    if file["backend"] != "sqlite" || postgres["backend"] != "postgres" {
        return Some(format!("answered by {} and {}", postgres["backend"], file["backend"]));
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
    Some(format!("{:?} {:?} and {:?} {:?}", shown(postgres), scores(postgres), shown(file), scores(file)))
}

async fn both(shop: &Shop, query: &str, mut arguments: Value) -> (Value, Value) {
    let postgres = shop.ask(query, arguments.clone()).await;
    arguments["backend"] = json!("sqlite");
    (postgres, shop.ask(query, arguments).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_filter_of_the_table_passes_the_same_chunks() {
    let (shop, _) = exported_shop(app(), "agree-filters").await;
    let mut wrong = Vec::new();
    for (name, value, files) in effect::rows() {
        for ann in [true, false] {
            let (postgres, file) = both(&shop, "order", json!({ name: value, "ann": ann })).await;
            // Without vectors a word must be said, too.
            assert!(!files.is_empty() && (!ann || !shown(&postgres).is_empty()), "{name}");
            wrong.extend(difference(&postgres, &file).map(|why| format!("{name} {value}: {why}")));
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
            let (postgres, file) = both(&shop, query, arguments.clone()).await;
            wrong.extend(difference(&postgres, &file).map(|why| format!("{query} {arguments}: {why}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn risk_across_files_passes_the_same_chunks() {
    let (project, repository, _) = risk::indexed(risk::FILES, risk::OWN_RULE).await;
    let shop = Shop::of(app(), project, repository);
    export(&shop.app, &shop.project, json!({})).await;
    let mut wrong = Vec::new();
    for (name, value, _) in risk::ROWS {
        let (postgres, file) = both(&shop, "order", json!({ *name: value, "output": "full" })).await;
        assert!(!shown(&postgres).is_empty(), "{name}");
        wrong.extend(difference(&postgres, &file).map(|why| format!("{name} {value}: {why}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn modes_outputs_pages_and_repositories_are_the_same() {
    let (shop, _) = exported_shop(app(), "agree-shapes").await;
    let mut wrong = Vec::new();
    for mode in ["code", "prose", "extracted-prose", "records", "both", "all"] {
        for query in ["order", "where is an order charged", "Shelf", "NOT lang:elixir"] {
            for output in ["compact", "full", "json"] {
                let arguments = json!({ "mode": mode, "output": output, "context": 2, "explain": true });
                let (postgres, file) = both(&shop, query, arguments).await;
                wrong.extend(
                    difference(&postgres, &file).map(|why| format!("{mode} {query} {output}: {why}")),
                );
                assert_eq!(postgres["explain"]["terms"], file["explain"]["terms"]);
            }
        }
    }
    for arguments in [
        json!({ "top": 2, "offset": 3 }),
        json!({ "repoPath": shop.main.root() }),
        json!({ "top": 1, "ann": false }),
    ] {
        let (postgres, file) = both(&shop, "order", arguments.clone()).await;
        assert!(!shown(&postgres).is_empty());
        wrong.extend(difference(&postgres, &file).map(|why| format!("{arguments}: {why}")));
    }
    let first = shop.ask("order", json!({ "top": 1 })).await["hits"][0]["id"].clone();
    let (postgres, file) = both(&shop, &format!("chunk:{first}"), json!({})).await;
    wrong.extend(difference(&postgres, &file).map(|why| format!("likeness: {why}")));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ten_best_of_thousands_are_the_same() {
    let shop = corpus(app()).await;
    export(&shop.app, &shop.project, json!({})).await;
    let mut dice = Dice(99);
    let mut wrong = Vec::new();
    for round in 0..40 {
        let words: Vec<String> = (0..=round % 5).map(|_| word(&mut dice)).collect();
        let query = words.join(" ");
        for arguments in [
            json!({ "top": 10 }),
            json!({ "top": 10, "ann": false }),
            json!({ "top": 10, "path": format!("part_{}", round % 7) }),
            json!({ "top": 10, "async": true }),
        ] {
            let (postgres, file) = both(&shop, &query, arguments.clone()).await;
            // Beyond the first page, Postgres may have stopped looking.
            let (mut postgres, mut file) = (postgres, file);
            for answer in [&mut postgres, &mut file] {
                answer["total"] = json!(0);
                answer["nextOffset"] = json!(0);
            }
            wrong.extend(difference(&postgres, &file).map(|why| format!("{query} {arguments}: {why}")));
        }
    }
    assert!(wrong.is_empty(), "{} differ: {:#?}", wrong.len(), &wrong[..wrong.len().min(4)]);
}

/// Questions about this program's own sources.
const QUESTIONS: &[&str] = &[
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
async fn fts5_finds_much_of_what_our_words_find() {
    let app = app();
    let (repository, project) = (Repository::new(&[]), project("agree-fts"));
    let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let copied = copy_sources(&sources, &sources, &repository);
    assert!(copied > 100);
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let shop = Shop::of(app, project, repository);
    export(&shop.app, &shop.project, json!({})).await;
    let mut overlap = 0.0;
    for question in QUESTIONS {
        let ids = async |backend: &str| -> HashSet<i64> {
            let mut arguments = json!({ "top": 10, "backend": backend });
            if backend != "sqlite-fts" {
                arguments["ann"] = json!(false);
            }
            let answer = shop.ask(question, arguments).await;
            assert_eq!((&answer["backend"], &answer["vectors"]), (&json!(backend), &json!("none")));
            answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_i64().unwrap()).collect()
        };
        let (postgres, exact, fts) = (ids("postgres").await, ids("sqlite").await, ids("sqlite-fts").await);
        assert_eq!(postgres, exact, "{question}");
        assert!(!postgres.is_empty(), "{question}");
        overlap += f64::from(u32::try_from(postgres.intersection(&fts).count()).unwrap())
            / f64::from(u32::try_from(postgres.len()).unwrap());
    }
    let overlap = overlap / f64::from(u32::try_from(QUESTIONS.len()).unwrap());
    println!("overlap of sqlite-fts with words at 10: {overlap:.3}");
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
