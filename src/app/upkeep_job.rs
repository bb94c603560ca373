//! Work that needs a project for itself: it takes the place of the project's one writer, or says that it is taken.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::App;
use contract::{ErrorCode, Fault};
use engine::jobs::{self, LeaseSettings, NewJob, RunningJob};
use store::Project;

/// The kind under which upkeep stands among a project's jobs.
pub const KIND: &str = "upkeep";

/// Runs `work` as the only writer of the project; index runs that are asked for meanwhile wait.
///
/// # Errors
/// `ILLEGAL_STATE` at once when another run writes, or for a project of a newer program; the work's own fault; `CANCELLED`.
pub async fn alone<T, F, R>(
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
    let job = NewJob {
        project_id: project.id().clone(),
        kind: KIND,
        subject: subject.to_owned(),
        request: Value::Null,
    };
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
        None => Err(Fault::new(ErrorCode::IllegalState, "Another run writes to this project.")
            .with_hint("Ask `index_status` when it is over, then call again.")),
    }
}
