//! Clients that take nothing of what they asked for, and clients that take every place: they are given up, and others get in.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::fixtures::{tools, until};
use super::{Served, answer, hello};
use crate::harness::http;

/// A connection from an address of this machine, whose own system takes little before its program reads.
async fn connect(served: &Served, from: [u8; 4]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.bind(SocketAddr::from((from, 0))).unwrap();
    socket.connect(served.address().parse().unwrap()).await.unwrap()
}

const HERE: [u8; 4] = [127, 0, 0, 1];
/// Another address of this machine; as a client it is the same.
const ELSEWHERE: [u8; 4] = [127, 0, 0, 2];

fn get(path: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n")
}

/// Asks for more than any buffer takes, and reads nothing of it.
async fn ask_for_much(stream: &mut TcpStream, more: &str) {
    let requests = get("/openapi.json", more).repeat(500);
    // The server stops to read when it cannot write; whatever was not sent is not needed.
    let _ = tokio::time::timeout(Duration::from_millis(300), stream.write_all(requests.as_bytes())).await;
}

/// The status line of the answer to one request, and the rest of what comes with its first bytes.
async fn first(stream: &mut TcpStream) -> String {
    let mut buffer = vec![0; 2048];
    let read = tokio::time::timeout(Duration::from_secs(30), stream.read(&mut buffer)).await;
    let read = read.expect("an answer").unwrap_or(0);
    String::from_utf8_lossy(&buffer[..read]).into_owned()
}

/// How many connections were refused or ended for this reason.
fn ended(served: &Served, reason: &str) -> u64 {
    let line = format!("pairofcleats_http_connections_ended_total{{reason=\"{reason}\"}} ");
    let text = served.app.metrics_text();
    text.lines().find_map(|have| have.strip_prefix(&line)).map_or(0, |count| count.parse().unwrap())
}

