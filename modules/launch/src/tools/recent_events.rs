//! The last events of a run, for pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::run_call::RunCall;
use super::spec::reading;
use crate::runs;
use contract::Fault;
use gate::tools::for_modules::ProjectIdArg;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, ToolSpec, schema};

pub(crate) const TOOL: ToolSpec = reading(
    ("launch/recent_events", "Show the last events of a launch run", "What happened last in a launch run."),
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<RecentEvents>,
    |call, arguments| run_typed(call, arguments, recent_events),
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Id of the run.
    run_id: String,
    /// Most events.
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

/// The last events of a run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RecentEvents {
    /// The newest first, each as the log has it.
    pub(crate) events: Vec<Value>,
}

async fn recent_events(call: Call, input: Input) -> Result<RecentEvents, Fault> {
    let run = RunCall::for_reading(call, &input.run_id, input.project_id.as_deref()).await?;
    let limit = i64::from(input.limit);
    let events = runs::newest_events(run.store().await?, &run.project, &run.run_id, limit).await?;
    Ok(RecentEvents { events: events.iter().map(launch::event::Event::to_json).collect() })
}
