//! What the tools that remove share: their answer, and the project they may work in.

use schemars::JsonSchema;
use serde::Serialize;

use crate::tools::Call;
use crate::tools::repository::{all, repository};
use contract::{Fault, Warning};
use store::{Project, RepositoryRow, Store};
use upkeep::removal::{Failure, Place, Removal, Removed};

/// What went, or would go.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// True when nothing was changed.
    dry_run: bool,
    /// In the order in which it goes.
    removals: Vec<Removal>,
    /// What could not be removed.
    failed_removals: Vec<Failure>,
    /// Bytes of the rows and files that went; new rows take their room.
    freed_bytes: u64,
    /// How much less the project takes on disk already.
    returned_bytes: u64,
}

pub(super) fn output(call: &Call, project: &Project, dry_run: bool, removed: Removed) -> Output {
    let freed_bytes = removed.freed_bytes();
    let (mut removals, most) = (removed.removals, call.app.config.upkeep.listed_max);
    if removals.len() > most {
        let message = format!("{} removals are summed and not listed.", removals.len() - most);
        call.warn(Warning::new("list_cut", message));
        removals.truncate(most);
    }
    Output {
        project_id: project.id().public().map(str::to_owned),
        dry_run,
        removals,
        failed_removals: removed.failed,
        freed_bytes,
        returned_bytes: removed.returned_bytes,
    }
}

/// Where the work is done.
pub(super) fn place<'a>(
    call: &'a Call,
    store: &'a Store,
    project: &'a Project,
    folder: &'a std::path::Path,
    cancel: &'a tokio_util::sync::CancellationToken,
) -> Place<'a> {
    Place { store, project, folder, settings: &call.app.config.upkeep, cancel }
}

/// The row of an indexed repository, by path or by name.
pub(super) async fn row(call: &Call, project: &Project, named: &str) -> Result<Option<RepositoryRow>, Fault> {
    let root = repository(call, project, named).await?;
    Ok(all(call, project).await?.into_iter().find(|row| row.root == root))
}
