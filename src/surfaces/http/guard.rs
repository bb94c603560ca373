//! What stands before every route: the request's id, and who may reach us from where.
//!
//! A page in the user's browser can send requests to loopback. `Host` tells a rebound DNS name from us,
//! `Origin` tells a foreign page from a local one; both are checked on every route, `/mcp` included.
//! Whoever stands before us may read another line of a header than we do, so a header that decides something comes once.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;

use super::access::{API_KEY, Ends, PROJECT, READ_ONLY, TOOLSETS};
use super::answer;
use super::head::Lengths;
use crate::app::App;
use crate::surfaces::answer::fresh_request_id;
use crate::surfaces::mcp::{SESSION_ID, TEXT};
use contract::config::Server;
use contract::{ErrorCode, Fault};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Headers that decide where a request ends, who sends it, or what it may do: a second one is refused, also an equal one. (Of two
/// equal `Content-Length`, which say one thing only, hyper passes one on; two different ones it refuses itself.)
const ONCE: [HeaderName; 13] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONTENT_TYPE,
    header::AUTHORIZATION,
    header::ORIGIN,
    API_KEY,
    PROJECT,
    TOOLSETS,
    READ_ONLY,
    REQUEST_ID,
    HeaderName::from_static(SESSION_ID),
    HeaderName::from_static(TEXT),
];
/// Longer ids of clients are replaced by one of ours.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// What is known of how the length of a request's body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyLengths {
    /// In one way, or there is none.
    One,
    /// In chunks, and by a number beside it.
    Two,
    /// In chunks, in a request that came behind another one before that was answered: what else its head held is not known.
    Unknown,
}

impl BodyLengths {
    /// `headers` are as hyper left them, `head` is what came over the wire.
    pub(super) fn of(headers: &HeaderMap, head: Option<Lengths>) -> Self {
        match head {
            _ if !headers.contains_key(header::TRANSFER_ENCODING) => Self::One,
            Some(Lengths { transfer_encoding: true, content_length }) => {
                if content_length {
                    Self::Two
                } else {
                    Self::One
                }
            }
            _ => Self::Unknown,
        }
    }

    /// Whether whoever stands before us may take another end of the request than we do.
    pub(super) fn are_ambiguous(self) -> bool {
        self != Self::One
    }

    fn fault(self) -> Option<Fault> {
        let (message, hint) = match self {
            Self::One => return None,
            Self::Two => (
                "The request has `Content-Length` beside `Transfer-Encoding`.",
                "Send one of the two; a proxy must replace what it passes on, not add to it.",
            ),
            Self::Unknown => (
                "A request with a body in chunks came before the answer to the one before it.",
                "Wait for each answer, or send `Content-Length`.",
            ),
        };
        Some(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint))
    }
}

/// The request's correlation id, as the routes find it among the extensions.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestId(pub(super) String);

/// Names the request, refuses foreign hosts and origins, and names the response alike.
pub(super) async fn guard(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let id = accepted_id(request.headers()).unwrap_or_else(|| fresh_request_id(&app));
    let local = request.extensions().get::<Ends>().map(|ends| ends.local.ip());
    let lengths = request.extensions().get::<BodyLengths>().and_then(|lengths| lengths.fault());
    let refused = match lengths {
        Some(fault) => Some((StatusCode::BAD_REQUEST, fault)),
        None => refused(&app.config.server, local, request.uri(), request.headers()),
    };
    let mut response = match refused {
        Some((status, fault)) => answer::refused(&app, status, &fault, &id),
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

/// Why a request is not taken, if it is not; `local` is the address that the client connected to.
pub(super) fn refused(
    server: &Server,
    local: Option<IpAddr>,
    uri: &Uri,
    headers: &HeaderMap,
) -> Option<(StatusCode, Fault)> {
    match ambiguous(uri, headers) {
        Some(fault) => Some((StatusCode::BAD_REQUEST, fault)),
        None => Names { server, local }.foreign(uri, headers).map(|fault| (StatusCode::FORBIDDEN, fault)),
    }
}

/// The client's own id, if it is short printable ASCII and so harmless in logs.
pub(super) fn accepted_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let harmless = !id.is_empty()
        && id.len() <= REQUEST_ID_BYTES_MAX
        && id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    harmless.then(|| id.to_owned())
}

/// Why the request can be read in two ways, if it can.
fn ambiguous(uri: &Uri, headers: &HeaderMap) -> Option<Fault> {
    let fault =
        |message: String, hint: &str| Some(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint));
    if let Some(name) = ONCE.iter().find(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        return fault(
            format!("The request has more than one `{name}` header."),
            "Send each header once; a proxy must replace what it passes on, not add to it.",
        );
    }
    // An absolute target names the host once more.
    let (target, host) = (uri.authority()?, headers.get(header::HOST)?);
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    let port = |authority: &Authority| {
        authority.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 })
    };
    let same = host
        .is_some_and(|host| host.host().eq_ignore_ascii_case(target.host()) && port(&host) == port(target));
    match same {
        true => None,
        false => fault(
            "The Host header names another host than the request's target.".to_owned(),
            "Send the path alone as the target, and the host in the Host header.",
        ),
    }
}

