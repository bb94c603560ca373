//! `health`: checks a running server, for containers and supervisors without an HTTP client.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::output::{GOOD, PATH, styled};
use super::session::{CommandResult, Exit, Session};
use crate::surfaces::answer;
use contract::{ErrorCode, Fault};
use platform::outbound::{Outbound, Problem, http_url};

/// Timeout of the request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Longest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 65_536;

/// Arguments of `health`.
#[derive(Debug, clap::Args)]
pub(super) struct HealthArgs {
    /// URL of the server [default: this machine, at server.port]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Check only that the process is alive, not that it can answer calls
    #[arg(long)]
    alive: bool,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize, Deserialize)]
struct HealthResult {
    url: String,
}

/// Entry point of `health`. Fails if the server is not ready or, with `--alive`, does not respond.
pub(super) async fn check_health(session: &Session, args: HealthArgs) -> CommandResult {
    let server = &session.app.config.server;
    let base = args.url.unwrap_or_else(|| {
        let scheme = if server.tls_certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://localhost:{}", server.port)
    });
    let path = if args.alive { "/health" } else { "/health/ready" };
    let url = format!("{}{path}", base.trim_end_matches('/'));
    get_health(&url).await.map_err(|problem| unhealthy(&base, &problem))?;
    if session.output.json {
        let result = serde_json::to_value(HealthResult { url }).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, result, None)).to_string());
    } else if !session.output.quiet {
        session.output.line(&format!("{} {}", styled(GOOD, "✓"), styled(PATH, &url)));
    }
    Ok(Exit::Ok)
}

async fn get_health(url: &str) -> Result<(), Problem> {
    Outbound::new(TIMEOUT)?.get_json(&http_url(url)?, ANSWER_BYTES_MAX).await.map(drop)
}

fn unhealthy(server: &str, problem: &Problem) -> Fault {
    let fault = match problem {
        Problem::Address(_) => Fault::new(ErrorCode::InvalidUrl, format!("{server}: {problem}.")),
        Problem::Status(503) => {
            Fault::new(ErrorCode::StorageUnavailable, format!("{server} is alive but not ready."))
        }
        _ => Fault::new(ErrorCode::StorageUnavailable, format!("{server}: {problem}.")),
    };
    fault.with_hint(
        "`GET /health/ready` on the server lists the failed checks; the server's log has the cause.",
    )
}
