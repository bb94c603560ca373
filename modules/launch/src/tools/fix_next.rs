//! `launch_fix_next`: fixes one issue of a run, and validates again.

use launch::state::RunState;
use schemars::JsonSchema;
use serde::Serialize;

use super::report::ShownReport;
use super::run_call::{RunCall, RunInput};
use super::spec::changing;
use crate::runs::Action;
use contract::Fault;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, Effects, ToolSpec, schema};

pub(crate) const TOOL: ToolSpec = changing(
    (
        "launch_fix_next",
        "Fix the next issue of a launch run",
        "Repair the worst issue of a launch run that can be repaired, and validate again. Each call repairs one, until none is left or \
         the attempts are used up.",
    ),
    Effects { idempotent: false, ..Effects::WRITES },
    schema::generate_schema::<RunInput>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, fix_next),
);

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// Id of the run.
    run_id: String,
    /// Its state now.
    state: RunState,
    /// The issue that was fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed_issue_id: Option<String>,
    /// The patches that fixed it.
    applied_patch_ids: Vec<String>,
    /// The report afterwards.
    #[serde(flatten)]
    report: ShownReport,
}

async fn fix_next(call: Call, input: RunInput) -> Result<Output, Fault> {
    let run = RunCall::for_changing(call, input).await?;
    let answer = run.act(Action::Fix).await?;
    let report = run.report().await?;
    Ok(Output {
        run_id: run.run_id.as_str().to_owned(),
        state: answer.state,
        fixed_issue_id: answer.fixed_issue_id,
        applied_patch_ids: answer.applied_patch_ids,
        report: ShownReport::from(report),
    })
}
