//! Sign-in at the OpenID Connect issuer that the operator configured, as an alternative to a key.
//!
//! The state of an attempt is kept in a cookie of the browser that began it, so an answer of the issuer is valid only there, and
//! no state is stored here. The cookie is signed, so it is valid only if this process created it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use percent_encoding::percent_decode_str;

use super::data::PageError;
use super::form_tokens::FormTokens;
use super::links::encoded;
use super::search;
use super::sessions::{Cookie, is_secure};
use super::sign_in::{begin_session, respond, with_cookie};
use crate::answer as shared;
use crate::http::access::Access;
use crate::http::entrances::{Action, Sender};
use crate::http::query::{SentQuery, unique_parameters};
use contract::{ErrorCode, Fault};
use gate::app::App;
use platform::outbound::HttpError;
use tenancy::{SignInAttempt, SignInClient};

pub(super) use super::paths::SIGN_IN_AT_ISSUER as PATH;

pub(super) const CALLBACK_PATH: &str = "/sign-in/callback";

/// The cookie of an attempt; [`Cookie::new`] completes the name.
const COOKIE: &str = "pairofcleats_sign_in";
/// The time that a user may take at the issuer.
const ATTEMPT: Duration = Duration::from_secs(600);
/// Length limit of the next page's address in the cookie, which browsers limit to 4,096 bytes; a longer one becomes the search page.
const NEXT_BYTES_MAX: usize = 1500;

/// `GET /sign-in/issuer`: sends the browser to the issuer.
pub(super) async fn begin(
    State(app): State<Arc<App>>,
    Extension(access): Extension<Access>,
    headers: HeaderMap,
    query: SentQuery,
) -> Response {
    let next = match unique_parameters(query) {
        Ok(mut parameters) => parameters.remove("next").unwrap_or_default(),
        Err(fault) => return respond(&access, StatusCode::BAD_REQUEST, "", Some(&fault.into())),
    };
    match start(&app, &access, &headers, &next).await {
        Ok(response) => response,
        Err(error) => respond(&access, error.status, &next, Some(&error)),
    }
}

async fn start(app: &App, access: &Access, headers: &HeaderMap, next: &str) -> Result<Response, PageError> {
    let client = client(access)?;
    let random = || {
        let id = || shared::unguessable_id();
        // A verifier has at least 43 characters.
        Ok::<_, getrandom::Error>((id()?, format!("{}{}", id()?, id()?)))
    };
    let (state, verifier) =
        random().map_err(|error| Fault::internal("The system has no random numbers.", error))?;
    let attempt = SignInAttempt { state, verifier, redirect_url: redirect_url(app, headers)? };
    let url = client.authorization_url(&attempt).await.map_err(|problem| unreachable_issuer(&problem))?;
    let kept = AttemptCookie { state: attempt.state, verifier: attempt.verifier, next: next.to_owned() };
    let kept = kept
        .to_text(&access.sessions.forms)
        .ok_or_else(|| PageError::new(ErrorCode::Internal, "The system has no random numbers."))?;
    let cookie = Cookie::new(COOKIE, &app.config.server, headers).set(&kept, ATTEMPT);
    Ok(with_cookie(Redirect::to(url.as_str()).into_response(), &cookie))
}

/// `GET /sign-in/callback`: the issuer sends the browser back, with a code for an access token.
pub(super) async fn finish(
    State(app): State<Arc<App>>,
    Extension(access): Extension<Access>,
    sender: Sender,
    headers: HeaderMap,
    query: SentQuery,
) -> Response {
    let cookie = Cookie::new(COOKIE, &app.config.server, &headers);
    let kept = cookie.sent(&headers).and_then(|text| AttemptCookie::of_text(&text, &access.sessions.forms));
    let next = kept.as_ref().map(|kept| kept.next.clone()).unwrap_or_default();
    let signed_in = async {
        let parameters = unique_parameters(query)?;
        let token = token(&app, &access, &headers, &parameters, kept).await?;
        let principal = access.check(&token).await.map_err(|(_, fault)| fault)?;
        begin_session(&access, &sender, &headers, (&principal, &token), &next)
    };
    let response = match signed_in.await {
        Ok(response) => response,
        Err(error) if error.status == StatusCode::UNAUTHORIZED => {
            let mut fault = Fault::new(ErrorCode::Unauthorized, error.message);
            fault.hint = error.hint;
            let claimed = "a browser at the issuer";
            let error = PageError::from(sender.refused(&app, Action::SignIn, claimed, fault));
            respond(&access, error.status, &next, Some(&error))
        }
        Err(error) => respond(&access, error.status, &next, Some(&error)),
    };
    with_cookie(response, &cookie.removed())
}

