//! Folders of instruction files that the operator has bound to a project.

use std::sync::Arc;
use std::time::Duration;

use contract::config::{Config, InstructionFolder};
use gate::app::App;
use serde_json::{Value, json};

use super::{allow_writes, entry, ids};
use crate::harness::{Repository, app_with, error, project, result};

/// An application in which this folder is bound to this project.
fn app_with_folder(folder: &Repository, project: &str) -> Arc<App> {
    app_with_folder_and(folder, project, allow_writes)
}

fn app_with_folder_and(folder: &Repository, project: &str, set: impl FnOnce(&mut Config)) -> Arc<App> {
    app_with(|config| {
        set(config);
        let bound = InstructionFolder {
            path: folder.path().to_owned(),
            project: Some(project.to_owned()),
            prune: None,
        };
        config.instructions.folders = vec![bound];
    })
}

fn file(id: &str, body: &str) -> String {
    format!(
        "---\nid: {id}\ntitle: Title of {id}\npriority: 10\naudience: all\nrequirement: mandatory\ncategories: []\n---\n\n{body}\n"
    )
}

async fn listed(app: &Arc<App>, project: &str) -> Vec<String> {
    let list = result(app, "instructions_list", json!({ "project_id": project })).await;
    ids(&list["items"]).into_iter().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_folder_is_the_catalog() {
    let folder = Repository::new(&[("README.md", "# Our rules\n"), ("notes.txt", "x")]);
    for at in 0..30 {
        folder.write(&format!("rule-{at:02}.md"), &file(&format!("rule-{at:02}"), "Do it."));
    }
    let project = project("folders-bound");
    let app = app_with_folder(&folder, &project);
    let reload = || result(&app, "instructions_reload", json!({ "project_id": project }));
    let first = reload().await;
    assert_eq!((&first["count"], &first["folder"]["imported"]), (&json!(30), &json!(30)), "{first:#}");

    folder.remove("rule-07.md");
    let second = reload().await;
    assert_eq!(second["folder"]["removed"], json!(["rule-07"]), "{second:#}");
    assert_eq!(reload().await["hash"], second["hash"]);

    // A broken file, a file of another name, a link: nothing is changed.
    folder.write("rule-08.md", &file("rule-08", "Changed."));
    let twice = r#"{"gates": [], "gates": []}"#;
    for (name, text) in [
        ("broken.md", "no front matter"),
        ("other.md", &file("not-other", "x")),
        ("gates.json", "{"),
        ("gates.json", twice),
        ("both.json", r#"{"id": "both", "body": "One.", "body": "Other."}"#),
    ] {
        folder.write(name, text);
        let refused = error(&app, "instructions_reload", json!({ "project_id": project })).await;
        assert_eq!(refused["code"], "INVALID_INPUT", "{name}: {refused:#}");
        assert!(refused["message"].as_str().unwrap().contains(name), "{name}: {refused:#}");
        folder.remove(name);
    }
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("passwd.md")).unwrap();
    let refused = error(&app, "instructions_reload", json!({ "project_id": project })).await;
    assert!(refused["message"].as_str().unwrap().contains("link"), "{refused:#}");
    folder.remove("passwd.md");
    // A pipe does not block.
    let pipe = folder.path().join("pipe.md");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(
        error(&app, "instructions_reload", json!({ "project_id": project })).await["code"],
        "INVALID_INPUT"
    );
    folder.remove("pipe.md");
    let still = result(&app, "instructions_get", json!({ "id": "rule-08", "project_id": project })).await;
    assert_eq!(still["item"]["body"], "Do it.");

    // Most of the files are gone.
    for at in (0..24).filter(|at| *at != 7) {
        folder.remove(&format!("rule-{at:02}.md"));
    }
    let refused = error(&app, "instructions_reload", json!({ "project_id": project })).await;
    assert_eq!(refused["code"], "ILLEGAL_STATE", "{refused:#}");
    assert_eq!(listed(&app, &project).await.len(), 29);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_folder_does_not_empty_the_catalog() {
    let folder = Repository::new(&[("a.md", &file("a", "A")), ("b.md", &file("b", "B"))]);
    let project = project("folders-empty");
    let app = app_with_folder(&folder, &project);
    let arguments = || json!({ "project_id": project });
    folder.remove("b.md");
    folder.remove("a.md");
    assert_eq!(
        result(&app, "instructions_reload", arguments()).await["count"],
        0,
        "there is nothing to lose"
    );
    folder.write("a.md", &file("a", "A"));
    folder.write("b.md", &file("b", "B"));
    assert_eq!(result(&app, "instructions_reload", arguments()).await["count"], 2);
    folder.remove("b.md");
    folder.remove("a.md");
    let refused = error(&app, "instructions_reload", arguments()).await;
    assert_eq!(refused["code"], "ILLEGAL_STATE", "{refused:#}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("has no entries, so its import would remove all 2"), "{message}");
    let empty = json!({ "entries": [], "gates": { "gates": [] }, "mode": "overwrite", "prune": true, "project_id": project });
    let refused = error(&app, "instructions_import", empty.clone()).await;
    assert_eq!(refused["code"], "ILLEGAL_STATE", "{refused:#}");

    // The watcher neither; it imports what is there again.
    app.start_refreshes();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(listed(&app, &project).await, ["a", "b"]);
    folder.write("c.md", &file("c", "C"));
    wait_until_listed(&app, &project, &["c"]).await;
    folder.remove("c.md");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(listed(&app, &project).await, ["c"]);
    app.shutdown.cancel();
    app.wait_stopped().await;

    let mut confirmed = empty;
    confirmed["ifHash"] = result(&app, "instructions_list", arguments()).await["hash"].clone();
    assert_eq!(result(&app, "instructions_import", confirmed).await["removed"], json!(["c"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_folder_is_imported_without_mutation_but_not_by_a_read_only_server() {
    let folder = Repository::new(&[("a.md", &file("a", "A"))]);
    let (followed, untouched) = (project("folders-no-mutation"), project("folders-read-only"));
    let read_only = app_with_folder_and(&folder, &untouched, |config| {
        allow_writes(config);
        config.tools.read_only = true;
    });
    let closed = app_with_folder_and(&folder, &followed, |config| config.instructions.mutation = false);
    read_only.start_refreshes();
    closed.start_refreshes();
    wait_until_listed(&closed, &followed, &["a"]).await;
    let refused = error(&closed, "instructions_reload", json!({ "project_id": followed })).await;
    assert_eq!(refused["code"], "MUTATION_DISABLED", "{refused:#}");
    folder.write("b.md", &file("b", "B"));
    wait_until_listed(&closed, &followed, &["a", "b"]).await;
    let none = error(&read_only, "instructions_list", json!({ "project_id": untouched })).await;
    assert_eq!(none["code"], "NO_INDEX", "the project was not even made: {none:#}");
    for app in [read_only, closed] {
        app.shutdown.cancel();
        app.wait_stopped().await;
    }
}

async fn wait_until_listed(app: &Arc<App>, project: &str, wanted: &[&str]) {
    for _ in 0..400 {
        let open = crate::harness::call(app, "instructions_list", json!({ "project_id": project })).await;
        if open["ok"] == true && ids(&open["result"]["items"]) == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the catalog does not become {wanted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_follows_the_folder() {
    let folder = Repository::new(&[("first.md", &file("first", "First."))]);
    let project = project("folders-watched");
    let app = app_with_folder(&folder, &project);
    app.start_refreshes();
    let wait_for = async |wanted: &[&str]| wait_until_listed(&app, &project, wanted).await;
    wait_for(&["first"]).await;
    folder.write("second.md", &file("second", "Second."));
    wait_for(&["first", "second"]).await;
    folder.remove("first.md");
    wait_for(&["second"]).await;
    app.shutdown.cancel();
    app.wait_stopped().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_outside_of_the_projects_directories_is_refused() {
    let (folder, elsewhere) = (Repository::new(&[("a.md", &file("a", "A"))]), Repository::new(&[]));
    let project = project("folders-outside");
    let app = app_with(|config| {
        allow_writes(config);
        config.indexing.roots = vec![elsewhere.path().to_owned()];
        let bound =
            InstructionFolder { path: folder.path().to_owned(), project: Some(project.clone()), prune: None };
        config.instructions.folders = vec![bound];
    });
    let import = json!({ "entries": [entry("x", "X")], "project_id": project });
    result(&app, "instructions_import", import).await;
    let refused = error(&app, "instructions_reload", json!({ "project_id": project })).await;
    assert_eq!(refused["code"], "FORBIDDEN", "{refused:#}");
    let unbound: Value =
        result(&super::writable_app(), "instructions_reload", json!({ "project_id": project })).await;
    let reported = (&unbound["reloaded"], &unbound["folderBound"], unbound.get("folder"));
    assert_eq!(reported, (&json!(true), &json!(false), None), "{unbound:#}");
}
