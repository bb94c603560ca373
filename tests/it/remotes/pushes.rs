//! A host reports a push: the repository is fetched and searchable within seconds.

use std::time::Duration;

use contract::config::{Config, Required};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tempfile::TempDir;

use super::{files_with, fill, index};
use crate::git_host::{GitHost, HostedRepository};
use crate::harness::{git, http, project, result};
use crate::serving::TestServer;

const SECRET: &str = "correct horse battery staple";

/// A repository on a host, and a server that knows the secret of the host's messages.
struct Shop {
    host: GitHost,
    repository: HostedRepository,
    server: TestServer,
    /// Has the file with the secret.
    _folder: TempDir,
}

impl Shop {
    /// Starts both; the server with changed settings.
    async fn start(change: impl FnOnce(&mut Config)) -> Self {
        let host = GitHost::start().await;
        let repository = host.repository("acme/shop");
        fill(&repository);
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
        let server = TestServer::start(|config| {
            config.git.webhook_secret_file = Some(secret);
            change(config);
        })
        .await;
        Self { host, repository, server, _folder: folder }
    }
}

fn signature(body: &str) -> String {
    let keyed = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap().chain_update(body.as_bytes());
    let hex: String = keyed.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

/// Sends a message; the status and the answer.
async fn send(server: &TestServer, body: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = http().post(server.url_of("/webhooks/git")).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.body(body.to_owned()).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_is_indexed_at_once() {
    let Shop { host: _host, repository, server, _folder } = Shop::start(|_| {}).await;
    let id = project("pushed");
    index(&server.app, &id, &repository.url()).await;
    repository.commit(&[("new.py", "def after_the_push():\n    return 1\n")], "More");
    let body = json!({ "repository": { "clone_url": repository.url() } }).to_string();
    let (status, answer) = send(&server, &body, &[("x-hub-signature-256", &signature(&body))]).await;
    assert_eq!((status, &answer["result"]["received"]), (200, &json!(true)), "{answer:#}");
    for attempt in 0.. {
        if files_with(&server.app, &id, "after_the_push").await == ["new.py"] {
            break;
        }
        assert!(attempt < 600, "the push was not indexed");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_to_another_branch_is_indexed_too() {
    let Shop { host: _host, repository, server, _folder } = Shop::start(|_| {}).await;
    let id = project("pushed-branch");
    let arguments =
        json!({ "repoPath": repository.url(), "project_id": id, "revisions": ["release/*", "v*"] });
    result(&server.app, "build_index", arguments).await;
    let push = async |reference: &str| {
        let message =
            json!({ "ref": reference, "repository": { "clone_url": repository.url() } }).to_string();
        let (status, _) = send(&server, &message, &[("x-hub-signature-256", &signature(&message))]).await;
        assert_eq!(status, 200);
    };
    let until = async |is_found: bool, revision: &str| {
        let query = format!("\"on_the_branch\" rev:{revision}");
        for attempt in 0.. {
            let arguments = json!({ "query": query, "project_id": id });
            let found = result(&server.app, "search", arguments).await;
            if (found["hits"][0]["file"] == "branch.py") == is_found {
                break;
            }
            assert!(attempt < 600, "{revision}: the push was not indexed");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let commit =
        repository.commit_to("release/1", &[("branch.py", "def on_the_branch():\n    return 1\n")], "Branch");
    push("refs/heads/release/1").await;
    until(true, "release/1").await;
    git(&repository.path(), &["update-ref", "refs/tags/v1", &commit]);
    push("refs/tags/v1").await;
    until(true, "v1").await;
    repository.delete_branch("release/1");
    push("refs/heads/release/1").await;
    until(false, "release/1").await;
    until(true, "v1").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_messages_with_the_secret_have_an_effect() {
    let Shop { host, repository, server, _folder } =
        Shop::start(|config| config.access.required = Required::Always).await;
    let id = project("unsigned");
    index(&server.app, &id, &repository.url()).await;
    host.forget_requests();
    let body = json!({ "url": repository.url() }).to_string();
    let other = signature("something else");
    for headers in [
        vec![],
        vec![("x-hub-signature-256", other.as_str())],
        vec![("x-hub-signature-256", "sha256=")],
        vec![("x-gitlab-token", "guess")],
        vec![("authorization", "Bearer x")],
    ] {
        let (status, answer) = send(&server, &body, &headers).await;
        assert_eq!(status, 401, "{headers:?} {answer:#}");
    }
    // A signed message about something that is not indexed does nothing, and does not say what is.
    let unknown = json!({ "url": format!("{}/other/repository", host.url()) }).to_string();
    let (status, answer) = send(&server, &unknown, &[("x-hub-signature-256", &signature(&unknown))]).await;
    assert_eq!((status, &answer["result"]), (200, &json!({ "received": true })));
    let (status, _) = send(&server, "[", &[("x-hub-signature-256", &signature("["))]).await;
    assert_eq!(status, 400);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(host.requests().len(), 0);
    server.stop().await;

    let closed = TestServer::start(|_| {}).await;
    let (status, answer) = send(&closed, &body, &[("x-gitlab-token", "")]).await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("NOT_FOUND")));
    closed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_repositories_of_one_tenant_do_not_keep_the_push_of_another_waiting() {
    let (slow, fast) = (GitHost::start().await, GitHost::start().await);
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, SECRET).unwrap();
    let server = TestServer::start(|config| {
        config.git.webhook_secret_file = Some(secret);
        config.git.fetch_ms = 120_000;
        config.git.probe_ms = 120_000;
    })
    .await;
    let (theirs, ours) = (project("slow-host"), project("fast-host"));
    let all: Vec<HostedRepository> = (0..5).map(|n| slow.repository(&format!("acme/slow{n}"))).collect();
    for repository in &all {
        fill(repository);
        index(&server.app, &theirs, &repository.url()).await;
    }
    let repository = fast.repository("shop/fast");
    fill(&repository);
    index(&server.app, &ours, &repository.url()).await;
    // From now on this host answers after minutes.
    slow.faults().delay(Duration::from_secs(300));
    slow.forget_requests();
    for repository in &all {
        push(&server, &repository.url()).await;
    }
    for attempt in 0.. {
        if !slow.requests().is_empty() {
            break;
        }
        assert!(attempt < 600, "nothing was fetched from the slow host");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Time for as many of them to start as may.
    tokio::time::sleep(Duration::from_secs(2)).await;
    repository.commit(&[("new.py", "def after_the_push():\n    return 1\n")], "More");
    push(&server, &repository.url()).await;
    let found = async {
        while files_with(&server.app, &ours, "after_the_push").await != ["new.py"] {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), found).await;
    assert!(waited.is_ok(), "the push waited for the slow host of another tenant");
    server.app.shutdown.cancel();
}

/// Notifies the server of a push, as the host of a repository would.
async fn push(server: &TestServer, url: &str) {
    let body = json!({ "url": url }).to_string();
    let (status, answer) = send(server, &body, &[("x-hub-signature-256", &signature(&body))]).await;
    assert_eq!(status, 200, "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_hosts_are_audited() {
    let Shop { host: _host, repository, server, _folder } = Shop::start(|_| {}).await;
    server.app.start_background();
    crate::models::wait_for("the audit table's writer", async || server.app.has_embedder()).await;
    push(&server, &repository.url()).await;
    let (status, _) = send(&server, "{}", &[("x-gitlab-token", "guess")]).await;
    assert_eq!(status, 401);
    let audited = async |principal: &'static str, wanted: String| {
        for _ in 0..200 {
            let mut control = server.app.store().await.unwrap().control_read().await.unwrap();
            let filter = store::audit::AuditFilter {
                principal: Some(principal),
                tool: Some("webhook"),
                ..Default::default()
            };
            let rows = store::audit::list(&mut control, filter, 100).await.unwrap();
            control.commit().await.unwrap();
            if let Some(row) = rows.into_iter().find(|row| row.name == wanted) {
                return row.outcome;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("no message of {wanted} was audited");
    };
    let url = repository.url();
    let pushed = url.strip_suffix(".git").unwrap_or(&url);
    assert_eq!(audited("webhook", format!("{pushed} from 127.0.0.1")).await, "ok");
    assert_eq!(audited("nobody", "a host from 127.0.0.1".to_owned()).await, "UNAUTHORIZED");
    server.stop().await;
}
