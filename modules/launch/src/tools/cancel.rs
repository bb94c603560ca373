//! `launch_cancel`: ends a run.

use launch::state::RunState;
use schemars::JsonSchema;
use serde::Serialize;

use super::run_call::{RunCall, RunInput};
use super::spec::changing;
use crate::runs;
use contract::Fault;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, Effects, ToolSpec, schema};

pub(crate) const TOOL: ToolSpec = changing(
    (
        "launch_cancel",
        "Cancel a launch run",
        "End a launch run for good. What it wrote stays readable; nothing is published.",
    ),
    Effects::REMOVES,
    schema::generate_schema::<RunInput>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, cancel),
);

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// Id of the run.
    run_id: String,
    /// Always true.
    cancelled: bool,
    /// Always `CANCELLED`.
    state: RunState,
}

async fn cancel(call: Call, input: RunInput) -> Result<Output, Fault> {
    let run = RunCall::for_changing(call, input).await?;
    runs::cancel(&run.request(), run.principal()).await?;
    Ok(Output { run_id: run.run_id.as_str().to_owned(), cancelled: true, state: RunState::Cancelled })
}
