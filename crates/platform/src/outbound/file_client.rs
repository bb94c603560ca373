//! A client that fetches files and pages: it follows redirects within bounds, and sends each host its own credentials only.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::{self, HeaderMap};
use reqwest::redirect::Policy;
use reqwest::{Client, NoProxy, Proxy, Response, StatusCode};

use super::faults::{
    failed_connection, interrupted, not_downloaded, timed_out, too_large, unexpected_status,
};
use super::tls::{TlsSettings, tls};
use super::{HttpError, Url, is_loopback, user_agent};
use contract::Fault;

/// The settings of a connection, as the user of a package index configures it.
#[derive(Debug, Clone)]
pub struct Connection {
    /// A PEM file of certificate authorities, in addition to the platform's.
    pub ca_file: Option<PathBuf>,
    /// A PEM file with the client's certificate and private key.
    pub client_cert_file: Option<PathBuf>,
    /// The proxies.
    pub proxies: Proxies,
    /// Hosts whose certificates are not verified.
    pub trusted_hosts: Vec<TrustedHost>,
    /// Credentials; the first ones that fit a request are sent.
    pub credentials: Vec<Credentials>,
    /// Longest time without a byte, and longest time to connect.
    pub idle_timeout: Duration,
}

/// The proxies of a client; without any, it connects directly.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For http URLs: a URL, or `host:port` with optional `user:password@`.
    pub http: Option<String>,
    /// For https URLs, likewise.
    pub https: Option<String>,
    /// Hosts that are reached without a proxy, separated by commas.
    pub excepted_hosts: Option<String>,
}

impl fmt::Debug for Proxies {
    /// Omits the addresses, which may contain passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies").field("excepted_hosts", &self.excepted_hosts).finish_non_exhaustive()
    }
}

/// A host that is trusted without a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedHost {
    /// Its name or address, in lower case.
    pub host: String,
    /// Its port; `None`: any.
    pub port: Option<u16>,
}

impl TrustedHost {
    /// Checks whether `url` is on this host.
    #[must_use]
    pub fn has(&self, url: &Url) -> bool {
        url.host_str().is_some_and(|host| host == self.host)
            && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

/// User and password for a host.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Name or address of the host.
    pub host: String,
    /// Scheme and port that the credentials are limited to; `None`: any.
    pub scheme_and_port: Option<(String, Option<u16>)>,
    /// The user.
    pub user: String,
    /// The password, if there is one.
    pub password: Option<String>,
}

impl Credentials {
    fn fit(&self, url: &Url) -> bool {
        let is_limited_to = |(scheme, port): &(String, Option<u16>)| {
            url.scheme() == scheme && url.port_or_known_default() == *port
        };
        url.host_str().is_some_and(|host| host == self.host)
            && self.scheme_and_port.as_ref().is_none_or(is_limited_to)
    }
}

impl fmt::Debug for Credentials {
    /// Omits user and password; either may be a token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("host", &self.host).finish_non_exhaustive()
    }
}

/// Fetches files and pages. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FileClient {
    verifying: Client,
    /// The client for [`Connection::trusted_hosts`].
    trusting: Option<Client>,
    trusted_hosts: Vec<TrustedHost>,
    credentials: Vec<Credentials>,
    pub(super) idle_timeout: Duration,
}

impl FileClient {
    /// Creates a client for addresses that the operator configured: no proxy and no credentials but those of the URL.
    ///
    /// # Errors
    /// If TLS cannot be set up.
    pub(super) fn direct(idle_timeout: Duration) -> Result<Self, HttpError> {
        let verifying = client(TlsSettings::default(), idle_timeout, &[])?;
        Ok(Self {
            verifying,
            trusting: None,
            trusted_hosts: Vec::new(),
            credentials: Vec::new(),
            idle_timeout,
        })
    }

