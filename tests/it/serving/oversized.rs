//! A client that still sends when it is refused reads its refusal: with raw sockets, as clients without an SDK write.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Served;

/// Far more than a socket buffers, so that a server which closes early breaks the client's pipe.
const BODY_BYTES: usize = 32 << 20;

/// Writes all of `head` and `body` before it reads anything; status line and envelope of the answer.
async fn write_then_read(served: &Served, head: &str, body: &[u8]) -> (String, Value) {
    let mut stream = TcpStream::connect(served.address()).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    for part in body.chunks(64 << 10) {
        stream.write_all(part).await.unwrap_or_else(|error| panic!("{head}: the pipe broke: {error}"));
    }
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut answer)).await;
    read.expect("an end").unwrap_or_else(|error| panic!("{head}: {error}"));
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
async fn a_client_that_sends_all_first_reads_why_it_was_refused() {
    let served = Served::start(|_| {}).await;
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
        for (how, header, body) in [
            ("a length", format!("Content-Length: {BODY_BYTES}\r\n\r\n"), &body),
            ("chunks", "Transfer-Encoding: chunked\r\n\r\n".to_owned(), &chunks),
            ("100-continue", format!("Content-Length: {BODY_BYTES}\r\nExpect: 100-continue\r\n\r\n"), &body),
        ] {
            let (line, answer) = write_then_read(&served, &format!("{head}{header}"), body).await;
            assert!(line.starts_with(&format!("HTTP/1.1 {status} ")), "{path} with {how}: {line}");
            let code = answer["error"]["data"]["code"].as_str().or(answer["error"]["code"].as_str());
            let expected = if status == 404 { "NOT_FOUND" } else { "INVALID_REQUEST" };
            assert_eq!(code, Some(expected), "{path} with {how}: {answer:#}");
        }
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_refused_client_sends_is_read_within_bounds() {
    let served = Served::start(|config| {
        config.server.unread_bytes_max = 1 << 20;
        config.server.unread_ms = 500;
    })
    .await;
    let head = "POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000000000\r\n\r\n";
    // One that never ends is cut off after so many bytes …
    let mut greedy = TcpStream::connect(served.address()).await.unwrap();
    greedy.write_all(head.as_bytes()).await.unwrap();
    let mut sent = 0usize;
    while greedy.write_all(&[b' '; 64 << 10]).await.is_ok() {
        sent += 64 << 10;
        assert!(sent < 1 << 30, "nobody stops it");
    }
    // … and one that neither sends nor closes after so long.
    let mut silent = TcpStream::connect(served.address()).await.unwrap();
    silent.write_all(head.as_bytes()).await.unwrap();
    super::fixtures::until("both connections to be over", || {
        served.app.connections.load(std::sync::atomic::Ordering::Relaxed) == 0
    })
    .await;
    let mut answer = String::new();
    silent.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.to_ascii_lowercase().contains("connection: close"), "{answer}");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_too_many_reads_why_it_was_refused() {
    let served = Served::start(|config| config.server.connections_max = 1).await;
    let first = TcpStream::connect(served.address()).await.unwrap();
    super::fixtures::until("the first connection", || {
        served.app.connections.load(std::sync::atomic::Ordering::Relaxed) == 1
    })
    .await;
    let body = vec![b' '; 1 << 20];
    for _ in 0..5 {
        let head =
            format!("POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
        let (line, answer) = write_then_read(&served, &head, &body).await;
        assert!(line.starts_with("HTTP/1.1 503 "), "{line}");
        assert_eq!(answer["error"]["code"], "QUEUE_OVERLOADED");
    }
    drop(first);
    served.stop().await;
}
