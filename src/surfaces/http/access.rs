//! Who may call: keys and tokens, or this machine's own user.
//!
//! A key that is sent is always checked, also where none is needed. Without one, a request is the operator's
//! own if it comes from this machine and nothing says that it was passed on.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::answer;
use super::guard::RequestId;
use super::listen::bind_address;
use super::oauth;
use crate::app::App;
use crate::tools::{Caller, Surface, View};
use contract::config::{Config, Required, Server};
use contract::{ErrorCode, Fault};
use tenancy::{self, Keyring, Principal, TokenVerifier};

/// The key of a caller who cannot set `Authorization`.
pub(super) const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// Narrows the tools of a request: families, comma separated.
pub(super) const TOOLSETS: HeaderName = HeaderName::from_static("x-mcp-toolsets");
/// Narrows the tools of a request to those that change nothing: `true`.
pub(super) const READ_ONLY: HeaderName = HeaderName::from_static("x-mcp-readonly");
/// The project of a client's session; a call's own `project_id` beats it.
pub(super) const PROJECT: HeaderName = HeaderName::from_static("x-pairofcleats-project");

/// Routes that answer without a key: probes, and what tells a client how to get one.
const OPEN: [&str; 4] = ["/health", "/health/ready", "/openapi.json", "/docs"];
/// What a reverse proxy adds.
const PASSED_ON: [HeaderName; 3] =
    [header::FORWARDED, HeaderName::from_static("x-forwarded-for"), HeaderName::from_static("x-real-ip")];

/// The two ends of the connection that a request came over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    /// The client's.
    pub(super) peer: SocketAddr,
    /// Ours.
    pub(super) local: SocketAddr,
}

/// What the middleware needs.
#[derive(Clone)]
pub(super) struct Access {
    pub(super) app: Arc<App>,
    pub(super) keys: Arc<Keyring>,
    pub(super) tokens: Option<Arc<TokenVerifier>>,
}

/// Whether no request is let through without a key.
pub(super) fn needs_key(config: &Config) -> bool {
    let open_bind = !bind_address(&config.server.bind).is_ok_and(|ip| ip.is_loopback());
    match config.access.required {
        Required::Always => true,
        Required::Auto => (open_bind && !config.access.insecure) || is_behind_proxy(&config.server),
    }
}

/// Whether the operator says that proxies pass requests on.
fn is_behind_proxy(server: &Server) -> bool {
    server.behind_proxy || !server.trusted_proxies.is_empty()
}

/// Finds out who calls, and leaves the [`Caller`] among the request's extensions.
pub(super) async fn identify(State(access): State<Access>, mut request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestId>().cloned().unwrap_or_default();
    let path = request.uri().path();
    // Nothing there depends on who asks, and a probe must not wait for the database that knows the keys.
    let open = OPEN.contains(&path) || path.starts_with("/.well-known/");
    let is_here = is_here(&request);
    let principal = match open {
        true => Arc::new(Principal::nobody()),
        false => match access.principal(credential(request.headers()), is_here).await {
            Err(denied) => return access.refuse(&denied, &id.0),
            Ok(principal) => principal,
        },
    };
    let caller = match caller(&access.app.config, request.headers(), principal, id.0.clone()) {
        Ok(caller) => caller,
        Err(fault) => return answer::refused(&access.app, StatusCode::BAD_REQUEST, &fault, &id.0),
    };
    request.extensions_mut().insert(caller);
    next.run(request).await
}

/// Whether the request was sent on this machine, and nothing says that it was passed on.
fn is_here(request: &Request) -> bool {
    let passed_on = PASSED_ON.iter().any(|name| request.headers().contains_key(name));
    let ends = request.extensions().get::<Ends>();
    !passed_on && ends.is_some_and(|ends| ends.peer.ip().to_canonical().is_loopback())
}

/// The caller that a request's headers describe.
fn caller(
    config: &Config,
    headers: &HeaderMap,
    principal: Arc<Principal>,
    request_id: String,
) -> Result<Caller, Fault> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let operator = View::of(&config.tools.toolsets.join(","), config.tools.read_only)?;
    let asked = View::of(text(TOOLSETS).unwrap_or_default(), text(READ_ONLY).is_some_and(is_true))?;
    Ok(Caller {
        principal,
        surface: Surface::Http,
        directory: None,
        roots: Vec::new(),
        project: text(PROJECT).filter(|project| !project.is_empty()).map(str::to_owned),
        request_id: Some(request_id),
        view: operator.narrowed(&asked),
    })
}

fn is_true(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on")
}

/// Why a request is not let through.
struct Denied {
    status: StatusCode,
    fault: Fault,
    /// The `error` of WWW-Authenticate; none where no credentials were sent (RFC 6750 §3.1).
    error: Option<&'static str>,
}

impl Denied {
    fn unauthorized(message: &str, error: Option<&'static str>) -> Self {
        let fault = Fault::new(ErrorCode::Unauthorized, message).with_hint(
            "Send `Authorization: Bearer KEY` or `X-API-Key: KEY`; the operator makes keys with `pairofcleats keys create`.",
        );
        Self { status: StatusCode::UNAUTHORIZED, fault, error }
    }

