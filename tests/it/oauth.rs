//! Access tokens: good ones make a principal, each flaw is denied for its own reason, and nobody can make us
//! hammer the issuer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use contract::config;
use contract::{ErrorCode, ProjectId};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use serde_json::{Value, json};
use tenancy::{Denied, Principal, Projects, Scope, TokenVerifier, protected_resource_metadata};

use crate::loopback::{Hand, Reply, Web, nobody};

const AUDIENCE: &str = "https://code.example.com/mcp";
const METADATA: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
/// `{"alg":"none","typ":"JWT","kid":"es"}`
const HEADER_NONE: &str = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIiwia2lkIjoiZXMifQ";

/// A fresh key for that algorithm.
fn new_key(algorithm: Algorithm) -> EncodingKey {
    let curve = match algorithm {
        Algorithm::ES256 => &rcgen::PKCS_ECDSA_P256_SHA256,
        Algorithm::ES384 => &rcgen::PKCS_ECDSA_P384_SHA384,
        Algorithm::EdDSA => {
            // PKCS #8 of an Ed25519 key is this and its 32 bytes (RFC 8410 §7).
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

/// The keys of all these tests: making RSA keys is slow.
fn key(kid: &str) -> &'static EncodingKey {
    static KEYS: OnceLock<BTreeMap<&str, EncodingKey>> = OnceLock::new();
    let keys = KEYS.get_or_init(|| {
        let of = |kid, algorithm| (kid, new_key(algorithm));
        BTreeMap::from([
            of("es", Algorithm::ES256),
            of("es384", Algorithm::ES384),
            of("ed", Algorithm::EdDSA),
            of("rsa", Algorithm::RS256),
            ("weak", new_rsa_key(1024)),
        ])
    });
    &keys[kid]
}

/// The key as an issuer publishes it.
fn published(kid: &str, key: &EncodingKey, algorithm: Algorithm) -> Value {
    let mut jwk = serde_json::to_value(Jwk::from_encoding_key(key, algorithm).unwrap()).unwrap();
    jwk["kid"] = json!(kid);
    jwk["use"] = json!("sig");
    jwk
}

/// An authorization server: pages that can change, and the verifier that trusts it.
struct Issuer {
    web: Web,
    pages: Arc<Mutex<BTreeMap<String, Value>>>,
    hand: Arc<Hand>,
}

impl Issuer {
    /// Publishes metadata and one key of each kind, next to such as must not be used.
    async fn start() -> Self {
        let issuer = Self::empty().await;
        let url = issuer.web.url.clone();
        issuer.page(METADATA, json!({ "issuer": url, "jwks_uri": format!("{url}/keys") }));
        let mut rsa = published("rsa", key("rsa"), Algorithm::RS256);
        rsa.as_object_mut().unwrap().remove("alg");
        let mut encryption = published("encryption", key("es"), Algorithm::ES256);
        encryption["use"] = json!("enc");
        let keys = json!([
            { "kty": "oct", "kid": "shared", "k": "c2VjcmV0" },
            { "kty": "EC", "crv": "secp256k1", "kid": "exotic", "x": "AA", "y": "AA" },
            { "kty": "OKP", "crv": "Ed25519", "kid": "short", "x": "AA" },
            { "kty": 7 },
            "nothing",
            encryption,
            rsa,
            published("rs256", key("rsa"), Algorithm::RS256),
            published("weak", key("weak"), Algorithm::RS256),
            published("es", key("es"), Algorithm::ES256),
            published("es384", key("es384"), Algorithm::ES384),
            published("ed", key("ed"), Algorithm::EdDSA),
        ]);
        issuer.page("/keys", json!({ "keys": keys }));
        issuer
    }

    async fn empty() -> Self {
        let pages = Arc::new(Mutex::new(BTreeMap::<String, Value>::new()));
        let shown = Arc::clone(&pages);
        let web = Web::start(move |path| match shown.lock().unwrap().get(path) {
            Some(page) => Reply::Json(page.clone()),
            None => Reply::Plain(404, String::new()),
        })
        .await;
        Self { web, pages, hand: Hand::new() }
    }

    fn page(&self, path: &str, page: Value) {
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    fn settings(&self) -> config::Oauth {
        settings(&self.web.url)
    }

    fn verifier(&self) -> TokenVerifier {
        TokenVerifier::configured(&self.settings(), self.hand.clone()).unwrap().unwrap()
    }

    /// What a good token says.
    fn claims(&self) -> Value {
        json!({
            "iss": self.web.url,
            "aud": AUDIENCE,
            "sub": "user-1",
            "exp": get_current_timestamp() + 600,
            "client_id": "editor",
            "projects": ["client-a", "client-b"],
            "scope": "openid search pairofcleats:index",
        })
    }

    /// A good token but for `change`.
    fn token(&self, change: impl FnOnce(&mut Value)) -> String {
        let mut claims = self.claims();
        change(&mut claims);
        signed("es", Algorithm::ES256, key("es"), &claims)
    }

    /// How often the keys were fetched.
    fn fetches(&self) -> usize {
        self.web.asked().iter().filter(|path| *path == "/keys").count()
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
    }
}

fn signed(kid: &str, algorithm: Algorithm, key: &EncodingKey, claims: &Value) -> String {
    let header = Header { kid: Some(kid.to_owned()), ..Header::new(algorithm) };
    encode(&header, claims, key).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_token_makes_a_principal() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier();
    let expected = Principal {
        id: format!("oauth:{}#user-1", issuer.web.url),
        name: "editor".to_owned(),
        projects: Projects::These(["client-a", "client-b"].map(|id| ProjectId::parse(id).unwrap()).into()),
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
        let token = signed(kid, algorithm, key, &issuer.claims());
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
            "audiences in a list; clocks that differ"
        );
    }
    for typ in [None, Some("JWT"), Some("at+jwt"), Some("AT+JWT"), Some("application/at+jwt")] {
        let typ = typ.map(str::to_owned);
        let header = Header { kid: Some("es".into()), typ, ..Header::new(Algorithm::ES256) };
        let token = encode(&header, &issuer.claims(), key("es")).unwrap();
        assert!(verifier.verify(&token).await.is_ok(), "{:?}", header.typ);
    }
    assert_eq!(issuer.web.asked(), [METADATA, "/keys"], "asked once, then believed");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_flawed_claim_is_denied_for_its_own_reason() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier();
    let missing = |claim: &str| Denied::Claim(claim.to_owned());
    type Change = fn(&mut Value);
    let cases: Vec<(Change, Denied)> = vec![
        (|claims| claims["exp"] = json!(get_current_timestamp() - 60), Denied::Expired),
        (|claims| claims["exp"] = json!(0), Denied::Expired),
        (|claims| claims["nbf"] = json!(get_current_timestamp() + 120), Denied::NotYetValid),
        (|claims| claims["iss"] = json!("https://id.example.org"), Denied::Issuer),
        (|claims| claims["iss"] = json!(format!("{}/", claims["iss"].as_str().unwrap())), Denied::Issuer),
        (|claims| claims["aud"] = json!("https://code.example.com"), Denied::Audience),
        (|claims| claims["aud"] = json!(["https://other.example.com/mcp"]), Denied::Audience),
        (|claims| claims["aud"] = json!([]), Denied::Audience),
        (|claims| claims["sub"] = json!(""), missing("sub")),
        (|claims| claims["sub"] = json!(7), missing("sub")),
        (|claims| claims["exp"] = json!("tomorrow"), missing("exp")),
        (|claims| claims["nbf"] = json!("yesterday"), missing("nbf")),
    ];
    let mut wrong = Vec::new();
    for (change, reason) in cases {
        let outcome = verifier.verify(&issuer.token(change)).await;
        if outcome != Err(reason.clone()) {
            wrong.push((reason, outcome));
        }
    }
    for claim in ["iss", "aud", "exp", "sub"] {
        let token = issuer.token(|claims| {
            claims.as_object_mut().unwrap().remove(claim);
        });
        let outcome = verifier.verify(&token).await;
        if outcome != Err(missing(claim)) {
            wrong.push((missing(claim), outcome));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_flaw_of_the_signature_is_denied_for_its_own_reason() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier();
    let good = issuer.token(|_| {});
    assert!(verifier.verify(&good).await.is_ok());
    let [header, payload, signature] = good.split('.').collect::<Vec<_>>().try_into().unwrap();
    let other = issuer.token(|claims| claims["projects"] = json!("*"));
    let other_payload = other.split('.').nth(1).unwrap();
    let claims = issuer.claims();
    let public = published("es", key("es"), Algorithm::ES256).to_string();
    let with = |change: fn(&mut Header)| {
        let mut header = Header { kid: Some("es".into()), ..Header::new(Algorithm::ES256) };
        change(&mut header);
        encode(&header, &claims, key("es")).unwrap()
    };
    let es_by = |kid| signed(kid, Algorithm::ES256, key("es"), &claims);
    let secret =
        |kid, secret: &[u8]| signed(kid, Algorithm::HS256, &EncodingKey::from_secret(secret), &claims);
    let cases = [
        ("unsigned", format!("{HEADER_NONE}.{payload}."), Denied::Algorithm),
        ("unsigned with a signature", format!("{HEADER_NONE}.{payload}.{signature}"), Denied::Algorithm),
        ("the public key as a secret", secret("es", public.as_bytes()), Denied::Algorithm),
        ("a published secret", secret("shared", b"secret"), Denied::Algorithm),
        ("kind of the key", signed("es", Algorithm::RS256, key("rsa"), &claims), Denied::UnfitKey),
        ("curve of the key", signed("es384", Algorithm::ES256, key("es"), &claims), Denied::UnfitKey),
        ("algorithm of the key", signed("rs256", Algorithm::RS512, key("rsa"), &claims), Denied::UnfitKey),
        ("a key nobody published", es_by("invented"), Denied::UnknownKey),
        ("no key", with(|header| header.kid = None), Denied::UnknownKey),
        ("a secret's name", es_by("shared"), Denied::UnknownKey),
        ("a key for encryption", es_by("encryption"), Denied::UnknownKey),
        ("a short RSA key", signed("weak", Algorithm::RS256, key("weak"), &claims), Denied::UnknownKey),
        ("a short Ed25519 key", signed("short", Algorithm::EdDSA, key("ed"), &claims), Denied::UnknownKey),
        (
            "somebody else's key",
            signed("es", Algorithm::ES256, &new_key(Algorithm::ES256), &claims),
            Denied::Signature,
        ),
        ("another payload", format!("{header}.{other_payload}.{signature}"), Denied::Signature),
        ("no signature", format!("{header}.{payload}."), Denied::Signature),
        ("another type", with(|header| header.typ = Some("dpop+jwt".into())), Denied::Type),
        ("an extension", with(|header| header.crit = Some(vec!["exp".into()])), Denied::Malformed),
        ("two parts", format!("{header}.{payload}"), Denied::Malformed),
        ("four parts", format!("{good}.{signature}"), Denied::Malformed),
        ("nothing", String::new(), Denied::Malformed),
        ("dots", "..".to_owned(), Denied::Malformed),
        ("garbage", "not a token".to_owned(), Denied::Malformed),
        ("garbage in three parts", "a.b.c".to_owned(), Denied::Malformed),
        ("bytes", "\u{0}\u{fffd}.é.x".to_owned(), Denied::Malformed),
        (
            "too long",
            issuer.token(|claims| claims["projects"] = json!("x".repeat(16_384))),
            Denied::Malformed,
        ),
    ];
    let mut wrong = Vec::new();
    for (name, token, reason) in cases {
        let outcome = verifier.verify(&token).await;
        if outcome != Err(reason) {
            wrong.push((name, outcome));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(issuer.fetches(), 1, "none of it makes us ask again at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_issuers_keys_nobody_is_believed() {
    let unavailable = async |settings: &config::Oauth, token: &str| {
        let verifier = TokenVerifier::configured(settings, Hand::new()).unwrap().unwrap();
        match verifier.verify(token).await {
            Err(Denied::KeysUnavailable(problem)) => problem,
            other => panic!("{other:?}"),
        }
    };
    let issuer = Issuer::start().await;
    let token = issuer.token(|_| {});
    let refusing = config::Oauth { jwks_url: Some(nobody().await), ..issuer.settings() };
    assert!(unavailable(&refusing, &token).await.contains("no answer"));

    let silent = Web::start(|_| Reply::Silence).await;
    let silent = config::Oauth { jwks_url: Some(silent.url.clone()), fetch_ms: 200, ..issuer.settings() };
    assert!(unavailable(&silent, &token).await.contains("no answer"));

    let here = issuer.web.url.clone();
    for (page, expected) in [
        (
            json!({ "issuer": format!("{here}/other"), "jwks_uri": format!("{here}/keys") }),
            "is not oauth.issuer",
        ),
        (json!({ "issuer": here, "jwks_uri": "http://id.example.com/keys" }), "use https"),
        (json!({ "issuer": here, "jwks_uri": "file:///etc/keys" }), "neither http nor https"),
        (json!({ "issuer": here }), "missing field `jwks_uri`"),
        (json!({ "issuer": here, "jwks_uri": format!("{here}/nowhere") }), "status 404"),
        (json!({ "issuer": here, "jwks_uri": format!("{here}{METADATA}") }), "no array `keys`"),
    ] {
        issuer.page(METADATA, page);
        let problem = unavailable(&issuer.settings(), &token).await;
        assert!(problem.contains(expected), "{problem}");
    }
    issuer.pages.lock().unwrap().clear();
    let problem = unavailable(&issuer.settings(), &token).await;
    assert!(problem.contains("status 404") && problem.contains(OPENID), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_are_found_where_issuers_put_them() {
    let issuer = Issuer::start().await;
    let keys = format!("{}/keys", issuer.web.url);
    let named = format!("{}/realms/team", issuer.web.url);
    let token = issuer.token(|claims| claims["iss"] = json!(named));
    for path in
        [format!("{METADATA}/realms/team"), format!("{OPENID}/realms/team"), format!("/realms/team{OPENID}")]
    {
        issuer.pages.lock().unwrap().retain(|path, _| path == "/keys");
        issuer.page(&path, json!({ "issuer": named, "jwks_uri": keys }));
        let verifier = TokenVerifier::configured(&settings(&named), Hand::new()).unwrap().unwrap();
        assert!(verifier.verify(&token).await.is_ok(), "{path}");
    }
    issuer.pages.lock().unwrap().retain(|path, _| path == "/keys");
    let direct = config::Oauth { jwks_url: Some(keys), ..settings(&named) };
    let verifier = TokenVerifier::configured(&direct, Hand::new()).unwrap().unwrap();
    assert!(verifier.verify(&token).await.is_ok(), "the configured address needs no metadata");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_fetched_seldom_and_kept_when_the_issuer_fails() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier();
    let (good, claims) = (issuer.token(|_| {}), issuer.claims());
    let storm = (0..20).map(|_| verifier.verify(&good));
    assert!(futures::future::join_all(storm).await.iter().all(Result::is_ok));
    assert_eq!(issuer.fetches(), 1, "concurrent callers share one fetch");

    let new = new_key(Algorithm::ES256);
    let rotated = signed("new", Algorithm::ES256, &new, &claims);
    let mut keys = issuer.pages.lock().unwrap()["/keys"].clone();
    keys["keys"].as_array_mut().unwrap().push(published("new", &new, Algorithm::ES256));
    issuer.page("/keys", keys);
    issuer.hand.advance_ms(9_999);
    for number in 0..20 {
        let invented = signed(&format!("invented-{number}"), Algorithm::ES256, &new, &claims);
        assert_eq!(verifier.verify(&invented).await, Err(Denied::UnknownKey));
    }
    assert_eq!(verifier.verify(&rotated).await, Err(Denied::UnknownKey));
    assert_eq!(issuer.fetches(), 1, "invented keys are not asked for");
    issuer.hand.advance_ms(1);
    assert!(verifier.verify(&rotated).await.is_ok(), "a new key is found after ten seconds");
    assert_eq!(issuer.fetches(), 2);
    issuer.hand.advance_ms(299_999);
    assert!(verifier.verify(&good).await.is_ok());
    assert_eq!(issuer.fetches(), 2, "known keys are believed for the configured time");

    issuer.pages.lock().unwrap().remove("/keys");
    issuer.hand.advance_ms(1);
    for _ in 0..5 {
        assert!(verifier.verify(&good).await.is_ok(), "the old keys are kept");
    }
    let invented = signed("invented", Algorithm::ES256, &new, &claims);
    assert!(matches!(verifier.verify(&invented).await, Err(Denied::KeysUnavailable(_))));
    assert_eq!(issuer.fetches(), 3, "a failure is not repeated at once");

    issuer.page("/keys", json!({ "keys": [published("new", &new, Algorithm::ES256)] }));
    issuer.hand.advance_ms(10_000);
    assert_eq!(verifier.verify(&good).await, Err(Denied::UnknownKey), "a withdrawn key is gone");
    assert!(verifier.verify(&rotated).await.is_ok());
    assert_eq!(issuer.fetches(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bearer_who_leaves_does_not_start_it_again() {
    // Nothing is ever sent: the server waits until the sending end is gone, and for no more than that long.
    let (let_it, told) = std::sync::mpsc::channel::<()>();
    let told = Mutex::new(told);
    let web = Web::start(move |_| {
        // In place: a worker that slept would take the runtime's clock with it.
        tokio::task::block_in_place(|| {
            let _ = told.lock().unwrap().recv_timeout(Duration::from_secs(60));
        });
        Reply::Json(json!({ "keys": [published("es", key("es"), Algorithm::ES256)] }))
    })
    .await;
    // On a busy machine the ten who leave may take long.
    let settings = config::Oauth { jwks_url: Some(web.url.clone()), fetch_ms: 120_000, ..settings(&web.url) };
    let verifier = TokenVerifier::configured(&settings, Hand::new()).unwrap().unwrap();
    let claims = json!({ "iss": web.url, "aud": AUDIENCE, "sub": "s", "exp": get_current_timestamp() + 600 });
    let token = signed("es", Algorithm::ES256, key("es"), &claims);
    for _ in 0..10 {
        let left = tokio::time::timeout(Duration::from_millis(1), verifier.verify(&token)).await;
        assert!(left.is_err(), "nobody answered yet");
    }
    drop(let_it);
    let principal = verifier.verify(&token).await.unwrap();
    assert_eq!(principal.projects, Projects::These(BTreeSet::new()), "no claim, no project");
    assert!(principal.scopes.is_empty());
    assert_eq!(web.asked().len(), 1);
}

#[test]
fn a_configuration_that_could_be_overheard_is_refused() {
    let outcome =
        |settings: &config::Oauth| TokenVerifier::configured(settings, Hand::new()).map(|it| it.is_some());
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
            "scopes_supported": ["search", "index", "triage", "admin"],
            "bearer_methods_supported": ["header"],
        })
    );
    assert_eq!(protected_resource_metadata(&config::Oauth { issuer: None, ..https }), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_takes_tokens_and_says_where_they_come_from() {
    use crate::harness::http;
    use crate::serving::{Served, answer, keyed};
    let issuer = Issuer::start().await;
    let oauth = issuer.settings();
    let served = Served::start(|config| {
        config.oauth = oauth;
        config.access.required = config::Required::Always;
    })
    .await;
    let call = |token: &str, tool: &str| {
        keyed(http().post(served.at(&format!("/tools/{tool}"))), Some(token)).json(&json!({ "query": "x" }))
    };
    let good = issuer.token(|_| {});
    let (status, body) = answer(call(&good, "search")).await;
    assert_eq!(
        (status.as_u16(), body["error"]["code"].as_str()),
        (409, Some("NO_INDEX")),
        "it may search: {body}"
    );
    let session = served.open("/mcp", Some(&good)).await;
    assert!(session.tools().await.contains(&"build_index".to_owned()), "its scopes count over MCP, too");
    let narrow = issuer.token(|claims| claims["scope"] = json!("openid"));
    assert_eq!(answer(call(&narrow, "search")).await.0, 403, "a token without the scope");

    let expired = issuer.token(|claims| claims["exp"] = json!(get_current_timestamp() - 600));
    let elsewhere = issuer.token(|claims| claims["aud"] = json!("https://other.example.com"));
    for (what, token) in
        [("expired", &expired), ("for another", &elsewhere), ("garbage", &"x.y.z".to_owned())]
    {
        let response = call(token, "search").send().await.unwrap();
        assert_eq!(response.status(), 401, "{what}");
        let challenge = response.headers()["www-authenticate"].to_str().unwrap().to_owned();
        let pointer =
            "resource_metadata=\"https://code.example.com/.well-known/oauth-protected-resource/mcp\"";
        assert!(
            challenge.contains("error=\"invalid_token\"") && challenge.contains(pointer),
            "{what}: {challenge}"
        );
    }
    let none = http().post(served.at("/mcp")).json(&json!({})).send().await.unwrap();
    assert_eq!(none.status(), 401);
    assert!(none.headers()["www-authenticate"].to_str().unwrap().contains("resource_metadata="));
    for place in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let (status, metadata) = answer(http().get(served.at(place))).await;
        assert_eq!(status, 200, "without a token");
        assert_eq!(metadata["resource"], AUDIENCE);
        assert_eq!(metadata["authorization_servers"], json!([issuer.web.url]));
    }
    served.stop().await;

    let plain = Served::start(|_| {}).await;
    let (status, body) = answer(http().get(plain.at("/.well-known/oauth-protected-resource"))).await;
    assert_eq!((status.as_u16(), body["error"]["code"].as_str()), (404, Some("NOT_FOUND")));
    plain.stop().await;

    let gone = nobody().await;
    let cut_off = Served::start(|config| {
        config.oauth = settings(&gone);
        config.access.required = config::Required::Always;
    })
    .await;
    let request = keyed(http().get(cut_off.at("/tools")), Some(&good));
    assert_eq!(answer(request).await.0, 503, "a token that nobody can check is not the bearer's fault");
    cut_off.stop().await;
}
