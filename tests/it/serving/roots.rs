//! Indexing roots: a key may index only directories of its project, and learns nothing about others.

use std::collections::BTreeSet;
use std::path::PathBuf;

use contract::ProjectId;
use serde_json::{Value, json};
use tenancy::{self, NewKey, Projects, Scope};

use super::TestServer;
use crate::harness::{Repository, project};

/// Issues a key for one project that may search and index. Returns the secret.
async fn issue_key(server: &TestServer, id: &str, roots: Option<Vec<PathBuf>>) -> String {
    let new = NewKey {
        name: "test".into(),
        projects: Projects::Only(BTreeSet::from([ProjectId::parse(id).unwrap()])),
        scopes: [Scope::Search, Scope::Index].into(),
        calls_per_minute: None,
        roots,
        expires_ms: None,
    };
    let app = &server.app;
    let store = app.store().await.unwrap();
    tenancy::issue_key(store, new, app.clock.now().as_millisecond()).await.unwrap().secret
}

fn canonical(repository: &Repository) -> PathBuf {
    repository.path().canonicalize().unwrap()
}

/// Indexes `path`. Returns `ok`, or the error without the path.
async fn index(server: &TestServer, key: &str, id: &str, path: &str) -> String {
    let arguments = json!({ "repoPath": path, "project_id": id });
    let (_, body) = server.call(Some(key), "build_index", arguments).await;
    outcome_without_path(&body, path)
}

fn outcome_without_path(body: &Value, path: &str) -> String {
    if body["ok"] == true {
        return "ok".to_owned();
    }
    let error = &body["error"];
    format!("{} {} {}", error["code"], error["message"], error["hint"]).replace(path, "PATH")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_indexes_only_directories_of_its_project() {
    let (ours, theirs) = (project("ours"), project("theirs"));
    let shop = Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]);
    let bank = Repository::new(&[("vault.py", "def vault():\n    return 'gold of somebody else'\n")]);
    let roots =
        [(&ours, &shop), (&theirs, &bank)].map(|(id, repository)| (id.clone(), vec![canonical(repository)]));
    let server = TestServer::start(|config| {
        config.access.required = contract::config::Required::Always;
        config.indexing.roots = vec![canonical(&shop), canonical(&bank)];
        config.indexing.project_roots = roots.into();
    })
    .await;
    let (our_key, their_key) =
        (issue_key(&server, &ours, None).await, issue_key(&server, &theirs, None).await);
    assert_eq!(index(&server, &our_key, &ours, &shop.root()).await, "ok");
    assert_eq!(index(&server, &their_key, &theirs, &bank.root()).await, "ok");

    // A link in our own repository gives no more access than a path, and the refusal reveals no more.
    std::os::unix::fs::symlink(bank.path(), shop.path().join("link")).unwrap();
    let absent = format!("{}-absent", bank.root());
    let refused = index(&server, &our_key, &ours, &absent).await;
    assert!(refused.contains("FORBIDDEN") && refused.contains("project_roots"), "{refused}");
    let through_parent =
        format!("{}/../{}", shop.root(), canonical(&bank).file_name().unwrap().to_string_lossy());
    let inside = format!("{}/deeper", bank.root());
    for path in [
        bank.root(),
        inside,
        through_parent,
        format!("{}/link", shop.root()),
        format!("{}/link/deeper", shop.root()),
    ] {
        assert_eq!(index(&server, &our_key, &ours, &path).await, refused, "{path}");
    }
    let (_, found) =
        server.call(Some(&our_key), "search", json!({ "query": "gold vault", "project_id": ours })).await;
    assert!(!found.to_string().contains("vault.py"), "{found:#}");
}

/// When keys name several projects without roots of their own, only the operator may index below `indexing.roots`.
#[tokio::test(flavor = "multi_thread")]
async fn common_roots_are_for_the_operator_once_keys_name_several_projects() {
    let (ours, theirs) = (project("ours"), project("theirs"));
    let shop = Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]);
    let root = canonical(&shop);
    let server = TestServer::start(|config| {
        config.access.required = contract::config::Required::Always;
        config.indexing.roots = vec![root.clone()];
    })
    .await;
    // Other tests issue keys in the same cluster, so several projects are named already.
    let (our_key, _their_key) =
        (issue_key(&server, &ours, None).await, issue_key(&server, &theirs, None).await);
    let refused = index(&server, &our_key, &ours, &shop.root()).await;
    assert!(refused.contains("FORBIDDEN") && refused.contains("project_roots"), "{refused}");
    let arguments = json!({ "repoPath": shop.root(), "project_id": ours });
    let (_, built) = server.call(Some(&issue_operator_key(&server).await), "build_index", arguments).await;
    assert_eq!(built["ok"], true, "{built:#}");
    // The key may read what the operator indexed.
    let arguments = json!({ "path": "cash.py", "project_id": ours });
    let (_, file) = server.call(Some(&our_key), "show_file", arguments).await;
    assert!(file["result"]["text"].as_str().unwrap().contains("notes and coins"), "{file:#}");
}

async fn issue_operator_key(server: &TestServer) -> String {
    let new = NewKey {
        name: "operator".into(),
        projects: Projects::All,
        scopes: Scope::ALL.into(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    let app = &server.app;
    let store = app.store().await.unwrap();
    tenancy::issue_key(store, new, app.clock.now().as_millisecond()).await.unwrap().secret
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_may_have_narrower_roots_and_shortened_roots_apply_at_once() {
    let ours = project("ours");
    let (shop, bank) = (
        Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]),
        Repository::new(&[("vault.py", "def vault():\n    return 'gold'\n")]),
    );
    let both = vec![canonical(&shop), canonical(&bank)];
    let with_roots = |list: Vec<PathBuf>| {
        let (id, list) = (ours.clone(), list);
        move |config: &mut contract::config::Config| {
            config.access.required = contract::config::Required::Always;
            config.indexing.project_roots = [(id, list)].into();
        }
    };
    let server_with_both = TestServer::start(with_roots(both)).await;
    let (project_key, narrow_key) = (
        issue_key(&server_with_both, &ours, None).await,
        issue_key(&server_with_both, &ours, Some(vec![canonical(&shop)])).await,
    );
    assert_eq!(index(&server_with_both, &narrow_key, &ours, &shop.root()).await, "ok");
    let refused = index(&server_with_both, &narrow_key, &ours, &bank.root()).await;
    assert!(refused.contains("FORBIDDEN"), "{refused}");
    assert_eq!(index(&server_with_both, &project_key, &ours, &bank.root()).await, "ok");
    server_with_both.stop().await;

    let server_with_one = TestServer::start(with_roots(vec![canonical(&shop)])).await;
    let (_, file) = server_with_one
        .call(Some(&project_key), "show_file", json!({ "path": "vault.py", "project_id": ours }))
        .await;
    assert_eq!(file["error"]["code"], "FORBIDDEN", "{file:#}");
    let (_, file) = server_with_one
        .call(Some(&project_key), "show_file", json!({ "path": "cash.py", "project_id": ours }))
        .await;
    assert_eq!(file["ok"], true, "{file:#}");
}
