//! A client that is refused while it still sends can read the refusal. Uses raw sockets, as clients without an SDK would.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::TestServer;

/// Far more than a socket buffer holds, so that a server that closes too early would break the client's connection.
const BODY_BYTES: usize = 32 << 20;

/// Writes all of `head` and `body` before reading. Returns the status line and the envelope.
async fn write_then_read(server: &TestServer, head: &str, body: &[u8]) -> (String, Value) {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    for part in body.chunks(64 << 10) {
        stream.write_all(part).await.unwrap_or_else(|error| panic!("{head}: the connection broke: {error}"));
    }
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut answer)).await;
    read.expect("the connection was not closed").unwrap_or_else(|error| panic!("{head}: {error}"));
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let body = body.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    (head.lines().next().unwrap_or_default().to_owned(), serde_json::from_str(body).unwrap_or_default())
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let mut chunks = Vec::with_capacity(body.len() + body.len() / 1000);
    for part in body.chunks(64 << 10) {
        chunks.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        chunks.extend_from_slice(part);
        chunks.extend_from_slice(b"\r\n");
    }
    chunks.extend_from_slice(b"0\r\n\r\n");
    chunks
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_everything_first_can_read_the_refusal() {
    let server = TestServer::start(|_| {}).await;
    let body = vec![b' '; BODY_BYTES];
    let chunks = chunked(&body);
    for (path, status) in [
        ("/tools/check_status", 413),
        ("/search", 413),
        ("/search/stream", 413),
        ("/mcp", 413),
        ("/messages?sessionId=none", 413),
        ("/nope", 404),
        ("/health", 405),
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n"
        );
        for (framing, header, body) in [
            ("a length", format!("Content-Length: {BODY_BYTES}\r\n\r\n"), &body),
            ("chunks", "Transfer-Encoding: chunked\r\n\r\n".to_owned(), &chunks),
            ("100-continue", format!("Content-Length: {BODY_BYTES}\r\nExpect: 100-continue\r\n\r\n"), &body),
        ] {
            let (line, answer) = write_then_read(&server, &format!("{head}{header}"), body).await;
            assert!(line.starts_with(&format!("HTTP/1.1 {status} ")), "{path} with {framing}: {line}");
            let code = answer["error"]["data"]["code"].as_str().or(answer["error"]["code"].as_str());
            let expected = if status == 404 { "NOT_FOUND" } else { "INVALID_REQUEST" };
            assert_eq!(code, Some(expected), "{path} with {framing}: {answer:#}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_body_of_a_refused_request_is_read_within_bounds() {
    let server = TestServer::start(|config| {
        config.server.unread_bytes_max = 1 << 20;
        config.server.unread_ms = 500;
    })
    .await;
    let head = "POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000000000\r\n\r\n";
    // A body that never ends is cut off after `unread_bytes_max` …
    let mut greedy = TcpStream::connect(server.address()).await.unwrap();
    greedy.write_all(head.as_bytes()).await.unwrap();
    let mut sent = 0usize;
    while greedy.write_all(&[b' '; 64 << 10]).await.is_ok() {
        sent += 64 << 10;
        assert!(sent < 1 << 30, "the server never closes the connection");
    }
    // … and a client that neither sends nor closes is cut off after `unread_ms`.
    let mut silent = TcpStream::connect(server.address()).await.unwrap();
    silent.write_all(head.as_bytes()).await.unwrap();
    super::fixtures::wait_until("both connections to be closed", || {
        server.app.connections.load(std::sync::atomic::Ordering::Relaxed) == 0
    })
    .await;
    let mut answer = String::new();
    silent.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.to_ascii_lowercase().contains("connection: close"), "{answer}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_over_the_limit_can_read_the_refusal() {
    let server = TestServer::start(|config| config.server.connections_max = 1).await;
    let first = TcpStream::connect(server.address()).await.unwrap();
    super::fixtures::wait_until("the first connection", || {
        server.app.connections.load(std::sync::atomic::Ordering::Relaxed) == 1
    })
    .await;
    let body = vec![b' '; 1 << 20];
    for _ in 0..5 {
        let head =
            format!("POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
        let (line, answer) = write_then_read(&server, &head, &body).await;
        assert!(line.starts_with("HTTP/1.1 503 "), "{line}");
        assert_eq!(answer["error"]["code"], "QUEUE_OVERLOADED");
    }
    drop(first);
    server.stop().await;
}
