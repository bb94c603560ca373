//! Trees that no work tree can hold: nothing outside of the mirror is touched, and the rest is indexed.

use serde_json::json;

use super::{files_with, index, refusal};
use crate::git_host::{GitHost, TreeEntry};
use crate::harness::{app_with, call, project};

#[tokio::test(flavor = "multi_thread")]
async fn names_that_lead_elsewhere_lead_nowhere() {
    let host = GitHost::start().await;
    let repository = host.repository("evil/names");
    let text = |name: &str| format!("def {name}():\n    return 'hostile'\n");
    repository.commit_tree_with(
        &[
            TreeEntry::file("good.py", text("kept_good")),
            TreeEntry::folder("..", vec![TreeEntry::file("up.py", text("escaped_up"))]),
            TreeEntry::file("../../etc/x.py", text("escaped_slash")),
            TreeEntry::folder(".git", vec![TreeEntry::file("config", "[core]\n")]),
            TreeEntry::file("a\nb.py", text("with_newline")),
            TreeEntry::file(b"\xff\xfe.py".to_vec(), text("not_utf8")),
            TreeEntry::file("same.py", text("first_of_two")),
            TreeEntry::file("same.py", text("second_of_two")),
            TreeEntry::symlink("link.py", "/etc/passwd"),
            TreeEntry::symlink("folder", "/etc"),
            TreeEntry::gitlink("module", "0123456789012345678901234567890123456789"),
        ],
        "Hostile",
    );
    let app = app_with(|_| {});
    let id = project("hostile-names");
    let report = index(&app, &id, &repository.url()).await;
    let mut found = Vec::new();
    for word in [
        "kept_good", "escaped_up", "escaped_slash", "with_newline", "not_utf8", "first_of_two",
        "second_of_two",
    ] {
        found.extend(files_with(&app, &id, word).await);
    }
    found.sort();
    assert_eq!(found, ["a\nb.py", "good.py", "same.py"], "{report:#}");
    for path in ["link.py", "folder/passwd", "../up.py", ".git/config", "module/x"] {
        let answer = call(&app, "show_file", json!({ "path": path, "project_id": id })).await;
        let code = if path.contains("..") { "INVALID_REQUEST" } else { "NOT_FOUND" };
        assert_eq!(answer["error"]["code"], code, "{path}: {answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_few_trees_that_describe_billions_of_files_end_at_the_limit() {
    let host = GitHost::start().await;
    let repository = host.repository("evil/bomb");
    repository.commit_tree_with(&[TreeEntry::file("a.py", "def alone():\n    return 1\n")], "Begin");
    for _ in 0..10 {
        let tree = repository.tree();
        let folders: Vec<_> = (0..10).map(|n| TreeEntry::raw("40000", format!("d{n}"), &tree)).collect();
        repository.commit_tree_with(&folders, "Ten times as many");
    }
    let app = app_with(|config| config.indexing.files_max = 50);
    let report = index(&app, &project("bomb"), &repository.url()).await;
    assert_eq!(report["files"], 50, "{report:#}");
    assert!(report["notes"].to_string().contains("more than 50 files"), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_without_a_file_to_index_is_refused() {
    let host = GitHost::start().await;
    let repository = host.repository("acme/links");
    repository.commit_tree_with(&[TreeEntry::symlink("a", "b")], "Only a link");
    let app = app_with(|_| {});
    assert_eq!(refusal(&app, &project("links"), &repository.url()).await, "INVALID_REQUEST");
}