    /// Creates a client that connects as the user configured it.
    ///
    /// # Errors
    /// If a certificate file or the proxy's URL is wrong, or TLS cannot be set up.
    pub fn new(connection: &Connection) -> Result<Self, HttpError> {
        let proxies = proxies(&connection.proxies)?;
        let settings = TlsSettings {
            ca_file: connection.ca_file.as_deref(),
            client_cert_file: connection.client_cert_file.as_deref(),
            accept_any_certificate: false,
        };
        let build = |settings| client(settings, connection.idle_timeout, &proxies);
        let trusting = TlsSettings { accept_any_certificate: true, ..settings };
        Ok(Self {
            verifying: build(settings)?,
            trusting: if connection.trusted_hosts.is_empty() { None } else { Some(build(trusting)?) },
            trusted_hosts: connection.trusted_hosts.clone(),
            credentials: connection.credentials.clone(),
            idle_timeout: connection.idle_timeout,
        })
    }

    /// Checks whether a link from one address to another is followed: to https, or from http to the same host or a trusted one.
    #[must_use]
    pub fn may_lead_to(&self, from: &Url, to: &Url) -> bool {
        let is_trusted = to.scheme() == "http" && self.trusted_hosts.iter().any(|host| host.has(to));
        may_follow(from, to, from) || is_trusted
    }

    /// Sends a GET request and follows at most `redirects_max` allowed redirects. Returns the response and its URL.
    pub(super) async fn get(
        &self,
        requested: &Url,
        headers: &HeaderMap,
        redirects_max: usize,
        timeout_ms: u64,
    ) -> Result<(Response, Url), Fault> {
        let mut url = requested.clone();
        for _ in 0..=redirects_max {
            let is_trusted = self.trusted_hosts.iter().any(|host| host.has(&url));
            let client = self.trusting.as_ref().filter(|_| is_trusted).unwrap_or(&self.verifying);
            let mut request = client.get(url.clone()).headers(headers.clone());
            let own = self.credentials.iter().find(|credentials| credentials.fit(&url));
            // Credentials in the URL itself take precedence; reqwest sends them.
            if let Some(Credentials { user, password, .. }) = own.filter(|_| url.username().is_empty()) {
                request = request.basic_auth(user, password.as_ref());
            }
            let sent = request.send().await;
            let response = sent.map_err(|error| self.failed(&url, error, timeout_ms))?;
            if !is_redirect(response.status()) {
                return Ok((response, url));
            }
            let next = response.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
            let next = next.and_then(|location| url.join(location).ok());
            url = next.filter(|next| may_follow(&url, next, requested)).ok_or_else(|| {
                not_downloaded(&url, "it redirects to an address that is not allowed")
                    .with_hint("If you trust that address, use it instead.")
            })?;
        }
        Err(not_downloaded(requested, &format!("it redirects more than {redirects_max} times")))
    }

    /// Returns the fault for a request or a body that failed. `timeout_ms` is the limit for the whole download.
    pub(super) fn failed(&self, url: &Url, error: reqwest::Error, timeout_ms: u64) -> Fault {
        if !error.is_timeout() {
            return failed_connection(url, error.into());
        }
        match self.idle_timeout.as_millis() {
            idle if idle >= u128::from(timeout_ms) => timed_out(url, timeout_ms),
            idle => interrupted(url, &format!("the server sent nothing for {idle} ms")),
        }
    }

    /// Fetches a page of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if the server cannot be reached or sends an error status, `ARCHIVE_TOO_LARGE`, `TOOL_TIMEOUT`.
    pub async fn page(&self, request: &PageRequest<'_>) -> Result<Page, Fault> {
        let timeout = Duration::from_millis(request.timeout_ms);
        match tokio::time::timeout(timeout, self.fetch_page(request)).await {
            Ok(page) => page,
            Err(_) => Err(timed_out(request.url, request.timeout_ms)),
        }
    }

    async fn fetch_page(&self, request: &PageRequest<'_>) -> Result<Page, Fault> {
        let PageRequest { url, bytes_max, redirects_max, timeout_ms, .. } = *request;
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, header::HeaderValue::from_static(request.accept));
        let (mut response, found) = self.get(url, &headers, redirects_max, timeout_ms).await?;
        if response.status() != StatusCode::OK {
            return Err(unexpected_status(url, response.status()));
        }
        let media_type = media_type(&response);
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(url, error, timeout_ms))? {
            if body.len() + chunk.len() > bytes_max {
                return Err(too_large(url, bytes_max as u64));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Page { url: found, media_type, body })
    }
}

