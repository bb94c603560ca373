//! Who did what: every call of a server, written to an append-only table behind the calls.
//!
//! Writing does not hold answers up. Entries wait in a bounded queue; where the database is away for so long that
//! it is full, entries are lost, which is counted (`pairofcleats_audit_lost_total`) and logged.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::App;
use store::audit::{self, AuditEntry};

/// Entries that wait for the database.
const WAITING_MAX: usize = 8192;
/// Entries a statement.
const BATCH: usize = 256;
/// How long an entry waits for others: a transaction each would cost the database as much as a small search.
const GATHER: Duration = Duration::from_millis(100);
/// Between attempts while the database is away.
const RETRY: Duration = Duration::from_secs(2);
/// Between looks, while the server stops, whether calls still run.
const LAST_LOOKS: Duration = Duration::from_millis(50);
/// Between looks for entries that are too old to keep.
const PRUNE: Duration = Duration::from_secs(3600);

/// The queue before the table.
pub struct Audit {
    /// Entries are taken only while something writes them down.
    writing: AtomicBool,
    sender: mpsc::Sender<AuditEntry>,
    receiver: Mutex<Option<mpsc::Receiver<AuditEntry>>>,
}

impl Default for Audit {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        Self { writing: AtomicBool::new(false), sender, receiver: Mutex::new(Some(receiver)) }
    }
}

impl Audit {
    /// Notes a call; false when it could not be kept.
    #[must_use]
    pub fn note(&self, entry: AuditEntry) -> bool {
        !self.writing.load(Ordering::Acquire) || self.sender.try_send(entry).is_ok()
    }
}

/// Writes entries down until the server stops, and what is waiting then.
pub(super) async fn write(app: Arc<App>) {
    let receiver = app.audit.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut receiver) = receiver.filter(|_| app.config.audit.enabled) else { return };
    app.audit.writing.store(true, Ordering::Release);
    let mut prune = tokio::time::interval(PRUNE);
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        tokio::select! {
            biased;
            _ = receiver.recv_many(&mut batch, BATCH) => gather(&app, &mut receiver, &mut batch).await,
            _ = prune.tick() => {
                drop_old(&app).await;
                continue;
            }
            () = app.shutdown.cancelled() => break,
        }
        while !append(&app, &batch).await {
            if app.shutdown.is_cancelled() {
                return lost(&app, batch.len() + receiver.len());
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = app.shutdown.cancelled() => {}
            }
        }
        batch.clear();
    }
    finish(&app, receiver).await;
    app.audit.writing.store(false, Ordering::Release);
}

/// Waits for more, unless the batch is full or the server stops.
async fn gather(app: &App, receiver: &mut mpsc::Receiver<AuditEntry>, batch: &mut Vec<AuditEntry>) {
    tokio::select! {
        () = tokio::time::sleep(GATHER) => {}
        () = app.shutdown.cancelled() => {}
    }
    while batch.len() < BATCH
        && let Ok(entry) = receiver.try_recv()
    {
        batch.push(entry);
    }
}

/// Writes down what waits, and what calls that still run come to.
async fn finish(app: &App, mut receiver: mpsc::Receiver<AuditEntry>) {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        // Looked at first: what the last call noted is then among what waits.
        let running = app.calls.load(Ordering::Acquire) > 0;
        while !receiver.is_empty() {
            receiver.recv_many(&mut batch, BATCH).await;
            if !append(app, &batch).await {
                return lost(app, batch.len() + receiver.len());
            }
            batch.clear();
        }
        if !running {
            return;
        }
        tokio::time::sleep(LAST_LOOKS).await;
    }
}

async fn append(app: &App, batch: &[AuditEntry]) -> bool {
    let written = async {
        let mut door = app.store().await?.control().await?;
        audit::append(&mut door, batch).await?;
        door.commit().await
    };
    written
        .await
        .inspect_err(|fault| tracing::debug!("the audit table cannot be written: {}", fault.message))
        .is_ok()
}

async fn drop_old(app: &App) {
    let Some(store) = app.opened_store().filter(|_| app.config.audit.keep_days > 0) else { return };
    let pruned = async {
        let mut door = store.control().await?;
        audit::prune(&mut door, app.config.audit.keep_days).await?;
        door.commit().await
    };
    if let Err(fault) = pruned.await {
        tracing::debug!("old audit entries could not be dropped: {}", fault.message);
    }
}

fn lost(app: &App, entries: usize) {
    if entries > 0 {
        tracing::warn!(entries, "audit entries were lost");
        app.metrics.lost_audit(u64::try_from(entries).unwrap_or(u64::MAX));
    }
}
