//! Forms that change something. Each carries a token that only pages of this server can read, so no other site can send one with
//! the rights of a signed-in user, or of the local user of this machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use super::data::{Asker, PageError};
use super::single_use::OneForm;
use super::{failure, single_use};
use crate::http::body;
use contract::ErrorCode;
use gate::app::App;

/// The field that holds the token.
const TOKEN: &str = "form_token";
/// Size limit of a form: a finding's justification, or a list of folders.
const FORM_BYTES_MAX: usize = 64 << 10;

/// A form that a page of this server sent.
pub(super) struct SentForm {
    /// The sender of the form.
    pub(super) asker: Asker,
    fields: BTreeMap<String, String>,
}

impl SentForm {
    /// Returns a field without surrounding white space; empty if it was not sent.
    pub(super) fn text(&self, name: &str) -> &str {
        self.fields.get(name).map(|value| value.trim()).unwrap_or_default()
    }

    /// Returns a field that may be empty; `None` if it is.
    pub(super) fn optional(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    /// Returns a field that must not be empty; `label` is its name on the page.
    pub(super) fn required(&self, name: &str, label: &str) -> Result<&str, PageError> {
        self.optional(name).ok_or_else(|| {
            PageError::new(ErrorCode::InvalidRequest, format!("The field \"{label}\" must not be empty."))
        })
    }

    /// Returns `true` if a box was ticked.
    pub(super) fn is_ticked(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Returns the names of the fields that begin with `prefix`, without it: the ticked boxes of a group.
    pub(super) fn ticked<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.keys().filter_map(move |name| name.strip_prefix(prefix))
    }

    /// Returns the project that the form is about.
    pub(super) fn project(&self) -> &str {
        self.optional("project").unwrap_or_else(|| self.asker.default_project())
    }

    /// Carries out the form, unless it was sent before; `done` describes what it did the first time. The form must have the field
    /// of [`single_use`].
    pub(super) async fn once<T>(
        &self,
        done: &str,
        work: impl Future<Output = Result<T, PageError>>,
    ) -> Result<T, PageError> {
        let value = self.optional(single_use::FIELD).zip(self.asker.form_token);
        let Some((value, token)) = value else {
            return Err(PageError {
                hint: Some("Load the page again and send its form.".to_owned()),
                ..PageError::new(ErrorCode::InvalidRequest, "The form is not complete.")
            });
        };
        let (form, sent) = (token.of_form(value), &self.asker.sessions.sent_once);
        sent.begin(form).map_err(|already| already.error(done))?;
        let outcome = work.await;
        match &outcome {
            Ok(_) => sent.end(form, true),
            Err(error) if error.is_refusal() => sent.end(form, false),
            // The outcome is unknown, so the form remains one that has begun.
            Err(_) => {}
        }
        outcome
    }
}

impl FromRequest<Arc<App>> for SentForm {
    type Rejection = Response;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let asker = Asker::from_request_parts(&mut parts, app).await.map_err(IntoResponse::into_response)?;
        let refused = |error: &PageError| failure::page(&asker, asker.default_project(), "", error);
        let mut fields = match body::form(Request::from_parts(parts, body), FORM_BYTES_MAX).await {
            Ok(fields) => fields,
            Err((status, fault)) => return Err(refused(&PageError { status, ..fault.into() })),
        };
        let sent = fields.remove(TOKEN).unwrap_or_default();
        if !asker.form_token.is_some_and(|token| token.is(&sent)) {
            let error = PageError {
                hint: Some("Go back, load the page again and send it once more.".to_owned()),
                ..PageError::new(ErrorCode::Forbidden, "The form is from another session or another site.")
            };
            return Err(refused(&error));
        }
        Ok(Self { asker, fields })
    }
}

/// Creates the tokens of forms, and signs other data that only this process may create; the key is random and lives as long as
/// the process.
pub(super) struct FormTokens(Option<[u8; 32]>);

impl FormTokens {
    /// Creates tokens under a key derived from `secret`; without a secret no form is accepted.
    pub(super) fn new(secret: Option<&str>) -> Self {
        Self(secret.map(|secret| *blake3::hash(secret.as_bytes()).as_bytes()))
    }

