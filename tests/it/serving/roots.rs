//! Whose directories: a key has indexed only what belongs to its project, and learns of nothing else.

use std::collections::BTreeSet;
use std::path::PathBuf;

use contract::ProjectId;
use serde_json::{Value, json};
use tenancy::{self, NewKey, Projects, Scope};

use super::Served;
use crate::harness::{Repository, project};

/// A key for one project that may search and index.
async fn key(served: &Served, id: &str, roots: Option<Vec<PathBuf>>) -> String {
    let new = NewKey {
        name: "test".into(),
        projects: Projects::These(BTreeSet::from([ProjectId::parse(id).unwrap()])),
        scopes: [Scope::Search, Scope::Index].into(),
        calls_per_minute: None,
        roots,
        expires_ms: None,
    };
    let app = &served.app;
    let store = app.store().await.unwrap();
    tenancy::issue(store, new, app.clock.now().as_millisecond()).await.unwrap().secret
}

fn canonical(repository: &Repository) -> PathBuf {
    repository.path().canonicalize().unwrap()
}

/// What indexing `path` comes to: `ok`, or the code and the message without the path.
async fn index(served: &Served, key: &str, id: &str, path: &str) -> String {
    let arguments = json!({ "repoPath": path, "project_id": id });
    let (_, body) = served.call(Some(key), "build_index", arguments).await;
    told(&body, path)
}

fn told(body: &Value, path: &str) -> String {
    if body["ok"] == true {
        return "ok".to_owned();
    }
    let error = &body["error"];
    format!("{} {} {}", error["code"], error["message"], error["hint"]).replace(path, "PATH")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_indexes_what_belongs_to_its_project_alone() {
    let (ours, theirs) = (project("ours"), project("theirs"));
    let shop = Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]);
    let bank = Repository::new(&[("vault.py", "def vault():\n    return 'gold of somebody else'\n")]);
    let roots = [(&ours, &shop), (&theirs, &bank)].map(|(id, one)| (id.clone(), vec![canonical(one)]));
    let served = Served::start(|config| {
        config.access.required = contract::config::Required::Always;
        config.indexing.roots = vec![canonical(&shop), canonical(&bank)];
        config.indexing.project_roots = roots.into();
    })
    .await;
    let (our_key, their_key) = (key(&served, &ours, None).await, key(&served, &theirs, None).await);
    assert_eq!(index(&served, &our_key, &ours, &shop.root()).await, "ok");
    assert_eq!(index(&served, &their_key, &theirs, &bank.root()).await, "ok");

    // A link in a repository of one's own leads no further than a path does, and says no more.
    std::os::unix::fs::symlink(bank.path(), shop.path().join("link")).unwrap();
    let absent = format!("{}-absent", bank.root());
    let refused = index(&served, &our_key, &ours, &absent).await;
    assert!(refused.contains("FORBIDDEN") && refused.contains("project_roots"), "{refused}");
    let around = format!("{}/../{}", shop.root(), canonical(&bank).file_name().unwrap().to_string_lossy());
    let beneath = format!("{}/deeper", bank.root());
    for path in [
        bank.root(),
        beneath,
        around,
        format!("{}/link", shop.root()),
        format!("{}/link/deeper", shop.root()),
    ] {
        assert_eq!(index(&served, &our_key, &ours, &path).await, refused, "{path}");
    }
    let (_, found) =
        served.call(Some(&our_key), "search", json!({ "query": "gold vault", "project_id": ours })).await;
    assert!(!found.to_string().contains("vault.py"), "{found:#}");
}

/// Where keys name several projects and these have no lists of their own, `indexing.roots` are nobody's.
#[tokio::test(flavor = "multi_thread")]
async fn common_roots_are_for_the_operator_once_keys_name_several_projects() {
    let (ours, theirs) = (project("ours"), project("theirs"));
    let shop = Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]);
    let root = canonical(&shop);
    let served = Served::start(|config| {
        config.access.required = contract::config::Required::Always;
        config.indexing.roots = vec![root.clone()];
    })
    .await;
    // Other tests issue keys in the same cluster, so several projects are named already.
    let (our_key, _their_key) = (key(&served, &ours, None).await, key(&served, &theirs, None).await);
    let refused = index(&served, &our_key, &ours, &shop.root()).await;
    assert!(refused.contains("FORBIDDEN") && refused.contains("project_roots"), "{refused}");
    let arguments = json!({ "repoPath": shop.root(), "project_id": ours });
    let (_, built) = served.call(Some(&operator(&served).await), "build_index", arguments).await;
    assert_eq!(built["ok"], true, "{built:#}");
    // What the operator had indexed for it is the key's to read.
    let shown = json!({ "path": "cash.py", "project_id": ours });
    let (_, shown) = served.call(Some(&our_key), "show_file", shown).await;
    assert!(shown["result"]["text"].as_str().unwrap().contains("notes and coins"), "{shown:#}");
}

async fn operator(served: &Served) -> String {
    let new = NewKey {
        name: "operator".into(),
        projects: Projects::All,
        scopes: Scope::ALL.into(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    let app = &served.app;
    let store = app.store().await.unwrap();
    tenancy::issue(store, new, app.clock.now().as_millisecond()).await.unwrap().secret
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_may_be_narrowed_further_and_a_list_made_shorter_counts_at_once() {
    let ours = project("ours");
    let (shop, bank) = (
        Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]),
        Repository::new(&[("vault.py", "def vault():\n    return 'gold'\n")]),
    );
    let both = vec![canonical(&shop), canonical(&bank)];
    let with = |list: Vec<PathBuf>| {
        let (id, list) = (ours.clone(), list);
        move |config: &mut contract::config::Config| {
            config.access.required = contract::config::Required::Always;
            config.indexing.project_roots = [(id, list)].into();
        }
    };
    let wide = Served::start(with(both)).await;
    let (whole, narrow) =
        (key(&wide, &ours, None).await, key(&wide, &ours, Some(vec![canonical(&shop)])).await);
    assert_eq!(index(&wide, &narrow, &ours, &shop.root()).await, "ok");
    let refused = index(&wide, &narrow, &ours, &bank.root()).await;
    assert!(refused.contains("FORBIDDEN"), "{refused}");
    assert_eq!(index(&wide, &whole, &ours, &bank.root()).await, "ok");
    wide.stop().await;

    let shorter = Served::start(with(vec![canonical(&shop)])).await;
    let (_, shown) =
        shorter.call(Some(&whole), "show_file", json!({ "path": "vault.py", "project_id": ours })).await;
    assert_eq!(shown["error"]["code"], "FORBIDDEN", "{shown:#}");
    let (_, shown) =
        shorter.call(Some(&whole), "show_file", json!({ "path": "cash.py", "project_id": ours })).await;
    assert_eq!(shown["ok"], true, "{shown:#}");
}
