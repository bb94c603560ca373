//! Access tokens: valid ones make a principal, each flaw is denied for its own reason, and no client can make the server
//! overload the issuer with requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use contract::config;
use contract::{ErrorCode, ProjectId};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use serde_json::{Value, json};
use tenancy::{
    Principal, Projects, Scope, SignInAttempt, SignInClient, TokenError, TokenVerifier,
    protected_resource_metadata,
};

use crate::loopback::{FakeServer, ManualClock, Reply, refusing_url};

const AUDIENCE: &str = "https://code.example.com/mcp";
const METADATA: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
/// `{"alg":"none","typ":"JWT","kid":"es"}`
const HEADER_NONE: &str = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIiwia2lkIjoiZXMifQ";

/// Generates a key for this algorithm.
fn new_key(algorithm: Algorithm) -> EncodingKey {
    let curve = match algorithm {
        Algorithm::ES256 => &rcgen::PKCS_ECDSA_P256_SHA256,
        Algorithm::ES384 => &rcgen::PKCS_ECDSA_P384_SHA384,
        Algorithm::EdDSA => {
            // The PKCS #8 form of an Ed25519 key is this prefix and its 32 bytes (RFC 8410 §7).
            let mut der = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
            let mut seed = [0; 32];
            getrandom::fill(&mut seed).unwrap();
            der.extend(seed);
            return EncodingKey::from_ed_der(&der);
        }
        _ => return new_rsa_key(2048),
    };
    EncodingKey::from_ec_der(&rcgen::KeyPair::generate_for(curve).unwrap().serialize_der())
}

fn new_rsa_key(bits: usize) -> EncodingKey {
    use rsa::pkcs1::EncodeRsaPrivateKey;
    let key = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, bits).unwrap();
    EncodingKey::from_rsa_der(key.to_pkcs1_der().unwrap().as_bytes())
}

/// The keys of all tests, generated once because RSA keys are slow to generate.
fn key(kid: &str) -> &'static EncodingKey {
    static KEYS: OnceLock<BTreeMap<&str, EncodingKey>> = OnceLock::new();
    let keys = KEYS.get_or_init(|| {
        let named = |kid, algorithm| (kid, new_key(algorithm));
        BTreeMap::from([
            named("es", Algorithm::ES256),
            named("es384", Algorithm::ES384),
            named("ed", Algorithm::EdDSA),
            named("rsa", Algorithm::RS256),
            ("weak", new_rsa_key(1024)),
        ])
    });
    &keys[kid]
}

/// The JSON web key as an issuer publishes it.
fn public_jwk(kid: &str, key: &EncodingKey, algorithm: Algorithm) -> Value {
    let mut jwk = serde_json::to_value(Jwk::from_encoding_key(key, algorithm).unwrap()).unwrap();
    jwk["kid"] = json!(kid);
    jwk["use"] = json!("sig");
    jwk
}

/// An authorization server: pages that can change, and the clock of its verifiers.
struct Issuer {
    server: FakeServer,
    pages: Arc<Mutex<BTreeMap<String, Value>>>,
    clock: Arc<ManualClock>,
}

impl Issuer {
    /// Publishes metadata, one usable key of each kind, and keys that must not be used.
    async fn start() -> Self {
        let issuer = Self::without_pages().await;
        let url = issuer.server.url.clone();
        issuer.set_page(METADATA, json!({ "issuer": url, "jwks_uri": format!("{url}/keys") }));
        let mut rsa = public_jwk("rsa", key("rsa"), Algorithm::RS256);
        rsa.as_object_mut().unwrap().remove("alg");
        let mut encryption = public_jwk("encryption", key("es"), Algorithm::ES256);
        encryption["use"] = json!("enc");
        let keys = json!([
            { "kty": "oct", "kid": "shared", "k": "c2VjcmV0" },
            { "kty": "EC", "crv": "secp256k1", "kid": "exotic", "x": "AA", "y": "AA" },
            { "kty": "OKP", "crv": "Ed25519", "kid": "short", "x": "AA" },
            { "kty": 7 },
            "nothing",
            encryption,
            rsa,
            public_jwk("rs256", key("rsa"), Algorithm::RS256),
            public_jwk("weak", key("weak"), Algorithm::RS256),
            public_jwk("es", key("es"), Algorithm::ES256),
            public_jwk("es384", key("es384"), Algorithm::ES384),
            public_jwk("ed", key("ed"), Algorithm::EdDSA),
        ]);
        issuer.set_page("/keys", json!({ "keys": keys }));
        issuer
    }

