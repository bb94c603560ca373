//! Forms that change something. Each carries a token that only pages of this server can read, so no other site can send one with
//! the rights of a signed-in user, or of the local user of this machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use super::data::{Asker, PageError};
use super::{failure, single_use};
use crate::http::body;
use contract::ErrorCode;
use gate::app::App;

/// The field that holds the token.
const TOKEN: &str = "form_token";
/// Size limit of a form: a finding's justification, or a list of folders.
const FORM_BYTES_MAX: usize = 64 << 10;

/// A form that a page of this server sent.
pub struct SentForm {
    /// The sender of the form.
    pub asker: Asker,
    fields: BTreeMap<String, String>,
}

impl SentForm {
    /// Returns a field without surrounding white space; empty if it was not sent.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.fields.get(name).map(|value| value.trim()).unwrap_or_default()
    }

    /// Returns a field that may be empty; `None` if it is.
    #[must_use]
    pub fn optional(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    /// Returns a field that must not be empty; `label` is its name on the page.
    pub fn required(&self, name: &str, label: &str) -> Result<&str, PageError> {
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
    #[must_use]
    pub fn project(&self) -> &str {
        self.optional("project").unwrap_or_else(|| self.asker.default_project())
    }

    /// Carries out the form, unless it was sent before; `done` describes what it did the first time. The form must have the field
    /// of [`single_use::field`].
    ///
    /// # Errors
    /// The error of the work; `ILLEGAL_STATE` if the form was sent before.
    pub async fn once<T>(
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

/// Renders the hidden field of a form that changes something.
#[must_use]
pub fn token_field(asker: &Asker) -> Markup {
    let token = asker.form_token.map(|token| token.0.to_hex());
    html! { @if let Some(token) = token { input type="hidden" name=(TOKEN) value=(token.as_str()); } }
}
