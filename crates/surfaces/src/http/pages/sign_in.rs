//! Sign-in with a key, where the server requires one; [`issuer`](super::issuer) offers sign-in without one.

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use super::data::PageError;
use super::failure;
use super::layout::Frame;
use super::links::with_parameters;
use super::paths::SIGN_IN_AT_ISSUER;
use super::search;
use super::sessions::Cookie;
use crate::answer as shared;
use crate::http::access::Access;
use crate::http::body;
use crate::http::entrances::{Action, Sender, claimed};
use crate::http::query::{SentQuery, unique_parameters};
use contract::{ErrorCode, Fault};
use gate::app::App;
use tenancy::Principal;

pub(super) use super::paths::SIGN_OUT as OUT_PATH;

pub(super) const PATH: &str = "/sign-in";

/// Size limit of a form: a key and the next page.
const FORM_BYTES_MAX: usize = 16 << 10;

/// Redirects a browser without a key to the form, and from there back to the page.
pub(in super::super) fn redirect(request: &Request) -> Response {
    let asked = match *request.method() {
        Method::GET => request.uri().path_and_query().map_or("/", |asked| asked.as_str()),
        // The changes of a form are not sent a second time.
        _ => request.uri().path(),
    };
    Redirect::to(&with_parameters(PATH, &[("next", asked)])).into_response()
}

/// `GET /sign-in`.
pub(super) async fn show(Extension(access): Extension<Access>, query: SentQuery) -> Response {
    match unique_parameters(query) {
        Ok(mut parameters) => {
            respond(&access, StatusCode::OK, &parameters.remove("next").unwrap_or_default(), None)
        }
        Err(fault) => respond(&access, StatusCode::BAD_REQUEST, "", Some(&fault.into())),
    }
}

/// `POST /sign-in`: begins a session for a valid key.
pub(super) async fn sign_in(
    State(app): State<Arc<App>>,
    Extension(access): Extension<Access>,
    sender: Sender,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let form = match body::form(request, FORM_BYTES_MAX).await {
        Ok(form) => form,
        Err((status, fault)) => return respond(&access, status, "", Some(&fault.into())),
    };
    let field = |name: &str| form.get(name).map(|value| value.trim()).unwrap_or_default();
    let (key, next) = (field("key"), field("next"));
    if key.is_empty() {
        let error = PageError::new(ErrorCode::InvalidRequest, "Type or paste a key.");
        return respond(&access, error.status, next, Some(&error));
    }
    let principal = match access.check(key).await {
        Ok(principal) => principal,
        Err((status, fault)) => {
            let fault = match status {
                StatusCode::UNAUTHORIZED => sender.refused(&app, Action::SignIn, &claimed(Some(key)), fault),
                _ => fault,
            };
            let error = PageError::from(fault);
            return respond(&access, error.status, next, Some(&error));
        }
    };
    begin_session(&access, &sender, &headers, (&principal, key), next)
        .unwrap_or_else(|error| respond(&access, error.status, next, Some(&error)))
}

/// Begins a session for a key or token that was checked, replaces the browser's earlier one, and leads to the requested page.
pub(super) fn begin_session(
    access: &Access,
    sender: &Sender,
    headers: &HeaderMap,
    (principal, credential): (&Principal, &str),
    next: &str,
) -> Result<Response, PageError> {
    sender.accepted(&access.app, Action::SignIn, principal)?;
    let id = shared::unguessable_id()
        .map_err(|error| Fault::internal("The system has no random numbers.", error))?;
    let server = &access.app.config.server;
    access.sessions.end(server, headers);
    access.sessions.begin(&id, &principal.id, credential, Instant::now());
    let cookie = Cookie::of_session(server, headers).set_session(&id);
    Ok(with_cookie(Redirect::to(local_path(next)).into_response(), &cookie))
}

/// `POST /sign-out`.
pub(super) async fn sign_out(
    State(app): State<Arc<App>>,
    Extension(access): Extension<Access>,
    headers: HeaderMap,
) -> Response {
    let server = &app.config.server;
    access.sessions.end(server, &headers);
    with_cookie(Redirect::to(PATH).into_response(), &Cookie::of_session(server, &headers).removed())
}

pub(super) fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    response
}

/// Returns `next` if it is a path of this server; the search page if it is anything else, such as another host.
fn local_path(next: &str) -> &str {
    // Browsers take `//host` and `/\host` for addresses of another host.
    let is_local = next.starts_with('/')
        && !next.starts_with("//")
        && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_local { next } else { search::PATH }
}

pub(super) fn respond(
    access: &Access,
    status: StatusCode,
    next: &str,
    error: Option<&PageError>,
) -> Response {
    let oauth = &access.app.config.oauth;
    let issuer = oauth.client_id.as_ref().and(oauth.issuer.as_deref());
    Frame::signed_out(access.modules, "Sign in", PATH).respond(status, &form(next, issuer, error))
}

fn form(next: &str, issuer: Option<&str>, error: Option<&PageError>) -> Markup {
    html! {
        section.narrow {
            h1 { "Sign in" }
            @if let Some(error) = error { (failure::note(error)) }
            @if let Some(issuer) = issuer {
                p {
                    a href=(with_parameters(SIGN_IN_AT_ISSUER, &[("next", next)])) {
                        "Sign in at " (issuer.trim_start_matches("https://"))
                    }
                }
                p.dim { "or with a key:" }
            }
            form method="post" action=(PATH) {
                input type="hidden" name="next" value=(next);
                label for="key" { "API key" }
                input id="key" name="key" type="password" required autocomplete="current-password" spellcheck="false";
                button { "Sign in" }
            }
            p.dim { "The operator of this server creates keys with " code { "pairofcleats keys create" } "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_in_never_leads_to_another_host() {
        for next in ["/", "/p/a/r/b/-/c.rs?at=1:2", "/?q=a%20b"] {
            assert_eq!(local_path(next), next);
        }
        for next in [
            "", "//evil.example", "https://evil.example", "/\\evil.example", "/a b", "/\u{e9}",
            "javascript:x",
        ] {
            assert_eq!(local_path(next), "/", "{next:?}");
        }
    }
}
