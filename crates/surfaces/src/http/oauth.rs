//! The protected resource metadata, from which OAuth clients learn the issuer of this server's tokens (RFC 9728).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::uri::Uri;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};

use super::answer;
use super::request_parts::RequestId;
use contract::config::Config;
use contract::{ErrorCode, Fault};
use gate::app::App;
use tenancy::protected_resource_metadata;

/// The well-known path of the metadata; the resource's own path is appended.
pub(super) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";
/// The same path with the resource's path appended, in axum's syntax.
pub(super) const METADATA_OF_RESOURCE_PATH: &str = "/.well-known/oauth-protected-resource/{*resource}";

/// Returns the URL of the metadata; `None` if OAuth is not configured.
pub(super) fn metadata_url(config: &Config) -> Option<String> {
    config.oauth.issuer.as_ref()?;
    let audience = config.oauth.audience.as_deref()?.parse::<Uri>().ok()?;
    let (scheme, authority) = (audience.scheme_str()?, audience.authority()?);
    let path = audience.path().trim_end_matches('/');
    Some(format!("{scheme}://{authority}{METADATA_PATH}{path}"))
}

/// `GET /.well-known/oauth-protected-resource`, with and without the resource's path. RFC 9728 defines the document, so it has no
/// envelope.
pub(super) async fn metadata(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    match protected_resource_metadata(&app.config.oauth) {
        Some(metadata) => Json(metadata).into_response(),
        None => {
            let fault = Fault::new(ErrorCode::NotFound, "This server does not accept OAuth tokens.")
                .with_hint("Send an API key as `Authorization: Bearer KEY`; the operator creates keys.");
            answer::refused(&app, StatusCode::NOT_FOUND, &fault, &id.0)
        }
    }
}
