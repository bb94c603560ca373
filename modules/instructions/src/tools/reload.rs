//! `instructions/reload`: imports the folder that is bound to the project again.

use schemars::JsonSchema;
use serde::Serialize;

use super::open::{open, require_mutation};
use super::project_input::ProjectInput;
use super::refresh::request_index_run;
use super::spec::curating;
use crate::bound_folders;
use contract::{Fault, Warning};
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, Effects, ToolSpec, schema};

pub(super) const TOOL: ToolSpec = curating(
    (
        "instructions_reload",
        "instructions/reload",
        "Reload instructions",
        "Import the folder of instruction files that the operator has bound to the project again; without one, nothing is read.",
    ),
    Effects::REMOVES,
    schema::generate_schema::<ProjectInput>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, reload),
);

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// True, as the catalog is always read anew; `folderBound` says whether a folder was imported.
    reloaded: bool,
    /// Hash of the catalog.
    hash: String,
    /// Entries.
    count: usize,
    /// Whether a folder is bound to the project; without one, nothing was read, and the catalog is as it was.
    folder_bound: bool,
    /// What was imported; absent if no folder is bound to the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<FolderReport>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FolderReport {
    /// New entries.
    imported: usize,
    /// Entries that existed.
    overwritten: usize,
    /// Ids of removed entries.
    removed: Vec<String>,
    /// Always empty: a folder with errors changes nothing.
    errors: Vec<String>,
}

async fn reload(call: Call, input: ProjectInput) -> Result<Output, Fault> {
    require_mutation(&call)?;
    let project_id = input.project_id.as_deref();
    let id = call.allowed_project(project_id).await?;
    let mut report = None;
    if let Some(bound) = bound_folders::bound_to(&call.app, &id) {
        let project = call.project_for_writing(project_id).await?;
        let principal = &call.caller.principal.id;
        let done = bound_folders::import_folder(&call.app, &project, bound, principal).await?;
        if done.catalog.changed > 0 {
            request_index_run(&call, &project).await;
        }
        report = Some(FolderReport {
            imported: done.imported,
            overwritten: done.overwritten,
            removed: done.removed,
            errors: Vec::new(),
        });
    }
    let (_, catalog) = open(&call, project_id).await?;
    let (hash, count) = (catalog.hash(), usize::try_from(catalog.state.entries).unwrap_or(0));
    catalog.close().await?;
    if report.is_none() {
        let message = "No folder is bound to the project, so nothing was read. The operator binds one with `instructions.folders`.";
        call.warn(Warning::new("no_folder_bound", message));
    }
    Ok(Output { reloaded: true, hash, count, folder_bound: report.is_some(), folder: report })
}
