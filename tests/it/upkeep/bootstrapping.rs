//! `bootstrap`: each step is reported, each switch takes effect, and a failed step does not stop the others.

use contract::config::Enabled;
use serde_json::{Value, json};
use tenancy::Scope;

use super::call_as;
use crate::harness::{Repository, app_with, error, project, result};

const TOOL: &str = "bootstrap";

/// Arguments that skip every step, overridden by `fields`.
fn skipping_all_but(project: &str, fields: Value) -> Value {
    let mut arguments = json!({
        "project_id": project, "skipInstall": true, "skipDicts": true, "skipTooling": true, "skipArtifacts": true,
        "skipIndex": true,
    });
    for (name, value) in fields.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    arguments
}

fn step<'a>(answer: &'a Value, name: &str) -> &'a Value {
    answer["steps"].as_array().unwrap().iter().find(|step| step["step"] == name).unwrap()
}

fn shop() -> Repository {
    Repository::new(&[
        ("cash.py", "def drawer(coins):\n    return sum(coins)\n"),
        ("shop.py", "def open_shop(hour):\n    return hour >= 9\n"),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn every_switch_has_an_effect() {
    let words = tempfile::tempdir().unwrap();
    let folder = words.path().to_owned();
    let app = app_with(|config| config.dictionaries.dir = Some(folder));
    let (project, shop) = (project("boot"), shop());
    let all_skipped = result(&app, TOOL, skipping_all_but(&project, json!({}))).await;
    let order: Vec<&str> =
        all_skipped["steps"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(order, ["install", "dictionaries", "tooling", "artifacts", "index", "sqlite"]);
    for step in all_skipped["steps"].as_array().unwrap() {
        assert_eq!(
            (&step["state"], &step["reason"], &step["ms"]),
            (&json!("skipped"), &json!("not requested"), &json!(0))
        );
    }
    assert_eq!(all_skipped["complete"], true);
    let absent = error(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(absent["code"], "NO_INDEX", "a call that skips everything creates no project");

    let installed = result(&app, TOOL, skipping_all_but(&project, json!({ "skipInstall": false }))).await;
    assert_eq!(step(&installed, "install")["state"], "present", "{installed:#}");
    let checked = result(&app, TOOL, skipping_all_but(&project, json!({ "skipTooling": false }))).await;
    assert_eq!(step(&checked, "tooling")["state"], "present", "{checked:#}");
    assert!(step(&checked, "tooling")["reason"].as_str().unwrap().contains("pgvector"), "{checked:#}");
    let dictionaries = skipping_all_but(&project, json!({ "skipDicts": false }));
    let downloaded = result(&app, TOOL, dictionaries.clone()).await;
    assert_eq!(
        (&step(&downloaded, "dictionaries")["state"], &step(&downloaded, "dictionaries")["reason"]),
        (&json!("done"), &json!("en"))
    );
    assert!(words.path().join("en.txt").exists());
    assert_eq!(step(&result(&app, TOOL, dictionaries).await, "dictionaries")["state"], "present");

    let index = skipping_all_but(&project, json!({ "skipIndex": false, "repoPath": shop.root() }));
    let indexed = result(&app, TOOL, index.clone()).await;
    assert_eq!(step(&indexed, "index")["state"], "done", "{indexed:#}");
    assert_eq!(step(&indexed, "index")["reason"], "2 files, 2 chunks");
    assert_eq!(indexed["project_id"], project.as_str());
    assert_eq!(step(&result(&app, TOOL, index.clone()).await, "index")["state"], "present");
    let mut full = index;
    full["incremental"] = json!(false);
    let sqlite = skipping_all_but(&project, json!({ "withSqlite": true }));
    let written = result(&app, TOOL, sqlite).await;
    assert_eq!(step(&written, "sqlite")["state"], "done", "{written:#}");
    let file = app.layout.project(&project).join("index.sqlite");
    assert!(file.exists());
    std::fs::create_dir(shop.path().join("ci-artifacts")).unwrap();
    std::fs::copy(&file, shop.path().join("ci-artifacts/index.sqlite")).unwrap();
    let fresh = crate::harness::project("restored");
    let fields = json!({ "skipIndex": false, "skipArtifacts": false, "repoPath": shop.root() });
    let restored = result(&app, TOOL, skipping_all_but(&fresh, fields.clone())).await;
    assert_eq!(step(&restored, "artifacts")["state"], "done", "{restored:#}");
    assert_eq!(step(&restored, "artifacts")["reason"], "2 vectors of 1 files", "{restored:#}");
    let mut without = skipping_all_but(&fresh, fields);
    without["skipArtifacts"] = json!(true);
    assert_eq!(step(&result(&app, TOOL, without).await, "artifacts")["reason"], "not requested");
    assert_eq!(step(&result(&app, TOOL, full).await, "index")["state"], "done", "every file was read again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_step_is_reported_and_the_next_ones_run() {
    let app = app_with(|config| {
        config.assets.model = "no-such-model".into();
        config.dictionaries.enabled = Enabled::Off;
    });
    let (project, shop) = (project("half"), shop());
    let arguments = json!({ "project_id": project, "repoPath": shop.root() });
    let answer = result(&app, TOOL, arguments.clone()).await;
    assert_eq!(answer["complete"], false);
    assert_eq!(step(&answer, "install")["state"], "failed", "{answer:#}");
    assert!(step(&answer, "install")["reason"].as_str().unwrap().contains("no-such-model"), "{answer:#}");
    assert_eq!(step(&answer, "dictionaries")["state"], "skipped");
    assert_eq!(step(&answer, "tooling")["state"], "present");
    assert_eq!(step(&answer, "index")["state"], "done");
    let mut elsewhere = arguments;
    elsewhere["repoPath"] = json!("/no/such/folder");
    elsewhere["skipInstall"] = json!(true);
    let answer = result(&app, TOOL, elsewhere).await;
    assert_eq!((&answer["complete"], &step(&answer, "index")["state"]), (&json!(false), &json!("failed")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_for_one_project_installs_nothing_on_the_machine() {
    let (shop, ours) = (shop(), project("keyed"));
    let root = shop.path().canonicalize().unwrap();
    let app = app_with(|config| config.indexing.project_roots = [(ours.clone(), vec![root])].into());
    let arguments = json!({ "project_id": ours, "repoPath": shop.root() });
    let both = [Scope::Admin, Scope::Index];
    let answer = call_as(&app, &[&ours], &both, TOOL, arguments.clone()).await["result"].take();
    for name in ["install", "dictionaries"] {
        assert_eq!(step(&answer, name)["state"], "skipped", "{answer:#}");
        assert!(step(&answer, name)["reason"].as_str().unwrap().contains("operator"));
    }
    assert_eq!(step(&answer, "index")["state"], "done", "{answer:#}");
    let answer = call_as(&app, &[&ours], &[Scope::Admin], TOOL, arguments).await["result"].take();
    assert!(step(&answer, "index")["reason"].as_str().unwrap().contains("scope `index`"), "{answer:#}");
    let elsewhere = json!({ "project_id": project("foreign"), "repoPath": shop.root() });
    let answer = call_as(&app, &[&ours], &both, TOOL, elsewhere).await;
    assert_eq!(answer["error"]["code"], "FORBIDDEN", "{answer:#}");
    let nowhere = call_as(&app, &[&ours], &both, TOOL, json!({ "project_id": ours })).await["result"].take();
    assert!(step(&nowhere, "index")["reason"].as_str().unwrap().contains("no repository"), "{nowhere:#}");
}
