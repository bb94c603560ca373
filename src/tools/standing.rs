//! Which repositories a question is about: those it names, else those in which the caller works.
//!
//! A caller on this machine works in a directory, or its client has folders open. If one of them lies in an indexed
//! repository, a question that names no repository and no project is about that repository.

use std::path::{Path, PathBuf};

use crate::tools::Call;
use crate::tools::repository::{all, repository};
use crate::tools::unindexed::{self, is_indexed};
use contract::Fault;
use store::{Project, RepositoryRow};
use tenancy::AllowedRoots;

/// As `repoPath`: all repositories of the project, wherever the caller works.
pub(super) const EVERYTHING: &str = "*";

/// What a call says about where to search.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Named<'a> {
    /// A repository by path or name, or [`EVERYTHING`].
    pub(super) repository: Option<&'a str>,
    /// A project.
    pub(super) project: Option<&'a str>,
}

/// The roots of the repositories that are searched; empty: all of the project. Notes in the answer which ones those are,
/// and why.
///
/// # Errors
/// `NO_INDEX` when a repository is named that the project does not have; storage faults.
pub(super) async fn searched(call: &Call, project: &Project, named: Named<'_>) -> Result<Vec<String>, Fault> {
    match named.repository {
        Some(EVERYTHING) => {}
        Some(name) => {
            let root = repository(call, project, name).await?;
            let known = all(call, project).await?.into_iter().find(|row| row.root == root);
            call.searched(known.map(|row| row.name).into_iter().collect(), "argument");
            return Ok(vec![root]);
        }
        None if named.project.is_none() => {
            let Some((rows, decided_by)) = standing(call, project).await? else {
                unindexed::warn(call, project, &places(call).0).await?;
                call.searched(vec![EVERYTHING.to_owned()], "default");
                return Ok(Vec::new());
            };
            let (folders, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(RepositoryRow::is_folder);
            call.searched(folders.iter().map(|row| row.name.clone()).collect(), decided_by);
            return Ok(folders.into_iter().chain(others).map(|row| row.root).collect());
        }
        None => {}
    }
    call.searched(vec![EVERYTHING.to_owned()], "argument");
    Ok(Vec::new())
}

/// The roots of the repositories in which the caller works; empty where it works in none.
///
/// # Errors
/// Storage faults.
pub(super) async fn preferred(call: &Call, project: &Project) -> Result<Vec<String>, Fault> {
    let found = standing(call, project).await?;
    Ok(found.map(|(rows, _)| rows.into_iter().map(|row| row.root).collect()).unwrap_or_default())
}

/// Where the caller works, and the rule that says so: the client's folders count, where it has any open; else the caller's
/// directory does. Links are resolved, as they are in the roots of repositories. A place that is gone is in no repository.
fn places(call: &Call) -> (Vec<PathBuf>, &'static str) {
    let caller = &call.caller;
    let (places, decided_by) = match (&caller.roots, &caller.directory) {
        (roots, _) if !roots.is_empty() => (roots.as_slice(), "roots"),
        (_, Some(directory)) => (std::slice::from_ref(directory), "directory"),
        _ => return (Vec::new(), "default"),
    };
    // A directory is a fact of this machine, which is nothing to callers from elsewhere.
    if !caller.principal.is_local {
        return (Vec::new(), "default");
    }
    (places.iter().filter_map(|place| place.canonicalize().ok()).collect(), decided_by)
}

/// The repositories in which the caller works, with what is no folder and so lies nowhere (the project's records), and the
/// rule that found them.
async fn standing(
    call: &Call,
    project: &Project,
) -> Result<Option<(Vec<RepositoryRow>, &'static str)>, Fault> {
    let (places, decided_by) = places(call);
    if places.is_empty() {
        return Ok(None);
    }
    let allowed = AllowedRoots::of_project(&call.app.config.indexing, project.id());
    let rows = all(call, project).await?;
    let mut chosen: Vec<&str> = Vec::new();
    for place in &places {
        let root = rows
            .iter()
            .filter(|row| row.is_folder() && is_indexed(row) && place.starts_with(&row.root))
            .max_by_key(|row| row.root.len())
            .filter(|row| allowed.check(Path::new(&row.root)).is_ok());
        chosen.extend(root.map(|row| row.root.as_str()));
    }
    if chosen.is_empty() {
        return Ok(None);
    }
    let chosen: Vec<String> = chosen.into_iter().map(str::to_owned).collect();
    let rows = rows.into_iter().filter(|row| row.is_records() || chosen.contains(&row.root));
    Ok(Some((rows.collect(), decided_by)))
}
