//! The log of a run as a stream: one event each, so that little memory is needed, however long the log is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_call::RunCall;
use super::spec::reading;
use crate::app::Bulkhead;
use crate::app::launch as runs;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::run_typed;
use crate::tools::{Call, TimeoutClass, ToolSpec, schema};
use contract::Fault;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    // While the client reads, the stream holds neither a slot nor a connection to the database.
    bulkhead: Bulkhead::None,
    timeout: TimeoutClass::Launch,
    ..reading(
        (
            "launch/events",
            "Stream the log of a launch run",
            "Everything that happened to a launch run, in order.",
        ),
        schema::generate_schema::<Input>,
        schema::generate_output_schema::<StreamEnd>,
        |call, arguments| run_typed(call, arguments, stream),
    )
};

/// Events that are in memory at a time.
const EVENTS_READ: i64 = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Id of the run.
    run_id: String,
    /// Number of the last event that the client has; default 0.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    after: Option<i32>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

/// The end of the stream.
#[derive(Debug, Serialize, JsonSchema)]
struct StreamEnd {
    /// Number of the last event, after which a client continues.
    last_seq: i32,
}

/// Sends the events that there are, and ends.
async fn stream(call: Call, input: Input) -> Result<StreamEnd, Fault> {
    let run = RunCall::for_reading(call, &input.run_id, input.project_id.as_deref()).await?;
    let mut last_seq = input.after.unwrap_or(0);
    loop {
        let page =
            runs::events_after(run.store().await?, &run.project, &run.run_id, last_seq, EVENTS_READ).await?;
        let Some(last) = page.last() else { return Ok(StreamEnd { last_seq }) };
        last_seq = last.seq;
        for event in &page {
            run.call.send_event("event", &event.to_json()).await?;
        }
    }
}
