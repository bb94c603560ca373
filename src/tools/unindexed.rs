//! What is said to a caller whose directory the project that it asks does not hold: hits are then of other repositories.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::tools::Call;
use crate::tools::repository::all;
use contract::{Fault, Warning, visible_line};
use store::{Access, DecidedBy, Project, ProjectTx, RepositoryRow, RepositoryState, Store, repositories};
use tenancy::AllowedRoots;

/// The caller's directory is in no index.
pub(super) const NOT_INDEXED: &str = "directory_not_indexed";
/// It is in that of another project than the one that was asked.
pub(super) const IN_OTHER_PROJECT: &str = "directory_in_other_project";

/// Directories of one caller that are looked at.
const PLACES_MAX: usize = 4;
/// Other projects in which a directory is looked for.
const PROJECTS_MAX: usize = 32;
/// Repositories that a warning names.
const NAMES_MAX: usize = 3;

/// Adds a warning for the first of `places` (canonical paths on this machine) that lies in a repository, or below a
/// configured root, which the project has not indexed. The call must be of a caller on this machine.
///
/// # Errors
/// Storage faults.
pub(super) async fn warn(call: &Call, project: &Project, places: &[PathBuf]) -> Result<(), Fault> {
    let allowed = AllowedRoots::of_project(&call.app.config.indexing, project.id());
    let found = places.iter().take(PLACES_MAX).find_map(|place| repository_of(place, &allowed));
    let Some(root) = found else { return Ok(()) };
    let store = call.app.store().await?;
    let name = root.file_name().map(|name| visible_line(&name.to_string_lossy()));
    let name = name.unwrap_or_default();
    let from = sources(&all(call, project).await?);
    let mut details = json!({ "directory": name, "repoPath": root.to_string_lossy() });
    let mut door = store.control_read().await?;
    let live = store::jobs::live_subjects(&mut door, project.id()).await?;
    door.commit().await?;
    let (code, message) = if live.iter().any(|subject| Path::new(subject) == root) {
        details["indexing"] = true.into();
        (NOT_INDEXED, format!("This directory, {name}, is only being indexed; what follows is {from}."))
    } else if let Some(other) = other_project(call, store, project, &root).await? {
        let shown = other.id().public().map_or_else(|| "the default one".to_owned(), |id| format!("`{id}`"));
        details["project_id"] = other.id().as_str().into();
        let message = format!(
            "This directory, {name}, is indexed in another project, {shown}; what follows is {from}."
        );
        (IN_OTHER_PROJECT, message)
    } else {
        (NOT_INDEXED, format!("This directory, {name}, is not indexed; what follows is {from}."))
    };
    call.warn(Warning { details: Some(details), ..Warning::new(code, message) });
    Ok(())
}

/// The top of the git repository in which a directory lies; without one, the directory itself where a configured root holds
/// it. None where that may not be indexed into the project.
fn repository_of(place: &Path, allowed: &AllowedRoots) -> Option<PathBuf> {
    let top = place.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok());
    let root = match top {
        Some(top) => top,
        None if *allowed != AllowedRoots::any() => place,
        None => return None,
    };
    allowed.check(root).ok().map(|root| root.path().to_owned())
}

/// `from shop, bank and 3 more repositories`.
fn sources(rows: &[RepositoryRow]) -> String {
    let names: Vec<String> = rows
        .iter()
        .filter(|row| row.is_folder() && is_indexed(row))
        .map(|row| visible_line(&row.name))
        .collect();
    let shown = names.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "from no repository".to_owned(),
        count if count > NAMES_MAX => format!("from {shown} and {} more", count - NAMES_MAX),
        _ => format!("from {shown}"),
    }
}

/// Another project that the caller may use and that holds the directory. Of projects that an older program wrote nothing is
/// known here.
async fn other_project(
    call: &Call,
    store: &Store,
    asked: &Project,
    root: &Path,
) -> Result<Option<Project>, Fault> {
    // A run over a directory is a job about it, so of many projects the ones that hold it are looked at first.
    let above: Vec<String> = root.ancestors().map(|path| path.to_string_lossy().into_owned()).collect();
    let mut door = store.control_read().await?;
    let known = store::projects::list_for_subjects(&mut door, &above).await?;
    door.commit().await?;
    let others =
        known.into_iter().filter(|other| other.id != *asked.id() && call.caller.principal.may_use(&other.id));
    for other in others.take(PROJECTS_MAX) {
        let Some((project, version)) = store::projects::look(store, &other.id, DecidedBy::Argument).await?
        else {
            continue;
        };
        if store::is_outdated(version) {
            continue;
        }
        let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
        let rows = repositories::list(&mut tx).await?;
        tx.commit().await?;
        let allowed = AllowedRoots::of_project(&call.app.config.indexing, project.id());
        let holds = |row: &RepositoryRow| row.is_folder() && is_indexed(row) && root.starts_with(&row.root);
        if rows.iter().any(holds) && allowed.contains(root) {
            return Ok(Some(project));
        }
    }
    Ok(None)
}

/// Whether something of it can be found, perhaps by a run that is still under way.
pub(super) fn is_indexed(row: &RepositoryRow) -> bool {
    row.state != RepositoryState::New || row.indexed_ms.is_some()
}
