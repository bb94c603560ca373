//! Binding, serving and stopping.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use serde_json::json;
use tokio::net::TcpListener;

use super::routes::router;
use crate::app::App;
use crate::contract::{ErrorCode, Fault};

/// A bound server that does not answer yet.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
}

/// Binds `server.bind` and `server.port`; port 0 takes a free one.
///
/// # Errors
/// `FORBIDDEN` for an address beyond loopback, `INVALID_INPUT` for what is no address, `ILLEGAL_STATE` when
/// the port is taken.
pub async fn listen(app: &App) -> Result<Listening, Fault> {
    let (bind, port) = (&app.config.server.bind, app.config.server.port);
    let address = SocketAddr::new(loopback(bind)?, port);
    let listener = TcpListener::bind(address).await.map_err(|error| unbound(address, &error))?;
    let address = listener
        .local_addr()
        .map_err(|error| Fault::internal("The bound address could not be read.", error))?;
    Ok(Listening { listener, address })
}

impl Listening {
    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `app.shutdown` fires, then lets running requests end for at most `server.drain_ms`.
    ///
    /// # Errors
    /// `INTERNAL` when accepting connections fails for good.
    pub async fn serve(self, app: &Arc<App>) -> Result<(), Fault> {
        // Nagle's algorithm costs 40 ms an answer on streams that write twice.
        let listener = self.listener.tap_io(|connection| {
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY could not be set");
            }
        });
        let stop = app.shutdown.clone();
        let server =
            axum::serve(listener, router(app)).with_graceful_shutdown(stop.clone().cancelled_owned());
        // axum waits for half-open connections for ever, so the drain has a limit of its own.
        let limit = async {
            stop.cancelled().await;
            tokio::time::sleep(Duration::from_millis(app.config.server.drain_ms)).await;
        };
        tokio::select! {
            ended = server.into_future() => {
                ended.map_err(|error| Fault::internal("The server stopped accepting connections.", error))
            }
            () = limit => {
                tracing::warn!("stopped with requests still open");
                Ok(())
            }
        }
    }
}

/// Without keys only this machine may reach the server.
fn loopback(bind: &str) -> Result<IpAddr, Fault> {
    let ip = match bind {
        "localhost" => IpAddr::from([127, 0, 0, 1]),
        other => other.trim_start_matches('[').trim_end_matches(']').parse().map_err(|_| {
            Fault::new(ErrorCode::InvalidInput, format!("server.bind is not an IP address: `{other}`."))
                .with_hint("Use 127.0.0.1 or ::1.")
        })?,
    };
    if ip.is_loopback() {
        return Ok(ip);
    }
    Err(Fault::new(
        ErrorCode::Forbidden,
        format!("server.bind = \"{ip}\" would open the server to the network."),
    )
    .with_hint(
        "Bind 127.0.0.1 or ::1 and put an authenticating proxy before it: there are no access keys yet.",
    )
    .with_details(json!({ "bind": ip.to_string() })))
}

fn unbound(address: SocketAddr, error: &io::Error) -> Fault {
    let (message, hint) = if error.kind() == io::ErrorKind::AddrInUse {
        (
            format!("{address} is in use."),
            "Stop what listens there, or choose another port with --port; 0 takes a free one.",
        )
    } else {
        (
            format!("{address} cannot be bound: {error}."),
            "Choose another address or port: server.bind, server.port.",
        )
    };
    Fault::new(ErrorCode::IllegalState, message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_bound() {
        for good in ["127.0.0.1", "localhost", "::1", "[::1]", "127.1.2.3"] {
            assert!(loopback(good).is_ok(), "{good}");
        }
        for (bad, code) in [
            ("0.0.0.0", ErrorCode::Forbidden),
            ("::", ErrorCode::Forbidden),
            ("192.168.1.4", ErrorCode::Forbidden),
            ("example.com", ErrorCode::InvalidInput),
        ] {
            let fault = loopback(bad).unwrap_err();
            assert_eq!(fault.code, code, "{bad}");
            assert!(fault.hint.is_some());
        }
    }
}
