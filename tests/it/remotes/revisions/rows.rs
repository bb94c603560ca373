//! The cost of revisions: files, chunks and vectors are stored once, however many revisions have them.

use serde_json::json;

use super::{PATTERNS, Shop, TILL, found};

#[tokio::test(flavor = "multi_thread")]
async fn what_revisions_share_is_stored_and_embedded_once() {
    let shop = Shop::new("stored").await;
    let report = shop.index_with(&PATTERNS).await;
    assert_eq!(shop.count("files", "true").await, 7, "four of main, and three that only releases have");
    for (path, rows) in [("shared.py", 1), ("README.md", 1), ("till.py", 2), ("legacy.py", 1)] {
        assert_eq!(shop.count("files", &format!("path = '{path}'")).await, rows, "{path}");
    }
    assert_eq!(shop.count("revisions", "true").await, 3);
    let vectors = shop.count("vectors", "true").await;
    assert_eq!(report["vectorsEmbedded"], vectors, "{report:#}");
    let without = "NOT EXISTS (SELECT FROM {s}.vectors v WHERE v.hash = chunks.content_hash)";
    let without = without.replace("{s}", &crate::upkeep::schema(&shop.project));
    assert_eq!(shop.count("chunks", &without).await, 0, "what only revisions have is embedded too");
    let chunks = shop.count("chunks", "true").await;

    // A tag without new content costs a row.
    shop.repository.tag("v2.0");
    let report = shop.refresh().await;
    assert_eq!((&report["vectorsEmbedded"], &report["filesChanged"]), (&json!(0), &json!(0)), "{report:#}");
    assert_eq!(report["revisions"]["filesChanged"], 0, "{report:#}");
    assert_eq!(report["revisions"]["indexed"].as_array().map(Vec::len), Some(4), "{report:#}");
    assert_eq!((shop.count("files", "true").await, shop.count("chunks", "true").await), (7, chunks));
    assert_eq!(shop.count("vectors", "true").await, vectors);
    assert_eq!(shop.hits("\"only_on_main\" rev:v2.0").await, [found("new.py", &["v2.0"])]);

    // So does a run in which nothing changed.
    let before = super::views(&shop.project).await;
    let report = shop.refresh().await;
    assert_eq!((&report["vectorsEmbedded"], &report["revisions"]["filesChanged"]), (&json!(0), &json!(0)));
    assert_eq!(super::views(&shop.project).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_moved_to_a_revision_keeps_its_vector() {
    let shop = Shop::indexed("moved").await;
    // The branch has the text at two other paths.
    shop.repository.commit_to("release/3.0", &[("cash/till.py", TILL), ("vault.py", TILL)], "Move");
    let report = shop.refresh().await;
    assert_eq!((&report["vectorsEmbedded"], &report["revisions"]["filesChanged"]), (&json!(0), &json!(2)));
    let hits = shop.hits("type:function rev:release/3.0").await;
    assert!(hits.contains(&found("vault.py", &["release/3.0"])), "{hits:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_folder_have_revisions_too() {
    let shop = Shop::new("folder").await;
    let till = ("services/till/till.py", TILL);
    shop.repository
        .commit(&[till, ("services/shop/shop.py", "def open_shop():\n    return 1\n")], "Services");
    let changed = ("services/till/till.py", "def count_by_hand(coins):\n    return coins\n");
    let elsewhere = ("services/shop/shop.py", "def close_shop():\n    return 1\n");
    shop.repository.commit_to("release/4.0", &[changed, elsewhere], "Release");
    let address = format!("{}//services/till", shop.repository.url());
    let report = super::index(&shop.app, &shop.project, &address, Some(&["release/4.0"])).await;
    assert_eq!((&report["files"], &report["revisions"]["files"]), (&json!(1), &json!(1)), "{report:#}");
    assert_eq!(shop.hits("\"count_by_hand\" rev:release/4.0").await, [found("till.py", &["release/4.0"])]);
    assert!(!shop.finds("close_shop", "rev:release/4.0").await, "it is in another folder");
}
