//! Stores the items of a report as records, in batches with a transaction each. Ingesting the same report again changes nothing.
//!
//! All items are read twice: first for their identity, because a claim counts only if no other item of the report has it, then to be
//! stored. The records of a large report would not fit into memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::clean::{Cleaner, CleaningStats};
use super::identity::{ItemKey, scope_hash};
use super::known_records::{Recognised, recognise};
use super::normalise::{ItemContext, NormalisedItem, normalise_item};
use super::record::{ParsedMeta, Record};
use super::report::{PendingItem, Report};
use super::scanners::PARENT_FIELD;
use super::source::FindingSource;
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault, Warning};
use platform::failpoints;
use platform::task::blocking;
use store::triage::{self, RecordWrite, Related};
use store::{Access, Project, ProjectTx, Store};

/// Items per transaction: enough to be fast, few enough to need little memory and to lose little work if the process is
/// killed.
const BATCH_ITEMS: usize = 250;

/// The destination of a report's records, and the options.
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
    /// `true` if secrets are redacted.
    pub redact: bool,
    /// Source of the time at which records are stored.
    pub clock: &'a dyn Clock,
    /// Fires when the call is cancelled.
    pub cancel: &'a CancellationToken,
    /// Receives the number of items done and the number of all items.
    pub progress: &'a (dyn Fn(usize, usize) + Send + Sync),
}

/// The result of an ingestion.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// Findings that are no longer in the report.
    pub fixed: usize,
    /// Their ids; the first `triage.listed_max`.
    pub fixed_ids: Vec<String>,
    /// Records of older programs that were several findings.
    pub split: Vec<Split>,
    /// Warnings about the report as a whole: it is incomplete, or results were omitted.
    pub warnings: Vec<Warning>,
}

/// A record of an older program in which several findings were stored, one over the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Split {
    /// Its id; it is kept with its decisions.
    pub record_id: String,
    /// The records of its findings now, in the order of the report; the first `triage.listed_max`.
    pub record_ids: Vec<String>,
    /// Whether there are decisions about it. They hold for none of the other records.
    pub decided: bool,
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
    let mut stats = CleaningStats::default();
    let warnings = report.warnings();
    let (reader, items, complete_scopes) = ReportReader::new(&request, report, &mut stats);
    let secrets_redacted = stats.secrets;
    let mut done = IngestReport { total: items.len(), secrets_redacted, warnings, ..IngestReport::default() };
    let keys = read_keys(&request, &reader, &items, &mut done).await?;
    let Recognised { ids, splits } = recognise(request.store, request.project, &keys).await?;
    let readable: Vec<(usize, &String)> = keys.iter().map(|(at, _)| *at).zip(&ids).collect();
    for batch in readable.chunks(BATCH_ITEMS) {
        require_not_cancelled(&request)?;
        let pending: Vec<(PendingItem, String)> =
            batch.iter().map(|(at, id)| (items[*at].clone(), (*id).clone())).collect();
        let batch_reader = reader.clone();
        let read = blocking(move || Ok(batch_reader.read_writes(pending))).await?;
        store_batch(&request, read, &mut done).await?;
        failpoints::reach("triage.stored");
        let at = batch.last().map_or(0, |(at, _)| at + 1);
        (request.progress)((done.total + at) / 2, done.total);
    }
    let listed_max = request.settings.listed_max;
    let former_ids = splits.iter().filter(|split| !split.is_kept).map(|split| split.id.as_str());
    let fixed_before: Vec<&str> = former_ids.collect();
    let item_ids = |items: Vec<usize>| items.into_iter().take(listed_max).map(|at| ids[at].clone()).collect();
    if done.errors == 0 {
        mark_fixed(&request, (&complete_scopes, &reader.related()), (&ids, &fixed_before), &mut done).await?;
    }
    done.record_ids = ids.iter().take(listed_max).cloned().collect();
    let split = splits.into_iter().take(listed_max);
    done.split = split
        .map(|it| Split { record_id: it.id, record_ids: item_ids(it.items), decided: it.is_decided })
        .collect();
    Ok(done)
}

