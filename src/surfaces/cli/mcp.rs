//! `mcp`: the Model Context Protocol on stdin and stdout.

use std::sync::Arc;

use super::serve::Offered;
use super::session::{Exit, Ran, Session, StopSignal};
use crate::surfaces::mcp::serve_stdio;
use crate::tools::{Caller, Surface, Toolbox};

/// Arguments of `mcp`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Project of this client where a call names none [default: .pairofcleats.json, else the default workspace]
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Text of results: the whole answer as JSON, or plain text in fewer tokens [default: mcp.text, envelope]
    #[arg(long, value_name = "FORM", value_parser = ["envelope", "short"])]
    text: Option<String>,
    #[command(flatten)]
    offered: Offered,
}

impl Args {
    /// The flags as settings.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let text = self.text.as_ref().map(|form| ("mcp.text".to_owned(), form.clone()));
        self.offered.settings().into_iter().chain(text).collect()
    }
}

/// Runs the command until the client closes stdin or a signal comes.
pub(super) async fn run(session: &Session, args: Args) -> Ran {
    let app = &session.app;
    let mut stop = StopSignal::install();
    app.start_background();
    let caller = Caller { project: args.project, ..session.caller(Surface::Stdio)? };
    let serving = serve_stdio(Arc::clone(app), Toolbox::standard(), caller);
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = stop.received() => {
            app.shutdown.cancel();
            serving.await
        }
    };
    app.shutdown.cancel();
    app.stopped().await;
    // stdout belongs to the protocol, so the failure is a log line rather than an answer.
    Ok(ended.map_or_else(
        |fault| {
            let cause = fault.source.as_deref().map(ToString::to_string);
            tracing::error!(cause, "{}", fault.message);
            Exit::Failed
        },
        |()| Exit::Ok,
    ))
}
