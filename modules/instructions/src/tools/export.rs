//! `instructions/export`: entries to keep elsewhere, with the documents of the catalog if asked for.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::diff::after;
use super::listing::{Fields, ListedEntry, Page, listed};
use super::open::open;
use super::spec::reading;
use crate::catalog::{Catalog, Document};
use contract::Fault;
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, ToolSpec, schema};

pub(super) const TOOL: ToolSpec = reading(
    (
        "instructions_export",
        "instructions/export",
        "Export instructions",
        "Entries of the catalog to keep elsewhere: those with these ids, or all; `instructions_import` takes them back.",
    ),
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, export),
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Only these entries; empty: all.
    #[schemars(length(max = 10_000), inner(length(max = 120)))]
    ids: Option<Vec<String>>,
    /// Leave the bodies empty.
    meta_only: Option<bool>,
    /// Also the gates.
    gates: Option<bool>,
    /// Also the criteria of prompt reviews.
    criteria: Option<bool>,
    /// `nextCursor` of the previous page.
    #[schemars(length(max = 120))]
    cursor: Option<String>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// Hash of the catalog.
    hash: String,
    /// Entries of the export, also those of other pages.
    count: usize,
    /// The entries.
    #[schemars(schema_with = "schema::any_objects")]
    items: Vec<ListedEntry>,
    /// Ids without an entry.
    missing: Vec<String>,
    /// The gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object", default)]
    gates: Option<Value>,
    /// The criteria.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object", default)]
    criteria: Option<Value>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

async fn export(call: Call, input: Input) -> Result<Output, Fault> {
    let (project, mut catalog) = open(&call, input.project_id.as_deref()).await?;
    let mut ids = catalog.ids(None).await?;
    let mut missing = Vec::new();
    if let Some(wanted) = input.ids.filter(|wanted| !wanted.is_empty()) {
        let known: HashSet<&String> = ids.iter().collect();
        missing = wanted.iter().filter(|id| !known.contains(id)).cloned().collect();
        missing.sort();
        missing.dedup();
        let wanted: HashSet<String> = wanted.into_iter().collect();
        ids.retain(|id| wanted.contains(id));
    }
    let count = ids.len();
    let rest = after(ids, &input.cursor.unwrap_or_default());
    let Page { mut items, next_cursor } =
        listed(&call, &project, &mut catalog, &rest, Some(Fields::Full)).await?;
    if input.meta_only == Some(true) {
        items.iter_mut().for_each(ListedEntry::clear_body);
    }
    let gates = document(&mut catalog, Document::Gates, input.gates).await?;
    let criteria = document(&mut catalog, Document::Criteria, input.criteria).await?;
    let hash = catalog.hash();
    catalog.close().await?;
    Ok(Output { hash, count, items, missing, gates, criteria, next_cursor })
}

/// A document of the catalog, if it is wanted and there is one.
async fn document(
    catalog: &mut Catalog,
    document: Document,
    is_wanted: Option<bool>,
) -> Result<Option<Value>, Fault> {
    if is_wanted == Some(true) { catalog.document_json(document).await } else { Ok(None) }
}
