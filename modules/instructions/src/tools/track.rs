//! `usage/track`: counts one use of an entry.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::reading;
use super::track_batch::{Tracked, track};
use contract::Fault;
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, Effects, ToolSpec, schema};

pub(super) const TOOL: ToolSpec = ToolSpec {
    effects: Effects { idempotent: false, ..Effects::WRITES },
    ..reading(
        (
            "usage_track",
            "usage/track",
            "Count a use",
            "Say that you followed an instruction: its count of use goes up by one.",
        ),
        schema::generate_schema::<Input>,
        schema::generate_output_schema::<Output>,
        |call, arguments| run_typed(call, arguments, track_one),
    )
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Id of the entry.
    #[schemars(length(min = 1, max = 120))]
    id: String,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
struct Output(Tracked);

async fn track_one(call: Call, input: Input) -> Result<Output, Fault> {
    let mut tracked = track(&call, input.project_id.as_deref(), vec![(input.id, 1)]).await?;
    Ok(Output(tracked.pop().unwrap_or_default()))
}
