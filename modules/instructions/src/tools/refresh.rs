//! Indexes changed entries in the background.

use crate::catalog::RECORDS_ROOT;
use contract::{Fault, Warning};
use gate::app::background_run;
use gate::tools::Call;
use store::Project;

/// Requests the index run of the catalog. A failure is only a warning: the catalog was changed, and the next run finds that.
pub(super) async fn request_index_run(call: &Call, project: &Project) {
    if !call.app.config.instructions.semantic {
        return;
    }
    let started = async {
        let slot = call.app.queues.admit_background_run(&call.caller.principal);
        let slot = slot.map_err(|refusal| refusal.to_fault())?;
        background_run::start_records(&call.app, slot, project, RECORDS_ROOT).await
    };
    if let Err(fault) = started.await {
        let message = format!("The change is stored, but not searchable by meaning yet: {}", fault.message);
        call.warn(Warning::new("not_searchable_yet", message));
    }
}

/// Returns `true` if an index run of the catalog is queued or in progress.
pub(super) async fn is_pending(call: &Call, project: &Project) -> Result<bool, Fault> {
    let store = call.app.store().await?;
    let mut control = store.control_read().await?;
    let live = store::jobs::live_subjects(&mut control, project.id()).await?;
    control.commit().await?;
    Ok(live.iter().any(|subject| subject == RECORDS_ROOT))
}
