//! The fuzz target of the HTTP server: passes the bytes of a connection through hyper and every check before a tool is called.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{LazyLock, Mutex, PoisonError};

use axum::body::Body;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};

use super::body_framing::BodyFraming;
use super::head::HeadFraming;
use super::request_scanner::RequestScanner;
use super::{body, guard};
use crate::modules::TEST_MODULES;
use contract::config::fuzzing::defaults;
use gate::tools::fuzzing::argument_errors;

/// Longest body of a fuzzed request.
const BODY_BYTES_MAX: usize = 4096;
/// Size limit of the answer: bytes for each byte of input, plus a constant.
const ANSWER_BYTES_MAX: (usize, usize) = (256, 64 * 1024);

/// Returns the seed corpus.
pub fn seed_requests() -> Vec<Vec<u8>> {
    let search = r#"{"query": "retry", "top": 3}"#;
    let text = [
        "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        format!(
            "POST /tools/search HTTP/1.1\r\nHost: 127.0.0.1:7171\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Origin: http://localhost:3000\r\nX-Request-Id: a-1\r\nX-Api-Key: poc_x\r\n\r\n{search}GET / HTTP/1.0\r\n\r\n",
            search.len()
        ),
        format!(
            "POST /tools/search_code HTTP/1.1\r\nHost: [::1]\r\nContent-Type: application/json; charset=utf-8\r\n\
             Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{search}\r\n0\r\n\r\n",
            search.len()
        ),
        "POST http://localhost:7171/tools/index_status HTTP/1.1\r\nHost: localhost:7171\r\nExpect: 100-continue\r\n\r\n"
            .to_owned(),
    ];
    text.map(String::into_bytes).to_vec()
}

/// The scanned heads whose requests have not begun; `None` after an ambiguous request, where the server closes the connection.
type ScannedHeads = Mutex<Option<VecDeque<HeadFraming>>>;

/// Sends `data` as one connection. Asserts that the answer is HTTP, that its size is bounded, and that the scanner finds the
/// requests that hyper finds.
pub fn fuzz_request(data: &[u8]) {
    static RUNTIME: LazyLock<Option<Runtime>> =
        LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).build().ok());
    let Some(runtime) = &*RUNTIME else { return };
    let mut heads = VecDeque::new();
    RequestScanner::default().scan(data, |head| heads.push_back(head));
    let heads = Mutex::new(Some(heads));
    let answer = runtime.block_on(async {
        let (mut client, server) = tokio::io::duplex(data.len().max(1));
        let serving = http1::Builder::new()
            .header_read_timeout(None)
            .serve_connection(TokioIo::new(server), service_fn(|request| answer(request, &heads)));
        let talking = async {
            let sent = client.write_all(data).await;
            let sent = if sent.is_ok() { client.shutdown().await } else { sent };
            let mut answer = Vec::new();
            // A server that closes first may leave input unread.
            let read = client.read_to_end(&mut answer).await;
            drop((sent, read));
            answer
        };
        tokio::join!(serving, talking).1
    });
    assert!(
        answer.len() <= ANSWER_BYTES_MAX.0 * data.len() + ANSWER_BYTES_MAX.1,
        "{} bytes of answers to {}",
        answer.len(),
        data.len()
    );
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{}", answer.escape_ascii());
}

/// Compares the headers that hyper kept of a head with those that were scanned.
fn compare_framing(headers: &HeaderMap, heads: &ScannedHeads) {
    let mut heads = heads.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(scanned) = heads.as_mut() else { return };
    let framing = BodyFraming::new(headers, scanned.pop_front());
    assert_ne!(framing, BodyFraming::Unknown, "{headers:?}");
    if framing.is_ambiguous() {
        *heads = None;
    }
}

async fn answer(request: Request<Incoming>, heads: &ScannedHeads) -> Result<Response<String>, Infallible> {
    let request = request.map(Body::new);
    let (uri, headers) = (request.uri().clone(), request.headers().clone());
    compare_framing(&headers, heads);
    if let Some(id) = guard::accepted_id(&headers) {
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id:?}");
    }
    let (status, text) = match guard::rejection(&defaults().server, None, &uri, &headers) {
        Some((status, fault)) => (status, fault.message),
        None => match body::arguments(request, BODY_BYTES_MAX).await {
            Err((status, fault)) => (status, fault.message),
            Ok(arguments) => {
                let tool = uri.path().strip_prefix("/tools/").unwrap_or_default();
                (StatusCode::OK, argument_errors(TEST_MODULES.gate(), tool, arguments).unwrap_or_default())
            }
        },
    };
    let mut response = Response::new(text);
    *response.status_mut() = status;
    Ok(response)
}
