//! `launch_get_status`: a run as it is now.

use schemars::JsonSchema;
use serde::Serialize;

use super::run_call::{RunCall, RunInput};
use super::run_status::RunStatus;
use super::spec::reading;
use crate::runs;
use contract::Fault;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, ToolSpec, schema};

pub(crate) const TOOL: ToolSpec = reading(
    (
        "launch_get_status",
        "Show a launch run",
        "How far a launch run is: state, sections, open issues, artifacts, and the tools that may be called next.",
    ),
    schema::generate_schema::<RunInput>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, get_status),
);

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// The run.
    status: RunStatus,
}

async fn get_status(call: Call, input: RunInput) -> Result<Output, Fault> {
    let run = RunCall::for_reading(call, &input.run_id, input.project_id.as_deref()).await?;
    let opened = run.open().await?;
    let profile = &opened.snapshot.created.site_profile;
    let freshness = runs::run_freshness(&run.call.app, &run.project, run.run_id.as_str(), profile).await?;
    Ok(Output { status: RunStatus::from(&opened).with_freshness(freshness) })
}
