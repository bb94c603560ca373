//! `instructions/repair`: stores the right hashes of entries that were changed in the database, or compares as
//! `instructions/diff` does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diff::{ClientState, DiffOutput, compare};
use super::open::{open, require_mutation, writer};
use super::refresh::request_index_run;
use super::spec::reading;
use super::verify;
use contract::Fault;
use gate::app::Bulkhead;
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, Effects, ToolSpec, schema};
use instructions::diff::catalog_hashes;

pub(super) const TOOL: ToolSpec = ToolSpec {
    effects: Effects::WRITES,
    bulkhead: Bulkhead::Index,
    ..reading(
        (
            "instructions_repair",
            "instructions/repair",
            "Repair instructions",
            "Without arguments: store the right hashes of instructions that were changed in the database. With arguments: \
             as `instructions_diff`.",
        ),
        schema::generate_schema::<Input>,
        schema::generate_output_schema::<Output>,
        |call, arguments| run_typed(call, arguments, repair),
    )
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    #[serde(flatten)]
    #[schemars(flatten)]
    client: ClientState,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum Output {
    /// What was repaired.
    Repaired(Repaired),
    /// What changed since the client read the catalog.
    Difference(Box<DiffOutput>),
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct Repaired {
    /// Number of entries.
    repaired: usize,
    /// Their ids.
    updated: Vec<String>,
}

async fn repair(call: Call, input: Input) -> Result<Output, Fault> {
    let (project, mut catalog) = open(&call, input.project_id.as_deref()).await?;
    if input.client.client_hash.is_some() || input.client.known.is_some() {
        let difference = compare(&call, &project, catalog, input.client, None, &[], "").await?;
        return Ok(Output::Difference(Box::new(difference)));
    }
    let (_, issues) = verify::issues(&mut catalog).await?;
    let is_right = catalog_hashes(&catalog.hashes().await?) == (catalog.state.hash, catalog.state.meta_hash);
    catalog.close().await?;
    if issues.is_empty() && is_right {
        return Ok(Output::Repaired(Repaired::default()));
    }
    require_mutation(&call)?;
    let (updated, _) = writer(&call, &project).await?.repair().await?;
    request_index_run(&call, &project).await;
    Ok(Output::Repaired(Repaired { repaired: updated.len(), updated }))
}
