//! `usage/flush`: writes counts of use at once.

use schemars::JsonSchema;
use serde::Serialize;

use super::open::require_mutation;
use super::project_input::ProjectInput;
use super::spec::curating;
use crate::usage_writer;
use contract::Fault;
use gate::app::Bulkhead;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, Effects, ToolSpec, schema};

pub(super) const TOOL: ToolSpec = ToolSpec {
    bulkhead: Bulkhead::Search,
    ..curating(
        (
            "usage_flush",
            "usage/flush",
            "Write counts of use",
            "Write the counts of use now instead of a moment later.",
        ),
        Effects::WRITES,
        schema::generate_schema::<ProjectInput>,
        schema::generate_output_schema::<Output>,
        |call, arguments| run_typed(call, arguments, flush),
    )
};

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// True.
    flushed: bool,
    /// Entries whose counts were written.
    written: usize,
}

async fn flush(call: Call, input: ProjectInput) -> Result<Output, Fault> {
    require_mutation(&call)?;
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let project = call.project(project_id).await?;
    let written = usage_writer::flush(&call.app, Some(project.id())).await?;
    Ok(Output { flushed: true, written })
}
