//! `projects delete` leaves nothing of a project, touches no other one, and completes a deletion that was interrupted.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use contract::{ErrorCode, ProjectId};
use serde_json::{Value, json};
use tenancy::{NewKey, Projects, Scope, issue_key};
use upkeep::retention::delete_project;

use super::{TwoProjects, execute_sql, query_number, schema};
use crate::harness::{PROGRAM, app, call, error, home, project, result};

fn delete(id: &str, flags: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["projects", "delete", id, "--json"]).args(flags).env("PAIROFCLEATS_HOME", home());
    command.stdin(Stdio::null()).output().unwrap()
}

fn envelope(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

/// The number of schemas, roles and control rows of a project in the database.
async fn remaining_objects(id: &str) -> i64 {
    let role = format!("poc\\_%\\_{id}");
    query_number(&format!(
        "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = '{}') \
         + (SELECT count(*) FROM pg_roles WHERE rolname LIKE '{role}') \
         + (SELECT count(*) FROM pairofcleats.projects WHERE id = '{id}') \
         + (SELECT count(*) FROM pairofcleats.jobs WHERE project_id = '{id}') \
         + (SELECT count(*) FROM pairofcleats.project_modules WHERE project_id = '{id}') \
         + (SELECT count(*) FROM pairofcleats.source_repositories WHERE project_id = '{id}')",
        schema(id)
    ))
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_project_leaves_nothing_behind() {
    let projects = TwoProjects::new().await;
    let store = projects.app.store().await.unwrap();
    let id = ProjectId::parse(&projects.ours).unwrap();
    execute_sql(&format!("INSERT INTO pairofcleats.project_modules VALUES ('{id}', 'triage', 1)")).await;
    execute_sql(&format!(
        "INSERT INTO pairofcleats.source_repositories (source, address, project_id, added) \
         VALUES ('acme', 'https://host/x', '{id}', true)"
    ))
    .await;
    let new = NewKey {
        name: "test".into(),
        projects: Projects::Only([id.clone()].into()),
        scopes: [Scope::Search].into(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    let key = issue_key(store, new, projects.app.clock.now().as_millisecond()).await.unwrap();
    assert_eq!(
        remaining_objects(&projects.ours).await,
        5 + 4,
        "schema, role, row, module, row of a source, and runs"
    );

    let unconfirmed = delete(&projects.ours, &[]);
    assert_eq!(unconfirmed.status.code(), Some(2), "there is no terminal to confirm on");
    assert!(envelope(&unconfirmed)["error"]["hint"].as_str().unwrap().contains("--yes"));
    let deleted = delete(&projects.ours, &["--yes"]);
    let deleted = envelope(&deleted);
    assert_eq!(deleted["ok"], true, "{deleted:#}");
    let report = &deleted["result"];
    assert_eq!(
        (&report["verified"], &report["files"], &report["fileBytes"]),
        (&json!(true), &json!(1), &json!(500))
    );
    assert_eq!(report["keys"], json!([key.id]));
    assert_eq!(remaining_objects(&projects.ours).await, 0);
    assert!(!projects.app.layout.project(&projects.ours).exists());
    let arguments = json!({ "query": "drawer", "project_id": projects.ours });
    assert_eq!(error(&projects.app, "search", arguments).await["code"], "NO_INDEX");
    let again = envelope(&delete(&projects.ours, &["--yes"]));
    assert_eq!(again["error"]["code"], "NO_INDEX", "{again:#}");

    let built = projects.result("build_index", json!({ "repoPath": projects.shop.root() })).await;
    assert_eq!(built["report"]["files"], 2, "the name can be used again: {built:#}");
    projects.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_during_a_run_is_refused_unless_forced() {
    let projects = TwoProjects::new().await;
    let lease = async |seconds: u32| {
        execute_sql(&format!(
            "INSERT INTO pairofcleats.jobs (id, project_id, kind, subject, state, request, lease_until, fence, worker) \
             VALUES ('{0}', '{0}', 'index', '/somewhere', 'running', '{{}}', now() + interval '{seconds} seconds', 1, 'another') \
             ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until",
            projects.ours
        ))
        .await;
    };
    lease(3600).await;
    let refused = envelope(&delete(&projects.ours, &["--yes"]));
    assert_eq!(refused["error"]["code"], "ILLEGAL_STATE", "{refused:#}");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("--force"));
    projects.result("search", json!({ "query": "drawer" })).await;

    let timed_out =
        envelope(&delete(&projects.ours, &["--yes", "--force", "--set", "upkeep.delete_wait_ms=300"]));
    assert_eq!(timed_out["error"]["code"], "ILLEGAL_STATE", "{timed_out:#}");
    let cancelled =
        format!("SELECT count(*) FROM pairofcleats.jobs WHERE id = '{}' AND cancel_requested", projects.ours);
    assert_eq!(query_number(&cancelled).await, 1);
    let hidden = json!({ "query": "drawer", "project_id": projects.ours });
    assert_eq!(
        error(&projects.app, "search", hidden).await["code"],
        "NO_INDEX",
        "the first step of a deletion hides the project"
    );
    let arguments = json!({ "repoPath": projects.shop.root(), "project_id": projects.ours });
    assert_eq!(error(&projects.app, "build_index", arguments).await["code"], "ILLEGAL_STATE");
    let listed = result(&projects.app, "workspace_status", json!({})).await;
    assert!(!listed.to_string().contains(&projects.ours));

    lease(1).await;
    let deleted = envelope(&delete(&projects.ours, &["--yes", "--force"]));
    assert_eq!(deleted["result"]["verified"], true, "{deleted:#}");
    assert_eq!(remaining_objects(&projects.ours).await, 0);
    projects.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_deletion_stops_a_running_index_run() {
    let projects = TwoProjects::new().await;
    for file in 0..3000 {
        projects.shop.write(
            &format!("m{file}.py"),
            &format!("def task_{file}(value):\n    return [value] * {file}\n"),
        );
    }
    let (app, arguments) =
        (projects.app.clone(), json!({ "repoPath": projects.shop.root(), "project_id": projects.ours }));
    let running = tokio::spawn(async move { call(&app, "build_index", arguments).await });
    let files = format!("SELECT count(*) FROM {}.files", schema(&projects.ours));
    while query_number(&files).await < 10 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let id = projects.ours.clone();
    let deleted = tokio::task::spawn_blocking(move || delete(&id, &["--yes", "--force"])).await.unwrap();
    let deleted = envelope(&deleted);
    assert_eq!(deleted["result"]["verified"], true, "{deleted:#}");
    let run_answer = running.await.unwrap();
    if run_answer["ok"] == true {
        assert_eq!(
            deleted["result"]["jobsCancelled"], 0,
            "the run ended before the deletion: {run_answer:#}"
        );
    }
    assert_eq!(remaining_objects(&projects.ours).await, 0);
    projects.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_deletion_is_completed_by_the_next_one() {
    let projects = TwoProjects::new().await;
    let store = projects.app.store().await.unwrap().clone();
    let settings = projects.app.config.upkeep.clone();
    let mut interrupted = 0;
    for number in 0..12_u64 {
        let id = ProjectId::parse(&project("cut")).unwrap();
        let arguments = json!({ "repoPath": projects.shop.root(), "project_id": id.as_str() });
        result(&projects.app, "build_index", arguments).await;
        super::write_aged_file(&projects.app, id.as_str(), "exports/a.zip", 10, 0);
        let attempt = delete_project(&store, &projects.app.layout, &settings, &id, false);
        interrupted +=
            usize::from(tokio::time::timeout(Duration::from_millis(number * 3), attempt).await.is_err());
        match delete_project(&store, &projects.app.layout, &settings, &id, false).await {
            Ok(deleted) => assert!(deleted.verified),
            Err(fault) => assert_eq!(fault.code, ErrorCode::NoIndex, "{fault}"),
        }
        assert_eq!(remaining_objects(id.as_str()).await, 0);
        assert!(!projects.app.layout.project(id.as_str()).exists());
    }
    assert!(interrupted > 0, "no deletion was interrupted: the test proves nothing");
    projects.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_whose_process_is_killed_is_completed_by_the_next_one() {
    let (app, projects) = (app(), TwoProjects::new().await);
    let mut child = Command::new(PROGRAM);
    child.args(["projects", "delete", &projects.ours, "--yes"]).env("PAIROFCLEATS_HOME", home());
    let mut child = child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let still_ready = format!(
        "SELECT count(*) FROM pairofcleats.projects WHERE id = '{}' AND state = 'ready'",
        projects.ours
    );
    while query_number(&still_ready).await > 0 {
        tokio::task::yield_now().await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let arguments = json!({ "query": "drawer", "project_id": projects.ours });
    assert_eq!(error(&app, "search", arguments).await["code"], "NO_INDEX");
    let again = envelope(&delete(&projects.ours, &["--yes"]));
    assert!(again["ok"] == true || again["error"]["code"] == "NO_INDEX", "{again:#}");
    assert_eq!(remaining_objects(&projects.ours).await, 0);
    assert!(!projects.app.layout.project(&projects.ours).exists());
    projects.finish().await;
}
