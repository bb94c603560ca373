//! Slow, broken, greedy and leaving clients: each gets its answer, and nobody else notices.

use std::time::Duration;

use pairofcleats::app::Bulkhead;
use serde_json::{Value, json};
use tenancy::Principal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::fixtures::{tools, until, waiting};
use super::{Served, answer};
use crate::harness::http;

/// Short patience, so that the tests need little of it.
async fn impatient() -> Served {
    Served::start(|config| {
        config.server.first_byte_ms = 200;
        config.server.header_ms = 300;
        config.server.body_chunk_ms = 300;
        config.server.body_ms = 1500;
    })
    .await
}

/// What the server writes until it closes.
async fn rest(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    // A reset is an end, too.
    let ended = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut text)).await;
    assert!(ended.is_ok(), "the connection stays open");
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes `part` every `pause` until the server has had enough; what it said.
async fn trickle(served: &Served, begin: &str, part: &str, pause: u64) -> String {
    let stream = TcpStream::connect(served.address()).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    writer.write_all(begin.as_bytes()).await.unwrap();
    let mut said = Vec::new();
    let talk = async {
        for _ in 0..2000 {
            if writer.write_all(part.as_bytes()).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    };
    tokio::select! {
        _ = reader.read_to_end(&mut said) => {}
        () = talk => panic!("the server listened for as long as anybody talked"),
    }
    String::from_utf8_lossy(&said).into_owned()
}

async fn is_well(served: &Served) {
    assert_eq!(http().get(served.at("/health")).send().await.unwrap().status(), 200);
}

const POST: &str =
    "POST /tools/check_status HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_are_not_waited_for() {
    let served = impatient().await;
    let silent = TcpStream::connect(served.address()).await.unwrap();
    assert_eq!(rest(silent).await, "", "a connection that says nothing is closed");
    let header = trickle(&served, "GET /health HTTP/1.1\r\nHost: localhost\r\n", "X: y\r\n", 40).await;
    assert!(!header.contains("200 OK"), "a header that does not end: {header}");
    let body = trickle(&served, &format!("{POST}Content-Length: 100000\r\n\r\n{{"), " ", 40).await;
    assert!(
        body.starts_with("HTTP/1.1 408") && body.contains("INVALID_REQUEST"),
        "a body that takes too long in all: {body}"
    );
    let mut stopped = TcpStream::connect(served.address()).await.unwrap();
    stopped.write_all(format!("{POST}Content-Length: 10\r\n\r\n{{").as_bytes()).await.unwrap();
    let answer = rest(stopped).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "a body that stops: {answer}");
    let mut half = TcpStream::connect(served.address()).await.unwrap();
    half.write_all(format!("{POST}Content-Length: 10\r\n\r\n{{").as_bytes()).await.unwrap();
    half.shutdown().await.unwrap();
    let answer = rest(half).await;
    assert!(!answer.contains("200 OK"), "a client that closed its side: {answer}");
    is_well(&served).await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_may_be_used_again() {
    let served = impatient().await;
    let mut stream = TcpStream::connect(served.address()).await.unwrap();
    for _ in 0..3 {
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut answer = vec![0; 4096];
        let read = stream.read(&mut answer).await.unwrap();
        assert!(answer[..read].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer[..read]));
        // Longer than a header may take: that time runs only from its first byte.
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused_unread() {
    let served = Served::start(|_| {}).await;
    let mut declared = TcpStream::connect(served.address()).await.unwrap();
    declared.write_all(format!("{POST}Content-Length: 1000000000\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let read = declared.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("INVALID_REQUEST"), "{answer}");
    let mut headers = TcpStream::connect(served.address()).await.unwrap();
    let flood =
        format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Flood: {}\r\n\r\n", "x".repeat(1 << 20));
    let _ = headers.write_all(flood.as_bytes()).await;
    let answer = rest(headers).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    let garbage = TcpStream::connect(served.address()).await.unwrap();
    let (reader, mut writer) = garbage.into_split();
    writer.write_all(b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n").await.unwrap();
    let answer = rest(reader.reunite(writer).unwrap()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    is_well(&served).await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_connections_are_refused_in_order() {
    let served = Served::start(|config| {
        config.server.connections_max = 100;
        config.server.connections_per_address_max = 50;
    })
    .await;
    let mut open = Vec::new();
    for _ in 0..1000 {
        open.push(TcpStream::connect(served.address()).await.unwrap());
    }
    let mut refused = 0;
    for stream in open.drain(50..) {
        let said = rest(stream).await;
        // Beyond the refusals at a time, a connection is just closed.
        if !said.is_empty() {
            let (head, body) = said.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 503") && head.contains("Retry-After: 1"), "{head}");
            let body: Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["error"]["code"], "QUEUE_OVERLOADED");
            refused += 1;
        }
    }
    assert!(refused > 0, "some read why");
    let mut first = open.swap_remove(0);
    first.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    assert!(rest(first).await.starts_with("HTTP/1.1 200"), "who was let in is served");
    drop(open);
    until("the places to be free", || served.app.connections.load(std::sync::atomic::Ordering::Relaxed) == 0)
        .await;
    is_well(&served).await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_is_503_and_probes_still_answer() {
    let served = Served::start(|config| {
        config.queue.search_running = 1;
        config.queue.search_waiting_max = 0;
    })
    .await;
    let held = served.app.queues.admit(Bulkhead::Search, &Principal::local()).await.unwrap();
    let request = http().post(served.at("/search")).json(&json!({ "query": "x" }));
    let response = request.send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()["retry-after"].to_str().unwrap()), (503, "1"));
    let body: Value = response.json().await.unwrap();
    assert_eq!(
        (&body["error"]["code"], &body["error"]["retryable"]),
        (&json!("QUEUE_OVERLOADED"), &json!(true))
    );
    assert_eq!(body["error"]["details"]["queue"], json!({ "max": 1, "size": 1 }));
    is_well(&served).await;
    assert_eq!(served.call(None, "check_status", json!({})).await.0, 200, "it takes no place");
    drop(held);
    let (_, body) = answer(http().post(served.at("/search")).json(&json!({ "query": "x" }))).await;
    assert_ne!(body["error"]["code"], "QUEUE_OVERLOADED");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_lets_calls_end_and_then_ends_them() {
    let served = Served::with_tools(tools(), |config| config.server.drain_ms = 3000).await;
    let session = served.open("/mcp", None).await;
    let short = {
        let session = session.clone();
        tokio::spawn(async move { session.call(1, "waits", json!({ "tag": "short", "ms": 600 })).await })
    };
    let long = {
        let session = session.clone();
        tokio::spawn(async move { session.call(2, "waits", json!({ "tag": "long" })).await })
    };
    until("both to run", || waiting("short") + waiting("long") == 2).await;
    let app = std::sync::Arc::clone(&served.app);
    served.stop().await;
    let short = short.await.unwrap();
    assert_eq!(
        short["result"]["structuredContent"]["result"],
        json!({ "waited": true }),
        "a call may end: {short:#}"
    );
    assert_eq!(waiting("short"), 0);
    assert!(app.shutdown.is_cancelled(), "the stop ended, although a call runs for ten minutes");
    drop(long.await);
    until("the work to be put down", || waiting("long") == 0).await;
}
