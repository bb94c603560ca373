//! Folders of instruction files that the operator has bound to projects: imported when asked, and when their files change.

use std::sync::Arc;

use crate::catalog::{self, Import, ImportReport, Writer};
use contract::config::InstructionFolder;
use contract::{ErrorCode, Fault, ProjectId};
use gate::app::freshness::{self, RunOutcome, WatchEvent, follow};
use gate::app::{App, background_run, blocking};
use instructions::Rules;
use instructions::import::ImportMode;
use store::{DecidedBy, Project};
use tenancy::{AllowedRoots, Principal, RepositoryRoot};

/// The author that the change log names for the import of a changed folder.
const WATCHER: &str = "folder";

/// The folder that is bound to a project.
#[must_use]
pub(crate) fn bound_to<'a>(app: &'a App, id: &ProjectId) -> Option<&'a InstructionFolder> {
    app.config.instructions.folders.iter().find(|folder| project_of(folder).is_ok_and(|bound| bound == *id))
}

fn project_of(folder: &InstructionFolder) -> Result<ProjectId, Fault> {
    folder
        .project
        .as_deref()
        .map_or_else(|| Ok(ProjectId::default_workspace()), |id| Ok(ProjectId::parse(id)?))
}

/// Imports a bound folder in place of what the catalog has. If a file or an entry is broken, nothing is changed.
///
/// # Errors
/// `INVALID_INPUT` for files that cannot be read, `FORBIDDEN` for a folder outside of the project's directories, `ILLEGAL_STATE`
/// for broken entries and for a prune that would remove most of them, or all because the folder is empty; storage faults.
pub(crate) async fn import_folder(
    app: &App,
    project: &Project,
    folder: &InstructionFolder,
    principal: &str,
) -> Result<ImportReport, Fault> {
    let allowed = AllowedRoots::for_project(&app.config.indexing, project.id());
    let path = folder.path.clone();
    let content = blocking(move || catalog::read_folder(allowed.check(&path)?.path())).await?;
    let is_empty = content.entries.is_empty();
    let documents = catalog::checked_documents(content.gates, content.criteria)?;
    let import = Import {
        entries: content.entries,
        mode: ImportMode::Overwrite,
        prune: folder.prune.unwrap_or(true),
        documents,
        if_hash: None,
        if_revision: None,
        is_all_or_nothing: true,
        action: "instructions/reload",
    };
    let imported = writer(app, project, principal).await?.import(import).await;
    imported.map_err(|fault| fault_of_folder(fault, folder, is_empty))
}

/// The refusal of a prune as one of the folder, which has no argument to confirm it with; other faults as they are.
fn fault_of_folder(mut fault: Fault, folder: &InstructionFolder, is_empty: bool) -> Fault {
    let Some(removed) = fault.details.as_ref().and_then(|details| details["removed"].as_u64()) else {
        return fault;
    };
    let path = folder.path.display();
    if is_empty {
        fault.message = format!(
            "The folder {path} has no entries, so its import would remove all {removed}; nothing was changed."
        );
    }
    fault.with_hint(
        "Is it mounted, and the right branch checked out? If the entries are to go, remove them with `instructions_remove`.",
    )
}

/// A writer of the project's catalog, for this principal and now.
///
/// # Errors
/// As [`App::store`].
pub(crate) async fn writer<'a>(
    app: &'a App,
    project: &'a Project,
    principal: &'a str,
) -> Result<Writer<'a>, Fault> {
    Ok(Writer {
        store: app.store().await?,
        project,
        principal,
        rules: rules(app),
        changes_keep: app.config.instructions.changes_keep,
        now_ms: app.clock.now().as_millisecond(),
    })
}

/// Limits of the operator.
#[must_use]
pub(crate) fn rules(app: &App) -> Rules {
    let settings = &app.config.instructions;
    Rules {
        body_bytes_max: settings.body_bytes_max,
        entries_max: settings.entries_max,
        catalog_bytes_max: settings.catalog_bytes_max,
    }
}

/// Imports each bound folder now and when its files change, until the process shuts down. `instructions.mutation` does not matter: it
/// restricts callers, and the operator asked for this import. A read-only server imports nothing.
pub(crate) async fn watch_folders(app: Arc<App>) {
    let settings = &app.config.instructions;
    if !settings.enabled || !settings.watch || settings.folders.is_empty() {
        return;
    }
    if app.config.tools.read_only {
        return tracing::info!("bound folders of instructions are not imported: tools.read_only is set");
    }
    let watches = settings.folders.iter().map(|folder| watch(&app, folder));
    futures::future::join_all(watches).await;
}

async fn watch(app: &Arc<App>, folder: &InstructionFolder) {
    let shown = folder.path.display().to_string();
    let root = match checked(app, folder) {
        Ok((_, root)) => root,
        Err(fault) => {
            return tracing::warn!(folder = shown, "instructions are not watched: {}", fault.message);
        }
    };
    let on_event = |event: WatchEvent| tracing::debug!(folder = shown, ?event, "watching instructions");
    let followed = follow(app, &root, &app.shutdown, on_event, || import_once(app, folder)).await;
    if let Err(fault) = followed {
        tracing::warn!(folder = shown, "instructions are no longer watched: {}", fault.message);
    }
}

fn checked(app: &App, folder: &InstructionFolder) -> Result<(ProjectId, RepositoryRoot), Fault> {
    let id = project_of(folder)?;
    let root = AllowedRoots::for_project(&app.config.indexing, &id).check(&folder.path)?;
    Ok((id, root))
}

/// Imports a folder; faults are logged, and the import is tried again when a file changes.
async fn import_once(app: &Arc<App>, folder: &InstructionFolder) -> RunOutcome {
    match import_changed(app, folder).await {
        Ok(()) => RunOutcome::Done,
        Err(fault) => {
            tracing::warn!(folder = %folder.path.display(), "instructions were not imported: {}", fault.message);
            RunOutcome::from_error(fault.code, fault.retryable || fault.code == ErrorCode::StorageUnavailable)
        }
    }
}

async fn import_changed(app: &Arc<App>, folder: &InstructionFolder) -> Result<(), Fault> {
    let (id, _) = checked(app, folder)?;
    let store = app.store().await?;
    let project = match tenancy::open(store, &id, DecidedBy::Argument).await? {
        Some(project) => project,
        None => freshness::provision(app, &id).await?,
    };
    let report = import_folder(app, &project, folder, WATCHER).await?;
    if report.catalog.changed > 0 && app.config.instructions.semantic {
        let slot = app.queues.admit_background_run(&Principal::local());
        let slot = slot.map_err(|refusal| refusal.to_fault())?;
        background_run::start_records(app, slot, &project, catalog::RECORDS_ROOT).await?;
    }
    Ok(())
}
