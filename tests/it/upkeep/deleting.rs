//! `projects delete`: nothing is left, nobody else is touched, and a deletion that is cut short is completed.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use contract::{ErrorCode, ProjectId};
use serde_json::{Value, json};
use tenancy::{NewKey, Projects, Scope, issue};
use upkeep::deletion;

use super::{Two, number, run, schema};
use crate::harness::{PROGRAM, app, call, error, home, project, result};

fn delete(id: &str, flags: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["projects", "delete", id, "--json"]).args(flags).env("PAIROFCLEATS_HOME", home());
    command.stdin(Stdio::null()).output().unwrap()
}

fn envelope(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

/// Traces of a project in the database.
async fn traces(id: &str) -> i64 {
    let role = format!("poc\\_%\\_{id}");
    number(&format!(
        "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = '{}') \
         + (SELECT count(*) FROM pg_roles WHERE rolname LIKE '{role}') \
         + (SELECT count(*) FROM pairofcleats.projects WHERE id = '{id}') \
         + (SELECT count(*) FROM pairofcleats.jobs WHERE project_id = '{id}') \
         + (SELECT count(*) FROM pairofcleats.project_modules WHERE project_id = '{id}')",
        schema(id)
    ))
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_project_leaves_nothing_behind() {
    let two = Two::new().await;
    let store = two.app.store().await.unwrap();
    let id = ProjectId::parse(&two.ours).unwrap();
    run(&format!("INSERT INTO pairofcleats.project_modules VALUES ('{id}', 'triage', 1)")).await;
    let new = NewKey {
        name: "test".into(),
        projects: Projects::These([id.clone()].into()),
        scopes: [Scope::Search].into(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    let key = issue(store, new, two.app.clock.now().as_millisecond()).await.unwrap();
    assert_eq!(traces(&two.ours).await, 4 + 4, "schema, role, row, module, and runs");

    let asked = delete(&two.ours, &[]);
    assert_eq!(asked.status.code(), Some(2), "nobody can be asked");
    assert!(envelope(&asked)["error"]["hint"].as_str().unwrap().contains("--yes"));
    let deleted = delete(&two.ours, &["--yes"]);
    let deleted = envelope(&deleted);
    assert_eq!(deleted["ok"], true, "{deleted:#}");
    let told = &deleted["result"];
    assert_eq!(
        (&told["verified"], &told["files"], &told["fileBytes"]),
        (&json!(true), &json!(1), &json!(500))
    );
    assert_eq!(told["keys"], json!([key.id]));
    assert_eq!(traces(&two.ours).await, 0);
    assert!(!two.app.layout.project(&two.ours).exists());
    let gone = json!({ "query": "drawer", "project_id": two.ours });
    assert_eq!(error(&two.app, "search", gone).await["code"], "NO_INDEX");
    let again = envelope(&delete(&two.ours, &["--yes"]));
    assert_eq!(again["error"]["code"], "NO_INDEX", "{again:#}");

    let built = two.result("build_index", json!({ "repoPath": two.shop.root() })).await;
    assert_eq!(built["report"]["files"], 2, "its name is free: {built:#}");
    two.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_waits_for_nobody_unless_it_is_told_to() {
    let two = Two::new().await;
    let lease = async |seconds: u32| {
        run(&format!(
            "INSERT INTO pairofcleats.jobs (id, project_id, kind, subject, state, request, lease_until, fence, worker) \
             VALUES ('{0}', '{0}', 'index', '/somewhere', 'running', '{{}}', now() + interval '{seconds} seconds', 1, 'another') \
             ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until",
            two.ours
        ))
        .await;
    };
    lease(3600).await;
    let refused = envelope(&delete(&two.ours, &["--yes"]));
    assert_eq!(refused["error"]["code"], "ILLEGAL_STATE", "{refused:#}");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("--force"));
    two.result("search", json!({ "query": "drawer" })).await;

    let stuck = envelope(&delete(&two.ours, &["--yes", "--force", "--set", "upkeep.delete_wait_ms=300"]));
    assert_eq!(stuck["error"]["code"], "ILLEGAL_STATE", "{stuck:#}");
    let asked =
        format!("SELECT count(*) FROM pairofcleats.jobs WHERE id = '{}' AND cancel_requested", two.ours);
    assert_eq!(number(&asked).await, 1);
    let hidden = json!({ "query": "drawer", "project_id": two.ours });
    assert_eq!(
        error(&two.app, "search", hidden).await["code"],
        "NO_INDEX",
        "it is hidden from the first step on"
    );
    let writing = json!({ "repoPath": two.shop.root(), "project_id": two.ours });
    assert_eq!(error(&two.app, "build_index", writing).await["code"], "ILLEGAL_STATE");
    let listed = result(&two.app, "workspace_status", json!({})).await;
    assert!(!listed.to_string().contains(&two.ours));

    lease(1).await;
    let deleted = envelope(&delete(&two.ours, &["--yes", "--force"]));
    assert_eq!(deleted["result"]["verified"], true, "{deleted:#}");
    assert_eq!(traces(&two.ours).await, 0);
    two.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_run_is_stopped_and_its_project_goes() {
    let two = Two::new().await;
    for file in 0..3000 {
        two.shop.write(
            &format!("m{file}.py"),
            &format!("def task_{file}(value):\n    return [value] * {file}\n"),
        );
    }
    let (app, arguments) = (two.app.clone(), json!({ "repoPath": two.shop.root(), "project_id": two.ours }));
    let running = tokio::spawn(async move { call(&app, "build_index", arguments).await });
    let files = format!("SELECT count(*) FROM {}.files", schema(&two.ours));
    while number(&files).await < 10 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let id = two.ours.clone();
    let deleted = tokio::task::spawn_blocking(move || delete(&id, &["--yes", "--force"])).await.unwrap();
    let deleted = envelope(&deleted);
    assert_eq!(deleted["result"]["verified"], true, "{deleted:#}");
    let ended = running.await.unwrap();
    if ended["ok"] == true {
        assert_eq!(deleted["result"]["jobsCancelled"], 0, "it was over before: {ended:#}");
    }
    assert_eq!(traces(&two.ours).await, 0);
    two.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_is_cut_short_is_completed() {
    let two = Two::new().await;
    let store = two.app.store().await.unwrap().clone();
    let settings = two.app.config.upkeep.clone();
    let mut cut = 0;
    for number in 0..12_u64 {
        let id = ProjectId::parse(&project("cut")).unwrap();
        let arguments = json!({ "repoPath": two.shop.root(), "project_id": id.as_str() });
        result(&two.app, "build_index", arguments).await;
        super::leave(&two.app, id.as_str(), "exports/a.zip", 10, 0);
        let attempt = deletion::delete(&store, &two.app.layout, &settings, &id, false);
        cut += usize::from(tokio::time::timeout(Duration::from_millis(number * 3), attempt).await.is_err());
        match deletion::delete(&store, &two.app.layout, &settings, &id, false).await {
            Ok(deleted) => assert!(deleted.verified),
            Err(fault) => assert_eq!(fault.code, ErrorCode::NoIndex, "{fault}"),
        }
        assert_eq!(traces(id.as_str()).await, 0);
        assert!(!two.app.layout.project(id.as_str()).exists());
    }
    assert!(cut > 0, "nothing was cut short: the test proves nothing");
    two.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_process_may_be_killed_in_between() {
    let (app, two) = (app(), Two::new().await);
    let mut child = Command::new(PROGRAM);
    child.args(["projects", "delete", &two.ours, "--yes"]).env("PAIROFCLEATS_HOME", home());
    let mut child = child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let hidden =
        format!("SELECT count(*) FROM pairofcleats.projects WHERE id = '{}' AND state = 'ready'", two.ours);
    while number(&hidden).await > 0 {
        tokio::task::yield_now().await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let gone = json!({ "query": "drawer", "project_id": two.ours });
    assert_eq!(error(&app, "search", gone).await["code"], "NO_INDEX");
    let again = envelope(&delete(&two.ours, &["--yes"]));
    assert!(again["ok"] == true || again["error"]["code"] == "NO_INDEX", "{again:#}");
    assert_eq!(traces(&two.ours).await, 0);
    assert!(!two.app.layout.project(&two.ours).exists());
    two.end().await;
}
