//! The few calls that leave this process: HTTP to where the operator's own configuration points.
//!
//! One way out, so that each of them is bounded alike: time over all, size of the answer, no redirect to where
//! nobody configured, no proxy out of the environment. Files come through [`download()`].

mod download;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use rustls_platform_verifier::BuilderVerifierExt;
use serde_json::Value;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use contract::TOOLING_VERSION;

pub use download::{Download, Fetched, download};
pub use reqwest::Url;

/// A client for one purpose of the configuration. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Outbound {
    client: reqwest::Client,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Problem {
    /// The address is none that may be called.
    Address(String),
    /// Nobody answered, or not within the time.
    Unreachable(String),
    /// Another status than 200; redirects are not followed.
    Status(u16),
    /// The answer is longer than this many bytes.
    TooLarge(usize),
    /// The answer is not what was asked for.
    Malformed(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(what) => write!(f, "the address cannot be used: {what}"),
            Self::Unreachable(what) => write!(f, "no answer: {what}"),
            Self::Status(status) => write!(f, "the answer has status {status}"),
            Self::TooLarge(limit) => write!(f, "the answer is longer than {limit} bytes"),
            Self::Malformed(what) => write!(f, "the answer is malformed: {what}"),
        }
    }
}

impl std::error::Error for Problem {}

impl From<reqwest::Error> for Problem {
    /// The whole chain, because the outermost text alone never says what happened; without the address, which
    /// may hold a password.
    fn from(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        Self::Unreachable(text)
    }
}

impl Outbound {
    /// A client whose calls take at most `budget`, from the look-up of the name to the last byte.
    ///
    /// # Errors
    /// When TLS cannot be set up at all.
    pub fn new(budget: Duration) -> Result<Self, Problem> {
        // Calls are minutes apart; a connection kept for the next one would be a dead one.
        Self::keeping(budget, 0)
    }

    /// The same for calls in a row, which share a connection.
    ///
    /// # Errors
    /// As [`Outbound::new`].
    pub fn for_many_calls(budget: Duration) -> Result<Self, Problem> {
        Self::keeping(budget, 1)
    }

    fn keeping(budget: Duration, connections: usize) -> Result<Self, Problem> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls().map_err(|error| Problem::Unreachable(error.to_string()))?)
            .timeout(budget)
            .connect_timeout(budget)
            .redirect(Policy::none())
            .no_proxy()
            .pool_max_idle_per_host(connections)
            .user_agent(format!("pairofcleats/{TOOLING_VERSION}"))
            .build()?;
        Ok(Self { client })
    }

    /// What `url` answers, at most `bytes_max` of JSON.
    ///
    /// # Errors
    /// Anything but a whole JSON document with status 200 is a [`Problem`].
    pub async fn get_json(&self, url: &Url, bytes_max: usize) -> Result<Value, Problem> {
        json_of(self.client.get(url.clone()).header("accept", "application/json").send().await?, bytes_max)
            .await
    }

    /// What `url` answers to `body`, at most `bytes_max` of JSON.
    ///
    /// # Errors
    /// As [`Outbound::get_json`].
    pub async fn post_json(&self, url: &Url, body: &Value, bytes_max: usize) -> Result<Value, Problem> {
        json_of(self.client.post(url.clone()).json(body).send().await?, bytes_max).await
    }
}

async fn json_of(mut answer: reqwest::Response, bytes_max: usize) -> Result<Value, Problem> {
    if answer.status() != reqwest::StatusCode::OK {
        return Err(Problem::Status(answer.status().as_u16()));
    }
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await? {
        if body.len() + part.len() > bytes_max {
            return Err(Problem::TooLarge(bytes_max));
        }
        body.extend_from_slice(&part);
    }
    serde_json::from_slice(&body).map_err(|error| Problem::Malformed(error.to_string()))
}

/// An address over HTTP or HTTPS.
///
/// # Errors
/// [`Problem::Address`] says what is wrong with it.
pub fn http_url(text: &str) -> Result<Url, Problem> {
    let url = Url::parse(text).map_err(|error| Problem::Address(error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(Problem::Address(format!("`{other}` is neither http nor https"))),
    }
}

/// The same where nobody between may read or change what is said: HTTPS, or a host that is this machine.
///
/// # Errors
/// As [`http_url`], and for plain HTTP to another machine.
pub fn private_url(text: &str) -> Result<Url, Problem> {
    let url = http_url(text)?;
    if url.scheme() == "https" || is_loopback(&url) {
        Ok(url)
    } else {
        Err(Problem::Address("plain http is only for this machine; use https".to_owned()))
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// TLS by our own library and the platform's certificate authorities, chosen here and not process-wide.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    match builder.clone().with_platform_verifier() {
        Ok(builder) => Ok(builder.with_no_client_auth()),
        // A bare container may have no authorities; plain HTTP beside it still works.
        Err(error) => {
            tracing::warn!("no https address can be verified: {error}");
            Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_and_only_this_machine_without_tls() {
        for bad in ["", "host:80/x", "ftp://host", "file:///etc/passwd", "/relative"] {
            assert!(http_url(bad).is_err(), "{bad}");
        }
        for good in ["https://host/x", "http://localhost:1", "http://127.0.0.9/x", "http://[::1]:8/"] {
            assert!(private_url(good).is_ok(), "{good}");
        }
        for bad in ["http://host", "http://10.0.0.1", "http://localhost.host", "http://127.0.0.1.host"] {
            assert!(http_url(bad).is_ok(), "{bad}");
            assert!(private_url(bad).is_err(), "{bad}");
        }
    }
}
