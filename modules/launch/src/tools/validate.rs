//! `launch_validate`: runs the gates over the site as a run has changed it.

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
        "launch_validate",
        "Validate a launch run",
        "Check the pages of a launch run: statements against the code, links, snippets, secrets, layout. Whether they pass is \
         `validation_report.ok`.",
    ),
    Effects::WRITES,
    schema::generate_schema::<RunInput>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, validate),
);

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// Id of the run.
    run_id: String,
    /// Its state now.
    state: RunState,
    /// The report.
    #[serde(flatten)]
    report: ShownReport,
}

async fn validate(call: Call, input: RunInput) -> Result<Output, Fault> {
    let run = RunCall::for_changing(call, input).await?;
    let answer = run.act(Action::Validate).await?;
    // A run that is published is only checked again, and keeps the report with which it was published.
    let report = match answer.report {
        Some(report) => report,
        None => run.report().await?,
    };
    Ok(Output {
        run_id: run.run_id.as_str().to_owned(),
        state: answer.state,
        report: ShownReport::from(report),
    })
}
