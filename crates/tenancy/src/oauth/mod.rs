//! Access tokens of an OAuth 2.1 authorization server that the operator trusts: from a bearer token to a
//! [`Principal`], without asking anybody for each call.
//!
//! A token's way: [`TokenVerifier::verify`] reads its header, `keys` finds the issuer's key (which `discovery`
//! says where to get), the signature and the standard claims are checked, `claims` makes the principal.

mod claims;
mod denied;
mod discovery;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing;
mod keys;
mod resource;

use std::sync::Arc;

use jsonwebtoken::{Algorithm, AlgorithmFamily, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};

use self::keys::KeySet;
use super::Principal;
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault};

pub use denied::Denied;
pub use resource::{ResourceMetadata, protected_resource_metadata};

/// Longer texts are no tokens of ours; servers cap headers near this anyway.
const TOKEN_BYTES_MAX: usize = 16_384;
/// What an access token may say it is (RFC 9068 §4; older servers say JWT, or nothing).
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "jwt"];
/// Claims without which a token says too little.
const REQUIRED: [&str; 4] = ["iss", "aud", "exp", "sub"];

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
    /// None when no issuer is configured. Touches no network.
    ///
    /// # Errors
    /// `INVALID_INPUT` when the section `[oauth]` is incomplete, or an address in it is neither HTTPS nor on
    /// this machine.
    pub fn configured(settings: &config::Oauth, clock: Arc<dyn Clock>) -> Result<Option<Self>, Fault> {
        let Some(issuer) = settings.issuer.clone() else {
            return Ok(None);
        };
        let Some(audience) = settings.audience.clone() else {
            return Err(Fault::new(ErrorCode::InvalidInput, "oauth.issuer is set without oauth.audience.")
                .with_hint(
                    "Set oauth.audience to the public URL of this server, which tokens must be meant for.",
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

    /// Who the bearer of `token` is.
    ///
    /// # Errors
    /// [`Denied`] says why the token is not believed. Nothing of it is looked at before its signature is
    /// checked, but for the algorithm and the key it names.
    pub async fn verify(&self, token: &str) -> Result<Principal, Denied> {
        let header = header(token)?;
        let kid = header.kid.as_deref().ok_or(Denied::UnknownKey)?;
        let key = self.keys.find(kid, header.alg).await?;
        let claims: Map<String, Value> = decode(token, &key, &self.validation(header.alg))?.claims;
        claims::principal(&claims, &self.issuer, &self.projects_claim, &self.scopes_claim)
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.set_required_spec_claims(&REQUIRED);
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.audience]);
        validation.validate_nbf = true;
        validation.leeway = self.leeway_seconds;
        validation
    }
}

/// The header, if a token with it could be accepted at all.
fn header(token: &str) -> Result<Header, Denied> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(Denied::Malformed);
    }
    let header = decode_header(token).map_err(Denied::in_header)?;
    // A shared secret would make this server able to issue tokens, and the issuer's public key a secret.
    if header.alg.family() == AlgorithmFamily::Hmac {
        return Err(Denied::Algorithm);
    }
    // An extension that must be understood (RFC 7515 §4.1.11), and none is.
    if header.crit.is_some() {
        return Err(Denied::Malformed);
    }
    match &header.typ {
        Some(typ) if !TYPES.contains(&typ.to_ascii_lowercase().as_str()) => Err(Denied::Type),
        _ => Ok(header),
    }
}
