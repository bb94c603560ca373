//! Checks of every request before routing: request id, `Host`, `Origin` and ambiguous headers.
//!
//! A page in the user's browser can send requests to loopback. `Host` exposes a rebound DNS name and `Origin` a foreign page;
//! both are checked on every route, including `/mcp`. A proxy in front may read a different copy of a repeated header than this
//! server does, so every header that matters for security may occur only once.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;

use super::answer;
use super::body_framing::BodyFraming;
use super::host::{HostPort, origin_host};
use super::request_parts::{
    API_KEY, ConnectionAddresses, PROJECT, READ_ONLY, RequestId, TOOLSETS, header_text,
};
use crate::answer::fresh_request_id;
use crate::mcp::{SESSION_ID, TEXT};
use contract::config::Server;
use contract::{ErrorCode, Fault};
use gate::app::App;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Headers that decide where a request goes and where it ends. A duplicate is rejected, even an equal one; so is a duplicate of
/// [`TEXT_HEADERS`]. (hyper merges equal `Content-Length` headers; [`BodyFraming`] finds them.)
static UNIQUE_HEADERS: [HeaderName; 6] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONTENT_TYPE,
    header::ORIGIN,
    REQUEST_ID,
];
/// Headers that identify the sender of a request and limit its permissions. A value that is not text is rejected: if it were
/// ignored, a request might do more than its sender allows.
static TEXT_HEADERS: [HeaderName; 9] = [
    header::AUTHORIZATION,
    API_KEY,
    PROJECT,
    TOOLSETS,
    READ_ONLY,
    HeaderName::from_static(SESSION_ID),
    HeaderName::from_static(TEXT),
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("last-event-id"),
];
/// Length above which a client's id is replaced by a generated one.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// Assigns the request id, rejects ambiguous and foreign requests, and sets the id on the response.
pub(super) async fn guard_request(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    guard(&app, &app.config.server, request, next).await
}

/// Like [`guard_request`], for a listener with names of its own, which are those in `server`.
pub(super) async fn guard(app: &App, server: &Server, mut request: Request, next: Next) -> Response {
    let id = accepted_id(request.headers()).unwrap_or_else(|| fresh_request_id(app));
    let local = request.extensions().get::<ConnectionAddresses>().map(|addresses| addresses.local.ip());
    let framing_fault = request.extensions().get::<BodyFraming>().and_then(|framing| framing.fault());
    let refused = match framing_fault {
        Some(fault) => Some((StatusCode::BAD_REQUEST, fault)),
        None => rejection(server, local, request.uri(), request.headers()),
    };
    let mut response = match refused {
        Some((status, fault)) => {
            let mut response = answer::refused(app, status, &fault, &id);
            if status == StatusCode::BAD_REQUEST {
                // A proxy may have read a different request, so nothing that follows is trusted either.
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            response
        }
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

/// Returns the reason why a request is rejected, if it is; `local` is the address that the client connected to.
pub(super) fn rejection(
    server: &Server,
    local: Option<IpAddr>,
    uri: &Uri,
    headers: &HeaderMap,
) -> Option<(StatusCode, Fault)> {
    match ambiguous(uri, headers) {
        Some(fault) => Some((StatusCode::BAD_REQUEST, fault)),
        None => ServerNames { server, local }
            .foreign_request(uri, headers)
            .map(|fault| (StatusCode::FORBIDDEN, fault)),
    }
}

/// Returns the client's own id, if it is short and printable ASCII, so that it is safe in logs.
pub(super) fn accepted_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let is_safe = !id.is_empty()
        && id.len() <= REQUEST_ID_BYTES_MAX
        && id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    is_safe.then(|| id.to_owned())
}

/// Returns the reason why the headers are ambiguous, if they are.
fn ambiguous(uri: &Uri, headers: &HeaderMap) -> Option<Fault> {
    let fault =
        |message: String, hint: &str| Some(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint));
    let mut names = UNIQUE_HEADERS.iter().chain(&TEXT_HEADERS);
    if let Some(name) = names.find(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        return fault(
            format!("The request has more than one `{name}` header."),
            "Send each header once; a proxy must replace these headers, not add to them.",
        );
    }
    if let Some(unreadable) = TEXT_HEADERS.iter().find_map(|name| header_text(headers, name).err()) {
        return Some(unreadable);
    }
    let host = headers.get(header::HOST).map(|host| host.to_str().ok().and_then(HostPort::parse));
    // An absolute request target names the host a second time.
    let target = uri.authority().map(|target| HostPort::parse(target.as_str()));
    let default_port = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let port = |host: HostPort<'_>| host.port.unwrap_or(default_port);
    match (host, target) {
        (Some(None), _) | (_, Some(None)) => fault(
            "The Host header or the request target is not a host name or address with a port.".to_owned(),
            "Send `Host: NAME` or `Host: NAME:PORT`, without user information.",
        ),
        (Some(Some(host)), Some(Some(target)))
            if !host.host.eq_ignore_ascii_case(target.host) || port(host) != port(target) =>
        {
            fault(
                "The Host header and the request target name different hosts.".to_owned(),
                "Send only the path as the request target, and the host in the Host header.",
            )
        }
        _ => None,
    }
}

/// The host names of this server.
struct ServerNames<'a> {
    server: &'a Server,
    /// The address that the client connected to.
    local: Option<IpAddr>,
}

