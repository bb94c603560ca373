//! Ambiguous requests, which a proxy could read differently (request smuggling), are refused on every route.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::TestServer;

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

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_requests_are_refused_on_every_route() {
    let server = TestServer::start(|_| {}).await;
    let port = server.address().rsplit(':').next().unwrap().to_owned();
    let json = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    for (method, path) in ROUTES {
        let request = |lines: &str| format!("{method} {path} HTTP/1.1\r\n{json}{lines}\r\n");
        for lines in [
            "Host: localhost\r\nHost: evil.example\r\n",
            "Host: localhost\r\nHost: localhost\r\n",
            "Host: evil.example\r\nHost: localhost\r\n",
            "Host: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n",
            "Host: localhost\r\nX-API-Key: a\r\nX-API-Key: a\r\n",
            "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: https://evil.example\r\n",
            "Host: localhost\r\nX-PairOfCleats-Project: a\r\nX-PairOfCleats-Project: b\r\n",
            "Host: localhost\r\nMcp-Session-Id: a\r\nMcp-Session-Id: b\r\n",
            "Host: localhost\r\nContent-Length: 0\r\nContent-Length: 5\r\n",
            "Host: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Host: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            "Host: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n",
        ] {
            assert_eq!(status(&server, &request(lines)).await, 400, "{method} {path}\n{lines}");
        }
        for (target, host) in [
            ("http://localhost", "evil.example"),
            ("http://evil.example", "localhost"),
            ("http://localhost:1", "localhost:2"),
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
    let statuses: Vec<&str> =
        received.match_indices("HTTP/1.1 ").map(|(at, _)| &received[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["200", "400"], "the connection is closed after the refusal: {received}");

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
