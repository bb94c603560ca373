//! The rows of definitions: complete, found by filters, of one life with their chunks, and dispensable.

use std::fs;
use std::path::Path;

use contract::ProjectId;
use regex::Regex;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::{hits, indexed, read};
use crate::filters::shop::{Shop, index};
use crate::harness::{self, Repository, app, project, result};
use crate::storage::database::{number, run};

/// The functions of a source with their lines, as far as its grammar sees them: not in a macro.
fn functions(source: &str) -> Vec<(String, u64)> {
    let function = Regex::new(r"^\s*(?:pub(?:\([^)]*\))? )?(?:const )?(?:async )?fn (\w+)").unwrap();
    let until_macro = source.split("proptest! {").next().unwrap();
    let lines = until_macro.lines().zip(1..);
    lines.filter_map(|(line, at)| Some((function.captures(line)?[1].to_owned(), at))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_and_method_of_a_real_folder_is_found_by_its_signature() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/engine/src/search");
    let repository = Repository::new(&[]);
    let mut wanted: Vec<(String, String, u64)> = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let (name, text) = (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                fs::read_to_string(&path).unwrap(),
            );
            repository.write(&format!("src/{name}"), &text);
            wanted.extend(
                functions(&text).into_iter().map(|(function, line)| (function, format!("src/{name}"), line)),
            );
        }
    }
    assert!(wanted.len() > 200, "{}", wanted.len());
    let (app, project) = (app(), project("signatures"));
    index(&app, &repository, &project).await;
    let shop = Shop::of(app, project, repository);
    let (mut missed, mut unnamed) = (Vec::new(), Vec::new());
    for (function, file, line) in &wanted {
        let answer = shop.ask(&format!("signature:\"fn {function}\""), json!({})).await;
        let here = |hit: &&Value| {
            let range = hit["startLine"].as_u64().unwrap()..=hit["endLine"].as_u64().unwrap();
            hit["file"] == **file && range.contains(line)
        };
        let Some(hit) = hits(&answer).iter().find(here) else {
            missed.push(format!("{file}:{line} {function}"));
            continue;
        };
        // Several functions of a chunk can have the name, or begin with it.
        let same =
            wanted.iter().filter(|(other, place, _)| place == file && other.starts_with(function)).count();
        if same == 1
            && (!hit["name"].as_str().unwrap().ends_with(function.as_str()) || hit["line"] != json!(line))
        {
            unnamed.push(format!("{file}:{line} {function}: {}", read(hit)));
        }
    }
    assert!(missed.is_empty(), "{} of {} missed: {missed:#?}", missed.len(), wanted.len());
    assert!(unnamed.is_empty(), "{} of {} have another name: {unnamed:#?}", unnamed.len(), wanted.len());
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
async fn methods_are_found_in_a_chunk_that_is_about_their_class() {
    let shop = indexed("methods", &[("account.py", ACCOUNT)]).await;
    let answer = shop.ask("type:class", json!({})).await;
    assert_eq!(hits(&answer).len(), 1, "one chunk holds them all: {answer:#}");
    assert_eq!(read(&hits(&answer)[0]), "account.py:1 class Account");
    for (name, line) in
        [("balance", 10), ("deposit", 13), ("withdraw", 16), ("close", 19), ("rename", 22), ("freeze", 25)]
    {
        let answer = shop.ask(&format!("{name} type:method"), json!({})).await;
        let found: Vec<String> = hits(&answer).iter().map(read).collect();
        assert_eq!(found, [format!("account.py:{line} method Account.{name}")], "{answer:#}");
    }
    // A filter names what it looks for.
    for (filter, name) in [
        ("async:true", "Account.deposit"),
        ("throws:Overdrawn", "Account.withdraw"),
        ("decorator:property", "Account.balance"),
        ("signature:\"def freeze\"", "Account.freeze"),
        ("param:cents async:true", "Account.deposit"),
        ("calls:clear", "Account.close"),
    ] {
        let answer = shop.ask(filter, json!({})).await;
        assert_eq!(hits(&answer)[0]["name"], *name, "{filter}: {answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_bound_hides_a_definition() {
    // All of them stand in one chunk.
    let many: Vec<String> = (0..100).map(|at| format!("c{at}=0")).collect();
    let shop = indexed("many", &[("codes.js", &format!("var {};\n", many.join(",\n")))]).await;
    for at in [0, 63, 64, 65, 99] {
        let answer = shop.ask(&format!("c{at}"), json!({})).await;
        assert_eq!(
            (answer["total"].as_u64(), read(&hits(&answer)[0])),
            (Some(1), format!("codes.js:{} variable c{at}", at + 1))
        );
    }
}

async fn raw(shop: &Shop) -> (PgConnection, String) {
    let schema = ProjectId::parse(&shop.project).unwrap().schema_name();
    (PgConnection::connect_with(&harness::server().connect_options()).await.unwrap(), schema)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_says_where_a_definition_is_and_whether_others_can_use_it() {
    let ts = "export function offered(a: number) {\n  return a\n}\n\nfunction kept() {}\n\nexport default class Box {\n  private seal() {}\n  open() {}\n}\n";
    let rs = "pub struct Parcel;\n\nimpl Parcel {\n    pub(crate) fn weigh(&self) {}\n    fn hide(&self) {}\n}\n\nfn helper() {}\n";
    let shop = indexed("row-values", &[("a.ts", ts), ("b.rs", rs)]).await;
    let (mut raw, schema) = raw(&shop).await;
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
async fn definitions_come_and_go_with_their_chunks() {
    let shop = indexed("life", &[("account.py", ACCOUNT), ("other.py", "def other():\n    pass\n")]).await;
    let (mut raw, schema) = raw(&shop).await;
    let all = format!("SELECT count(*) FROM {schema}.definitions");
    let lost = format!(
        "SELECT count(*) FROM {schema}.definitions d WHERE NOT EXISTS (SELECT 1 FROM {schema}.chunks c WHERE c.id = d.chunk_id AND c.file_id = d.file_id)"
    );
    let before = number(&mut raw, &all).await;
    assert!(before >= 9, "{before}");
    shop.main.write("account.py", &ACCOUNT.replace("def freeze", "def thaw"));
    index(&shop.app, &shop.main, &shop.project).await;
    assert_eq!((number(&mut raw, &all).await, number(&mut raw, &lost).await), (before, 0));
    let found = shop.ask("signature:\"def freeze\"", json!({})).await;
    assert_eq!(found["total"], 0, "{found:#}");
    assert_eq!(hits(&shop.ask("Account.thaw", json!({})).await)[0]["name"], "Account.thaw");
    shop.main.remove("account.py");
    index(&shop.app, &shop.main, &shop.project).await;
    assert_eq!((number(&mut raw, &all).await, number(&mut raw, &lost).await), (1, 0));
    // What the rows take is said with what else the project takes.
    let report = result(&shop.app, "report_artifacts", json!({ "project_id": shop.project })).await;
    assert!(report.to_string().contains("\"definitions\""), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_without_the_rows_answers_as_it_can() {
    let shop = indexed("before", super::corpus::FILES).await;
    let (mut raw, schema) = raw(&shop).await;
    run(&mut raw, &format!("DELETE FROM {schema}.definitions")).await;
    run(&mut raw, &format!("UPDATE {schema}.chunks SET name_line = NULL")).await;
    let answer = shop.ask("Context.json", json!({})).await;
    let hit = hits(&answer).iter().find(|hit| hit["file"] == "src/context.ts").unwrap();
    assert_eq!(hit["line"], hit["startLine"], "{hit:#}");
    assert!(hit["name"].as_str().unwrap().starts_with("Context"), "{hit:#}");
    let cors = hits(&shop.ask("cors", json!({})).await)[0].clone();
    assert_eq!((&cors["file"], &cors["name"]), (&json!("src/middleware/cors.ts"), &json!("cors")));
    // The next run reads the files anew, since their facts are of an earlier version.
    run(&mut raw, &format!("UPDATE {schema}.repositories SET facts_version = 1")).await;
    index(&shop.app, &shop.main, &shop.project).await;
    let answer = shop.ask("Context.json", json!({})).await;
    assert_eq!(read(&hits(&answer)[0]), "src/context.ts:24 method Context.json");
}
