//! `instructions/get`: one entry.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::open::{open, usage_by_id};
use super::spec::reading;
use contract::Fault;
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, ToolSpec, schema};
use instructions::InstructionEntry;

pub(super) const TOOL: ToolSpec = reading(
    (
        "instructions_get",
        "instructions/get",
        "Read an instruction",
        "One of the team's instructions for agents, by id, with its text.",
    ),
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, get),
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Id of the entry.
    #[schemars(length(max = 120))]
    id: String,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// Hash of the catalog.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<InstructionEntry>,
    /// True if there is no such entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_found: Option<bool>,
}

async fn get(call: Call, input: Input) -> Result<Output, Fault> {
    let (project, mut catalog) = open(&call, input.project_id.as_deref()).await?;
    let stored = catalog.get(&input.id).await?;
    let hash = catalog.hash();
    catalog.close().await?;
    let Some(stored) = stored else { return Ok(Output { not_found: Some(true), ..Output::default() }) };
    let usage = usage_by_id(&call, &project, vec![input.id.clone()]).await?;
    let item = InstructionEntry::new(&stored, usage.get(&input.id).copied());
    Ok(Output { hash: Some(hash), item: Some(item), not_found: None })
}
