//! Ambiguous requests, which a proxy could read differently (request smuggling), are refused on every route.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{ACCEPT, TestServer, initialize_request, send_json};
use crate::harness::http;

/// Every kind of route, with a method that it accepts.
const ROUTES: [(&str, &str); 14] = [
    ("GET", "/health"),
    ("GET", "/health/ready"),
    ("GET", "/metrics"),
    ("GET", "/status"),
    ("GET", "/status/stream"),
    ("GET", "/tools"),
    ("POST", "/tools/check_status"),
    ("POST", "/search"),
    ("POST", "/search/stream"),
    ("GET", "/openapi.json"),
    ("POST", "/mcp"),
    ("POST", "/mcp/x/search/readonly"),
    ("GET", "/sse"),
    ("GET", "/no-such-route"),
];

/// Sends raw bytes and returns the status of the answer.
async fn status(server: &TestServer, request: &str) -> u16 {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.unwrap_or_else(|error| panic!("{error}: {request}"));
    std::str::from_utf8(&line[9..]).unwrap().parse().unwrap()
}

/// Header lines that make a request ambiguous.
const AMBIGUOUS: &[&str] = &[
    "Host: localhost\r\nHost: evil.example\r\n",
    "Host: localhost\r\nHost: localhost\r\n",
    "Host: evil.example\r\nHost: localhost\r\n",
    "Host: evil.example@127.0.0.1\r\n",
    "Host: 127.0.0.1:7391.evil.example\r\n",
    "Host: localhost:evil\r\n",
    "Host: 127.0.0.1:99999\r\n",
    "Host: localhost\u{a0}\r\n",
    "Host: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n",
    "Host: localhost\r\nX-API-Key: a\r\nX-API-Key: a\r\n",
    "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: https://evil.example\r\n",
    "Host: localhost\r\nX-PairOfCleats-Project: a\r\nX-PairOfCleats-Project: b\r\n",
    "Host: localhost\r\nMcp-Session-Id: a\r\nMcp-Session-Id: b\r\n",
    "Host: localhost\r\nLast-Event-ID: 1\r\nLast-Event-ID: 2\r\n",
    // Values that are not text.
    "Host: localhost\r\nAuthorization: Bearer \u{e4}\r\n",
    "Host: localhost\r\nX-API-Key: \u{e4}\r\n",
    "Host: localhost\r\nX-PairOfCleats-Project: p\u{e4}\r\n",
    "Host: localhost\r\nX-MCP-Toolsets: search\u{a0}\r\n",
    "Host: localhost\r\nX-MCP-Readonly: true\u{a0}\r\n",
    "Host: localhost\r\nX-MCP-Text: short\u{a0}\r\n",
    "Host: localhost\r\nMcp-Session-Id: \u{e4}\r\n",
    "Host: localhost\r\nMCP-Protocol-Version: 2025-11-25\u{a0}\r\n",
    "Host: localhost\r\nLast-Event-ID: \u{e4}\r\n",
    // Lengths.
    "Host: localhost\r\nContent-Length: 0\r\nContent-Length: 5\r\n",
    "Host: localhost\r\nContent-Length: 0\r\nContent-Length: 0\r\n",
    "Host: localhost\r\nContent-Length: 0, 0\r\n",
    "Host: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "Host: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    "Host: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n",
    "Host: localhost\r\nTransfer-Encoding: gzip, chunked\r\n",
    "Host: localhost\r\nTransfer-Encoding: chunked, chunked\r\n",
    "Host: localhost\r\nTransfer-Encoding: identity, chunked\r\n",
    "Host: localhost\r\nTransfer-Encoding: identity\r\n",
    // Line ends.
    "Host: localhost\n",
    "Host: localhost\nX-A: b\r\n",
    "Host: localhost\r\nX-A: b\n",
    "Host: localhost\r\nX-A: b\nTransfer-Encoding: chunked\r\n",
    "Host: localhost\r\nX-A: b\n\tTransfer-Encoding: chunked\r\n",
    "Host: localhost\r\nX-A: b\rX-C: d\r\n",
];

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_requests_are_refused_on_every_route() {
    let server = TestServer::start(|_| {}).await;
    let port = server.address().rsplit(':').next().unwrap().to_owned();
    let json = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    for (method, path) in ROUTES {
        for lines in AMBIGUOUS {
            let request = format!("{method} {path} HTTP/1.1\r\n{json}{lines}\r\n");
            assert_eq!(status(&server, &request).await, 400, "{method} {path}\n{lines}");
        }
        let bare = format!("{method} {path} HTTP/1.1\nHost: localhost\r\n{json}\r\n");
        assert_eq!(status(&server, &bare).await, 400, "{method} {path}: a request line without CR");
        for (target, host) in [
            ("http://localhost", "evil.example"),
            ("http://evil.example", "localhost"),
            ("http://localhost:1", "localhost:2"),
            ("http://evil@localhost", "localhost"),
            ("http://localhost:evil", "localhost"),
        ] {
            let absolute = format!("{method} {target}{path} HTTP/1.1\r\nHost: {host}\r\n{json}\r\n");
            assert_eq!(status(&server, &absolute).await, 400, "{method} {path}: {target}, {host}");
        }
    }
    let target = format!("http://LocalHost:{port}/health");
    let absolute = format!("GET {target} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
    assert_eq!(status(&server, &absolute).await, 200, "an absolute target that matches the host");
    let twice = "GET /health HTTP/1.1\r\nHost: localhost\r\nAccept: a/b\r\nAccept: c/d\r\n\r\n";
    assert_eq!(status(&server, twice).await, 200, "list headers may be repeated");
    let chunked = "GET /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(status(&server, chunked).await, 200, "the case of a coding does not matter");
    for origin in ["http://127.0.0.1:7391.evil.example", "http://localhost:evil", "http://127.0.0.1:99999"] {
        let request = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n\r\n");
        assert_eq!(status(&server, &request).await, 403, "{origin}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_cannot_be_read_does_not_lift_the_limit() {
    let server = TestServer::start(|_| {}).await;
    for (name, value) in [
        ("X-MCP-Toolsets", "search\u{a0}"),
        ("X-MCP-Toolsets", ","),
        ("X-MCP-Toolsets", ""),
        ("X-MCP-Toolsets", " , "),
        ("X-MCP-Readonly", "true\u{a0}"),
        ("X-MCP-Readonly", ""),
        ("X-PairOfCleats-Project", "p\u{e4}"),
        ("X-PairOfCleats-Project", ""),
    ] {
        for path in ["/tools", "/status"] {
            let (status, body) = send_json(http().get(server.url_of(path)).header(name, value)).await;
            let error = &body["error"];
            assert_eq!(
                (status.as_u16(), &error["code"]),
                (400, &json!("INVALID_REQUEST")),
                "{path} {name}: {value}"
            );
            let message = error["message"].as_str().unwrap().to_ascii_lowercase();
            let names_header = message.contains(&name.to_ascii_lowercase());
            assert!(names_header || message.contains("list of toolsets"), "{name}: {value}: {message}");
            assert!(error["hint"].is_string(), "{name}: {value}: {body:#}");
        }
    }
    for path in ["/mcp/x/,", "/mcp/x/%20", "/mcp/x/%C2%A0", "/mcp/x/,/readonly", "/mcp/x/%2C%20"] {
        let request = http().post(server.url_of(path)).header("accept", ACCEPT).json(&initialize_request());
        let (status, body) = send_json(request).await;
        assert_eq!((status.as_u16(), &body["error"]["code"]), (404, &json!("INVALID_REQUEST")), "{path}");
    }
    server.stop().await;
}

/// Sends raw bytes and returns everything received until the server closes.
async fn send_raw(server: &TestServer, requests: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(requests.as_bytes()).await.unwrap();
    let mut received = String::new();
    stream.read_to_string(&mut received).await.unwrap();
    received
}

/// The statuses of all answers in a received text.
fn statuses(received: &str) -> Vec<&str> {
    received.match_indices("HTTP/1.1 ").map(|(at, _)| &received[at + 9..at + 12]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_two_lengths_is_refused_also_after_another_request() {
    let server = TestServer::start(|_| {}).await;
    let get = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let post = |lengths: &str| {
        format!(
            "POST /tools/check_status HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{lengths}\r\n2\r\n{{}}\r\n0\r\n\r\n"
        )
    };
    let both = post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n");
    let received = send_raw(&server, &format!("{get}{both}{get}")).await;
    assert_eq!(statuses(&received), ["200", "400"], "the connection is closed after the refusal: {received}");

    // Several chunked requests on one connection work.
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    for _ in 0..3 {
        stream.write_all(post("Transfer-Encoding: chunked\r\n").as_bytes()).await.unwrap();
        let (mut received, mut piece) = (String::new(), [0; 1024]);
        while !received.contains("\"ok\":true") || !received.ends_with('}') {
            let read = stream.read(&mut piece).await.unwrap();
            assert!(read > 0, "{received}");
            received.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        }
        assert!(received.starts_with("HTTP/1.1 200 "), "{received}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_checked_alike_wherever_they_begin() {
    let server = TestServer::start(|_| {}).await;
    let get = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned();
    let last = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let post = |rest: &str| {
        format!(
            "POST /tools/check_status HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{rest}"
        )
    };
    let with_length = post("Content-Length: 2\r\n\r\n{}");
    let chunked = post("Transfer-Encoding: chunked\r\n\r\n1;x=y\r\n{\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n");
    let received = send_raw(&server, &format!("{get}{chunked}{with_length}{chunked}\r\n{get}{last}")).await;
    assert_eq!(statuses(&received), ["200"; 6], "requests without waiting for answers: {received}");

    let ambiguous = [
        post("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"),
        post("Transfer-Encoding: identity, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
        "GET /health HTTP/1.1\r\nHost: localhost\n\r\n".to_owned(),
        "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n".to_owned(),
    ];
    for first in [&get, &with_length, &chunked] {
        for second in &ambiguous {
            let received = send_raw(&server, &format!("{first}{second}{get}")).await;
            assert_eq!(statuses(&received), ["200", "400"], "{first}{second}: {received}");
            // The same in pieces, which end anywhere in the second request.
            let (begin, end) = second.split_at(second.len() / 2);
            let mut stream = TcpStream::connect(server.address()).await.unwrap();
            stream.write_all(format!("{first}{begin}").as_bytes()).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            stream.write_all(end.as_bytes()).await.unwrap();
            let mut received = String::new();
            stream.read_to_string(&mut received).await.unwrap();
            assert_eq!(statuses(&received), ["200", "400"], "in pieces: {first}{second}: {received}");
        }
    }
    server.stop().await;
}
