//! Writes the collected uses of instructions to the database.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::App;
use crate::catalog::UsesWritten;
use contract::{Fault, ProjectId};

/// Interval of retries while the database is unavailable.
const RETRY: Duration = Duration::from_secs(2);
/// During shutdown: interval of checks whether calls are still running.
const DRAIN_POLL: Duration = Duration::from_millis(50);

/// Writes uses a moment after the first of them, until the process shuts down, and then the rest.
pub(super) async fn write_uses(app: Arc<App>) {
    let delay = Duration::from_millis(app.config.instructions.usage_flush_ms);
    while !app.shutdown.is_cancelled() {
        tokio::select! {
            () = app.usage.due(delay) => {}
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

/// Writes the pending uses; false if some could not be written.
pub(super) async fn write(app: &App) -> bool {
    app.usage.is_empty() || flush(app, None).await.is_ok()
}

/// Writes the pending uses of a project, or of all; returns how many entries they are about. [`super::Writers`] reports what could not be
/// written.
///
/// # Errors
/// Storage faults; what could not be written stays pending.
pub(super) async fn flush(app: &App, only: Option<&ProjectId>) -> Result<usize, Fault> {
    let writer = &app.writers.usage;
    let end = match app.store().await {
        Ok(store) => app.usage.flush(store, only).await,
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
