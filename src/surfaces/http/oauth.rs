//! The metadata that leads OAuth clients to the issuer of this server's tokens (RFC 9728).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::uri::Uri;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};

use super::answer;
use super::guard::RequestId;
use crate::app::App;
use contract::config::Config;
use contract::{ErrorCode, Fault};
use tenancy::protected_resource_metadata;

/// The well-known place of the metadata; the path of the resource follows it.
pub(super) const METADATA: &str = "/.well-known/oauth-protected-resource";

/// Where the metadata of this server stands, if there is any.
pub(super) fn metadata_url(config: &Config) -> Option<String> {
    config.oauth.issuer.as_ref()?;
    let audience = config.oauth.audience.as_deref()?.parse::<Uri>().ok()?;
    let (scheme, authority) = (audience.scheme_str()?, audience.authority()?);
    let path = audience.path().trim_end_matches('/');
    Some(format!("{scheme}://{authority}{METADATA}{path}"))
}

/// `GET /.well-known/oauth-protected-resource`, with and without the path of the resource. The document is the
/// standard's own and stands in no envelope.
pub(super) async fn metadata(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>) -> Response {
    match protected_resource_metadata(&app.config.oauth) {
        Some(metadata) => Json(metadata).into_response(),
        None => {
            let fault = Fault::new(ErrorCode::NotFound, "This server takes no OAuth tokens.")
                .with_hint("Send an API key as `Authorization: Bearer KEY`; the operator makes keys.");
            answer::refused(&app, StatusCode::NOT_FOUND, &fault, &id.0)
        }
    }
}
