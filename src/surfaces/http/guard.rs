//! What stands before every route: the request's id, and who may reach us from where.
//!
//! A page in the user's browser can send requests to loopback. `Host` tells a rebound DNS name from us,
//! `Origin` tells a foreign page from a local one; both are checked on every route, `/mcp` included.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;

use super::answer;
use crate::app::App;
use crate::contract::{ErrorCode, Fault};
use crate::surfaces::answer::fresh_request_id;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longer ids of clients are replaced by one of ours.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// The request's correlation id, as the routes find it among the extensions.
#[derive(Debug, Clone)]
pub(super) struct RequestId(pub(super) String);

/// Names the request, refuses foreign hosts and origins, and names the response alike.
pub(super) async fn guard(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let id = accepted_id(request.headers()).unwrap_or_else(|| fresh_request_id(&app));
    let mut response = match foreign(request.uri(), request.headers(), &app.config.server.bind) {
        Some(fault) => answer::refused(&app, StatusCode::FORBIDDEN, &fault, &id),
        None => {
            request.extensions_mut().insert(RequestId(id.clone()));
            next.run(request).await
        }
    };
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// The client's own id, if it is short printable ASCII and so harmless in logs.
fn accepted_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let harmless = !id.is_empty()
        && id.len() <= REQUEST_ID_BYTES_MAX
        && id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    harmless.then(|| id.to_owned())
}

/// Why the request comes from elsewhere, if it does.
fn foreign(uri: &Uri, headers: &HeaderMap, bind: &str) -> Option<Fault> {
    let host = match headers.get(header::HOST) {
        Some(host) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
        None => uri.authority().cloned(),
    };
    if !host.is_some_and(|host| is_ours(host.host(), bind)) {
        return Some(
            Fault::new(ErrorCode::Forbidden, "The Host header does not name this server.")
                .with_hint("Use http://127.0.0.1 or http://localhost with the server's port."),
        );
    }
    let origin = headers.get(header::ORIGIN)?;
    let local = origin.to_str().is_ok_and(|origin| is_local_origin(origin, bind));
    (!local).then(|| {
        Fault::new(ErrorCode::Forbidden, "Pages of other sites may not use this server.")
            .with_hint("Call it from a program, or from a page that is served on loopback.")
    })
}

/// Whether an Origin is a web page on this machine. `null` is a sandboxed or file page: not one of ours.
fn is_local_origin(origin: &str, bind: &str) -> bool {
    origin.parse::<Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| is_ours(host, bind))
    })
}

fn is_ours(host: &str, bind: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.eq_ignore_ascii_case(bind)
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(host: Option<&str>, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
            if let Some(value) = value {
                headers.insert(name, HeaderValue::from_str(value).unwrap());
            }
        }
        foreign(&Uri::from_static("/health"), &headers, "127.0.0.1").is_some()
    }

    #[test]
    fn only_loopback_names_are_hosts() {
        for host in ["localhost", "LOCALHOST:7171", "127.0.0.1:7171", "127.0.0.2", "[::1]:7171"] {
            assert!(!refused(Some(host), None), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1:7171",
            "[::2]",
            "",
            "evil.example@localhost:1:2",
            "2130706433",
        ] {
            assert!(refused(Some(host), None), "{host}");
        }
        assert!(refused(None, None), "no host at all");
    }

    #[test]
    fn only_local_pages_are_origins() {
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5173"] {
            assert!(!refused(Some("localhost"), Some(origin)), "{origin}");
        }
        for origin in
            ["null", "https://evil.example", "http://localhost.evil.example", "file:///x", "localhost", ""]
        {
            assert!(refused(Some("localhost"), Some(origin)), "{origin}");
        }
    }

    #[test]
    fn strange_request_ids_are_not_taken_over() {
        let taken = |id: &'static str| {
            accepted_id(&HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_static(id))])).is_some()
        };
        assert!(taken("a-1.b_2"));
        assert!(!taken("") && !taken("a b") && !taken("a\tb") && !taken("\"a"));
    }
}
