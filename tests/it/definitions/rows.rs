//! The rows of definitions: they are complete, found by filters, replaced with their chunks, and optional for a search.

use std::fs;
use std::path::Path;

use contract::ProjectId;
use regex::Regex;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::{describe, hits, index_files};
use crate::filters::shop::{IndexedProject, index};
use crate::harness::{self, Repository, app, project, result};
use crate::storage::database::{number, run};

/// The functions of a source file with their lines, up to `proptest!`: the grammar does not see functions inside a macro.
fn functions_with_lines(source: &str) -> Vec<(String, u64)> {
    let function = Regex::new(r"^\s*(?:pub(?:\([^)]*\))? )?(?:const )?(?:async )?fn (\w+)").unwrap();
    let until_macro = source.split("proptest! {").next().unwrap();
    let lines = until_macro.lines().zip(1..);
    lines.filter_map(|(line, at)| Some((function.captures(line)?[1].to_owned(), at))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_of_a_real_folder_is_found_by_its_signature() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/engine/src/search");
    let repository = Repository::new(&[]);
    let mut expected: Vec<(String, String, u64)> = Vec::new();
    let mut open = vec![folder.clone()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let (name, text) = (
                path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned(),
                fs::read_to_string(&path).unwrap(),
            );
            repository.write(&format!("src/{name}"), &text);
            expected.extend(
                functions_with_lines(&text)
                    .into_iter()
                    .map(|(function, line)| (function, format!("src/{name}"), line)),
            );
        }
    }
    assert!(expected.len() > 200, "{}", expected.len());
    let (app, project) = (app(), project("signatures"));
    index(&app, &repository, &project).await;
    let indexed = IndexedProject::new(app, project, repository);
    let (mut missed, mut misnamed) = (Vec::new(), Vec::new());
    for (function, file, line) in &expected {
        let answer = indexed.search(&format!("signature:\"fn {function}\""), json!({})).await;
        let contains_line = |hit: &&Value| {
            let range = hit["startLine"].as_u64().unwrap()..=hit["endLine"].as_u64().unwrap();
            hit["file"] == **file && range.contains(line)
        };
        let Some(hit) = hits(&answer).iter().find(contains_line) else {
            missed.push(format!("{file}:{line} {function}"));
            continue;
        };
        // Several functions of a file can have this name or begin with it; then the hit may name another one.
        let namesakes = expected
            .iter()
            .filter(|(other, other_file, _)| other_file == file && other.starts_with(function))
            .count();
        if namesakes == 1
            && (!hit["name"].as_str().unwrap().ends_with(function.as_str()) || hit["line"] != json!(line))
        {
            misnamed.push(format!("{file}:{line} {function}: {}", describe(hit)));
        }
    }
    assert!(missed.is_empty(), "{} of {} missed: {missed:#?}", missed.len(), expected.len());
    assert!(
        misnamed.is_empty(),
        "{} of {} have a wrong name or line: {misnamed:#?}",
        misnamed.len(),
        expected.len()
    );
}

const ACCOUNT: &str = r#"class Account:
    """An account with the depot."""

    limit = 100

    def __init__(self, owner):
        self.owner = owner

    @property
    def balance(self):
        return sum(self.entries)

    async def deposit(self, cents):
        await self.ledger.add(cents)

    def withdraw(self, cents):
        raise Overdrawn(self.owner)

    def close(self):
        self.entries.clear()

    def rename(self, owner):
        self.owner = owner

    def freeze(self):
        self.frozen = True
"#;

