//! Entries in answers: in full as long as they fit, else in short, and in pages. No more is read than an answer can hold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::open::usage_of;
use crate::catalog::Catalog;
use contract::{Fault, Warning};
use gate::tools::Call;
use instructions::InstructionEntry;
use platform::sha256;
use store::Project;
use store::instructions::EntrySummaryRow;

/// How much of each entry an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Fields {
    /// id, title, requirement, priority and sourceHash.
    Summary,
    /// All fields.
    Full,
}

/// An entry in a list.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ListedEntry {
    /// With all fields.
    Full(Box<InstructionEntry>),
    /// In short.
    Summary(EntrySummary),
}

/// An entry in short.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EntrySummary {
    id: String,
    title: String,
    requirement: String,
    priority: i16,
    source_hash: String,
}

impl ListedEntry {
    /// Leaves the body out; its hash stays.
    pub(super) fn clear_body(&mut self) {
        if let Self::Full(entry) = self {
            entry.body.clear();
        }
    }
}

impl From<EntrySummaryRow> for ListedEntry {
    fn from(row: EntrySummaryRow) -> Self {
        let EntrySummaryRow { id, title, requirement, priority, source_hash } = row;
        Self::Summary(EntrySummary {
            id,
            title,
            requirement,
            priority,
            source_hash: sha256::to_hex(&source_hash),
        })
    }
}

/// Entries for an answer.
pub(super) struct Page {
    /// The entries.
    pub(super) items: Vec<ListedEntry>,
    /// The id after which the rest begins if not all fit.
    pub(super) next_cursor: Option<String>,
}

/// The first of the entries with these ids, which must exist and be sorted, that fit an answer. If `fields` is not given and not all
/// fit in full, they are shortened.
pub(super) async fn listed(
    call: &Call,
    project: &Project,
    catalog: &mut Catalog,
    ids: &[String],
    fields: Option<Fields>,
) -> Result<Page, Fault> {
    if fields != Some(Fields::Summary) {
        let page = in_full(call, project, catalog, ids).await?;
        if page.next_cursor.is_none() || fields.is_some() {
            return Ok(warned_if_cut(call, page));
        }
        let message = "All fields of all entries do not fit an answer, so they are shown in short. \
            `instructions_get` answers one in full; `limit` and `fields` page through all.";
        call.warn(Warning::new("summarised", message));
    }
    let rows = catalog.summaries(ids).await?;
    Ok(warned_if_cut(call, page(call, ids, rows.into_iter().map(ListedEntry::from))))
}

/// Warns if the page is not all.
fn warned_if_cut(call: &Call, page: Page) -> Page {
    if page.next_cursor.is_some() {
        let message = "The answer is cut at the size limit of answers; `nextCursor` continues it.";
        call.warn(Warning::new("answer_cut", message));
    }
    page
}

async fn in_full(
    call: &Call,
    project: &Project,
    catalog: &mut Catalog,
    ids: &[String],
) -> Result<Page, Fault> {
    let entries = catalog.first_with_ids(ids, call.app.config.search.result_bytes_max).await?;
    let usage = usage_of(call, project, &entries).await?;
    let items = entries.iter().map(|stored| {
        let used = usage.get(&stored.instruction.id).copied();
        ListedEntry::Full(Box::new(InstructionEntry::new(stored, used)))
    });
    Ok(page(call, ids, items))
}

fn page(call: &Call, ids: &[String], items: impl Iterator<Item = ListedEntry>) -> Page {
    let items = fitting(call, items);
    let next_cursor =
        if items.len() < ids.len() { items.len().checked_sub(1).map(|last| ids[last].clone()) } else { None };
    Page { items, next_cursor }
}

/// The first items whose JSON fits the limit of answers; at least one.
pub(super) fn fitting<T: Serialize>(call: &Call, items: impl Iterator<Item = T>) -> Vec<T> {
    let mut rest = call.app.config.search.result_bytes_max;
    let mut fitting = Vec::new();
    for item in items {
        let bytes = serde_json::to_vec(&item).map_or(0, |json| json.len() + 1);
        if bytes > rest && !fitting.is_empty() {
            break;
        }
        rest = rest.saturating_sub(bytes);
        fitting.push(item);
    }
    fitting
}
