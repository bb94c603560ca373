//! `instructions/diff`: the changes since a client read the catalog.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::listing::{Fields, ListedEntry, Page, listed};
use super::open::open;
use super::spec::reading;
use crate::catalog::Catalog;
use contract::{ErrorCode, Fault};
use gate::app::blocking;
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, ToolSpec, schema};
use instructions::canonical::parse_hash;
use instructions::diff::{Difference, Known, difference};
use store::Project;
use store::instructions::Since;

pub(super) const TOOL: ToolSpec = reading(
    (
        "instructions_diff",
        "instructions/diff",
        "Compare instructions",
        "What changed in the catalog since a client read it: by the hashes that it knows, or by revision.",
    ),
    schema::generate_schema::<DiffInput>,
    schema::generate_output_schema::<DiffOutput>,
    |call, arguments| run_typed(call, arguments, diff),
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct DiffInput {
    #[serde(flatten)]
    #[schemars(flatten)]
    pub(super) client: ClientState,
    /// `revision` of an earlier answer; without `known`.
    pub(super) since_revision: Option<i64>,
    /// Compare only entries whose ids hash to these prefixes; see checksums.
    #[schemars(length(max = 256), inner(regex(pattern = "^[0-9a-f]{1,2}$")))]
    pub(super) buckets: Option<Vec<String>>,
    /// `nextCursor` of the previous page.
    #[schemars(length(max = 120))]
    pub(super) cursor: Option<String>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    pub(super) project_id: Option<ProjectIdArg>,
}

/// What a client has.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientState {
    /// The `hash` that it knows.
    #[schemars(length(max = 64))]
    pub(super) client_hash: Option<String>,
    /// The `metaHash` that it knows.
    #[schemars(length(max = 64))]
    pub(super) client_meta_hash: Option<String>,
    /// The entries that it has.
    #[schemars(length(max = 10_000))]
    pub(super) known: Option<Vec<KnownEntry>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct KnownEntry {
    #[schemars(length(max = 120))]
    id: String,
    #[schemars(length(max = 64))]
    source_hash: String,
    #[schemars(length(max = 64))]
    meta_hash: Option<String>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DiffOutput {
    /// True if nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    up_to_date: Option<bool>,
    /// Hash of the catalog.
    hash: String,
    /// Hash of its metadata.
    meta_hash: String,
    /// Its revision.
    revision: i64,
    /// Entries that the client lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_objects", default)]
    added: Option<Vec<ListedEntry>>,
    /// Entries that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_objects", default)]
    updated: Option<Vec<ListedEntry>>,
    /// Ids of entries that exist no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<Vec<String>>,
    /// All entries, if it is not known what the client has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_objects", default)]
    changed: Option<Vec<ListedEntry>>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

async fn diff(call: Call, input: DiffInput) -> Result<DiffOutput, Fault> {
    let (project, catalog) = open(&call, input.project_id.as_deref()).await?;
    let cursor = input.cursor.unwrap_or_default();
    let buckets = input.buckets.unwrap_or_default();
    compare(&call, &project, catalog, input.client, input.since_revision, &buckets, &cursor).await
}

/// Compares the catalog with what a client has; also the answer of `instructions/repair` with arguments.
pub(super) async fn compare(
    call: &Call,
    project: &Project,
    mut catalog: Catalog,
    client: ClientState,
    since_revision: Option<i64>,
    buckets: &[String],
    cursor: &str,
) -> Result<DiffOutput, Fault> {
    let output = DiffOutput {
        hash: catalog.hash(),
        meta_hash: catalog.meta_hash(),
        revision: catalog.state.revision,
        ..DiffOutput::default()
    };
    match lacking(&mut catalog, client, since_revision, buckets).await? {
        Lacking::Nothing => {
            catalog.close().await?;
            Ok(DiffOutput { up_to_date: Some(true), ..output })
        }
        Lacking::Everything => all(call, project, catalog, output, cursor).await,
        Lacking::Difference(found) => incremental(call, project, catalog, output, found, cursor).await,
    }
}

/// The entries that a client lacks.
pub(super) enum Lacking {
    /// Nothing: it has the catalog's hash.
    Nothing,
    /// All entries: it did not say what it has.
    Everything,
    /// The difference from the client's state; may be empty.
    Difference(Difference),
}

/// Compares the catalog with what a client has.
pub(super) async fn lacking(
    catalog: &mut Catalog,
    client: ClientState,
    since_revision: Option<i64>,
    buckets: &[String],
) -> Result<Lacking, Fault> {
    let is_current = is_current(catalog, &client);
    let found = match (client.known, since_revision) {
        (None, _) if is_current => return Ok(Lacking::Nothing),
        (None, None) => return Ok(Lacking::Everything),
        (None, Some(revision)) => since(catalog, revision).await?,
        (Some(known), _) => {
            let known = known
                .into_iter()
                .map(|entry| Known::new(entry.id, &entry.source_hash, entry.meta_hash.as_deref()));
            let (known, buckets): (Vec<_>, _) = (known.collect(), buckets.to_vec());
            let current = catalog.hashes().await?;
            blocking(move || Ok(difference(&current, &known, &buckets))).await?
        }
    };
    Ok(if found.is_empty() && is_current { Lacking::Nothing } else { Lacking::Difference(found) })
}

/// Returns `true` if the client has the catalog's hash and, if it sent one, its metadata hash.
fn is_current(catalog: &Catalog, client: &ClientState) -> bool {
    let equals = |text: &String, hash| parse_hash(text) == Some(hash);
    client.client_hash.as_ref().is_some_and(|text| equals(text, catalog.state.hash))
        && client.client_meta_hash.as_ref().is_none_or(|text| equals(text, catalog.state.meta_hash))
}

/// All entries.
async fn all(
    call: &Call,
    project: &Project,
    mut catalog: Catalog,
    output: DiffOutput,
    cursor: &str,
) -> Result<DiffOutput, Fault> {
    let ids = after(catalog.ids(None).await?, cursor);
    let Page { items, next_cursor } = listed(call, project, &mut catalog, &ids, Some(Fields::Full)).await?;
    catalog.close().await?;
    Ok(DiffOutput { changed: Some(items), next_cursor, ..output })
}

/// Returns the changes since a revision.
async fn since(catalog: &mut Catalog, revision: i64) -> Result<Difference, Fault> {
    let newest = catalog.state.revision;
    let Some(changed) = catalog.changed_since(revision).await? else {
        let message = format!("What changed since revision {revision} is not known any more.");
        return Err(Fault::new(ErrorCode::IllegalState, message)
            .with_details(json!({ "revision": newest }))
            .with_hint("Leave `sinceRevision` out, or give `known`."));
    };
    let mut found = Difference::default();
    for (id, what) in changed {
        match what {
            Since::Added => found.added.push(id),
            Since::Updated => found.updated.push(id),
            Since::Removed => found.removed.push(id),
            Since::CameAndWent => (),
        }
    }
    Ok(found)
}

/// The difference with its entries, as far as they fit an answer. Pages are in the order of ids over all three lists.
async fn incremental(
    call: &Call,
    project: &Project,
    mut catalog: Catalog,
    output: DiffOutput,
    found: Difference,
    cursor: &str,
) -> Result<DiffOutput, Fault> {
    let is_added: BTreeMap<String, bool> = (found.added.into_iter().map(|id| (id, true)))
        .chain(found.updated.into_iter().map(|id| (id, false)))
        .filter(|(id, _)| id.as_str() > cursor)
        .collect();
    let ids: Vec<String> = is_added.keys().cloned().collect();
    let Page { items, next_cursor } = listed(call, project, &mut catalog, &ids, Some(Fields::Full)).await?;
    catalog.close().await?;
    let is_shown = |id: &String| id.as_str() > cursor && next_cursor.as_ref().is_none_or(|last| id <= last);
    let removed = found.removed.into_iter().filter(is_shown).collect();
    let (added, updated): (Vec<_>, Vec<_>) =
        items.into_iter().zip(ids).partition(|(_, id)| is_added.get(id) == Some(&true));
    let entries =
        |pairs: Vec<(ListedEntry, String)>| Some(pairs.into_iter().map(|(entry, _)| entry).collect());
    Ok(DiffOutput {
        added: entries(added),
        updated: entries(updated),
        removed: Some(removed),
        next_cursor,
        ..output
    })
}

/// The ids after a cursor.
pub(super) fn after(ids: Vec<String>, cursor: &str) -> Vec<String> {
    ids.into_iter().filter(|id| id.as_str() > cursor).collect()
}
