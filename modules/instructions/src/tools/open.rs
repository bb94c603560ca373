//! Opens the catalog of a call's project, for reading and for writing.

use std::collections::BTreeMap;

use crate::bound_folders;
use crate::catalog::{Catalog, UsageCounter, Writer};
use contract::{ErrorCode, Fault, echo};
use gate::tools::Call;
use instructions::{Stored, Usage};
use store::Project;
use tenancy::{Projects, Scope};

/// A hint at the ways to create the first catalog of a project that does not exist.
const IMPORT_HINT: &str = "The first import makes it: `instructions_import`, or on the command line `pairofcleats instructions import DIR` \
    or `import-agents`. `workspace_status` (`pairofcleats projects`) lists the projects.";

/// The project of the call and a snapshot of its catalog; a project without a catalog has an empty one.
///
/// # Errors
/// `NO_INDEX` if the project does not exist.
pub(super) async fn open(call: &Call, project_id: Option<&str>) -> Result<(Project, Catalog), Fault> {
    let Some(project) = call.project_if_any(project_id).await? else {
        return Err(no_catalog(call, project_id).await?);
    };
    let catalog = Catalog::open(call.app.store().await?, &project).await?;
    Ok((project, catalog))
}

/// The fault of a project that does not exist, or that the caller may not know of.
async fn no_catalog(call: &Call, project_id: Option<&str>) -> Result<Fault, Fault> {
    let mut fault = call.no_index(project_id).await?;
    if matches!(call.caller.principal.projects, Projects::All) {
        fault.message = match project_id {
            None => "There is no catalog yet.".to_owned(),
            Some(id) => format!("There is no project `{}`, so there is no catalog.", echo(id)),
        };
        return Ok(fault.with_hint(IMPORT_HINT));
    }
    Ok(fault)
}

/// Returns how often these entries were used, including uses of this process that are not written yet. Those never used are left out.
pub(super) async fn usage_of(
    call: &Call,
    project: &Project,
    entries: &[Stored],
) -> Result<BTreeMap<String, Usage>, Fault> {
    let ids: Vec<String> = entries.iter().map(|entry| entry.instruction.id.clone()).collect();
    usage_by_id(call, project, ids).await
}

/// As [`usage_of`], by id.
pub(super) async fn usage_by_id(
    call: &Call,
    project: &Project,
    ids: Vec<String>,
) -> Result<BTreeMap<String, Usage>, Fault> {
    let store = call.app.store().await?;
    let load = async {
        let mut catalog = Catalog::open(store, project).await?;
        let stored = catalog.usage(Some(&ids)).await?;
        catalog.close().await.map(|()| stored)
    };
    let uses = call.app.state_or_default::<UsageCounter>();
    uses.with_pending(project.id(), load).await
}

/// A writer of the project's catalog, for this caller and now.
pub(super) async fn writer<'a>(call: &'a Call, project: &'a Project) -> Result<Writer<'a>, Fault> {
    bound_folders::writer(&call.app, project, &call.caller.principal.id).await
}

/// The message of the specification.
const MUTATION_DISABLED: &str = "Mutation disabled. Set MCP_ENABLE_MUTATION=1 to enable.";

/// Refuses a write unless the operator allows them and the caller may curate.
pub(super) fn require_mutation(call: &Call) -> Result<(), Fault> {
    if !call.app.config.instructions.mutation {
        return Err(Fault::new(ErrorCode::MutationDisabled, MUTATION_DISABLED).with_hint(
            "The operator allows writes with MCP_ENABLE_MUTATION=1, or `instructions.mutation = true`.",
        ));
    }
    if !call.caller.principal.has_scope(Scope::Curate) {
        let message = format!("Writing the catalog needs a key with the scope `{}`.", Scope::Curate);
        return Err(Fault::new(ErrorCode::Forbidden, message));
    }
    Ok(())
}
