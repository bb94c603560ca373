//! The client address of a request that a proxy forwarded.
//!
//! Only configured proxies are trusted, and only the addresses that they added: the header is read from its end, which the nearest
//! proxy wrote, to the first address that is not a trusted proxy. Anything before it came from the client and is ignored.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, header};
use serde_json::json;

use contract::config::{ForwardedHeader, Server};
use contract::{ErrorCode, Fault};

/// The proxies of `server.trusted_proxies`.
#[derive(Debug, Clone)]
pub(super) struct TrustedProxies {
    networks: Vec<Network>,
    header: ForwardedHeader,
}

/// Addresses that share a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    /// Length of the prefix in bits, at most 32 (IPv4) or 128 (IPv6).
    bits: u32,
}

impl TrustedProxies {
    /// Parses the setting.
    ///
    /// # Errors
    /// `INVALID_INPUT` for an entry that is neither an address nor a network.
    pub(super) fn from_config(server: &Server) -> Result<Self, Fault> {
        let networks = server.trusted_proxies.iter().map(|text| {
            Network::parse(text).ok_or_else(|| {
                let message =
                    format!("server.trusted_proxies contains `{text}`, which is not an address or network.");
                Fault::new(ErrorCode::InvalidInput, message)
                    .with_hint(
                        "Write addresses or networks, such as \"127.0.0.1\", \"10.0.0.0/8\", \"fd00::/8\".",
                    )
                    .with_details(json!({ "value": text }))
            })
        });
        Ok(Self { networks: networks.collect::<Result<_, _>>()?, header: server.forwarded_header })
    }

    /// Returns an empty list.
    pub(super) fn none() -> Self {
        Self { networks: Vec::new(), header: ForwardedHeader::XForwardedFor }
    }

    /// Checks whether the address belongs to a trusted proxy.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address.to_canonical()))
    }

    /// Returns the address of the client that sent a forwarded request: the last address of the header that is not a trusted
    /// proxy, or the first address if all are. The last entry that is not an address is ignored, and so are all entries before
    /// it. `None` if no address is left.
    pub(super) fn client_address(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let mut nearest = None;
        for value in headers.get_all(self.header_name()).iter().rev() {
            for hop in value.as_bytes().rsplit(|byte| *byte == b',') {
                let address = std::str::from_utf8(hop).ok().and_then(|hop| self.hop_address(hop));
                let Some(address) = address else { return nearest };
                nearest = Some(address);
                if !self.contains(address) {
                    return nearest;
                }
            }
        }
        nearest
    }

    fn header_name(&self) -> HeaderName {
        match self.header {
            ForwardedHeader::XForwardedFor => HeaderName::from_static("x-forwarded-for"),
            ForwardedHeader::Forwarded => header::FORWARDED,
        }
    }

    /// Returns the address of one hop. `Forwarded` is split at every comma, quoted or not, so that an unclosed quote from a
    /// client cannot hide the hops after it.
    fn hop_address(&self, hop: &str) -> Option<IpAddr> {
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
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(bits_max);
        (bits <= bits_max).then_some(Self { address, bits })
    }

    fn contains(self, address: IpAddr) -> bool {
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

/// The addresses that count as one client: an IPv4 address, the /64 prefix of an IPv6 address, or this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ClientAddress(IpAddr);

impl From<IpAddr> for ClientAddress {
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
    use axum::http::HeaderValue;

    fn proxies(listed: &[&str], header: ForwardedHeader) -> TrustedProxies {
        let networks = listed.iter().map(|text| Network::parse(text).unwrap()).collect();
        TrustedProxies { networks, header }
    }

    fn client(proxies: &TrustedProxies, lines: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(proxies.header_name(), HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        proxies.client_address(&headers).map(|address| address.to_string())
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
            (&["\u{ff}, 203.0.113.9"], Some("203.0.113.9")),
            (&["\u{ff}", "10.1.2.3"], Some("10.1.2.3")),
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
            Network::parse(network).unwrap().contains(address.parse::<IpAddr>().unwrap())
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
        let client = |text: &str| ClientAddress::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(client("2001:db8:1:2::1"), client("2001:db8:1:2:ffff::9"));
        assert_ne!(client("2001:db8:1:2::1"), client("2001:db8:1:3::1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert!(client("127.0.0.1") == client("127.9.9.9") && client("127.0.0.1") == client("::1"));
    }
}
