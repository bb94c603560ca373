//! The audit log: writes every call of a server to an append-only table, asynchronously.
//!
//! Answers do not wait for it. Entries are queued; if the database is unavailable until the bounded queue is full, entries are lost,
//! which is counted (`pairofcleats_audit_lost_total`) and logged.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::App;
use store::audit::{self, AuditEntry};

/// Capacity of the queue.
const QUEUE_CAPACITY: usize = 8192;
/// Maximum number of entries in one INSERT.
const BATCH_ENTRIES: usize = 256;
/// How long an entry waits for others. One transaction for each entry would cost the database as much as a small search.
const BATCH_DELAY: Duration = Duration::from_millis(100);
/// Interval of retries while the database is unavailable.
const RETRY: Duration = Duration::from_secs(2);
/// During shutdown: interval of checks whether calls are still running.
const DRAIN_POLL: Duration = Duration::from_millis(50);
/// Interval of deleting expired entries.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3600);

/// The queue of entries to write.
pub struct Audit {
    /// Entries are accepted only while the writer task runs.
    writing: AtomicBool,
    sender: mpsc::Sender<AuditEntry>,
    receiver: Mutex<Option<mpsc::Receiver<AuditEntry>>>,
}

impl Default for Audit {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        Self { writing: AtomicBool::new(false), sender, receiver: Mutex::new(Some(receiver)) }
    }
}

impl Audit {
    /// Queues an entry; false if it was lost, for example because the queue is full. Drops it and returns true if entries are
    /// not written at all.
    #[must_use]
    pub fn record(&self, entry: AuditEntry) -> bool {
        !self.writing.load(Ordering::Acquire) || self.sender.try_send(entry).is_ok()
    }
}

/// Writes queued entries until the server shuts down, then the remaining ones.
pub(super) async fn write_entries(app: Arc<App>) {
    let receiver = app.audit.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut receiver) = receiver.filter(|_| app.config.audit.enabled) else { return };
    app.audit.writing.store(true, Ordering::Release);
    let mut prune = tokio::time::interval(PRUNE_INTERVAL);
    let mut batch = Vec::with_capacity(BATCH_ENTRIES);
    loop {
        tokio::select! {
            biased;
            _ = receiver.recv_many(&mut batch, BATCH_ENTRIES) => fill_batch(&app, &mut receiver, &mut batch).await,
            _ = prune.tick() => {
                prune_old(&app).await;
                continue;
            }
            () = app.shutdown.cancelled() => break,
        }
        while !append(&app, &batch).await {
            if app.shutdown.is_cancelled() {
                return report_lost(&app, batch.len() + receiver.len());
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = app.shutdown.cancelled() => {}
            }
        }
        batch.clear();
    }
    write_remaining(&app, receiver).await;
    app.audit.writing.store(false, Ordering::Release);
}

/// Waits briefly for further entries, unless the batch is full or the server shuts down.
async fn fill_batch(app: &App, receiver: &mut mpsc::Receiver<AuditEntry>, batch: &mut Vec<AuditEntry>) {
    tokio::select! {
        () = tokio::time::sleep(BATCH_DELAY) => {}
        () = app.shutdown.cancelled() => {}
    }
    while batch.len() < BATCH_ENTRIES
        && let Ok(entry) = receiver.try_recv()
    {
        batch.push(entry);
    }
}

/// Writes the remaining entries, including those of calls that are still running.
async fn write_remaining(app: &App, mut receiver: mpsc::Receiver<AuditEntry>) {
    let mut batch = Vec::with_capacity(BATCH_ENTRIES);
    loop {
        // Checked before draining, so that the entry of the last call is already in the queue.
        let running = app.calls.load(Ordering::Acquire) > 0;
        while !receiver.is_empty() {
            receiver.recv_many(&mut batch, BATCH_ENTRIES).await;
            if !append(app, &batch).await {
                return report_lost(app, batch.len() + receiver.len());
            }
            batch.clear();
        }
        if !running {
            return;
        }
        tokio::time::sleep(DRAIN_POLL).await;
    }
}

async fn append(app: &App, batch: &[AuditEntry]) -> bool {
    let written = async {
        let mut tx = app.store().await?.control().await?;
        audit::append(&mut tx, batch).await?;
        tx.commit().await
    };
    written
        .await
        .inspect_err(|fault| tracing::debug!("the audit table could not be written: {}", fault.message))
        .is_ok()
}

async fn prune_old(app: &App) {
    let Some(store) = app.opened_store().filter(|_| app.config.audit.keep_days > 0) else { return };
    let pruned = async {
        let mut tx = store.control().await?;
        audit::prune(&mut tx, app.config.audit.keep_days).await?;
        tx.commit().await
    };
    if let Err(fault) = pruned.await {
        tracing::debug!("old audit entries could not be deleted: {}", fault.message);
    }
}

fn report_lost(app: &App, entries: usize) {
    if entries > 0 {
        tracing::warn!(entries, "audit entries were lost");
        app.metrics.record_lost_audit_entries(u64::try_from(entries).unwrap_or(u64::MAX));
    }
}
