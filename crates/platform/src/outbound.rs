//! Outbound HTTP, only to addresses that the operator configured.
//!
//! All requests have the same limits: total time, response size, no redirects, no proxy from the environment. [`download()`]
//! fetches files and follows redirects only to trusted addresses. A [`FileClient`] does so with the proxy, certificates and
//! credentials that the user of a package index configured.

mod answer;
mod download;
mod faults;
mod file_client;
mod link_client;
mod tls;

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use opentelemetry_http::Bytes;
use reqwest::redirect::Policy;
use serde_json::Value;

use contract::TOOLING_VERSION;
use tls::{TlsSettings, tls};

pub use answer::Answer;
pub use download::{DownloadOutcome, DownloadRequest, ExpectedFile, download, first_line};
pub use faults::{display_url, is_transient};
pub use file_client::{Connection, Credentials, FileClient, Page, PageRequest, Proxies, TrustedHost};
pub use link_client::{LinkAnswer, LinkClient};
pub use reqwest::Url;

/// A client for JSON over HTTP. Cheap to clone.
#[derive(Debug, Clone)]
pub struct HttpClient {
    client: reqwest::Client,
}

/// The reason why a request failed.
#[derive(Debug)]
pub enum HttpError {
    /// The URL is malformed or its scheme is not allowed.
    InvalidUrl(String),
    /// A file of certificates or keys cannot be used.
    Certificate(String),
    /// No program listens at the address.
    Refused,
    /// The connection failed in another way or timed out.
    Unreachable(String),
    /// The status is not 200; redirects are not followed.
    Status(u16),
    /// The response exceeds this limit in bytes.
    TooLarge(usize),
    /// The response is not the expected JSON.
    Malformed(String),
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUrl(reason) => write!(f, "the URL is invalid: {reason}"),
            Self::Certificate(reason) => write!(f, "the certificate file {reason}"),
            Self::Refused => f.write_str("no answer: the connection was refused"),
            Self::Unreachable(reason) => write!(f, "no answer: {reason}"),
            Self::Status(status) => write!(f, "the response has status {status}"),
            Self::TooLarge(bytes_max) => write!(f, "the response is longer than {bytes_max} bytes"),
            Self::Malformed(reason) => write!(f, "the response is malformed: {reason}"),
        }
    }
}

impl std::error::Error for HttpError {}

impl From<reqwest::Error> for HttpError {
    /// Joins the messages of all sources, because the outermost one is unspecific. Omits the URL, which may contain a password.
    fn from(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            let kind = inner.downcast_ref::<io::Error>().map(io::Error::kind);
            if kind == Some(io::ErrorKind::ConnectionRefused) {
                return Self::Refused;
            }
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        Self::Unreachable(text)
    }
}

impl HttpClient {
    /// Creates a client whose requests take at most `timeout`, from name resolution to the last byte.
    ///
    /// # Errors
    /// If TLS cannot be set up.
    pub fn new(timeout: Duration) -> Result<Self, HttpError> {
        // Requests are minutes apart, so an idle connection would be closed before the next one.
        Self::with_idle_connections(timeout, 0)
    }

    /// Like [`HttpClient::new`], but successive requests share a connection.
    ///
    /// # Errors
    /// See [`HttpClient::new`].
    pub fn with_keep_alive(timeout: Duration) -> Result<Self, HttpError> {
        Self::with_idle_connections(timeout, 1)
    }