async fn token(
    app: &App,
    access: &Access,
    headers: &HeaderMap,
    answer: &BTreeMap<String, String>,
    kept: Option<AttemptCookie>,
) -> Result<String, PageError> {
    let client = client(access)?;
    let sent = |name: &str| answer.get(name).map(String::as_str);
    let refused = |message: &str| PageError {
        hint: Some("Begin again with the link below.".to_owned()),
        ..PageError::new(ErrorCode::Unauthorized, message)
    };
    let foreign = || refused("The answer is not about a sign-in that this browser began.");
    let of_this_browser = kept.filter(|kept| sent("state") == Some(kept.state.as_str()));
    let kept = of_this_browser.ok_or_else(foreign)?;
    if !client.is_of_issuer(sent("iss")).await.map_err(|problem| unreachable_issuer(&problem))? {
        return Err(foreign());
    }
    let Some(code) = sent("code") else {
        let why = sent("error").unwrap_or("no code");
        return Err(refused(&format!("The issuer did not sign you in ({}).", contract::echo(why))));
    };
    let attempt = SignInAttempt {
        state: kept.state,
        verifier: kept.verifier,
        redirect_url: redirect_url(app, headers)?,
    };
    client.access_token(code, &attempt).await.map_err(|problem| match problem {
        HttpError::Status(_) => refused("The issuer did not accept the sign-in."),
        problem => unreachable_issuer(&problem),
    })
}

fn client(access: &Access) -> Result<&SignInClient, PageError> {
    access.sign_in.as_deref().ok_or_else(|| PageError {
        hint: Some("The operator sets oauth.client_id to offer it.".to_owned()),
        ..PageError::new(ErrorCode::NotFound, "This server does not sign people in at an issuer.")
    })
}

fn unreachable_issuer(problem: &HttpError) -> PageError {
    tracing::warn!(%problem, "sign-in at oauth.issuer is not available");
    PageError {
        hint: Some(
            "Try again in a few seconds; the operator should check that the issuer can be reached."
                .to_owned(),
        ),
        ..PageError::new(ErrorCode::StorageUnavailable, "The issuer does not answer as expected.")
    }
}

/// Returns the address to which the issuer sends the browser back: this server by the name that the browser used, which was
/// checked before.
fn redirect_url(app: &App, headers: &HeaderMap) -> Result<String, PageError> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.ok_or_else(|| PageError::new(ErrorCode::InvalidRequest, "The request names no host."))?;
    let scheme = if is_secure(&app.config.server) { "https" } else { "http" };
    Ok(format!("{scheme}://{host}{CALLBACK_PATH}"))
}

/// The value of the cookie, which the browser keeps while the user is at the issuer.
#[derive(Debug, PartialEq)]
struct AttemptCookie {
    state: String,
    verifier: String,
    next: String,
}

impl AttemptCookie {
    /// Formats the value as one word, after its signature; `None` if this process cannot sign.
    fn to_text(&self, signer: &FormTokens) -> Option<String> {
        let next = Some(encoded(&self.next)).filter(|next| next.len() <= NEXT_BYTES_MAX);
        let next = next.unwrap_or_else(|| encoded(search::PATH));
        let text = format!("{}.{}.{next}", self.state, self.verifier);
        let signature = signer.signature(&text)?;
        Some(format!("{}.{text}", signature.to_hex()))
    }

    fn of_text(text: &str, signer: &FormTokens) -> Option<Self> {
        let (signature, text) = text.split_once('.')?;
        if !signer.is_signed(text, signature) {
            return None;
        }
        let mut parts = text.splitn(3, '.');
        let (state, verifier, next) = (parts.next()?, parts.next()?, parts.next()?);
        let is_ours = !state.is_empty() && !verifier.is_empty();
        let next = percent_decode_str(next).decode_utf8().ok()?.into_owned();
        is_ours.then(|| Self { state: state.to_owned(), verifier: verifier.to_owned(), next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(next: &str) -> AttemptCookie {
        AttemptCookie { state: "a1".into(), verifier: "b2".into(), next: next.into() }
    }

    #[test]
    fn an_attempt_is_kept_as_one_word() {
        let signer = FormTokens::new(Some("secret"));
        let kept = attempt("/p/a?q=é;,.");
        let text = kept.to_text(&signer).unwrap();
        assert!(!text.contains([';', ',', ' ', '"', '/']), "{text}");
        assert_eq!(AttemptCookie::of_text(&text, &signer), Some(kept));
        let signed = |text: &str| format!("{}.{text}", signer.signature(text).unwrap().to_hex());
        for bad in ["", "a", "a.b", ".b.x", "a..x", "a.b.%ff"] {
            assert_eq!(AttemptCookie::of_text(bad, &signer), None, "{bad}");
            assert_eq!(AttemptCookie::of_text(&signed(bad), &signer), None, "{bad}");
        }
    }

    #[test]
    fn an_attempt_of_another_process_counts_as_none() {
        let (signer, other) = (FormTokens::new(Some("secret")), FormTokens::new(Some("other")));
        let text = attempt("/a").to_text(&signer).unwrap();
        assert_eq!(AttemptCookie::of_text(&text, &other), None);
        assert_eq!(AttemptCookie::of_text(&text.replace("b2", "b3"), &signer), None);
        assert_eq!(AttemptCookie::of_text("a1.b2.%2Fa", &signer), None);
        assert_eq!(attempt("/a").to_text(&FormTokens::new(None)), None);
    }

    #[test]
    fn a_long_address_does_not_make_the_cookie_too_long() {
        let signer = FormTokens::new(Some("secret"));
        let next = |next: &str| {
            let text = attempt(next).to_text(&signer).unwrap();
            AttemptCookie::of_text(&text, &signer).unwrap().next
        };
        let fits = "a".repeat(NEXT_BYTES_MAX);
        assert_eq!(next(&fits), fits);
        assert_eq!(next(&format!("{fits}a")), "/");
        assert_eq!(next(&"/".repeat(NEXT_BYTES_MAX / 2)), "/");
    }
}
