//! Indexing an address gives the same result as indexing a clone; later runs read only what changed.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{files_with, fill, index};
use crate::git_host::{BareRepository, GitHost};
use crate::harness::{app_with, git, project, result, run_json};
use crate::kills::digest;

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_indexed_like_its_checkout() {
    let host = GitHost::start().await;
    let repository = host.repository("acme/shop");
    fill(&repository);
    let app = app_with(|_| {});
    let (ours, theirs) = (project("fetched"), project("cloned"));
    let report = index(&app, &ours, &repository.url()).await;
    assert_eq!(report["repository"], "shop");
    // Tracked files are indexed, even if `.gitignore` names them.
    assert_eq!(report["filesChanged"], 5, "{report:#}");

    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["clone", "--quiet", &repository.url(), "shop"]);
    let clone = folder.path().join("shop");
    let cloned = index(&app, &theirs, clone.to_str().unwrap()).await;
    for field in ["files", "chunks", "filesChanged", "factsMissing", "skipped"] {
        assert_eq!(report[field], cloned[field], "{field}");
    }
    // The rows of texts, words and authors are the same; times of files are not.
    let (fetched, checked_out) = (digest(&ours).await, digest(&theirs).await);
    for table in ["chunks", "lexical", "facts", "vectors", "names", "grams"] {
        let rows = |digest: &[(String, String)]| {
            digest.iter().find(|(name, _)| name == table).map(|(_, text)| text.clone()).expect(table)
        };
        assert_eq!(rows(&fetched), rows(&checked_out), "{table}");
    }
    for word in ["count_drawer", "drawer at night"] {
        assert_eq!(files_with(&app, &ours, word).await, files_with(&app, &theirs, word).await, "{word}");
    }
    let uses = json!({ "relation": "callers", "symbol": "count_drawer", "project_id": ours });
    let uses = result(&app, "navigate", uses).await;
    assert_eq!(uses["files"][0]["file"], "src/shop.py", "{uses:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn later_runs_read_what_changed_and_follow_the_branch() {
    let host = GitHost::start().await;
    let repository = host.repository("acme/shop");
    let first = fill(&repository);
    let app = app_with(|_| {});
    let id = project("followed");
    index(&app, &id, &repository.url()).await;
    let unchanged = index(&app, &id, &repository.url()).await;
    assert_eq!((&unchanged["filesChanged"], &unchanged["filesUnchanged"]), (&json!(0), &json!(5)));

    repository.commit(&[("src/till.py", "def weigh_drawer(coins):\n    return len(coins)\n")], "Weigh");
    repository.remove(&["README.md"]);
    let changed = index(&app, &id, &repository.url()).await;
    assert_eq!((&changed["filesChanged"], &changed["filesRemoved"]), (&json!(1), &json!(1)), "{changed:#}");
    assert_eq!(files_with(&app, &id, "weigh_drawer").await, ["src/till.py"]);
    assert_eq!(files_with(&app, &id, "drawer at night").await, [""; 0]);

    // A branch that was set back, then another default branch.
    repository.force_push_to(&first);
    index(&app, &id, &repository.url()).await;
    assert_eq!(files_with(&app, &id, "drawer at night").await, ["README.md"]);
    repository.commit_to("trunk", &[("src/trunk.py", "def on_the_trunk():\n    return 1\n")], "Trunk");
    repository.set_default_branch("trunk");
    index(&app, &id, &repository.url()).await;
    assert_eq!(files_with(&app, &id, "on_the_trunk").await, ["src/trunk.py"]);
    let status = result(&app, "index_status", json!({ "project_id": id })).await;
    assert_eq!(status["repositories"][0]["branch"], "trunk", "{status:#}");
    assert_eq!(status["repositories"][0]["commit"], repository.head(), "{status:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_shown_as_they_were_indexed() {
    let host = GitHost::start().await;
    let repository = host.repository("acme/shop");
    fill(&repository);
    let app = app_with(|_| {});
    let id = project("shown");
    index(&app, &id, &repository.url()).await;
    let show = json!({ "path": "src/till.py", "project_id": id });
    let before = result(&app, "show_file", show.clone()).await;
    assert!(before.to_string().contains("return sum(coins)"), "{before:#}");
    // Newer content of the host is not shown with the lines of the indexed content.
    repository.commit(&[("src/till.py", "# changed\n")], "Change");
    assert_eq!(result(&app, "show_file", show.clone()).await, before);
    assert_ne!(before["changedSinceIndexed"], true);
    // Without its mirror the text comes from the index.
    let address = contract::RepositoryAddress::parse(&repository.url()).unwrap().unwrap();
    std::fs::remove_dir_all(app.mirrors().git_dir(&address)).unwrap();
    let without = result(&app, "show_file", show).await;
    assert!(without.to_string().contains("return sum(coins)"), "{without:#}");
    // The next run fetches it again.
    index(&app, &id, &repository.url()).await;
    assert_eq!(files_with(&app, &id, "count_drawer").await, ["src/shop.py"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn authors_come_from_the_mirror() {
    let host = GitHost::start().await;
    let repository = host.repository("acme/shop");
    fill(&repository);
    let app = app_with(|_| {});
    let id = project("authors");
    let report = index(&app, &id, &repository.url()).await;
    assert!(!report["notes"].to_string().contains("history"), "{report:#}");
    let resources = json!({ "query": "count_drawer", "project_id": id, "output": "full" });
    let found = result(&app, "search", resources).await;
    assert!(found.to_string().contains("lastAuthor"), "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_repository_has_one_row_whatever_its_spelling() {
    let host = GitHost::start().await;
    let repository = host.repository("acme/shop");
    fill(&repository);
    let url = repository.url();
    let spelled =
        [url.clone(), url.trim_end_matches(".git").to_owned(), format!("{url}/"), "acme/shop".to_owned()];
    let app = app_with(|config| config.git.default_host = Some(host.url().to_owned()));
    let id = project("spelled");
    let mut repositories = Vec::new();
    for address in &spelled {
        repositories.push(index(&app, &id, address).await["repositoryId"].clone());
    }
    repositories.dedup();
    assert_eq!(repositories.len(), 1, "{repositories:?}");
    // By its name it can be searched and indexed as well.
    index(&app, &id, "shop").await;
    let search = json!({ "query": "\"count_drawer\"", "project_id": id, "repoPath": url });
    let found = result(&app, "search", search).await;
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(2), "{found:#}");
}

#[test]
fn the_command_line_takes_an_address_and_a_directory_of_git() {
    let files = [("a.py", "def from_a_directory():\n    return 1\n")];
    let bare = BareRepository::with_name("bare.git", &files);
    let (home, address) = (crate::harness::new_home("by-address"), bare.address());
    let index = ["index", &address, "--stub-embeddings", "--yes"];
    let (status, answer) = run_json(&home, &index);
    assert_eq!(status, 0, "{answer:#}");
    assert_eq!(answer["result"]["report"]["repository"], "bare");
    let (status, answer) = run_json(&home, &["search", "from_a_directory", "--repo", &address]);
    assert_eq!((status, &answer["result"]["hits"][0]["file"]), (0, &Value::from("a.py")), "{answer:#}");
    assert!(mirror_has_no_work_tree(&home.join("mirrors")));
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_of_a_repository_are_repositories_of_their_own() {
    let host = GitHost::start().await;
    let repository = host.repository("acme/monorepo");
    repository.commit(
        &[
            (".pairofcleatsignore", "services/till/generated/\n"),
            ("services/till/generated/made.py", "def made_by_a_tool():\n    return 1\n"),
            ("services/till/till.py", "def count_drawer(coins):\n    return sum(coins)\n"),
            ("services/shop/shop.py", "def open_shop():\n    return 1\n"),
            ("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
        ],
        "Begin",
    );
    let app = app_with(|_| {});
    let id = project("monorepo");
    let till = index(&app, &id, &format!("{}//services/till", repository.url())).await;
    assert_eq!((&till["repository"], &till["files"]), (&json!("till"), &json!(1)), "{till:#}");
    assert_eq!(files_with(&app, &id, "count_drawer").await, ["till.py"]);
    assert_eq!(files_with(&app, &id, "open_shop").await, [""; 0]);
    assert_eq!(files_with(&app, &id, "made_by_a_tool").await, [""; 0], "the rules of the folders above hold");
    let found = json!({ "query": "count_drawer", "project_id": id, "output": "full" });
    assert!(
        result(&app, "search", found).await.to_string().contains("lastAuthor"),
        "authors of the folder's files"
    );
    let shop = index(&app, &id, &format!("{}//services/shop", repository.url())).await;
    assert_eq!(shop["repository"], "shop");
    assert_eq!(
        std::fs::read_dir(app.layout.mirrors())
            .unwrap()
            .filter(|entry| {
                let address = std::fs::read_to_string(entry.as_ref().unwrap().path().join("pairofcleats"));
                address.is_ok_and(|text| text.contains(&host.url()[7..]))
            })
            .count(),
        1,
        "they share one mirror"
    );
    let whole = index(&app, &id, &repository.url()).await;
    assert_eq!(whole["skipped"][0]["reason"], "lfs_pointer", "{whole:#}");
    let missing = json!({ "repoPath": format!("{}//no/such", repository.url()), "project_id": id });
    assert_eq!(crate::harness::error(&app, "build_index", missing).await["code"], "NOT_FOUND");
}

/// Checks whether the folder of mirrors contains nothing but bare repositories and locks.
fn mirror_has_no_work_tree(mirrors: &Path) -> bool {
    let output = Command::new("find").arg(mirrors).args(["-name", "*.py"]).output().unwrap();
    mirrors.is_dir() && output.stdout.is_empty()
}
