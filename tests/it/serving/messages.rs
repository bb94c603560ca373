//! Messages that could be taken for others, or that ask for long answers: refused as the protocol has it, and the session goes on.

use reqwest::Response;
use serde_json::{Value, json};

use super::fixtures::{tools, until, waiting};
use super::{ACCEPT, Served, Session, hello, message};
use crate::harness::http;

async fn post(served: &Served, session: Option<&Session>, body: String) -> Response {
    let request =
        http().post(served.at("/mcp")).header("accept", ACCEPT).header("content-type", "application/json");
    let request = match session {
        Some(session) => request.header("mcp-session-id", &session.id),
        None => request,
    };
    request.body(body).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_request_with_an_id_in_flight_is_refused_and_the_first_goes_on() {
    let served = Served::with_tools(tools(), |config| config.timeouts.search_ms = 0).await;
    let session = served.open("/mcp", None).await;
    let first = {
        let session = session.clone();
        tokio::spawn(async move { session.call(7, "waits", json!({ "tag": "ids" })).await })
    };
    until("the first to run", || waiting("ids") == 1).await;
    for _ in 0..3 {
        let second = session.call(7, "echoes", json!({})).await;
        let (code, data) = (&second["error"]["code"], &second["error"]["data"]["code"]);
        assert_eq!(
            (code, data, &second["id"]),
            (&json!(-32600), &json!("INVALID_REQUEST"), &json!(7)),
            "{second:#}"
        );
    }
    assert_eq!(waiting("ids"), 1);
    let other = session.call("7", "echoes", json!({ "x": 1 })).await;
    assert_eq!(other["result"]["structuredContent"]["ok"], true, "a text is another id: {other:#}");
    session.post(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 7 } })).await;
    let first = first.await.unwrap();
    assert_eq!(
        (&first["id"], &first["result"]["structuredContent"]["error"]["code"]),
        (&json!(7), &json!("CANCELLED"))
    );
    let again = session.call(7, "echoes", json!({ "x": 1 })).await;
    assert_eq!(again["result"]["structuredContent"]["ok"], true, "answered, it is free again: {again:#}");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_read_in_two_ways_are_refused_in_the_protocols_words() {
    let served = Served::start(|_| {}).await;
    let marked = post(&served, None, format!("\u{feff}{}", hello())).await;
    assert_eq!(marked.status(), 200, "a mark before the text says nothing");
    let session = served.open("/mcp", None).await;
    let marked =
        post(&served, Some(&session), "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".into())
            .await;
    assert_eq!(message(marked).await["result"], json!({}));
    let long = "x".repeat(900_000);
    let called = |more: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"check_status","arguments":{{}}{more}}}}}"#
        )
    };
    for (body, number) in [
        (r#"{"jsonrpc":"2.0","id":3,"method":"ping","method":"tools/list"}"#.to_owned(), -32600),
        (called(r#","name":"search""#), -32600),
        (called(&format!(r#","_meta":{{"progressToken":"{long}"}}"#)), -32602),
    ] {
        for session in [Some(&session), None] {
            let response = post(&served, session, body.clone()).await;
            assert_eq!(response.status(), 400);
            let answer: Value = response.json().await.unwrap();
            let error = &answer["error"];
            assert_eq!((&error["code"], &answer["id"]), (&json!(number), &json!(3)), "{answer:#}");
            assert_eq!(error["data"]["code"], "INVALID_REQUEST", "{answer:#}");
            assert!(answer.to_string().len() < 2000);
        }
    }
    served.stop().await;
}
