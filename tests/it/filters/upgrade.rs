//! A project created before facts existed: a search migrates its tables, an index run fills them.

use std::fs;
use std::path::Path;

use contract::ProjectId;
use regex::Regex;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::shop::{IndexedProject, hit_files, index, search_warnings, sorted_hit_files};
use crate::harness::{self, Repository, app, project};
use crate::storage::database::{number, run};

/// The tables that migrations after the first one created, and their columns in older tables, as (table, column).
fn later_additions() -> (Vec<String>, Vec<(String, String)>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/store/migrations/project/search");
    let created = Regex::new(r"CREATE TABLE IF NOT EXISTS \{schema\}\.(\w+)").unwrap();
    let altered = Regex::new(r"ALTER TABLE \{schema\}\.(\w+)([^;]*)").unwrap();
    let added = Regex::new(r"ADD COLUMN IF NOT EXISTS (\w+)").unwrap();
    let (mut tables, mut columns) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("0001_init.sql") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        tables.extend(created.captures_iter(&text).map(|one| one[1].to_owned()));
        for change in altered.captures_iter(&text) {
            let names = added.captures_iter(&change[2]).map(|one| one[1].to_owned());
            columns.extend(names.map(|column| (change[1].to_owned(), column)));
        }
    }
    columns.retain(|(table, _)| !tables.contains(table));
    (tables, columns)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_of_the_first_schema_version_is_migrated_and_filled() {
    let (first_app, project) = (app(), project("upgrade"));
    let repository = Repository::new(&[
        (
            "open.rs",
            "/// Opens the store of orders at a path.\npub fn open_store(path: &Path) -> Store {\n    read(path)\n}\n",
        ),
        ("close.py", "def close_store(store):\n    store.flush()\n"),
    ]);
    index(&first_app, &repository, &project).await;
    let schema = ProjectId::parse(&project).unwrap().schema_name();
    let mut raw = PgConnection::connect_with(&harness::server().connect_options()).await.unwrap();
    let (tables, columns) = later_additions();
    assert!(tables.len() >= 6 && columns.len() >= 24, "{tables:?} {columns:?}");
    for table in tables {
        run(&mut raw, &format!("DROP TABLE {schema}.{table}")).await;
    }
    for (table, column) in columns {
        run(&mut raw, &format!("ALTER TABLE {schema}.{table} DROP COLUMN {column}")).await;
    }
    run(&mut raw, &format!("UPDATE pairofcleats.projects SET search_version = 1 WHERE id = '{project}'"))
        .await;

    // A second application, because the first one has cached that the project is up to date.
    let indexed = IndexedProject::new(app(), project, repository);
    let both = json!({ "mode": "both" });
    for query in ["open_store", "open_store lang:rust", "open_store -ext:py", "signature:\"&Path\""] {
        assert_eq!(hit_files(&indexed.search(query, both.clone()).await)[0], "open.rs", "{query}");
    }
    let only = json!({ "mode": "code", "repoPath": indexed.repository.root() });
    let found = indexed.search("store", only).await;
    assert_eq!((sorted_hit_files(&found).len(), &found["vectors"]), (2, &json!("exact")));
    let id = found["hits"][0]["id"].as_i64().unwrap();
    assert_eq!(indexed.search(&format!("chunk:{id}"), json!({})).await["total"], 1);
    let warnings = search_warnings(&indexed, "store calls:flush", json!({})).await;
    assert!(warnings.iter().any(|warning| warning["code"] == "fact_unknown"), "{warnings:#?}");
    let version =
        format!("SELECT search_version::int8 FROM pairofcleats.projects WHERE id = '{}'", indexed.project);
    assert!(number(&mut raw, &version).await > 1);

    index(&indexed.app, &indexed.repository, &indexed.project).await;
    assert_eq!(
        search_warnings(&indexed, "store calls:flush", json!({})).await.len(),
        0,
        "all facts are known now"
    );
    for (query, expected) in
        [("store type:function lang:rust", "open.rs"), ("calls:flush", "close.py"), ("param:path", "open.rs")]
    {
        assert_eq!(sorted_hit_files(&indexed.search(query, json!({})).await), [expected], "{query}");
    }
    let comments = indexed.search("orders", json!({ "mode": "extracted-prose" })).await;
    assert_eq!(hit_files(&comments), ["open.rs"]);
}
