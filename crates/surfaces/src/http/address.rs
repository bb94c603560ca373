//! The address that the server binds.

use std::io;
use std::net::{IpAddr, SocketAddr};

use contract::{ErrorCode, Fault};

/// Parses `server.bind`.
///
/// # Errors
/// `INVALID_INPUT` for an invalid address.
pub(super) fn bind_address(bind: &str) -> Result<IpAddr, Fault> {
    if bind == "localhost" {
        return Ok(IpAddr::from([127, 0, 0, 1]));
    }
    bind.trim_start_matches('[').trim_end_matches(']').parse().map_err(|_| {
        Fault::new(ErrorCode::InvalidInput, format!("server.bind is not an IP address: `{bind}`."))
            .with_hint("Use 127.0.0.1, ::1, or the address of a network interface.")
    })
}

/// Returns the fault for an address that cannot be bound.
pub(super) fn bind_fault(address: SocketAddr, error: &io::Error) -> Fault {
    let (message, hint) = if error.kind() == io::ErrorKind::AddrInUse {
        (
            format!("{address} is in use."),
            "Stop the program that uses it, or choose another port with --port; 0 selects a free port.",
        )
    } else {
        (
            format!("{address} could not be bound: {error}."),
            "Choose another address or port: server.bind, server.port.",
        )
    };
    Fault::new(ErrorCode::IllegalState, message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for good in ["127.0.0.1", "localhost", "::1", "[::1]", "127.1.2.3"] {
            assert!(bind_address(good).is_ok_and(|ip| ip.is_loopback()), "{good}");
        }
        assert!(bind_address("0.0.0.0").is_ok_and(|ip| !ip.is_loopback()));
        let fault = bind_address("example.com").unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidInput);
        assert!(fault.hint.is_some());
    }
}
