//! What this server says about itself to OAuth clients (RFC 9728).

use serde::Serialize;

use crate::Scope;
use contract::config;

/// The document at `/.well-known/oauth-protected-resource`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResourceMetadata {
    /// What tokens must be meant for: `oauth.audience`.
    pub resource: String,
    /// Who issues them: `oauth.issuer`.
    pub authorization_servers: Vec<String>,
    /// The scopes there are.
    pub scopes_supported: Vec<Scope>,
    /// Tokens come in the header only: addresses and forms end up in logs.
    pub bearer_methods_supported: Vec<&'static str>,
}

/// The document, where OAuth is configured.
#[must_use]
pub fn protected_resource_metadata(settings: &config::Oauth) -> Option<ResourceMetadata> {
    Some(ResourceMetadata {
        resource: settings.audience.clone()?,
        authorization_servers: vec![settings.issuer.clone()?],
        scopes_supported: Scope::ALL.to_vec(),
        bearer_methods_supported: vec!["header"],
    })
}
