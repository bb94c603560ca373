//! Sign-ins and refused keys are audited, and everything that names a caller is within the rate limit.

use std::time::Duration;

use contract::config::Required;
use reqwest::{StatusCode, header};
use serde_json::{Value, json};
use store::audit::{self, AuditFilter, AuditRow};
use tenancy::Scope;

use super::access::{issue_key, issue_key_with};
use super::fixtures::wait_until;
use super::{ACCEPT, TestServer, initialize_request, send_json, with_key};
use crate::harness::http;

/// The audited entries of one kind with this text in their name, newest first; waits until there are as many.
async fn entries(server: &TestServer, action: &str, name: &str, count: usize) -> Vec<AuditRow> {
    for _ in 0..200 {
        let mut control = server.app.store().await.unwrap().control_read().await.unwrap();
        let filter = AuditFilter { principal: Some(name), tool: Some(action), ..AuditFilter::default() };
        let rows = audit::list(&mut control, filter, 100).await.unwrap();
        control.commit().await.unwrap();
        if rows.len() >= count {
            return rows;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{action} of {name} was not audited {count} times");
}

async fn sign_in(server: &TestServer, key: &str) -> StatusCode {
    super::pages::sign_in(server, key, "/").await.status()
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_ins_and_refused_keys_are_audited() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    server.app.start_background();
    wait_until("the audit table's writer", || server.app.has_embedder()).await;
    let (id, key) = issue_key(&server.app, &[], &[Scope::Search]).await;
    assert_eq!(sign_in(&server, &key).await, StatusCode::SEE_OTHER);
    let good = entries(&server, "sign-in", &format!("key:{id}"), 1).await;
    assert_eq!((good[0].outcome.as_str(), good[0].surface.as_str()), ("ok", "http"));
    assert_eq!((good[0].name.as_str(), good[0].request_id.is_some()), ("test from 127.0.0.1", true));

    // Its public part is right, the secret is not.
    let wrong = format!("{}{}", &key[..key.len() - 4], if key.ends_with("0000") { "1111" } else { "0000" });
    assert_eq!(sign_in(&server, &wrong).await, StatusCode::UNAUTHORIZED);
    let claimed = format!("key:{id} from 127.0.0.1");
    let bad = entries(&server, "sign-in", &claimed, 1).await;
    assert_eq!((bad[0].principal.as_str(), bad[0].outcome.as_str()), ("nobody", "UNAUTHORIZED"));
    assert_eq!(bad[0].name, claimed);

    let (status, _) = server.call(Some(&wrong), "search", json!({ "query": "x" })).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let refused = entries(&server, "credential", &claimed, 1).await;
    assert_eq!((refused[0].principal.as_str(), refused[0].outcome.as_str()), ("nobody", "UNAUTHORIZED"));
    // A password that was typed by mistake is not written down.
    assert_eq!(sign_in(&server, "hunter2\u{0}").await, StatusCode::UNAUTHORIZED);
    let typed = entries(&server, "sign-in", "a token from 127.0.0.1", 1).await;
    assert!(typed.iter().all(|row| !row.name.contains("hunter2")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_call_counts_towards_the_limit_too() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let limited = async |calls| {
        issue_key_with(&server.app, &[], &[Scope::Search], |new| new.calls_per_minute = Some(calls)).await.1
    };
    let key = limited(2).await;
    let initialize = async |key: &str| {
        let request = with_key(http().post(server.url_of("/mcp")), Some(key)).header("accept", ACCEPT);
        request.json(&initialize_request()).send().await.unwrap()
    };
    assert_eq!(initialize(&key).await.status(), 200);
    assert_eq!(initialize(&key).await.status(), 200);
    let refused = initialize(&key).await;
    assert_eq!(refused.status(), 429);
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["error"]["data"]["code"], "RATE_LIMITED", "{refused:#}");

    let key = limited(4).await;
    let session = server.open("/mcp", Some(&key)).await;
    let list = async |id: i64| session.request(id, "tools/list", json!({})).await;
    assert!(list(1).await["result"].is_object() && list(2).await["result"].is_object());
    assert!(session.request(3, "prompts/list", json!({})).await["result"].is_object());
    let again = json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/list" });
    let refused: Value = session.post(again).await.json().await.unwrap();
    let code = (&refused["error"]["code"], &refused["error"]["data"]["code"]);
    assert_eq!(code, (&json!(-32004), &json!("RATE_LIMITED")), "{refused:#}");

    let key = limited(1).await;
    let tools = async || send_json(with_key(http().get(server.url_of("/tools")), Some(&key))).await;
    assert_eq!((tools().await.0, tools().await.0), (StatusCode::OK, StatusCode::TOO_MANY_REQUESTS));

    let key = limited(1).await;
    assert_eq!(sign_in(&server, &key).await, StatusCode::SEE_OTHER);
    assert_eq!(sign_in(&server, &key).await, StatusCode::TOO_MANY_REQUESTS);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_cannot_be_tried_without_end() {
    let server = TestServer::start(|config| {
        config.access.required = Required::Always;
        config.access.calls_per_minute = 5;
    })
    .await;
    let (_, good) =
        issue_key_with(&server.app, &[], &[Scope::Search], |new| new.calls_per_minute = Some(100)).await;
    let guess = async |number: usize| {
        let key = format!("poc_{}_{number:064x}", "0a".repeat(6));
        let response = with_key(http().get(server.url_of("/tools")), Some(&key)).send().await.unwrap();
        (response.status(), response.headers().contains_key(header::RETRY_AFTER))
    };
    for number in 0..5 {
        assert_eq!(guess(number).await, (StatusCode::UNAUTHORIZED, false), "{number}");
    }
    assert_eq!(guess(5).await, (StatusCode::TOO_MANY_REQUESTS, true));
    assert_eq!(sign_in(&server, "guess").await, StatusCode::TOO_MANY_REQUESTS);
    let (status, _) = send_json(with_key(http().get(server.url_of("/tools")), Some(&good))).await;
    assert_eq!(status, 200, "who has a key is not held up by others at the same address");
    server.stop().await;
}