/// A page to fetch, and its limits.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<'a> {
    /// Its address.
    pub url: &'a Url,
    /// The accepted media types, as the header `Accept` has them.
    pub accept: &'static str,
    /// Maximum size of the page.
    pub bytes_max: usize,
    /// Maximum number of redirects.
    pub redirects_max: usize,
    /// Maximum total time, redirects included.
    pub timeout_ms: u64,
}

/// A fetched page.
#[derive(Debug, Clone)]
pub struct Page {
    /// Its address after redirects, which relative links refer to.
    pub url: Url,
    /// Its media type without parameters, in lower case; empty if the server names none.
    pub media_type: String,
    /// Its content.
    pub body: Vec<u8>,
}

/// Returns the media type of a response without parameters, in lower case; empty if the server names none.
pub(super) fn media_type(response: &Response) -> String {
    let value = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.and_then(|value| value.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase()
}

/// Builds a client that follows no redirects by itself, and takes no proxy from the environment of the process.
fn client(settings: TlsSettings<'_>, idle_timeout: Duration, proxies: &[Proxy]) -> Result<Client, HttpError> {
    let builder = Client::builder()
        .tls_backend_preconfigured(tls(settings)?)
        .connect_timeout(idle_timeout)
        .read_timeout(idle_timeout)
        .redirect(Policy::none())
        .referer(false)
        .no_proxy()
        .user_agent(user_agent());
    Ok(proxies.iter().fold(builder, |builder, proxy| builder.proxy(proxy.clone())).build()?)
}

fn proxies(settings: &Proxies) -> Result<Vec<Proxy>, HttpError> {
    // The errors would repeat the text, which may contain a password.
    let malformed = || HttpError::InvalidUrl("the proxy's address is malformed".to_owned());
    let url = |text: &String| {
        let with_scheme = if text.contains("://") { text.clone() } else { format!("http://{text}") };
        Url::parse(&with_scheme).map_err(|_| malformed())
    };
    let excepted = settings.excepted_hosts.as_deref().and_then(NoProxy::from_string);
    let mut proxies = Vec::new();
    if let Some(text) = &settings.http {
        proxies.push(Proxy::http(url(text)?).map_err(|_| malformed())?.no_proxy(excepted.clone()));
    }
    if let Some(text) = &settings.https {
        proxies.push(Proxy::https(url(text)?).map_err(|_| malformed())?.no_proxy(excepted));
    }
    Ok(proxies)
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Checks whether a redirect from `current` to `next` is followed; `requested` is the URL of the request.
fn may_follow(current: &Url, next: &Url, requested: &Url) -> bool {
    match (current.scheme(), next.scheme()) {
        (_, "https") => true,
        ("http", "http") => {
            let is_same_host = (next.host_str(), requested.scheme()) == (requested.host_str(), "http");
            is_same_host || (is_loopback(current) && is_loopback(next))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_never_leave_https_and_http_stays_on_the_requested_host() {
        let follows = |current: &str, next: &str, requested: &str| {
            let url = |text: &str| Url::parse(text).unwrap();
            may_follow(&url(current), &url(next), &url(requested))
        };
        for (current, next, requested) in [
            ("https://a/x", "https://b/y", "https://a/x"),
            ("http://a/x", "https://b/y", "http://a/x"),
            ("http://a/x", "http://a/y", "http://a/x"),
            ("http://127.0.0.1:1/x", "http://localhost:2/y", "http://127.0.0.1:1/x"),
        ] {
            assert!(follows(current, next, requested), "{current} {next}");
        }
        for (current, next, requested) in [
            ("https://a/x", "http://a/x", "https://a/x"),
            ("https://a/x", "http://127.0.0.1/x", "https://a/x"),
            ("https://b/x", "http://a/y", "http://a/x"),
            ("http://a/x", "http://b/y", "http://a/x"),
            ("http://a/x", "http://127.0.0.1/y", "http://a/x"),
            ("http://127.0.0.1/x", "http://a/y", "http://127.0.0.1/x"),
            ("https://a/x", "file:///etc/passwd", "https://a/x"),
        ] {
            assert!(!follows(current, next, requested), "{current} {next}");
        }
    }
}
