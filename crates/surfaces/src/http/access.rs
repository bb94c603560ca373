//! Authentication: API keys, access tokens, or the local user.
//!
//! A key in a request is always checked, even if none is required. A request without a key counts as the operator's own if it
//! comes from this machine and no header indicates that a proxy forwarded it.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::address::bind_address;
use super::answer;
use super::entrances::{Action, Sender, claimed};
use super::guard::is_own_form;
use super::mcp_routes;
use super::oauth;
use super::pages::{self, Sessions};
use super::request_parts::{
    API_KEY, ConnectionAddresses, PROJECT, READ_ONLY, RequestId, TOOLSETS, header_text,
};
use super::route::RouteTable;
use super::standing::Standing;
use crate::module::Modules;
use contract::config::{Config, Required, Server};
use contract::{ErrorCode, Fault};
use gate::app::App;
use gate::tools::{Caller, Surface, ToolVisibility};
use tenancy::{self, Keyring, Principal, SignInClient, TokenVerifier};

/// Headers that a reverse proxy adds.
const PROXY_HEADERS: [HeaderName; 3] =
    [header::FORWARDED, HeaderName::from_static("x-forwarded-for"), HeaderName::from_static("x-real-ip")];

/// The header that names the span of the client, by W3C Trace Context. A malformed one is ignored, as the standard demands.
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// State of the authentication middleware.
#[derive(Clone)]
pub(super) struct Access {
    pub(super) app: Arc<App>,
    /// The modules of the server.
    pub(super) modules: &'static Modules,
    /// Its routes and pages.
    pub(super) routes: Arc<RouteTable>,
    pub(super) keys: Arc<Keyring>,
    pub(super) tokens: Option<Arc<TokenVerifier>>,
    /// The client with which browser users sign in without a key; `None` if no issuer is configured.
    pub(super) sign_in: Option<Arc<SignInClient>>,
    /// Browsers that have signed in; only pages accept their cookie.
    pub(super) sessions: Arc<Sessions>,
}

/// Returns `true` if every request needs a key.
pub(super) fn needs_key(config: &Config) -> bool {
    let open_bind = !bind_address(&config.server.bind).is_ok_and(|ip| ip.is_loopback());
    match config.access.required {
        Required::Always => true,
        Required::Auto => (open_bind && !config.access.insecure) || is_behind_proxy(&config.server),
    }
}

/// Returns `true` if a proxy is configured.
fn is_behind_proxy(server: &Server) -> bool {
    server.behind_proxy || !server.trusted_proxies.is_empty()
}

/// Authenticates the request and stores the [`Caller`] in its extensions.
pub(super) async fn identify(State(access): State<Access>, mut request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestId>().cloned().unwrap_or_default();
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    // A probe must not wait for the database that holds the keys.
    let is_public = access.routes.is_public(route.unwrap_or_else(|| request.uri().path()));
    let is_page = route.is_some_and(|route| access.routes.is_page(route));
    let is_mcp = route.is_some_and(mcp_routes::is_mcp);
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    if changes && route.is_some_and(|route| access.routes.has_forms(route)) && !is_own_form(request.headers())
    {
        let fault = Fault::new(ErrorCode::Forbidden, "The form is not from a page of this server.")
            .with_hint("Open the page at the address of this server and send the form there.");
        return answer::refused(&access.app, StatusCode::FORBIDDEN, &fault, &id.0);
    }
    let is_local = is_local(&request);
    let mut sent = credential(request.headers());
    let server = &access.app.config.server;
    // The cookie also counts where a browser looks for a page that does not exist.
    let takes_cookie = is_page || (route.is_none() && pages::is_browser(request.headers()));
    if takes_cookie
        && matches!(sent, Ok(None))
        && let Some((session, key)) = access.sessions.find(server, request.headers(), Instant::now())
    {
        sent = Ok(Some(key));
        request.extensions_mut().insert(session);
    }
    let credential = sent.as_ref().ok().cloned().flatten();
    let has_credential = !matches!(sent, Ok(None));
    let principal = match is_public {
        true => Arc::new(Principal::unauthenticated()),
        false => match access.principal(sent, is_local).await {
            Err(mut denied) => {
                // Only a wrong credential counts as an attempt: other errors are not the sender's.
                if has_credential && denied.status == StatusCode::UNAUTHORIZED {
                    let sender = Sender::of(request.extensions());
                    denied = denied.recorded(&access.app, &sender, credential.as_deref());
                }
                return match is_page && denied.status == StatusCode::UNAUTHORIZED {
                    true => pages::redirect_to_sign_in(&request),
                    false => access.refuse(&denied, &id.0),
                };
            }
            Ok(principal) => principal,
        },
    };
    let caller = match caller_from_headers(&access.app, request.headers(), principal, id.0.clone()) {
        Ok(caller) => caller,
        Err(fault) => return answer::refused(&access.app, StatusCode::BAD_REQUEST, &fault, &id.0),
    };
    // Only a credential can end while a stream is open.
    let standing = credential.filter(|_| !is_public).map(|credential| Standing {
        principal: Arc::clone(&caller.principal),
        credential,
        request_id: id.0,
        is_mcp,
        access,
    });
    request.extensions_mut().insert(caller);
    let response = next.run(request).await;
    match standing {
        Some(standing) => standing.limit(response),
        None => response,
    }
}