/// The names under which this server is reached.
struct Names<'a> {
    server: &'a Server,
    /// The address that the client connected to.
    local: Option<IpAddr>,
}

impl Names<'_> {
    /// Why the request comes from elsewhere, if it does.
    fn foreign(&self, uri: &Uri, headers: &HeaderMap) -> Option<Fault> {
        let host = match headers.get(header::HOST) {
            Some(host) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
            None => uri.authority().cloned(),
        };
        if !host.is_some_and(|host| self.is_ours(host.host())) {
            return Some(Fault::new(ErrorCode::Forbidden, "The Host header does not name this server.").with_hint(
                "Use http://127.0.0.1 or http://localhost with the server's port; the operator adds other names to server.hosts.",
            ));
        }
        let origin = headers.get(header::ORIGIN)?;
        let known = origin.to_str().is_ok_and(|origin| self.is_known_origin(origin));
        (!known).then(|| {
            Fault::new(ErrorCode::Forbidden, "Pages of other sites may not use this server.")
                .with_hint("Call it from a program; the operator adds sites to server.cors_origins.")
        })
    }

    /// Whether an Origin is a page of this server, of this machine, or of a site that the operator named. `null`
    /// is a sandboxed or file page: none of them.
    fn is_known_origin(&self, origin: &str) -> bool {
        self.server.cors_origins.iter().any(|known| known.trim_end_matches('/').eq_ignore_ascii_case(origin))
            || origin.parse::<Uri>().is_ok_and(|uri| {
                matches!(uri.scheme_str(), Some("http" | "https"))
                    && uri.host().is_some_and(|host| self.is_ours(host))
            })
    }

    /// Names can be rebound to this machine by whoever owns them, so only known ones are ours; an address is
    /// ours when the client connected to it.
    fn is_ours(&self, host: &str) -> bool {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || host.eq_ignore_ascii_case(&self.server.bind)
            || self.server.hosts.iter().any(|name| name.eq_ignore_ascii_case(host))
            || host.parse::<IpAddr>().is_ok_and(|ip| {
                ip.is_loopback() || self.local.is_some_and(|local| local.to_canonical() == ip.to_canonical())
            })
    }
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
        let overrides = contract::config::Overrides::default();
        let mut server = contract::config::load(&overrides).unwrap().0.server;
        server.hosts = vec!["code.example.com".into()];
        server.cors_origins = vec!["https://tools.example.com".into()];
        let local = Some(IpAddr::from([192, 168, 1, 4]));
        Names { server: &server, local }.foreign(&Uri::from_static("/health"), &headers).is_some()
    }

    #[test]
    fn only_loopback_names_are_hosts() {
        for host in [
            "localhost",
            "LOCALHOST:7171",
            "127.0.0.1:7171",
            "127.0.0.2",
            "[::1]:7171",
            "Code.Example.com",
            "192.168.1.4:7171",
        ] {
            assert!(!refused(Some(host), None), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1:7171",
            "192.168.1.5",
            "tools.example.com",
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
    fn what_can_be_read_in_two_ways_is_refused() {
        let refused = |target: &str, lines: &[(&str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.append(HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap());
            }
            ambiguous(&target.parse().unwrap(), &headers).is_some()
        };
        for name in ONCE {
            assert!(!refused("/", &[(name.as_str(), "a")]), "{name}");
            assert!(refused("/", &[(name.as_str(), "a"), (name.as_str(), "a")]), "{name}");
        }
        assert!(!refused("/", &[("accept", "a"), ("accept", "b"), ("cookie", "a"), ("cookie", "b")]));
        for host in ["localhost:7171", "LOCALHOST:7171"] {
            assert!(!refused("http://localhost:7171/", &[("host", host)]), "{host}");
        }
        assert!(!refused("http://localhost/", &[("host", "localhost:80")]));
        assert!(!refused("http://localhost/", &[]), "the target alone names it");
        for host in ["localhost", "localhost:7172", "evil.example:7171", "", "a b"] {
            assert!(refused("http://localhost:7171/", &[("host", host)]), "{host}");
        }
    }

    #[test]
    fn only_local_pages_are_origins() {
        for origin in [
            "http://localhost:3000",
            "https://127.0.0.1",
            "http://[::1]:5173",
            "https://tools.example.com",
            "https://code.example.com",
        ] {
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
