//! `serve`: serves HTTP and MCP until Ctrl-C.

use serde::Serialize;

use super::dashboard::{DashboardFlags, serve_dashboard};
use super::flags::whole_number_in;
use super::output::{BOLD, PATH, styled};
use super::session::{CommandResult, Exit, Session, StopSignal};
use crate::http;
use crate::http::{Dashboard, Listening};
use gate::tools::Surface;

/// Arguments of `serve`.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
pub(super) struct ServeArgs {
    /// Port to listen on; 0 selects a free port [default: server.port, 7171]
    #[arg(long, value_parser = parse_port)]
    pub(super) port: Option<u16>,
    /// Address to listen on; beyond loopback, clients need an API key [default: server.bind, 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<String>,
    /// Accept every client without a key, even beyond loopback
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    pub(super) dashboard: DashboardFlags,
    #[command(flatten)]
    tool_flags: ToolFlags,
}

impl ServeArgs {
    /// Returns the flags as configuration settings.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let port = self.port.map(|port| ("server.port".to_owned(), port.to_string()));
        // Quoted, so that the value syntax does not parse an address as a number.
        let bind = self.bind.as_ref().map(|bind| ("server.bind".to_owned(), format!("{bind:?}")));
        let insecure = self.insecure.then(|| ("access.insecure".to_owned(), "true".to_owned()));
        port.into_iter().chain(bind).chain(insecure).chain(self.tool_flags.settings()).collect()
    }
}

fn parse_port(text: &str) -> Result<u16, String> {
    whole_number_in(text, &(0..=u16::MAX))
}

/// Flags that limit the tools that clients see.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
pub(super) struct ToolFlags {
    /// Offer only these toolsets: search, index, artifacts, triage, admin, instructions, launch [default: tools.toolsets, all]
    #[arg(long, value_name = "TOOLSET,…")]
    toolsets: Option<String>,
    /// Offer only tools that do not write [default: tools.read_only]
    #[arg(long)]
    read_only: bool,
}

impl ToolFlags {
    /// Returns the flags as configuration settings.
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

/// The URLs of the server; the result that `--json` prints when it is ready.
#[derive(Debug, Serialize)]
pub(super) struct ServerUrls {
    pub(super) url: String,
    pub(super) mcp: String,
}

impl ServerUrls {
    /// Returns the URLs of a server at the base URL `url`.
    pub(super) fn new(url: String) -> Self {
        Self { mcp: format!("{url}/mcp"), url }
    }

    fn from_listening(listening: &Listening) -> Self {
        let scheme = if listening.is_encrypted() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listening.address());
        Self::new(url)
    }
}

/// Entry point of `serve`.
pub(super) async fn run_serve(session: &Session, args: &ServeArgs) -> CommandResult {
    let dashboard = args.dashboard.bind().await?;
    serve_until_signal(session, dashboard, |reachable| {
        format!(
            "{} on {}  {}\n",
            styled(BOLD, "PairOfCleats"),
            styled(PATH, &reachable.url),
            format_args!("MCP: {}  stop: Ctrl-C", reachable.mcp)
        )
    })
    .await
}

/// Serves until a signal, then waits for running requests; a second signal ends the wait. Prints `greeting` as soon as the
/// port is bound.
pub(super) async fn serve_until_signal(
    session: &Session,
    dashboard: Option<Dashboard>,
    greeting: impl FnOnce(&ServerUrls) -> String,
) -> CommandResult {
    let app = &session.app;
    // Before the address is printed, because a signal may arrive from then on.
    let mut stop = StopSignal::install();
    let listening = http::listen(app).await?;
    // Fail now on an unknown toolset, rather than on every request.
    session.caller(Surface::Http)?;
    let reachable = ServerUrls::from_listening(&listening);
    app.start_background();
    app.start_refreshes();
    session.print_result(&reachable, &greeting(&reachable));
    let serving =
        async { tokio::join!(listening.serve(app, session.modules), serve_dashboard(session, dashboard)) };
    tokio::pin!(serving);
    tokio::select! {
        _ = &mut serving => {}
        () = stop.received() => app.shutdown.cancel(),
    }
    let stopped = async {
        serving.await;
        app.wait_stopped().await;
    };
    tokio::select! {
        () = stopped => Ok(Exit::Ok),
        () = stop.received() => Ok(Exit::Failed),
    }
}