/// Checks whether the request comes from this machine and no header indicates that a proxy forwarded it.
fn is_local(request: &Request) -> bool {
    let forwarded = PROXY_HEADERS.iter().any(|name| request.headers().contains_key(name));
    let addresses = request.extensions().get::<ConnectionAddresses>();
    !forwarded && addresses.is_some_and(|addresses| addresses.peer.ip().to_canonical().is_loopback())
}

/// Builds the caller from the request's headers.
fn caller_from_headers(
    app: &App,
    headers: &HeaderMap,
    principal: Arc<Principal>,
    request_id: String,
) -> Result<Caller, Fault> {
    let (modules, settings) = (app.modules, &app.config.tools);
    let operator = ToolVisibility::parse(modules, &settings.toolsets.join(","), settings.read_only)?;
    let read_only = header_text(headers, &READ_ONLY)?.map(read_only_value).transpose()?.unwrap_or(false);
    let requested = requested_tools(modules, header_text(headers, &TOOLSETS)?, read_only)?;
    let project = header_text(headers, &PROJECT)?.map(project_value).transpose()?;
    Ok(Caller {
        principal,
        surface: Surface::Http,
        directory: None,
        roots: Vec::new(),
        project,
        request_id: Some(request_id),
        trace_parent: headers.get(TRACE_PARENT).and_then(|value| value.to_str().ok()).map(str::to_owned),
        visibility: operator.intersect(&requested),
    })
}

/// Returns the tools that a request selects; all of them if it sends no list. A list that is empty is refused, because its sender
/// does not want all tools.
pub(super) fn requested_tools(
    modules: &gate::module::Modules,
    toolsets: Option<&str>,
    read_only: bool,
) -> Result<ToolVisibility, Fault> {
    if toolsets.is_some_and(|list| list.split(',').all(|name| name.trim().is_empty())) {
        return Err(Fault::new(ErrorCode::InvalidRequest, "The list of toolsets names none.")
            .with_hint("Name at least one toolset, or omit the list; `all` means every toolset."));
    }
    ToolVisibility::parse(modules, toolsets.unwrap_or_default(), read_only)
}

/// Parses the value of `X-PairOfCleats-Project`. An empty one is refused: it would select the default workspace.
fn project_value(value: &str) -> Result<String, Fault> {
    if value.is_empty() {
        return Err(Fault::new(ErrorCode::InvalidRequest, "`X-PairOfCleats-Project` is empty.")
            .with_hint("Send the id of a project, or omit the header."));
    }
    Ok(value.to_owned())
}

/// Parses the value of `X-MCP-Readonly`. An unknown value is an error: a misspelled `true` must not permit writing.
fn read_only_value(value: &str) -> Result<bool, Fault> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(Fault::new(ErrorCode::InvalidRequest, "`X-MCP-Readonly` is neither true nor false.")
            .with_hint("Send true or false, or omit the header.")),
    }
}

/// The reason why a request is rejected.
struct AccessDenied {
    status: StatusCode,
    fault: Fault,
    /// The `error` of WWW-Authenticate; `None` if no credentials were sent (RFC 6750 §3.1).
    error: Option<&'static str>,
}

impl AccessDenied {
    fn unauthorized(message: &str, error: Option<&'static str>) -> Self {
        let fault = Fault::new(ErrorCode::Unauthorized, message).with_hint(
            "Send `Authorization: Bearer KEY` or `X-API-Key: KEY`; the operator creates keys with `pairofcleats keys create`.",
        );
        Self { status: StatusCode::UNAUTHORIZED, fault, error }
    }

    /// Rejects a credential header whose value is not text.
    fn unreadable(fault: Fault) -> Self {
        Self { status: StatusCode::BAD_REQUEST, fault, error: None }
    }

    /// Audits the rejection and returns it, or a rate limit error if too many requests from this address were refused.
    fn recorded(self, app: &App, sender: &Sender, credential: Option<&str>) -> Self {
        let fault = sender.refused(app, Action::Credential, &claimed(credential), self.fault);
        match fault.code {
            ErrorCode::RateLimited => Self { status: StatusCode::TOO_MANY_REQUESTS, fault, error: None },
            _ => Self { fault, ..self },
        }
    }

