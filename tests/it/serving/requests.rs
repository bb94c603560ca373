//! What a request may be: its body, its method, its host, the page it comes from; and what may be kept of an answer.

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Served, answer, hello};
use crate::harness::http;

const SITE: &str = "https://tools.example.com";

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

async fn send(request: RequestBuilder) -> Response {
    request.send().await.unwrap()
}

/// Sends text as it is and reads to the end; for what clients do not let one send.
async fn raw(served: &Served, text: &str) -> String {
    let mut stream = TcpStream::connect(served.address()).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_json_and_not_too_large() {
    let served = Served::start(|config| config.server.body_bytes_max = 1000).await;
    let large = format!("{{\"query\":\"{}\"}}", "x".repeat(1000));
    let json_type = Some("application/json");
    let table = [
        ("broken", json_type, "{\"query\":", 400),
        ("no arguments", json_type, "", 400),
        ("an array", json_type, "[]", 400),
        ("a text", json_type, "\"query\"", 400),
        ("text", Some("text/plain"), "{\"query\":\"x\"}", 415),
        ("a form", Some("application/x-www-form-urlencoded"), "query=x", 415),
        ("undeclared", None, "{\"query\":\"x\"}", 415),
        ("no type at all", Some("json"), "{\"query\":\"x\"}", 415),
        ("too large", json_type, large.as_str(), 413),
        ("too large and text", Some("text/plain"), large.as_str(), 413),
    ];
    for path in ["/search", "/search/stream", "/tools/search", "/tools/show_file", "/messages?sessionId=none"]
    {
        for (what, kind, body, status) in table {
            // A stream says what is wrong with its arguments by an event; a session's messages have their own test.
            if status == 400 && what != "broken" && (path.contains("stream") || path.contains("messages")) {
                continue;
            }
            let mut request = http().post(served.at(path)).body(body.to_owned());
            if let Some(kind) = kind {
                request = request.header("content-type", kind);
            }
            let (got, envelope) = answer(request).await;
            let code = envelope["error"]["code"].as_str();
            assert_eq!(
                (got.as_u16(), code),
                (status, Some("INVALID_REQUEST")),
                "{path} {what}: {envelope:#}"
            );
            assert!(envelope["_meta"]["requestId"].is_string());
        }
    }
    // MCP's own route has the same statuses; `protocol.rs` reads its envelopes.
    for (kind, body, status) in [("text/plain", "{}", 415), ("application/json", large.as_str(), 413)] {
        let request = http().post(served.at("/mcp")).header("accept", "application/json, text/event-stream");
        let got = send(request.header("content-type", kind).body(body.to_owned())).await.status();
        assert_eq!(got.as_u16(), status, "/mcp");
    }
    // A length that is not told beforehand helps nobody.
    let chunk = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let head =
        "POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n";
    let said = raw(&served, &format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}")).await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
    // A body that breaks off is an error of the request.
    let mut stream = TcpStream::connect(served.address()).await.unwrap();
    stream.write_all(format!("{head}Content-Length: 50\r\n\r\n{{").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut said = String::new();
    // The server may also just close: there is nobody who reads.
    let _ = stream.read_to_string(&mut said).await;
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 400 "), "{said}");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn head_is_get_without_the_body_and_other_methods_are_405() {
    let served = Served::start(|_| {}).await;
    for path in [
        "/health",
        "/health/ready",
        "/status",
        "/status/stream",
        "/tools",
        "/metrics",
        "/openapi.json",
        "/docs",
    ] {
        let get = send(http().get(served.at(path))).await;
        let head = send(http().head(served.at(path))).await;
        assert_eq!(get.status(), head.status(), "{path}");
        assert_eq!(header(&get, "content-type"), header(&head, "content-type"), "{path}");
        assert!(head.bytes().await.unwrap().is_empty() && !get.bytes().await.unwrap().is_empty(), "{path}");
    }
    for (method, path, allow) in [
        (Method::GET, "/search", "POST"),
        (Method::HEAD, "/search", "POST"),
        (Method::OPTIONS, "/search", "POST"),
        (Method::GET, "/search/stream", "POST"),
        (Method::GET, "/tools/search", "POST"),
        (Method::PUT, "/tools/search", "POST"),
        (Method::DELETE, "/health", "GET,HEAD"),
        (Method::OPTIONS, "/status", "GET,HEAD"),
        (Method::POST, "/tools", "GET,HEAD"),
        (Method::POST, "/openapi.json", "GET,HEAD"),
        (Method::POST, "/sse", "GET,HEAD"),
        (Method::GET, "/messages", "POST"),
    ] {
        let refused = send(http().request(method.clone(), served.at(path))).await;
        assert_eq!(
            (refused.status().as_u16(), header(&refused, "allow")),
            (405, Some(allow)),
            "{method} {path}"
        );
        let body = refused.bytes().await.unwrap();
        if method != Method::HEAD {
            let envelope: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(envelope["error"]["code"], "INVALID_REQUEST", "{method} {path}: {envelope:#}");
        }
    }
    for path in ["/", "/nope", "/tools/", "/search/", "/health/ready/x"] {
        let (status, body) = answer(http().get(served.at(path))).await;
        assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (404, Some("NOT_FOUND")), "{path}");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_has_is_not_sent_again() {
    let served = Served::start(|_| {}).await;
    let tag_of = async |path: &str, read_only: &str| {
        let response = send(http().get(served.at(path)).header("x-mcp-readonly", read_only)).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(header(&response, "cache-control"), Some("private, no-cache"), "{path}");
        header(&response, "etag").unwrap().to_owned()
    };
    for path in ["/tools", "/openapi.json"] {
        let tag = tag_of(path, "false").await;
        assert_eq!(tag_of(path, "false").await, tag, "{path}");
        assert!(tag.starts_with("W/\""), "{path}: {tag}");
        let several = format!("\"another\", {tag}");
        for known in [tag.as_str(), tag.trim_start_matches("W/"), &several, "*"] {
            let response = send(http().get(served.at(path)).header("if-none-match", known)).await;
            assert_eq!(
                (response.status().as_u16(), header(&response, "etag")),
                (304, Some(&*tag)),
                "{path} {known}"
            );
            assert!(response.bytes().await.unwrap().is_empty(), "{path} {known}");
        }
        let other = send(http().get(served.at(path)).header("if-none-match", "W/\"another\"")).await;
        assert_eq!(other.status(), 200, "{path}");
    }
    assert_ne!(tag_of("/tools", "true").await, tag_of("/tools", "false").await, "another list of tools");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_compressed_for_who_asks_and_events_never() {
    let served = Served::start(|_| {}).await;
    for path in ["/openapi.json", "/tools", "/docs", "/metrics"] {
        let plain = send(http().get(served.at(path)).header("accept-encoding", "identity")).await;
        assert_eq!(header(&plain, "content-encoding"), None, "{path}");
        let packed = send(http().get(served.at(path)).header("accept-encoding", "gzip")).await;
        assert_eq!(header(&packed, "content-encoding"), Some("gzip"), "{path}");
        assert!(header(&packed, "vary").is_some_and(|vary| vary.contains("accept-encoding")), "{path}");
        let (plain, packed) = (plain.bytes().await.unwrap(), packed.bytes().await.unwrap());
        assert!(packed.starts_with(&[0x1f, 0x8b]) && packed.len() < plain.len(), "{path}");
    }
    let hello = http().post(served.at("/mcp")).header("accept", "application/json, text/event-stream");
    let events = [
        http().get(served.at("/status/stream")),
        http().post(served.at("/search/stream")).json(&json!({ "query": "x" })),
        http().get(served.at("/sse")),
        hello.json(&super::hello()),
    ];
    for request in events {
        let response = send(request.header("accept-encoding", "gzip")).await;
        assert_eq!(response.status(), 200, "{}", response.url());
        assert_eq!(header(&response, "content-type"), Some("text/event-stream"), "{}", response.url());
        assert_eq!(header(&response, "content-encoding"), None, "{}", response.url());
    }
    served.stop().await;
}

fn preflight(served: &Served, path: &str, origin: &str) -> RequestBuilder {
    let request = http().request(Method::OPTIONS, served.at(path)).header("origin", origin);
    let headers = "authorization,content-type,mcp-session-id,mcp-protocol-version,x-api-key";
    let request = request.header("access-control-request-method", "POST");
    request.header("access-control-request-headers", headers)
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_the_sites_that_the_operator_named_may_call() {
    let served = Served::start(|config| {
        // People write it with a slash; browsers send it without.
        config.server.cors_origins = vec![format!("{SITE}/")];
        config.access.required = contract::config::Required::Always;
    })
    .await;
    for path in ["/search", "/mcp", "/tools/search"] {
        let allowed = send(preflight(&served, path, SITE)).await;
        assert_eq!(allowed.status(), 200, "{path}: a preflight has no key");
        assert_eq!(header(&allowed, "access-control-allow-origin"), Some(SITE), "{path}");
        assert_eq!(header(&allowed, "access-control-max-age"), Some("600"), "{path}");
        let has = |name: &str, wanted: &[&str]| {
            let have = header(&allowed, name).unwrap_or_default().to_ascii_lowercase();
            let have: Vec<&str> = have.split(',').map(str::trim).collect();
            assert!(wanted.iter().all(|wanted| have.contains(wanted)), "{path} {name}: {have:?}");
        };
        has("access-control-allow-methods", &["get", "post", "delete"]);
        let asked = ["authorization", "content-type", "mcp-session-id", "mcp-protocol-version", "x-api-key"];
        has("access-control-allow-headers", &asked);
        assert!(header(&allowed, "vary").is_some_and(|vary| vary.contains("origin")), "{path}");
        let foreign = send(preflight(&served, path, "https://evil.example")).await;
        assert_eq!(foreign.status(), 403, "{path}");
        assert_eq!(header(&foreign, "access-control-allow-origin"), None, "{path}");
    }
    let refused = send(http().get(served.at("/tools")).header("origin", SITE)).await;
    assert_eq!(refused.status(), 401);
    assert_eq!(header(&refused, "access-control-allow-origin"), Some(SITE), "the page may read why");
    served.stop().await;

    let open = Served::start(|config| config.server.cors_origins = vec![SITE.into()]).await;
    let begin = http().post(open.at("/mcp")).header("accept", "application/json, text/event-stream");
    let begun = send(begin.header("origin", SITE).json(&hello())).await;
    assert_eq!((begun.status().as_u16(), header(&begun, "access-control-allow-origin")), (200, Some(SITE)));
    assert!(begun.headers().contains_key("mcp-session-id"));
    let exposed = header(&begun, "access-control-expose-headers").unwrap().to_ascii_lowercase();
    for name in ["mcp-session-id", "x-request-id", "retry-after", "www-authenticate"] {
        assert!(exposed.contains(name), "{name}: {exposed}");
    }
    open.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_no_site_may_read_where_none_is_named() {
    let served = Served::start(|_| {}).await;
    for (origin, status) in [(SITE, 403), ("null", 403), ("http://localhost:3000", 200)] {
        for path in ["/health", "/tools", "/openapi.json"] {
            let response = send(http().get(served.at(path)).header("origin", origin)).await;
            assert_eq!(response.status().as_u16(), status, "{path} {origin}");
            assert_eq!(header(&response, "access-control-allow-origin"), None, "{path} {origin}");
        }
        let refused = send(preflight(&served, "/search", origin)).await;
        assert!(!refused.status().is_success(), "{origin}");
        assert_eq!(header(&refused, "access-control-allow-origin"), None, "{origin}");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_servers_own_names_are_answered() {
    let named = Served::start(|config| config.server.hosts = vec!["code.example.com".into()]).await;
    let plain = Served::start(|_| {}).await;
    let paths = ["/health", "/tools", "/openapi.json", "/docs", "/sse", "/nope"];
    for (host, ours, unnamed) in [
        ("code.example.com", true, false),
        ("CODE.example.com:443", true, false),
        ("localhost:1", true, true),
        ("other.example.com", false, false),
        ("code.example.com.evil.example", false, false),
    ] {
        for path in paths {
            for (served, known) in [(&named, ours), (&plain, unnamed)] {
                let response = send(http().get(served.at(path)).header("host", host)).await;
                assert_eq!(response.status() != 403, known, "{host} {path}");
            }
        }
        let begin = http().post(named.at("/mcp")).header("accept", "application/json, text/event-stream");
        let begun = send(begin.header("host", host).json(&hello())).await;
        assert_eq!(begun.status().as_u16(), if ours { 200 } else { 403 }, "{host} /mcp");
    }
    let said = raw(&named, "GET /health HTTP/1.0\r\n\r\n").await;
    assert!(said.contains(" 403 ") && said.contains("FORBIDDEN"), "no name at all: {said}");
    // A page of a name of ours is no foreign one.
    let own = http().get(named.at("/health")).header("origin", "https://code.example.com");
    assert_eq!(send(own).await.status(), 200);
    named.stop().await;
    plain.stop().await;
}
