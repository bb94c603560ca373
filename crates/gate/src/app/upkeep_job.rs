//! Maintenance jobs, which need exclusive write access to a project.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::App;
use super::job_kind::JobKind;
use contract::{ErrorCode, Fault};
use engine::jobs::{self, LeaseSettings, RunningJob, WRITER_LANE};
use store::Project;

/// The job kind of maintenance work; the call that asks for it does it.
pub static KIND: JobKind =
    JobKind { name: "upkeep", lane: |_| WRITER_LANE.to_owned(), parallel: |_| 1, execute: None };

/// Runs `work` as the only writer of the project; index jobs wait meanwhile.
///
/// # Errors
/// `ILLEGAL_STATE` immediately if another job is writing, or for a project that a newer program wrote; the fault of `work`; `CANCELLED`.
pub async fn run_exclusive<T, F, R>(
    app: &Arc<App>,
    project: &Project,
    subject: &'static str,
    cancel: &CancellationToken,
    work: F,
) -> Result<T, Fault>
where
    T: Serialize + DeserializeOwned,
    F: FnOnce(RunningJob) -> R + Send,
    R: Future<Output = Result<T, Fault>> + Send,
{
    project.require_writable()?;
    let job = KIND.job(project.id().clone(), subject, Value::Null);
    let settings = LeaseSettings::from(&app.config.indexing);
    let execute = |running| async move {
        let done = work(running).await?;
        serde_json::to_value(done).map_err(|e| Fault::internal("The report could not be written.", e))
    };
    let store = app.store().await?;
    match jobs::run_now(store, &job, &app.worker, settings, cancel, execute).await? {
        Some(value) => {
            serde_json::from_value(value).map_err(|e| Fault::internal("The report could not be read.", e))
        }
        None => Err(Fault::new(ErrorCode::IllegalState, "Another job is writing to this project.")
            .with_hint("Wait until `index_status` reports that it has finished, then call again.")),
    }
}
