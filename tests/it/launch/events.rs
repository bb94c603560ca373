//! The log of a run: complete, chained, and the source of everything else that is stored.

use launch::event::{Event, EventBody, LogHead, verify_chain};
use launch::ids::RunId;
use launch::snapshot::RunSnapshot;
use launch_runs::runs::{events_after, open_run};
use serde_json::{Value, json};

use super::{Scene, code};
use crate::harness::{http, modules};
use crate::serving::{TestServer, issue_key};
use crate::upkeep::{execute_sql, schema};

/// All events of a run, and its snapshot as it is stored.
pub(super) async fn log_and_snapshot(scene: &Scene, run: &str) -> (Vec<Event>, RunSnapshot) {
    let store = scene.app.store().await.unwrap();
    let id = contract::ProjectId::parse(&scene.project).unwrap();
    let project = tenancy::require(store, &id).await.unwrap();
    let run = RunId::parse(run).unwrap();
    let events = events_after(store, &project, &run, 0, 10_000).await.unwrap();
    (events, open_run(store, &project, &run).await.unwrap().snapshot)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_verifies_and_folds_to_what_is_stored() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let run = scene.start("faulty").await;
    for tool in ["launch_resume", "launch_resume", "launch_resume", "launch_fix_next", "launch_fix_next"] {
        let (events, stored) = log_and_snapshot(&scene, &run).await;
        verify_chain(LogHead::EMPTY, &events).unwrap();
        assert_eq!(RunSnapshot::fold(&events).unwrap(), stored, "before {tool}");
        scene.result(tool, &run).await;
    }
    scene.result("launch_open_pr", &run).await;
    let (events, stored) = log_and_snapshot(&scene, &run).await;
    let head = verify_chain(LogHead::EMPTY, &events).unwrap();
    assert_eq!((head.seq, RunSnapshot::fold(&events).unwrap()), (stored.seq, stored));
    assert!(events.iter().zip(1..).all(|(event, number)| event.seq == number));
    let has = |wanted: &str| events.iter().filter(|event| event.kind == wanted).count();
    assert_eq!((has("RUN_CREATED"), has("RUN_COMPLETED"), has("PR_OPENED")), (1, 1, 1));
    assert_eq!(has("WORK_ITEM_QUEUED"), has("WORK_ITEM_STARTED"));
    assert_eq!(has("WORK_ITEM_STARTED"), has("WORK_ITEM_FINISHED") + has("WORK_ITEM_FAILED"));
    assert_eq!(has("GATE_RUN_STARTED"), has("GATE_RUN_FINISHED"));
    assert!(has("GATE_RUN_FINISHED") >= 16 * 3, "every gate of every validation");
    // The second issue moved up a line when the first was fixed.
    let of_blockers = |event: &&Event| event.payload.contains("uncited_line");
    let opened = events.iter().filter(|event| event.kind == "ISSUE_OPENED").filter(of_blockers).count();
    assert_eq!((opened, has("ISSUE_RESOLVED")), (3, 2));
    let called: Vec<String> = events
        .iter()
        .filter_map(|event| match event.body().unwrap() {
            EventBody::ToolCalled { tool, outcome, .. } => Some(format!("{tool} {outcome}")),
            _ => None,
        })
        .collect();
    assert_eq!(
        called,
        [
            "launch_start_run ok", "launch_resume ok", "launch_resume ok", "launch_resume ok",
            "launch_fix_next ok", "launch_fix_next ok",
        ],
        "the log of a run that ended is complete"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_changed_byte_stops_the_run() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    for (label, change) in [
        ("a payload", "UPDATE {events} SET payload = replace(payload, '\"shop\"', '\"shot\"') WHERE seq = 1"),
        ("the time", "UPDATE {events} SET ts_ms = ts_ms + 1 WHERE seq = 2"),
        ("a removed event", "DELETE FROM {events} WHERE seq = 2"),
        ("the rows", "UPDATE {runs} SET fix_attempts = 2"),
        ("the configuration", "UPDATE {runs} SET config = replace(config, 'ShopKit', 'ShopCut')"),
        ("the end", "UPDATE {runs} SET head_hash = decode(repeat('00', 32), 'hex')"),
    ] {
        let run = scene.start("shop").await;
        let table = |name: &str| format!("{}.{name}", schema(&scene.project));
        let only = format!("{change} AND run_id = '{run}'");
        let only = if change.contains("WHERE") { only } else { format!("{change} WHERE run_id = '{run}'") };
        execute_sql(
            &only.replace("{events}", &table("launch_events")).replace("{runs}", &table("launch_runs")),
        )
        .await;
        let refused = scene.error("launch_resume", &run).await;
        assert_eq!(code(&refused), "INTERNAL", "{label}: {refused:#}");
        assert_eq!(refused["details"]["cause_class"], "EVENT_CHAIN_BROKEN", "{label}: {refused:#}");
        let status = scene.status(&run).await;
        assert_eq!(
            (&status["state"], &status["failure"]["code"]),
            (&json!("FAILED"), &json!("EVENT_CHAIN_BROKEN")),
            "{label}: {status:#}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_artifact_stops_the_run() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let run = scene.start("shop").await;
    scene.result("launch_resume", &run).await;
    let artifacts = format!("{}.launch_artifacts", schema(&scene.project));
    // As long as before.
    execute_sql(&format!(
        "UPDATE {artifacts} SET bytes = convert_to(replace(convert_from(bytes, 'UTF8'), 'coins', 'crown'), 'UTF8') \
         WHERE run_id = '{run}' AND name = 'product_facts.json'"
    ))
    .await;
    assert!(scene.artifact(&run, "product_facts.json").await.contains("crown"));
    let refused = scene.error("launch_resume", &run).await;
    assert_eq!(refused["details"]["cause_class"], "EVENT_CHAIN_BROKEN", "{refused:#}");
    let status = scene.status(&run).await;
    assert_eq!(
        (&status["state"], &status["failure"]["code"]),
        (&json!("FAILED"), &json!("EVENT_CHAIN_BROKEN")),
        "{status:#}"
    );
    assert!(status["failure"]["message"].as_str().unwrap().contains("product_facts.json"), "{status:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_streamed_as_events_and_as_lines() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    let (events, _) = log_and_snapshot(&scene, &run).await;
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let url = server.url_of(&format!("/launch/runs/{run}/events?project_id={}", scene.project));
    let lines = http().get(&url).header("accept", "application/x-ndjson").send().await.unwrap();
    assert_eq!(lines.headers()["content-type"], "application/x-ndjson");
    let lines = lines.text().await.unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected: Vec<Value> = events.iter().map(Event::to_json).collect();
    assert_eq!(lines, expected);

    let after = http().get(format!("{url}&after=5")).send().await.unwrap();
    assert_eq!(after.headers()["content-type"], "text/event-stream");
    let text = after.text().await.unwrap();
    let sent = text.lines().filter(|line| *line == "event: event").count();
    assert_eq!(sent, events.len() - 5, "{text}");
    assert!(
        text.contains("event: done") && text.contains(&format!("\"last_seq\":{}", events.len())),
        "{text}"
    );

    let unknown = server.url_of(&format!(
        "/launch/runs/{}/events?project_id={}",
        crate::valid_arguments::ABSENT_RUN,
        scene.project
    ));
    let unknown = http().get(unknown).send().await.unwrap().text().await.unwrap();
    assert!(unknown.contains("event: error") && unknown.contains("RUN_NOT_FOUND"), "{unknown}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_hears_no_more_of_a_run() {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    let run = scene.start("shop").await;
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let scopes = [tenancy::Scope::Search, tenancy::Scope::Launch];
    let (id, key) = issue_key(&scene.app, &[&scene.project], &scopes).await;
    let url = server.url_of(&format!("/launch/runs/{run}/events?follow=true&project_id={}", scene.project));
    let follow = async |accept: &str| {
        let stream = http().get(&url).bearer_auth(&key).header("accept", accept).send().await.unwrap();
        assert_eq!(stream.status(), 200);
        stream
    };
    let (events, lines) = (follow("text/event-stream").await, follow("application/x-ndjson").await);
    tenancy::revoke_key(scene.app.store().await.unwrap(), &id, 0).await.unwrap();
    let patience = std::time::Duration::from_secs(60);
    let rest = async |stream: reqwest::Response| {
        tokio::time::timeout(patience, stream.text()).await.expect("the stream stayed open").unwrap()
    };
    let (events, lines) = (rest(events).await, rest(lines).await);
    let count = |text: &str| text.matches("RUN_CREATED").count();
    assert_eq!((count(&events), count(&lines)), (1, 1), "what happened before: {events}");
    assert!(
        events.contains("UNAUTHORIZED") && events.trim_end().lines().any(|line| line == "event: done"),
        "{events}"
    );
    let last: Value = serde_json::from_str(lines.trim_end().lines().last().unwrap()).unwrap();
    assert_eq!(last["error"]["code"], "UNAUTHORIZED", "{lines}");
    server.stop().await;
}
