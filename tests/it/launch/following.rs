//! The log of a run as a stream that continues until the run ends.

use std::sync::atomic::Ordering;

use reqwest::Response;
use serde_json::Value;

use super::Scene;
use crate::harness::{http, modules};
use crate::models::wait_for;
use crate::serving::TestServer;

/// Opens a stream that follows a run, and reads until the first event has arrived. Returns the stream and what it sent.
async fn follow(server: &TestServer, scene: &Scene, run: &str, accept: &str) -> (Response, String) {
    let url = format!("/launch/runs/{run}/events?follow=true&project_id={}", scene.project);
    let mut stream = http().get(server.url_of(&url)).header("accept", accept).send().await.unwrap();
    let mut begun = String::new();
    while !begun.contains("RUN_CREATED") {
        let chunk = stream.chunk().await.unwrap().expect("the stream ended before the run did");
        begun.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    (stream, begun)
}

/// The numbers of the events in a stream of lines.
fn numbers(lines: &str) -> Vec<i64> {
    let events = lines.lines().filter(|line| !line.is_empty()).map(|line| {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"))["seq"].as_i64()
    });
    events.map(|number| number.expect("an event with a number")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_until_the_run_ends() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let (events, mut text) = follow(&server, &scene, &run, "text/event-stream").await;
    let (lines, mut ndjson) = follow(&server, &scene, &run, "application/x-ndjson").await;
    scene.result("launch_open_pr", &run).await;
    text.push_str(&events.text().await.unwrap());
    ndjson.push_str(&lines.text().await.unwrap());
    assert!(text.contains("PR_OPENED") && text.contains("RUN_COMPLETED"), "{text}");
    assert!(text.contains("event: done") && text.contains("\"ended\":true"), "{text}");
    let numbers = numbers(&ndjson);
    let last = *numbers.last().unwrap();
    assert_eq!(numbers, (1..=last).collect::<Vec<_>>(), "each event once, in order");
    assert!(ndjson.contains("RUN_COMPLETED"), "{ndjson}");
    let ids: Vec<String> =
        text.lines().filter_map(|line| Some(line.strip_prefix("id: ")?.to_owned())).collect();
    assert_eq!(
        ids,
        (1..=last).map(|number| number.to_string()).collect::<Vec<_>>(),
        "the ids are the numbers"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_continues_after_the_last_event_that_it_has() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let get = async |query: &str, last: Option<&str>| -> String {
        let url = format!("/launch/runs/{run}/events?project_id={}{query}", scene.project);
        let mut request = http().get(server.url_of(&url)).header("accept", "application/x-ndjson");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        request.send().await.unwrap().text().await.unwrap()
    };
    let all = numbers(&get("", None).await);
    assert_eq!(numbers(&get("", Some("5")).await), all[5..]);
    assert_eq!(numbers(&get("&after=2", Some("5")).await), all[5..], "the header is newer than the address");
    for wrong in ["x", "-1", "9999999999"] {
        let refused = get("", Some(wrong)).await;
        assert!(refused.contains("INVALID_REQUEST"), "{wrong}: {refused}");
    }
    let refused = get("&follow=perhaps", None).await;
    assert!(refused.contains("INVALID_REQUEST"), "{refused}");
    // Without the wish to follow, a stream of a run that has not ended says so at its end.
    let url = server.url_of(&format!("/launch/runs/{run}/events?project_id={}", scene.project));
    let text = http().get(url).send().await.unwrap().text().await.unwrap();
    assert!(text.contains("\"ended\":false"), "{text}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_client_with_the_server_and_without_a_run() {
    let scene = Scene::new().await;
    let run = scene.ready("shop").await;
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let (stream, _) = follow(&server, &scene, &run, "text/event-stream").await;
    assert_eq!(scene.app.calls.load(Ordering::Acquire), 1);
    drop(stream);
    wait_for("the call of a client that has left to end", async || {
        scene.app.calls.load(Ordering::Acquire) == 0
    })
    .await;

    let absent = format!("/launch/runs/{}/events?follow=true", crate::valid_arguments::ABSENT_RUN);
    let absent = format!("{absent}&project_id={}", scene.project);
    let text = http().get(server.url_of(&absent)).send().await.unwrap().text().await.unwrap();
    assert!(text.contains("event: error") && text.contains("RUN_NOT_FOUND"), "{text}");

    let (stream, mut text) = follow(&server, &scene, &run, "text/event-stream").await;
    let stopped = tokio::spawn(server.stop());
    text.push_str(&stream.text().await.unwrap());
    assert!(text.contains("event: done") && text.contains("\"ended\":false"), "{text}");
    stopped.await.unwrap();
}