fn require_not_cancelled(request: &IngestRequest<'_>) -> Result<(), Fault> {
    if !request.cancel.is_cancelled() {
        return Ok(());
    }
    let message = "The ingestion was cancelled. Items that were already stored are kept.";
    Err(Fault::new(ErrorCode::Cancelled, message).with_hint("Send the report again."))
}

/// Reads the identity of the items: for each one that can be read, its position and its key.
async fn read_keys(
    request: &IngestRequest<'_>,
    reader: &ReportReader,
    items: &[PendingItem],
    done: &mut IngestReport,
) -> Result<Vec<(usize, ItemKey)>, Fault> {
    let mut keys = Vec::with_capacity(items.len());
    for (number, batch) in items.chunks(BATCH_ITEMS).enumerate() {
        require_not_cancelled(request)?;
        let (first, batch, reader) = (number * BATCH_ITEMS, batch.to_vec(), reader.clone());
        let read = blocking(move || Ok(reader.read_keys(batch))).await?;
        done.secrets_redacted += read.secrets;
        done.errors += read.errors.len();
        let room = request.settings.listed_max.saturating_sub(done.error_details.len());
        done.error_details.extend(read.errors.into_iter().take(room));
        keys.extend(read.keys.into_iter().map(|(at, key)| (first + at, key)));
        (request.progress)(first / 2, done.total);
    }
    Ok(keys)
}

/// Reads a text as a report, without checking its format: the number of items, the records, and the items that could not
/// be read. Without a store, all findings are new.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn read_report(
    text: &[u8],
    source: FindingSource,
    settings: &config::Triage,
) -> (usize, Vec<RecordWrite>, Vec<ItemError>) {
    let (meta, settings) = (Arc::new(ParsedMeta::new(serde_json::Map::new())), settings.clone());
    let Report { text, source, items, .. } = Report::split(text.to_vec(), source);
    let reader = ReportReader { text, source, meta, repo: None, settings, redact: true };
    let read = reader.read_keys(items.clone());
    let mut ids = super::matching::NewIds::default();
    let pending =
        read.keys.iter().filter_map(|(at, key)| Some((items[*at].clone(), ids.next_id(key.whole()?))));
    let writes = reader.read_writes(pending.collect());
    (items.len(), writes, read.errors)
}

/// The keys of a batch of items, by position in it, and the items that could not be read.
#[derive(Default)]
struct BatchKeys {
    keys: Vec<(usize, ItemKey)>,
    errors: Vec<ItemError>,
    secrets: u64,
}

fn cleaner(settings: &config::Triage, redact: bool) -> Cleaner {
    Cleaner { redact, text_bytes_max: settings.text_bytes_max, list_max: settings.list_max }
}

impl ReportReader {
    /// Creates the reader of a report, with its items and its complete scopes.
    fn new(
        request: &IngestRequest<'_>,
        report: Report,
        stats: &mut CleaningStats,
    ) -> (Self, Vec<PendingItem>, BTreeSet<String>) {
        let (settings, redact) = (request.settings.clone(), request.redact);
        let mut meta = request.meta.clone();
        cleaner(&settings, redact).clean_value(&mut meta.0, stats);
        let Report { text, source, items, complete_scopes, .. } = report;
        let reader =
            Self { text, source, meta: Arc::new(meta), repo: request.repo.clone(), settings, redact };
        (reader, items, complete_scopes)
    }

    /// Returns service, environment and repository of items that do not name any.
    fn related(&self) -> Related {
        let mut record = Record::default();
        self.meta.apply(&mut record, self.repo.as_deref());
        record.place_names()
    }

    fn read_keys(&self, items: Vec<PendingItem>) -> BatchKeys {
        let mut batch = BatchKeys::default();
        for (at, item) in items.into_iter().enumerate() {
            let index = item.index;
            let read = self.read_item(item, &mut batch.secrets).and_then(|item| {
                let key = item.key.clone();
                self.to_write(item, String::new()).map(|_| key)
            });
            match read {
                Ok(key) => batch.keys.push((at, key)),
                Err(message) => batch.errors.push(ItemError { index, message }),
            }
        }
        batch
    }

