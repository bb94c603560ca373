//! The hosts that a site profile lists: links to them are followed, and no others are.

use std::collections::BTreeSet;

use platform::outbound::{Url, http_url};

use crate::site::Site;

/// Hosts, each with a port or for the usual ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalHosts(Vec<ExternalHost>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct ExternalHost {
    /// As URLs write it.
    host: String,
    /// `None`: those of http and https.
    port: Option<u16>,
}

impl ExternalHosts {
    /// Reads a list of `host` and `host:port`.
    ///
    /// # Errors
    /// The entry that is neither.
    pub fn parse(listed: &[String]) -> Result<Self, String> {
        let parse = |text: &String| ExternalHost::parse(text).ok_or_else(|| text.clone());
        listed.iter().map(parse).collect::<Result<_, _>>().map(Self)
    }

    /// Returns `true` if none are listed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if an address is on one of them.
    #[must_use]
    pub fn has(&self, url: &Url) -> bool {
        self.0.iter().any(|listed| {
            url.host_str() == Some(listed.host.as_str())
                && match listed.port {
                    Some(port) => url.port_or_known_default() == Some(port),
                    None => url.port().is_none(),
                }
        })
    }

    /// Those listed with a port, which may be on this machine.
    pub fn with_port(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|listed| listed.port.is_some()).map(|listed| listed.host.as_str())
    }

    /// The addresses on these hosts to which pages link, sorted.
    #[must_use]
    pub fn linked_from(&self, pages: &Site) -> BTreeSet<Url> {
        let links = pages.pages().iter().flat_map(|page| &page.links);
        links.filter_map(|link| address(&link.target)).filter(|url| self.has(url)).collect()
    }
}

impl ExternalHost {
    fn parse(text: &str) -> Option<Self> {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if is_number(port) => (host, Some(port.parse().ok()?)),
            _ => (text, None),
        };
        let url = http_url(&format!("http://{host}/")).ok()?;
        let is_host_alone = url.path() == "/"
            && url.port().is_none()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        let host = url.host_str().filter(|host| is_host_alone && !host.is_empty())?;
        Some(Self { host: host.to_owned(), port })
    }
}

/// The address that a link asks for, without its fragment; `None` if it is not one of `http` or `https`, or has a user.
#[must_use]
pub fn address(target: &str) -> Option<Url> {
    let mut url = http_url(target.trim()).ok()?;
    if !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    url.set_fragment(None);
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::{MemoryFiles, SiteLimits};

    fn hosts(listed: &[&str]) -> Result<ExternalHosts, String> {
        ExternalHosts::parse(&listed.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_host_is_listed_with_its_port_or_for_the_usual_ones() {
        let listed = hosts(&["docs.Example.com", "127.0.0.1:8080", "[::1]:81"]).unwrap();
        assert_eq!(listed.with_port().collect::<Vec<_>>(), ["127.0.0.1", "[::1]"]);
        for good in [
            "https://docs.example.com/a?b", "http://docs.example.com", "http://127.0.0.1:8080/",
            "http://[::1]:81/",
        ] {
            assert!(listed.has(&address(good).unwrap()), "{good}");
        }
        for bad in [
            "https://docs.example.com:8443/", "https://docs.example.com.evil/", "https://example.com/",
            "http://127.0.0.1/",
        ] {
            assert!(!listed.has(&address(bad).unwrap()), "{bad}");
        }
        for wrong in ["", "a/b", "http://a", "user@host", "host:99999", "a b", "host?x", "*.example.com/"] {
            assert!(hosts(&[wrong]).is_err(), "{wrong}");
        }
        assert!(hosts(&[]).unwrap().is_empty());
    }

    #[test]
    fn links_to_listed_hosts_are_collected_once() {
        let page = "# A\n\n[a](https://docs.example.com/a#one), [again](https://docs.example.com/a#two), \
             ![image](https://docs.example.com/b.png), [other](https://other.example/), [mail](mailto:a@b.c), \
             [in](gone.md), [user](https://u:p@docs.example.com/c)\n";
        let files: MemoryFiles = [("a.md", page)].into_iter().collect();
        let site = Site::read(&files, None, &SiteLimits::default());
        let found: Vec<String> =
            hosts(&["docs.example.com"]).unwrap().linked_from(&site).iter().map(Url::to_string).collect();
        assert_eq!(found, ["https://docs.example.com/a", "https://docs.example.com/b.png"]);
    }
}
