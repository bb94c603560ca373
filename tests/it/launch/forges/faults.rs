//! Forges that fail, are slow, or answer something else: each call is bounded, each error has its code, and nothing is published twice.

use std::sync::atomic::{AtomicBool, Ordering};

use contract::config::ForgeKind;
use serde_json::json;

use super::fake::{FakeForge, Recorded, Trouble};
use super::{ForgeScene, KINDS, code};

/// An answer with this status, and what a forge says with it.
fn status(status: u16) -> Trouble {
    Trouble::Answer(status, Vec::new(), json!({ "message": "It is not possible." }).to_string())
}

/// An answer that says when to call again.
fn limited(seconds: u32) -> Trouble {
    Trouble::Answer(429, vec![("retry-after", seconds.to_string())], "{}".to_owned())
}

/// A predicate: `true` if a call is a certain step.
type Step = fn(&Recorded) -> bool;

/// The call that adds the tree.
fn adds_tree(request: &Recorded) -> bool {
    request.posts("/git/trees")
}

/// The call that makes the branch of a commit.
fn makes_branch(request: &Recorded) -> bool {
    request.posts("/git/refs")
}

/// The call that makes the commit.
fn makes_commit(request: &Recorded) -> bool {
    request.posts("/commits")
}

/// The call that opens the pull request.
fn opens_pull(request: &Recorded) -> bool {
    request.posts("/pulls") || request.posts("/merge_requests")
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_final_and_not_tried_again() {
    for kind in KINDS {
        let it = ForgeScene::new(kind).await;
        let (run, branch) = it.ready().await;
        for refusal in [401, 403, 404, 409, 422] {
            it.forge.make_trouble(move |request| makes_commit(request).then(|| status(refusal)));
            let error = it.refused(&run).await;
            assert_eq!(error["details"]["status"], refusal, "{error:#}");
            assert!(error["message"].as_str().unwrap().contains("It is not possible"), "{error:#}");
            assert!(error["hint"].is_string(), "{error:#}");
            let tried = it.forge.take_requests().iter().filter(|request| makes_commit(request)).count();
            assert_eq!(tried, 1, "status {refusal}");
        }
        for wrong in ["", "[]", "{", "{\"sha\": 1, \"id\": 1}", "<html>"] {
            it.forge.make_trouble(move |request| {
                makes_commit(request).then(|| Trouble::Answer(200, Vec::new(), wrong.to_owned()))
            });
            it.refused(&run).await;
        }
        it.forge.make_trouble(|request| makes_commit(request).then_some(Trouble::Flood));
        it.refused(&run).await;
        it.forge.end_trouble();
        assert!(it.forge.branches().is_empty() && it.forge.pulls().is_empty(), "{branch}");
        let opened = it.publish(&run).await;
        it.assert_published_once(&run, &opened);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_fails_for_a_moment_is_asked_again() {
    for kind in KINDS {
        let it = ForgeScene::new(kind).await;
        let (run, _) = it.ready().await;
        it.forge.make_trouble_with_first(1, |_| true, || limited(1));
        let opened = it.publish(&run).await;
        it.assert_published_once(&run, &opened);
        let (run, _) = it.ready().await;
        it.forge.make_trouble_with_first(3, makes_commit, || status(500));
        let opened = it.publish(&run).await;
        it.assert_published_once(&run, &opened);
        let tried = it.forge.take_requests().iter().filter(|request| makes_commit(request)).count();
        assert_eq!(tried, 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_keeps_failing_may_be_called_later() {
    let it = ForgeScene::new(ForgeKind::Github).await;
    let (run, _) = it.ready().await;
    it.forge.make_trouble(|request| request.posts("/git/blobs").then(|| status(500)));
    let error = it.scene.error("launch_open_pr", &run).await;
    assert_eq!((code(&error), &error["retryable"]), ("COMMIT_SERVICE_ERROR", &json!(true)), "{error:#}");
    let tried = it.forge.take_requests().iter().filter(|request| request.posts("/git/blobs")).count();
    assert_eq!(tried, 4, "once, and three times again");
    // A wait that is too long is reported instead of waited for.
    it.forge.make_trouble(|request| request.posts("/git/blobs").then(|| limited(3600)));
    let error = it.scene.error("launch_open_pr", &run).await;
    assert_eq!(
        (code(&error), &error["retryable"], &error["details"]["retryAfterMs"]),
        ("COMMIT_SERVICE_ERROR", &json!(true), &json!(3_600_000)),
        "{error:#}"
    );
    let tried = it.forge.take_requests().iter().filter(|request| request.posts("/git/blobs")).count();
    assert_eq!(tried, 1);
    assert_eq!(it.scene.status(&run).await["state"], "READY_FOR_PR", "the run waits for another call");
    // A run that is no longer published can be cancelled.
    it.scene.result("launch_cancel", &run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_does_not_answer_in_time_is_given_up() {
    let it = ForgeScene::with(ForgeKind::Github, |config| config.launch.forge_ms = 1500).await;
    let (run, _) = it.ready().await;
    let troubles: [fn() -> Trouble; 2] = [|| Trouble::Silent, || Trouble::Trickle];
    for make in troubles {
        it.forge.make_trouble(move |_| Some(make()));
        let error = it.scene.error("launch_open_pr", &run).await;
        assert_eq!((code(&error), &error["retryable"]), ("COMMIT_SERVICE_ERROR", &json!(true)), "{error:#}");
        assert_eq!(it.forge.take_requests().len(), 4, "once, and three times again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_before_the_answer_was_lost_is_not_done_again() {
    let (tree, commit, branch, pull): (Step, Step, Step, Step) =
        (adds_tree, makes_commit, makes_branch, opens_pull);
    let of_kind =
        [(ForgeKind::Github, vec![tree, commit, branch, pull]), (ForgeKind::Gitlab, vec![commit, pull])];
    for (kind, steps) in of_kind {
        let it = ForgeScene::new(kind).await;
        for (number, step) in steps.into_iter().enumerate() {
            let (run, _) = it.ready().await;
            it.forge.make_trouble_with_first(1, step, || Trouble::Lost);
            let opened = it.publish(&run).await;
            it.assert_published_once(&run, &opened);
            let acted = it.forge.take_requests().iter().filter(|request| opens_pull(request)).count();
            assert_eq!(acted, 1, "step {number}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_was_merged_before_its_answer_arrived_is_found() {
    for kind in KINDS {
        let it = ForgeScene::new(kind).await;
        let (run, branch) = it.ready().await;
        // It is opened, but no answer says so.
        let opened = AtomicBool::new(false);
        it.forge.make_trouble(move |request| {
            if opens_pull(request) {
                opened.store(true, Ordering::Relaxed);
                return Some(Trouble::Lost);
            }
            opened.load(Ordering::Relaxed).then(|| limited(3600))
        });
        let error = it.scene.error("launch_open_pr", &run).await;
        assert_eq!((code(&error), &error["retryable"]), ("COMMIT_SERVICE_ERROR", &json!(true)), "{error:#}");
        it.forge.end_trouble();
        assert_eq!(it.forge.pulls().len(), 1);
        // People merge it and delete its branch.
        let commit = it.forge.git(&["rev-parse", &branch]).trim().to_owned();
        it.forge.git(&["update-ref", "refs/heads/main", &commit]);
        it.forge.git(&["branch", "--delete", "--force", &branch]);
        let published = it.publish(&run).await;
        assert_eq!(
            (&published["state"], &published["commit_sha"], &published["pr_number"]),
            (&json!("DONE"), &json!(commit), &json!(1)),
            "{published:#}"
        );
        assert!(it.forge.branches().is_empty() && it.forge.pulls().len() == 1, "nothing is published again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_of_a_fork_is_not_that_of_the_run() {
    for kind in KINDS {
        let it = ForgeScene::new(kind).await;
        let (run, branch) = it.ready().await;
        it.forge.open_pull_of_fork(&branch);
        let opened = it.publish(&run).await;
        assert_eq!(
            (&opened["pr_number"], &opened["pr_url"]),
            (&json!(2), &json!(it.forge.page(2))),
            "{opened:#}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redirections_are_followed_only_to_listed_hosts_and_without_the_token() {
    let other = FakeForge::start(ForgeKind::Github).await;
    let host = other.url().trim_start_matches("http://").to_owned();
    let mut asked_other = Vec::new();
    for redirect_hosts in [vec![], vec!["127.0.0.1".to_owned(), "example.com".to_owned()], vec![host]] {
        let it = ForgeScene::with(ForgeKind::Github, move |config| {
            config.launch.forges[0].redirect_hosts = redirect_hosts;
        })
        .await;
        let (run, _) = it.ready().await;
        let target = other.url().to_owned();
        it.forge.make_trouble(move |request| {
            let location = format!("{target}{}", request.target);
            Some(Trouble::Answer(307, vec![("location", location)], String::new()))
        });
        it.refused(&run).await;
        let asked = other.take_requests();
        asked_other.push(asked.len());
        for request in asked {
            assert_eq!(
                (request.method.as_str(), request.header("authorization")),
                ("GET", None),
                "{request:?}"
            );
        }
        // A request that changes something is not sent elsewhere, not even to a listed host.
        let target = other.url().to_owned();
        it.forge.make_trouble(move |request| {
            let location = format!("{target}{}", request.target);
            (request.method == "POST")
                .then(|| Trouble::Answer(307, vec![("location", location)], String::new()))
        });
        it.refused(&run).await;
        assert!(other.take_requests().is_empty());
    }
    assert_eq!(asked_other, [0, 0, 1], "no host is listed, others are, its own is");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_makes_something_else_of_the_files_is_noticed() {
    let it = ForgeScene::new(ForgeKind::Github).await;
    let (run, _) = it.ready().await;
    for path in ["/git/blobs", "/git/trees"] {
        it.forge.make_trouble(move |request| {
            let other = json!({ "sha": "0123456789012345678901234567890123456789" });
            request.posts(path).then(|| Trouble::Answer(201, Vec::new(), other.to_string()))
        });
        let error = it.refused(&run).await;
        assert!(error["message"].as_str().unwrap().contains("another"), "{error:#}");
    }
    assert!(it.forge.branches().is_empty(), "nothing is published");
}
