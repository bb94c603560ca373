//! `health`: asks a running server whether it can answer; for containers and supervisors, which have no HTTP client.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::output::{GOOD, PATH, styled};
use super::session::{Exit, Ran, Session};
use crate::surfaces::answer;
use contract::{ErrorCode, Fault};
use platform::outbound::{Outbound, Problem, http_url};

/// How long the server may take.
const LIMIT: Duration = Duration::from_secs(5);
/// The answer is a line.
const BYTES_MAX: usize = 65_536;

/// Arguments of `health`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The server [default: this machine's, at server.port]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Ask only whether it is alive, not whether it can answer calls
    #[arg(long)]
    alive: bool,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize, Deserialize)]
struct Healthy {
    url: String,
}

/// Runs the command; fails when the server does not answer well.
pub(super) async fn run(session: &Session, args: Args) -> Ran {
    let server = &session.app.config.server;
    let base = args.url.unwrap_or_else(|| {
        let scheme = if server.tls_certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://localhost:{}", server.port)
    });
    let path = if args.alive { "/health" } else { "/health/ready" };
    let url = format!("{}{path}", base.trim_end_matches('/'));
    ask(&url).await.map_err(|problem| ill(&base, &problem))?;
    if session.output.json {
        let result = serde_json::to_value(Healthy { url }).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, result, None)).to_string());
    } else if !session.output.quiet {
        session.output.line(&format!("{} {}", styled(GOOD, "✓"), styled(PATH, &url)));
    }
    Ok(Exit::Ok)
}

async fn ask(url: &str) -> Result<(), Problem> {
    Outbound::new(LIMIT)?.get_json(&http_url(url)?, BYTES_MAX).await.map(drop)
}

fn ill(server: &str, problem: &Problem) -> Fault {
    let fault = match problem {
        Problem::Address(_) => Fault::new(ErrorCode::InvalidUrl, format!("{server}: {problem}.")),
        Problem::Status(503) => {
            Fault::new(ErrorCode::StorageUnavailable, format!("{server} is alive but not ready."))
        }
        _ => Fault::new(ErrorCode::StorageUnavailable, format!("{server}: {problem}.")),
    };
    fault.with_hint("`GET /health/ready` of the server says which part is missing; its log says why.")
}