    fn token(denied: &tenancy::Denied) -> Self {
        if let tenancy::Denied::KeysUnavailable(_) = denied {
            let fault = Fault::new(ErrorCode::StorageUnavailable, denied.description()).with_hint(
                "Try again in a few seconds; the operator looks whether the issuer can be reached.",
            );
            return Self { status: StatusCode::SERVICE_UNAVAILABLE, fault, error: None };
        }
        Self::unauthorized(denied.description(), Some("invalid_token"))
    }
}

impl Access {
    async fn principal(
        &self,
        sent: Result<Option<String>, Denied>,
        is_here: bool,
    ) -> Result<Arc<Principal>, Denied> {
        match sent? {
            Some(key) if Keyring::is_key(&key) => self.of_key(&key).await,
            Some(token) => match &self.tokens {
                Some(tokens) => tokens.verify(&token).await.map(Arc::new).map_err(|denied| {
                    tracing::debug!(%denied, "an access token was refused");
                    Denied::token(&denied)
                }),
                None => Err(Denied::unauthorized("The key does not work.", Some("invalid_token"))),
            },
            None => self.without_key(is_here),
        }
    }

    async fn of_key(&self, key: &str) -> Result<Arc<Principal>, Denied> {
        let found = async { self.keys.principal(self.app.store().await?, key).await };
        match found.await {
            Ok(Some(principal)) => Ok(principal),
            Ok(None) => Err(Denied::unauthorized("The key does not work.", Some("invalid_token"))),
            Err(fault) => {
                let status = StatusCode::from_u16(fault.code.info().http);
                Err(Denied { status: status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE), fault, error: None })
            }
        }
    }

    fn without_key(&self, is_here: bool) -> Result<Arc<Principal>, Denied> {
        if needs_key(&self.app.config) {
            return Err(Denied::unauthorized("This server wants a key.", None));
        }
        match (is_here, self.app.config.access.insecure) {
            (true, _) => Ok(Arc::new(Principal::local())),
            (false, true) => Ok(Arc::new(Principal::anonymous())),
            (false, false) => {
                Err(Denied::unauthorized("The request was passed on by a proxy, so it wants a key.", None))
            }
        }
    }

    fn refuse(&self, denied: &Denied, id: &str) -> Response {
        self.app.metrics.refused(denied.fault.code.as_str());
        let mut response = answer::refused(&self.app, denied.status, &denied.fault, id);
        if denied.status == StatusCode::UNAUTHORIZED {
            let mut challenge = String::from("Bearer realm=\"pairofcleats\"");
            if let Some(error) = denied.error {
                challenge.push_str(&format!(", error=\"{error}\""));
            }
            if let Some(url) = oauth::metadata_url(&self.app.config) {
                challenge.push_str(&format!(", resource_metadata=\"{url}\""));
            }
            if let Ok(challenge) = HeaderValue::from_str(&challenge) {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            }
        }
        response
    }
}

/// The key or token that was sent; two different ones are refused rather than chosen from.
fn credential(headers: &HeaderMap) -> Result<Option<String>, Denied> {
    let unreadable = || Denied::unauthorized("The credentials cannot be read.", Some("invalid_request"));
    let bearer = match headers.get(header::AUTHORIZATION) {
        None => None,
        Some(value) => {
            let text = value.to_str().map_err(|_| unreadable())?;
            let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
            if !scheme.eq_ignore_ascii_case("bearer") || token.trim().is_empty() {
                return Err(unreadable());
            }
            Some(token.trim())
        }
    };
    let key = match headers.get(API_KEY) {
        None => None,
        Some(value) => Some(value.to_str().map_err(|_| unreadable())?.trim()),
    };
    match (bearer, key) {
        (Some(bearer), Some(key)) if bearer != key => Err(unreadable()),
        (bearer, key) => Ok(bearer.or(key).map(str::to_owned)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(headers: &[(HeaderName, &str)]) -> Result<Option<String>, StatusCode> {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()))
            .collect();
        credential(&headers).map_err(|denied| denied.status)
    }

    #[test]
    fn a_key_comes_in_either_header() {
        assert_eq!(sent(&[]), Ok(None));
        assert_eq!(sent(&[(header::AUTHORIZATION, "Bearer k")]), Ok(Some("k".into())));
        assert_eq!(sent(&[(header::AUTHORIZATION, "bearer  k ")]), Ok(Some("k".into())));
        assert_eq!(sent(&[(API_KEY, "k")]), Ok(Some("k".into())));
        assert_eq!(sent(&[(header::AUTHORIZATION, "Bearer k"), (API_KEY, "k")]), Ok(Some("k".into())));
        for bad in ["Basic dTpw", "Bearer", "Bearer ", "k"] {
            assert_eq!(sent(&[(header::AUTHORIZATION, bad)]), Err(StatusCode::UNAUTHORIZED), "{bad}");
        }
        let two = [(header::AUTHORIZATION, "Bearer k"), (API_KEY, "other")];
        assert_eq!(sent(&two), Err(StatusCode::UNAUTHORIZED));
    }
}
