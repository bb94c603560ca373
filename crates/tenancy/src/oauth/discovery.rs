//! Finds the address of the issuer's keys: from the settings, or from the issuer's metadata (RFC 8414, OpenID Connect
//! Discovery).

use serde::Deserialize;

use platform::outbound::{HttpClient, HttpError, Url, https_or_loopback_url};

const METADATA_BYTES_MAX: usize = 262_144;

/// The source of the address of the keys.
pub(super) enum KeysUrlSource {
    /// The settings contain the address.
    Configured(Url),
    /// The metadata of the issuer contains it.
    Metadata(IssuerMetadata),
}

impl KeysUrlSource {
    /// Checks the configured addresses; sends no request.
    pub(super) fn new(issuer: &str, keys_url: Option<&str>) -> Result<Self, HttpError> {
        let metadata = IssuerMetadata::new(issuer)?;
        Ok(match keys_url {
            Some(keys_url) => Self::Configured(https_or_loopback_url(keys_url)?),
            None => Self::Metadata(metadata),
        })
    }

    /// The address of the keys.
    ///
    /// # Errors
    /// As [`IssuerMetadata::read`].
    pub(super) async fn keys_url(&self, outbound: &HttpClient) -> Result<Url, HttpError> {
        match self {
            Self::Configured(url) => Ok(url.clone()),
            Self::Metadata(issuer) => issuer.read(outbound, keys_url).await,
        }
    }
}

fn keys_url(metadata: &Metadata) -> Result<Url, HttpError> {
    https_or_loopback_url(&metadata.jwks_uri)
}

/// The addresses at which an issuer publishes its metadata.
pub(super) struct IssuerMetadata {
    issuer: String,
    addresses: Vec<Url>,
}

/// The fields of the metadata that are read.
#[derive(Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    jwks_uri: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    /// `true` if each answer of the issuer to a browser names the issuer (RFC 9207).
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl IssuerMetadata {
    /// Checks the address; sends no request.
    pub(super) fn new(issuer: &str) -> Result<Self, HttpError> {
        let addresses = metadata_addresses(&https_or_loopback_url(issuer)?);
        Ok(Self { issuer: issuer.to_owned(), addresses })
    }

    /// Reads the metadata and returns the value that `pick` takes from it.
    ///
    /// # Errors
    /// The problem with each place of metadata, if `pick` accepts none.
    pub(super) async fn read<T>(
        &self,
        outbound: &HttpClient,
        pick: impl Fn(&Metadata) -> Result<T, HttpError>,
    ) -> Result<T, HttpError> {
        let mut problems = Vec::new();
        for address in &self.addresses {
            match self.read_at(outbound, address).await.and_then(|metadata| pick(&metadata)) {
                Ok(picked) => return Ok(picked),
                Err(problem) => problems.push(format!("{}: {problem}", address.path())),
            }
        }
        Err(HttpError::Malformed(format!("no metadata of the issuer ({})", problems.join("; "))))
    }

    async fn read_at(&self, outbound: &HttpClient, address: &Url) -> Result<Metadata, HttpError> {
        let answer = outbound.get_json(address, METADATA_BYTES_MAX).await?;
        let metadata: Metadata =
            serde_json::from_value(answer).map_err(|error| HttpError::Malformed(error.to_string()))?;
        // Metadata of another issuer would lead to the keys of that issuer (RFC 8414 §3.3).
        if metadata.issuer != self.issuer {
            return Err(HttpError::Malformed("its `issuer` is not oauth.issuer".to_owned()));
        }
        Ok(metadata)
    }
}

/// The possible addresses of metadata, in the order that MCP requires: the issuer's path is appended to the well-known
/// path, or, by an older rule of OpenID Connect, precedes it.
fn metadata_addresses(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
        format!("{path}/.well-known/openid-configuration"),
    ];
    paths.dedup();
    let with_path = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url
    };
    paths.into_iter().map(with_path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_addresses_contain_the_path_of_the_issuer() {
        let addresses = |issuer: &str| -> Vec<String> {
            metadata_addresses(&Url::parse(issuer).unwrap()).iter().map(Url::to_string).collect()
        };
        for issuer in ["https://id.example.com", "https://id.example.com/"] {
            assert_eq!(
                addresses(issuer),
                [
                    "https://id.example.com/.well-known/oauth-authorization-server",
                    "https://id.example.com/.well-known/openid-configuration",
                ]
            );
        }
        assert_eq!(
            addresses("https://id.example.com:8443/realms/team"),
            [
                "https://id.example.com:8443/.well-known/oauth-authorization-server/realms/team",
                "https://id.example.com:8443/.well-known/openid-configuration/realms/team",
                "https://id.example.com:8443/realms/team/.well-known/openid-configuration",
            ]
        );
    }
}
