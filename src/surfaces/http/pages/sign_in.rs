//! Signing in with a key, where the server asks for one.

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use super::data::PageError;
use super::failure;
use super::layout::Frame;
use super::links::with_parameters;
use super::search;
use super::sessions::set_cookie;
use crate::app::App;
use crate::surfaces::answer as shared;
use crate::surfaces::http::access::Access;
use crate::surfaces::http::body;
use crate::surfaces::http::query::{SentQuery, unique_parameters};
use contract::{ErrorCode, Fault};

pub(super) const PATH: &str = "/sign-in";
pub(super) const OUT_PATH: &str = "/sign-out";

/// Longest form: a key and where to go next.
const FORM_BYTES_MAX: usize = 16 << 10;

/// Sends a browser without a key to the form, and from there back to the page.
pub(in super::super) fn redirect(request: &Request) -> Response {
    let asked = request.uri().path_and_query().map_or("/", |asked| asked.as_str());
    Redirect::to(&with_parameters(PATH, &[("next", asked)])).into_response()
}

/// `GET /sign-in`.
pub(super) async fn show(query: SentQuery) -> Response {
    match unique_parameters(query) {
        Ok(mut parameters) => respond(StatusCode::OK, &parameters.remove("next").unwrap_or_default(), None),
        Err(fault) => respond(StatusCode::BAD_REQUEST, "", Some(&fault.into())),
    }
}

/// `POST /sign-in`: begins a session for a valid key.
pub(super) async fn sign_in(
    State(app): State<Arc<App>>,
    Extension(access): Extension<Access>,
    request: Request,
) -> Response {
    let form = match body::form(request, FORM_BYTES_MAX).await {
        Ok(form) => form,
        Err((status, fault)) => return respond(status, "", Some(&fault.into())),
    };
    let field = |name: &str| form.get(name).map(|value| value.trim()).unwrap_or_default();
    let (key, next) = (field("key"), field("next"));
    if key.is_empty() {
        let error = PageError::new(ErrorCode::InvalidRequest, "Type or paste a key.");
        return respond(error.status, next, Some(&error));
    }
    if let Err(fault) = access.check(key).await {
        return respond(StatusCode::UNAUTHORIZED, next, Some(&fault.into()));
    }
    let id = match shared::unguessable_id() {
        Ok(id) => id,
        Err(error) => {
            let fault = Fault::internal("The system has no random numbers.", error);
            return respond(StatusCode::INTERNAL_SERVER_ERROR, next, Some(&fault.into()));
        }
    };
    access.sessions.begin(&id, key, Instant::now());
    with_cookie(Redirect::to(local_path(next)).into_response(), &set_cookie(&id, is_secure(&app)))
}

/// `POST /sign-out`.
pub(super) async fn sign_out(
    State(app): State<Arc<App>>,
    Extension(access): Extension<Access>,
    headers: HeaderMap,
) -> Response {
    access.sessions.end(&headers);
    with_cookie(Redirect::to(PATH).into_response(), &set_cookie("", is_secure(&app)))
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}

/// Whether browsers reach the server over TLS: its own, or that of the proxy in front.
fn is_secure(app: &App) -> bool {
    let server = &app.config.server;
    server.tls_certificate.is_some() || server.behind_proxy || !server.trusted_proxies.is_empty()
}

/// A path of this server; the search page if `next` is anything else, such as another host.
fn local_path(next: &str) -> &str {
    let is_local = next.starts_with('/')
        && !next.starts_with("//")
        && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_local { next } else { search::PATH }
}

fn respond(status: StatusCode, next: &str, error: Option<&PageError>) -> Response {
    let frame = Frame {
        title: "Sign in",
        project: "default",
        section: PATH,
        is_signed_in: false,
        has_search_box: false,
        is_live: false,
    };
    frame.respond(status, &form(next, error))
}

fn form(next: &str, error: Option<&PageError>) -> Markup {
    html! {
        section.narrow {
            h1 { "Sign in" }
            @if let Some(error) = error { (failure::note(error)) }
            form method="post" action=(PATH) {
                input type="hidden" name="next" value=(next);
                label for="key" { "API key" }
                input id="key" name="key" type="password" required autocomplete="current-password" spellcheck="false";
                button { "Sign in" }
            }
            p.dim { "Whoever runs this server creates keys with " code { "pairofcleats keys create" } "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_another_host() {
        for next in ["/", "/p/a/r/b/-/c.rs?at=1:2", "/?q=a%20b"] {
            assert_eq!(local_path(next), next);
        }
        for next in [
            "",
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "/a b",
            "/\u{e9}",
            "javascript:x",
        ] {
            assert_eq!(local_path(next), "/", "{next:?}");
        }
    }
}
