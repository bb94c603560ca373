//! The metadata of this server for OAuth clients (RFC 9728).

use serde::Serialize;

use crate::Scope;
use contract::config;

/// The document at `/.well-known/oauth-protected-resource`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResourceMetadata {
    /// The audience of tokens: `oauth.audience`.
    pub resource: String,
    /// The issuer of tokens: `oauth.issuer`.
    pub authorization_servers: Vec<String>,
    /// All scopes.
    pub scopes_supported: Vec<Scope>,
    /// Tokens are accepted in the header only, because URLs and forms may be logged.
    pub bearer_methods_supported: Vec<&'static str>,
}

/// The metadata of this server; `None` if OAuth is not configured.
#[must_use]
pub fn protected_resource_metadata(settings: &config::Oauth) -> Option<ResourceMetadata> {
    Some(ResourceMetadata {
        resource: settings.audience.clone()?,
        authorization_servers: vec![settings.issuer.clone()?],
        scopes_supported: Scope::ALL.to_vec(),
        bearer_methods_supported: vec!["header"],
    })
}
