//! Entries in answers: in full as long as they fit, else in short, and in pages.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::open::usage_of;
use crate::tools::Call;
use contract::{Fault, Warning};
use instructions::{InstructionEntry, Requirement, Stored, Usage};
use platform::sha256;
use store::Project;

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
    requirement: Requirement,
    priority: u8,
    source_hash: String,
}

impl ListedEntry {
    /// Leaves the body out; its hash stays.
    pub(super) fn clear_body(&mut self) {
        if let Self::Full(entry) = self {
            entry.body.clear();
        }
    }

    fn new(stored: &Stored, usage: Option<Usage>, fields: Fields) -> Self {
        match fields {
            Fields::Full => Self::Full(Box::new(InstructionEntry::new(stored, usage))),
            Fields::Summary => Self::Summary(EntrySummary {
                id: stored.instruction.id.clone(),
                title: stored.instruction.title.clone(),
                requirement: stored.instruction.requirement,
                priority: stored.instruction.priority,
                source_hash: sha256::to_hex(&stored.source_hash),
            }),
        }
    }
}

/// Whether `entries` is so large that an answer with all fields exceeds the limit of answers.
pub(super) fn exceeds_limit(call: &Call, entries: &[Stored]) -> bool {
    let bytes: usize = entries.iter().map(full_bytes).sum();
    bytes > call.app.config.search.result_bytes_max
}

/// About the bytes of an entry in an answer.
fn full_bytes(stored: &Stored) -> usize {
    /// Names of fields, hashes and times.
    const FRAME: usize = 420;
    let entry = &stored.instruction;
    let text = entry.body.len() + entry.title.len() + entry.rationale.as_ref().map_or(0, String::len);
    FRAME + text + entry.categories.iter().map(|category| category.len() + 3).sum::<usize>()
}

/// Entries for an answer, and the id after which the rest begins if they do not fit.
pub(super) struct Page {
    /// The entries.
    pub(super) items: Vec<ListedEntry>,
    /// Cursor of the next page.
    pub(super) next_cursor: Option<String>,
}

/// The entries that fit an answer. If `fields` is not given, those that do not fit in full are all shortened.
pub(super) async fn listed(
    call: &Call,
    project: &Project,
    entries: &[Stored],
    fields: Option<Fields>,
) -> Result<Page, Fault> {
    let fields = match fields {
        Some(fields) => fields,
        None if exceeds_limit(call, entries) => {
            let message = "All fields of all entries do not fit an answer, so they are shown in short. \
                `instructions_get` answers one in full; `limit` and `fields` page through all.";
            call.warn(Warning::new("summarised", message));
            Fields::Summary
        }
        None => Fields::Full,
    };
    let usage = match fields {
        Fields::Full => usage_of(call, project, entries).await?,
        Fields::Summary => BTreeMap::new(),
    };
    let item = |stored: &Stored| {
        let usage = usage.get(&stored.instruction.id).copied();
        ListedEntry::new(stored, usage, fields)
    };
    Ok(fitting(call, entries, item))
}

/// The first entries whose JSON fits the limit of answers; at least one.
pub(super) fn fitting(call: &Call, entries: &[Stored], item: impl Fn(&Stored) -> ListedEntry) -> Page {
    let mut rest = call.app.config.search.result_bytes_max;
    let mut items = Vec::new();
    for (at, stored) in entries.iter().enumerate() {
        let item = item(stored);
        let bytes = serde_json::to_vec(&item).map_or(0, |json| json.len() + 1);
        if bytes > rest && at > 0 {
            let next_cursor = Some(entries[at - 1].instruction.id.clone());
            let message = "The answer is cut at the size limit of answers; `nextCursor` continues it.";
            call.warn(Warning::new("answer_cut", message));
            return Page { items, next_cursor };
        }
        rest = rest.saturating_sub(bytes);
        items.push(item);
    }
    Page { items, next_cursor: None }
}

/// All entries in full that fit an answer.
pub(super) async fn in_full(call: &Call, project: &Project, entries: &[Stored]) -> Result<Page, Fault> {
    listed(call, project, entries, Some(Fields::Full)).await
}
