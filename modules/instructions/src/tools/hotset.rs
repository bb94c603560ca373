//! `usage/hotset`: the entries that are used most.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::reading;
use crate::catalog::{Catalog, UsageCounter};
use contract::Fault;
use contract::clock::iso_from_millis;
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, ToolSpec, schema};
use instructions::Usage;

pub(super) const TOOL: ToolSpec = reading(
    (
        "usage_hotset",
        "usage/hotset",
        "Most used instructions",
        "The instructions that agents follow most often, with their counts of use.",
    ),
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, hotset),
);

const LIMIT_DEFAULT: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Most entries of the answer; default 10.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// Hash of the catalog.
    hash: String,
    /// Entries in `items`.
    count: usize,
    /// The limit that applied.
    limit: usize,
    /// The entries, most used first.
    items: Vec<HotEntry>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HotEntry {
    /// Id of the entry.
    id: String,
    /// How often it was used.
    usage_count: u64,
    /// When it was last used, UTC.
    last_used_at: String,
}

async fn hotset(call: Call, input: Input) -> Result<Output, Fault> {
    let limit = input.limit.unwrap_or(LIMIT_DEFAULT);
    let project = call.project(input.project_id.as_deref()).await?;
    let store = call.app.store().await?;
    let mut existing = Vec::new();
    let mut hash = String::new();
    let load = async {
        let mut catalog = Catalog::open(store, &project).await?;
        existing = catalog.ids(None).await?;
        hash = catalog.hash();
        let stored = catalog.usage(None).await?;
        catalog.close().await.map(|()| stored)
    };
    let uses = call.app.state_or_default::<UsageCounter>();
    let used = uses.with_pending(project.id(), load).await?;
    let mut hot: Vec<(String, Usage)> = used
        .into_iter()
        .filter(|(id, usage)| usage.count > 0 && existing.binary_search(id).is_ok())
        .collect();
    hot.sort_by(|(id, usage), (other, of_other)| {
        (Reverse(usage.count), Reverse(usage.last_ms), id).cmp(&(
            Reverse(of_other.count),
            Reverse(of_other.last_ms),
            other,
        ))
    });
    hot.truncate(limit);
    let items: Vec<HotEntry> = hot
        .into_iter()
        .map(|(id, usage)| HotEntry {
            id,
            usage_count: usage.count,
            last_used_at: iso_from_millis(usage.last_ms),
        })
        .collect();
    Ok(Output { hash, count: items.len(), limit, items })
}
