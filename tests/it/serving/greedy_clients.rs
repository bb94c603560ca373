//! Clients that do not read their answers, and clients that take all connections: they are disconnected, and others are served.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::fixtures::{tools, wait_until};
use super::{TestServer, initialize_request, send_json};
use crate::harness::http;

/// Connects from a local address, with a small receive buffer.
async fn connect(server: &TestServer, from: [u8; 4]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.bind(SocketAddr::from((from, 0))).unwrap();
    socket.connect(server.address().parse().unwrap()).await.unwrap()
}

const ADDRESS: [u8; 4] = [127, 0, 0, 1];
/// Another local address; the server counts all local addresses as one client.
const OTHER_ADDRESS: [u8; 4] = [127, 0, 0, 2];

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
}

/// Requests more than all buffers hold, and reads nothing.
async fn request_without_reading(stream: &mut TcpStream, headers: &str) {
    let requests = get("/openapi.json", headers).repeat(500);
    // The server stops reading while it cannot write, so not everything can be sent.
    let _ = tokio::time::timeout(Duration::from_millis(300), stream.write_all(requests.as_bytes())).await;
}

/// The first bytes of an answer: at least its status line.
async fn read_first_bytes(stream: &mut TcpStream) -> String {
    let mut buffer = vec![0; 2048];
    let read = tokio::time::timeout(Duration::from_secs(30), stream.read(&mut buffer)).await;
    let read = read.expect("an answer").unwrap_or(0);
    String::from_utf8_lossy(&buffer[..read]).into_owned()
}

/// Returns the number of connections that were refused or closed for this reason, by the server's metrics.
fn connections_ended(server: &TestServer, reason: &str) -> u64 {
    let line = format!("pairofcleats_http_connections_ended_total{{reason=\"{reason}\"}} ");
    let text = server.app.metrics_text();
    text.lines().find_map(|metric| metric.strip_prefix(&line)).map_or(0, |count| count.parse().unwrap())
}

