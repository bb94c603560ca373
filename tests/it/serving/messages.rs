//! Ambiguous messages, duplicate ids, and messages that would cause long answers: refused as the protocol says, and the session
//! continues.

use reqwest::Response;
use serde_json::{Value, json};

use super::fixtures::{tools, wait_until, waiting};
use super::{ACCEPT, Session, TestServer, initialize_request, last_message};
use crate::harness::http;

async fn post(server: &TestServer, session: Option<&Session>, body: String) -> Response {
    let request = http()
        .post(server.url_of("/mcp"))
        .header("accept", ACCEPT)
        .header("content-type", "application/json");
    let request = match session {
        Some(session) => request.header("mcp-session-id", &session.id),
        None => request,
    };
    request.body(body).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_request_with_an_id_in_flight_is_refused_and_the_first_continues() {
    let server = TestServer::with_tools(tools(), |config| config.timeouts.search_ms = 0).await;
    let session = server.open("/mcp", None).await;
    let first = {
        let session = session.clone();
        tokio::spawn(async move { session.call(7, "waits", json!({ "tag": "ids" })).await })
    };
    wait_until("the first to run", || waiting("ids") == 1).await;
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
    assert_eq!(other["result"]["structuredContent"]["ok"], true, "the string `7` is another id: {other:#}");
    session.post(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 7 } })).await;
    let first = first.await.unwrap();
    assert_eq!(
        (&first["id"], &first["result"]["structuredContent"]["error"]["code"]),
        (&json!(7), &json!("CANCELLED"))
    );
    let again = session.call(7, "echoes", json!({ "x": 1 })).await;
    assert_eq!(
        again["result"]["structuredContent"]["ok"], true,
        "the id is free after the answer: {again:#}"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_bodies_are_refused_with_json_rpc_errors() {
    let server = TestServer::start(|_| {}).await;
    let with_byte_order_mark = post(&server, None, format!("\u{feff}{}", initialize_request())).await;
    assert_eq!(with_byte_order_mark.status(), 200, "a byte order mark is ignored");
    let session = server.open("/mcp", None).await;
    let with_byte_order_mark =
        post(&server, Some(&session), "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".into())
            .await;
    assert_eq!(last_message(with_byte_order_mark).await["result"], json!({}));
    let long = "x".repeat(900_000);
    let call_with = |extra: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"check_status","arguments":{{}}{extra}}}}}"#
        )
    };
    for (body, number) in [
        (r#"{"jsonrpc":"2.0","id":3,"method":"ping","method":"tools/list"}"#.to_owned(), -32600),
        (call_with(r#","name":"search""#), -32600),
        (call_with(&format!(r#","_meta":{{"progressToken":"{long}"}}"#)), -32602),
    ] {
        for session in [Some(&session), None] {
            let response = post(&server, session, body.clone()).await;
            assert_eq!(response.status(), 400);
            let answer: Value = response.json().await.unwrap();
            let error = &answer["error"];
            assert_eq!((&error["code"], &answer["id"]), (&json!(number), &json!(3)), "{answer:#}");
            assert_eq!(error["data"]["code"], "INVALID_REQUEST", "{answer:#}");
            assert!(answer.to_string().len() < 2000);
        }
    }
    server.stop().await;
}
