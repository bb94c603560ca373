//! Progress as clients see it: nothing after a cancel, and the stages of a search over MCP and as server-sent events.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pairofcleats::tools::{self, Caller, Progress, Request, Surface};
use serde_json::{Value, json};
use tenancy::Principal;

use super::fixtures::{muttered, tools, until};
use super::{Served, messages};
use crate::harness::{Repository, app, http, project, result};

#[tokio::test(flavor = "multi_thread")]
async fn after_a_cancel_no_step_is_told() {
    let served = Served::with_tools(tools(), |config| config.mcp.progress_interval_ms = 10).await;
    let session = served.open("/mcp", None).await;
    for (id, cancel) in [
        (4, json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 4 } })),
        (5, json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5 } })),
    ] {
        let tag = format!("mutters-{id}");
        let response = session
            .post(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "mutters", "arguments": { "tag": tag, "ms": 1000 }, "_meta": { "progressToken": "t" } } }))
            .await;
        until("some steps", || muttered(&tag).0 > 10).await;
        session.post(cancel).await;
        let told = messages(response).await;
        let went_on = || muttered(&tag).1.is_some_and(|cancelled_at| muttered(&tag).0 > cancelled_at + 5);
        until("the tool to go on after its cancel", went_on).await;
        let cancelled_at = muttered(&tag).1.unwrap();
        let shown: Vec<u64> = told
            .iter()
            .filter_map(|message| message["params"]["message"].as_str()?.rsplit(' ').next()?.parse().ok())
            .collect();
        assert!(!shown.is_empty(), "{told:#?}");
        assert!(shown.iter().all(|step| *step <= cancelled_at), "cancelled at {cancelled_at}: {shown:?}");
        let answers = told.iter().filter(|message| message["id"] == id).count();
        assert_eq!(answers, usize::from(id == 4), "{told:#?}");
    }
    served.stop().await;
}

const STAGES: [&str; 5] = ["understood", "lexical", "embedding", "dense", "ranked"];

fn ledger() -> Repository {
    Repository::new(&[
        ("ledger.py", "def balance_of_ledger(entries):\n    return sum(entries)\n"),
        ("paint.py", "def paint_rectangle(canvas):\n    canvas.draw()\n"),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_reports_its_stages() {
    let (app, repository, project) = (app(), ledger(), project("stages"));
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let stages = async |tool: &str, arguments: Value| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut request = Request::new(tool, arguments, Caller::local(Surface::Cli));
        let sink = Arc::clone(&seen);
        request.progress = Progress::to(move |update| sink.lock().unwrap().push(update));
        assert!(tools::call(&app, request).await.unwrap().ok);
        let seen = seen.lock().unwrap();
        assert!(seen.windows(2).all(|pair| pair[0].done < pair[1].done), "{seen:?}");
        assert!(
            seen.iter().all(|update| update.total == Some(5.0) && !update.message.is_empty()),
            "{seen:?}"
        );
        seen.iter().map(|update| update.phase).collect::<Vec<_>>()
    };
    let ask = json!({ "query": "where is the balance", "project_id": project });
    assert_eq!(stages("search", ask.clone()).await, STAGES);
    assert_eq!(stages("search_code", ask).await, STAGES);
    let listing = json!({ "query": "type:function", "project_id": project });
    assert_eq!(
        stages("search", listing).await,
        ["understood", "ranked"],
        "without words nothing is looked for"
    );
    result(&app, "build_sqlite_index", json!({ "project_id": project })).await;
    let portable = json!({ "query": "balance", "backend": "sqlite", "project_id": project });
    assert_eq!(stages("search", portable).await, STAGES);
}

/// Events of a stream: name and envelope.
async fn events(served: &Served, arguments: &Value) -> Vec<(String, Value)> {
    let response = http().post(served.at("/search/stream")).json(arguments).send().await.unwrap();
    let text = response.text().await.unwrap();
    let field = |event: &str, name: &str| {
        event.lines().find_map(|line| line.strip_prefix(name)).map(|text| text.trim().to_owned())
    };
    text.split("\n\n")
        .filter_map(|event| {
            let data = field(event, "data:")?;
            Some((field(event, "event:")?, serde_json::from_str(&data).unwrap()))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_a_search_see_how_far_it_is() {
    let (repository, project) = (ledger(), project("told"));
    let ask = json!({ "query": "where is the balance", "project_id": project });
    let index = json!({ "repoPath": repository.root(), "project_id": project });
    // As often as there is something to tell, then once in an hour.
    for (interval, most) in [(0, 5), (3_600_000, 1)] {
        let served = Served::start(|config| config.mcp.progress_interval_ms = interval).await;
        assert_eq!(served.call(None, "build_index", index.clone()).await.1["ok"], true);

        let events = events(&served, &ask).await;
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        let steps = names.iter().filter(|name| **name == "progress").count();
        assert!((1..=most).contains(&steps), "{names:?}");
        let mut expected = vec!["start"];
        expected.extend(vec!["progress"; steps]);
        expected.extend(["result", "done"]);
        assert_eq!(names, expected);
        let told: Vec<&Value> = events[1..=steps].iter().map(|(_, envelope)| &envelope["result"]).collect();
        for step in &told {
            assert!(STAGES.contains(&step["phase"].as_str().unwrap()), "{step}");
            assert!(step["message"].is_string() && step["total"] == 5.0, "{step}");
        }
        assert!(told.windows(2).all(|pair| pair[0]["done"].as_f64() < pair[1]["done"].as_f64()), "{told:?}");
        assert!(events[steps + 1].1["result"]["search"]["hits"].is_array());

        let session = served.open("/mcp", None).await;
        let call = |meta: Value| {
            json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call",
                "params": { "name": "search", "arguments": ask, "_meta": meta } })
        };
        let told = messages(session.post(call(json!({ "progressToken": 1 }))).await).await;
        let (last, steps) = told.split_last().unwrap();
        assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(9), &json!(false)), "{last:#}");
        assert!((1..=most).contains(&steps.len()), "{steps:#?}");
        for step in steps {
            let message = step["params"]["message"].as_str().unwrap();
            assert!(message.starts_with("[search][phase="), "{message}");
            assert_eq!(step["params"]["total"], 5.0, "{step:#}");
        }
        let silent = messages(session.post(call(json!({}))).await).await;
        assert_eq!(silent.len(), 1, "only with a token: {silent:#?}");
        served.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_left_ends_its_search() {
    let served = Served::start(|config| {
        config.queue.search_running = 1;
        config.queue.search_wait_ms = 600_000;
        config.timeouts.search_ms = 0;
    })
    .await;
    let held =
        served.app.queues.admit(pairofcleats::app::Bulkhead::Search, &Principal::local()).await.unwrap();
    let mut response =
        http().post(served.at("/search/stream")).json(&json!({ "query": "x" })).send().await.unwrap();
    let mut said = String::new();
    while !said.contains("queued") {
        let chunk = tokio::time::timeout(Duration::from_secs(60), response.chunk()).await.unwrap();
        said.push_str(std::str::from_utf8(&chunk.unwrap().expect("the stream goes on")).unwrap());
    }
    drop(response);
    let waiting = || served.app.queues.load()[0].1;
    until("the place in the queue to be free", || waiting() == 0).await;
    drop(held);
    served.stop().await;
}
