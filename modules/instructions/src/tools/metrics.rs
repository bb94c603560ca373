//! `metrics/snapshot`: the numbers and durations of calls of the catalog's methods.

use schemars::JsonSchema;
use serde::Serialize;

use super::project_input::ProjectInput;
use super::spec::reading;
use crate::method_times::MethodTimes;
use contract::Fault;
use contract::clock::iso_millis;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, ToolSpec, schema};

pub(super) const TOOL: ToolSpec = reading(
    (
        "metrics_snapshot",
        "metrics/snapshot",
        "Metrics of the catalog",
        "How often this process answered each method of the instruction catalog for this project, and how long it took.",
    ),
    schema::generate_schema::<ProjectInput>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, metrics),
);

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// When they were read, UTC.
    generated_at: String,
    /// The methods that were called, by name.
    methods: Vec<MethodMetrics>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MethodMetrics {
    /// Name with slashes.
    method: &'static str,
    /// Calls that ran.
    count: u64,
    /// Mean duration in milliseconds.
    avg_ms: f64,
    /// Longest duration in milliseconds.
    max_ms: f64,
}

async fn metrics(call: Call, input: ProjectInput) -> Result<Output, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    let methods = call.app.state_or_default::<MethodTimes>().of_project(project.id().as_str());
    let rounded = |ms: f64| (ms * 100.0).round() / 100.0;
    let methods = methods.into_iter().map(|(method, times)| MethodMetrics {
        method,
        count: times.count,
        avg_ms: rounded(times.mean_ms()),
        max_ms: rounded(times.max_ms),
    });
    Ok(Output { generated_at: iso_millis(call.app.clock.now()), methods: methods.collect() })
}
