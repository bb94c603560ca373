//! The address on which the dashboard listens: an address of this machine, and the first of several ports that is free.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;

use contract::{ErrorCode, Fault, echo};

/// The address on which the dashboard should listen.
#[derive(Debug, Clone)]
pub struct DashboardAddress {
    /// `localhost` or a loopback address.
    pub host: String,
    /// The first port to try; 0 selects a free one.
    pub port: u16,
    /// The number of further ports to try if that one is in use.
    pub tries: u16,
}

impl DashboardAddress {
    /// Checks the host, without binding anything.
    ///
    /// # Errors
    /// `INVALID_INPUT` for a host that other machines can reach, or that is not an address.
    pub fn ip(&self) -> Result<IpAddr, Fault> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let parsed = match host.eq_ignore_ascii_case("localhost") {
            true => Some(Ipv4Addr::LOCALHOST.into()),
            false => host.parse::<IpAddr>().ok().map(|ip| ip.to_canonical()),
        };
        parsed.filter(IpAddr::is_loopback).ok_or_else(|| {
            let message =
                format!("The dashboard has no keys, so it cannot listen on `{}`.", echo(&self.host));
            Fault::new(ErrorCode::InvalidInput, message)
                .with_hint("Leave `--dashboard-host` out, or name an address of this machine's loopback, such as 127.0.0.1 or ::1.")
        })
    }

    /// Binds the first port that is free.
    pub(super) async fn bind(&self) -> Result<(TcpListener, SocketAddr), Fault> {
        let ip = self.ip()?;
        let last = match self.port {
            0 => 0,
            port => port.saturating_add(self.tries),
        };
        for port in self.port..=last {
            let address = SocketAddr::new(ip, port);
            match TcpListener::bind(address).await {
                Ok(listener) => {
                    let bound = listener.local_addr().map_err(|error| cannot_bind(address, &error))?;
                    return Ok((listener, bound));
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => (),
                Err(error) => return Err(cannot_bind(address, &error)),
            }
        }
        let message = match last == self.port {
            true => format!("The port {last} of the dashboard is in use."),
            false => format!("All ports of the dashboard, {} to {last}, are in use.", self.port),
        };
        Err(Fault::new(ErrorCode::IllegalState, message).with_hint(PORT_HINT))
    }
}

const PORT_HINT: &str =
    "Choose another port with `--dashboard-port`, 0 for any free one, or try more with `--dashboard-tries`.";

fn cannot_bind(address: SocketAddr, error: &io::Error) -> Fault {
    Fault::new(ErrorCode::IllegalState, format!("The dashboard cannot listen on {address}: {error}."))
        .with_hint(PORT_HINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: &str, port: u16, tries: u16) -> DashboardAddress {
        DashboardAddress { host: host.to_owned(), port, tries }
    }

    #[test]
    fn only_loopback_is_an_address() {
        for host in ["127.0.0.1", "localhost", "LOCALHOST", "::1", "[::1]", "127.9.9.9", "::ffff:127.0.0.1"] {
            assert!(address(host, 0, 0).ip().is_ok(), "{host}");
        }
        for host in
            ["0.0.0.0", "::", "192.168.1.4", "example.com", "localhost.evil.example", "", "127.0.0.1:80"]
        {
            let fault = address(host, 0, 0).ip().unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidInput, "{host}");
            assert!(fault.message.contains(host), "{}", fault.message);
        }
    }

    #[tokio::test]
    async fn the_first_free_port_is_taken() {
        let (_first, taken) = address("127.0.0.1", 0, 10).bind().await.unwrap();
        assert!(taken.port() > 0);
        let fault = address("127.0.0.1", taken.port(), 0).bind().await.unwrap_err();
        assert_eq!(fault.code, ErrorCode::IllegalState);
        assert!(fault.message.contains(&taken.port().to_string()), "{}", fault.message);
        let (_second, next) = address("127.0.0.1", taken.port(), 50).bind().await.unwrap();
        assert!((taken.port() + 1..=taken.port() + 50).contains(&next.port()), "{next} after {taken}");
    }
}
