//! The log of a run as a stream: one event each, so that little memory is needed, however long the log is. A client that follows gets
//! the events as they happen, until the run ends.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_call::RunCall;
use super::spec::reading;
use crate::runs;
use contract::{ErrorCode, Fault};
use gate::app::Bulkhead;
use gate::tools::for_modules::ProjectIdArg;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, ToolSpec, schema};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    // While the client reads, the stream holds neither a slot nor a connection to the database.
    bulkhead: Bulkhead::None,
    timeout: |limits| limits.launch_ms,
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
/// Interval at which a run that a client follows is polled.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);
/// The part of the call's time limit for which a run is followed, so that the stream can still end with its last number.
const FOLLOW_PERCENT: u64 = 90;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Id of the run.
    run_id: String,
    /// Number of the last event that the client has; default 0.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    after: Option<i32>,
    /// Send also what happens from now on, until the run ends; default false.
    #[serde(default)]
    follow: bool,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

/// The end of the stream.
#[derive(Debug, Serialize, JsonSchema)]
struct StreamEnd {
    /// Number of the last event, after which a client continues.
    last_seq: i32,
    /// Whether the run has ended, so that nothing follows.
    ended: bool,
}

/// Sends the events that there are, and ends; one that follows ends when the run does, when the server stops, or shortly before the time
/// limit of calls.
async fn stream(call: Call, input: Input) -> Result<StreamEnd, Fault> {
    let run = RunCall::for_reading(call, &input.run_id, input.project_id.as_deref()).await?;
    let limit_ms = run.call.app.config.timeouts.launch_ms;
    let follow_ms = (limit_ms > 0).then_some(limit_ms / 100 * FOLLOW_PERCENT);
    let until = follow_ms.map(|limit| tokio::time::Instant::now() + Duration::from_millis(limit));
    let mut last_seq = input.after.unwrap_or(0);
    loop {
        // Asked before the events are read, so that the one with which the run ended is among them.
        let ended = runs::has_ended(run.store().await?, &run.project, &run.run_id).await?;
        last_seq = send_after(&run, last_seq).await?;
        let is_over = until.is_some_and(|until| tokio::time::Instant::now() >= until);
        if ended || !input.follow || is_over || run.call.app.shutdown.is_cancelled() {
            return Ok(StreamEnd { last_seq, ended });
        }
        tokio::select! {
            () = run.call.cancel.cancelled() => {
                return Err(Fault::new(ErrorCode::Cancelled, "The stream ended before the run did."));
            }
            () = run.call.app.shutdown.cancelled() => {}
            () = tokio::time::sleep(FOLLOW_INTERVAL) => {}
        }
    }
}

/// Sends the events after the one with this number. Returns the number of the last one that was sent.
async fn send_after(run: &RunCall, mut last_seq: i32) -> Result<i32, Fault> {
    loop {
        let page =
            runs::events_after(run.store().await?, &run.project, &run.run_id, last_seq, EVENTS_READ).await?;
        let Some(last) = page.last() else { return Ok(last_seq) };
        last_seq = last.seq;
        for event in &page {
            run.call.send_event("event", &event.to_json()).await?;
        }
    }
}