fn open(served: &Served) -> usize {
    served.app.connections.load(Ordering::Relaxed)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_its_answers_is_given_up() {
    let served = Served::start(|config| config.server.write_ms = 500).await;
    let mut greedy = connect(&served, HERE).await;
    ask_for_much(&mut greedy, "").await;
    until("the client to be given up", || ended(&served, "not_reading") == 1).await;
    until("its place to be free", || open(&served) == 0).await;
    drop(greedy);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_never_reads_a_stream_is_given_up_and_a_silent_stream_is_not() {
    let served = Served::with_tools(tools(), |config| {
        config.server.write_ms = 500;
        config.server.body_bytes_max = 32 << 20;
        config.mcp.message_bytes_max = 32 << 20;
    })
    .await;
    let session = served.open("/mcp", None).await;
    // A stream on which nothing is to be said.
    let mut silent = connect(&served, ELSEWHERE).await;
    let headers = format!("Accept: text/event-stream\r\nMcp-Session-Id: {}\r\n", session.id);
    silent.write_all(get("/mcp", &headers).as_bytes()).await.unwrap();
    assert!(first(&mut silent).await.starts_with("HTTP/1.1 200"));

    // One answer as a stream, larger than what the systems of both sides hold.
    let large = "x".repeat(12 << 20);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "echoes", "arguments": { "large": large } } })
    .to_string();
    let mut streamed = connect(&served, HERE).await;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Accept: application/json, text/event-stream\r\nMcp-Session-Id: {}\r\n\r\n",
        call.len(),
        session.id
    );
    streamed.write_all(head.as_bytes()).await.unwrap();
    streamed.write_all(call.as_bytes()).await.unwrap();
    until("the stream of an answer to be given up", || ended(&served, "not_reading") == 1).await;

    // The older transport: answers come on a stream of their own.
    let mut older = connect(&served, HERE).await;
    older.write_all(get("/sse", "Accept: text/event-stream\r\n").as_bytes()).await.unwrap();
    let mut told = String::new();
    while !told.contains("sessionId=") {
        told.push_str(&first(&mut older).await);
    }
    let endpoint = told.lines().find_map(|line| line.strip_prefix("data:")).unwrap().trim().to_owned();
    let post = async |message: String| {
        let request = http().post(served.at(&endpoint)).header("content-type", "application/json");
        assert_eq!(request.body(message).send().await.unwrap().status(), 202);
    };
    post(hello().to_string()).await;
    post(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string()).await;
    post(call).await;
    until("the older stream to be given up", || ended(&served, "not_reading") == 2).await;

    let mut nothing = [0; 1];
    let waited = tokio::time::timeout(Duration::from_millis(100), silent.read(&mut nothing)).await;
    assert!(waited.is_err(), "the silent stream is open");
    drop((streamed, older, silent));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_idles_or_is_not_read_makes_place_for_a_newcomer_of_the_same_machine() {
    let served = Served::start(|config| {
        config.server.connections_max = 16;
        config.server.write_ms = 600_000;
        config.server.idle_ms = 600_000;
    })
    .await;
    // 64 connections, each in use at first: half of them are answered and idle then, half do not read their answers.
    let mut greedy = Vec::new();
    for number in 0..64 {
        let mut stream = connect(&served, HERE).await;
        if number % 2 == 0 {
            let _ = stream.write_all(get("/health", "").as_bytes()).await;
            let _ = first(&mut stream).await;
        } else {
            ask_for_much(&mut stream, "").await;
        }
        greedy.push(stream);
    }
    assert!(open(&served) <= 16);
    // What is not read counts as such after a second.
    tokio::time::sleep(Duration::from_millis(1200)).await;
    for _ in 0..8 {
        let mut newcomer = connect(&served, ELSEWHERE).await;
        newcomer.write_all(get("/health", "Connection: close\r\n").as_bytes()).await.unwrap();
        let answer = first(&mut newcomer).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        greedy.push(newcomer);
    }
    assert!(ended(&served, "displaced") > 0);
    drop(greedy);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_greedy_connections_through_a_proxy_leave_place_for_others() {
    let served = Served::start(|config| {
        config.server.connections_max = 32;
        config.server.connections_per_address_max = 20;
        config.server.write_ms = 600_000;
        config.server.trusted_proxies = vec!["127.0.0.1".into()];
    })
    .await;
    let from = |client: &str| format!("X-Forwarded-For: 198.51.100.1, {client}\r\n");
    let mut greedy = Vec::new();
    let mut refused = 0;
    for _ in 0..64 {
        let mut stream = connect(&served, HERE).await;
        let request = get("/openapi.json", &from("203.0.113.7")).repeat(500);
        let _ = tokio::time::timeout(Duration::from_millis(300), stream.write_all(request.as_bytes())).await;
        let answer = first(&mut stream).await;
        if answer.starts_with("HTTP/1.1 503") {
            assert!(answer.to_ascii_lowercase().contains("retry-after: 1"), "{answer}");
            refused += 1;
        } else {
            assert!(answer.starts_with("HTTP/1.1 200") || answer.is_empty(), "{answer}");
        }
        greedy.push(stream);
    }
    // Its own connections made place for the later ones, so that it never had more than its share.
    assert!(refused > 0, "one client has its share, proxy or not");
    assert!(ended(&served, "address_full") > 0);
    assert!(ended(&served, "address_full") + ended(&served, "full") >= refused);
    for client in ["203.0.113.8", "2001:db8::1"] {
        let mut newcomer = connect(&served, HERE).await;
        newcomer.write_all(get("/health", &from(client)).as_bytes()).await.unwrap();
        let answer = first(&mut newcomer).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{client}: {answer}");
        greedy.push(newcomer);
    }
    drop(greedy);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_listed_proxy_says_whom_a_request_comes_from() {
    let served = Served::start(|config| {
        config.server.connections_per_address_max = 3;
        config.server.trusted_proxies = vec!["127.0.0.1".into()];
    })
    .await;
    let ask = async |from: [u8; 4], number: usize| {
        let mut stream = connect(&served, from).await;
        // In use from its first byte on: the header does not end.
        let named =
            format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.{number}\r\n");
        stream.write_all(named.as_bytes()).await.unwrap();
        stream
    };
    let mut held = Vec::new();
    for number in 0..3 {
        held.push(ask(ELSEWHERE, number).await);
    }
    until("three connections", || open(&served) == 3).await;
    let mut fourth = ask(ELSEWHERE, 3).await;
    let said = first(&mut fourth).await;
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 503"), "{said}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (&body["error"]["code"], &body["error"]["details"]["queue"]["max"]),
        (&json!("QUEUE_OVERLOADED"), &json!(3))
    );
    // The proxy itself is nobody.
    for number in 0..6 {
        let mut proxied = ask(HERE, number).await;
        proxied.write_all(b"\r\n").await.unwrap();
        assert!(first(&mut proxied).await.starts_with("HTTP/1.1 200"));
        held.push(proxied);
    }
    assert_eq!(open(&served), 9);
    let (status, _) = answer(http().get(served.at("/status"))).await;
    assert_eq!(status, 401, "behind a proxy each request needs a key");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_proxy_is_refused_at_the_start() {
    let app = crate::harness::app_with(|config| {
        config.server.port = 0;
        config.server.trusted_proxies = vec!["10.0.0.0/8".into(), "proxy.example".into()];
    });
    let Err(fault) = pairofcleats::surfaces::http::listen(&app).await else { panic!("it listens") };
    assert_eq!(fault.code, contract::ErrorCode::InvalidInput);
    assert!(fault.message.contains("proxy.example") && fault.hint.is_some());
}
