//! Writes the collected uses of instructions to the database.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::catalog::{UsageCounter, UsesWritten};
use contract::{Fault, ProjectId};
use gate::app::{App, WriterKind};
use platform::telemetry::LostEntries;

/// Interval of retries while the database is unavailable.
const RETRY: Duration = Duration::from_secs(2);
/// During shutdown: interval of checks whether calls are still running.
const DRAIN_POLL: Duration = Duration::from_millis(50);

/// The writer of uses.
pub(crate) static WRITER: WriterKind = WriterKind {
    name: "usage",
    title: "uses of instructions",
    lost: "counts were",
    metric: LostEntries::Usage,
};

/// Writes uses a moment after the first of them, until the process shuts down, and then the rest.
pub(crate) async fn write_uses(app: Arc<App>) {
    let uses = app.state_or_default::<UsageCounter>();
    let delay = Duration::from_millis(app.config.instructions.usage_flush_ms);
    while !app.shutdown.is_cancelled() {
        tokio::select! {
            () = uses.due(delay) => {}
            () = app.shutdown.cancelled() => break,
        }
        while !write(&app).await && !app.shutdown.is_cancelled() {
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = app.shutdown.cancelled() => {}
            }
        }
    }
    while app.calls.load(Ordering::Acquire) > 0 {
        tokio::time::sleep(DRAIN_POLL).await;
    }
    write(&app).await;
}

/// Writes the pending uses once, at the end of a command.
pub(crate) async fn write_rest(app: &App) {
    write(app).await;
}

/// Writes the pending uses; false if some could not be written.
async fn write(app: &App) -> bool {
    app.state_or_default::<UsageCounter>().is_empty() || flush(app, None).await.is_ok()
}

/// Writes the pending uses of a project, or of all; returns how many entries they are about. The [`Writers`](gate::app::Writers) report
/// what could not be written.
///
/// # Errors
/// Storage faults; what could not be written stays pending.
pub(crate) async fn flush(app: &App, only: Option<&ProjectId>) -> Result<usize, Fault> {
    let writer = app.writers.of_kind(&WRITER);
    let uses = app.state_or_default::<UsageCounter>();
    let end = match app.store().await {
        Ok(store) => uses.flush(store, only).await,
        Err(fault) => UsesWritten { stopped: Some(fault), ..UsesWritten::default() },
    };
    for fault in &end.refused {
        writer.refused(app, fault);
    }
    match &end.stopped {
        Some(fault) => writer.stopped(app, fault),
        None => writer.wrote(),
    }
    writer.note(app).await;
    end.stopped.map_or(Ok(end.written), Err)
}