#[tokio::test(flavor = "multi_thread")]
async fn methods_are_found_in_the_chunk_of_their_class() {
    let indexed = index_files("methods", &[("account.py", ACCOUNT)]).await;
    let answer = indexed.search("type:class", json!({})).await;
    assert_eq!(hits(&answer).len(), 1, "one chunk contains all methods: {answer:#}");
    assert_eq!(describe(&hits(&answer)[0]), "account.py:1 class Account");
    for (name, line) in
        [("balance", 10), ("deposit", 13), ("withdraw", 16), ("close", 19), ("rename", 22), ("freeze", 25)]
    {
        let answer = indexed.search(&format!("{name} type:method"), json!({})).await;
        let found: Vec<String> = hits(&answer).iter().map(describe).collect();
        assert_eq!(found, [format!("account.py:{line} method Account.{name}")], "{answer:#}");
    }
    // The hit of a filter names the definition that passed.
    for (filter, name) in [
        ("async:true", "Account.deposit"),
        ("throws:Overdrawn", "Account.withdraw"),
        ("decorator:property", "Account.balance"),
        ("signature:\"def freeze\"", "Account.freeze"),
        ("param:cents async:true", "Account.deposit"),
        ("calls:clear", "Account.close"),
    ] {
        let answer = indexed.search(filter, json!({})).await;
        assert_eq!(hits(&answer)[0]["name"], *name, "{filter}: {answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_one_of_a_hundred_definitions_in_a_chunk_is_found() {
    // All definitions are in one chunk.
    let many: Vec<String> = (0..100).map(|at| format!("c{at}=0")).collect();
    let indexed = index_files("many", &[("codes.js", &format!("var {};\n", many.join(",\n")))]).await;
    for at in 0..100 {
        let answer = indexed.search(&format!("c{at}"), json!({})).await;
        assert_eq!(
            (answer["total"].as_u64(), describe(&hits(&answer)[0])),
            (Some(1), format!("codes.js:{} variable c{at}", at + 1))
        );
    }
}

async fn raw(indexed: &IndexedProject) -> (PgConnection, String) {
    let schema = ProjectId::parse(&indexed.project).unwrap().schema_name();
    (PgConnection::connect_with(&harness::server().connect_options()).await.unwrap(), schema)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_has_the_location_and_visibility_of_a_definition() {
    let ts = "export function offered(a: number) {\n  return a\n}\n\nfunction kept() {}\n\nexport default class Box {\n  private seal() {}\n  open() {}\n}\n";
    let rs = "pub struct Parcel;\n\nimpl Parcel {\n    pub(crate) fn weigh(&self) {}\n    fn hide(&self) {}\n}\n\nfn helper() {}\n";
    let indexed = index_files("row-values", &[("a.ts", ts), ("b.rs", rs)]).await;
    let (mut raw, schema) = raw(&indexed).await;
    let text = format!(
        "SELECT f.path || ' ' || d.qualified || ' ' || d.kind || ' ' || d.line || ':' || d.name_column || ' ' || d.start_line || '-' || d.end_line \
         || ' ' || coalesce(d.exported::text, 'unknown') FROM {schema}.definitions d JOIN {schema}.files f ON f.id = d.file_id ORDER BY f.path, d.line"
    );
    let rows: Vec<(String,)> = sqlx::query_as(sqlx::AssertSqlSafe(text)).fetch_all(&mut raw).await.unwrap();
    let rows: Vec<&str> = rows.iter().map(|(row,)| row.as_str()).collect();
    assert_eq!(
        rows,
        [
            "a.ts offered function 1:17 1-3 true",
            "a.ts kept function 5:10 5-5 false",
            "a.ts Box class 7:22 7-10 true",
            "a.ts Box.seal method 8:11 8-8 false",
            "a.ts Box.open method 9:3 9-9 true",
            "b.rs Parcel struct 1:12 1-1 true",
            "b.rs Parcel impl 3:6 3-6 unknown",
            "b.rs Parcel::weigh method 4:19 4-4 true",
            "b.rs Parcel::hide method 5:8 5-5 false",
            "b.rs helper function 8:4 8-8 false",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_are_added_and_removed_with_their_chunks() {
    let indexed =
        index_files("life", &[("account.py", ACCOUNT), ("other.py", "def other():\n    pass\n")]).await;
    let (mut raw, schema) = raw(&indexed).await;
    let count = format!("SELECT count(*) FROM {schema}.definitions");
    let orphaned = format!(
        "SELECT count(*) FROM {schema}.definitions d WHERE NOT EXISTS (SELECT 1 FROM {schema}.chunks c WHERE c.id = d.chunk_id AND c.file_id = d.file_id)"
    );
    let before = number(&mut raw, &count).await;
    assert!(before >= 9, "{before}");
    indexed.repository.write("account.py", &ACCOUNT.replace("def freeze", "def thaw"));
    index(&indexed.app, &indexed.repository, &indexed.project).await;
    assert_eq!((number(&mut raw, &count).await, number(&mut raw, &orphaned).await), (before, 0));
    let found = indexed.search("signature:\"def freeze\"", json!({})).await;
    assert_eq!(found["total"], 0, "{found:#}");
    assert_eq!(hits(&indexed.search("Account.thaw", json!({})).await)[0]["name"], "Account.thaw");
    indexed.repository.remove("account.py");
    index(&indexed.app, &indexed.repository, &indexed.project).await;
    assert_eq!((number(&mut raw, &count).await, number(&mut raw, &orphaned).await), (1, 0));
    // The report on storage includes the rows.
    let report = result(&indexed.app, "report_artifacts", json!({ "project_id": indexed.project })).await;
    assert!(report.to_string().contains("\"definitions\""), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_without_definition_rows_still_answers() {
    let indexed = index_files("before", super::corpus::FILES).await;
    let (mut raw, schema) = raw(&indexed).await;
    run(&mut raw, &format!("DELETE FROM {schema}.definitions")).await;
    run(&mut raw, &format!("UPDATE {schema}.chunks SET name_line = NULL")).await;
    let answer = indexed.search("Context.json", json!({})).await;
    let hit = hits(&answer).iter().find(|hit| hit["file"] == "src/context.ts").unwrap();
    assert_eq!(hit["line"], hit["startLine"], "{hit:#}");
    assert!(hit["name"].as_str().unwrap().starts_with("Context"), "{hit:#}");
    let cors = hits(&indexed.search("cors", json!({})).await)[0].clone();
    assert_eq!((&cors["file"], &cors["name"]), (&json!("src/middleware/cors.ts"), &json!("cors")));
    // The next run reads the files again, because their facts have an older version.
    run(&mut raw, &format!("UPDATE {schema}.repositories SET facts_version = 1")).await;
    index(&indexed.app, &indexed.repository, &indexed.project).await;
    let answer = indexed.search("Context.json", json!({})).await;
    assert_eq!(describe(&hits(&answer)[0]), "src/context.ts:24 method Context.json");
}
