//! A project from before there were facts: a search brings its tables up, an index run fills them.

use contract::ProjectId;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::shop::{Shop, files, index, shown, warnings};
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
async fn a_project_of_the_first_version_is_brought_up_and_filled() {
    let (first, project) = (app(), project("upgrade"));
    let repository = Repository::new(&[
        (
            "open.rs",
            "/// Opens the store of orders at a path.\npub fn open_store(path: &Path) -> Store {\n    read(path)\n}\n",
        ),
        ("close.py", "def close_store(store):\n    store.flush()\n"),
    ]);
    index(&first, &repository, &project).await;
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

    // Another application, since the first one knows that the project was up to date.
    let shop = Shop::of(app(), project, repository);
    let both = json!({ "mode": "both" });
    for query in ["open_store", "open_store lang:rust", "open_store -ext:py", "signature:\"&Path\""] {
        assert_eq!(shown(&shop.ask(query, both.clone()).await)[0], "open.rs", "{query}");
    }
    let only = json!({ "mode": "code", "repoPath": shop.main.root() });
    let found = shop.ask("store", only).await;
    assert_eq!((files(&found).len(), &found["vectors"]), (2, &json!("exact")));
    let id = found["hits"][0]["id"].as_i64().unwrap();
    assert_eq!(shop.ask(&format!("chunk:{id}"), json!({})).await["total"], 1);
    let said = warnings(&shop, "store calls:flush", json!({})).await;
    assert!(said.iter().any(|warning| warning["code"] == "fact_unknown"), "{said:#?}");
    let version =
        format!("SELECT search_version::int8 FROM pairofcleats.projects WHERE id = '{}'", shop.project);
    assert!(number(&mut raw, &version).await > 1);

    index(&shop.app, &shop.main, &shop.project).await;
    assert_eq!(warnings(&shop, "store calls:flush", json!({})).await.len(), 0, "all is read now");
    for (query, expected) in
        [("store type:function lang:rust", "open.rs"), ("calls:flush", "close.py"), ("param:path", "open.rs")]
    {
        assert_eq!(files(&shop.ask(query, json!({})).await), [expected], "{query}");
    }
    let comments = shop.ask("orders", json!({ "mode": "extracted-prose" })).await;
    assert_eq!(shown(&comments), ["open.rs"]);
}
