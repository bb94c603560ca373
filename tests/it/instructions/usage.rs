//! Counts of use: exact over several processes, and never going back.

use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};

use super::{entry, ids, import, writable_app};
use crate::harness::{app_at, project, result};
use crate::upkeep::{execute_sql, schema};

async fn track(app: &Arc<App>, project: &str, id: &str) -> Value {
    result(app, "usage_track", json!({ "id": id, "project_id": project })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn uses_of_two_processes_are_all_counted() {
    let project = project("usage-two");
    let (one, other) = (writable_app(), writable_app());
    import(&one, &project, &[entry("a", "A"), entry("b", "B")], json!({})).await;
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let app = Arc::clone(if task % 2 == 0 { &one } else { &other });
            let project = project.clone();
            tokio::spawn(async move {
                let mut last = 0;
                for _ in 0..125 {
                    let count = track(&app, &project, "a").await["usageCount"].as_u64().unwrap();
                    assert!(count > last, "a process never sees the count go back: {last}, then {count}");
                    last = count;
                }
            })
        })
        .collect();
    // Overwriting meanwhile loses nothing.
    import(&one, &project, &[entry("a", "A2")], json!({ "mode": "overwrite" })).await;
    for task in tasks {
        task.await.unwrap();
    }
    for app in [&one, &other] {
        let flushed = result(app, "usage_flush", json!({ "project_id": project })).await;
        assert_eq!(flushed["flushed"], true);
    }
    let got = result(&writable_app(), "instructions_get", json!({ "id": "a", "project_id": project })).await;
    assert_eq!(got["item"]["usageCount"], 1000);
    // The count outlives the entry.
    result(&one, "instructions_remove", json!({ "ids": ["a"], "project_id": project })).await;
    assert_eq!(track(&one, &project, "a").await, json!({ "notFound": true }));
    import(&one, &project, &[entry("a", "A3")], json!({})).await;
    assert_eq!(track(&one, &project, "a").await["usageCount"], 1001);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hot_set_is_ordered_by_count_time_and_id() {
    let project = project("usage-hot");
    let clock = Arc::new(contract::clock::FixedClock::at_millis(1_700_000_000_000));
    let app = app_at(clock.clone());
    let entries: Vec<Value> = ["a", "b", "c", "d", "e"].map(|id| entry(id, id)).to_vec();
    import(&writable_app(), &project, &entries, json!({})).await;
    for (id, times) in [("c", 2), ("a", 1), ("d", 1), ("b", 3)] {
        clock.advance_millis(if id == "d" { 0 } else { 1000 });
        for _ in 0..times {
            track(&app, &project, id).await;
        }
    }
    let hot = |limit: Value| result(&app, "usage_hotset", json!({ "limit": limit, "project_id": project }));
    let found = hot(Value::Null).await;
    assert_eq!((ids(&found["items"]), &found["limit"]), (vec!["b", "c", "a", "d"], &json!(10)));
    assert_eq!(ids(&hot(json!(2)).await["items"]), ["b", "c"]);
    for refused in [0, 101] {
        let arguments = json!({ "limit": refused, "project_id": project });
        assert!(crate::harness::try_call(&app, "usage_hotset", arguments).await.is_err(), "{refused}");
    }
    let batch = json!({ "items": [{ "id": "e", "count": 5 }, { "id": "zzz" }, { "id": "a" }], "project_id": project });
    let tracked = result(&app, "usage_track_batch", batch).await;
    assert_eq!((&tracked["tracked"], &tracked["results"][1]), (&json!(2), &json!({ "notFound": true })));
    assert_eq!(
        (&tracked["results"][0]["usageCount"], &tracked["results"][2]["usageCount"]),
        (&json!(5), &json!(2))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn methods_are_timed_for_their_project_alone() {
    let (app, ours, theirs) = (writable_app(), project("usage-ours"), project("usage-theirs"));
    for id in [&ours, &theirs] {
        import(&app, id, &[entry("a", "A")], json!({})).await;
    }
    for _ in 0..3 {
        result(&app, "instructions_get", json!({ "id": "a", "project_id": ours })).await;
    }
    let methods = |id: &str| result(&app, "metrics_snapshot", json!({ "project_id": id }));
    let snapshot = methods(&ours).await;
    let names: Vec<&str> =
        snapshot["methods"].as_array().unwrap().iter().map(|row| row["method"].as_str().unwrap()).collect();
    assert_eq!(names, ["instructions/get", "instructions/import"]);
    let get = &snapshot["methods"][0];
    assert_eq!(get["count"], 3);
    assert!(get["maxMs"].as_f64() >= get["avgMs"].as_f64() && get["avgMs"].as_f64() > Some(0.0), "{get}");
    let of_theirs = methods(&theirs).await;
    assert_eq!(of_theirs["methods"].as_array().map(Vec::len), Some(1), "{of_theirs:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_that_no_column_holds_does_not_keep_the_others_from_being_written() {
    let project = project("usage-full");
    let app = writable_app();
    import(&app, &project, &[entry("a", "A"), entry("full", "F"), entry("z", "Z")], json!({})).await;
    let flush =
        async || result(&app, "usage_flush", json!({ "project_id": project })).await["written"].clone();
    track(&app, &project, "full").await;
    assert_eq!(flush().await, 1);
    let table = format!("{}.instruction_usage", schema(&project));
    execute_sql(&format!("UPDATE {table} SET usage_count = 9223372036854775807 WHERE id = 'full'")).await;
    for id in ["a", "full", "z"] {
        track(&app, &project, id).await;
    }
    assert_eq!(flush().await, 2, "each of the others");
    assert_eq!(flush().await, 0, "and the bad one is not tried again");
    let other = writable_app();
    for id in ["a", "z"] {
        let got = result(&other, "instructions_get", json!({ "id": id, "project_id": project })).await;
        assert_eq!(got["item"]["usageCount"], 1, "{id}");
    }
    assert!(app.metrics_text().lines().any(|line| line == "pairofcleats_usage_lost_total 1"));
    execute_sql("DELETE FROM pairofcleats.writers WHERE writer = 'usage'").await;
}
