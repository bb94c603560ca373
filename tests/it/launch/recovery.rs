//! Runs abandoned by their callers continue until they need a decision.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{Scene, blockers, code};
use crate::harness::{cluster, new_home, result};
use crate::models::wait_for;
use crate::upkeep::{execute_sql, query_number, schema};

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_start_has_the_run_go_on() {
    let scene = Scene::new().await;
    let start = async || -> Value {
        let arguments = json!({ "run_config": scene.config("shop"), "idempotency_key": "once",
            "project_id": scene.project });
        result(&scene.app, "launch_start_run", arguments).await
    };
    let first = start().await;
    let run = first["run_id"].as_str().unwrap();
    // The state that a process leaves if it dies after it wrote the run.
    execute_sql(&format!("DELETE FROM pairofcleats.jobs WHERE subject = '{run}'")).await;
    let again = start().await;
    assert_eq!((&again["run_id"], &again["existing"]), (&first["run_id"], &json!(true)), "{again:#}");
    let jobs = format!("SELECT count(*) FROM pairofcleats.jobs WHERE subject = '{run}'");
    assert_eq!(query_number(&jobs).await, 1, "a job advances it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_continues_what_was_lost_and_passes_over_what_is_broken() {
    // A database of its own, so that no server of another test takes the jobs.
    let home = new_home("launch-recovery");
    let scene = Scene::in_home(&home, |config| config.launch.running_max = 2).await;
    let (broken, lost) = (scene.start("shop").await, scene.start("shop").await);
    let server = cluster(&home);
    let mut raw = PgConnection::connect_with(&server.connect_options()).await.unwrap();
    let runs = format!("{}.launch_runs", schema(&scene.project));
    for statement in [
        format!("UPDATE {runs} SET pending = 'x' WHERE run_id = '{broken}'"),
        "DELETE FROM pairofcleats.jobs WHERE kind = 'launch'".to_owned(),
    ] {
        sqlx::query(AssertSqlSafe(statement)).execute(&mut raw).await.unwrap();
    }
    scene.app.start_background();
    wait_for("the lost run to be ready", async || {
        let status = scene.status(&lost).await;
        assert_ne!(status["state"], "FAILED", "{status:#}");
        status["state"] == "READY_FOR_PR"
    })
    .await;
    scene.app.shutdown.cancel();
    scene.app.wait_stopped().await;
}

/// Fixes an issue as soon as no other worker holds the run.
async fn fix(scene: &Scene, run: &str) -> Value {
    let started = Instant::now();
    loop {
        let mut envelope = scene.call("launch_fix_next", run).await;
        if envelope["ok"] == true {
            return envelope["result"].take();
        }
        assert_eq!(code(&envelope["error"]), "ILLEGAL_STATE", "{envelope:#}");
        assert!(started.elapsed() < Duration::from_secs(60), "{envelope:#}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_two_calls_at_once_fixes_an_issue_of_its_own() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let run = scene.start("faulty").await;
    let status = scene.drive(&run).await;
    assert_eq!(blockers(&status).len(), 2, "{status:#}");
    let (one, other) = tokio::join!(fix(&scene, &run), fix(&scene, &run));
    assert_ne!(one["fixed_issue_id"], other["fixed_issue_id"], "{one:#} {other:#}");
    assert!(one["fixed_issue_id"].is_string() && other["fixed_issue_id"].is_string());
    assert_eq!(scene.status(&run).await["fix_attempts"], 2);
}
