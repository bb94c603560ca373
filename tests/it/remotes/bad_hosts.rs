//! Hosts that refuse, redirect, break off, or are not there: clear answers, and what was indexed stays.

use std::time::Duration;

use serde_json::json;

use super::{files_with, fill, index, refusal};
use crate::git_host::GitHost;
use crate::harness::{app_with, call, project, result};

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_fails_changes_nothing_of_what_is_indexed() {
    let host = GitHost::start().await;
    let repository = host.repository("acme/shop");
    fill(&repository);
    let app = app_with(|config| config.git.probe_ms = 5000);
    let id = project("failing");
    index(&app, &id, &repository.url()).await;
    repository.commit(&[("new.py", "def brand_new():\n    return 1\n")], "More");
    let faults = repository.faults();
    let check = async |what: &str, code: &str| {
        assert_eq!(refusal(&app, &id, &repository.url()).await, code, "{what}");
        assert_eq!(files_with(&app, &id, "count_drawer").await, ["src/shop.py", "src/till.py"], "{what}");
        faults.clear();
    };
    faults.answer_with(404);
    check("it is gone", "REPO_NOT_FOUND").await;
    faults.answer_with(503);
    check("the host is down", "COMMIT_SERVICE_ERROR").await;
    faults.answer_with(403);
    check("it is forbidden", "FORBIDDEN").await;
    faults.require_credentials("ann", "secret");
    check("it wants credentials", "FORBIDDEN").await;
    faults.garbage();
    check("the answer is not git's", "COMMIT_SERVICE_ERROR").await;
    faults.delay(Duration::from_secs(20));
    check("it does not answer", "TOOL_TIMEOUT").await;
    faults.cut_after(20);
    check("the connection breaks in the middle", "COMMIT_SERVICE_ERROR").await;
    faults.redirect_to("http://127.0.0.1:1/elsewhere");
    check("it redirects", "REPO_NOT_FOUND").await;
    // And then all is well again.
    index(&app, &id, &repository.url()).await;
    assert_eq!(files_with(&app, &id, "brand_new").await, ["new.py"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirection_is_not_followed_anywhere() {
    let (host, other) = (GitHost::start().await, GitHost::start().await);
    let (repository, elsewhere) = (host.repository("acme/shop"), other.repository("acme/shop"));
    fill(&repository);
    fill(&elsewhere);
    repository.faults().redirect_to(&elsewhere.url());
    let app = app_with(|_| {});
    assert_eq!(refusal(&app, &project("redirected"), &repository.url()).await, "REPO_NOT_FOUND");
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_fetched_leaves_no_project() {
    let host = GitHost::start().await;
    let empty = host.repository("acme/empty");
    let app = app_with(|_| {});
    for (address, code) in [
        (empty.url(), "INVALID_REQUEST"),
        (format!("{}/no/such", host.url()), "REPO_NOT_FOUND"),
        ("http://127.0.0.1:1/a/b".to_owned(), "COMMIT_SERVICE_ERROR"),
        ("https://user:secret@127.0.0.1/a".to_owned(), "INVALID_URL"),
        ("ext::sh -c id://x".to_owned(), "INVALID_URL"),
        ("file:///no/such/repository".to_owned(), "REPO_NOT_FOUND"),
    ] {
        let id = project("nothing");
        assert_eq!(refusal(&app, &id, &address).await, code, "{address}");
        let answer = call(&app, "index_status", json!({ "project_id": id })).await;
        assert_eq!(answer["error"]["code"], "NO_INDEX", "{answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_used_and_appear_nowhere() {
    let host = GitHost::start().await;
    let repository = host.repository("acme/private");
    fill(&repository);
    repository.faults().require_credentials("ann", "open-sesame-4711");
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    std::fs::write(&password, "open-sesame-4711\n").unwrap();
    let app = app_with(|config| {
        config.git.credentials = vec![contract::config::GitCredentials {
            url: format!("{}/acme", host.url()),
            username: Some("ann".to_owned()),
            password_file: Some(password.clone()),
            password_env: None,
            helper: None,
            key_file: None,
        }];
    });
    let id = project("private");
    let answer = call(&app, "build_index", json!({ "repoPath": repository.url(), "project_id": id })).await;
    assert_eq!(answer["ok"], true, "{answer:#}");
    // They expire: the answer says so without quoting them.
    std::fs::write(&password, "expired-0815\n").unwrap();
    let refused = call(&app, "build_index", json!({ "repoPath": repository.url(), "project_id": id })).await;
    assert_eq!(refused["error"]["code"], "FORBIDDEN", "{refused:#}");
    let status = result(&app, "index_status", json!({ "project_id": id })).await;
    let address = contract::RepositoryAddress::parse(&repository.url()).unwrap().unwrap();
    let mirror = app.mirrors().git_dir(&address);
    let config = std::fs::read_to_string(mirror.join("config")).unwrap();
    for text in [answer.to_string(), refused.to_string(), status.to_string(), config] {
        for secret in ["open-sesame", "expired-0815", "YW5uOm9wZW4"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    // Another owner on the same host gets none.
    let other = host.repository("evil/shop");
    fill(&other);
    host.forget_requests();
    index(&app, &project("other-owner"), &other.url()).await;
    assert!(host.requests().iter().all(|request| !request.has_authorization), "{:?}", host.requests());
}
