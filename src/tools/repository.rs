//! Looks up indexed repositories of a project.

use std::path::PathBuf;

use crate::app::blocking;
use crate::catalog;
use crate::tools::Call;
use contract::{ErrorCode, Fault, RepositoryAddress, echo};
use store::{Access, Project, ProjectTx, RepositoryRow, repositories};
use tenancy::{AllowedRoots, Scope};

/// The project's repositories, as far as the caller may read them; their names are unique.
pub(super) async fn list_repositories(call: &Call, project: &Project) -> Result<Vec<RepositoryRow>, Fault> {
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let mut rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    rows.retain(|row| !is_hidden(call, &row.root));
    Ok(rows)
}

/// Whether the caller may not read the records at this root: rules are for those who may read the catalog.
pub(super) fn is_hidden(call: &Call, root: &str) -> bool {
    let may_read =
        || call.app.config.instructions.enabled && call.caller.principal.has_scope(Scope::Instructions);
    root == catalog::RECORDS_ROOT && !may_read()
}

/// The root of [`indexed_repository`].
///
/// # Errors
/// As [`indexed_repository`].
pub(super) async fn repository_root(call: &Call, project: &Project, named: &str) -> Result<String, Fault> {
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
