//! Code shared by the tools that start runs.

use launch::config::RunConfigInput;
use store::Project;

use super::run_call::{trace_of, with_progress};
use crate::runs::{self as runs, RunRepository, StartRequest, StartedRun};
use contract::Fault;
use gate::tools::Call;

/// Starts a run for a tool, reports meanwhile that this goes on, and notes the run in the answer.
///
/// # Errors
/// As [`runs::start`].
pub(super) async fn start(
    call: &Call,
    tool: &'static str,
    project: &Project,
    config: RunConfigInput,
    repository: Option<RunRepository>,
    idempotency_key: Option<&str>,
) -> Result<StartedRun, Fault> {
    let trace = trace_of(call);
    let starting = runs::start(StartRequest {
        tool,
        app: &call.app,
        project,
        config,
        repository,
        idempotency_key,
        principal: &call.caller.principal.id,
        trace: &trace,
    });
    let started = with_progress(call, "The run is being started", starting).await?;
    call.set_run_id(&started.run_id);
    Ok(started)
}
