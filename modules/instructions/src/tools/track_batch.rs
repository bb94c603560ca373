//! `usage/track_batch`: counts uses of several entries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::open::{open, usage_by_id};
use super::spec::reading;
use crate::catalog::UsageCounter;
use crate::usage_writer;
use contract::Fault;
use contract::clock::iso_from_millis;
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, Effects, ToolSpec, schema};

pub(super) const TOOL: ToolSpec = ToolSpec {
    effects: Effects { idempotent: false, ..Effects::WRITES },
    ..reading(
        (
            "usage_track_batch",
            "usage/track_batch",
            "Count uses",
            "Say which instructions you followed and how often: their counts of use go up.",
        ),
        schema::generate_schema::<Input>,
        schema::generate_output_schema::<Output>,
        |call, arguments| run_typed(call, arguments, track_batch),
    )
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The entries that were used.
    #[schemars(length(min = 1, max = 1000))]
    items: Vec<UsedEntry>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UsedEntry {
    /// Id of the entry.
    #[schemars(length(min = 1, max = 120))]
    id: String,
    /// How often; default 1.
    #[schemars(range(min = 1, max = 1000))]
    count: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// Entries that exist.
    tracked: usize,
    /// One result for each item.
    results: Vec<Tracked>,
}

/// The count of an entry after a use.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tracked {
    /// Id of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// How often it was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage_count: Option<u64>,
    /// When it was last used, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<String>,
    /// True if there is no such entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_found: Option<bool>,
}

async fn track_batch(call: Call, input: Input) -> Result<Output, Fault> {
    let uses = input.items.into_iter().map(|used| (used.id, used.count.unwrap_or(1))).collect();
    let results = track(&call, input.project_id.as_deref(), uses).await?;
    let tracked = results.iter().filter(|result| result.not_found.is_none()).count();
    Ok(Output { tracked, results })
}

/// Counts uses of the entries that exist.
pub(super) async fn track(
    call: &Call,
    project_id: Option<&str>,
    uses: Vec<(String, u32)>,
) -> Result<Vec<Tracked>, Fault> {
    call.allowed_project(project_id).await?;
    let (project, mut catalog) = open(call, project_id).await?;
    let ids: Vec<String> = uses.iter().map(|(id, _)| id.clone()).collect();
    let existing = catalog.existing_ids(&ids).await?;
    catalog.close().await?;
    let known: Vec<(String, u32)> =
        uses.into_iter().filter(|(id, _)| existing.binary_search(id).is_ok()).collect();
    let app = &call.app;
    let uses = app.state_or_default::<UsageCounter>();
    if uses.add(&project, &known, app.clock.now().as_millisecond()) {
        usage_writer::flush(app, Some(project.id())).await?;
    }
    let usage = usage_by_id(call, &project, existing).await?;
    let tracked = |id: String| match usage.get(&id) {
        None => Tracked { not_found: Some(true), ..Tracked::default() },
        Some(usage) => Tracked {
            id: Some(id),
            usage_count: Some(usage.count),
            last_used_at: Some(iso_from_millis(usage.last_ms)),
            not_found: None,
        },
    };
    Ok(ids.into_iter().map(tracked).collect())
}
