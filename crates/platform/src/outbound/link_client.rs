//! Checks whether links are alive. Links come from pages, so they are followed only to hosts that the operator lists, and never to a
//! private address.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::LOCATION;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response};

use super::tls::{TlsSettings, tls};
use super::{HttpError, Url, display_url, user_agent};

/// Maximum number of redirects of one link.
const REDIRECTS_MAX: usize = 5;

/// A client for links. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LinkClient {
    client: Client,
    local: Arc<BTreeSet<String>>,
}

/// The result of asking for a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkAnswer {
    /// The host answered this status.
    Status(u16),
    /// The host redirects to this address, which is on a host that is not listed, so it was not asked.
    Elsewhere(String),
}

impl LinkClient {
    /// Creates a client whose requests take at most `timeout` each. The hosts in `local` may be on this machine.
    ///
    /// # Errors
    /// If TLS cannot be set up.
    pub fn new(timeout: Duration, local: impl IntoIterator<Item = String>) -> Result<Self, HttpError> {
        let local: Arc<BTreeSet<String>> = Arc::new(local.into_iter().collect());
        let client = Client::builder()
            .tls_backend_preconfigured(tls(TlsSettings::default())?)
            .timeout(timeout)
            .connect_timeout(timeout)
            .redirect(Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(PublicAddresses { local: Arc::clone(&local) }))
            .user_agent(user_agent())
            .build()?;
        Ok(Self { client, local })
    }

    /// Asks for an address: with HEAD, and again with GET if the answer is an error, because not every server supports HEAD. No body is
    /// read. Only addresses that `is_listed` accepts are asked for: the first one, and those to which it redirects.
    ///
    /// # Errors
    /// [`HttpError::Refused`], [`HttpError::Unreachable`].
    pub async fn ask(
        &self,
        url: &Url,
        is_listed: &(dyn Fn(&Url) -> bool + Sync),
    ) -> Result<LinkAnswer, HttpError> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS_MAX {
            if !matches!(url.scheme(), "http" | "https") || !is_listed(&url) {
                return Ok(LinkAnswer::Elsewhere(display_url(&url)));
            }
            let response = self.send(&url).await?;
            let status = response.status();
            let location = response.headers().get(LOCATION).filter(|_| status.is_redirection());
            match location.and_then(|location| url.join(location.to_str().ok()?).ok()) {
                Some(next) => url = next,
                None => return Ok(LinkAnswer::Status(status.as_u16())),
            }
        }
        Err(HttpError::Unreachable("the host redirects again and again".to_owned()))
    }

    async fn send(&self, url: &Url) -> Result<Response, HttpError> {
        let host = url.host_str().unwrap_or_default();
        // The client's resolver checks names, but never sees addresses.
        if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>()
            && !may_reach(address, self.local.contains(host))
        {
            return Err(HttpError::Unreachable("the address is a private one".to_owned()));
        }
        let ask = |method: Method| self.client.request(method, url.clone()).send();
        let response = ask(Method::HEAD).await?;
        match response.status().is_client_error() || response.status().is_server_error() {
            true => Ok(ask(Method::GET).await?),
            false => Ok(response),
        }
    }
}

/// Resolves names, but drops private addresses: the owner of a name decides which address it has.
#[derive(Debug)]
struct PublicAddresses {
    local: Arc<BTreeSet<String>>,
}

impl Resolve for PublicAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let is_local = self.local.contains(&host);
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let usable: Vec<SocketAddr> = found.filter(|address| may_reach(address.ip(), is_local)).collect();
            if usable.is_empty() {
                return Err("the host has no public address".into());
            }
            let addresses: Addrs = Box::new(usable.into_iter());
            Ok(addresses)
        })
    }
}

/// Checks whether links may lead to an address: a public one, or, of a host that may be on this machine, a loopback address.
fn may_reach(address: IpAddr, is_local: bool) -> bool {
    is_public(address) || (is_local && address.to_canonical().is_loopback())
}

fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        // In order: this network; carrier-grade NAT; protocol assignments; benchmarks; reserved, including broadcast.
        || first == 0
        || (first == 100 && second & 0xc0 == 64)
        || (first == 192 && second == 0 && third == 0)
        || (first == 198 && second & 0xfe == 18)
        || first >= 240;
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    match segments {
        // Addresses of IPv4 behind NAT64, and of 6to4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            let [[first, second], [third, fourth]] = [high.to_be_bytes(), low.to_be_bytes()];
            is_public_v4(Ipv4Addr::new(first, second, third, fourth))
        }
        // Of all others, only this block is for the internet; a part of it is for documentation, and Teredo hides addresses.
        [first, second, ..] => first & 0xe000 == 0x2000 && !(first == 0x2001 && matches!(second, 0 | 0x0db8)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_not_reached() {
        for public in ["93.184.215.14", "8.8.8.8", "2606:2800:21f::1", "64:ff9b::808:808"] {
            assert!(may_reach(public.parse().unwrap(), false), "{public}");
        }
        for private in [
            "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
            "255.255.255.255", "224.0.0.1", "192.0.2.1", "::1", "::", "fe80::1", "fc00::1",
            "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "2001:db8::1",
        ] {
            assert!(!may_reach(private.parse().unwrap(), false), "{private}");
        }
        assert!(may_reach("127.0.0.1".parse().unwrap(), true) && may_reach("::1".parse().unwrap(), true));
        assert!(!may_reach("10.0.0.1".parse().unwrap(), true), "only this machine may be listed");
    }

    #[tokio::test]
    async fn an_address_that_is_not_listed_is_not_asked() {
        let client = LinkClient::new(Duration::from_secs(1), []).unwrap();
        let url = Url::parse("http://user:secret@elsewhere.invalid/a?token=b").unwrap();
        let answer = client.ask(&url, &|_| false).await.unwrap();
        assert_eq!(answer, LinkAnswer::Elsewhere("http://elsewhere.invalid/a".to_owned()));
        let loopback = Url::parse("http://127.0.0.1:9/").unwrap();
        let refused = client.ask(&loopback, &|_| true).await.unwrap_err();
        assert!(refused.to_string().contains("private"), "{refused}");
        let name = Url::parse("http://localhost:9/").unwrap();
        let refused = client.ask(&name, &|_| true).await.unwrap_err();
        assert!(refused.to_string().contains("no public address"), "{refused}");
    }
}
