//! Stores the items of a report as records, in batches with a transaction each. Ingesting the same report again changes
//! nothing.

use std::collections::HashMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::clean::{Cleaner, CleaningStats};
use super::normalise::{ItemContext, normalise_item};
use super::record::ParsedMeta;
use super::report::{PendingItem, Report};
use super::source::FindingSource;
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault};
use platform::failpoints;
use platform::task::blocking;
use store::triage::{self, RecordWrite};
use store::{Access, Project, ProjectTx, Store};

/// Items per transaction: enough to be fast, few enough to need little memory and to lose little work if the process is
/// killed.
const BATCH_ITEMS: usize = 250;

/// Where the records of a report are stored, and the options.
pub struct IngestRequest<'a> {
    /// The store that contains the project.
    pub store: &'a Store,
    /// The project of the records; the triage tables must exist.
    pub project: &'a Project,
    /// Fields that apply to all items.
    pub meta: ParsedMeta,
    /// Repository of items that do not name one.
    pub repo: Option<String>,
    /// Size limits.
    pub settings: &'a config::Triage,
    /// Whether to redact secrets.
    pub redact: bool,
    /// Source of the time at which records are stored.
    pub clock: &'a dyn Clock,
    /// Fires when the call is cancelled.
    pub cancel: &'a CancellationToken,
    /// Receives the number of items done and the number of all items.
    pub progress: &'a (dyn Fn(usize, usize) + Send + Sync),
}

/// The result of an ingestion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IngestReport {
    /// Items in the report.
    pub total: usize,
    /// New records.
    pub written: usize,
    /// Records that changed.
    pub updated: usize,
    /// Records that already existed with the same content.
    pub unchanged: usize,
    /// Items that could not be read.
    pub errors: usize,
    /// Redacted secrets.
    pub secrets_redacted: u64,
    /// Ids of the records, in the order of the report; the first `triage.listed_max`.
    pub record_ids: Vec<String>,
    /// The items that could not be read; the first `triage.listed_max`.
    pub error_details: Vec<ItemError>,
}

/// An item that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ItemError {
    /// Its position in the list, or its line, from 0.
    pub index: usize,
    /// What is wrong with it.
    pub message: String,
}

/// Reads items of a report. A clone is moved to the blocking thread of each batch.
#[derive(Clone)]
struct ReportReader {
    text: Arc<Vec<u8>>,
    source: FindingSource,
    meta: Arc<ParsedMeta>,
    repo: Option<String>,
    settings: config::Triage,
    redact: bool,
}

/// Reads the items of a report and stores their records. Committed batches stay, even if a later one fails.
///
/// # Errors
/// `CANCELLED`; storage faults.
pub async fn ingest(request: IngestRequest<'_>, report: Report) -> Result<IngestReport, Fault> {
    let mut meta = request.meta;
    let settings = request.settings;
    let mut stats = CleaningStats::default();
    cleaner(settings, request.redact).clean_value(&mut meta.0, &mut stats);
    let Report { text, source, items: mut pending } = report;
    let reader = ReportReader {
        text,
        source,
        meta: Arc::new(meta),
        repo: request.repo,
        settings: settings.clone(),
        redact: request.redact,
    };
    let mut done =
        IngestReport { total: pending.len(), secrets_redacted: stats.secrets, ..IngestReport::default() };
    let mut at = 0;
    while at < pending.len() {
        if request.cancel.is_cancelled() {
            let message = "The ingestion was cancelled. Items that were already stored are kept.";
            return Err(Fault::new(ErrorCode::Cancelled, message).with_hint("Send the report again."));
        }
        let end = pending.len().min(at + BATCH_ITEMS);
        let items: Vec<PendingItem> = pending[at..end].iter_mut().map(PendingItem::take).collect();
        let batch_reader = reader.clone();
        let batch = blocking(move || Ok(batch_reader.read_batch(items))).await?;
        store_batch(request.store, request.project, request.clock, settings, batch, &mut done).await?;
        failpoints::reach("triage.stored");
        at = end;
        (request.progress)(at, done.total);
    }
    Ok(done)
}

