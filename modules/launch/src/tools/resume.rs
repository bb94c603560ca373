//! `launch_resume`: continues a run to its next boundary.

use schemars::JsonSchema;
use serde::Serialize;

use super::run_call::{RunCall, RunInput};
use super::run_status::RunStatus;
use super::spec::changing;
use crate::runs::Action;
use contract::Fault;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, Effects, ToolSpec, schema};

pub(crate) const TOOL: ToolSpec = changing(
    (
        "launch_resume",
        "Continue a launch run",
        "Continue a launch run to its next boundary: the plan, the drafts, the validated pages. Also after the process that worked on \
         it was killed.",
    ),
    // Each call goes one boundary further.
    Effects { idempotent: false, ..Effects::WRITES },
    schema::generate_schema::<RunInput>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, resume),
);

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// The run afterwards.
    status: RunStatus,
}

async fn resume(call: Call, input: RunInput) -> Result<Output, Fault> {
    let run = RunCall::for_changing(call, input).await?;
    run.act(Action::Advance).await?;
    Ok(Output { status: RunStatus::from(&run.open().await?) })
}
