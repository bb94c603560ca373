//! Ranking is tested like code: a corpus of its own, questions with targets, and golden files that pin every answer.
//!
//! `docs/ranking-tests.md` says how to read a failure and when to write the golden files anew.

mod figures;
mod golden;
mod page;
mod questions;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::config::Variant;
use pairofcleats::app::App;
use serde_json::json;
use upkeep::assets::{Wanted, install_for_tests};

use self::figures::Figures;
use self::golden::Golden;
use self::page::{Page, in_golden_order};
use self::questions::Question;
use crate::harness::{Repository, app_with_model_and, project, result};

/// Hits that are looked at to tell a near tie from a change: those that may trade places with the ten shown.
const WIDE: usize = 50;

/// How the questions are asked.
struct Setting {
    /// Folder of its golden files.
    name: &'static str,
    /// Argument `ann` of `search`.
    ann: bool,
    /// What `vectors` of the answer must say; a degraded answer would pin the wrong ranking.
    vectors: &'static str,
}

const SETTINGS: &[Setting] = &[
    Setting { name: "hybrid", ann: true, vectors: "exact" },
    Setting { name: "words", ann: false, vectors: "none" },
];

#[tokio::test(flavor = "multi_thread")]
async fn every_question_is_answered_as_pinned() {
    let app = app_with_exact_model();
    let project = indexed_corpus(&app).await;
    let questions = questions::all();
    let mut golden = Golden::open(folder("golden"), golden::updating());
    let mut figures = Figures::default();
    for setting in SETTINGS {
        for question in &questions {
            let name = format!("{}/{}.txt", setting.name, question.id());
            let mut page = ask(&app, &project, setting, question, None).await;
            if golden.differs(&name, &question.report(&page)) {
                let wide = ask(&app, &project, setting, question, Some(WIDE)).await;
                let pinned = golden.committed(&name).and_then(|text| in_golden_order(&text, &wide));
                page = pinned.unwrap_or(page);
            }
            figures.add(setting.name, question, &page);
            golden.check(&name, question.report(&page));
        }
    }
    golden.check("summary.txt", figures.table());
    golden.finish();
}

/// The quantised graph that ships, on every machine: a CPU without VNNI computes it exactly, only slower.
fn app_with_exact_model() -> Arc<App> {
    install_for_tests(Wanted { postgres: false, embedding: true }, Variant::Int8).unwrap();
    app_with_model_and(|config| {
        config.assets.variant = Variant::Int8;
        // Other tests keep this machine busy, and a late vector would mean an answer from words alone.
        config.search.embed_wait_ms = 60_000;
    })
}

/// A project that holds a copy of the corpus: below this repository's root, its history would be that of this repository.
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

/// Asks through the tool, as a client does; `top` is the default where it is not given.
async fn ask(
    app: &Arc<App>,
    project: &str,
    setting: &Setting,
    question: &Question,
    top: Option<usize>,
) -> Page {
    let arguments = json!({ "query": question.ask(), "project_id": project, "ann": setting.ann, "top": top });
    let answer = result(app, "search", arguments).await;
    assert_eq!(answer["vectors"], setting.vectors, "{}: {answer:#}", question.id());
    Page::of(&answer)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ranking").join(name)
}
