//! `instructions/import`: adds and replaces entries, and sets gates and review criteria.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::open::{require_mutation, writer};
use super::refresh::request_index_run;
use super::spec::curating;
use crate::catalog::{Import, ImportReport, checked_documents};
use contract::{ErrorCode, Fault};
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, Effects, ToolSpec, schema};
use instructions::import::{EntryError, ImportMode};
use platform::sha256;

pub(super) const TOOL: ToolSpec = ToolSpec {
    accepts_nul: true,
    ..curating(
        (
            "instructions_import",
            "instructions/import",
            "Import instructions",
            "Add entries to the team's instructions, or replace them; a broken entry is told and does not stop the others.",
        ),
        Effects::REMOVES,
        schema::generate_schema::<Input>,
        schema::generate_output_schema::<Output>,
        |call, arguments| run_typed(call, arguments, import),
    )
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Entries as `instructions_get` answers them; id, title, body, priority, audience and requirement are needed.
    #[schemars(length(max = 1000), schema_with = "entries_schema")]
    entries: Vec<Value>,
    /// What happens to existing entries; default skip.
    mode: Option<ImportMode>,
    /// Fail unless the catalog has this hash.
    #[schemars(length(max = 64))]
    if_hash: Option<String>,
    /// Fail unless the catalog has this revision.
    if_revision: Option<i64>,
    /// Gates to set.
    #[schemars(schema_with = "schema::any_object")]
    #[serde(default)]
    gates: Option<Value>,
    /// Criteria of prompt reviews to set.
    #[schemars(schema_with = "schema::any_object")]
    #[serde(default)]
    criteria: Option<Value>,
    /// Remove entries that are not given; needs mode overwrite.
    prune: Option<bool>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
}

fn entries_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "array", "items": {}, "maxItems": 1000 })
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// Hash of the catalog.
    hash: String,
    /// New entries.
    imported: usize,
    /// Existing entries that stayed.
    skipped: usize,
    /// Existing entries that were given again.
    overwritten: usize,
    /// Entries that were given.
    total: usize,
    /// Entries that break a rule: id and error.
    #[schemars(schema_with = "schema::any_objects")]
    errors: Vec<EntryError>,
    /// Entries and documents that were written or removed.
    changed: usize,
    /// Revision of the catalog.
    revision: i64,
    /// Removed entries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    removed: Vec<String>,
}

async fn import(call: Call, input: Input) -> Result<Output, Fault> {
    require_mutation(&call)?;
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let mode = input.mode.unwrap_or_default();
    let prune = input.prune == Some(true);
    if prune && mode != ImportMode::Overwrite {
        return Err(invalid("prune", "`prune` needs `mode: \"overwrite\"`."));
    }
    let documents = checked_documents(input.gates, input.criteria)?;
    if input.entries.is_empty() && documents.is_empty() && !prune {
        return Err(invalid("entries", "There is nothing to import: `entries` is empty."));
    }
    call.app.disk_space().require(0).await?;
    let project = call.project_for_writing(project_id).await?;
    let import = Import {
        entries: input.entries,
        mode,
        prune,
        documents,
        if_hash: input.if_hash,
        if_revision: input.if_revision,
        is_all_or_nothing: false,
        action: "instructions/import",
    };
    let ImportReport { imported, skipped, overwritten, total, errors, removed, catalog } =
        writer(&call, &project).await?.import(import).await?;
    if catalog.changed > 0 {
        request_index_run(&call, &project).await;
    }
    Ok(Output {
        hash: sha256::to_hex(&catalog.hash),
        imported,
        skipped,
        overwritten,
        total,
        errors,
        changed: catalog.changed,
        revision: catalog.revision,
        removed,
    })
}

fn invalid(field: &str, message: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message).with_details(json!({ "field": field }))
}
