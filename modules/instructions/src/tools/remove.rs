//! `instructions/remove`: removes entries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::open::{require_mutation, writer};
use super::refresh::request_index_run;
use super::spec::curating;
use crate::catalog::RemoveReport;
use contract::Fault;
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, Effects, ToolSpec, schema};
use platform::sha256;

pub(super) const TOOL: ToolSpec = curating(
    (
        "instructions_remove",
        "instructions/remove",
        "Remove instructions",
        "Remove entries of the team's instructions by id. Their counts of use are kept.",
    ),
    Effects::REMOVES,
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, remove),
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Ids of the entries.
    #[schemars(length(min = 1, max = 1000), inner(length(max = 120)))]
    ids: Vec<String>,
    /// Fail unless the catalog has this hash.
    #[schemars(length(max = 64))]
    if_hash: Option<String>,
    /// Fail unless the catalog has this revision.
    if_revision: Option<i64>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// Hash of the catalog.
    hash: String,
    /// Number of removed entries.
    removed: usize,
    /// Ids without an entry.
    missing: Vec<String>,
    /// Revision of the catalog.
    revision: i64,
}

async fn remove(call: Call, input: Input) -> Result<Output, Fault> {
    require_mutation(&call)?;
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let project = call.project(project_id).await?;
    let RemoveReport { removed, missing, catalog } = writer(&call, &project)
        .await?
        .remove(&input.ids, input.if_hash.as_deref(), input.if_revision)
        .await?;
    if catalog.changed > 0 {
        request_index_run(&call, &project).await;
    }
    Ok(Output {
        hash: sha256::to_hex(&catalog.hash),
        removed: removed.len(),
        missing,
        revision: catalog.revision,
    })
}
