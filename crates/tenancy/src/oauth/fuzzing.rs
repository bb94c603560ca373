//! Fuzz target: bearer tokens, issuers' keys and claims, without network access.

use std::sync::LazyLock;

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{DecodingKey, Validation, decode};
use serde_json::{Map, Value};

use super::claims::principal;
use super::{REQUIRED_CLAIMS, accepted_header, keys};
use crate::Projects;

const ISSUER: &str = "https://id.example.com";

/// Published keys of an issuer. Their private keys are unknown, so no input has a valid signature.
const JWKS: [&str; 2] = [
    r#"{"kty":"EC","crv":"P-256","kid":"e","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
    r#"{"kty":"OKP","crv":"Ed25519","kid":"o","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
];

static KEYS: LazyLock<Vec<DecodingKey>> = LazyLock::new(|| {
    let keys = JWKS.iter().filter_map(|text| serde_json::from_str::<Jwk>(text).ok());
    keys.filter_map(|jwk| DecodingKey::from_jwk(&jwk).ok()).collect()
});

/// Seeds: tokens, claims and keys.
pub fn token_seeds() -> Vec<Vec<u8>> {
    let header = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImUiLCJ0eXAiOiJhdCtqd3QifQ";
    let claims =
        "eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUuY29tIiwic3ViIjoidSIsImF1ZCI6ImEiLCJleHAiOjk5OTk5OTk5OTl9";
    let rsa = format!(
        r#"{{"kty":"RSA","use":"sig","alg":"RS256","kid":"r","e":"AQAB","n":"{}"}}"#,
        "A".repeat(342)
    );
    let mut seeds = vec![
        format!("{header}.{claims}.{}", "A".repeat(86)),
        format!("eyJhbGciOiJub25lIn0.{claims}."),
        format!("eyJhbGciOiJIUzI1NiIsImtpZCI6ImUifQ.{claims}.AAAA"),
        r#"{"sub":"u","client_id":"ci","projects":["client-a","*"],"scope":"search pairofcleats:index"}"#
            .to_owned(),
        rsa,
    ];
    seeds.extend(JWKS.map(str::to_owned));
    seeds.into_iter().map(String::into_bytes).collect()
}

/// Checks that no token is accepted, that principals built from claims are well-formed, and that any key can be parsed.
pub fn fuzz_token(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(header) = accepted_header(&text) {
        for key in KEYS.iter() {
            let mut validation = Validation::new(header.alg);
            validation.set_required_spec_claims(&REQUIRED_CLAIMS);
            validation.set_audience(&["a"]);
            let decoded = decode::<Map<String, Value>>(text.as_bytes(), key, &validation);
            assert!(decoded.is_err(), "a token without a valid signature was accepted");
        }
    }
    let Ok(value) = serde_json::from_str::<Value>(&text) else { return };
    drop(keys::signature_key(&value));
    let Some(claims) = value.as_object() else { return };
    if let Ok(principal) = principal(claims, ISSUER, "projects", "scope") {
        assert!(!principal.is_local && !principal.name.contains(char::is_control), "{principal:?}");
        assert!(principal.id.starts_with("oauth:https://id.example.com#"), "{principal:?}");
        let names_all = claims.get("projects").is_some_and(|claim| claim.to_string().contains('*'));
        assert!(names_all || !matches!(principal.projects, Projects::All), "{principal:?}");
    }
}
