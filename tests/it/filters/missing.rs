//! Files whose facts could not be read: told, tried again and mended; and a search reads no query of facts.

use std::fmt::Write as _;
use std::process::Command;

use contract::ProjectId;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::shop::{Shop, files, index, warnings};
use crate::harness::{self, PROGRAM, Repository, app, app_with, project, result};
use crate::storage::database::{number, run};

/// A file that no machine parses in a millisecond.
fn long_file() -> String {
    let mut text = String::new();
    for number in 0..6_000 {
        writeln!(text, "def pack_parcel_{number}(parcel):\n    return wrap(parcel, {number})\n").unwrap();
    }
    text
}

async fn build(app: &std::sync::Arc<pairofcleats::app::App>, shop: &Shop) -> Value {
    let asked = json!({ "repoPath": shop.main.root(), "project_id": shop.project });
    result(app, "build_index", asked).await["report"].take()
}

async fn status(shop: &Shop) -> Value {
    let status = result(&shop.app, "index_status", json!({ "project_id": shop.project })).await;
    status["repositories"][0]["factsMissing"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_whose_time_ran_out_is_told_and_mended_by_the_next_run() {
    let short = app_with(|config| config.indexing.parse_timeout_ms = 1);
    let project = project("facts-missing");
    let repository = Repository::new(&[
        ("long.py", &long_file()),
        ("short.py", "def send_parcel(parcel):\n    return wrap(parcel)\n"),
    ]);
    index(&short, &repository, &project).await;
    // Long enough for any machine and a build without optimisation.
    let patient = app_with(|config| config.indexing.parse_timeout_ms = 120_000);
    let shop = Shop::of(patient, project, repository);

    let told = json!([{ "reason": "parse_timeout", "count": 1, "examples": ["long.py"] }]);
    assert_eq!(status(&shop).await, told);
    assert_eq!(
        files(&shop.ask("parcel calls:wrap", json!({})).await),
        ["short.py"],
        "its chunks are known by words"
    );
    assert!(files(&shop.ask("pack_parcel_17", json!({})).await).contains(&"long.py".to_owned()));
    let said = warnings(&shop, "parcel calls:wrap lang:python", json!({})).await;
    assert_eq!(said.len(), 1, "{said:#?}");
    assert_eq!((&said[0]["code"], &said[0]["details"]), (&json!("fact_unknown"), &json!({ "files": 1 })));
    assert_eq!(warnings(&shop, "parcel calls:wrap path:short", json!({})).await, [] as [Value; 0]);

    // In vain again: it is told again, and its rows stay.
    let report = build(&short, &shop).await;
    assert_eq!(report["factsMissing"], told);
    assert_eq!((&report["filesChanged"], &report["filesUnchanged"]), (&json!(0), &json!(2)));
    // Not for ever: three times is enough.
    for _ in 0..3 {
        assert_eq!(build(&short, &shop).await["factsMissing"], told);
    }
    let schema = ProjectId::parse(&shop.project).unwrap().schema_name();
    let mut raw = PgConnection::connect_with(&harness::server().connect_options()).await.unwrap();
    let tried = format!("SELECT max(facts_tried_ms) FROM {schema}.files");
    assert_eq!(number(&mut raw, &tried).await, 3);

    // A run that gives it more time tries again.
    let report = build(&shop.app, &shop).await;
    assert_eq!(report.get("factsMissing"), None, "{report:#}");
    assert_eq!(number(&mut raw, &tried).await, 0);
    assert_eq!((&report["filesChanged"], &report["filesUnchanged"]), (&json!(1), &json!(1)));
    assert_eq!(status(&shop).await, Value::Null);
    let found = files(&shop.ask("parcel calls:wrap", json!({ "top": 100 })).await);
    assert!(found.contains(&"long.py".to_owned()), "{found:?}");
    assert!(files(&shop.ask("send_parcel calls:wrap", json!({})).await).contains(&"short.py".to_owned()));
    assert_eq!(warnings(&shop, "parcel calls:wrap", json!({})).await, [] as [Value; 0]);

    let report = build(&shop.app, &shop).await;
    assert_eq!((&report["filesChanged"], &report["filesUnchanged"]), (&json!(0), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_of_a_version_that_lost_facts_is_mended_by_its_next_run() {
    let (app, project) = (app(), project("facts-lost"));
    let repository = Repository::new(&[("lost.py", "def send_parcel(parcel):\n    return wrap(parcel)\n")]);
    index(&app, &repository, &project).await;
    let shop = Shop::of(app, project, repository);
    let schema = ProjectId::parse(&shop.project).unwrap().schema_name();
    let mut raw = PgConnection::connect_with(&harness::server().connect_options()).await.unwrap();
    run(&mut raw, &format!("UPDATE {schema}.facts SET ids = '{{}}', branches = NULL")).await;
    run(&mut raw, &format!("UPDATE {schema}.repositories SET facts_version = 1")).await;
    assert_eq!(files(&shop.ask("parcel calls:wrap", json!({})).await).len(), 0);

    let report = build(&shop.app, &shop).await;
    assert_eq!(report["filesChanged"], 1, "{report:#}");
    assert_eq!(files(&shop.ask("parcel calls:wrap", json!({})).await), ["lost.py"]);
    assert!(
        number(&mut raw, &format!("SELECT max(facts_version)::int8 FROM {schema}.repositories")).await > 1
    );
}

#[test]
fn a_search_reads_no_query_of_facts() {
    /// What is logged by whoever reads one.
    const SAID: &str = "read a query of facts";
    let sources = [
        include_str!("../../../crates/languages/src/facts/query.rs"),
        include_str!("../../../crates/languages/src/language.rs"),
    ];
    assert!(sources.iter().any(|source| source.contains(SAID)), "it is logged with other words now");
    let repository = Repository::new(&[
        ("a.py", "def send_parcel(parcel):\n    return wrap(parcel)\n"),
        ("a.rs", "fn send_parcel(parcel: Parcel) {\n    wrap(parcel)\n}\n"),
        ("a.swift", "func sendParcel(parcel: Parcel) {\n    wrap(parcel)\n}\n"),
    ]);
    // No other process takes the job over.
    let (home, project) = (harness::new_home("reads-nothing"), project("reads-nothing"));
    let read = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.env("PAIROFCLEATS_HOME", &home).env_remove("DATABASE_URL");
        command.env("PAIROFCLEATS_LOG__FILTER", "info,languages=debug");
        let output = command.arg("-v").args(arguments).args(["--project", &project]).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap().matches(SAID).count()
    };
    let root = repository.root();
    assert_eq!(read(&["index", &root, "--stub-embeddings"]), 0, "the processes that parse do");
    assert_eq!(read(&["search", "parcel", "--calls", "wrap", "--no-ann"]), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_known_is_said_once_and_only_where_it_could_be_expected() {
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
    let shop = Shop::of(app, project, repository);

    let said = warnings(&shop, "parcel calls:wrap -throws:x", json!({})).await;
    assert_eq!(said.len(), 1, "{said:#?}");
    assert_eq!(said[0]["details"], json!({ "fields": ["calls", "throws"], "languages": ["perl"] }));
    for quiet in ["lang:python", "path:a", "-ext:pl", "lang:go", "lang:markdown"] {
        let said = warnings(&shop, &format!("parcel calls:wrap {quiet}"), json!({})).await;
        assert!(said.iter().all(|warning| warning["code"] != "fact_unknown"), "{quiet}: {said:#?}");
    }
    // Go has nothing asynchronous; that is worth saying only to who asks it alone.
    let said = warnings(&shop, "parcel async:true lang:python,go", json!({})).await;
    assert!(said.iter().all(|warning| warning["code"] != "fact_unknown"), "{said:#?}");
    let said = warnings(&shop, "parcel async:true lang:go", json!({})).await;
    assert!(said.iter().any(|warning| warning["code"] == "fact_unknown"), "{said:#?}");
}
