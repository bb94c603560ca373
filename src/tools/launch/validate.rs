//! `launch_validate`: runs the gates over the site as a run has changed it.

use launch::legality::RunTool;
use launch::report::ValidationReport;
use launch::state::RunState;
use schemars::JsonSchema;
use serde::Serialize;

use super::report::ShownReport;
use super::run_call::{RunCall, RunInput};
use super::spec::changing;
use crate::app::launch::Action;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, schema};
use contract::Fault;

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
    let answer = run.act(RunTool::Validate.as_str(), Action::Validate).await?;
    // A run that is published is only checked again, and keeps the report with which it was published.
    let report: Option<ValidationReport> = match answer.report {
        Some(report) => Some(
            serde_json::from_value(report)
                .map_err(|error| Fault::internal("A validation report could not be read.", error))?,
        ),
        None => run.report().await?,
    };
    let report = report.ok_or_else(|| {
        Fault::internal("A validated run has no report.", "validation_report.json is missing")
    })?;
    Ok(Output {
        run_id: run.run_id.as_str().to_owned(),
        state: answer.state,
        report: ShownReport::from(report),
    })
}
