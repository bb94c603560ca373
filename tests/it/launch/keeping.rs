//! The retention of runs; and runs move with their project.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::ProjectId;
use gate::app::App;
use launch::event::{LogHead, verify_chain};
use launch::ids::RunId;
use launch::snapshot::RunSnapshot;
use launch_runs::runs::{events_after, open_run};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use upkeep::archive::{ImportSettings, export_project, import_project};
use upkeep::retention::delete_project;

use super::{Scene, code, hashes};
use crate::harness::{app_with, error, project, result};
use crate::upkeep::{execute_sql, query_number, removals, schema};

const TABLES: [&str; 6] =
    ["launch_runs", "launch_events", "launch_items", "launch_artifacts", "launch_issues", "launch_watches"];

async fn collect(app: &Arc<App>, project: &str, dry_run: bool) -> Vec<Value> {
    let answer = result(app, "cache_gc", json!({ "dryRun": dry_run, "project_id": project })).await;
    removals(&answer, "launch_runs").into_iter().cloned().collect()
}

async fn published(scene: &Scene) -> String {
    let run = scene.ready("shop").await;
    scene.result("launch_open_pr", &run).await;
    run
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_ended_long_ago_go_and_the_newest_of_each_product_stays() {
    let scene = Scene::new().await;
    let (first, last) = (published(&scene).await, published(&scene).await);
    let failed = scene.start("broken").await;
    assert_eq!(scene.drive(&failed).await["state"], "FAILED");
    let unfinished = scene.ready("bank").await;
    let cancelled = scene.start("shop").await;
    scene.result("launch_cancel", &cancelled).await;
    let branches = scene.published();
    assert_eq!(branches.len(), 2);
    assert!(collect(&scene.app, &scene.project, true).await.is_empty(), "none is old");

    // A hundred days pass for all but the cancelled one, even for the one that has not ended.
    let runs = format!("{}.launch_runs", schema(&scene.project));
    execute_sql(&format!(
        "UPDATE {runs} SET created_ms = created_ms - 8640000000, finished_ms = finished_ms - 8640000000 \
         WHERE run_id <> '{cancelled}'"
    ))
    .await;
    let for_ever = app_with(|config| config.launch.keep_days = 0);
    assert!(collect(&for_ever, &scene.project, false).await.is_empty(), "they are kept for ever");

    let planned = collect(&scene.app, &scene.project, true).await;
    assert_eq!(
        (&planned[0]["count"], &planned[0]["reason"], planned.len()),
        (&json!(2), &json!("age"), 1),
        "{planned:#?}"
    );
    assert!(planned[0]["bytes"].as_u64().unwrap() > 10_000, "{planned:#?}");
    scene.status(&first).await;
    assert_eq!(collect(&scene.app, &scene.project, false).await, planned, "what was announced");
    for gone in [&first, &failed] {
        let refused = error(&scene.app, "launch_get_status", scene.arguments(gone)).await;
        assert_eq!(code(&refused), "RUN_NOT_FOUND", "{refused:#}");
        for table in TABLES {
            let rows =
                format!("SELECT count(*) FROM {}.{table} WHERE run_id = '{gone}'", schema(&scene.project));
            assert_eq!(query_number(&rows).await, 0, "{table}");
        }
    }
    for (kept, state) in [(&last, "DONE"), (&unfinished, "READY_FOR_PR"), (&cancelled, "CANCELLED")] {
        assert_eq!(scene.status(kept).await["state"], state);
    }
    assert!(scene.artifact(&last, "page_plan.json").await.contains("pages"));
    assert_eq!(scene.published(), branches, "what was published stays");
    assert!(collect(&scene.app, &scene.project, false).await.is_empty(), "nothing is left to do");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_move_with_their_project() {
    let scene = Scene::new().await;
    let run = published(&scene).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("project.zip");
    let store = scene.app.store().await.unwrap();
    let id = ProjectId::parse(&scene.project).unwrap();
    let original = tenancy::require(store, &id).await.unwrap();
    let cancel = CancellationToken::new();
    let now = "2026-01-02T03:04:05.000Z".to_owned();
    export_project(store, &original, &file, now, &cancel, &|_| {}).await.unwrap();
    let copy = ProjectId::parse(&project("launch-copy")).unwrap();
    let settings = ImportSettings {
        bytes_max: scene.app.config.upkeep.import_bytes_max,
        hnsw_rows_min: 1_000_000,
        maintenance_work_mem_mb: scene.app.config.embedded.maintenance_work_mem_mb,
    };
    let nowhere = |_: &ProjectId| Ok(BTreeMap::new());
    import_project(store, &file, Some(copy.clone()), nowhere, settings, &cancel, &|_| {}).await.unwrap();

    let arguments = json!({ "run_id": run, "project_id": copy.as_str() });
    let moved = result(&scene.app, "launch_get_status", arguments).await["status"].take();
    let before = scene.status(&run).await;
    for field in ["state", "section_states", "artifact_count", "repo_sha", "publication", "finished_at"] {
        assert_eq!(moved[field], before[field], "{field}");
    }
    assert_eq!(hashes(&moved), hashes(&before));
    let arguments = json!({ "run_id": run, "artifact_name": "drafts/docs.md", "project_id": copy.as_str() });
    let draft = result(&scene.app, "launch_get_artifact", arguments).await["artifact"]["content"].take();
    assert_eq!(draft, scene.artifact(&run, "drafts/docs.md").await);
    let (moved, run_id) = (tenancy::require(store, &copy).await.unwrap(), RunId::parse(&run).unwrap());
    let events = events_after(store, &moved, &run_id, 0, 10_000).await.unwrap();
    verify_chain(LogHead::EMPTY, &events).unwrap();
    let stored = open_run(store, &moved, &run_id).await.unwrap().snapshot;
    assert_eq!(RunSnapshot::fold(&events).unwrap(), stored);
    delete_project(store, &scene.app.layout, &scene.app.config.upkeep, &copy, true).await.unwrap();
}
