//! `serve`: HTTP and MCP on loopback until Ctrl-C.

use std::net::SocketAddr;

use serde::Serialize;

use super::output::{BOLD, PATH, styled};
use super::session::{Exit, Ran, Session, StopSignal};
use crate::surfaces::{answer, http};

/// Arguments of `serve`.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Port to listen on; 0 takes a free one [default: server.port, 7171]
    #[arg(long)]
    pub(super) port: Option<u16>,
    /// Loopback address to listen on [default: server.bind, 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<String>,
}

impl Args {
    /// The flags as settings.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let port = self.port.map(|port| ("server.port".to_owned(), port.to_string()));
        // Quoted, so that the value syntax takes no address for a number.
        let bind = self.bind.as_ref().map(|bind| ("server.bind".to_owned(), format!("{bind:?}")));
        port.into_iter().chain(bind).collect()
    }
}

/// Where the server is reached; the result that `--json` prints when it is ready.
#[derive(Debug, Serialize)]
pub(super) struct Reachable {
    pub(super) url: String,
    pub(super) mcp: String,
}

impl Reachable {
    fn at(address: SocketAddr) -> Self {
        Self { url: format!("http://{address}"), mcp: format!("http://{address}/mcp") }
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session) -> Ran {
    serve(session, |reachable| {
        format!(
            "{} on {}  {}\n",
            styled(BOLD, "PairOfCleats"),
            styled(PATH, &reachable.url),
            format_args!("MCP: {}  stop: Ctrl-C", reachable.mcp)
        )
    })
    .await
}

/// Serves until a signal; a second one does not wait for running requests. `greet` is printed once the
/// port is bound.
pub(super) async fn serve(session: &Session, greet: impl FnOnce(&Reachable) -> String) -> Ran {
    let app = &session.app;
    // Before the address is told: from then on a signal may come.
    let mut stop = StopSignal::install();
    let listening = http::listen(app).await?;
    let reachable = Reachable::at(listening.address());
    app.start_background();
    if session.output.json {
        let result = serde_json::to_value(&reachable).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(app, result, None)).to_string());
    } else {
        session.output.text(&greet(&reachable));
    }
    let serving = listening.serve(app);
    tokio::pin!(serving);
    tokio::select! {
        ended = &mut serving => return Ok(ended.map(|()| Exit::Ok)?),
        () = stop.received() => app.shutdown.cancel(),
    }
    tokio::select! {
        ended = &mut serving => Ok(ended.map(|()| Exit::Ok)?),
        () = stop.received() => Ok(Exit::Failed),
    }
}
