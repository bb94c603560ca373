//! Chooses the repositories of a search: those that the call names, else those in which the caller works.
//!
//! A caller on this machine has a working directory, or its client has folders open. If one of them is in an indexed
//! repository, a search that names no repository and no project covers only that repository.

use std::path::{Path, PathBuf};

use crate::app::blocking;
use crate::tools::Call;
use crate::tools::repository::{hides_records, indexed_repository, list_repositories};
use crate::tools::unindexed_directory::{self, is_indexed};
use contract::Fault;
use store::{Project, RepositoryRow};
use tenancy::AllowedRoots;

/// Value of `repoPath` that means all repositories of the project, wherever the caller works.
pub(super) const ALL_REPOSITORIES: &str = "*";

/// The arguments of a call that choose its repositories.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RepositoryArguments<'a> {
    /// A repository by path or name, or [`ALL_REPOSITORIES`].
    pub(super) repository: Option<&'a str>,
    /// The argument `project_id`.
    pub(super) project: Option<&'a str>,
}

/// Returns the roots of the repositories to search; empty means all repositories of the project, and that the caller may read all. Sets
/// `_meta.scope`: the repositories and the rule that chose them.
///
/// # Errors
/// `NO_INDEX` if the call names a repository that the project does not have; storage faults.
pub(super) async fn repository_roots(
    call: &Call,
    project: &Project,
    arguments: RepositoryArguments<'_>,
) -> Result<Vec<String>, Fault> {
    let search_all = async |decided_by| {
        call.set_search_scope(vec![ALL_REPOSITORIES.to_owned()], decided_by);
        if !hides_records(call) {
            return Ok(Vec::new());
        }
        let mut roots: Vec<String> =
            list_repositories(call, project).await?.into_iter().map(|row| row.root).collect();
        // No repository has this root: empty would mean all, also those that are hidden.
        if roots.is_empty() {
            roots.push(String::new());
        }
        Ok(roots)
    };
    match arguments.repository {
        Some(ALL_REPOSITORIES) => search_all("argument").await,
        Some(name) => {
            let row = indexed_repository(call, project, name).await?;
            call.set_search_scope(vec![row.name], "argument");
            Ok(vec![row.root])
        }
        None if arguments.project.is_none() => {
            let Some((rows, decided_by)) = working_repositories(call, project).await? else {
                if let Some((directories, _)) = working_directories(call).await? {
                    unindexed_directory::warn_if_not_indexed(call, project, directories).await?;
                }
                return search_all("default").await;
            };
            let (folders, records): (Vec<_>, Vec<_>) = rows.into_iter().partition(RepositoryRow::has_path);
            call.set_search_scope(folders.iter().map(|row| row.name.clone()).collect(), decided_by);
            Ok(folders.into_iter().chain(records).map(|row| row.root).collect())
        }
        None => search_all("argument").await,
    }
}

/// The roots of the repositories in which the caller works and of the project's records; empty if the caller works in no
/// indexed repository.
pub(super) async fn working_roots(call: &Call, project: &Project) -> Result<Vec<String>, Fault> {
    let found = working_repositories(call, project).await?;
    Ok(found.map(|(rows, _)| rows.into_iter().map(|row| row.root).collect()).unwrap_or_default())
}

/// The directories in which the caller works, and the rule that chose them: the folders that are open in the client if there
/// are any, else the caller's working directory. Symbolic links are resolved, as in the roots of repositories; directories that
/// do not exist are omitted. `None` for a caller on another machine, and if no directory is left.
async fn working_directories(call: &Call) -> Result<Option<(Vec<PathBuf>, &'static str)>, Fault> {
    let caller = &call.caller;
    let (directories, decided_by) = match (&caller.roots, &caller.directory) {
        (roots, _) if !roots.is_empty() => (roots.clone(), "roots"),
        (_, Some(directory)) => (vec![directory.clone()], "directory"),
        _ => return Ok(None),
    };
    if !caller.principal.is_local {
        return Ok(None);
    }
    let resolve = move || Ok(directories.iter().filter_map(|path| path.canonicalize().ok()).collect());
    let directories: Vec<PathBuf> = blocking(resolve).await?;
    Ok(Some((directories, decided_by)).filter(|(directories, _)| !directories.is_empty()))
}

/// The indexed repositories in which the caller works, together with the project's records, which are in no directory; and the
/// rule that chose them. `None` if the caller works in no indexed repository.
async fn working_repositories(
    call: &Call,
    project: &Project,
) -> Result<Option<(Vec<RepositoryRow>, &'static str)>, Fault> {
    let Some((directories, decided_by)) = working_directories(call).await? else { return Ok(None) };
    let rows = list_repositories(call, project).await?;
    let mut roots: Vec<String> = Vec::new();
    for directory in &directories {
        // Of nested repositories, only the innermost.
        let innermost = rows
            .iter()
            .filter(|row| row.has_path() && is_indexed(row) && directory.starts_with(&row.root))
            .max_by_key(|row| row.root.len());
        roots.extend(innermost.map(|row| row.root.clone()));
    }
    let allowed = AllowedRoots::for_project(&call.app.config.indexing, project.id());
    let roots = blocking(move || {
        roots.retain(|root| allowed.check(Path::new(root)).is_ok());
        Ok(roots)
    })
    .await?;
    if roots.is_empty() {
        return Ok(None);
    }
    let rows = rows.into_iter().filter(|row| row.is_records() || roots.contains(&row.root));
    Ok(Some((rows.collect(), decided_by)))
}
