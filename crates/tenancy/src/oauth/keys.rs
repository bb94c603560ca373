//! The issuer's public keys (RFC 7517): fetched when a token needs them, kept for a while, never fetched as often
//! as somebody would like who sends tokens with invented keys.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde_json::Value;
use tokio::sync::Mutex;

use super::denied::Denied;
use super::discovery::Source;
use contract::clock::Clock;
use contract::config;
use platform::outbound::{Outbound, Problem};

/// Between fetches while a key is not found, or after one failed.
const RETRY: Duration = Duration::from_secs(10);
/// A set has a handful of keys; some carry certificate chains.
const KEYS_BYTES_MAX: usize = 1_048_576;
/// 2048 bits in base64url; shorter RSA keys are not allowed (RFC 7518 §3.3).
const RSA_MODULUS_CHARS_MIN: usize = 342;
/// 32 bytes in base64url.
const ED25519_CHARS: usize = 43;

/// The keys of one issuer.
pub(super) struct KeySet {
    outbound: Outbound,
    source: Source,
    cache: Duration,
    budget: Duration,
    clock: Arc<dyn Clock>,
    known: RwLock<Known>,
    /// Held by the one fetch at a time.
    fetching: Mutex<()>,
}

#[derive(Default)]
struct Known {
    keys: Vec<PublicKey>,
    fetched_at: Option<Instant>,
    /// Why the last fetch failed; the keys are then those of an earlier one.
    problem: Option<String>,
}

pub(super) struct PublicKey {
    kid: String,
    /// Those its type and its own `alg` admit.
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

impl KeySet {
    /// No keys yet.
    pub(super) fn new(
        issuer: &str,
        settings: &config::Oauth,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Problem> {
        let budget = Duration::from_millis(settings.fetch_ms);
        Ok(Self {
            outbound: Outbound::new(budget)?,
            source: Source::new(issuer, settings.jwks_url.as_deref())?,
            cache: Duration::from_millis(settings.jwks_cache_ms),
            budget,
            clock,
            known: RwLock::default(),
            fetching: Mutex::new(()),
        })
    }

    /// The key of that name, for that algorithm.
    pub(super) async fn find(
        self: &Arc<Self>,
        kid: &str,
        algorithm: Algorithm,
    ) -> Result<DecodingKey, Denied> {
        if self.is_due(kid) {
            let (keys, kid) = (Arc::clone(self), kid.to_owned());
            // In a task of its own: a client that leaves neither stops what others wait for nor repeats it.
            let fetch = tokio::spawn(async move { keys.fetch_if_due(&kid).await });
            fetch.await.map_err(|error| Denied::KeysUnavailable(error.to_string()))?;
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut named = known.keys.iter().filter(|key| key.kid == kid).peekable();
        match (named.peek(), &known.problem) {
            (None, Some(problem)) => Err(Denied::KeysUnavailable(problem.clone())),
            (None, None) => Err(Denied::UnknownKey),
            (Some(_), _) => named
                .find(|key| key.algorithms.contains(&algorithm))
                .map(|key| key.key.clone())
                .ok_or(Denied::UnfitKey),
        }
    }

    /// Whether a fetch might help: what is known is old, or lacks the key and was not fetched just now.
    fn is_due(&self, kid: &str) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(fetched_at) = known.fetched_at else {
            return true;
        };
        let is_good = known.problem.is_none() && known.keys.iter().any(|key| key.kid == kid);
        let patience = if is_good { self.cache } else { RETRY.min(self.cache) };
        self.clock.instant().duration_since(fetched_at) >= patience
    }

    async fn fetch_if_due(&self, kid: &str) {
        let _turn = self.fetching.lock().await;
        if !self.is_due(kid) {
            return;
        }
        let fetched = tokio::time::timeout(self.budget, self.fetch());
        let fetched = fetched.await.unwrap_or_else(|_| Err(Problem::Unreachable("it took too long".into())));
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.fetched_at = Some(self.clock.instant());
        known.problem = None;
        match fetched {
            Ok(keys) => known.keys = keys,
            Err(problem) => {
                tracing::warn!("the keys of oauth.issuer could not be fetched: {problem}");
                known.problem = Some(problem.to_string());
            }
        }
    }

    async fn fetch(&self) -> Result<Vec<PublicKey>, Problem> {
        let url = self.source.keys_url(&self.outbound).await?;
        let answer = self.outbound.get_json(&url, KEYS_BYTES_MAX).await?;
        let keys = answer.get("keys").and_then(Value::as_array);
        let keys = keys.ok_or_else(|| Problem::Malformed("no array `keys`".to_owned()))?;
        Ok(keys.iter().filter_map(usable).collect())
    }
}

/// A key that signatures can be checked with. Others may stand in the set, for other uses and readers; they are
/// passed over (RFC 7517 §5), among them every shared secret.
pub(super) fn usable(value: &Value) -> Option<PublicKey> {
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
