//! Verifies access tokens of an OAuth 2.1 authorization server and converts them to [`Principal`]s, without a request
//! per call.
//!
//! [`TokenVerifier::verify`] decodes the header, gets the issuer's key from `keys` (`discovery` finds their address),
//! checks the signature and the standard claims, and lets `claims` build the principal.

mod claims;
mod discovery;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing;
mod keys;
mod resource;
mod sign_in;
mod token_error;

use std::sync::Arc;

use jsonwebtoken::{Algorithm, AlgorithmFamily, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};

use self::keys::KeySet;
use super::Principal;
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault};

pub use resource::{ResourceMetadata, protected_resource_metadata};
pub use sign_in::{SignInAttempt, SignInClient};
pub use token_error::TokenError;

/// Longest token, in bytes: about the header limit of common servers.
const TOKEN_BYTES_MAX: usize = 16_384;
/// Accepted values of `typ` (RFC 9068 §4). Older servers send `JWT`, or omit it.
const TOKEN_TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "jwt"];
/// Claims that every token must have.
const REQUIRED_CLAIMS: [&str; 4] = ["iss", "aud", "exp", "sub"];

/// Checks access tokens against one issuer.
pub struct TokenVerifier {
    issuer: String,
    audience: String,
    projects_claim: String,
    scopes_claim: String,
    leeway_seconds: u64,
    keys: Arc<KeySet>,
}

impl TokenVerifier {
    /// Creates a verifier; `None` if no issuer is configured. Sends no request.
    ///
    /// # Errors
    /// `INVALID_INPUT` if the section `[oauth]` is incomplete, or if an address in it is neither HTTPS nor on this
    /// machine.
    pub fn from_settings(settings: &config::Oauth, clock: Arc<dyn Clock>) -> Result<Option<Self>, Fault> {
        let Some(issuer) = settings.issuer.clone() else {
            return Ok(None);
        };
        let Some(audience) = settings.audience.clone() else {
            return Err(Fault::new(ErrorCode::InvalidInput, "oauth.issuer is set without oauth.audience.")
                .with_hint(
                    "Set oauth.audience to the public URL of this server, the audience of its tokens.",
                ));
        };
        let keys = KeySet::new(&issuer, settings, clock).map_err(|problem| {
            Fault::new(ErrorCode::InvalidInput, format!("The section [oauth] cannot be used: {problem}."))
                .with_hint("Correct oauth.issuer and oauth.jwks_url; both need https unless they are on this machine.")
        })?;
        Ok(Some(Self {
            issuer,
            audience,
            projects_claim: settings.projects_claim.clone(),
            scopes_claim: settings.scopes_claim.clone(),
            leeway_seconds: settings.leeway_ms / 1000,
            keys: Arc::new(keys),
        }))
    }

    /// Verifies `token` and returns its bearer.
    ///
    /// # Errors
    /// The reason to reject the token. Before the signature is verified, only the header is read.
    pub async fn verify(&self, token: &str) -> Result<Principal, TokenError> {
        let header = accepted_header(token)?;
        let kid = header.kid.as_deref().ok_or(TokenError::UnknownKey)?;
        let key = self.keys.find(kid, header.alg).await?;
        let claims: Map<String, Value> = decode(token, &key, &self.validation(header.alg))?.claims;
        claims::principal(&claims, &self.issuer, &self.projects_claim, &self.scopes_claim)
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.set_required_spec_claims(&REQUIRED_CLAIMS);
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.audience]);
        validation.validate_nbf = true;
        validation.leeway = self.leeway_seconds;
        validation
    }
}

/// The header of a token, unless its algorithm, extensions or type exclude the token.
fn accepted_header(token: &str) -> Result<Header, TokenError> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(TokenError::Malformed);
    }
    let header = decode_header(token).map_err(TokenError::from_header_error)?;
    // With HMAC, an attacker could sign tokens with the issuer's public key as the shared secret.
    if header.alg.family() == AlgorithmFamily::Hmac {
        return Err(TokenError::Algorithm);
    }
    // No critical extension is supported (RFC 7515 §4.1.11).
    if header.crit.is_some() {
        return Err(TokenError::Malformed);
    }
    match &header.typ {
        Some(typ) if !TOKEN_TYPES.contains(&typ.to_ascii_lowercase().as_str()) => Err(TokenError::Type),
        _ => Ok(header),
    }
}
