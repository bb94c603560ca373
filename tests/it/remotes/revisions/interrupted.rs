//! A process that dies while it indexes revisions: searches see the revisions of the last complete run until all of the new ones are
//! written, and the next run leads to the rows of an undisturbed one.

use serde_json::json;

use super::{PATTERNS, Shop, index, views};
use crate::harness::project;
use crate::kills::{OF_REVISIONS, assert_same_rows, die, failpoints_of, succeed};

/// Changes the host between the first run and the interrupted one.
fn change(shop: &Shop) {
    let again = "def legacy_again(coin):\n    return coin + 1\n";
    shop.repository.commit_to("release/1.0", &[("legacy.py", again)], "Change");
    shop.repository.commit(&[("till.py", "def tally_again(coins):\n    return max(coins)\n")], "Again");
    shop.repository.commit_to(
        "release/3.0",
        &[("third.py", "def only_in_three():\n    return 3\n")],
        "Release",
    );
    shop.repository.delete_branch("release/2.0");
}

/// Returns `true` if searches see all old revisions and nothing of the new ones, `false` if they see all new ones and nothing of the old.
async fn sees_old_state(shop: &Shop) -> bool {
    let old = [
        shop.finds("only_in_one", "rev:release/1.0").await,
        shop.finds("only_in_two", "rev:release/2.0").await,
        !shop.finds("legacy_again", "rev:*").await,
        !shop.finds("only_in_three", "rev:*").await,
    ];
    assert!(old == [true; 4] || old == [false; 4], "a mixture: {old:?}");
    // The tag did not change, although the default branch did.
    assert!(shop.finds("count_drawer", "rev:v1.0").await);
    old[0]
}

/// Checks that two projects have the same rows. A run counts what earlier ones wrote for revisions, so both get one more.
async fn assert_same_state(shop: &Shop, failpoint: &str, interrupted: &str, undisturbed: &str) {
    assert_eq!(views(interrupted).await, views(undisturbed).await, "{failpoint}");
    for id in [interrupted, undisturbed] {
        let report = index(&shop.app, id, &shop.repository.url(), None).await;
        assert_eq!(report["revisions"]["filesChanged"], 0, "{failpoint}: {report:#}");
    }
    assert_same_rows(failpoint, interrupted, undisturbed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_dies_is_completed_and_shows_no_mixture() {
    let mut shop = Shop::new("undisturbed").await;
    let url = shop.repository.url();
    let undisturbed = shop.project.clone();
    let failpoints = failpoints_of(OF_REVISIONS);
    let killed: Vec<String> = failpoints.iter().map(|_| project("killed")).collect();
    for id in killed.iter().chain([&undisturbed]) {
        index(&shop.app, id, &url, Some(&PATTERNS)).await;
    }
    change(&shop);
    index(&shop.app, &undisturbed, &url, None).await;
    assert!(!sees_old_state(&shop).await);
    for (failpoint, id) in failpoints.into_iter().zip(killed) {
        shop.project.clone_from(&id);
        assert!(sees_old_state(&shop).await, "{failpoint}");
        let arguments = ["index", &url, "--project", &id, "--stub-embeddings"];
        die(&arguments, failpoint);
        // Before they are published, none of the written rows are visible; afterwards all of them are.
        assert_eq!(sees_old_state(&shop).await, failpoint == "index.revisions_written", "{failpoint}");
        assert!(shop.finds("tally_again", "").await, "{failpoint}: the default branch is not held up");
        succeed(&arguments);
        assert!(!sees_old_state(&shop).await, "{failpoint}");
        assert_same_state(&shop, failpoint, &id, &undisturbed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_run_that_dies_is_completed() {
    let shop = Shop::indexed("first-run").await;
    let url = shop.repository.url();
    for failpoint in failpoints_of(OF_REVISIONS) {
        let id = project("killed");
        let patterns = ["--revisions", PATTERNS[0], "--revisions", PATTERNS[1]];
        let arguments =
            [["index", &url, "--project", &id].as_slice(), &["--stub-embeddings"], &patterns].concat();
        die(&arguments, failpoint);
        // The patterns are kept, so the next run need not name them.
        succeed(&["index", &url, "--project", &id, "--stub-embeddings"]);
        assert_same_state(&shop, failpoint, &id, &shop.project).await;
    }
}

/// A run that comes before the rest of an interrupted removal has to read the revisions anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_after_an_interrupted_removal_has_all_revisions() {
    let shop = Shop::indexed("removal").await;
    let url = shop.repository.url();
    let arguments = json!({ "repoPath": url, "project_id": shop.project }).to_string();
    die(&["call", "clean_artifacts", "--args", &arguments], "clean.rows_removed");
    succeed(&["index", &url, "--project", &shop.project, "--stub-embeddings"]);
    for (word, conditions) in
        [("only_in_one", "rev:release/1.0"), ("only_in_two", "rev:release/2.0"), ("count_drawer", "rev:v1.0")]
    {
        assert!(shop.finds(word, conditions).await, "{word} {conditions}");
    }
}
