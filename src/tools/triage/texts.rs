//! What the triage tools share: the texts that search finds are made of what is stored.

use crate::app::index_job;
use crate::tools::index::job::{by, update};
use crate::tools::{Call, ProgressUpdate};
use contract::Fault;
use engine::indexing::{Options, RunReport};
use engine::jobs::Progress;
use engine::triage;
use store::Project;

/// Makes the project's records searchable as they are now; `full` writes every text again. None where there are none.
pub(super) async fn refresh(call: &Call, project: &Project, full: bool) -> Result<Option<RunReport>, Fault> {
    if !triage::has_records(call.app.store().await?, project).await? {
        return Ok(None);
    }
    let on_progress = |progress: &Progress| {
        let update = update(progress);
        // What was done before counts as one.
        let (done, total) = (update.done + 1.0, update.total.map(|total| total + 1.0));
        call.progress.report(ProgressUpdate { done, total, ..update });
    };
    let options = Options { full, ..Options::default() };
    let done = index_job::run_records(&by(call), project, options, on_progress).await?;
    let report = serde_json::from_value(done.result)
        .map_err(|error| Fault::internal("The run's report could not be read.", error))?;
    Ok(Some(report))
}
