//! `instructions/diff` as a stream: one event for each entry, so that little memory is needed, however large the catalog is.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::diff::{self, DiffInput, Lacking, after, lacking};
use super::open::usage_of;
use crate::catalog::Catalog;
use contract::{ErrorCode, Fault};
use gate::app::Bulkhead;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, ToolSpec, schema};
use instructions::InstructionEntry;
use store::Project;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "instructions/diff/stream",
    title: "Stream what changed in the instructions",
    description: "What changed in the catalog since a client read it, one event for each entry.",
    // While the client reads, the stream holds neither a slot nor a connection to the database.
    bulkhead: Bulkhead::None,
    timeout: |limits| limits.artifacts_ms,
    method: None,
    output: schema::generate_output_schema::<StreamEnd>,
    run: |call, arguments| run_typed(call, arguments, stream),
    ..diff::TOOL
};

/// Maximum number of entries that are in memory at a time.
const ENTRIES_READ: usize = 32;

/// Content of the event `start`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StreamStart<'a> {
    hash: &'a str,
    meta_hash: String,
    revision: i64,
}

/// Content of the event `done`.
#[derive(Debug, Serialize, JsonSchema)]
struct StreamEnd {
    /// Hash of the catalog, which the client now has.
    hash: String,
}

/// Sends `start`, then `added`, `updated` and `removed`; instead of these `changed` for each entry if the client did not say what
/// it has.
async fn stream(call: Call, input: DiffInput) -> Result<StreamEnd, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    let mut catalog = Catalog::open(call.app.store().await?, &project).await?;
    let buckets = input.buckets.unwrap_or_default();
    let lacking = lacking(&mut catalog, input.client, input.since_revision, &buckets).await?;
    let (hash, revision) = (catalog.hash(), catalog.state.revision);
    let everything = match &lacking {
        Lacking::Everything => catalog.ids(None).await?,
        _ => Vec::new(),
    };
    let meta_hash = catalog.meta_hash();
    catalog.close().await?;
    call.send_event("start", &StreamStart { hash: &hash, meta_hash, revision }).await?;
    let cursor = input.cursor.unwrap_or_default();
    match lacking {
        Lacking::Nothing => {}
        Lacking::Everything => {
            send_entries(&call, &project, revision, "changed", &after(everything, &cursor)).await?;
        }
        Lacking::Difference(found) => {
            for (name, ids) in [("added", found.added), ("updated", found.updated)] {
                send_entries(&call, &project, revision, name, &after(ids, &cursor)).await?;
            }
            for id in after(found.removed, &cursor) {
                call.send_event("removed", &json!({ "id": id })).await?;
            }
        }
    }
    Ok(StreamEnd { hash })
}

/// Sends the entries with these ids, reading a few at a time, each time from the revision that the stream began with.
async fn send_entries(
    call: &Call,
    project: &Project,
    revision: i64,
    name: &'static str,
    ids: &[String],
) -> Result<(), Fault> {
    for ids in ids.chunks(ENTRIES_READ) {
        let mut catalog = Catalog::open(call.app.store().await?, project).await?;
        let is_unchanged = catalog.state.revision == revision;
        let entries = if is_unchanged { catalog.with_ids(ids).await? } else { Vec::new() };
        catalog.close().await?;
        if !is_unchanged {
            let message = "The catalog was changed while it was sent.";
            return Err(
                Fault::new(ErrorCode::IllegalState, message).with_hint("Ask for the difference again.")
            );
        }
        let usage = usage_of(call, project, &entries).await?;
        for stored in entries {
            let used = usage.get(&stored.instruction.id).copied();
            call.send_event(name, &InstructionEntry::new(&stored, used)).await?;
        }
    }
    Ok(())
}
