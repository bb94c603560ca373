//! Where the issuer's keys are: configured, or told by the issuer's own metadata (RFC 8414, OpenID Connect
//! Discovery).

use serde::Deserialize;

use platform::outbound::{Outbound, Problem, Url, private_url};

const METADATA_BYTES_MAX: usize = 262_144;

/// Where the address of the keys comes from.
pub(super) enum Source {
    /// The operator named it.
    Configured(Url),
    /// One of these addresses tells it.
    Metadata { issuer: String, addresses: Vec<Url> },
}

/// What we read of the metadata.
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

impl Source {
    /// Checks the configured addresses; asks nobody.
    pub(super) fn new(issuer: &str, keys_url: Option<&str>) -> Result<Self, Problem> {
        let url = private_url(issuer)?;
        Ok(match keys_url {
            Some(keys_url) => Self::Configured(private_url(keys_url)?),
            None => Self::Metadata { issuer: issuer.to_owned(), addresses: addresses(&url) },
        })
    }

    /// Where the keys are.
    ///
    /// # Errors
    /// What each of the addresses answered, if none told it.
    pub(super) async fn keys_url(&self, outbound: &Outbound) -> Result<Url, Problem> {
        let (issuer, addresses) = match self {
            Self::Configured(url) => return Ok(url.clone()),
            Self::Metadata { issuer, addresses } => (issuer, addresses),
        };
        let mut problems = Vec::new();
        for address in addresses {
            match told_by(outbound, issuer, address).await {
                Ok(url) => return Ok(url),
                Err(problem) => problems.push(format!("{}: {problem}", address.path())),
            }
        }
        Err(Problem::Malformed(format!("no metadata of the issuer ({})", problems.join("; "))))
    }
}

async fn told_by(outbound: &Outbound, issuer: &str, address: &Url) -> Result<Url, Problem> {
    let answer = outbound.get_json(address, METADATA_BYTES_MAX).await?;
    let metadata: Metadata =
        serde_json::from_value(answer).map_err(|error| Problem::Malformed(error.to_string()))?;
    // Metadata of somebody else would bring somebody else's keys (RFC 8414 §3.3).
    if metadata.issuer != issuer {
        return Err(Problem::Malformed("its `issuer` is not oauth.issuer".to_owned()));
    }
    private_url(&metadata.jwks_uri)
}

/// Where metadata may be, in the order MCP names: the issuer's path goes behind the well-known one, but for
/// OpenID Connect's older rule, which has it before.
fn addresses(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
        format!("{path}/.well-known/openid-configuration"),
    ];
    paths.dedup();
    let at = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url
    };
    paths.into_iter().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_issuer_is_inserted() {
        let of = |issuer: &str| -> Vec<String> {
            addresses(&Url::parse(issuer).unwrap()).iter().map(Url::to_string).collect()
        };
        for issuer in ["https://id.example.com", "https://id.example.com/"] {
            assert_eq!(
                of(issuer),
                [
                    "https://id.example.com/.well-known/oauth-authorization-server",
                    "https://id.example.com/.well-known/openid-configuration",
                ]
            );
        }
        assert_eq!(
            of("https://id.example.com:8443/realms/team"),
            [
                "https://id.example.com:8443/.well-known/oauth-authorization-server/realms/team",
                "https://id.example.com:8443/.well-known/openid-configuration/realms/team",
                "https://id.example.com:8443/realms/team/.well-known/openid-configuration",
            ]
        );
    }
}
