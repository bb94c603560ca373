//! Looks up indexed repositories of a project.

use std::path::{Component, Path, PathBuf};

use crate::app::blocking;
use crate::module::Records;
use crate::tools::Call;
use contract::{ErrorCode, Fault, RepositoryAddress, config, echo};
use store::{Access, Project, ProjectTx, RepositoryRow, repositories};
use tenancy::{AllowedRoots, RepositoryRoot};

/// Returns `true` if a text is neither an absolute path nor an address.
pub(super) fn is_name(path: &Path) -> bool {
    path.is_relative() && path.to_str().is_some_and(|text| RepositoryAddress::parse(text).is_none())
}

/// `owner/name` as an address on the host that the operator chose; `None` without such a host, and for everything else.
pub fn on_default_host(named: &Path, settings: &config::Git) -> Option<String> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let is_owner_and_name =
        is_name(named) && named.components().count() > 1 && named.components().all(is_plain);
    let host = settings.default_host.as_deref().filter(|_| is_owner_and_name)?;
    Some(format!("{}/{}", host.trim_end_matches('/'), named.display()))
}

/// Refuses a relative path in a repository that is an archive or is given by its address: only files outside of a commit can be named.
pub fn require_path_outside_commit(root: &RepositoryRoot, argument: &str, path: &Path) -> Result<(), Fault> {
    if root.is_directory() || path.is_absolute() {
        return Ok(());
    }
    Err(Fault::new(
        ErrorCode::InvalidRequest,
        format!("`{argument}` is relative, but the repository has no directory."),
    )
    .with_hint("Give the absolute path of a directory or file that you may index."))
}

/// The project's repositories, as far as the caller may read them; their names are unique.
pub(super) async fn list_repositories(call: &Call, project: &Project) -> Result<Vec<RepositoryRow>, Fault> {
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let mut rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    rows.retain(|row| !is_hidden(call, &row.root));
    Ok(rows)
}

/// Returns `true` if the caller may not read the records at this root.
pub(super) fn is_hidden(call: &Call, root: &str) -> bool {
    call.app.modules.records().any(|records| records.source.root == root && hides(call, records))
}

/// Returns `true` if the caller may not read the records of some module.
pub(super) fn hides_records(call: &Call) -> bool {
    call.app.modules.records().any(|records| hides(call, records))
}

fn hides(call: &Call, records: &Records) -> bool {
    (records.is_hidden)(&call.app.config, &call.caller.principal)
}

/// The root of [`indexed_repository`].
///
/// # Errors
/// As [`indexed_repository`].
pub async fn repository_root(call: &Call, project: &Project, named: &str) -> Result<String, Fault> {
    Ok(indexed_repository(call, project, named).await?.root)
}

/// The row of an indexed repository, by path, address or name. Sets `_meta.repo` of the answer.
///
/// # Errors
/// `NO_INDEX` with the names of the indexed repositories; the faults of [`AllowedRoots::check`]; storage faults.
pub(super) async fn indexed_repository(
    call: &Call,
    project: &Project,
    named: &str,
) -> Result<RepositoryRow, Fault> {
    call.set_repository(named);
    let rows = list_repositories(call, project).await?;
    let path = PathBuf::from(named);
    let root = match (path.is_absolute(), call.caller.principal.is_local) {
        (true, true) => {
            let allowed = AllowedRoots::for_project(&call.app.config.indexing, project.id());
            blocking(move || Ok(allowed.check(&path)?.as_str().to_owned())).await?
        }
        // Not canonicalized: that would reveal to a caller on another machine which paths exist here.
        (true, false) => named.trim_end_matches('/').to_owned(),
        (false, _) => match RepositoryAddress::parse(named) {
            Some(Ok(address)) => address.as_str().to_owned(),
            _ => String::new(),
        },
    };
    let matching = rows.iter().find(|row| row.root == root || row.name == named);
    match matching {
        Some(row) => Ok(row.clone()),
        None => Err(Fault::new(
            ErrorCode::NoIndex,
            format!("The project has no index of `{}`.", echo(named)),
        )
        .with_details(
            serde_json::json!({ "repositories": rows.iter().map(|row| &row.name).collect::<Vec<_>>() }),
        )
        .with_hint(
            "Index it with `build_index` (CLI: `pairofcleats index PATH`), or name a repository that \
                 `index_status` shows.",
        )),
    }
}
