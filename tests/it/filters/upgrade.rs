//! A project created before facts existed: a search migrates its tables, an index run fills them.

use contract::ProjectId;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::shop::{IndexedProject, hit_files, index, search_warnings, sorted_hit_files};
use crate::harness::{self, Repository, app, project};
use crate::storage::database::{number, run};

/// What the second migration added, as (table, columns).
const ADDED_COLUMNS: &[(&str, &[&str])] = &[
    ("repositories", &["facts_version", "rules", "branch", "commit_id"]),
    ("chunks", &["detail", "name_line"]),
    (
        "files",
        &[
            "mode",
            "imports",
            "meta",
            "last_author",
            "last_modified_s",
            "last_commit",
            "churn_added",
            "churn_deleted",
            "churn_commits",
            "lines_attributed_to",
        ],
    ),
];
const ADDED_TABLES: &[&str] = &["facts", "names", "comments", "authors", "flows", "definitions"];

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
    for table in ADDED_TABLES {
        run(&mut raw, &format!("DROP TABLE {schema}.{table}")).await;
    }
    for (table, columns) in ADDED_COLUMNS {
        for column in *columns {
            run(&mut raw, &format!("ALTER TABLE {schema}.{table} DROP COLUMN {column}")).await;
        }
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
