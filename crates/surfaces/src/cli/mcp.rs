//! `mcp`: serves the Model Context Protocol over stdin and stdout.

use std::sync::Arc;

use super::dashboard::{DashboardFlags, serve_dashboard};
use super::install::{install_assets, missing, offer_assets};
use super::serve::ToolFlags;
use super::session::{CommandResult, Exit, Session, StopSignal};
use crate::mcp::serve_stdio;
use gate::tools::{Caller, Surface};

/// Arguments of `mcp`.
#[derive(Debug, clap::Args)]
pub(super) struct McpArgs {
    /// Project for calls that name none [default: .pairofcleats.json, else the default workspace]
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Text of results: envelope (the whole answer as JSON) or short (plain text, fewer tokens) [default: mcp.text, envelope]
    #[arg(long, value_name = "FORM", value_parser = ["envelope", "short"])]
    text: Option<String>,
    /// Install missing runtime files without asking, while the server already answers
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    dashboard: DashboardFlags,
    #[command(flatten)]
    tool_flags: ToolFlags,
}

impl McpArgs {
    /// Returns the flags as configuration settings.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let text = self.text.as_ref().map(|form| ("mcp.text".to_owned(), form.clone()));
        self.tool_flags.settings().into_iter().chain(text).collect()
    }
}

/// Entry point of `mcp`. Serves until the client closes stdin or a signal arrives.
pub(super) async fn serve_mcp(session: &Session, args: McpArgs) -> CommandResult {
    let app = &session.app;
    // A host beyond loopback must be reported; but clients of the server do not need the dashboard, so it is omitted if its ports
    // are in use.
    args.dashboard.check_host()?;
    let dashboard = args.dashboard.bind().await.unwrap_or_else(|error| {
        tracing::error!("there is no dashboard: {}", error.fault.message);
        None
    });
    if !args.yes {
        offer_assets(session, true, false).await?;
    }
    // Started before the first call arrives. Clients wait only a few seconds for a server to start, so it starts without the files.
    let installing = match missing(session, true).await? {
        files if files.is_empty() || !args.yes => None,
        _ => Some(app.begin_installation().await),
    };
    let installed = async {
        if let Some(installing) = installing {
            if let Err(fault) = install_assets(session, None, false).await {
                tracing::error!("the runtime files could not be installed: {}", fault.message);
            }
            drop(installing);
        }
        // The command ends with the server, not with the installation.
        std::future::pending::<()>().await;
    };
    let mut stop = StopSignal::install();
    app.start_background();
    let caller = Caller { project: args.project, ..session.caller(Surface::Stdio)? };
    let serving = async {
        let serving = serve_stdio(Arc::clone(app), app.modules.tools(), caller);
        tokio::pin!(serving);
        let ended = tokio::select! {
            ended = &mut serving => ended,
            () = installed => Ok(()),
            () = stop.received() => {
                app.shutdown.cancel();
                serving.await
            }
        };
        app.shutdown.cancel();
        ended
    };
    let (ended, ()) = tokio::join!(serving, serve_dashboard(session, dashboard));
    app.wait_stopped().await;
    // stdout carries only the protocol, so a failure is logged instead of printed.
    Ok(ended.map_or_else(
        |fault| {
            let cause = fault.source.as_deref().map(ToString::to_string);
            tracing::error!(cause, "{}", fault.message);
            Exit::Failed
        },
        |()| Exit::Ok,
    ))
}
