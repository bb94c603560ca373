//! Who may have which addresses fetched: hosts outside the lists get no packet.

use std::path::PathBuf;

use contract::config::Required;
use serde_json::{Value, json};
use tenancy::Scope;

use super::fill;
use crate::git_host::GitHost;
use crate::harness::project;
use crate::serving::{TestServer, issue_key_with};

async fn key(server: &TestServer, id: &str, roots: Option<Vec<PathBuf>>) -> String {
    issue_key_with(&server.app, &[id], &[Scope::Search, Scope::Index], |new| new.roots = roots).await.1
}

async fn index(server: &TestServer, key: &str, id: &str, address: &str) -> Value {
    let arguments = json!({ "repoPath": address, "project_id": id });
    server.call(Some(key), "build_index", arguments).await.1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_has_only_the_addresses_of_its_project_fetched() {
    let host = GitHost::start().await;
    let (shop, bank) = (host.repository("shop/code"), host.repository("bank/code"));
    fill(&shop);
    fill(&bank);
    let (ours, theirs) = (project("shop"), project("bank"));
    let prefix = |owner: &str| vec![PathBuf::from(format!("{}/{owner}", host.url()))];
    let server = TestServer::start(|config| {
        config.access.required = Required::Always;
        config.indexing.project_roots =
            [(ours.clone(), prefix("shop")), (theirs.clone(), prefix("bank"))].into();
    })
    .await;
    let our_key = key(&server, &ours, None).await;
    assert_eq!(index(&server, &our_key, &ours, &shop.url()).await["ok"], true);
    host.forget_requests();
    for address in [
        bank.url(),
        format!("{}/shopping/code", host.url()),
        format!("{}/nobody/nothing", host.url()),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "https://github.com/pallets/click".to_owned(),
        "file:///etc".to_owned(),
        "git@127.0.0.1:shop/code".to_owned(),
    ] {
        let refused = index(&server, &our_key, &ours, &address).await;
        assert_eq!(refused["error"]["code"], "FORBIDDEN", "{address}: {refused:#}");
        assert!(
            refused["error"]["message"]
                .as_str()
                .unwrap()
                .ends_with("is not among the allowed directories and addresses.")
        );
    }
    for address in [format!("{}/shop/../bank/code", host.url()), format!("{}/shop/code?x", host.url())] {
        assert_eq!(
            index(&server, &our_key, &ours, &address).await["error"]["code"],
            "INVALID_URL",
            "{address}"
        );
    }
    assert_eq!(host.requests().len(), 0, "no packet leaves for what is not allowed");
    // A key may be limited to less than its project.
    let narrow = key(&server, &ours, Some(prefix("shop/other"))).await;
    assert_eq!(index(&server, &narrow, &ours, &shop.url()).await["error"]["code"], "FORBIDDEN");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_longer_allowed_is_neither_fetched_nor_shown() {
    let host = GitHost::start().await;
    let shop = host.repository("shop/code");
    fill(&shop);
    let id = project("narrowed");
    let roots = |list: Vec<PathBuf>| [(id.clone(), list)].into();
    let allowed = crate::harness::app_with(|config| {
        config.indexing.project_roots = roots(vec![host.url().into()]);
    });
    super::index(&allowed, &id, &shop.url()).await;
    let narrowed = crate::harness::app_with(|config| {
        config.indexing.project_roots = roots(vec!["/srv".into()]);
    });
    host.forget_requests();
    let show = json!({ "path": "src/till.py", "project_id": id });
    let refused = crate::harness::call(&narrowed, "show_file", show).await;
    assert_eq!(refused["error"]["code"], "FORBIDDEN", "{refused:#}");
    assert_eq!(super::refusal(&narrowed, &id, &shop.url()).await, "FORBIDDEN");
    assert_eq!(super::files_with(&narrowed, &id, "count_drawer").await.len(), 2, "it stays searchable");
    assert_eq!(host.requests().len(), 0);
}
