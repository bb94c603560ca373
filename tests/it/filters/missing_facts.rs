//! Files whose facts could not be read are reported, retried and completed; and a search loads no facts query.

use std::fmt::Write as _;
use std::process::Command;

use contract::ProjectId;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::shop::{IndexedProject, index, search_warnings, sorted_hit_files};
use crate::harness::{self, PROGRAM, Repository, app, new_home, project, result, stub_app_in};
use crate::storage::database::{number, run};

/// A file that takes any machine more than a millisecond to parse.
fn long_file() -> String {
    let mut text = String::new();
    for number in 0..6_000 {
        writeln!(text, "def pack_parcel_{number}(parcel):\n    return wrap(parcel, {number})\n").unwrap();
    }
    text
}

async fn build(app: &std::sync::Arc<gate::app::App>, indexed: &IndexedProject) -> Value {
    let arguments = json!({ "repoPath": indexed.repository.root(), "project_id": indexed.project });
    result(app, "build_index", arguments).await["report"].take()
}

async fn status(indexed: &IndexedProject) -> Value {
    let status = result(&indexed.app, "index_status", json!({ "project_id": indexed.project })).await;
    status["repositories"][0]["factsMissing"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_timed_out_is_reported_and_completed_by_a_run_with_more_time() {
    let home = new_home("hasty");
    let hasty_app = stub_app_in(&home, |config| config.indexing.parse_timeout_ms = 1);
    let project = project("facts-missing");
    let repository = Repository::new(&[
        ("long.py", &long_file()),
        ("short.py", "def send_parcel(parcel):\n    return wrap(parcel)\n"),
    ]);
    index(&hasty_app, &repository, &project).await;
    // Enough time for any machine and a build without optimisation.
    let unhurried_app = stub_app_in(&home, |config| config.indexing.parse_timeout_ms = 120_000);
    let indexed = IndexedProject::new(unhurried_app, project, repository);

    let missing_facts = json!([{ "reason": "parse_timeout", "count": 1, "examples": ["long.py"] }]);
    assert_eq!(status(&indexed).await, missing_facts);
    assert_eq!(
        sorted_hit_files(&indexed.search("parcel calls:wrap", json!({})).await),
        ["short.py"],
        "the calls in long.py are unknown"
    );
    assert!(
        sorted_hit_files(&indexed.search("pack_parcel_17", json!({})).await).contains(&"long.py".to_owned())
    );
    let warnings = search_warnings(&indexed, "parcel calls:wrap lang:python", json!({})).await;
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert_eq!(
        (&warnings[0]["code"], &warnings[0]["details"]),
        (&json!("fact_unknown"), &json!({ "files": 1 }))
    );
    assert_eq!(search_warnings(&indexed, "parcel calls:wrap path:short", json!({})).await, [] as [Value; 0]);

    // The next attempt times out as well: it is reported again, and the rows stay.
    let report = build(&hasty_app, &indexed).await;
    assert_eq!(report["factsMissing"], missing_facts);
    assert_eq!((&report["filesChanged"], &report["filesUnchanged"]), (&json!(0), &json!(2)));
    // It is retried three times at most.
    for _ in 0..3 {
        assert_eq!(build(&hasty_app, &indexed).await["factsMissing"], missing_facts);
    }
    let schema = ProjectId::parse(&indexed.project).unwrap().schema_name();
    let mut raw = crate::faults::disk::connect(&home).await;
    let attempts = format!("SELECT max(facts_tried_ms) FROM {schema}.files");
    assert_eq!(number(&mut raw, &attempts).await, 3);

    // A run with a longer timeout retries it.
    let report = build(&indexed.app, &indexed).await;
    assert_eq!(report.get("factsMissing"), None, "{report:#}");
    assert_eq!(number(&mut raw, &attempts).await, 0);
    assert_eq!((&report["filesChanged"], &report["filesUnchanged"]), (&json!(1), &json!(1)));
    assert_eq!(status(&indexed).await, Value::Null);
    let found = sorted_hit_files(&indexed.search("parcel calls:wrap", json!({ "top": 100 })).await);
    assert!(found.contains(&"long.py".to_owned()), "{found:?}");
    assert!(
        sorted_hit_files(&indexed.search("send_parcel calls:wrap", json!({})).await)
            .contains(&"short.py".to_owned())
    );
    assert_eq!(search_warnings(&indexed, "parcel calls:wrap", json!({})).await, [] as [Value; 0]);

    let report = build(&indexed.app, &indexed).await;
    assert_eq!((&report["filesChanged"], &report["filesUnchanged"]), (&json!(0), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_of_an_older_version_are_replaced_by_the_next_run() {
    let (app, project) = (app(), project("facts-lost"));
    let repository = Repository::new(&[("lost.py", "def send_parcel(parcel):\n    return wrap(parcel)\n")]);
    index(&app, &repository, &project).await;
    let indexed = IndexedProject::new(app, project, repository);
    let schema = ProjectId::parse(&indexed.project).unwrap().schema_name();
    let mut raw = PgConnection::connect_with(&harness::server().connect_options()).await.unwrap();
    run(&mut raw, &format!("UPDATE {schema}.facts SET ids = '{{}}', branches = NULL")).await;
    run(&mut raw, &format!("UPDATE {schema}.repositories SET facts_version = 1")).await;
    assert_eq!(sorted_hit_files(&indexed.search("parcel calls:wrap", json!({})).await).len(), 0);

    let report = build(&indexed.app, &indexed).await;
    assert_eq!(report["filesChanged"], 1, "{report:#}");
    assert_eq!(sorted_hit_files(&indexed.search("parcel calls:wrap", json!({})).await), ["lost.py"]);
    assert!(
        number(&mut raw, &format!("SELECT max(facts_version)::int8 FROM {schema}.repositories")).await > 1
    );
}

#[test]
fn a_search_loads_no_facts_query() {
    /// Log message for each query that is loaded.
    const LOG_MESSAGE: &str = "read a query of facts";
    let sources = [
        include_str!("../../../crates/languages/src/facts/query.rs"),
        include_str!("../../../crates/languages/src/language.rs"),
    ];
    assert!(sources.iter().any(|source| source.contains(LOG_MESSAGE)), "the log message has changed");
    let repository = Repository::new(&[
        ("a.py", "def send_parcel(parcel):\n    return wrap(parcel)\n"),
        ("a.rs", "fn send_parcel(parcel: Parcel) {\n    wrap(parcel)\n}\n"),
        ("a.swift", "func sendParcel(parcel: Parcel) {\n    wrap(parcel)\n}\n"),
    ]);
    // In a home of its own, so that no other process takes the job over.
    let (home, project) = (harness::new_home("loads-nothing"), project("loads-nothing"));
    let queries_loaded = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.env("PAIROFCLEATS_HOME", &home).env_remove("DATABASE_URL");
        command.env("PAIROFCLEATS_LOG__FILTER", "info,languages=debug");
        let output = command.arg("-v").args(arguments).args(["--project", &project]).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap().matches(LOG_MESSAGE).count()
    };
    let root = repository.root();
    assert_eq!(
        queries_loaded(&["index", &root, "--stub-embeddings"]),
        0,
        "only the parser processes load them"
    );
    assert_eq!(queries_loaded(&["search", "parcel", "--calls", "wrap", "--no-ann"]), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_facts_give_one_warning_and_only_for_searched_languages() {
    let (app, project) = (app(), project("facts-blind"));
    let mut sources = vec![
        ("a.py".to_owned(), "def send_parcel(parcel):\n    return wrap(parcel)\n"),
        ("b.pl".to_owned(), "sub send_parcel {\n    wrap($_[0]);\n}\n"),
        ("c.go".to_owned(), "package parcel\n\nfunc Send(parcel Parcel) error {\n\treturn wrap(parcel)\n}\n"),
        ("d.json".to_owned(), "{ \"parcel\": 1 }\n"),
    ];
    for folder in 0..4 {
        sources.push((format!("{folder}/README.md"), "# Parcels\n\nHow a parcel is wrapped.\n"));
    }
    let sources: Vec<(&str, &str)> = sources.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let repository = Repository::new(&sources);
    index(&app, &repository, &project).await;
    let indexed = IndexedProject::new(app, project, repository);

    let warnings = search_warnings(&indexed, "parcel calls:wrap -throws:x", json!({})).await;
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert_eq!(warnings[0]["details"], json!({ "fields": ["calls", "throws"], "languages": ["perl"] }));
    for clause in ["lang:python", "path:a", "-ext:pl", "lang:go", "lang:markdown"] {
        let warnings = search_warnings(&indexed, &format!("parcel calls:wrap {clause}"), json!({})).await;
        assert!(warnings.iter().all(|warning| warning["code"] != "fact_unknown"), "{clause}: {warnings:#?}");
    }
    // No Go function is known to be async: a warning is due only when all searched files are in Go.
    let warnings = search_warnings(&indexed, "parcel async:true lang:python,go", json!({})).await;
    assert!(warnings.iter().all(|warning| warning["code"] != "fact_unknown"), "{warnings:#?}");
    let warnings = search_warnings(&indexed, "parcel async:true lang:go", json!({})).await;
    assert!(warnings.iter().any(|warning| warning["code"] == "fact_unknown"), "{warnings:#?}");
}
