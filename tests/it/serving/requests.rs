//! HTTP rules: bodies, methods, hosts, origins, caching and compression.

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{TestServer, initialize_request, send_json};
use crate::harness::http;

const SITE: &str = "https://tools.example.com";

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

async fn send(request: RequestBuilder) -> Response {
    request.send().await.unwrap()
}

/// Sends raw text and reads until the end, for requests that HTTP clients refuse to send.
async fn send_raw(server: &TestServer, text: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut received = String::new();
    stream.read_to_string(&mut received).await.unwrap();
    received
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_must_be_json_and_within_the_size_limit() {
    let server = TestServer::start(|config| config.server.body_bytes_max = 1000).await;
    let large = format!("{{\"query\":\"{}\"}}", "x".repeat(1000));
    let json_type = Some("application/json");
    let table = [
        ("broken", json_type, "{\"query\":", 400),
        ("no arguments", json_type, "", 400),
        ("an array", json_type, "[]", 400),
        ("a JSON string", json_type, "\"query\"", 400),
        ("text", Some("text/plain"), "{\"query\":\"x\"}", 415),
        ("a form", Some("application/x-www-form-urlencoded"), "query=x", 415),
        ("no content type", None, "{\"query\":\"x\"}", 415),
        ("an invalid type", Some("json"), "{\"query\":\"x\"}", 415),
        ("too large", json_type, large.as_str(), 413),
        ("too large and text", Some("text/plain"), large.as_str(), 413),
    ];
    for path in ["/search", "/search/stream", "/tools/search", "/tools/show_file", "/messages?sessionId=none"]
    {
        for (label, kind, body, status) in table {
            // A stream reports invalid arguments in an event; messages of a session have their own test.
            if status == 400 && label != "broken" && (path.contains("stream") || path.contains("messages")) {
                continue;
            }
            let mut request = http().post(server.url_of(path)).body(body.to_owned());
            if let Some(kind) = kind {
                request = request.header("content-type", kind);
            }
            let (got, envelope) = send_json(request).await;
            let code = envelope["error"]["code"].as_str();
            assert_eq!(
                (got.as_u16(), code),
                (status, Some("INVALID_REQUEST")),
                "{path} {label}: {envelope:#}"
            );
            assert!(envelope["_meta"]["requestId"].is_string());
        }
    }
    // The MCP route has the same statuses; `protocol.rs` checks its envelopes.
    for (kind, body, status) in [("text/plain", "{}", 415), ("application/json", large.as_str(), 413)] {
        let request =
            http().post(server.url_of("/mcp")).header("accept", "application/json, text/event-stream");
        let got = send(request.header("content-type", kind).body(body.to_owned())).await.status();
        assert_eq!(got.as_u16(), status, "/mcp");
    }
    // The limit also applies to a body without a declared length.
    let chunk = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let head =
        "POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n";
    let received = send_raw(&server, &format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}")).await;
    assert!(received.starts_with("HTTP/1.1 413 "), "{received}");
    // A truncated body is an error of the request.
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(format!("{head}Content-Length: 50\r\n\r\n{{").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut received = String::new();
    // The server may also just close the connection.
    let _ = stream.read_to_string(&mut received).await;
    assert!(received.is_empty() || received.starts_with("HTTP/1.1 400 "), "{received}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_named_twice_is_refused() {
    let server = TestServer::start(|_| {}).await;
    for path in ["/search", "/search/stream", "/tools/search"] {
        for body in [
            r#"{"query":"x","project_id":"pa","project_id":"pb"}"#,
            r#"{"query":"x","project_id":"pa","project\u005fid":"pa"}"#,
        ] {
            let request =
                http().post(server.url_of(path)).header("content-type", "application/json").body(body);
            let (status, envelope) = send_json(request).await;
            assert_eq!(
                (status.as_u16(), &envelope["error"]["code"]),
                (400, &json!("INVALID_REQUEST")),
                "{path} {body}"
            );
            assert!(envelope["error"]["message"].as_str().unwrap().contains("`project_id`"), "{envelope:#}");
        }
    }
    let get = |path: &str| (http().get(server.url_of(path)), "project_id");
    let post = |path: &str| (http().post(server.url_of(path)), "sessionId");
    for (request, name) in [
        get("/status?project_id=pa&project_id=pb"),
        get("/status?project_id=pa&project_id=pa"),
        get("/status?project_id=pa&project%5Fid=pb"),
        get("/status/stream?project_id=pa&project_id=pb"),
        post("/messages?sessionId=a&sessionId=b"),
        post("/messages?sessionId=a&x=1&session%49d=b"),
    ] {
        let (status, envelope) = send_json(request).await;
        let error = &envelope["error"];
        assert_eq!((status.as_u16(), &error["code"]), (400, &json!("INVALID_REQUEST")), "{envelope:#}");
        assert!(error["message"].as_str().unwrap().contains(&format!("`{name}`")), "{envelope:#}");
    }
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let request = http().post(server.url_of("/messages?sessionId=a")).json(&ping);
    let (status, envelope) = send_json(request).await;
    assert_eq!((status.as_u16(), &envelope["error"]["code"]), (404, &json!("NOT_FOUND")), "{envelope:#}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn head_is_get_without_the_body_and_other_methods_are_405() {
    let server = TestServer::start(|_| {}).await;
    for path in [
        "/health", "/health/ready", "/status", "/status/stream", "/tools", "/metrics", "/openapi.json",
        "/docs", "/", "/repositories",
    ] {
        let get = send(http().get(server.url_of(path))).await;
        let head = send(http().head(server.url_of(path))).await;
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
        let refused = send(http().request(method.clone(), server.url_of(path))).await;
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
    for path in ["/nope", "/tools/", "/search/", "/health/ready/x"] {
        let (status, body) = send_json(http().get(server.url_of(path))).await;
        assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (404, Some("NOT_FOUND")), "{path}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_resource_is_answered_with_304() {
    let server = TestServer::start(|_| {}).await;
    let etag_of = async |path: &str, read_only: &str| {
        let response = send(http().get(server.url_of(path)).header("x-mcp-readonly", read_only)).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(header(&response, "cache-control"), Some("private, no-cache"), "{path}");
        header(&response, "etag").unwrap().to_owned()
    };
    for path in ["/tools", "/openapi.json"] {
        let tag = etag_of(path, "false").await;
        assert_eq!(etag_of(path, "false").await, tag, "{path}");
        assert!(tag.starts_with("W/\""), "{path}: {tag}");
        let several = format!("\"another\", {tag}");
        for known in [tag.as_str(), tag.trim_start_matches("W/"), &several, "*"] {
            let response = send(http().get(server.url_of(path)).header("if-none-match", known)).await;
            assert_eq!(
                (response.status().as_u16(), header(&response, "etag")),
                (304, Some(&*tag)),
                "{path} {known}"
            );
            assert!(response.bytes().await.unwrap().is_empty(), "{path} {known}");
        }
        let other = send(http().get(server.url_of(path)).header("if-none-match", "W/\"another\"")).await;
        assert_eq!(other.status(), 200, "{path}");
    }
    assert_ne!(
        etag_of("/tools", "true").await,
        etag_of("/tools", "false").await,
        "the tag depends on the list of tools"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_compressed_on_request_and_events_never() {
    let server = TestServer::start(|_| {}).await;
    for path in ["/openapi.json", "/tools", "/docs", "/metrics"] {
        let uncompressed = send(http().get(server.url_of(path)).header("accept-encoding", "identity")).await;
        assert_eq!(header(&uncompressed, "content-encoding"), None, "{path}");
        let compressed = send(http().get(server.url_of(path)).header("accept-encoding", "gzip")).await;
        assert_eq!(header(&compressed, "content-encoding"), Some("gzip"), "{path}");
        assert!(header(&compressed, "vary").is_some_and(|vary| vary.contains("accept-encoding")), "{path}");
        let (uncompressed, compressed) =
            (uncompressed.bytes().await.unwrap(), compressed.bytes().await.unwrap());
        assert!(compressed.starts_with(&[0x1f, 0x8b]) && compressed.len() < uncompressed.len(), "{path}");
    }
    let mcp_request =
        http().post(server.url_of("/mcp")).header("accept", "application/json, text/event-stream");
    let events = [
        http().get(server.url_of("/status/stream")),
        http().post(server.url_of("/search/stream")).json(&json!({ "query": "x" })),
        http().get(server.url_of("/sse")),
        mcp_request.json(&super::initialize_request()),
    ];
    for request in events {
        let response = send(request.header("accept-encoding", "gzip")).await;
        assert_eq!(response.status(), 200, "{}", response.url());
        assert_eq!(header(&response, "content-type"), Some("text/event-stream"), "{}", response.url());
        assert_eq!(header(&response, "content-encoding"), None, "{}", response.url());
    }
    server.stop().await;
}

fn preflight(server: &TestServer, path: &str, origin: &str) -> RequestBuilder {
    let request = http().request(Method::OPTIONS, server.url_of(path)).header("origin", origin);
    let headers = "authorization,content-type,mcp-session-id,mcp-protocol-version,x-api-key";
    let request = request.header("access-control-request-method", "POST");
    request.header("access-control-request-headers", headers)
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_configured_origins_may_call() {
    let server = TestServer::start(|config| {
        // Operators may write the origin with a slash; browsers send it without.
        config.server.cors_origins = vec![format!("{SITE}/")];
        config.access.required = contract::config::Required::Always;
    })
    .await;
    for path in ["/search", "/mcp", "/tools/search"] {
        let allowed = send(preflight(&server, path, SITE)).await;
        assert_eq!(allowed.status(), 200, "{path}: a preflight has no key");
        assert_eq!(header(&allowed, "access-control-allow-origin"), Some(SITE), "{path}");
        assert_eq!(header(&allowed, "access-control-max-age"), Some("600"), "{path}");
        let has = |name: &str, expected: &[&str]| {
            let values = header(&allowed, name).unwrap_or_default().to_ascii_lowercase();
            let values: Vec<&str> = values.split(',').map(str::trim).collect();
            assert!(expected.iter().all(|expected| values.contains(expected)), "{path} {name}: {values:?}");
        };
        has("access-control-allow-methods", &["get", "post", "delete"]);
        let headers =
            ["authorization", "content-type", "mcp-session-id", "mcp-protocol-version", "x-api-key"];
        has("access-control-allow-headers", &headers);
        assert!(header(&allowed, "vary").is_some_and(|vary| vary.contains("origin")), "{path}");
        let foreign = send(preflight(&server, path, "https://evil.example")).await;
        assert_eq!(foreign.status(), 403, "{path}");
        assert_eq!(header(&foreign, "access-control-allow-origin"), None, "{path}");
    }
    let refused = send(http().get(server.url_of("/tools")).header("origin", SITE)).await;
    assert_eq!(refused.status(), 401);
    assert_eq!(header(&refused, "access-control-allow-origin"), Some(SITE), "the page may read the refusal");
    server.stop().await;

    let without_keys = TestServer::start(|config| config.server.cors_origins = vec![SITE.into()]).await;
    let request =
        http().post(without_keys.url_of("/mcp")).header("accept", "application/json, text/event-stream");
    let opened = send(request.header("origin", SITE).json(&initialize_request())).await;
    assert_eq!((opened.status().as_u16(), header(&opened, "access-control-allow-origin")), (200, Some(SITE)));
    assert!(opened.headers().contains_key("mcp-session-id"));
    let exposed = header(&opened, "access-control-expose-headers").unwrap().to_ascii_lowercase();
    for name in ["mcp-session-id", "x-request-id", "retry-after", "www-authenticate"] {
        assert!(exposed.contains(name), "{name}: {exposed}");
    }
    without_keys.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_configured_origins_no_page_may_read_answers() {
    let server = TestServer::start(|_| {}).await;
    for (origin, status) in [(SITE, 403), ("null", 403), ("http://localhost:3000", 200)] {
        for path in ["/health", "/tools", "/openapi.json"] {
            let response = send(http().get(server.url_of(path)).header("origin", origin)).await;
            assert_eq!(response.status().as_u16(), status, "{path} {origin}");
            assert_eq!(header(&response, "access-control-allow-origin"), None, "{path} {origin}");
        }
        let refused = send(preflight(&server, "/search", origin)).await;
        assert!(!refused.status().is_success(), "{origin}");
        assert_eq!(header(&refused, "access-control-allow-origin"), None, "{origin}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_requests_for_configured_host_names_are_answered() {
    let with_host = TestServer::start(|config| config.server.hosts = vec!["code.example.com".into()]).await;
    let without_hosts = TestServer::start(|_| {}).await;
    let paths = ["/health", "/tools", "/openapi.json", "/docs", "/sse", "/nope"];
    for (host, known_with_host, known_without_hosts) in [
        ("code.example.com", true, false),
        ("CODE.example.com:443", true, false),
        ("localhost:1", true, true),
        ("other.example.com", false, false),
        ("code.example.com.evil.example", false, false),
    ] {
        for path in paths {
            for (server, known) in [(&with_host, known_with_host), (&without_hosts, known_without_hosts)] {
                let response = send(http().get(server.url_of(path)).header("host", host)).await;
                assert_eq!(response.status() != 403, known, "{host} {path}");
            }
        }
        let request =
            http().post(with_host.url_of("/mcp")).header("accept", "application/json, text/event-stream");
        let opened = send(request.header("host", host).json(&initialize_request())).await;
        assert_eq!(opened.status().as_u16(), if known_with_host { 200 } else { 403 }, "{host} /mcp");
    }
    let received = send_raw(&with_host, "GET /health HTTP/1.0\r\n\r\n").await;
    assert!(received.contains(" 403 ") && received.contains("FORBIDDEN"), "no host name: {received}");
    // A page of a configured host is not a foreign one.
    let own = http().get(with_host.url_of("/health")).header("origin", "https://code.example.com");
    assert_eq!(send(own).await.status(), 200);
    with_host.stop().await;
    without_hosts.stop().await;
}
