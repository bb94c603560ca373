//! The audit log: writes every call of a server, and who signs in or is refused, to an append-only table, asynchronously.
//!
//! Answers do not wait for it. Entries are queued; if the database is unavailable until the bounded queue is full, entries are lost, as
//! [`super::Writers`] reports.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::App;
use contract::Fault;
use store::EntryTable;
use store::audit::{self, AuditEntry};

/// Capacity of the queue.
const QUEUE_CAPACITY: usize = 8192;
/// Maximum number of entries in one INSERT.
const BATCH_ENTRIES: usize = 256;
/// The time that an entry waits for others. One transaction for each entry would cost the database as much as a small search.
const BATCH_DELAY: Duration = Duration::from_millis(100);
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
    /// Queues an entry. Drops it if entries are not written at all; lost entries, for example because the queue is full, are counted.
    pub fn record(&self, app: &App, entry: AuditEntry) {
        if self.writing.load(Ordering::Acquire) && self.sender.try_send(entry).is_err() {
            app.writers.audit.lost(app, 1);
        }
    }
}

/// Something that is audited although it is not a call: a sign-in, a refused credential, a webhook.
pub struct Entrance<'a> {
    /// Id of the principal; `nobody` if it is unknown.
    pub principal: &'a str,
    /// Name, or claimed name, of the principal, and its address.
    pub name: String,
    /// `sign-in`, `credential` or `webhook`, in place of a tool.
    pub action: &'static str,
    /// `ok` or an error code.
    pub outcome: &'static str,
    /// Correlation id.
    pub request_id: &'a str,
}

impl App {
    /// Records what came in over HTTP without a call.
    pub fn audit_entrance(&self, entrance: Entrance<'_>) {
        let entry = AuditEntry {
            at_ms: self.clock.now().as_millisecond(),
            principal: entrance.principal.to_owned(),
            name: entrance.name,
            surface: "http",
            tool: entrance.action.to_owned(),
            project_id: None,
            outcome: entrance.outcome,
            duration_ms: 0.0,
            request_id: Some(entrance.request_id.to_owned()),
            query: None,
        };
        self.audit.record(self, entry);
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
        app.writers.audit.write_persistently(&app, &mut batch, &AuditTable(&app)).await;
        if !batch.is_empty() {
            return report_lost(&app, batch.len() + receiver.len()).await;
        }
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
            if !app.writers.audit.write(app, &mut batch, &AuditTable(app)).await {
                return report_lost(app, batch.len() + receiver.len()).await;
            }
        }
        if !running {
            return;
        }
        tokio::time::sleep(DRAIN_POLL).await;
    }
}

/// The audit table.
struct AuditTable<'a>(&'a App);

impl EntryTable<AuditEntry> for AuditTable<'_> {
    fn write<'a>(&'a self, entries: &'a [AuditEntry]) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let mut tx = self.0.store().await?.control().await?;
            audit::append(&mut tx, entries).await?;
            tx.commit().await
        })
    }
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

async fn report_lost(app: &App, entries: usize) {
    if entries > 0 {
        app.writers.audit.lost(app, entries);
        app.writers.audit.note(app).await;
    }
}
