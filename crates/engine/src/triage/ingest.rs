//! A report to stored records: item by item, in bounded steps, each committed by itself. A second time changes nothing.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::clean::{Cleaner, Taken};
use super::normalise::sarif::Tool;
use super::normalise::{Context, normalise};
use super::record::ParsedMeta;
use super::source::Source;
use super::split::{self, Item, split};
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault};
use platform::failpoints;
use store::triage::{self, RecordWrite};
use store::{Access, Project, ProjectTx, Store};

/// Records a transaction: enough to be fast, few enough that memory holds little and a kill costs little.
const STEP: usize = 250;

/// What is to be read, and how.
pub struct Ingestion<'a> {
    /// The database.
    pub store: &'a Store,
    /// Where the records go; its tables are there.
    pub project: &'a Project,
    /// The format.
    pub source: Source,
    /// What the caller says of all items.
    pub meta: ParsedMeta,
    /// What the repository is called where nobody says.
    pub repo: Option<String>,
    /// Limits.
    pub settings: &'a config::Triage,
    /// Whether secrets are replaced.
    pub redact: bool,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Fires when the caller leaves.
    pub cancel: &'a CancellationToken,
    /// Hears how many of how many items are done.
    pub progress: &'a (dyn Fn(usize, usize) + Send + Sync),
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ingested {
    /// Items in the report.
    pub total: usize,
    /// New records.
    pub written: usize,
    /// Records that changed.
    pub updated: usize,
    /// Records that were there already, with the same content.
    pub unchanged: usize,
    /// Items that are no records.
    pub errors: usize,
    /// Secrets replaced.
    pub secrets_redacted: u64,
    /// Ids of the records, in the order of the report; the first `triage.listed_max`.
    pub record_ids: Vec<String>,
    /// What is wrong with the items that are no records; the first `triage.listed_max`.
    pub error_details: Vec<ItemError>,
}

/// What is wrong with an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ItemError {
    /// Its position in the list, or its line, from 0.
    pub index: usize,
    /// What is wrong with it.
    pub message: String,
}

/// One item that waits.
struct Due {
    index: usize,
    bytes: Range<usize>,
    tool: Option<Arc<Tool>>,
    /// Found while the report was split.
    wrong: Option<&'static str>,
}

/// What a step works with; it belongs to a thread of its own.
#[derive(Clone)]
struct Reader {
    text: Arc<Vec<u8>>,
    source: Source,
    meta: Arc<ParsedMeta>,
    repo: Option<String>,
    settings: config::Triage,
    redact: bool,
}

/// Reads `text` and stores its records. What is committed stays, whenever it ends.
///
/// # Errors
/// `INVALID_REQUEST` when it holds more items than are allowed; `CANCELLED`; storage faults.
pub async fn ingest(ingestion: Ingestion<'_>, text: Vec<u8>) -> Result<Ingested, Fault> {
    let mut meta = ingestion.meta;
    let settings = ingestion.settings;
    let mut taken = Taken::default();
    cleaner(settings, ingestion.redact).value(&mut meta.0, &mut taken);
    let reader = Reader {
        text: Arc::new(text),
        source: ingestion.source,
        meta: Arc::new(meta),
        repo: ingestion.repo,
        settings: settings.clone(),
        redact: ingestion.redact,
    };
    let splitting = reader.clone();
    let mut due = blocking(move || splitting.split()).await?;
    let mut done = Ingested { total: due.len(), ..Ingested::default() };
    if due.len() > settings.items_max {
        let message = format!("The report holds {} items, more than {}.", due.len(), settings.items_max);
        return Err(Fault::new(ErrorCode::InvalidRequest, message)
            .with_hint("Send it in parts, or raise triage.items_max."));
    }
    done.secrets_redacted = taken.secrets;
    let mut at = 0;
    while at < due.len() {
        if ingestion.cancel.is_cancelled() {
            let message = "The ingestion was cancelled; what was committed stays.";
            return Err(Fault::new(ErrorCode::Cancelled, message).with_hint("Send the report again."));
        }
        let end = due.len().min(at + STEP);
        let items: Vec<Due> = due[at..end].iter_mut().map(Due::take).collect();
        let reading = reader.clone();
        let step = blocking(move || reading.step(items)).await?;
        store_step(ingestion.store, ingestion.project, ingestion.clock, settings, step, &mut done).await?;
        failpoints::reach("triage.stored");
        at = end;
        (ingestion.progress)(at, done.total);
    }
    Ok(done)
}

/// How many items a report has, the records that they are, and what is wrong with the others.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn read_all(
    text: &[u8],
    source: Source,
    settings: &config::Triage,
) -> (usize, Vec<RecordWrite>, Vec<ItemError>) {
    let (meta, settings) = (Arc::new(ParsedMeta::new(serde_json::Map::new())), settings.clone());
    let reader = Reader { text: Arc::new(text.to_vec()), source, meta, repo: None, settings, redact: true };
    let due = reader.split();
    let (items, step) = (due.len(), reader.step(due));
    (items, step.writes, step.errors)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
    let working = tokio::task::spawn_blocking(work);
    working.await.map_err(|error| Fault::internal("Reading the report failed unexpectedly.", error))
}

