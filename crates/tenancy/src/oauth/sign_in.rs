//! Signs people with a browser in at the issuer: authorization code with PKCE (RFC 6749, RFC 7636, OpenID Connect). The result is an access
//! token for this server, which is verified like that of any other client.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::discovery::{IssuerMetadata, Metadata};
use contract::config;
use contract::{ErrorCode, Fault};
use platform::outbound::{HttpClient, HttpError, Url, https_or_loopback_url};
use platform::sha256::digest;

/// Maximum size of the issuer's answer to a code, in bytes.
const ANSWER_BYTES_MAX: usize = 65_536;

/// This server as a client of the issuer.
pub struct SignInClient {
    issuer: String,
    metadata: IssuerMetadata,
    /// Read once, so that browsers cannot make this server ask the issuer again and again.
    endpoints: OnceCell<Endpoints>,
    audience: String,
    client_id: String,
    client_secret: Option<String>,
    scopes: String,
    outbound: HttpClient,
}

/// The issuer's metadata that signing in needs.
struct Endpoints {
    authorization: Url,
    token: Url,
    /// `true` if its answers name it.
    sends_iss: bool,
}

/// One attempt of a browser.
#[derive(Debug, Clone)]
pub struct SignInAttempt {
    /// Returned by the issuer with the code, unguessable.
    pub state: String,
    /// Proves to the issuer that the code was asked for here; unguessable, 43 to 128 letters and digits.
    pub verifier: String,
    /// The address to which the issuer sends the browser back.
    pub redirect_url: String,
}

/// The field of the issuer's answer that is read.
#[derive(Deserialize)]
struct Tokens {
    access_token: String,
}

impl SignInClient {
    /// Creates a client; `None` if no client id is configured. Sends no request.
    ///
    /// # Errors
    /// `INVALID_INPUT` if the section `[oauth]` is incomplete or has an address that cannot be used.
    pub fn from_settings(settings: &config::Oauth) -> Result<Option<Self>, Fault> {
        let Some(client_id) = settings.client_id.clone() else { return Ok(None) };
        let (Some(issuer), Some(audience)) = (&settings.issuer, &settings.audience) else {
            let message = "oauth.client_id is set without oauth.issuer and oauth.audience.";
            return Err(Fault::new(ErrorCode::InvalidInput, message)
                .with_hint("Set all three, or leave out oauth.client_id."));
        };
        let unusable = |problem: HttpError| {
            Fault::new(ErrorCode::InvalidInput, format!("The section [oauth] cannot be used: {problem}."))
                .with_hint("Correct oauth.issuer; it needs https unless it is on this machine.")
        };
        Ok(Some(Self {
            issuer: issuer.clone(),
            metadata: IssuerMetadata::new(issuer).map_err(unusable)?,
            endpoints: OnceCell::new(),
            audience: audience.clone(),
            client_id,
            client_secret: settings.client_secret.clone(),
            scopes: settings.sign_in_scopes.clone(),
            outbound: HttpClient::new(Duration::from_millis(settings.fetch_ms)).map_err(unusable)?,
        }))
    }

    /// The page of the issuer that begins `attempt`.
    ///
    /// # Errors
    /// The issuer's metadata cannot be read.
    pub async fn authorization_url(&self, attempt: &SignInAttempt) -> Result<Url, HttpError> {
        let mut url = self.endpoints().await?.authorization.clone();
        let challenge = URL_SAFE_NO_PAD.encode(digest(attempt.verifier.as_bytes()));
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", &attempt.redirect_url)
            .append_pair("scope", &self.scopes)
            .append_pair("state", &attempt.state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            // The server that the token is for (RFC 8707).
            .append_pair("resource", &self.audience);
        Ok(url)
    }

    /// Checks whether an answer with this `iss` comes from the issuer (RFC 9207). One without it is accepted, unless the issuer announces
    /// that it sends it.
    ///
    /// # Errors
    /// The issuer's metadata cannot be read.
    pub async fn is_of_issuer(&self, iss: Option<&str>) -> Result<bool, HttpError> {
        match iss {
            Some(iss) => Ok(iss == self.issuer),
            None => Ok(!self.endpoints().await?.sends_iss),
        }
    }

    /// The access token for a code.
    ///
    /// # Errors
    /// The issuer cannot be reached or does not accept the code.
    pub async fn access_token(&self, code: &str, attempt: &SignInAttempt) -> Result<String, HttpError> {
        let url = &self.endpoints().await?.token;
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &attempt.redirect_url),
            ("code_verifier", &attempt.verifier),
            ("resource", &self.audience),
        ];
        let user = self.client_secret.as_deref().map(|secret| (self.client_id.as_str(), secret));
        if user.is_none() {
            fields.push(("client_id", &self.client_id));
        }
        let answer = self.outbound.post_form(url, user, &fields, ANSWER_BYTES_MAX).await?;
        let tokens: Tokens = serde_json::from_value(answer)
            .map_err(|_| HttpError::Malformed("it has no access token".to_owned()))?;
        Ok(tokens.access_token)
    }

    async fn endpoints(&self) -> Result<&Endpoints, HttpError> {
        self.endpoints.get_or_try_init(|| self.metadata.read(&self.outbound, endpoints)).await
    }
}

fn endpoints(metadata: &Metadata) -> Result<Endpoints, HttpError> {
    let missing = || HttpError::Malformed("it lacks an address that signing in needs".to_owned());
    let address = |address: &Option<String>| https_or_loopback_url(address.as_ref().ok_or_else(missing)?);
    Ok(Endpoints {
        authorization: address(&metadata.authorization_endpoint)?,
        token: address(&metadata.token_endpoint)?,
        sends_iss: metadata.authorization_response_iss_parameter_supported,
    })
}
