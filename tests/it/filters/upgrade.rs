//! A project created before facts existed: a search migrates its tables, an index run fills them.

use std::fs;
use std::path::Path;

use contract::ProjectId;
use regex::Regex;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::shop::{IndexedProject, hit_files, index, search_warnings, sorted_hit_files};
use crate::harness::{self, Repository, app, commit_all, project};
use crate::storage::database::{number, run};

/// The tables that migrations after the first one created, and their columns in older tables, as (table, column).
fn later_additions() -> (Vec<String>, Vec<(String, String)>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/project/search");
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

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_an_earlier_version_attributed_get_their_history_at_the_next_run() {
    let (first_app, project) = (app(), project("upgrade-lines"));
    let repository = Repository::new(&[
        ("open.py", "def open_store(path):\n    return read(path)\n"),
        ("close.py", "def close_store(store):\n    store.flush()\n"),
    ]);
    commit_all(repository.path());
    index(&first_app, &repository, &project).await;
    let schema = ProjectId::parse(&project).unwrap().schema_name();
    let mut raw = PgConnection::connect_with(&harness::server().connect_options()).await.unwrap();
    for statement in [
        format!("DROP TABLE {schema}.line_history"),
        format!("UPDATE {schema}.files SET lines_attributed_to = last_commit"),
        format!("UPDATE pairofcleats.projects SET search_version = 12 WHERE id = '{project}'"),
    ] {
        run(&mut raw, &statement).await;
    }
    // A second application, because the first one has cached that the project is up to date.
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let built = harness::result(&app(), "build_index", arguments).await;
    assert_eq!(built["report"]["filesChanged"], 0, "no file is read again: {built:#}");
    for table in ["line_history", "authors"] {
        assert_eq!(number(&mut raw, &format!("SELECT count(*) FROM {schema}.{table}")).await, 2, "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_of_the_whole_project_stand_in_until_each_repository_is_counted() {
    let (first_app, project) = (app(), project("counts"));
    let words = |name: &str| format!("def {name}_store(orders):\n    return orders.{name}()\n");
    let repositories = [("open", "fetch"), ("close", "flush")]
        .map(|(a, b)| Repository::new(&[("a.py", &words(a)), ("b.py", &words(b))]));
    for repository in &repositories {
        index(&first_app, repository, &project).await;
    }
    let schema = ProjectId::parse(&project).unwrap().schema_name();
    let mut raw = PgConnection::connect_with(&harness::server().connect_options()).await.unwrap();
    for statement in [
        format!(
            "CREATE TABLE {schema}.sums AS SELECT term, sum(chunks)::int4 AS chunks FROM {schema}.terms GROUP BY term"
        ),
        format!("DELETE FROM {schema}.terms"),
        format!("ALTER TABLE {schema}.terms DROP COLUMN repository_id"),
        format!("ALTER TABLE {schema}.terms ADD PRIMARY KEY (term)"),
        format!("INSERT INTO {schema}.terms (term, chunks) SELECT term, chunks FROM {schema}.sums"),
        format!("DROP TABLE {schema}.sums"),
        format!(
            "ALTER TABLE {schema}.repositories DROP COLUMN statistics_chunks, DROP COLUMN changed_since_statistics"
        ),
        format!("UPDATE {schema}.index_state SET statistics_chunks = chunks"),
        format!("UPDATE pairofcleats.projects SET search_version = 11 WHERE id = '{project}'"),
    ] {
        run(&mut raw, &statement).await;
    }
    let second_app = app();
    let of = |repository: &Repository| {
        json!({ "query": "fetch the orders", "repoPath": repository.root(),
        "project_id": project, "output": "json" })
    };
    let searched = harness::result(&second_app, "search", of(&repositories[0])).await;
    assert_eq!(hit_files(&searched)[0], "b.py", "{searched:#}");
    let term = |found: &serde_json::Value| {
        let terms = found["explain"]["terms"].as_array().unwrap().clone();
        terms.into_iter().find(|term| term["term"] == "orders").unwrap()["chunks"].clone()
    };
    assert_eq!(term(&searched), 4, "all chunks of the project are counted");
    let shared = format!("SELECT count(*) FROM {schema}.terms WHERE repository_id = 0");
    assert!(number(&mut raw, &shared).await > 0);

    // Nothing changed since, so no file is read again, but the terms of both are counted.
    index(&second_app, &repositories[1], &project).await;
    assert_eq!(number(&mut raw, &shared).await, 0);
    for repository in &repositories {
        let found = harness::result(&second_app, "search", of(repository)).await;
        assert_eq!(term(&found), 2, "{found:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_program_says_that_a_newer_one_wrote_what_it_reads() {
    let (first_app, project) = (app(), project("newer"));
    let repository = Repository::new(&[("open.py", "def open_store(path):\n    return read(path)\n")]);
    index(&first_app, &repository, &project).await;
    let schema = ProjectId::parse(&project).unwrap().schema_name();
    let mut raw = PgConnection::connect_with(&harness::server().connect_options()).await.unwrap();
    let codes = async || {
        // A new application, because one that runs has cached what it knows of the project.
        let app = app();
        let mut all = Vec::new();
        for (tool, arguments) in [
            ("search", json!({ "query": "open_store", "project_id": project })),
            ("search", json!({ "query": "open_store", "project_id": project, "regex": true })),
            ("search_code", json!({ "query": "open_store", "project_id": project })),
            ("navigate", json!({ "symbol": "open_store", "project_id": project })),
        ] {
            let answer = harness::call(&app, tool, arguments.clone()).await;
            let warnings = answer["_meta"]["warnings"].as_array().cloned().unwrap_or_default();
            let newer: Vec<String> = warnings
                .iter()
                .filter(|warning| warning["code"] == "index_newer")
                .map(|warning| warning["message"].as_str().unwrap().to_owned())
                .collect();
            all.push((format!("{tool} {arguments}"), newer));
        }
        all
    };
    let is_said = |said: &[(String, Vec<String>)], count: usize| {
        assert!(said.iter().all(|(_, messages)| messages.len() == count), "{said:#?}");
    };
    is_said(&codes().await, 0);
    run(&mut raw, &format!("UPDATE {schema}.repositories SET terms_version = terms_version + 1")).await;
    is_said(&codes().await, 1);
    run(&mut raw, &format!("UPDATE {schema}.repositories SET terms_version = terms_version - 1")).await;
    is_said(&codes().await, 0);
    let newer = format!("UPDATE pairofcleats.projects SET search_version = 1000 WHERE id = '{project}'");
    run(&mut raw, &newer).await;
    let said = codes().await;
    is_said(&said, 1);
    assert!(said[0].1[0].contains("newer version"), "{said:#?}");
}
