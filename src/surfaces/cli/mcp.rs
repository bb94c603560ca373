//! `mcp`: the Model Context Protocol on stdin and stdout.

use std::sync::Arc;

use super::session::{Exit, Ran, Session, StopSignal};
use crate::surfaces::mcp::serve_stdio;

/// Arguments of `mcp`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// Runs the command until the client closes stdin or a signal comes.
pub(super) async fn run(session: &Session) -> Ran {
    let app = &session.app;
    let mut stop = StopSignal::install();
    app.start_background();
    let serving = serve_stdio(Arc::clone(app), std::env::current_dir().ok());
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = stop.received() => {
            app.shutdown.cancel();
            serving.await
        }
    };
    app.shutdown.cancel();
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