impl ServerNames<'_> {
    /// Returns the reason why the request counts as foreign, if it does.
    fn foreign_request(&self, uri: &Uri, headers: &HeaderMap) -> Option<Fault> {
        let host = match headers.get(header::HOST) {
            Some(host) => host.to_str().ok().and_then(HostPort::parse),
            None => uri.authority().and_then(|target| HostPort::parse(target.as_str())),
        };
        if !host.is_some_and(|host| self.is_ours(host.host)) {
            return Some(Fault::new(ErrorCode::Forbidden, "The Host header does not name this server.").with_hint(
                "Use http://127.0.0.1 or http://localhost with the server's port; the operator adds other names to server.hosts.",
            ));
        }
        let is_foreign = match headers.get(header::ORIGIN) {
            Some(origin) => !origin.to_str().is_ok_and(|origin| self.is_known_origin(origin)),
            None => is_part_of_other_site(headers),
        };
        is_foreign.then(|| {
            Fault::new(ErrorCode::Forbidden, "Requests from web pages of other origins are not allowed.")
                .with_hint("Call the server from a program, or ask the operator to add the origin to server.cors_origins.")
        })
    }

    /// Checks whether an Origin is this server, this machine, or a configured site. `null`, the origin of sandboxed and file
    /// pages, is not among them.
    fn is_known_origin(&self, origin: &str) -> bool {
        self.server.cors_origins.iter().any(|known| known.trim_end_matches('/').eq_ignore_ascii_case(origin))
            || origin_host(origin).is_some_and(|host| self.is_ours(host))
    }

    /// Checks whether a host is this server. The owner of a DNS name can rebind it to this machine, so only known names count; an
    /// address counts if the client connected to it.
    fn is_ours(&self, host: &str) -> bool {
        host.eq_ignore_ascii_case("localhost")
            || host.eq_ignore_ascii_case(&self.server.bind)
            || self.server.hosts.iter().any(|name| name.eq_ignore_ascii_case(host))
            || host.parse::<IpAddr>().is_ok_and(|ip| {
                ip.is_loopback() || self.local.is_some_and(|local| local.to_canonical() == ip.to_canonical())
            })
    }
}

/// Checks whether a browser loads a subresource of another site's page, such as an image. That page could not read the answer,
/// but could time it. Following a link from there is allowed.
fn is_part_of_other_site(headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|sent| sent == value);
    let is_followed = is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document");
    is("sec-fetch-site", "cross-site") && !is_followed
}