fn open_connections(server: &TestServer) -> usize {
    server.app.connections.load(Ordering::Relaxed)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_its_answers_is_disconnected() {
    let server = TestServer::start(|config| config.server.write_ms = 500).await;
    let mut greedy = connect(&server, ADDRESS).await;
    request_without_reading(&mut greedy, "").await;
    wait_until("the client to be disconnected", || connections_ended(&server, "not_reading") == 1).await;
    wait_until("its slot to be free", || open_connections(&server) == 0).await;
    drop(greedy);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_stream_is_closed_and_a_silent_one_is_not() {
    let server = TestServer::with_tools(tools(), |config| {
        config.server.write_ms = 500;
        config.server.body_bytes_max = 32 << 20;
        config.mcp.message_bytes_max = 32 << 20;
    })
    .await;
    let session = server.open("/mcp", None).await;
    // A stream on which no event is sent.
    let mut silent = connect(&server, OTHER_ADDRESS).await;
    let headers = format!("Accept: text/event-stream\r\nMcp-Session-Id: {}\r\n", session.id);
    silent.write_all(get("/mcp", &headers).as_bytes()).await.unwrap();
    assert!(read_first_bytes(&mut silent).await.starts_with("HTTP/1.1 200"));

    // An answer as a stream, larger than the socket buffers of both sides.
    let large = "x".repeat(12 << 20);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "echoes", "arguments": { "large": large } } })
    .to_string();
    let mut streamed = connect(&server, ADDRESS).await;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Accept: application/json, text/event-stream\r\nMcp-Session-Id: {}\r\n\r\n",
        call.len(),
        session.id
    );
    streamed.write_all(head.as_bytes()).await.unwrap();
    streamed.write_all(call.as_bytes()).await.unwrap();
    wait_until("the unread stream to be closed", || connections_ended(&server, "not_reading") == 1).await;

    // The older transport: answers come on a separate stream.
    let mut older = connect(&server, ADDRESS).await;
    older.write_all(get("/sse", "Accept: text/event-stream\r\n").as_bytes()).await.unwrap();
    let mut received = String::new();
    while !received.contains("sessionId=") {
        received.push_str(&read_first_bytes(&mut older).await);
    }
    let endpoint = received.lines().find_map(|line| line.strip_prefix("data:")).unwrap().trim().to_owned();
    let post = async |message: String| {
        let request = http().post(server.url_of(&endpoint)).header("content-type", "application/json");
        assert_eq!(request.body(message).send().await.unwrap().status(), 202);
    };
    post(initialize_request().to_string()).await;
    post(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string()).await;
    post(call).await;
    wait_until("the unread SSE stream to be closed", || connections_ended(&server, "not_reading") == 2).await;

    let mut buffer = [0; 1];
    let waited = tokio::time::timeout(Duration::from_millis(100), silent.read(&mut buffer)).await;
    assert!(waited.is_err(), "the silent stream stays open");
    drop((streamed, older, silent));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_and_unread_connections_are_evicted_for_a_new_one_of_the_same_client() {
    let server = TestServer::start(|config| {
        config.server.connections_max = 16;
        config.server.write_ms = 600_000;
        config.server.idle_ms = 600_000;
    })
    .await;
    // 64 connections, all active at first: one half then idles after an answer, the other half does not read its answers.
    let mut greedy = Vec::new();
    for number in 0..64 {
        let mut stream = connect(&server, ADDRESS).await;
        if number % 2 == 0 {
            let _ = stream.write_all(get("/health", "").as_bytes()).await;
            let _ = read_first_bytes(&mut stream).await;
        } else {
            request_without_reading(&mut stream, "").await;
        }
        greedy.push(stream);
    }
    assert!(open_connections(&server) <= 16);
    // A connection counts as unread after one second.
    tokio::time::sleep(Duration::from_millis(1200)).await;
    for _ in 0..8 {
        let mut new_connection = connect(&server, OTHER_ADDRESS).await;
        new_connection.write_all(get("/health", "Connection: close\r\n").as_bytes()).await.unwrap();
        let answer = read_first_bytes(&mut new_connection).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        greedy.push(new_connection);
    }
    assert!(connections_ended(&server, "displaced") > 0);
    drop(greedy);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn greedy_connections_through_a_proxy_leave_slots_for_other_clients() {
    let server = TestServer::start(|config| {
        config.server.connections_max = 32;
        config.server.connections_per_address_max = 20;
        config.server.write_ms = 600_000;
        config.server.trusted_proxies = vec!["127.0.0.1".into()];
    })
    .await;
    let forwarded_for = |client: &str| format!("X-Forwarded-For: 198.51.100.1, {client}\r\n");
    let mut greedy = Vec::new();
    let mut refused = 0;
    for _ in 0..64 {
        let mut stream = connect(&server, ADDRESS).await;
        let request = get("/openapi.json", &forwarded_for("203.0.113.7")).repeat(500);
        let _ = tokio::time::timeout(Duration::from_millis(300), stream.write_all(request.as_bytes())).await;
        let answer = read_first_bytes(&mut stream).await;
        if answer.starts_with("HTTP/1.1 503") {
            assert!(answer.to_ascii_lowercase().contains("retry-after: 1"), "{answer}");
            refused += 1;
        } else {
            assert!(answer.starts_with("HTTP/1.1 200") || answer.is_empty(), "{answer}");
        }
        greedy.push(stream);
    }
    // Connections of the client evicted its own earlier ones, so that it never had more than its share.
    assert!(refused > 0, "a client is limited to its share, also behind a proxy");
    assert!(connections_ended(&server, "address_full") > 0);
    assert!(connections_ended(&server, "address_full") + connections_ended(&server, "full") >= refused);
    for client in ["203.0.113.8", "2001:db8::1"] {
        let mut new_connection = connect(&server, ADDRESS).await;
        new_connection.write_all(get("/health", &forwarded_for(client)).as_bytes()).await.unwrap();
        let answer = read_first_bytes(&mut new_connection).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{client}: {answer}");
        greedy.push(new_connection);
    }
    drop(greedy);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forwarded_addresses_are_believed_only_from_trusted_proxies() {
    let server = TestServer::start(|config| {
        config.server.connections_per_address_max = 3;
        config.server.trusted_proxies = vec!["127.0.0.1".into()];
    })
    .await;
    let start_request = async |from: [u8; 4], number: usize| {
        let mut stream = connect(&server, from).await;
        // The incomplete header keeps the connection active.
        let unfinished_request =
            format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.{number}\r\n");
        stream.write_all(unfinished_request.as_bytes()).await.unwrap();
        stream
    };
    let mut connections = Vec::new();
    for number in 0..3 {
        connections.push(start_request(OTHER_ADDRESS, number).await);
    }
    wait_until("three connections", || open_connections(&server) == 3).await;
    let mut fourth = start_request(OTHER_ADDRESS, 3).await;
    let refusal = read_first_bytes(&mut fourth).await;
    let (head, body) = refusal.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 503"), "{refusal}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (&body["error"]["code"], &body["error"]["details"]["queue"]["max"]),
        (&json!("QUEUE_OVERLOADED"), &json!(3))
    );
    // The proxy's connections do not count for the proxy itself.
    for number in 0..6 {
        let mut proxied = start_request(ADDRESS, number).await;
        proxied.write_all(b"\r\n").await.unwrap();
        assert!(read_first_bytes(&mut proxied).await.starts_with("HTTP/1.1 200"));
        connections.push(proxied);
    }
    assert_eq!(open_connections(&server), 9);
    let (status, _) = send_json(http().get(server.url_of("/status"))).await;
    assert_eq!(status, 401, "behind a proxy each request needs a key");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_trusted_proxy_prevents_the_start() {
    let app = crate::harness::app_with(|config| {
        config.server.port = 0;
        config.server.trusted_proxies = vec!["10.0.0.0/8".into(), "proxy.example".into()];
    });
    let Err(fault) = surfaces::http::listen(&app).await else { panic!("the server started") };
    assert_eq!(fault.code, contract::ErrorCode::InvalidInput);
    assert!(fault.message.contains("proxy.example") && fault.hint.is_some());
}
