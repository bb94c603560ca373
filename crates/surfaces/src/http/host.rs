//! Parses hosts as in `Host`, request targets and `Origin`: `host[:port]` and nothing else.
//!
//! `Authority` of the http crate also accepts user information and any text as the port, and then returns only the host:
//! `a@localhost:b` would pass for `localhost`, while a proxy in front may read a different host.

use std::net::Ipv6Addr;

/// A host and its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostPort<'a> {
    /// A name or an address, without brackets.
    pub(super) host: &'a str,
    pub(super) port: Option<u16>,
}

impl<'a> HostPort<'a> {
    /// Parses `host[:port]`, where an IPv6 address is in brackets.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (host, rest) = if let Some(bracketed) = text.strip_prefix('[') {
            let (address, rest) = bracketed.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            (address, rest)
        } else {
            text.split_at_checked(text.find(':').unwrap_or(text.len())).filter(|(name, _)| is_name(name))?
        };
        if rest.is_empty() {
            return Some(Self { host, port: None });
        }
        let port = rest.strip_prefix(':')?;
        if port.is_empty() {
            return Some(Self { host, port: None });
        }
        // `u16` also accepts a plus sign.
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(Self { host, port: Some(port.parse().ok()?) })
    }
}

/// Checks that a text consists of the characters of DNS names and IPv4 addresses. The underscore occurs in names of containers.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}

/// Returns the host of the origin of a web page, `http://host[:port]` or `https://host[:port]`.
pub(super) fn origin_host(origin: &str) -> Option<&str> {
    let (scheme, rest) = origin.split_once("://")?;
    let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    let HostPort { host, .. } = HostPort::parse(rest)?;
    is_web.then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_no_user_and_a_possible_port() {
        for (text, host, port) in [
            ("localhost", "localhost", None),
            ("code_1.example-2.com:7171", "code_1.example-2.com", Some(7171)),
            ("127.0.0.1:65535", "127.0.0.1", Some(65535)),
            ("localhost:", "localhost", None),
            ("[::1]", "::1", None),
            ("[::ffff:127.0.0.1]:80", "::ffff:127.0.0.1", Some(80)),
        ] {
            assert_eq!(HostPort::parse(text), Some(HostPort { host, port }), "{text}");
        }
        for text in [
            "", ":80", "localhost:evil", "localhost:+80", "localhost:80:80", "127.0.0.1:99999",
            "127.0.0.1:7391.evil.com", "evil.com@127.0.0.1", "a:b@localhost:80", "localhost/x", "local host",
            "l\u{f6}calhost", "::1", "[::1", "[::1]80", "[::1]]", "[[::1]]", "[localhost]", "[127.0.0.1]",
            "[::1%25eth0]",
        ] {
            assert_eq!(HostPort::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_web_pages_have_an_origin_with_a_host() {
        assert_eq!(origin_host("http://localhost:3000"), Some("localhost"));
        assert_eq!(origin_host("HTTPS://[::1]"), Some("::1"));
        for origin in
            ["null", "localhost", "file://localhost", "http://localhost/x", "http://a@localhost", "http://"]
        {
            assert_eq!(origin_host(origin), None, "{origin}");
        }
    }
}
