//! Warns callers whose working directory is not indexed in the project that they search, because the hits come from other
//! repositories.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::app::blocking;
use crate::tools::Call;
use crate::tools::repository::list_repositories;
use contract::{Fault, Warning, escaped_line};
use store::{Access, DecidedBy, Project, ProjectTx, RepositoryRow, RepositoryState, Store, repositories};
use tenancy::AllowedRoots;

/// Warning code: the caller's directory is in no index.
pub(super) const NOT_INDEXED: &str = "directory_not_indexed";
/// Warning code: the caller's directory is indexed in a different project from the one that was searched.
pub(super) const IN_OTHER_PROJECT: &str = "directory_in_other_project";

/// Maximum number of working directories of a caller that are examined.
const DIRECTORIES_MAX: usize = 4;
/// Maximum number of other projects that are searched for a directory.
const PROJECTS_MAX: usize = 32;
/// Maximum number of repositories that a warning names.
const NAMES_MAX: usize = 3;

/// Adds a warning for the first of `directories` (canonical paths) that is in a git repository or below a configured root. Call
/// it only for callers on this machine, and only if the project has indexed none of the directories.
///
/// # Errors
/// Storage faults.
pub(super) async fn warn_if_not_indexed(
    call: &Call,
    project: &Project,
    directories: Vec<PathBuf>,
) -> Result<(), Fault> {
    let allowed = AllowedRoots::for_project(&call.app.config.indexing, project.id());
    let examined = directories.into_iter().take(DIRECTORIES_MAX);
    let found = blocking(move || Ok(examined.into_iter().find_map(|path| repository_root(&path, &allowed))));
    let Some(root) = found.await? else { return Ok(()) };
    let store = call.app.store().await?;
    let name = root.file_name().map(|name| escaped_line(&name.to_string_lossy()));
    let name = name.unwrap_or_default();
    let from = repository_names(&list_repositories(call, project).await?);
    let mut details = json!({ "directory": name, "repoPath": root.to_string_lossy() });
    let mut tx = store.control_read().await?;
    let live = store::jobs::live_subjects(&mut tx, project.id()).await?;
    tx.commit().await?;
    let (code, message) = if live.iter().any(|subject| Path::new(subject) == root) {
        details["indexing"] = true.into();
        (NOT_INDEXED, format!("This directory, {name}, is still being indexed; the hits are {from}."))
    } else if let Some(other) = other_project(call, store, project, &root).await? {
        let shown = other.id().public().map_or_else(|| "the default one".to_owned(), |id| format!("`{id}`"));
        details["project_id"] = other.id().as_str().into();
        let message =
            format!("This directory, {name}, is indexed in another project, {shown}; the hits are {from}.");
        (IN_OTHER_PROJECT, message)
    } else {
        (NOT_INDEXED, format!("This directory, {name}, is not indexed; the hits are {from}."))
    };
    call.warn(Warning { details: Some(details), ..Warning::new(code, message) });
    Ok(())
}

/// The top directory of the git repository that contains `directory`; without one, `directory` itself if it is below a
/// configured root. `None` if the project may not index it.
fn repository_root(directory: &Path, allowed: &AllowedRoots) -> Option<PathBuf> {
    let top = directory.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok());
    let root = match top {
        Some(top) => top,
        None if *allowed != AllowedRoots::any() => directory,
        None => return None,
    };
    allowed.check(root).ok().map(|root| root.path().to_owned())
}

/// `from shop, bank, till and 3 more`.
fn repository_names(rows: &[RepositoryRow]) -> String {
    let names: Vec<String> = rows
        .iter()
        .filter(|row| row.is_readable() && is_indexed(row))
        .map(|row| escaped_line(&row.name))
        .collect();
    let shown = names.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "from no repository".to_owned(),
        count if count > NAMES_MAX => format!("from {shown} and {} more", count - NAMES_MAX),
        _ => format!("from {shown}"),
    }
}

/// Another project that the caller may use and that has indexed the directory. Skips projects whose tables were not migrated
/// yet, because the statements of this program may not fit them.
async fn other_project(
    call: &Call,
    store: &Store,
    searched: &Project,
    root: &Path,
) -> Result<Option<Project>, Fault> {
    // Each index run is a job with the root as its subject: projects with such a job come first, so that the limit below
    // does not cut off the right one.
    let above: Vec<String> = root.ancestors().map(|path| path.to_string_lossy().into_owned()).collect();
    let mut tx = store.control_read().await?;
    let known = store::projects::list_for_subjects(&mut tx, &above).await?;
    tx.commit().await?;
    let others = known
        .into_iter()
        .filter(|other| other.id != *searched.id() && call.caller.principal.may_use(&other.id));
    for other in others.take(PROJECTS_MAX) {
        let Some((project, version)) =
            store::projects::find_without_transaction(store, &other.id, DecidedBy::Argument).await?
        else {
            continue;
        };
        if store::is_outdated(version) {
            continue;
        }
        let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
        let rows = repositories::list(&mut tx).await?;
        tx.commit().await?;
        let allowed = AllowedRoots::for_project(&call.app.config.indexing, project.id());
        let holds = |row: &RepositoryRow| row.has_path() && is_indexed(row) && root.starts_with(&row.root);
        if rows.iter().any(holds) && allowed.contains(root) {
            return Ok(Some(project));
        }
    }
    Ok(None)
}

/// Returns `true` if a search can find something in the repository, which is so as soon as its first run has begun.
#[must_use]
pub fn is_indexed(row: &RepositoryRow) -> bool {
    row.state != RepositoryState::New || row.indexed_ms.is_some()
}
