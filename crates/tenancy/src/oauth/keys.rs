//! The issuer's public keys (RFC 7517): fetched on demand and cached. The rate of fetches is limited, so that tokens
//! with invented key ids cannot cause a request each.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde_json::Value;
use tokio::sync::Mutex;

use super::discovery::KeysUrlSource;
use super::token_error::TokenError;
use contract::clock::Clock;
use contract::config;
use platform::outbound::{HttpClient, HttpError};

/// Minimum time between fetches while a key is unknown or the last fetch failed.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum size of a key set. It has few keys, but some include certificate chains.
const KEYS_BYTES_MAX: usize = 1_048_576;
/// Shortest RSA modulus: 2048 bits in base64url (RFC 7518 §3.3).
const RSA_MODULUS_CHARS_MIN: usize = 342;
/// Length of an Ed25519 key: 32 bytes in base64url.
const ED25519_CHARS: usize = 43;

/// The keys of one issuer.
pub(super) struct KeySet {
    outbound: HttpClient,
    source: KeysUrlSource,
    cache_for: Duration,
    fetch_timeout: Duration,
    clock: Arc<dyn Clock>,
    cached: RwLock<CachedKeys>,
    /// Locked during a fetch, so that there is one at a time.
    fetching: Mutex<()>,
}

#[derive(Default)]
struct CachedKeys {
    keys: Vec<PublicKey>,
    fetched_at: Option<Instant>,
    /// The reason why the last fetch failed; `keys` are then those of an earlier fetch.
    problem: Option<String>,
}

pub(super) struct PublicKey {
    kid: String,
    /// The algorithms that its type and its `alg` allow.
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

impl KeySet {
    /// Creates an empty set.
    pub(super) fn new(
        issuer: &str,
        settings: &config::Oauth,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, HttpError> {
        let fetch_timeout = Duration::from_millis(settings.fetch_ms);
        Ok(Self {
            outbound: HttpClient::new(fetch_timeout)?,
            source: KeysUrlSource::new(issuer, settings.jwks_url.as_deref())?,
            cache_for: Duration::from_millis(settings.jwks_cache_ms),
            fetch_timeout,
            clock,
            cached: RwLock::default(),
            fetching: Mutex::new(()),
        })
    }

    /// Finds the key with the id `kid` for `algorithm`. Fetches the keys if needed.
    pub(super) async fn find(
        self: &Arc<Self>,
        kid: &str,
        algorithm: Algorithm,
    ) -> Result<DecodingKey, TokenError> {
        if self.is_due(kid) {
            let (keys, kid) = (Arc::clone(self), kid.to_owned());
            // In a task of its own, so that a client that disconnects does not stop a fetch for which others wait.
            let fetch = tokio::spawn(async move { keys.fetch_if_due(&kid).await });
            fetch.await.map_err(|error| TokenError::KeysUnavailable(error.to_string()))?;
        }
        let cached = self.cached.read().unwrap_or_else(PoisonError::into_inner);
        let mut candidates = cached.keys.iter().filter(|key| key.kid == kid).peekable();
        match (candidates.peek(), &cached.problem) {
            (None, Some(problem)) => Err(TokenError::KeysUnavailable(problem.clone())),
            (None, None) => Err(TokenError::UnknownKey),
            (Some(_), _) => candidates
                .find(|key| key.algorithms.contains(&algorithm))
                .map(|key| key.key.clone())
                .ok_or(TokenError::KeyMismatch),
        }
    }

    /// Returns `true` if the keys have to be fetched: the cached ones are outdated, or lack this key and were not fetched just now.
    fn is_due(&self, kid: &str) -> bool {
        let cached = self.cached.read().unwrap_or_else(PoisonError::into_inner);
        let Some(fetched_at) = cached.fetched_at else {
            return true;
        };
        let has_key = cached.problem.is_none() && cached.keys.iter().any(|key| key.kid == kid);
        let interval = if has_key { self.cache_for } else { RETRY_INTERVAL.min(self.cache_for) };
        self.clock.instant().duration_since(fetched_at) >= interval
    }

    async fn fetch_if_due(&self, kid: &str) {
        let _guard = self.fetching.lock().await;
        if !self.is_due(kid) {
            return;
        }
        let fetched = tokio::time::timeout(self.fetch_timeout, self.fetch());
        let fetched =
            fetched.await.unwrap_or_else(|_| Err(HttpError::Unreachable("it took too long".into())));
        let mut cached = self.cached.write().unwrap_or_else(PoisonError::into_inner);
        cached.fetched_at = Some(self.clock.instant());
        cached.problem = None;
        match fetched {
            Ok(keys) => cached.keys = keys,
            Err(problem) => {
                tracing::warn!("the keys of oauth.issuer could not be fetched: {problem}");
                cached.problem = Some(problem.to_string());
            }
        }
    }

    async fn fetch(&self) -> Result<Vec<PublicKey>, HttpError> {
        let url = self.source.keys_url(&self.outbound).await?;
        let answer = self.outbound.get_json(&url, KEYS_BYTES_MAX).await?;
        let keys = answer.get("keys").and_then(Value::as_array);
        let keys = keys.ok_or_else(|| HttpError::Malformed("the array `keys` is missing".to_owned()))?;
        Ok(keys.iter().filter_map(signature_key).collect())
    }
}

/// Parses a key that can verify signatures; `None` for all others, such as shared secrets, which are ignored (RFC 7517
/// §5).
pub(super) fn signature_key(value: &Value) -> Option<PublicKey> {
    let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
    if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return None;
    }
    let mut algorithms = match &jwk.algorithm {
        AlgorithmParameters::RSA(key) if key.n.len() >= RSA_MODULUS_CHARS_MIN => {
            AlgorithmFamily::Rsa.algorithms().to_vec()
        }
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => vec![Algorithm::ES256],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => vec![Algorithm::ES384],
        AlgorithmParameters::OctetKeyPair(key)
            if key.curve == EllipticCurve::Ed25519 && key.x.len() == ED25519_CHARS =>
        {
            vec![Algorithm::EdDSA]
        }
        _ => return None,
    };
    if let Some(only) = jwk.common.key_algorithm {
        algorithms.retain(|algorithm| KeyAlgorithm::from(*algorithm) == only);
    }
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    Some(PublicKey { kid: jwk.common.key_id?, algorithms, key })
}