    /// Returns the token of a principal, by its id, in a session; `None` represents principals that need no session.
    pub(super) fn of(&self, session: Option<blake3::Hash>, principal_id: &str) -> Option<FormToken> {
        let session = session.map_or([0; 32], |session| *session.as_bytes());
        let whose = [session.as_slice(), principal_id.as_bytes()].concat();
        self.0.as_ref().map(|key| FormToken(blake3::keyed_hash(key, &whose)))
    }

    /// Signs the data that a browser keeps for this process, under a key of its own; without a secret nothing can be signed.
    pub(super) fn signature(&self, text: &str) -> Option<blake3::Hash> {
        let key = blake3::derive_key("PairOfCleats: what a browser keeps", self.0.as_ref()?);
        Some(blake3::keyed_hash(&key, text.as_bytes()))
    }

    /// Checks whether [`Self::signature`] made the signature of the text. Compares in constant time.
    pub(super) fn is_signed(&self, text: &str, signature: &str) -> bool {
        let expected = self.signature(text);
        blake3::Hash::from_hex(signature).is_ok_and(|sent| expected.is_some_and(|expected| sent == expected))
    }
}

/// The token that a form must carry.
#[derive(Debug, Clone, Copy)]
pub(super) struct FormToken(blake3::Hash);

impl FormToken {
    /// Compares the token with the sent one in constant time.
    fn is(self, sent: &str) -> bool {
        blake3::Hash::from_hex(sent).is_ok_and(|sent| sent == self.0)
    }

    /// Returns the identity of a form of this session that carries a value of its own.
    fn of_form(self, value: &str) -> OneForm {
        OneForm { session: self.0, value: blake3::keyed_hash(self.0.as_bytes(), value.as_bytes()) }
    }
}

/// Renders the hidden field of a form that changes something.
pub(super) fn token_field(asker: &Asker) -> Markup {
    let token = asker.form_token.map(|token| token.0.to_hex());
    html! { @if let Some(token) = token { input type="hidden" name=(TOKEN) value=(token.as_str()); } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_fits_one_session_of_one_process() {
        let (tokens, others) = (FormTokens::new(Some("secret")), FormTokens::new(Some("other")));
        let (session, foreign) = (Some(blake3::hash(b"a")), Some(blake3::hash(b"b")));
        let token = tokens.of(session, "ann").unwrap();
        let text = token.0.to_hex();
        assert!(token.is(&text) && tokens.of(session, "ann").unwrap().is(&text));
        for other in [
            tokens.of(foreign, "ann"),
            tokens.of(None, "ann"),
            tokens.of(session, "bob"),
            others.of(session, "ann"),
        ] {
            assert!(!other.unwrap().is(&text));
        }
        assert!(!tokens.of(None, "bob").unwrap().is(&tokens.of(None, "ann").unwrap().0.to_hex()));
        for bad in ["", "0", &"0".repeat(64), &text[1..]] {
            assert!(!token.is(bad), "{bad}");
        }
        assert!(FormTokens::new(None).of(session, "ann").is_none());
    }

    #[test]
    fn only_a_refusal_is_sure_to_have_changed_nothing() {
        let is_refusal = |code| PageError::new(code, "").is_refusal();
        for code in [ErrorCode::InvalidRequest, ErrorCode::Forbidden, ErrorCode::IllegalState] {
            assert!(is_refusal(code), "{code}");
        }
        for code in
            [ErrorCode::ToolTimeout, ErrorCode::Cancelled, ErrorCode::StorageUnavailable, ErrorCode::Internal]
        {
            assert!(!is_refusal(code), "{code}");
        }
    }

    #[test]
    fn only_this_process_signs_what_a_browser_keeps() {
        let (tokens, others) = (FormTokens::new(Some("secret")), FormTokens::new(Some("other")));
        let signature = tokens.signature("text").unwrap().to_hex();
        assert!(tokens.is_signed("text", &signature));
        assert!(!tokens.is_signed("texts", &signature) && !others.is_signed("text", &signature));
        let token = tokens.of(None, "text").unwrap().0.to_hex();
        for bad in ["", "0", &"0".repeat(64), token.as_str()] {
            assert!(!tokens.is_signed("text", bad), "{bad}");
        }
        let without_secret = FormTokens::new(None);
        assert!(without_secret.signature("text").is_none() && !without_secret.is_signed("text", &signature));
    }
}
