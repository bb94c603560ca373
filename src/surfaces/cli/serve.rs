//! `serve`: HTTP and MCP on loopback until Ctrl-C.

use serde::Serialize;

use super::output::{BOLD, PATH, styled};
use super::session::{Exit, Ran, Session, StopSignal};
use crate::surfaces::http::Listening;
use crate::surfaces::{answer, http};
use crate::tools::Surface;

/// Arguments of `serve`.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Port to listen on; 0 takes a free one [default: server.port, 7171]
    #[arg(long)]
    pub(super) port: Option<u16>,
    /// Address to listen on; beyond loopback it takes keys [default: server.bind, 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<String>,
    /// Let whoever reaches the server in without a key, also beyond loopback
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    offered: Offered,
}

impl Args {
    /// The flags as settings.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let port = self.port.map(|port| ("server.port".to_owned(), port.to_string()));
        // Quoted, so that the value syntax takes no address for a number.
        let bind = self.bind.as_ref().map(|bind| ("server.bind".to_owned(), format!("{bind:?}")));
        let insecure = self.insecure.then(|| ("access.insecure".to_owned(), "true".to_owned()));
        port.into_iter().chain(bind).chain(insecure).chain(self.offered.settings()).collect()
    }
}

/// Which tools clients are offered.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
pub(super) struct Offered {
    /// Only tools of these families: search, index, artifacts, triage, admin [default: tools.toolsets, all]
    #[arg(long, value_name = "FAMILY,…")]
    toolsets: Option<String>,
    /// Only tools that change nothing [default: tools.read_only]
    #[arg(long)]
    read_only: bool,
}

impl Offered {
    /// The flags as settings.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let named =
            |list: &String| list.split(',').map(|name| format!("{:?}", name.trim())).collect::<Vec<_>>();
        let toolsets = self
            .toolsets
            .as_ref()
            .map(|list| ("tools.toolsets".to_owned(), format!("[{}]", named(list).join(","))));
        let read_only = self.read_only.then(|| ("tools.read_only".to_owned(), "true".to_owned()));
        toolsets.into_iter().chain(read_only).collect()
    }
}

/// Where the server is reached; the result that `--json` prints when it is ready.
#[derive(Debug, Serialize)]
pub(super) struct Reachable {
    pub(super) url: String,
    pub(super) mcp: String,
}

impl Reachable {
    /// A server at this URL.
    pub(super) fn of(url: String) -> Self {
        Self { mcp: format!("{url}/mcp"), url }
    }

    fn at(listening: &Listening) -> Self {
        let scheme = if listening.is_encrypted() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listening.address());
        Self { mcp: format!("{url}/mcp"), url }
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
    // A family that there is not is told now rather than to every client.
    session.caller(Surface::Http)?;
    let reachable = Reachable::at(&listening);
    app.start_background();
    app.keep_fresh();
    if session.output.json {
        let result = serde_json::to_value(&reachable).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(app, result, None)).to_string());
    } else {
        session.output.text(&greet(&reachable));
    }
    let serving = listening.serve(app);
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => {}
        () = stop.received() => app.shutdown.cancel(),
    }
    let stopped = async {
        serving.await;
        app.stopped().await;
    };
    tokio::select! {
        () = stopped => Ok(Exit::Ok),
        () = stop.received() => Ok(Exit::Failed),
    }
}