    fn from_token(denied: &tenancy::TokenError) -> Self {
        if let tenancy::TokenError::KeysUnavailable(_) = denied {
            let fault = Fault::new(ErrorCode::StorageUnavailable, denied.description()).with_hint(
                "Try again in a few seconds; the operator should check that the issuer can be reached.",
            );
            return Self { status: StatusCode::SERVICE_UNAVAILABLE, fault, error: None };
        }
        Self::unauthorized(denied.description(), Some("invalid_token"))
    }
}

impl Access {
    /// Checks a key or token that was entered in a form or sent with a request.
    ///
    /// # Errors
    /// The status, and the reason why it is not accepted.
    pub(super) async fn check(&self, credential: &str) -> Result<Arc<Principal>, (StatusCode, Fault)> {
        let checked = self.principal(Ok(Some(credential.to_owned())), false).await;
        checked.map_err(|denied| (denied.status, denied.fault))
    }

    async fn principal(
        &self,
        sent: Result<Option<String>, AccessDenied>,
        is_local: bool,
    ) -> Result<Arc<Principal>, AccessDenied> {
        match sent? {
            Some(key) if Keyring::is_key(&key) => self.principal_of_key(&key).await,
            Some(token) => match &self.tokens {
                Some(tokens) => tokens.verify(&token).await.map(Arc::new).map_err(|denied| {
                    tracing::debug!(%denied, "an access token was refused");
                    AccessDenied::from_token(&denied)
                }),
                None => Err(AccessDenied::unauthorized(
                    "The API key or access token is not valid.",
                    Some("invalid_token"),
                )),
            },
            None => self.principal_without_key(is_local),
        }
    }

    async fn principal_of_key(&self, key: &str) -> Result<Arc<Principal>, AccessDenied> {
        let found = async { self.keys.principal(self.app.store().await?, key).await };
        match found.await {
            Ok(Some(principal)) => Ok(principal),
            Ok(None) => Err(AccessDenied::unauthorized(
                "The API key or access token is not valid.",
                Some("invalid_token"),
            )),
            Err(fault) => {
                let status = StatusCode::from_u16(fault.code.info().http);
                Err(AccessDenied {
                    status: status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE),
                    fault,
                    error: None,
                })
            }
        }
    }

    fn principal_without_key(&self, is_local: bool) -> Result<Arc<Principal>, AccessDenied> {
        if needs_key(&self.app.config) {
            return Err(AccessDenied::unauthorized("This server requires an API key.", None));
        }
        match (is_local, self.app.config.access.insecure) {
            (true, _) => Ok(Arc::new(Principal::local())),
            (false, true) => Ok(Arc::new(Principal::anonymous())),
            (false, false) => {
                Err(AccessDenied::unauthorized("A request that a proxy forwarded needs an API key.", None))
            }
        }
    }

    fn refuse(&self, denied: &AccessDenied, id: &str) -> Response {
        self.app.metrics.record_refusal(denied.fault.code.as_str());
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

/// Returns the key or token that was sent. Rejects a request with two different ones.
fn credential(headers: &HeaderMap) -> Result<Option<String>, AccessDenied> {
    const TWO_CREDENTIALS: &str =
        "`Authorization` and `X-API-Key` have different credentials: send only one.";
    let malformed = || AccessDenied::unauthorized("The credentials are malformed.", Some("invalid_request"));
    let bearer = match header_text(headers, &header::AUTHORIZATION).map_err(AccessDenied::unreadable)? {
        None => None,
        Some(text) => {
            let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
            if !scheme.eq_ignore_ascii_case("bearer") || token.trim().is_empty() {
                return Err(malformed());
            }
            Some(token.trim())
        }
    };
    let key = header_text(headers, &API_KEY).map_err(AccessDenied::unreadable)?.map(str::trim);
    match (bearer, key) {
        (Some(bearer), Some(key)) if bearer != key => {
            Err(AccessDenied::unauthorized(TWO_CREDENTIALS, Some("invalid_request")))
        }
        (bearer, key) => Ok(bearer.or(key).map(str::to_owned)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::TEST_MODULES;

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
        for name in [header::AUTHORIZATION, API_KEY] {
            assert_eq!(sent(&[(name, "Bearer \u{e4}")]), Err(StatusCode::BAD_REQUEST));
        }
    }

    #[test]
    fn an_empty_limit_is_refused() {
        let modules = TEST_MODULES.gate();
        assert_eq!(requested_tools(modules, None, false).unwrap(), ToolVisibility::default());
        let search = ToolVisibility::parse(modules, "search", false).unwrap();
        assert_eq!(requested_tools(modules, Some(" search,"), false).unwrap(), search);
        for nothing in ["", " ", ",", " , ,", "\u{a0}"] {
            assert!(requested_tools(modules, Some(nothing), false).is_err(), "{nothing:?}");
        }
        assert!(project_value("").is_err() && project_value("p").is_ok());
        assert!(read_only_value("").is_err() && read_only_value("tru").is_err());
        assert!(read_only_value(" True").unwrap() && !read_only_value("false").unwrap());
    }
}