/// Checks whether a form was sent by a page of this very server, according to the browser: other programs on this machine, and
/// other ports of its host, have pages too.
pub(super) fn is_own_form(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match (text(HeaderName::from_static("sec-fetch-site")), text(header::ORIGIN)) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => {
            let authority = origin.split_once("://").map(|(_, authority)| authority);
            authority.is_some_and(|own| text(header::HOST).is_some_and(|host| own.eq_ignore_ascii_case(host)))
        }
        (None, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn pages_of_other_sites_may_link_here_but_not_embed() {
        let part = |site, mode, dest| {
            let lines = [("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)];
            is_part_of_other_site(&headers(&lines))
        };
        assert!(!part("cross-site", "navigate", "document") && !part("same-origin", "cors", "empty"));
        assert!(part("cross-site", "no-cors", "image") && part("cross-site", "navigate", "iframe"));
        assert!(!is_part_of_other_site(&headers(&[])));
    }

    #[test]
    fn a_form_is_of_this_server_and_its_port() {
        let host = ("host", "localhost:7171");
        for own in [
            &[host][..],
            &[host, ("origin", "http://LOCALHOST:7171")],
            &[host, ("origin", "https://code.example.com"), ("sec-fetch-site", "same-origin")],
        ] {
            assert!(is_own_form(&headers(own)), "{own:?}");
        }
        for foreign in [
            &[host, ("origin", "http://localhost:3000")][..],
            &[host, ("origin", "null")],
            &[host, ("origin", "http://localhost:7171"), ("sec-fetch-site", "same-site")],
            &[host, ("sec-fetch-site", "cross-site")],
        ] {
            assert!(!is_own_form(&headers(foreign)), "{foreign:?}");
        }
    }

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
        ServerNames { server: &server, local }
            .foreign_request(&Uri::from_static("/health"), &headers)
            .is_some()
    }

    #[test]
    fn only_loopback_names_are_hosts() {
        for host in [
            "localhost", "LOCALHOST:7171", "127.0.0.1:7171", "127.0.0.2", "[::1]:7171", "Code.Example.com",
            "192.168.1.4:7171",
        ] {
            assert!(!refused(Some(host), None), "{host}");
        }
        for host in [
            "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1:7171",
            "192.168.1.5", "tools.example.com", "[::2]", "", "evil.example@localhost:1:2",
            "evil.example@localhost", "127.0.0.1:7391.evil.example", "localhost:evil", "127.0.0.1:99999",
            "l\u{f6}calhost", "2130706433",
        ] {
            assert!(refused(Some(host), None), "{host}");
        }
        assert!(refused(None, None), "no host at all");
    }

    #[test]
    fn ambiguous_headers_are_refused() {
        let refused = |target: &str, lines: &[(&str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.append(HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap());
            }
            ambiguous(&target.parse().unwrap(), &headers).is_some()
        };
        for name in UNIQUE_HEADERS.iter().chain(&TEXT_HEADERS) {
            assert!(!refused("/", &[(name.as_str(), "a")]), "{name}");
            assert!(refused("/", &[(name.as_str(), "a"), (name.as_str(), "a")]), "{name}");
        }
        for name in &TEXT_HEADERS {
            assert!(refused("/", &[(name.as_str(), "a\u{a0}")]), "{name}");
        }
        for host in ["", "a b", "a@localhost", "localhost:evil", "127.0.0.1:99999", "127.0.0.1:1.a.example"] {
            assert!(refused("/", &[("host", host)]), "{host}");
        }
        assert!(!refused("/", &[("accept", "a"), ("accept", "b"), ("cookie", "a"), ("cookie", "b")]));
        for host in ["localhost:7171", "LOCALHOST:7171"] {
            assert!(!refused("http://localhost:7171/", &[("host", host)]), "{host}");
        }
        assert!(!refused("http://localhost/", &[("host", "localhost:80")]));
        assert!(!refused("http://localhost/", &[]), "the target alone names it");
        for target in ["http://evil@localhost/", "http://localhost:99999/"] {
            assert!(refused(target, &[]) && refused(target, &[("host", "localhost")]), "{target}");
        }
        for host in ["localhost", "localhost:7172", "evil.example:7171", "", "a b"] {
            assert!(refused("http://localhost:7171/", &[("host", host)]), "{host}");
        }
    }

    #[test]
    fn only_local_pages_are_origins() {
        for origin in [
            "http://localhost:3000", "https://127.0.0.1", "http://[::1]:5173", "https://tools.example.com",
            "https://code.example.com",
        ] {
            assert!(!refused(Some("localhost"), Some(origin)), "{origin}");
        }
        for origin in [
            "null",
            "https://evil.example",
            "http://localhost.evil.example",
            "http://evil.example@localhost",
            "http://127.0.0.1:7391.evil.example",
            "http://localhost:evil",
            "http://127.0.0.1:99999",
            "file:///x",
            "localhost",
            "",
        ] {
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
