//! `gates/evaluate`: checks the catalog against the team's requirements.

use schemars::JsonSchema;
use serde::Serialize;

use super::open::open;
use super::project_input::ProjectInput;
use super::spec::reading;
use crate::catalog::Document;
use contract::Fault;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, ToolSpec, schema};
use instructions::gates::{GateReport, Gates, evaluate};

pub(super) const TOOL: ToolSpec = reading(
    (
        "gates_evaluate",
        "gates/evaluate",
        "Evaluate gates",
        "Check the team's instructions against the gates of the catalog, such as: at least one entry is mandatory.",
    ),
    schema::generate_schema::<ProjectInput>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, gates),
);

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// True if the catalog has no gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_configured: Option<bool>,
    #[serde(flatten)]
    report: Option<GateReport>,
}

async fn gates(call: Call, input: ProjectInput) -> Result<Output, Fault> {
    let (_, mut catalog) = open(&call, input.project_id.as_deref()).await?;
    let Some(text) = catalog.document(Document::Gates).await? else {
        catalog.close().await?;
        return Ok(Output { not_configured: Some(true), ..Output::default() });
    };
    let entries = catalog.all().await?;
    catalog.close().await?;
    let gates = Gates::parse(&text)
        .map_err(|error| Fault::internal("The gates of the catalog are malformed.", error))?;
    let now_ms = call.app.clock.now().as_millisecond();
    let report = gate::app::blocking(move || Ok(evaluate(&gates, &entries, now_ms))).await?;
    Ok(Output { not_configured: None, report: Some(report) })
}
