//! `health`: checks a running server, for containers and process managers without an HTTP client.

use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;

use super::output::{GOOD, PATH, styled};
use super::session::{CommandResult, Exit, Session};
use crate::answer;
use contract::{ErrorCode, Fault};
use platform::outbound::{HttpClient, HttpError, http_url};

/// Timeout of the request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of the answer.
const ANSWER_BYTES_MAX: usize = 65_536;

/// Arguments of `health`.
#[derive(Debug, clap::Args)]
pub(super) struct HealthArgs {
    /// URL of the server [default: server.bind and server.port]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Check only that the process is alive, not that it can answer calls
    #[arg(long)]
    alive: bool,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
struct HealthResult {
    url: String,
}

/// Entry point of `health`. Fails if the server is not ready or, with `--alive`, does not respond.
pub(super) async fn check_health(session: &Session, args: HealthArgs) -> CommandResult {
    let server = &session.app.config.server;
    let base = args.url.unwrap_or_else(|| {
        let scheme = if server.tls_certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}:{}", own_host(&server.bind), server.port)
    });
    let path = if args.alive { "/health" } else { "/health/ready" };
    let url = format!("{}{path}", base.trim_end_matches('/'));
    get_health(&url).await.map_err(|problem| unhealthy(&base, &problem))?;
    if session.output.json {
        let result = serde_json::to_value(HealthResult { url }).unwrap_or_default();
        session.output.print_line(&answer::json(&answer::succeeded(&session.app, result, None)).to_string());
    } else if !session.output.quiet {
        session.output.print_line(&format!("{} {}", styled(GOOD, "✓"), styled(PATH, &url)));
    }
    Ok(Exit::Ok)
}

/// Returns the host under which this machine reaches a server that listens on `bind`.
fn own_host(bind: &str) -> String {
    match bind.parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() || address.is_loopback() => "localhost".to_owned(),
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => bind.to_owned(),
    }
}

async fn get_health(url: &str) -> Result<(), HttpError> {
    HttpClient::new(TIMEOUT)?.get_json(&http_url(url)?, ANSWER_BYTES_MAX).await.map(drop)
}

fn unhealthy(server: &str, problem: &HttpError) -> Fault {
    match problem {
        HttpError::InvalidUrl(_) => Fault::new(ErrorCode::InvalidUrl, format!("{server}: {problem}."))
            .with_hint("Give --url as http://HOST:PORT."),
        HttpError::Status(503) => {
            let message = format!("{server} is alive but not ready.");
            Fault::new(ErrorCode::StorageUnavailable, message).with_hint(
                "`GET /health/ready` on the server lists the failed checks; the server's log has the cause.",
            )
        }
        HttpError::Refused => {
            Fault::new(ErrorCode::StorageUnavailable, format!("No server answers at {server}.")).with_hint(
                "Start it with `pairofcleats serve`, or name the address of another one with --url.",
            )
        }
        _ => Fault::new(ErrorCode::StorageUnavailable, format!("{server}: {problem}.")).with_hint(
            "Check that `pairofcleats serve` is running at this address, or name another one with --url.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_does_not_run_is_reported_in_plain_words() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let problem = get_health(&format!("{server}/health")).await.unwrap_err();
        let fault = unhealthy(&server, &problem);
        assert_eq!(fault.code, ErrorCode::StorageUnavailable);
        assert_eq!(fault.message, format!("No server answers at {server}."));
    }

    #[test]
    fn the_default_url_is_reachable_from_this_machine() {
        for (bind, host) in [
            ("127.0.0.1", "localhost"),
            ("::1", "localhost"),
            ("0.0.0.0", "localhost"),
            ("::", "localhost"),
            ("10.0.0.5", "10.0.0.5"),
            ("fd00::5", "[fd00::5]"),
            ("search.internal", "search.internal"),
        ] {
            assert_eq!(own_host(bind), host, "{bind}");
        }
    }
}
