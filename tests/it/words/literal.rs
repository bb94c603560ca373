//! A text that is in a chunk or a path is answered with it, and never called doubtful; a question whose words do not occur still is.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{assert_found, index, search};
use crate::harness::{Repository, app, app_with_model, project, result};

const FILES: &[(&str, &str)] = &[
    (
        "src/ledger.py",
        "class Ledger:\n    def post(self, entry):\n        # zebrafinch77 was here\n        return self.rows.append(entry)\n",
    ),
    ("src/größe.py", "def größe_messen(wert):\n    naïve = wert\n    return naïve\n"),
    ("src/repo.ex", "defmodule Repo do\n  def get!(id), do: fetch(id) |> unwrap()\nend\n"),
    ("src/suche.py", "HINWEIS = '全文検索語の索引'\nGRUSS = 'привет мир'\n"),
    ("src/ops.hs", "module Ops where\n\nshift a b = a <+> b\n"),
    (
        "docs/guide.md",
        "# Guide\n\nWhat is this for? See what is in the box.\nA sentence that is broken\nover two lines.\n",
    ),
    ("vendored/kiwi-fruit/notes.txt", "plain prose\n"),
    ("src/other.py", "def unrelated(alpha, beta):\n    return alpha + beta\n"),
];

/// Literal texts, with the file that contains them.
const TEXTS: &[(&str, &str)] = &[
    ("zebrafinch77", "src/ledger.py"),
    ("ZEBRAFINCH77", "src/ledger.py"),
    ("`zebrafinch77`?", "src/ledger.py"),
    ("where is zebrafinch77", "src/ledger.py"),
    ("zebrafin", "src/ledger.py"),
    ("zebrafinch77 was here", "src/ledger.py"),
    ("\"zebrafinch77 was here\"", "src/ledger.py"),
    ("self.rows.append(entry)", "src/ledger.py"),
    ("größe_messen", "src/größe.py"),
    ("naïve = wert", "src/größe.py"),
    ("get!", "src/repo.ex"),
    ("get!(id), do: fetch(id)", "src/repo.ex"),
    ("検索", "src/suche.py"),
    ("索引", "src/suche.py"),
    ("привет", "src/suche.py"),
    ("<+>", "src/ops.hs"),
    ("a <+> b", "src/ops.hs"),
    ("what is this", "docs/guide.md"),
    ("broken over two lines", "docs/guide.md"),
    ("kiwi", "vendored/kiwi-fruit/notes.txt"),
    ("kiwi-fruit", "vendored/kiwi-fruit/notes.txt"),
    ("vendored/kiwi-fruit/notes.txt", "vendored/kiwi-fruit/notes.txt"),
];

/// Texts that do not occur.
const ABSENT: &[&str] =
    &["zzzz qqqq", "flurblewidget", "cat", "the wavelet decomposition of seismograms", "<=>", "検査機"];

async fn check(app: &Arc<gate::app::App>, project: &str, more: Value) {
    for (text, file) in TEXTS {
        let answer = search(app, project, text, more.clone()).await;
        assert_found(&answer, file, text);
    }
    for text in ABSENT {
        let answer = search(app, project, text, more.clone()).await;
        let confidence = answer["confidence"].as_str().unwrap();
        assert!(["none", "low"].contains(&confidence), "{text}: {answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_found_as_it_stands_in_one_of_several_repositories_and_in_a_portable_file() {
    let app = app();
    let project = project("literal");
    let repository = Repository::new(FILES);
    let neighbour = Repository::new(&[("src/till.py", "def till(amount):\n    return amount\n")]);
    index(&app, &project, &repository.root()).await;
    check(&app, &project, json!({ "ann": false })).await;
    index(&app, &project, &neighbour.root()).await;
    check(&app, &project, json!({ "ann": false })).await;
    check(&app, &project, json!({ "ann": false, "repoPath": repository.root() })).await;
    result(&app, "build_sqlite_index", json!({ "project_id": project })).await;
    check(&app, &project, json!({ "ann": false, "backend": "sqlite" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_found_as_it_stands_with_the_model() {
    let app = app_with_model();
    let project = project("literal-model");
    let repository = Repository::new(FILES);
    index(&app, &project, &repository.root()).await;
    check(&app, &project, json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_not_found_where_a_filter_leaves_it_out() {
    let app = app();
    let project = project("literal-filter");
    let repository = Repository::new(FILES);
    index(&app, &project, &repository.root()).await;
    let here = search(&app, &project, "zebrafin", json!({ "path": "src", "ann": false })).await;
    assert_found(&here, "src/ledger.py", "within the filter");
    let elsewhere = search(&app, &project, "zebrafin", json!({ "path": "docs", "ann": false })).await;
    let confidence = elsewhere["confidence"].as_str().unwrap();
    assert!(["none", "low"].contains(&confidence), "{elsewhere:#}");
}
