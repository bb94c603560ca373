//! Whose request a proxy passes on.
//!
//! Only proxies that the operator lists are believed, and only what they added themselves: the addresses of the header are
//! read from its end, which the nearest proxy wrote, to the first that is no listed proxy. Whatever a client put before it is
//! not looked at.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, header};
use serde_json::json;

use contract::config::{ForwardedHeader, Server};
use contract::{ErrorCode, Fault};

/// The proxies of `server.trusted_proxies`.
#[derive(Debug, Clone)]
pub(super) struct Proxies {
    networks: Vec<Network>,
    header: ForwardedHeader,
}

/// Addresses with a common prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    /// Bits of the prefix, 0 to 32 or 128.
    bits: u32,
}

impl Proxies {
    /// Reads the setting.
    ///
    /// # Errors
    /// `INVALID_INPUT` for what is neither an address nor a network.
    pub(super) fn configured(server: &Server) -> Result<Self, Fault> {
        let networks = server.trusted_proxies.iter().map(|text| {
            Network::parse(text).ok_or_else(|| {
                let message =
                    format!("server.trusted_proxies holds what is no address or network: `{text}`.");
                Fault::new(ErrorCode::InvalidInput, message)
                    .with_hint(
                        "Write addresses or networks, such as \"127.0.0.1\", \"10.0.0.0/8\", \"fd00::/8\".",
                    )
                    .with_details(json!({ "value": text }))
            })
        });
        Ok(Self { networks: networks.collect::<Result<_, _>>()?, header: server.forwarded_header })
    }

    /// Whether the address is a listed proxy's.
    pub(super) fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.holds(address.to_canonical()))
    }

    /// Who sent the request that a listed proxy passed on: the last address of the header that is no listed proxy's, or
    /// the first one where all are. None where the proxy does not say.
    pub(super) fn client(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let mut nearest = None;
        for value in headers.get_all(self.name()).iter().rev() {
            for hop in value.to_str().ok()?.rsplit(',') {
                let Some(address) = self.address(hop) else { return nearest };
                nearest = Some(address);
                if !self.trusts(address) {
                    return nearest;
                }
            }
        }
        nearest
    }

    fn name(&self) -> HeaderName {
        match self.header {
            ForwardedHeader::XForwardedFor => HeaderName::from_static("x-forwarded-for"),
            ForwardedHeader::Forwarded => header::FORWARDED,
        }
    }

    /// The address of one hop. `Forwarded` is cut at each comma, quoted or not: an open quote of a client's must not hide
    /// what stands behind it.
    fn address(&self, hop: &str) -> Option<IpAddr> {
        let node = match self.header {
            ForwardedHeader::XForwardedFor => hop,
            ForwardedHeader::Forwarded => hop.split(';').find_map(|pair| {
                let (name, value) = pair.split_once('=')?;
                name.trim().eq_ignore_ascii_case("for").then_some(value)
            })?,
        };
        let node = node.trim().trim_matches('"');
        let address = node.parse::<SocketAddr>().map(|socket| socket.ip());
        let bare = node.trim_start_matches('[').trim_end_matches(']');
        Some(address.or_else(|_| bare.parse()).ok()?.to_canonical())
    }
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.trim().split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().ok()?)),
            None => (text.trim(), None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        (bits <= most).then_some(Self { address, bits })
    }

    fn holds(self, address: IpAddr) -> bool {
        let differ = match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                u128::from(network.to_bits() ^ address.to_bits()) << 96
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => network.to_bits() ^ address.to_bits(),
            _ => return false,
        };
        differ.leading_zeros() >= self.bits
    }
}

/// Addresses that count as one client: an IPv4 address, the /64 of an IPv6 address, this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Client(IpAddr);

impl From<IpAddr> for Client {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(listed: &[&str], header: ForwardedHeader) -> Proxies {
        let networks = listed.iter().map(|text| Network::parse(text).unwrap()).collect();
        Proxies { networks, header }
    }

    fn client(proxies: &Proxies, lines: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(proxies.name(), line.parse().unwrap());
        }
        proxies.client(&headers).map(|address| address.to_string())
    }

    #[test]
    fn only_what_listed_proxies_wrote_is_believed() {
        let listed = proxies(&["10.0.0.0/8", "fd00::/8"], ForwardedHeader::XForwardedFor);
        for (lines, who) in [
            (&["203.0.113.9"][..], Some("203.0.113.9")),
            (&["1.1.1.1, 203.0.113.9"], Some("203.0.113.9")),
            (&["1.1.1.1, 203.0.113.9, 10.1.2.3"], Some("203.0.113.9")),
            (&["1.1.1.1", "203.0.113.9", "10.1.2.3, fd00::7"], Some("203.0.113.9")),
            (&["10.1.2.3"], Some("10.1.2.3")),
            (&["::ffff:203.0.113.9"], Some("203.0.113.9")),
            (&["203.0.113.9:4711"], Some("203.0.113.9")),
            (&["[2001:db8::1]:80"], Some("2001:db8::1")),
            (&["2001:db8::1"], Some("2001:db8::1")),
            (&["1.1.1.1, unknown"], None),
            (&["1.1.1.1, unknown, 10.1.2.3"], Some("10.1.2.3")),
            (&[""], None),
            (&[], None),
        ] {
            assert_eq!(client(&listed, lines).as_deref(), who, "{lines:?}");
        }
    }

    #[test]
    fn the_standard_header_is_read_where_it_is_configured() {
        let listed = proxies(&["10.0.0.1"], ForwardedHeader::Forwarded);
        for (line, who) in [
            ("for=192.0.2.60;proto=http;by=203.0.113.43", Some("192.0.2.60")),
            ("for=1.1.1.1, For=\"[2001:db8:cafe::17]:4711\"", Some("2001:db8:cafe::17")),
            ("for=\"1.1.1.1, for=192.0.2.60, for=10.0.0.1", Some("192.0.2.60")),
            ("proto=http", None),
            ("for=_hidden", None),
        ] {
            assert_eq!(client(&listed, &[line]).as_deref(), who, "{line}");
        }
    }

    #[test]
    fn networks_are_read_and_hold_their_addresses() {
        let holds = |network: &str, address: &str| {
            Network::parse(network).unwrap().holds(address.parse::<IpAddr>().unwrap())
        };
        assert!(holds("10.0.0.0/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("0.0.0.0/0", "1.2.3.4") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("127.0.0.1", "127.0.0.1") && !holds("127.0.0.1", "127.0.0.2"));
        assert!(holds("::1", "::1") && holds("fd00::/8", "fdff::1") && !holds("fd00::/8", "fe80::1"));
        for bad in ["", "proxy", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0"] {
            assert_eq!(Network::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn neighbours_count_as_one_client() {
        let client = |text: &str| Client::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(client("2001:db8:1:2::1"), client("2001:db8:1:2:ffff::9"));
        assert_ne!(client("2001:db8:1:2::1"), client("2001:db8:1:3::1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert!(client("127.0.0.1") == client("127.9.9.9") && client("127.0.0.1") == client("::1"));
    }
}