    fn with_idle_connections(timeout: Duration, idle_max: usize) -> Result<Self, HttpError> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(TlsSettings::default())?)
            .timeout(timeout)
            .connect_timeout(timeout)
            .redirect(Policy::none())
            .no_proxy()
            .pool_max_idle_per_host(idle_max)
            .user_agent(user_agent())
            .build()?;
        Ok(Self { client })
    }

    /// Sends a GET request and returns the JSON of the response, at most `bytes_max` bytes.
    ///
    /// # Errors
    /// [`HttpError`], unless the response is a whole JSON document with status 200.
    pub async fn get_json(&self, url: &Url, bytes_max: usize) -> Result<Value, HttpError> {
        let request = self.client.get(url.clone()).header("accept", "application/json");
        read_json(request.send().await?, bytes_max).await
    }

    /// Sends a POST request with `body` and returns the JSON of the response, at most `bytes_max` bytes.
    ///
    /// # Errors
    /// See [`HttpClient::get_json`].
    pub async fn post_json(&self, url: &Url, body: &Value, bytes_max: usize) -> Result<Value, HttpError> {
        read_json(self.client.post(url.clone()).json(body).send().await?, bytes_max).await
    }

    /// Sends a request and returns the response, whatever its status. A body of more than 64 KiB is left out.
    ///
    /// # Errors
    /// [`HttpError`] if there is no whole response.
    pub(crate) async fn send(
        &self,
        request: opentelemetry_http::Request<Bytes>,
    ) -> Result<opentelemetry_http::Response<Bytes>, HttpError> {
        const BODY_BYTES_MAX: usize = 64 << 10;
        let (parts, body) = request.into_parts();
        // Not converted as a whole: the client makes a header of the user and password in a URL only here.
        let url = http_url(&parts.uri.to_string())?;
        let response =
            self.client.request(parts.method, url).headers(parts.headers).body(body).send().await?;
        let mut answer = opentelemetry_http::Response::new(Bytes::new());
        *answer.status_mut() = response.status();
        *answer.headers_mut() = response.headers().clone();
        *answer.body_mut() = match read_body(response, BODY_BYTES_MAX).await {
            Err(HttpError::TooLarge(_)) => Bytes::new(),
            body => body?.into(),
        };
        Ok(answer)
    }

    /// Sends a form by POST and returns the JSON of the response, at most `bytes_max` bytes; with `user`, as that user and password.
    ///
    /// # Errors
    /// See [`HttpClient::get_json`].
    pub async fn post_form(
        &self,
        url: &Url,
        user: Option<(&str, &str)>,
        fields: &[(&str, &str)],
        bytes_max: usize,
    ) -> Result<Value, HttpError> {
        let mut form = url.clone();
        form.query_pairs_mut().clear().extend_pairs(fields);
        let request = self.client.post(url.clone()).header("accept", "application/json");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(form.query().unwrap_or_default().to_owned());
        let request = match user {
            Some((name, password)) => request.basic_auth(name, Some(password)),
            None => request,
        };
        read_json(request.send().await?, bytes_max).await
    }
}

async fn read_json(response: reqwest::Response, bytes_max: usize) -> Result<Value, HttpError> {
    if response.status() != reqwest::StatusCode::OK {
        return Err(HttpError::Status(response.status().as_u16()));
    }
    let body = read_body(response, bytes_max).await?;
    serde_json::from_slice(&body).map_err(|error| HttpError::Malformed(error.to_string()))
}

async fn read_body(mut response: reqwest::Response, bytes_max: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > bytes_max {
            return Err(HttpError::TooLarge(bytes_max));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Parses an `http` or `https` URL.
///
/// # Errors
/// [`HttpError::InvalidUrl`] with the reason.
pub fn http_url(text: &str) -> Result<Url, HttpError> {
    let url = Url::parse(text).map_err(|error| HttpError::InvalidUrl(error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(HttpError::InvalidUrl(format!("`{other}` is neither http nor https"))),
    }
}

/// Parses a URL whose traffic others can neither read nor change: HTTPS, or HTTP to a loopback host.
///
/// # Errors
/// See [`http_url`]; also for HTTP to another host.
pub fn https_or_loopback_url(text: &str) -> Result<Url, HttpError> {
    let url = http_url(text)?;
    if url.scheme() == "https" || is_loopback(&url) {
        Ok(url)
    } else {
        Err(HttpError::InvalidUrl("http is allowed only to this machine; use https".to_owned()))
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn user_agent() -> String {
    format!("pairofcleats/{TOOLING_VERSION}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_and_https_and_http_only_to_loopback() {
        for bad in ["", "host:80/x", "ftp://host", "file:///etc/passwd", "/relative"] {
            assert!(http_url(bad).is_err(), "{bad}");
        }
        for good in ["https://host/x", "http://localhost:1", "http://127.0.0.9/x", "http://[::1]:8/"] {
            assert!(https_or_loopback_url(good).is_ok(), "{good}");
        }
        for bad in ["http://host", "http://10.0.0.1", "http://localhost.host", "http://127.0.0.1.host"] {
            assert!(http_url(bad).is_ok(), "{bad}");
            assert!(https_or_loopback_url(bad).is_err(), "{bad}");
        }
    }
}
