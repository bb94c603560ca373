//! Writes the collected uses of instructions to the database.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::App;

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
    if app.usage.is_empty() {
        return true;
    }
    let written = async { app.usage.flush(app.store().await?, None).await };
    match written.await {
        Ok(_) => true,
        Err(fault) => {
            tracing::warn!("uses of instructions could not be written: {}", fault.message);
            false
        }
    }
}
