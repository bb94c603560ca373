//! Tools that are legal in each state, and the answers of the others.

use launch::legality::{Legality, RunTool};
use launch::state::RunState;
use serde_json::{Value, json};

use super::{Scene, code, workers};
use crate::upkeep::{execute_sql, query_number, schema};

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_in_every_state_that_does_not_allow_it() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let run = scene.start("shop").await;
    let table = format!("{}.launch_runs", schema(&scene.project));
    let events = format!("SELECT count(*) FROM {}.launch_events", schema(&scene.project));
    let mut refused_pairs = 0;
    for state in RunState::ALL {
        // A row of this state; no call of this test gets as far as the log, which says otherwise.
        execute_sql(&format!("UPDATE {table} SET state = '{}', report_ok = NULL", state.as_str())).await;
        let before = query_number(&events).await;
        for tool in RunTool::ALL {
            let label = format!("{} in {state}", tool.as_str());
            let expected = match tool.in_state(state, None) {
                Legality::Runs | Legality::Repeats => continue,
                Legality::Cancelled => "CANCELLED",
                Legality::Refused(_) => "ILLEGAL_STATE",
            };
            refused_pairs += 1;
            let refused = scene.error(tool.as_str(), &run).await;
            assert_eq!(
                (code(&refused), &refused["retryable"]),
                (expected, &json!(false)),
                "{label}: {refused:#}"
            );
            if expected == "ILLEGAL_STATE" {
                let details = &refused["details"];
                assert_eq!(details["current_state"], state.as_str(), "{label}: {refused:#}");
                assert!(
                    details["required"].is_string() && details["next"].is_array(),
                    "{label}: {refused:#}"
                );
                assert_eq!(details["last_report_ok"], Value::Null, "{label}: {refused:#}");
            }
        }
        let added = query_number(&events).await - before;
        let is_refused = |tool: &RunTool| matches!(tool.in_state(state, None), Legality::Refused(_));
        let recorded =
            RunTool::ALL.iter().filter(|tool| is_refused(tool) && **tool != RunTool::Cancel).count();
        let expected = if state.is_terminal() { 0 } else { i64::try_from(recorded).unwrap() };
        assert_eq!(added, expected, "{state}: refused calls are recorded while the run lives");
        if !state.is_terminal() {
            continue;
        }
        let read = scene.status(&run).await;
        assert_eq!(
            (&read["state"], &read["next"]),
            (&json!(state.as_str()), &json!([])),
            "an ended run can be read"
        );
    }
    assert!(refused_pairs > 35, "{refused_pairs}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_tools_in_a_status_are_accurate() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let run = scene.start("faulty").await;
    let mut states = Vec::new();
    loop {
        let status = scene.status(&run).await;
        let state = status["state"].as_str().unwrap().to_owned();
        if states.last() == Some(&state) {
            break;
        }
        states.push(state);
        let next = status["next"].as_array().unwrap();
        assert!(
            next.contains(&json!("launch_resume")) && next.contains(&json!("launch_cancel")),
            "{status:#}"
        );
        scene.result("launch_resume", &run).await;
    }
    // One call goes on to the next boundary.
    assert_eq!(states, ["CREATED", "PLAN_READY", "DRAFT_READY", "VALIDATING"]);
    let validating = scene.status(&run).await;
    let all = ["launch_resume", "launch_validate", "launch_fix_next", "launch_cancel"];
    assert_eq!(validating["next"], json!(all), "{validating:#}");
    for _ in 0..2 {
        scene.result("launch_fix_next", &run).await;
    }
    let ready = scene.status(&run).await;
    let all = ["launch_resume", "launch_validate", "launch_open_pr", "launch_cancel"];
    assert_eq!((&ready["state"], &ready["next"]), (&json!("READY_FOR_PR"), &json!(all)), "{ready:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_while_a_job_works_may_be_repeated() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let run = scene.start("slow-repeated").await;
    let working = scene.begin_plan(&run, "slow-repeated").await;
    for tool in ["launch_validate", "launch_resume", "launch_open_pr"] {
        let refused = scene.error(tool, &run).await;
        assert_eq!(
            (code(&refused), &refused["retryable"]),
            ("ILLEGAL_STATE", &json!(true)),
            "{tool}: {refused:#}"
        );
    }
    assert_eq!(scene.status(&run).await["next"], json!(["launch_cancel"]));
    workers::finish_plan("slow-repeated");
    let done = working.await.unwrap();
    assert_eq!(done["result"]["status"]["state"], "PLAN_READY", "{done:#}");
    let refused = scene.error("launch_validate", &run).await;
    assert_eq!(refused["retryable"], false, "the run is no longer being advanced: {refused:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_stops_and_stays_cancelled() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let run = scene.start("slow-cancelled").await;
    let working = scene.begin_plan(&run, "slow-cancelled").await;
    for _ in 0..2 {
        let cancelled = scene.result("launch_cancel", &run).await;
        assert_eq!((&cancelled["cancelled"], &cancelled["state"]), (&json!(true), &json!("CANCELLED")));
    }
    workers::finish_plan("slow-cancelled");
    let ended = working.await.unwrap();
    assert_eq!(ended["error"]["code"], "CANCELLED", "{ended:#}");
    let status = scene.status(&run).await;
    assert_eq!((&status["state"], &status["next"]), (&json!("CANCELLED"), &json!([])), "{status:#}");
    let names: Vec<&str> =
        status["artifacts"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"product_facts.json") && !names.contains(&"page_plan.json"), "{names:?}");
    for tool in ["launch_resume", "launch_validate", "launch_fix_next", "launch_open_pr"] {
        assert_eq!(code(&scene.error(tool, &run).await), "CANCELLED", "{tool}");
    }
    assert!(scene.published().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_wakes_up_late_writes_nothing() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let run = scene.start("slow-late").await;
    let working = scene.begin_plan(&run, "slow-late").await;
    let of = |table: &str| format!("{}.{table}", schema(&scene.project));
    // As if another process had taken the run over meanwhile.
    execute_sql(&format!("UPDATE {} SET fence = 9000000000000000000", of("launch_runs"))).await;
    let before = query_number(&format!("SELECT max(seq)::int8 FROM {}", of("launch_events"))).await;
    workers::finish_plan("slow-late");
    let ended = working.await.unwrap();
    assert_eq!(ended["ok"], false, "{ended:#}");
    let of_job = format!(
        "SELECT count(*) FROM {} WHERE seq > {before} AND type <> 'TOOL_CALLED'",
        of("launch_events")
    );
    assert_eq!(query_number(&of_job).await, 0);
    let plans = format!("SELECT count(*) FROM {} WHERE name = 'page_plan.json'", of("launch_artifacts"));
    assert_eq!(query_number(&plans).await, 0, "nothing was written");
}