    /// Returns the records of items that [`Self::read_keys`] could read, with these ids.
    fn read_writes(&self, items: Vec<(PendingItem, String)>) -> Vec<RecordWrite> {
        let write = |(item, id)| self.to_write(self.read_item(item, &mut 0)?, id);
        items.into_iter().filter_map(|item| write(item).ok()).collect()
    }

    fn to_write(&self, item: NormalisedItem, id: String) -> Result<RecordWrite, String> {
        let identity = Some(item.key.to_identity());
        let write = item.record.into_write(id, None, self.settings.record_bytes_max)?;
        Ok(RecordWrite { identity, is_fixed: item.is_fixed, ..write })
    }

    fn read_item(&self, item: PendingItem, secrets: &mut u64) -> Result<NormalisedItem, String> {
        if let Some(defect) = item.defect {
            return Err(defect.to_owned());
        }
        let bytes = &self.text[item.bytes];
        if bytes.len() > self.settings.item_bytes_max {
            return Err(format!("it has {} bytes, more than {}", bytes.len(), self.settings.item_bytes_max));
        }
        let mut value: Value =
            serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON: {error}"))?;
        if let (Some(fields), Some(parent)) = (value.as_object_mut(), &item.parent) {
            fields.insert(PARENT_FIELD.to_owned(), Value::Object(parent.fields.clone()));
        }
        let mut stats = CleaningStats::default();
        cleaner(&self.settings, self.redact).clean_value(&mut value, &mut stats);
        *secrets += stats.secrets;
        let context = ItemContext {
            source: self.source,
            meta: &self.meta,
            repo: self.repo.as_deref(),
            keep_raw: self.settings.store_raw_payload,
            run: item.run.as_deref(),
            parent: item.parent.as_deref(),
        };
        let mut normalised = normalise_item(value, context)?;
        if self.source == FindingSource::Sarif {
            // These fields may come from the run, which was not cleaned, and their escapes may have hidden text from the cleaner.
            let cleaner = cleaner(&self.settings, self.redact);
            let mut of_paths = CleaningStats::default();
            for location in &mut normalised.record.locations {
                cleaner.clean_text(&mut location.path, &mut of_paths);
            }
            *secrets += of_paths.secrets;
        }
        if stats.truncated > 0 {
            normalised.record.parse_warnings.push(format!("{} long values were cut", stats.truncated));
        }
        Ok(normalised)
    }
}

async fn store_batch(
    request: &IngestRequest<'_>,
    writes: Vec<RecordWrite>,
    report: &mut IngestReport,
) -> Result<(), Fault> {
    let mut tx = ProjectTx::begin(request.store, request.project, Access::Write).await?;
    let changed = triage::put(&mut tx, &writes, request.clock.now().as_millisecond()).await?;
    tx.commit().await?;
    let new = changed.iter().filter(|(_, new)| *new).count();
    report.written += new;
    report.updated += changed.len() - new;
    report.unchanged += writes.len() - changed.len();
    Ok(())
}

/// Marks the findings that are no longer in the report, and the records of older programs that none of its items matches.
async fn mark_fixed(
    request: &IngestRequest<'_>,
    (scopes, related): (&BTreeSet<String>, &Related),
    (seen, former_ids): (&[String], &[&str]),
    report: &mut IngestReport,
) -> Result<(), Fault> {
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    let now_ms = request.clock.now().as_millisecond();
    for scope in scopes {
        let mut tx = ProjectTx::begin(request.store, request.project, Access::Write).await?;
        let scope = scope_hash(scope);
        let fixed = triage::mark_fixed(&mut tx, (&scope, related), (&seen, former_ids), now_ms).await?;
        tx.commit().await?;
        report.fixed += fixed.len();
        let room = request.settings.listed_max.saturating_sub(report.fixed_ids.len());
        report.fixed_ids.extend(fixed.into_iter().take(room));
    }
    Ok(())
}
