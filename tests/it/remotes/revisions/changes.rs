//! Changes on the host: pushes to the default branch and to others, forced ones, new and deleted branches, another default
//! branch. After any history, the rows are those of a project that sees the final state first.

use serde_json::json;

use super::{OTHER_TILL, PATTERNS, SHARED, Shop, TILL, found, index, views};
use crate::harness::{call, project, result};
use crate::kills::{assert_equal, digest};

/// Rows of `till.py`: one for each content.
const TILLS: &str = "path = 'till.py'";

#[tokio::test(flavor = "multi_thread")]
async fn revisions_follow_the_host() {
    let shop = Shop::indexed("followed").await;
    // The default branch changes a file that the tag and a release keep.
    shop.repository.commit(&[("till.py", "def tally_again(coins):\n    return max(coins)\n")], "Again");
    shop.refresh().await;
    assert!(shop.finds("tally_again", "").await && !shop.finds("count_drawer", "").await);
    let kept = [found("till.py", &["release/2.0", "v1.0"])];
    assert_eq!(shop.hits("\"count_drawer\" (rev:release/* OR rev:v1.0)").await, kept);
    assert!(!shop.finds("tally_again", "rev:release/*").await);
    assert_eq!(shop.count("files", TILLS).await, 3);

    // A release is set back to the tag.
    shop.force_push("release/1.0", &shop.first);
    shop.refresh().await;
    assert!(!shop.finds("only_in_one", "rev:*").await && !shop.finds("tally_slowly", "rev:*").await);
    let kept = [found("till.py", &["release/1.0", "release/2.0", "v1.0"])];
    assert_eq!(shop.hits("\"count_drawer\" rev:*").await, kept);
    assert_eq!((shop.count("files", TILLS).await, shop.count("files", "path = 'legacy.py'").await), (2, 0));

    // The other one is deleted: what only it had is gone, and the tag keeps its own.
    shop.repository.delete_branch("release/2.0");
    shop.refresh().await;
    assert!(!shop.finds("only_in_two", "rev:*").await);
    assert_eq!(shop.count("files", "path = 'future.py'").await, 0);
    let arguments = json!({ "query": "coins rev:release/2.0", "project_id": shop.project });
    let answer = call(&shop.app, "search", arguments).await;
    assert!(answer["_meta"]["warnings"].to_string().contains("revision_unknown"), "{answer:#}");
    assert_eq!(shop.hits("\"count_drawer\" rev:v1.0").await, [found("till.py", &["v1.0"])]);

    // The default branch has the old content again, so there is nothing that only revisions have.
    shop.repository.commit(&[("till.py", TILL)], "Revert");
    shop.refresh().await;
    assert_eq!(shop.count("files", TILLS).await, 1);
    assert_eq!(shop.count("files", "true").await, 4);
    assert!(shop.finds("count_drawer", "").await);
    assert_eq!(shop.hits("\"count_drawer\" rev:v1.0").await, [found("till.py", &["v1.0"])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_branch_becomes_the_default_one() {
    let shop = Shop::indexed("switched").await;
    shop.repository.set_default_branch("release/1.0");
    shop.refresh().await;
    assert_eq!(shop.hits("\"only_in_one\"").await, [found("legacy.py", &[])]);
    assert_eq!(shop.hits("\"only_in_one\" rev:release/1.0").await, [found("legacy.py", &[])]);
    assert!(!shop.finds("only_on_main", "rev:*").await, "no pattern matches `main`");
    assert_eq!(shop.hits("\"count_drawer\" rev:v1.0").await, [found("till.py", &["v1.0"])]);
    let status = result(&shop.app, "index_status", json!({ "project_id": shop.project })).await;
    let revisions = status["repositories"][0]["revisions"].as_array().unwrap();
    let names: Vec<&str> = revisions.iter().map(|revision| revision["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["release/2.0", "v1.0"]);
    assert_eq!(status["repositories"][0]["branch"], "release/1.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_keeps_its_commit_is_not_read_again() {
    let shop = Shop::indexed("kept").await;
    shop.repository.commit(&[("more.py", "def one_more():\n    return 1\n")], "More");
    let report = shop.refresh().await;
    assert_eq!(
        (&report["filesChanged"], &report["revisions"]["filesChanged"]),
        (&json!(1), &json!(0)),
        "{report:#}"
    );
    // A full run reads all of them again, with the same result.
    let before = views(&shop.project).await;
    let full = json!({ "repoPath": shop.repository.url(), "project_id": shop.project, "incremental": false });
    let report = result(&shop.app, "build_index", full).await["report"].take();
    assert_eq!(report["vectorsEmbedded"], 0, "{report:#}");
    assert_eq!(views(&shop.project).await, before);
    assert!(shop.finds("only_in_one", "rev:release/1.0").await);
}

/// The tables whose rows depend on the files alone, not on earlier runs.
const COMPARED: [&str; 10] = [
    "files", "chunks", "lexical", "facts", "definitions", "comments", "grams", "symbols", "uses", "revisions",
];

#[tokio::test(flavor = "multi_thread")]
async fn any_history_leads_to_the_same_rows() {
    let shop = Shop::indexed("history").await;
    let repository = &shop.repository;
    // Files that the default branch changes and removes while others keep them.
    repository
        .commit(&[("till.py", "def tally_again(coins):\n    # By hand.\n    return max(coins)\n")], "Again");
    repository.remove(&["shared.py"]);
    shop.refresh().await;
    // Files that branches add, change and share with one another.
    repository.commit_to("release/1.0", &[("legacy.py", OTHER_TILL), ("future.py", SHARED)], "Change");
    repository.commit_to(
        "release/2.0",
        &[("future.py", SHARED), ("user.py", "from till import tally_again\n")],
        "Change",
    );
    repository.commit_to("release/3.0", &[("till.py", OTHER_TILL)], "Release");
    shop.refresh().await;
    repository.delete_branch("release/2.0");
    shop.refresh().await;
    // The default branch takes over what only a release had, and has again what it had before.
    let caller = "from shared import weigh_bullion\n\n\ndef close(bars):\n    return weigh_bullion(bars)\n";
    repository.commit(&[("shared.py", SHARED), ("legacy.py", OTHER_TILL), ("close.py", caller)], "Take over");
    repository.tag("v2.0");
    shop.refresh().await;
    shop.force_push("release/3.0", &shop.release);
    shop.refresh().await;

    let fresh = project("fresh");
    index(&shop.app, &fresh, &repository.url(), Some(&PATTERNS)).await;
    assert_eq!(views(&shop.project).await, views(&fresh).await);
    let compared = |digest: Vec<(String, String)>| -> Vec<(String, String)> {
        digest.into_iter().filter(|(table, _)| COMPARED.contains(&table.as_str())).collect()
    };
    let (ours, theirs) = (compared(digest(&shop.project).await), compared(digest(&fresh).await));
    assert_eq!(ours.len(), COMPARED.len());
    assert_equal("after a history and at once", &ours, &theirs);
    for id in [&shop.project, &fresh] {
        result(&shop.app, "cache_gc", json!({ "project_id": id })).await;
    }
    let vectors = async |id: &str| super::count(id, "vectors", "true").await;
    assert_eq!(vectors(&shop.project).await, vectors(&fresh).await);
}
