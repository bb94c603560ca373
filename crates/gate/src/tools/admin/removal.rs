//! Shared by the tools that remove data: their answer, and the project in which they work.

use schemars::JsonSchema;
use serde::Serialize;

use crate::tools::Call;
use contract::Warning;
use store::{Project, Store};
use upkeep::retention::{ProjectUpkeep, Removal, RemovalFailure, RemovalReport};

/// What was removed or, in a dry run, would be.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemovalOutput {
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// True if nothing was changed.
    dry_run: bool,
    /// What was removed, in that order; in a dry run, what would be.
    removals: Vec<Removal>,
    /// What could not be removed.
    failed_removals: Vec<RemovalFailure>,
    /// Bytes of the removed rows and files; Postgres reuses the space of the rows.
    freed_bytes: u64,
    /// Bytes that were returned to the operating system.
    returned_bytes: u64,
}

pub(super) fn removal_output(
    call: &Call,
    project: &Project,
    dry_run: bool,
    removed: RemovalReport,
) -> RemovalOutput {
    let freed_bytes = removed.freed_bytes();
    let (mut removals, most) = (removed.removals, call.app.config.upkeep.listed_max);
    if removals.len() > most {
        let message =
            format!("{} more removals are included in the totals but not listed.", removals.len() - most);
        call.warn(Warning::new("list_cut", message));
        removals.truncate(most);
    }
    RemovalOutput {
        project_id: project.id().public().map(str::to_owned),
        dry_run,
        removals,
        failed_removals: removed.failed,
        freed_bytes,
        returned_bytes: removed.returned_bytes,
    }
}

pub(super) fn project_upkeep<'a>(
    call: &'a Call,
    store: &'a Store,
    project: &'a Project,
    folder: &'a std::path::Path,
    cancel: &'a tokio_util::sync::CancellationToken,
) -> ProjectUpkeep<'a> {
    ProjectUpkeep { store, project, folder, settings: &call.app.config.upkeep, cancel }
}