    async fn without_pages() -> Self {
        let pages = Arc::new(Mutex::new(BTreeMap::<String, Value>::new()));
        let served_pages = Arc::clone(&pages);
        let server = FakeServer::start(move |path| match served_pages.lock().unwrap().get(path) {
            Some(page) => Reply::Json(page.clone()),
            None => Reply::Plain(404, String::new()),
        })
        .await;
        Self { server, pages, clock: ManualClock::new() }
    }

    fn set_page(&self, path: &str, page: Value) {
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    fn settings(&self) -> config::Oauth {
        settings(&self.server.url)
    }

    fn verifier(&self) -> TokenVerifier {
        TokenVerifier::from_settings(&self.settings(), self.clock.clone()).unwrap().unwrap()
    }

    /// The claims of a valid token.
    fn claims(&self) -> Value {
        json!({
            "iss": self.server.url,
            "aud": AUDIENCE,
            "sub": "user-1",
            "exp": get_current_timestamp() + 600,
            "client_id": "editor",
            "projects": ["client-a", "client-b"],
            "scope": "openid search pairofcleats:index",
        })
    }

    /// A valid token except for `change`.
    fn token(&self, change: impl FnOnce(&mut Value)) -> String {
        let mut claims = self.claims();
        change(&mut claims);
        sign("es", Algorithm::ES256, key("es"), &claims)
    }

    /// Returns how often the key set was fetched.
    fn fetches(&self) -> usize {
        self.server.requested_paths().iter().filter(|path| *path == "/keys").count()
    }
}

fn settings(issuer: &str) -> config::Oauth {
    config::Oauth {
        issuer: Some(issuer.to_owned()),
        audience: Some(AUDIENCE.to_owned()),
        jwks_url: None,
        projects_claim: "projects".to_owned(),
        scopes_claim: "scope".to_owned(),
        jwks_cache_ms: 300_000,
        fetch_ms: 2000,
        leeway_ms: 30_000,
        client_id: None,
        client_secret: None,
        sign_in_scopes: String::new(),
    }
}

fn sign(kid: &str, algorithm: Algorithm, key: &EncodingKey, claims: &Value) -> String {
    let header = Header { kid: Some(kid.to_owned()), ..Header::new(algorithm) };
    encode(&header, claims, key).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_valid_token_makes_a_principal() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier();
    let expected = Principal {
        id: format!("oauth:{}#user-1", issuer.server.url),
        name: "editor".to_owned(),
        projects: Projects::Only(["client-a", "client-b"].map(|id| ProjectId::parse(id).unwrap()).into()),
        scopes: BTreeSet::from([Scope::Search, Scope::Index]),
        calls_per_minute: None,
        roots: None,
        is_local: false,
    };
    for (kid, algorithm) in [
        ("es", Algorithm::ES256),
        ("es384", Algorithm::ES384),
        ("ed", Algorithm::EdDSA),
        ("rs256", Algorithm::RS256),
        ("rsa", Algorithm::RS512),
        ("rsa", Algorithm::PS256),
    ] {
        let key = key(if kid == "rs256" { "rsa" } else { kid });
        let token = sign(kid, algorithm, key, &issuer.claims());
        assert_eq!(verifier.verify(&token).await.as_ref(), Ok(&expected), "{algorithm:?}");
    }
    for change in [
        (|claims| claims["aud"] = json!(["another", AUDIENCE])) as fn(&mut Value),
        |claims| claims["exp"] = json!(get_current_timestamp() - 10),
        |claims| claims["nbf"] = json!(get_current_timestamp() + 10),
    ] {
        let token = issuer.token(change);
        assert_eq!(
            verifier.verify(&token).await.as_ref(),
            Ok(&expected),
            "a list of audiences, or clocks that differ within the leeway"
        );
    }
    for typ in [None, Some("JWT"), Some("at+jwt"), Some("AT+JWT"), Some("application/at+jwt")] {
        let typ = typ.map(str::to_owned);
        let header = Header { kid: Some("es".into()), typ, ..Header::new(Algorithm::ES256) };
        let token = encode(&header, &issuer.claims(), key("es")).unwrap();
        assert!(verifier.verify(&token).await.is_ok(), "{:?}", header.typ);
    }
    assert_eq!(issuer.server.requested_paths(), [METADATA, "/keys"], "fetched once, then cached");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_flawed_claim_is_denied_for_its_own_reason() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier();
    let missing = |claim: &str| TokenError::Claim(claim.to_owned());
    type Change = fn(&mut Value);
    let cases: Vec<(Change, TokenError)> = vec![
        (|claims| claims["exp"] = json!(get_current_timestamp() - 60), TokenError::Expired),
        (|claims| claims["exp"] = json!(0), TokenError::Expired),
        (|claims| claims["nbf"] = json!(get_current_timestamp() + 120), TokenError::NotYetValid),
        (|claims| claims["iss"] = json!("https://id.example.org"), TokenError::Issuer),
        (|claims| claims["iss"] = json!(format!("{}/", claims["iss"].as_str().unwrap())), TokenError::Issuer),
        (|claims| claims["aud"] = json!("https://code.example.com"), TokenError::Audience),
        (|claims| claims["aud"] = json!(["https://other.example.com/mcp"]), TokenError::Audience),
        (|claims| claims["aud"] = json!([]), TokenError::Audience),
        (|claims| claims["sub"] = json!(""), missing("sub")),
        (|claims| claims["sub"] = json!(7), missing("sub")),
        (|claims| claims["exp"] = json!("tomorrow"), missing("exp")),
        (|claims| claims["nbf"] = json!("yesterday"), missing("nbf")),
    ];
    let mut failures = Vec::new();
    for (change, reason) in cases {
        let outcome = verifier.verify(&issuer.token(change)).await;
        if outcome != Err(reason.clone()) {
            failures.push((reason, outcome));
        }
    }
    for claim in ["iss", "aud", "exp", "sub"] {
        let token = issuer.token(|claims| {
            claims.as_object_mut().unwrap().remove(claim);
        });
        let outcome = verifier.verify(&token).await;
        if outcome != Err(missing(claim)) {
            failures.push((missing(claim), outcome));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_flaw_of_the_signature_is_denied_for_its_own_reason() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier();
    let valid = issuer.token(|_| {});
    assert!(verifier.verify(&valid).await.is_ok());
    let [header, payload, signature] = valid.split('.').collect::<Vec<_>>().try_into().unwrap();
    let other = issuer.token(|claims| claims["projects"] = json!("*"));
    let other_payload = other.split('.').nth(1).unwrap();
    let claims = issuer.claims();
    let public = public_jwk("es", key("es"), Algorithm::ES256).to_string();
    let with_header = |change: fn(&mut Header)| {
        let mut header = Header { kid: Some("es".into()), ..Header::new(Algorithm::ES256) };
        change(&mut header);
        encode(&header, &claims, key("es")).unwrap()
    };
    let es256_with_kid = |kid| sign(kid, Algorithm::ES256, key("es"), &claims);
    let sign_with_secret =
        |kid, secret: &[u8]| sign(kid, Algorithm::HS256, &EncodingKey::from_secret(secret), &claims);
    let cases = [
        ("unsigned", format!("{HEADER_NONE}.{payload}."), TokenError::Algorithm),
        ("unsigned with a signature", format!("{HEADER_NONE}.{payload}.{signature}"), TokenError::Algorithm),
        ("the public key as a secret", sign_with_secret("es", public.as_bytes()), TokenError::Algorithm),
        ("a published secret", sign_with_secret("shared", b"secret"), TokenError::Algorithm),
        ("a key of another kind", sign("es", Algorithm::RS256, key("rsa"), &claims), TokenError::KeyMismatch),
        (
            "a key of another curve",
            sign("es384", Algorithm::ES256, key("es"), &claims),
            TokenError::KeyMismatch,
        ),
        (
            "a key for another algorithm",
            sign("rs256", Algorithm::RS512, key("rsa"), &claims),
            TokenError::KeyMismatch,
        ),
        ("an unpublished key", es256_with_kid("invented"), TokenError::UnknownKey),
        ("no key", with_header(|header| header.kid = None), TokenError::UnknownKey),
        ("a secret's name", es256_with_kid("shared"), TokenError::UnknownKey),
        ("a key for encryption", es256_with_kid("encryption"), TokenError::UnknownKey),
        ("a short RSA key", sign("weak", Algorithm::RS256, key("weak"), &claims), TokenError::UnknownKey),
        ("a short Ed25519 key", sign("short", Algorithm::EdDSA, key("ed"), &claims), TokenError::UnknownKey),
        (
            "another private key",
            sign("es", Algorithm::ES256, &new_key(Algorithm::ES256), &claims),
            TokenError::Signature,
        ),
        ("another payload", format!("{header}.{other_payload}.{signature}"), TokenError::Signature),
        ("no signature", format!("{header}.{payload}."), TokenError::Signature),
        ("another type", with_header(|header| header.typ = Some("dpop+jwt".into())), TokenError::Type),
        ("an extension", with_header(|header| header.crit = Some(vec!["exp".into()])), TokenError::Malformed),
        ("two parts", format!("{header}.{payload}"), TokenError::Malformed),
        ("four parts", format!("{valid}.{signature}"), TokenError::Malformed),
        ("nothing", String::new(), TokenError::Malformed),
        ("dots", "..".to_owned(), TokenError::Malformed),
        ("garbage", "not a token".to_owned(), TokenError::Malformed),
        ("garbage in three parts", "a.b.c".to_owned(), TokenError::Malformed),
        ("bytes", "\u{0}\u{fffd}.é.x".to_owned(), TokenError::Malformed),
        (
            "too long",
            issuer.token(|claims| claims["projects"] = json!("x".repeat(16_384))),
            TokenError::Malformed,
        ),
    ];
    let mut failures = Vec::new();
    for (name, token, reason) in cases {
        let outcome = verifier.verify(&token).await;
        if outcome != Err(reason) {
            failures.push((name, outcome));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(issuer.fetches(), 1, "no flaw causes another fetch at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_issuers_keys_no_token_is_accepted() {
    let unavailable = async |settings: &config::Oauth, token: &str| {
        let verifier = TokenVerifier::from_settings(settings, ManualClock::new()).unwrap().unwrap();
        match verifier.verify(token).await {
            Err(TokenError::KeysUnavailable(problem)) => problem,
            other => panic!("{other:?}"),
        }
    };
    let issuer = Issuer::start().await;
    let token = issuer.token(|_| {});
    let refusing = config::Oauth { jwks_url: Some(refusing_url().await), ..issuer.settings() };
    assert!(unavailable(&refusing, &token).await.contains("no answer"));

    let silent = FakeServer::start(|_| Reply::Silence).await;
    let silent = config::Oauth { jwks_url: Some(silent.url.clone()), fetch_ms: 200, ..issuer.settings() };
    assert!(unavailable(&silent, &token).await.contains("no answer"));

    let issuer_url = issuer.server.url.clone();
    for (page, expected) in [
        (
            json!({ "issuer": format!("{issuer_url}/other"), "jwks_uri": format!("{issuer_url}/keys") }),
            "is not oauth.issuer",
        ),
        (json!({ "issuer": issuer_url, "jwks_uri": "http://id.example.com/keys" }), "use https"),
        (json!({ "issuer": issuer_url, "jwks_uri": "file:///etc/keys" }), "neither http nor https"),
        (json!({ "issuer": issuer_url }), "missing field `jwks_uri`"),
        (json!({ "issuer": issuer_url, "jwks_uri": format!("{issuer_url}/nowhere") }), "status 404"),
        (
            json!({ "issuer": issuer_url, "jwks_uri": format!("{issuer_url}{METADATA}") }),
            "the array `keys` is missing",
        ),
    ] {
        issuer.set_page(METADATA, page);
        let problem = unavailable(&issuer.settings(), &token).await;
        assert!(problem.contains(expected), "{problem}");
    }
    issuer.pages.lock().unwrap().clear();
    let problem = unavailable(&issuer.settings(), &token).await;
    assert!(problem.contains("status 404") && problem.contains(OPENID), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_are_found_at_all_usual_addresses() {
    let issuer = Issuer::start().await;
    let keys = format!("{}/keys", issuer.server.url);
    let named = format!("{}/realms/team", issuer.server.url);
    let token = issuer.token(|claims| claims["iss"] = json!(named));
    for path in
        [format!("{METADATA}/realms/team"), format!("{OPENID}/realms/team"), format!("/realms/team{OPENID}")]
    {
        issuer.pages.lock().unwrap().retain(|path, _| path == "/keys");
        issuer.set_page(&path, json!({ "issuer": named, "jwks_uri": keys }));
        let verifier = TokenVerifier::from_settings(&settings(&named), ManualClock::new()).unwrap().unwrap();
        assert!(verifier.verify(&token).await.is_ok(), "{path}");
    }
    issuer.pages.lock().unwrap().retain(|path, _| path == "/keys");
    let direct = config::Oauth { jwks_url: Some(keys), ..settings(&named) };
    let verifier = TokenVerifier::from_settings(&direct, ManualClock::new()).unwrap().unwrap();
    assert!(verifier.verify(&token).await.is_ok(), "a configured key address needs no metadata");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_cached_and_kept_when_the_issuer_fails() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier();
    let (valid, claims) = (issuer.token(|_| {}), issuer.claims());
    let concurrent = (0..20).map(|_| verifier.verify(&valid));
    assert!(futures::future::join_all(concurrent).await.iter().all(Result::is_ok));
    assert_eq!(issuer.fetches(), 1, "concurrent callers share one fetch");

    let new = new_key(Algorithm::ES256);
    let rotated = sign("new", Algorithm::ES256, &new, &claims);
    let mut keys = issuer.pages.lock().unwrap()["/keys"].clone();
    keys["keys"].as_array_mut().unwrap().push(public_jwk("new", &new, Algorithm::ES256));
    issuer.set_page("/keys", keys);
    issuer.clock.advance_ms(9_999);
    for number in 0..20 {
        let unknown = sign(&format!("invented-{number}"), Algorithm::ES256, &new, &claims);
        assert_eq!(verifier.verify(&unknown).await, Err(TokenError::UnknownKey));
    }
    assert_eq!(verifier.verify(&rotated).await, Err(TokenError::UnknownKey));
    assert_eq!(issuer.fetches(), 1, "unknown keys cause no fetch within ten seconds");
    issuer.clock.advance_ms(1);
    assert!(verifier.verify(&rotated).await.is_ok(), "a new key is found after ten seconds");
    assert_eq!(issuer.fetches(), 2);
    issuer.clock.advance_ms(299_999);
    assert!(verifier.verify(&valid).await.is_ok());
    assert_eq!(issuer.fetches(), 2, "keys are cached for the configured time");

    issuer.pages.lock().unwrap().remove("/keys");
    issuer.clock.advance_ms(1);
    for _ in 0..5 {
        assert!(verifier.verify(&valid).await.is_ok(), "the old keys are kept");
    }
    let unknown = sign("invented", Algorithm::ES256, &new, &claims);
    assert!(matches!(verifier.verify(&unknown).await, Err(TokenError::KeysUnavailable(_))));
    assert_eq!(issuer.fetches(), 3, "a failure is not repeated at once");

    issuer.set_page("/keys", json!({ "keys": [public_jwk("new", &new, Algorithm::ES256)] }));
    issuer.clock.advance_ms(10_000);
    assert_eq!(verifier.verify(&valid).await, Err(TokenError::UnknownKey), "a withdrawn key is gone");
    assert!(verifier.verify(&rotated).await.is_ok());
    assert_eq!(issuer.fetches(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_verification_does_not_repeat_the_fetch() {
    // The server answers once the sending end is dropped, or after a minute.
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Mutex::new(released);
    let server = FakeServer::start(move |_| {
        // Blocks in place: a sleeping worker thread would stop the runtime's timers.
        tokio::task::block_in_place(|| {
            let _ = released.lock().unwrap().recv_timeout(Duration::from_secs(60));
        });
        Reply::Json(json!({ "keys": [public_jwk("es", key("es"), Algorithm::ES256)] }))
    })
    .await;
    // On a busy machine the ten aborted calls may take long.
    let settings =
        config::Oauth { jwks_url: Some(server.url.clone()), fetch_ms: 120_000, ..settings(&server.url) };
    let verifier = TokenVerifier::from_settings(&settings, ManualClock::new()).unwrap().unwrap();
    let claims =
        json!({ "iss": server.url, "aud": AUDIENCE, "sub": "s", "exp": get_current_timestamp() + 600 });
    let token = sign("es", Algorithm::ES256, key("es"), &claims);
    for _ in 0..10 {
        let aborted = tokio::time::timeout(Duration::from_millis(1), verifier.verify(&token)).await;
        assert!(aborted.is_err(), "the server has not answered yet");
    }
    drop(release);
    let principal = verifier.verify(&token).await.unwrap();
    assert_eq!(principal.projects, Projects::Only(BTreeSet::new()), "without the claim there is no project");
    assert!(principal.scopes.is_empty());
    assert_eq!(server.requested_paths().len(), 1);
}

#[test]
fn an_insecure_or_incomplete_configuration_is_refused() {
    let outcome = |settings: &config::Oauth| {
        TokenVerifier::from_settings(settings, ManualClock::new()).map(|it| it.is_some())
    };
    let https = settings("https://id.example.com");
    assert!(outcome(&https).unwrap());
    assert!(!outcome(&config::Oauth { issuer: None, ..https.clone() }).unwrap(), "off");
    for bad in [
        settings("http://id.example.com"),
        settings("http://127.0.0.1.example.com"),
        settings("id.example.com"),
        config::Oauth { audience: None, ..https.clone() },
        config::Oauth { jwks_url: Some("http://id.example.com/keys".into()), ..https.clone() },
    ] {
        let fault = outcome(&bad).unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidInput);
        assert!(fault.message.contains("oauth") && fault.hint.is_some(), "{fault}");
    }
    let metadata = serde_json::to_value(protected_resource_metadata(&https)).unwrap();
    assert_eq!(
        metadata,
        json!({
            "resource": AUDIENCE,
            "authorization_servers": ["https://id.example.com"],
            "scopes_supported": ["search", "index", "triage", "admin", "instructions", "curate", "launch", "publish"],
            "bearer_methods_supported": ["header"],
        })
    );
    assert_eq!(protected_resource_metadata(&config::Oauth { issuer: None, ..https }), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_accepts_tokens_and_publishes_their_issuer() {
    use crate::harness::http;
    use crate::serving::{TestServer, send_json, with_key};
    let issuer = Issuer::start().await;
    let oauth = issuer.settings();
    let test_server = TestServer::start(|config| {
        config.oauth = oauth;
        config.access.required = config::Required::Always;
    })
    .await;
    let call = |token: &str, tool: &str| {
        with_key(http().post(test_server.url_of(&format!("/tools/{tool}"))), Some(token))
            .json(&json!({ "query": "x" }))
    };
    let valid = issuer.token(|_| {});
    let (status, body) = send_json(call(&valid, "search")).await;
    assert_eq!(
        (status.as_u16(), body["error"]["code"].as_str()),
        (409, Some("NO_INDEX")),
        "the token may search: {body}"
    );
    let session = test_server.open("/mcp", Some(&valid)).await;
    assert!(
        session.tools().await.contains(&"build_index".to_owned()),
        "the token's scopes also apply over MCP"
    );
    let narrow = issuer.token(|claims| claims["scope"] = json!("openid"));
    assert_eq!(send_json(call(&narrow, "search")).await.0, 403, "a token without the scope");

    let expired = issuer.token(|claims| claims["exp"] = json!(get_current_timestamp() - 600));
    let elsewhere = issuer.token(|claims| claims["aud"] = json!("https://other.example.com"));
    for (label, token) in
        [("expired", &expired), ("for another audience", &elsewhere), ("garbage", &"x.y.z".to_owned())]
    {
        let response = call(token, "search").send().await.unwrap();
        assert_eq!(response.status(), 401, "{label}");
        let challenge = response.headers()["www-authenticate"].to_str().unwrap().to_owned();
        let pointer =
            "resource_metadata=\"https://code.example.com/.well-known/oauth-protected-resource/mcp\"";
        assert!(
            challenge.contains("error=\"invalid_token\"") && challenge.contains(pointer),
            "{label}: {challenge}"
        );
    }
    let without_token = http().post(test_server.url_of("/mcp")).json(&json!({})).send().await.unwrap();
    assert_eq!(without_token.status(), 401);
    assert!(without_token.headers()["www-authenticate"].to_str().unwrap().contains("resource_metadata="));
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let (status, metadata) = send_json(http().get(test_server.url_of(path))).await;
        assert_eq!(status, 200, "without a token");
        assert_eq!(metadata["resource"], AUDIENCE);
        assert_eq!(metadata["authorization_servers"], json!([issuer.server.url]));
    }
    test_server.stop().await;

    let plain = TestServer::start(|_| {}).await;
    let (status, body) = send_json(http().get(plain.url_of("/.well-known/oauth-protected-resource"))).await;
    assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (404, Some("NOT_FOUND")));
    plain.stop().await;

    let unreachable_issuer = refusing_url().await;
    let server_without_issuer = TestServer::start(|config| {
        config.oauth = settings(&unreachable_issuer);
        config.access.required = config::Required::Always;
    })
    .await;
    let request = with_key(http().get(server_without_issuer.url_of("/tools")), Some(&valid));
    assert_eq!(send_json(request).await.0, 503, "an issuer that cannot be reached is not the client's fault");
    server_without_issuer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_issuer_is_asked_once_where_people_sign_in() {
    let issuer = Issuer::without_pages().await;
    let url = issuer.server.url.clone();
    let settings = config::Oauth { client_id: Some("pages".to_owned()), ..settings(&url) };
    let client = SignInClient::from_settings(&settings).unwrap().unwrap();
    let attempt = SignInAttempt {
        state: "s".to_owned(),
        verifier: "v".repeat(64),
        redirect_url: "http://127.0.0.1/sign-in/callback".to_owned(),
    };
    assert!(client.authorization_url(&attempt).await.is_err(), "an issuer without metadata");
    issuer.set_page(METADATA, json!({ "issuer": url, "jwks_uri": format!("{url}/keys") }));
    let refused = client.authorization_url(&attempt).await.unwrap_err().to_string();
    assert!(refused.contains("lacks an address"), "{refused}");
    issuer.set_page(
        OPENID,
        json!({ "issuer": url, "jwks_uri": format!("{url}/keys"), "authorization_endpoint": format!("{url}/auth"),
            "token_endpoint": format!("{url}/token") }),
    );
    let address = client.authorization_url(&attempt).await.unwrap();
    assert_eq!(address.path(), "/auth");
    assert!(address.query().unwrap().contains("code_challenge_method=S256"), "{address}");
    let asked = issuer.server.requested_paths().len();
    client.authorization_url(&attempt).await.unwrap();
    assert_eq!(issuer.server.requested_paths().len(), asked, "the metadata is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_that_says_that_its_answers_name_it_must_do_so() {
    for announced in [None, Some(false), Some(true)] {
        let issuer = Issuer::without_pages().await;
        let url = issuer.server.url.clone();
        let mut metadata = json!({ "issuer": url, "jwks_uri": format!("{url}/keys"),
            "authorization_endpoint": format!("{url}/auth"), "token_endpoint": format!("{url}/token") });
        if let Some(announced) = announced {
            metadata["authorization_response_iss_parameter_supported"] = json!(announced);
        }
        issuer.set_page(METADATA, metadata);
        let settings = config::Oauth { client_id: Some("pages".to_owned()), ..settings(&url) };
        let client = SignInClient::from_settings(&settings).unwrap().unwrap();
        assert!(client.is_of_issuer(Some(&url)).await.unwrap(), "{announced:?}");
        assert!(!client.is_of_issuer(Some("https://evil.example")).await.unwrap(), "{announced:?}");
        assert_eq!(client.is_of_issuer(None).await.unwrap(), announced != Some(true), "{announced:?}");
    }
}