/// Reads a text as a report, without checking its format: the number of items, the records, and the items that could not
/// be read.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn read_report(
    text: &[u8],
    source: FindingSource,
    settings: &config::Triage,
) -> (usize, Vec<RecordWrite>, Vec<ItemError>) {
    let (meta, settings) = (Arc::new(ParsedMeta::new(serde_json::Map::new())), settings.clone());
    let Report { text, source, items } = Report::split(text.to_vec(), source);
    let reader = ReportReader { text, source, meta, repo: None, settings, redact: true };
    let (count, batch) = (items.len(), reader.read_batch(items));
    (count, batch.writes, batch.errors)
}

/// The records and errors of a batch.
#[derive(Default)]
struct Batch {
    writes: Vec<RecordWrite>,
    errors: Vec<ItemError>,
    secrets: u64,
}

fn cleaner(settings: &config::Triage, redact: bool) -> Cleaner {
    Cleaner { redact, text_bytes_max: settings.text_bytes_max, list_max: settings.list_max }
}

impl ReportReader {
    fn read_batch(&self, items: Vec<PendingItem>) -> Batch {
        let mut batch = Batch::default();
        for item in items {
            let index = item.index;
            match self.read_item(item, &mut batch.secrets) {
                Ok(write) => batch.writes.push(write),
                Err(message) => batch.errors.push(ItemError { index, message }),
            }
        }
        batch
    }

    fn read_item(&self, item: PendingItem, secrets: &mut u64) -> Result<RecordWrite, String> {
        if let Some(defect) = item.defect {
            return Err(defect.to_owned());
        }
        let bytes = &self.text[item.bytes];
        if bytes.len() > self.settings.item_bytes_max {
            return Err(format!("it has {} bytes, more than {}", bytes.len(), self.settings.item_bytes_max));
        }
        let mut value: Value =
            serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON: {error}"))?;
        let mut stats = CleaningStats::default();
        cleaner(&self.settings, self.redact).clean_value(&mut value, &mut stats);
        *secrets += stats.secrets;
        let context = ItemContext {
            source: self.source,
            meta: &self.meta,
            repo: self.repo.as_deref(),
            keep_raw: self.settings.store_raw_payload,
            tool: item.tool.as_deref(),
        };
        let mut normalised = normalise_item(value, context)?;
        if stats.truncated > 0 {
            normalised.record.parse_warnings.push(format!("{} long values were cut", stats.truncated));
        }
        normalised.record.into_write(normalised.id, None, self.settings.record_bytes_max)
    }
}

async fn store_batch(
    store: &Store,
    project: &Project,
    clock: &dyn Clock,
    settings: &config::Triage,
    batch: Batch,
    report: &mut IngestReport,
) -> Result<(), Fault> {
    let (mut latest, mut ids): (HashMap<String, RecordWrite>, Vec<String>) = Default::default();
    for write in batch.writes {
        // A report may contain a finding twice; the last item is stored.
        match latest.insert(write.id.clone(), write.clone()) {
            Some(before) if before.content_hash == write.content_hash => report.unchanged += 1,
            Some(_) => report.updated += 1,
            None => ids.push(write.id),
        }
    }
    let writes: Vec<RecordWrite> = ids.iter().filter_map(|id| latest.remove(id)).collect();
    let mut tx = ProjectTx::begin(store, project, Access::Write).await?;
    let changed = triage::put(&mut tx, &writes, clock.now().as_millisecond()).await?;
    tx.commit().await?;
    let new = changed.iter().filter(|(_, new)| *new).count();
    report.written += new;
    report.updated += changed.len() - new;
    report.unchanged += writes.len() - changed.len();
    report.errors += batch.errors.len();
    report.secrets_redacted += batch.secrets;
    let room = settings.listed_max.saturating_sub(report.error_details.len());
    report.error_details.extend(batch.errors.into_iter().take(room));
    let room = settings.listed_max.saturating_sub(report.record_ids.len());
    report.record_ids.extend(ids.into_iter().take(room));
    Ok(())
}
