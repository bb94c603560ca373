//! Revisions that are no longer wanted, repositories that are removed, and projects that move: nothing is left behind, and what
//! leaves has the revisions if it can hold them.

use serde_json::json;

use super::{Shop, found, index, search, views};
use crate::harness::{home, project, result, run_json};

#[tokio::test(flavor = "multi_thread")]
async fn without_patterns_only_the_default_branch_is_left() {
    let shop = Shop::indexed("removed").await;
    let report = shop.index_with(&[]).await;
    assert!(report["revisions"].is_null(), "{report:#}");
    for _ in 0..2 {
        assert_eq!((shop.count("files", "true").await, shop.count("revisions", "true").await), (4, 0));
        assert_eq!(shop.count("repositories", "true").await, 1);
        assert_eq!(shop.count("files", "views <> 0").await, 0);
        assert_eq!(shop.hits("\"count_drawer\"").await, [found("till.py", &[])]);
        assert!(!shop.finds("only_in_one", "rev:*").await);
        let status = result(&shop.app, "index_status", json!({ "project_id": shop.project })).await;
        let repository = &status["repositories"][0];
        assert!(repository["revisions"].is_null() && repository["revisionPatterns"].is_null(), "{status:#}");
        // None is what later runs index, too.
        shop.refresh().await;
    }
    // They can be wanted again, also others.
    let report = shop.index_with(&["v*"]).await;
    assert_eq!(report["revisions"]["indexed"][0]["name"], "v1.0", "{report:#}");
    assert_eq!(shop.hits("\"count_drawer\" rev:v1.0").await, [found("till.py", &["v1.0"])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_removed_with_its_revisions() {
    let shop = Shop::indexed("cleaned").await;
    let bank = shop.host.repository("acme/bank");
    bank.commit(&[("vault.py", "def open_vault(code):\n    return code == 7\n")], "Begin");
    index(&shop.app, &shop.project, &bank.url(), None).await;
    let arguments = json!({ "repoPath": shop.repository.url(), "project_id": shop.project });
    result(&shop.app, "clean_artifacts", arguments).await;
    assert_eq!((shop.count("repositories", "true").await, shop.count("revisions", "true").await), (1, 0));
    for table in ["files", "chunks", "lexical", "facts", "definitions", "grams"] {
        let condition = if table == "files" {
            "path <> 'vault.py'".to_owned()
        } else {
            format!("file_id <> (SELECT id FROM {}.files)", crate::upkeep::schema(&shop.project))
        };
        assert_eq!(shop.count(table, &condition).await, 0, "{table}");
    }
    assert!(!shop.finds("only_in_one", "rev:*").await && shop.finds("open_vault", "").await);
    // It can be indexed again.
    assert_eq!(shop.index_with(&["release/*"]).await["revisions"]["files"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_of_a_project_has_the_revisions() {
    let shop = Shop::indexed("exported").await;
    let (copy, folder) = (project("imported"), tempfile::tempdir().unwrap());
    let file = folder.path().join("project.zip");
    let (file, root) = (file.to_str().unwrap(), format!("shop={}", shop.repository.url()));
    let run = |arguments: &[&str]| {
        let (status, answer) = run_json(home(), arguments);
        assert_eq!(status, 0, "{arguments:?}: {answer:#}");
    };
    run(&["projects", "export", &shop.project, file]);
    run(&["projects", "import", file, "--project", &copy, "--root", &root]);
    assert_eq!(views(&copy).await, views(&shop.project).await);
    let one = json!({ "query": "\"only_in_one\" rev:release/1.0" });
    let found_there = search(&shop.app, &copy, one).await;
    assert_eq!(found_there["hits"][0]["commit"], shop.release, "{found_there:#}");
    // A run goes on with them.
    let report = index(&shop.app, &copy, &shop.repository.url(), None).await;
    assert_eq!(report["revisions"]["indexed"].as_array().map(Vec::len), Some(3), "{report:#}");
    assert_eq!((&report["revisions"]["filesChanged"], &report["vectorsEmbedded"]), (&json!(0), &json!(0)));

    // Without an address they are searched and shown as they are.
    let without = project("imported");
    run(&["projects", "import", file, "--project", &without]);
    let shown = json!({ "file": "legacy.py", "revision": "release/1.0", "project_id": without });
    let shown = result(&shop.app, "show_file", shown).await;
    assert!(shown["text"].as_str().unwrap().contains("only_in_one"), "{shown:#}");
    assert_eq!(shown["commit"], shop.release, "{shown:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_portable_file_has_the_default_branch_alone() {
    let shop = Shop::indexed("portable").await;
    result(&shop.app, "build_sqlite_index", json!({ "project_id": shop.project })).await;
    let finds = async |query: &str| {
        let answer = search(&shop.app, &shop.project, json!({ "query": query, "backend": "sqlite" })).await;
        !answer["hits"].as_array().unwrap().is_empty()
    };
    assert!(finds("\"only_on_main\"").await && finds("\"count_drawer\" rev:main").await);
    for query in [
        "\"only_in_one\"",
        "\"only_in_one\" rev:release/1.0",
        "\"tally_slowly\"",
        "type:function path:legacy",
    ] {
        assert!(!finds(query).await, "{query}");
    }
}
