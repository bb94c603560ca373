//! Slow, broken and disconnecting clients: each is handled within bounds, and other clients are not affected.

use std::time::Duration;

use gate::app::Bulkhead;
use serde_json::{Value, json};
use tenancy::Principal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::fixtures::{tools, wait_until, waiting};
use super::{TestServer, send_json};
use crate::harness::http;

/// A server with short timeouts, so that the tests are fast.
async fn server_with_short_timeouts() -> TestServer {
    TestServer::start(|config| {
        config.server.first_byte_ms = 200;
        config.server.header_ms = 300;
        config.server.body_chunk_ms = 300;
        config.server.body_ms = 1500;
    })
    .await
}

/// Reads until the server closes the connection.
async fn read_until_closed(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    // A reset also ends the connection.
    let ended = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut text)).await;
    assert!(ended.is_ok(), "the connection stays open");
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes `part` every `pause` milliseconds until the server closes the connection. Returns what the server sent.
async fn write_slowly(server: &TestServer, begin: &str, part: &str, pause: u64) -> String {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    writer.write_all(begin.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    let write = async {
        for _ in 0..2000 {
            if writer.write_all(part.as_bytes()).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    };
    tokio::select! {
        _ = reader.read_to_end(&mut received) => {}
        () = write => panic!("the server never closed the connection"),
    }
    String::from_utf8_lossy(&received).into_owned()
}

async fn assert_healthy(server: &TestServer) {
    assert_eq!(http().get(server.url_of("/health")).send().await.unwrap().status(), 200);
}

const POST: &str =
    "POST /tools/check_status HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

/// Requests that reach no route are answered with the error envelope, too.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_cannot_be_parsed_get_an_error_body() {
    let server = TestServer::start(|_| {}).await;
    let long = "x".repeat(100_000);
    for (request, status, message) in [
        ("NONSENSE\r\n\r\n".to_owned(), "400", "not valid HTTP/1.1"),
        ("GET / HTTP/1.1\r\nHost localhost\r\n\r\n".to_owned(), "400", "not valid HTTP/1.1"),
        ("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n".to_owned(), "400", "not valid HTTP/1.1"),
        (
            format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            "414",
            "address of the request is too long",
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X-A: b\r\n".repeat(200)),
            "431",
            "headers of the request are too large",
        ),
    ] {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        // The server may answer before it has read everything.
        let _ = stream.write_all(request.as_bytes()).await;
        let answer = read_until_closed(stream).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{}: {answer}",
            &request[..20.min(request.len())]
        );
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.to_lowercase().contains(&format!("content-length: {}", body.len())), "{head}");
        let envelope: Value = serde_json::from_str(body).unwrap();
        assert_eq!((&envelope["ok"], &envelope["error"]["code"]), (&json!(false), &json!("INVALID_REQUEST")));
        assert!(envelope["error"]["message"].as_str().unwrap().contains(message), "{envelope:#}");
        assert!(
            envelope["error"]["hint"].is_string() && envelope["_meta"]["requestId"].is_string(),
            "{envelope:#}"
        );
    }
    assert_healthy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_are_disconnected() {
    let server = server_with_short_timeouts().await;
    let silent = TcpStream::connect(server.address()).await.unwrap();
    assert_eq!(read_until_closed(silent).await, "", "a silent connection is closed");
    let header = write_slowly(&server, "GET /health HTTP/1.1\r\nHost: localhost\r\n", "X: y\r\n", 40).await;
    assert!(!header.contains("200 OK"), "a header that does not end: {header}");
    let body = write_slowly(&server, &format!("{POST}Content-Length: 100000\r\n\r\n{{"), " ", 40).await;
    assert!(
        body.starts_with("HTTP/1.1 408") && body.contains("INVALID_REQUEST"),
        "a body that takes too long in all: {body}"
    );
    let mut stopped = TcpStream::connect(server.address()).await.unwrap();
    stopped.write_all(format!("{POST}Content-Length: 10\r\n\r\n{{").as_bytes()).await.unwrap();
    let answer = read_until_closed(stopped).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "a body that stops: {answer}");
    let mut half = TcpStream::connect(server.address()).await.unwrap();
    half.write_all(format!("{POST}Content-Length: 10\r\n\r\n{{").as_bytes()).await.unwrap();
    half.shutdown().await.unwrap();
    let answer = read_until_closed(half).await;
    assert!(!answer.contains("200 OK"), "a client that closed its side: {answer}");
    assert_healthy(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_can_be_reused() {
    let server = server_with_short_timeouts().await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    for _ in 0..3 {
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut answer = vec![0; 4096];
        let read = stream.read(&mut answer).await.unwrap();
        assert!(answer[..read].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer[..read]));
        // Longer than the header timeout, which only starts with the first byte of a request.
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn oversized_requests_are_refused_unread() {
    let server = TestServer::start(|_| {}).await;
    let mut declared = TcpStream::connect(server.address()).await.unwrap();
    declared.write_all(format!("{POST}Content-Length: 1000000000\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let read = declared.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("INVALID_REQUEST"), "{answer}");
    let mut headers = TcpStream::connect(server.address()).await.unwrap();
    let flood =
        format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Flood: {}\r\n\r\n", "x".repeat(1 << 20));
    let _ = headers.write_all(flood.as_bytes()).await;
    let answer = read_until_closed(headers).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    let garbage = TcpStream::connect(server.address()).await.unwrap();
    let (reader, mut writer) = garbage.into_split();
    writer.write_all(b"\x16\x03\x01\x02\x00 this is not HTTP\r\n\r\n").await.unwrap();
    let answer = read_until_closed(reader.reunite(writer).unwrap()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_healthy(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_over_the_limit_get_503_and_open_ones_are_served() {
    let server = TestServer::start(|config| {
        config.server.connections_max = 100;
        config.server.connections_per_address_max = 50;
    })
    .await;
    let mut open = Vec::new();
    for _ in 0..1000 {
        open.push(TcpStream::connect(server.address()).await.unwrap());
    }
    let mut refused = 0;
    for stream in open.drain(50..) {
        let received = read_until_closed(stream).await;
        // Only some refusals are written at a time; other connections are just closed.
        if !received.is_empty() {
            let (head, body) = received.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 503") && head.contains("Retry-After: 1"), "{head}");
            let body: Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["error"]["code"], "QUEUE_OVERLOADED");
            refused += 1;
        }
    }
    assert!(refused > 0, "at least one refusal was written");
    let mut first = open.swap_remove(0);
    first.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    assert!(read_until_closed(first).await.starts_with("HTTP/1.1 200"), "an accepted connection is served");
    drop(open);
    wait_until("the connection slots to be free", || {
        server.app.connections.load(std::sync::atomic::Ordering::Relaxed) == 0
    })
    .await;
    assert_healthy(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_is_503_and_probes_still_answer() {
    let server = TestServer::start(|config| {
        config.queue.search_running = 1;
        config.queue.search_waiting_max = 0;
    })
    .await;
    let permit = server.app.queues.admit(Bulkhead::Search, &Principal::local()).await.unwrap();
    let request = http().post(server.url_of("/search")).json(&json!({ "query": "x" }));
    let response = request.send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()["retry-after"].to_str().unwrap()), (503, "1"));
    let body: Value = response.json().await.unwrap();
    assert_eq!(
        (&body["error"]["code"], &body["error"]["retryable"]),
        (&json!("QUEUE_OVERLOADED"), &json!(true))
    );
    assert_eq!(body["error"]["details"]["queue"], json!({ "max": 1, "size": 1 }));
    assert_healthy(&server).await;
    assert_eq!(server.call(None, "check_status", json!({})).await.0, 200, "it needs no place in the queue");
    drop(permit);
    let (_, body) = send_json(http().post(server.url_of("/search")).json(&json!({ "query": "x" }))).await;
    assert_ne!(body["error"]["code"], "QUEUE_OVERLOADED");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_waits_for_calls_then_aborts_them() {
    let server = TestServer::with_tools(tools(), |config| config.server.drain_ms = 3000).await;
    let session = server.open("/mcp", None).await;
    let short = {
        let session = session.clone();
        tokio::spawn(async move { session.call(1, "waits", json!({ "tag": "short", "ms": 600 })).await })
    };
    let long = {
        let session = session.clone();
        tokio::spawn(async move { session.call(2, "waits", json!({ "tag": "long", "ms": 600_000 })).await })
    };
    wait_until("both to run", || waiting("short") + waiting("long") == 2).await;
    server.stop().await;
    let short = short.await.unwrap();
    assert_eq!(
        short["result"]["structuredContent"]["result"],
        json!({ "waited": true }),
        "the short call ends normally: {short:#}"
    );
    assert_eq!(waiting("short"), 0);
    // Without an abort the stop would have waited the ten minutes until the call ends. The client may also lose its connection.
    let waited_to_the_end =
        long.await.is_ok_and(|answer| answer["result"]["structuredContent"]["result"]["waited"] == true);
    assert!(!waited_to_the_end, "the long call was not aborted");
    wait_until("the long call to be aborted", || waiting("long") == 0).await;
}
