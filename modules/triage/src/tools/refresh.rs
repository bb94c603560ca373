//! Shared by the triage tools: indexes the stored records, so that search finds them.

use crate::findings;
use contract::Fault;
use engine::indexing::{Options, RunReport};
use engine::jobs::Progress;
use gate::app::index_job;
use gate::tools::for_modules::{progress_update, requesting_call};
use gate::tools::{Call, ProgressUpdate};
use store::Project;

/// Indexes the project's records; `full` also indexes unchanged ones again. `None` if the project has no records.
pub(super) async fn refresh_records(
    call: &Call,
    project: &Project,
    full: bool,
) -> Result<Option<RunReport>, Fault> {
    if !findings::has_records(call.app.store().await?, project).await? {
        return Ok(None);
    }
    let on_progress = |progress: &Progress| {
        let update = progress_update(progress);
        // Reading the report counted as 1 already.
        let (done, total) = (update.done + 1.0, update.total.map(|total| total + 1.0));
        call.progress.report(ProgressUpdate { done, total, ..update });
    };
    let options = Options { full, ..Options::default() };
    let done =
        index_job::run_records(&requesting_call(call), project, &findings::RECORDS, options, on_progress)
            .await?;
    let report = serde_json::from_value(done.result)
        .map_err(|error| Fault::internal("The run's report could not be read.", error))?;
    Ok(Some(report))
}