impl Due {
    fn take(&mut self) -> Self {
        Self { index: self.index, bytes: self.bytes.clone(), tool: self.tool.take(), wrong: self.wrong }
    }
}

/// Records and errors of some items.
#[derive(Default)]
struct Step {
    writes: Vec<RecordWrite>,
    errors: Vec<ItemError>,
    secrets: u64,
}

fn cleaner(settings: &config::Triage, redact: bool) -> Cleaner {
    Cleaner { redact, text_bytes_max: settings.text_bytes_max, list_max: settings.list_max }
}

impl Reader {
    fn split(&self) -> Vec<Due> {
        let (_, items) = split(&self.text);
        let due = |Item { index, bytes }| Due { index, bytes, tool: None, wrong: None };
        if self.source != Source::Sarif {
            return items.into_iter().map(due).collect();
        }
        let mut results = Vec::new();
        for run in items {
            self.results(run, &mut results);
        }
        results
    }

    /// The results of a run of a SARIF log, counted over all runs.
    fn results(&self, run: Item, due: &mut Vec<Due>) {
        let at = run.bytes.start;
        let field = |name: &str| split::field(&self.text, at, name);
        let mut push = |bytes, tool, wrong| due.push(Due { index: due.len(), bytes, tool, wrong });
        if self.text.get(at) != Some(&b'{') {
            return push(run.bytes, None, Some("a run must be an object"));
        }
        let Some(results) = field("results") else {
            // A result that came without its log; a run that found nothing has none.
            if field("message").is_some() || field("ruleId").is_some() {
                push(run.bytes, None, None);
            }
            return;
        };
        let tool = field("tool").and_then(|bytes| serde_json::from_slice::<Value>(&self.text[bytes]).ok());
        let tool = Arc::new(tool.as_ref().map(Tool::of).unwrap_or_default());
        match self.text.get(results.start) {
            Some(b'[') => {
                for Item { bytes, .. } in split::elements(&self.text, results.start) {
                    push(bytes, Some(Arc::clone(&tool)), None);
                }
            }
            // null: the run did not look.
            Some(b'n') => {}
            _ => push(results, None, Some("`results` must be a list")),
        }
    }

    fn step(&self, items: Vec<Due>) -> Step {
        let mut step = Step::default();
        for item in items {
            let index = item.index;
            match self.write(item, &mut step.secrets) {
                Ok(write) => step.writes.push(write),
                Err(message) => step.errors.push(ItemError { index, message }),
            }
        }
        step
    }

    fn write(&self, item: Due, secrets: &mut u64) -> Result<RecordWrite, String> {
        if let Some(wrong) = item.wrong {
            return Err(wrong.to_owned());
        }
        let bytes = &self.text[item.bytes];
        if bytes.len() > self.settings.item_bytes_max {
            return Err(format!("it has {} bytes, more than {}", bytes.len(), self.settings.item_bytes_max));
        }
        let mut value: Value =
            serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON: {error}"))?;
        let mut taken = Taken::default();
        cleaner(&self.settings, self.redact).value(&mut value, &mut taken);
        *secrets += taken.secrets;
        let context = Context {
            source: self.source,
            meta: &self.meta,
            repo: self.repo.as_deref(),
            keep_raw: self.settings.store_raw_payload,
            tool: item.tool.as_deref(),
        };
        let mut found = normalise(value, context)?;
        if taken.cut > 0 {
            found.record.parse_warnings.push(format!("{} long values were cut", taken.cut));
        }
        found.record.into_write(found.id, None, self.settings.record_bytes_max)
    }
}

async fn store_step(
    store: &Store,
    project: &Project,
    clock: &dyn Clock,
    settings: &config::Triage,
    step: Step,
    done: &mut Ingested,
) -> Result<(), Fault> {
    let (mut latest, mut order): (HashMap<String, RecordWrite>, Vec<String>) = Default::default();
    for write in step.writes {
        // A report may tell of one thing twice; what it says last counts.
        match latest.insert(write.id.clone(), write.clone()) {
            Some(before) if before.content_hash == write.content_hash => done.unchanged += 1,
            Some(_) => done.updated += 1,
            None => order.push(write.id),
        }
    }
    let writes: Vec<RecordWrite> = order.iter().filter_map(|id| latest.remove(id)).collect();
    let mut tx = ProjectTx::begin(store, project, Access::Write).await?;
    let changed = triage::put(&mut tx, &writes, clock.now().as_millisecond()).await?;
    tx.commit().await?;
    let new = changed.iter().filter(|(_, new)| *new).count();
    done.written += new;
    done.updated += changed.len() - new;
    done.unchanged += writes.len() - changed.len();
    done.errors += step.errors.len();
    done.secrets_redacted += step.secrets;
    let room = settings.listed_max.saturating_sub(done.error_details.len());
    done.error_details.extend(step.errors.into_iter().take(room));
    let room = settings.listed_max.saturating_sub(done.record_ids.len());
    done.record_ids.extend(order.into_iter().take(room));
    Ok(())
}
