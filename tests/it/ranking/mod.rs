//! Ranking tests: a corpus of their own, queries with targets, and golden files with the expected answers.
//!
//! `docs/ranking-tests.md` explains how to read a failure and when to rewrite the golden files.

mod golden;
mod page;
mod queries;
mod summary;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::config::Variant;
use gate::app::App;
use serde_json::json;
use upkeep::install::{AssetSelection, install_for_tests};

use self::golden::Golden;
use self::page::{Page, in_golden_order};
use self::queries::Query;
use self::summary::Summary;
use crate::harness::{Repository, app_with_model_and, project, result};

/// The number of hits compared to distinguish a near tie from a change. Only these can trade places with the ten on the page.
const COMPARED_HITS: usize = 50;

/// A way to search the queries.
struct Setting {
    /// The folder of its golden files.
    name: &'static str,
    /// The argument `ann` of `search`.
    ann: bool,
    /// The required value of `vectors` in the answer: a degraded answer must not become a golden file.
    vectors: &'static str,
}

const SETTINGS: &[Setting] = &[
    Setting { name: "hybrid", ann: true, vectors: "exact" },
    Setting { name: "lexical", ann: false, vectors: "none" },
];

#[tokio::test(flavor = "multi_thread")]
async fn every_query_has_the_answer_of_its_golden_file() {
    let app = app_with_fp32_model();
    let project = indexed_corpus(&app).await;
    let queries = queries::all();
    let mut golden = Golden::open(folder("golden"), golden::updating());
    let mut summary = Summary::default();
    for setting in SETTINGS {
        for query in &queries {
            let name = format!("{}/{}.txt", setting.name, query.id());
            let mut page = search(&app, &project, setting, query, None).await;
            if golden.differs(&name, &query.report(&page)) {
                let larger_page = search(&app, &project, setting, query, Some(COMPARED_HITS)).await;
                let pinned = golden.committed(&name).and_then(|text| in_golden_order(&text, &larger_page));
                page = pinned.unwrap_or(page);
            }
            summary.add(setting.name, query, &page);
            golden.check(&name, query.report(&page));
        }
    }
    golden.check("summary.txt", summary.table());
    golden.finish();
}

/// An application with the fp32 model on every machine: quantisation amplifies the differences between CPUs until hits move.
fn app_with_fp32_model() -> Arc<App> {
    install_for_tests(AssetSelection { postgres: false, embedding: true }, Variant::Fp32).unwrap();
    app_with_model_and(|config| {
        config.assets.variant = Variant::Fp32;
        // Other tests keep this machine busy, and a query vector that comes too late would make the answer lexical only.
        config.search.embed_wait_ms = 60_000;
    })
}

/// A project with a copy of the corpus. In its own place the corpus would have the git history of this repository.
async fn indexed_corpus(app: &Arc<App>) -> String {
    let (corpus, repository, project) = (folder("corpus"), Repository::new(&[]), project("ranking"));
    let mut open = vec![corpus.clone()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let below = path.strip_prefix(&corpus).unwrap().to_str().unwrap();
                repository.write(below, &std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let report = result(app, "build_index", arguments).await["report"].take();
    assert_eq!((&report["vectorsPending"], &report["skipped"]), (&json!(0), &json!([])), "{report:#}");
    project
}

/// Searches through the tool, as a client does; without `top`, the default number of hits.
async fn search(app: &Arc<App>, project: &str, setting: &Setting, query: &Query, top: Option<usize>) -> Page {
    let arguments = json!({ "query": query.text(), "project_id": project, "ann": setting.ann, "top": top });
    let answer = result(app, "search", arguments).await;
    assert_eq!(answer["vectors"], setting.vectors, "{}: {answer:#}", query.id());
    Page::parse(&answer)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ranking").join(name)
}
