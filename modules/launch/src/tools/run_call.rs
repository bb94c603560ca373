//! A call about one run.

use std::pin::pin;
use std::time::Duration;

use launch::ids::{RunId, Trace};
use launch::report::ValidationReport;
use launch::snapshot::VALIDATION_REPORT;
use schemars::JsonSchema;
use serde::Deserialize;
use store::{Project, Store};

use crate::runs::{self as runs, Action, JobAnswer, OpenedRun, RunRequest};
use contract::{ErrorCode, Fault};
use gate::tools::for_modules::ProjectIdArg;
use gate::tools::{Call, ProgressUpdate};

/// Interval of progress updates while a job works; clients give up on calls that report nothing.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);
/// Largest report that is read.
const REPORT_BYTES_MAX: i32 = 64 << 20;

/// Input of tools that need no more than a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunInput {
    /// Id of the run.
    pub(super) run_id: String,
    /// Project; default: the session's.
    pub(super) project_id: Option<ProjectIdArg>,
}

/// A call about one run of its project.
pub(super) struct RunCall {
    pub(super) call: Call,
    pub(super) project: Project,
    pub(super) run_id: RunId,
    trace: Trace,
}

impl RunCall {
    /// A call that only reads the run.
    ///
    /// # Errors
    /// `INVALID_INPUT` for a malformed id; `RUN_NOT_FOUND` if there is no such project, or if the caller may not use it.
    pub(super) async fn for_reading(
        call: Call,
        run_id: &str,
        project_id: Option<&str>,
    ) -> Result<Self, Fault> {
        Self::about(call, RunId::parse(run_id)?, project_id).await
    }

    async fn about(call: Call, run_id: RunId, project_id: Option<&str>) -> Result<Self, Fault> {
        call.set_run_id(run_id.as_str());
        let project = call.project_if_any(project_id).await?.ok_or_else(runs::run_not_found)?;
        let trace = trace_of(&call);
        Ok(Self { call, project, run_id, trace })
    }

    /// A call that changes the run, which the change reads: it reports `RUN_NOT_FOUND` for a run that does not exist.
    ///
    /// # Errors
    /// `FORBIDDEN` if the caller may not use the project; as [`RunCall::for_reading`].
    pub(super) async fn for_changing(call: Call, input: RunInput) -> Result<Self, Fault> {
        let run_id = RunId::parse(&input.run_id)?;
        let project_id = input.project_id.as_deref();
        call.allowed_project(project_id).await?;
        Self::about(call, run_id, project_id).await
    }

    pub(super) async fn store(&self) -> Result<&Store, Fault> {
        self.call.app.store().await
    }

    /// The run as it is now.
    pub(super) async fn open(&self) -> Result<OpenedRun, Fault> {
        runs::open_run(self.store().await?, &self.project, &self.run_id).await
    }

    pub(super) fn request(&self) -> RunRequest<'_> {
        RunRequest {
            app: &self.call.app,
            project: &self.project,
            run_id: self.run_id.as_str(),
            trace: &self.trace,
            principal: Some(self.principal()),
        }
    }

    /// Returns the id of the calling principal.
    pub(super) fn principal(&self) -> &str {
        &self.call.caller.principal.id
    }

    /// Requests a job for an action on the run, waits for it, and records the call in the log of the run.
    pub(super) async fn act(&self, action: Action) -> Result<JobAnswer, Fault> {
        let request = self.request();
        let work = runs::run_action(&request, action, &self.call.cancel);
        let outcome = with_progress(&self.call, "The run goes on", work).await;
        let word = match &outcome {
            Ok(_) => "ok",
            Err(fault) if fault.code == ErrorCode::RunNotFound => return outcome,
            Err(fault) => fault.code.as_str(),
        };
        runs::record_call(&request, action.tool().as_str(), self.principal(), word).await;
        outcome
    }

    /// The report of the last validation.
    pub(super) async fn report(&self) -> Result<ValidationReport, Fault> {
        let range = (0, REPORT_BYTES_MAX);
        let part =
            runs::artifact_part(self.store().await?, &self.project, &self.run_id, VALIDATION_REPORT, range)
                .await?;
        let part =
            part.map_err(|_| Fault::internal("A launch run has no validation report.", VALIDATION_REPORT))?;
        serde_json::from_slice(&part.content)
            .map_err(|error| Fault::internal("A validation report could not be read.", error))
    }
}

/// Waits for work, and reports now and then that it goes on.
pub(super) async fn with_progress<T>(call: &Call, what: &str, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
    let mut seconds = 0.0;
    // The first tick is at once.
    ticks.tick().await;
    loop {
        tokio::select! {
            biased;
            finished = &mut work => return finished,
            _ = ticks.tick() => {
                seconds += PROGRESS_INTERVAL.as_secs_f64();
                call.progress.report(ProgressUpdate {
                    phase: "launch",
                    done: seconds,
                    total: None,
                    message: format!("{what}, for {seconds:.0} seconds now."),
                    detail: None,
                });
            }
        }
    }
}

/// Returns the trace that identifies the call in logs of runs.
pub(super) fn trace_of(call: &Call) -> Trace {
    Trace::of_call(call.caller.request_id.as_deref(), call.app.clock.now().as_nanosecond())
}
