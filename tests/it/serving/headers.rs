//! A request that another reader could take for a different one is refused on every route.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Served;

/// Every kind of route, with a method that it answers.
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

/// The status that raw bytes are answered with.
async fn status(served: &Served, request: &str) -> u16 {
    let mut stream = TcpStream::connect(served.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.unwrap_or_else(|error| panic!("{error}: {request}"));
    std::str::from_utf8(&line[9..]).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_read_in_two_ways_is_refused_on_every_route() {
    let served = Served::start(|_| {}).await;
    let port = served.address().rsplit(':').next().unwrap().to_owned();
    let json = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    for (method, path) in ROUTES {
        let with = |lines: &str| format!("{method} {path} HTTP/1.1\r\n{json}{lines}\r\n");
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
            assert_eq!(status(&served, &with(lines)).await, 400, "{method} {path}\n{lines}");
        }
        for (target, host) in [
            ("http://localhost", "evil.example"),
            ("http://evil.example", "localhost"),
            ("http://localhost:1", "localhost:2"),
        ] {
            let absolute = format!("{method} {target}{path} HTTP/1.1\r\nHost: {host}\r\n{json}\r\n");
            assert_eq!(status(&served, &absolute).await, 400, "{method} {path}: {target}, {host}");
        }
    }
    let target = format!("http://LocalHost:{port}/health");
    let absolute = format!("GET {target} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
    assert_eq!(status(&served, &absolute).await, 200, "an absolute target that agrees");
    let twice = "GET /health HTTP/1.1\r\nHost: localhost\r\nAccept: a/b\r\nAccept: c/d\r\n\r\n";
    assert_eq!(status(&served, twice).await, 200, "lists may come in parts");
    served.stop().await;
}

/// All that comes back for raw bytes, until the server closes.
async fn answers(served: &Served, requests: &str) -> String {
    let mut stream = TcpStream::connect(served.address()).await.unwrap();
    stream.write_all(requests.as_bytes()).await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_length_in_two_ways_is_refused_also_behind_another_request() {
    let served = Served::start(|_| {}).await;
    let get = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let post = |lengths: &str| {
        format!(
            "POST /tools/check_status HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{lengths}\r\n2\r\n{{}}\r\n0\r\n\r\n"
        )
    };
    let both = post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n");
    let said = answers(&served, &format!("{get}{both}{get}")).await;
    let statuses: Vec<&str> = said.match_indices("HTTP/1.1 ").map(|(at, _)| &said[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["200", "400"], "and the connection ends: {said}");

    // One after the other, chunks are as good as ever.
    let mut stream = TcpStream::connect(served.address()).await.unwrap();
    for _ in 0..3 {
        stream.write_all(post("Transfer-Encoding: chunked\r\n").as_bytes()).await.unwrap();
        let (mut said, mut piece) = (String::new(), [0; 1024]);
        while !said.contains("\"ok\":true") || !said.ends_with('}') {
            let read = stream.read(&mut piece).await.unwrap();
            assert!(read > 0, "{said}");
            said.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        }
        assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    }
    served.stop().await;
}
